//! Where an iteration that is going to be pure is cut off.
//!
//! For each disjunct of the purity condition the paper inserts an assumption of its negation "at the earliest point that
//! is textually after the definitions of all registers" in it, and after the last access on its path that may fault. All
//! these points lie on the disjunct's path, so the last of them in reverse post-order is the place. Registers that do not
//! reach the place get phis with arbitrary values on the paths that do not define them: on such a path some branch
//! condition of the disjunct is false.
//!
//! Whoever is cut off may spin forever: that depends on what was read in the iteration. So each assumption names the
//! instruction at the header that notes when an iteration begins ([`InstKind::Iteration`]); it stays there when the loop has
//! lost its back edges.
//!
//! If an inner back edge can lead to the place, a "took internal backedge" register is part of the conjunction: false at
//! the header, true behind every inner back edge.
//!
//! A disjunct of which nothing remains to be tested means that an iteration which comes here is pure whatever happens. If
//! nothing has been read since the header, then no iteration is ever anything else: the loop has no end, and the thread
//! waits for something that never comes, which is reported as a livelock. Otherwise it is an assumption that never holds.

use super::facts::Facts;
use super::forward_purity::Context;
use super::purity_condition::{Atom, Conjunction, inverse};
use super::ssa_repair::{Flow, Repair};
use selvedge_ir::{
    AwaitKind, BinaryOp, Block, CastOp, CmpOp, Dominators, FuncId, Function, Global, GlobalId, Inst, InstKind, LocId,
    Module, Operand, Order, Type, Value, ValueDef,
};

/// The variable that a thread waits for when it waits for nothing.
const NEVER: &str = "selvedge.never";

/// A place in a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Behind its phis.
    Top(Block),
    /// Behind an instruction of it.
    After(Block, Inst),
}

impl Place {
    /// The block.
    pub fn block(self) -> Block {
        match self {
            Place::Top(block) | Place::After(block, _) => block,
        }
    }

    /// The index in the block that an instruction at this place has.
    pub fn index(self, func: &Function) -> usize {
        match self {
            Place::Top(block) => func.phis(block).count(),
            Place::After(block, inst) => {
                let at = func.blocks[block].insts.iter().position(|&other| other == inst);
                at.expect("the instruction stands in its block") + 1
            }
        }
    }
}

/// An assumption or await to be inserted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// Where.
    pub place: Place,
    /// Iterations in which all of these hold are cut off.
    pub atoms: Vec<Atom>,
    /// Unless an inner back edge was taken, if there can be one.
    pub took: bool,
    /// Whether something was read in the iteration before it is cut off (other than by the instruction at the place):
    /// then another iteration could go another way, and a thread that is cut off does not necessarily spin forever.
    pub retry: bool,
    /// Source position.
    pub loc: LocId,
}

/// Where and how a disjunct of a loop's purity condition is to be cut off; none if it cannot come about.
pub fn plan(context: &Context<'_>, dominators: &Dominators, disjunct: &Conjunction) -> Option<Plan> {
    let func = context.func;
    let place = earliest(context, disjunct);
    let facts = Facts::at(func, context.cfg, dominators, place.block(), place.index(func));
    if facts.exclude(disjunct) {
        return None;
    }
    let atoms = disjunct.atoms.iter().copied().filter(|atom| !facts.known.implies(atom)).collect();
    let took = inner_back_edge_reaches(context, place.block());
    let retry = reads_before(context, place);
    Some(Plan { place, atoms, took, retry, loc: position(context, place) })
}

/// The earliest place at which a disjunct may be tested.
fn earliest(context: &Context<'_>, disjunct: &Conjunction) -> Place {
    let func = context.func;
    let mut places = vec![Place::Top(context.this.header)];
    places.extend(disjunct.after.and_then(|inst| place_of(context, inst)));
    for atom in &disjunct.atoms {
        for operand in [atom.a, atom.b] {
            if let Operand::Value(value) = operand
                && let ValueDef::Result(inst, _) = func.values[value].def
            {
                places.extend(place_of(context, inst));
            }
        }
    }
    let order = |place: &Place| (context.cfg.position(place.block()), place.index(func));
    places.into_iter().max_by_key(order).expect("there is at least the header")
}

/// The place behind an instruction of the loop.
fn place_of(context: &Context<'_>, inst: Inst) -> Option<Place> {
    let func = context.func;
    let block = context.this.blocks.iter().copied().find(|&block| func.blocks[block].insts.contains(&inst))?;
    Some(if func.insts[inst].kind.is_phi() { Place::Top(block) } else { Place::After(block, inst) })
}

fn position(context: &Context<'_>, place: Place) -> LocId {
    let func = context.func;
    match place {
        Place::After(_, inst) => func.insts[inst].loc,
        Place::Top(block) => loop_position(context.module, func, block),
    }
}

/// A source position for a loop: that of the first instruction of its header that has one.
pub fn loop_position(module: &Module, func: &Function, header: Block) -> LocId {
    let locs = func.blocks[header].insts.iter().map(|&inst| func.insts[inst].loc);
    locs.into_iter().find(|&loc| module.locs[loc].line > 0).unwrap_or(func.loc)
}

/// The blocks of the loop from which a block can be reached within an iteration along certain edges, the block itself not
/// included unless it lies on an inner cycle of them.
fn blocks_before(context: &Context<'_>, block: Block, along: impl Fn(Block, Block) -> bool) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let mut work = vec![block];
    while let Some(block) = work.pop() {
        if block == context.this.header {
            continue;
        }
        for &pred in context.cfg.preds(block) {
            if context.this.contains(pred) && along(pred, block) && !found.contains(&pred) {
                found.push(pred);
                work.push(pred);
            }
        }
    }
    found
}

fn inner_back_edge_reaches(context: &Context<'_>, block: Block) -> bool {
    let mut targets = blocks_before(context, block, |_, _| true);
    targets.push(block);
    let is_target = |to: Block, from: Block| context.is_inner_back_edge(from, to);
    targets
        .iter()
        .any(|&to| context.cfg.preds(to).iter().any(|&from| context.this.contains(from) && is_target(to, from)))
}

/// Whether an iteration has read something when it comes to a place, other than by the instruction in front of it. If it
/// has gone round an inner loop it is not cut off there, and what it read in that loop does not count.
fn reads_before(context: &Context<'_>, place: Place) -> bool {
    let func = context.func;
    let reads = |&inst: &Inst| may_read(context.module, &func.insts[inst].kind);
    let before = blocks_before(context, place.block(), |from, to| !context.is_inner_back_edge(from, to));
    let own = &func.blocks[place.block()].insts[..place.index(func)];
    let own = if matches!(place, Place::After(..)) { &own[..own.len() - 1] } else { own };
    before.iter().any(|&block| func.blocks[block].insts.iter().any(reads)) || own.iter().any(reads)
}

fn may_read(module: &Module, kind: &InstKind) -> bool {
    match kind {
        InstKind::Call { callee, .. } => !super::forward_purity::is_pure_call(module, *callee),
        InstKind::Load { .. }
        | InstKind::Rmw { .. }
        | InstKind::Cas { .. }
        | InstKind::Await { .. }
        | InstKind::Assume { .. }
        | InstKind::MemCopy { .. }
        | InstKind::VaArg { .. } => true,
        _ => false,
    }
}

impl Plan {
    /// Whether no iteration is ever anything but pure.
    pub fn has_no_end(&self) -> bool {
        self.atoms.is_empty() && !self.took && !self.retry
    }
}

/// Makes the instruction that notes when an iteration begins. It is placed last ([`place_start`]).
pub fn make_start(func: &mut Function, loc: LocId) -> Inst {
    func.make_inst(InstKind::Iteration, &[Type::I64], loc)
}

/// Puts the note of when an iteration begins in front of all that a header does, if anybody wants to know.
pub fn place_start(func: &mut Function, header: Block, start: Inst) {
    let began = func.result(start);
    if func.placed_insts().any(|(_, inst)| func.insts[inst].kind.used_values().contains(&began)) {
        place_code(func, Place::Top(header), vec![start]);
    }
}

/// Inserts the assumption that a plan's condition does not hold. `began` is the iteration that it cuts off otherwise.
pub fn insert_assume(func: &mut Function, plan: &Plan, flow: &Flow, began: Operand) {
    let mut repair = Repair::new(flow);
    let mut code = Vec::new();
    let negated = negation(func, plan, &mut repair, &mut code);
    code.push(func.make_inst(InstKind::Assume { cond: negated, pure: Some(began) }, &[], plan.loc));
    place_code(func, plan.place, code);
}

/// Puts instructions at a place.
pub fn place_code(func: &mut Function, place: Place, code: Vec<Inst>) {
    let at = place.index(func);
    func.blocks[place.block()].insts.splice(at..at, code);
}

/// Code for the negation of what a plan cuts off: an `i1` that is true if the iteration may go on.
pub fn negation(func: &mut Function, plan: &Plan, repair: &mut Repair<'_>, code: &mut Vec<Inst>) -> Operand {
    let block = plan.place.block();
    let mut result: Option<Operand> = None;
    let mut parts: Vec<Operand> = Vec::new();
    for atom in &plan.atoms {
        let a = repair.reaching(func, atom.a, block);
        let b = repair.reaching(func, atom.b, block);
        parts.push(comparison_code(func, atom, inverse(atom.op), (a, b), plan.loc, code));
    }
    if plan.took {
        parts.push(repair.took_inner_back_edge(func, block));
    }
    for part in parts {
        result = Some(match result {
            None => part,
            Some(so_far) => {
                let or = InstKind::Binary { op: BinaryOp::Or, ty: Type::I1, a: so_far, b: part };
                Operand::Value(make(func, or, Type::I1, plan.loc, code))
            }
        });
    }
    result.unwrap_or(Operand::Const(0))
}

/// Code for a comparison of an atom's operands.
pub fn comparison_code(
    func: &mut Function,
    atom: &Atom,
    op: CmpOp,
    (a, b): (Operand, Operand),
    loc: LocId,
    code: &mut Vec<Inst>,
) -> Operand {
    let ty = atom.ty;
    let (a, b) = (as_type(func, a, ty, loc, code), as_type(func, b, ty, loc, code));
    let a = match atom.mask == ty.mask() {
        true => a,
        false => {
            let and = InstKind::Binary { op: BinaryOp::And, ty, a, b: Operand::Const(atom.mask) };
            Operand::Value(make(func, and, ty, loc, code))
        }
    };
    Operand::Value(make(func, InstKind::Cmp { op, ty, a, b }, Type::I1, loc, code))
}

/// Conditions compare pointers with integers of the same width; instructions do not.
pub fn as_type(func: &mut Function, operand: Operand, ty: Type, loc: LocId, code: &mut Vec<Inst>) -> Operand {
    let op = match (func.operand_type(operand), ty) {
        (Some(Type::Ptr), Type::I64) => CastOp::PtrToInt,
        (Some(Type::I64), Type::Ptr) => CastOp::IntToPtr,
        _ => return operand,
    };
    let from = if op == CastOp::PtrToInt { Type::Ptr } else { Type::I64 };
    Operand::Value(make(func, InstKind::Cast { op, from, to: ty, a: operand }, ty, loc, code))
}

/// Makes an instruction with one result.
pub fn make(func: &mut Function, kind: InstKind, ty: Type, loc: LocId, code: &mut Vec<Inst>) -> Value {
    let inst = func.make_inst(kind, &[ty], loc);
    code.push(inst);
    func.result(inst)
}

/// Inserts an await on a variable that nobody writes, for a value that it does not have.
pub fn insert_never(module: &mut Module, id: FuncId, plan: &Plan) {
    let global = never_global(module);
    let path = Some(module.paths.push("a way out of this loop".to_owned()));
    let kind = InstKind::Await {
        access: AwaitKind::Load,
        ty: Type::I8,
        addr: Operand::Global(global, 0),
        order: Order::SeqCst,
        until: CmpOp::Ne,
        mask: Type::I8.mask(),
        operand: Operand::Const(0),
        retry: None,
        path,
    };
    let func = &mut module.functions[id];
    let inst = func.make_inst(kind, &[Type::I8], plan.loc);
    place_code(func, plan.place, vec![inst]);
}

fn never_global(module: &mut Module) -> GlobalId {
    if let Some(id) = module.global_named(NEVER) {
        return id;
    }
    let loc = module.no_loc();
    module.globals.push(Global {
        name: NEVER.to_owned(),
        source_name: NEVER.to_owned(),
        size: 1,
        align: 1,
        data: Vec::new(),
        relocs: Vec::new(),
        // Constants count as private to everybody; this one has to be waited for in front of the others.
        constant: false,
        thread_local: false,
        external: false,
        debug_type: None,
        loc,
    })
}
