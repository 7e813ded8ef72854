//! From an access and an assumption about its value to an await.
//!
//! An assumption that does not hold ends an execution in which nothing more can happen, and the exploration has run it for
//! nothing. If the assumption follows a load, an exchange or a compare-and-exchange directly and compares its value with
//! something that was known before, the two become one step that is enabled only while the condition holds ("Awaiting for
//! Godot", sections II-A and V). No execution that goes on is lost: an access whose value fails the assumption is not
//! followed by anything of its thread.
//!
//! The paper counts a thread that is left waiting as a livelock. That is so if a fresh iteration would come to the same
//! access and wait there as well, which is certain if the iteration has read nothing before ([`Plan::retry`] is false).
//! Otherwise the loop might well get on by another way (`while (!a && !b)`, a queue that reads its tail again): an engine
//! has to look at what the iteration has read, as it does for a thread that is cut off at the assumption.
//!
//! Where more than the access's value is assumed (something that was read before, or that no inner back edge was taken),
//! the access and the await stand side by side under a branch on the rest.

use super::insertion::{Place, Plan, as_type, comparison_code, make};
use super::purity_condition::{Atom, inverse, mirrored};
use super::ssa_repair::{Flow, Repair};
use super::wait_for_change::address_of_first_read;
use crate::rewrite;
use selvedge_ir::{
    AwaitKind, BinaryOp, Block, CmpOp, Function, Inst, InstKind, Operand, Order, RmwOp, Type, Value, ValueDef,
};

/// How an access becomes an await.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Form {
    /// The access.
    pub access: Inst,
    /// The await.
    kind: InstKind,
    /// What else must hold for it to wait.
    others: Vec<Atom>,
    took: bool,
}

impl Form {
    /// Whether the access always waits.
    pub fn is_direct(&self) -> bool {
        self.others.is_empty() && !self.took
    }
}

/// The form in which the access in front of a plan's place can wait for the negation of the plan's condition. `began` is the
/// iteration in which it would wait.
pub fn form(func: &Function, plan: &Plan, flow: &Flow, began: Operand) -> Option<Form> {
    let Place::After(block, access) = plan.place else { return None };
    let value = *func.insts[access].results.first()?;
    let mut tests = plan.atoms.iter().filter(|atom| uses(atom, value));
    let (Some(test), None) = (tests.next(), tests.next()) else { return None };
    let (mask, op, operand) = about(test, value)?;
    if plan.retry && is_plain_load(&func.insts[access].kind) {
        return None;
    }
    let index = func.blocks[block].insts.iter().position(|&inst| inst == access)?;
    if !is_known_before(func, flow, operand, block, index) {
        return None;
    }
    let (until, operand) = match (op, operand) {
        (CmpOp::Eq, Operand::Const(bit)) if mask.is_power_of_two() && bit & !mask == 0 => {
            (CmpOp::Eq, Operand::Const(bit ^ mask))
        }
        _ => (inverse(op), operand),
    };
    let retry = plan.retry.then_some(began);
    let kind = await_kind(&func.insts[access].kind, until, mask, operand, retry)?;
    let others = plan.atoms.iter().copied().filter(|atom| atom != test).collect();
    Some(Form { access, kind, others, took: plan.took })
}

/// Whether a kind of access is a load that is not atomic. If the iteration has read something else before, then it is that
/// which is going to change: nobody signals by an access that is a data race, and the thread may be the only one that can
/// reach what it loads. So there is nothing to be gained by waiting for it.
fn is_plain_load(kind: &InstKind) -> bool {
    matches!(kind, InstKind::Load { order: Order::Plain, .. })
}

/// Makes the access an await. `flow` must be up to date unless the form is direct.
pub fn convert(func: &mut Function, plan: &Plan, form: Form, flow: &Flow) {
    let mut form = form;
    if let InstKind::Await { ty, addr, operand, .. } = &mut form.kind {
        let mut code = Vec::new();
        *addr = address_of_first_read(func, *addr, *operand).unwrap_or(*addr);
        *operand = as_type(func, *operand, *ty, plan.loc, &mut code);
        place_before(func, form.access, code);
    }
    match form.is_direct() {
        true => func.insts[form.access].kind = form.kind,
        false => split(func, plan, flow, form),
    }
}

fn place_before(func: &mut Function, inst: Inst, code: Vec<Inst>) {
    for data in func.blocks.values_mut() {
        if let Some(at) = data.insts.iter().position(|&other| other == inst) {
            data.insts.splice(at..at, code);
            return;
        }
    }
}

fn uses(atom: &Atom, value: Value) -> bool {
    atom.a == Operand::Value(value) || atom.b == Operand::Value(value)
}

/// An atom as a comparison of a value (some bits of it) with something else.
fn about(atom: &Atom, value: Value) -> Option<(u64, CmpOp, Operand)> {
    let own = Operand::Value(value);
    match (atom.a == own, atom.b == own) {
        (true, false) => Some((atom.mask, atom.op, atom.b)),
        (false, true) if atom.mask == atom.ty.mask() => Some((atom.mask, mirrored(atom.op), atom.a)),
        _ => None,
    }
}

/// Whether an operand is defined before the n-th instruction of a block, on every way to it.
fn is_known_before(func: &Function, flow: &Flow, operand: Operand, block: Block, n: usize) -> bool {
    let Operand::Value(value) = operand else { return true };
    let ValueDef::Result(inst, _) = func.values[value].def else { return true };
    if let Some(own) = func.blocks[block].insts.iter().position(|&other| other == inst) {
        return own < n;
    }
    let home = func.blocks.iter().find(|(_, data)| data.insts.contains(&inst)).map(|(home, _)| home);
    home.is_some_and(|home| flow.cfg.is_reachable(home) && flow.dominators.dominates(home, block))
}

/// The await that waits for a condition and then does what an access does.
fn await_kind(kind: &InstKind, until: CmpOp, mask: u64, operand: Operand, retry: Option<Operand>) -> Option<InstKind> {
    let (access, ty, addr, order, path) = match *kind {
        // A read that waits is no speculation: the confirmation that follows would have lost what it confirms.
        InstKind::Load { speculative: Some(_), .. } => return None,
        InstKind::Load { ty, addr, order, path, .. } => (AwaitKind::Load, ty, addr, order, path),
        InstKind::Rmw { op, ty, addr, value, order, path } if !matches!(op, RmwOp::FAdd | RmwOp::FSub) => {
            (AwaitKind::Rmw { op, value }, ty, addr, order, path)
        }
        InstKind::Cas { ty, addr, expected, new, success, failure, confirms, path, .. } => {
            (AwaitKind::Cas { expected, new, failure, confirms }, ty, addr, success, path)
        }
        _ => return None,
    };
    // The machine compares whole bytes.
    let whole_bytes = !ty.is_float() && matches!(ty.bits(), 8 | 16 | 32 | 64);
    whole_bytes.then_some(InstKind::Await { access, ty, addr, order, until, mask, operand, retry, path })
}

/// Puts the access and the await side by side: the await if all else holds and no inner back edge was taken.
fn split(func: &mut Function, plan: &Plan, flow: &Flow, form: Form) {
    let Form { access, kind, others, .. } = form;
    let home = func.blocks.iter().find(|(_, data)| data.insts.contains(&access)).map(|(block, _)| block);
    let Some(block) = home else { return };
    let (waits, plain, join) = (func.add_block("await"), func.add_block("access"), func.add_block("accessed"));
    let mut code = Vec::new();
    let waiting = {
        let mut repair = Repair::new(flow);
        all_hold(func, (plan, block), &others, &mut repair, &mut code)
    };
    let at = func.blocks[block].insts.iter().position(|&inst| inst == access).expect("the access is in its block");
    let rest = func.blocks[block].insts.split_off(at + 1);
    func.blocks[block].insts.pop();
    func.blocks[block].insts.extend(code);
    let branch = InstKind::CondBr { cond: waiting, then_dest: waits, else_dest: plain };
    func.append(block, branch, &[], plan.loc);
    let results = std::mem::take(&mut func.insts[access].results);
    let types: Vec<Type> = results.iter().map(|&value| func.values[value].ty).collect();
    let old = func.insts[access].kind.clone();
    let mut copies = Vec::new();
    for (home, kind) in [(waits, kind), (plain, old)] {
        let copy = func.append(home, kind, &types, plan.loc);
        func.append(home, InstKind::Br { dest: join }, &[], plan.loc);
        copies.push((home, func.insts[copy].results.clone()));
    }
    for (n, (&result, &ty)) in results.iter().zip(&types).enumerate() {
        let args = copies.iter().map(|(home, values)| (*home, Operand::Value(values[n]))).collect();
        let phi = func.make_inst(InstKind::Phi { ty, args }, &[], plan.loc);
        func.insts[phi].results.push(result);
        func.values[result].def = ValueDef::Result(phi, 0);
        func.blocks[join].insts.push(phi);
    }
    func.blocks[join].insts.extend(rest);
    for succ in func.successors(join) {
        rewrite::rename_pred(func, succ, block, join);
    }
}

/// Code for the condition that atoms hold and that no inner back edge was taken.
fn all_hold(
    func: &mut Function,
    (plan, block): (&Plan, Block),
    atoms: &[Atom],
    repair: &mut Repair<'_>,
    code: &mut Vec<Inst>,
) -> Operand {
    let mut result: Option<Operand> = None;
    let mut parts = Vec::new();
    for atom in atoms {
        let (a, b) = (repair.reaching(func, atom.a, block), repair.reaching(func, atom.b, block));
        parts.push(comparison_code(func, atom, atom.op, (a, b), plan.loc, code));
    }
    if plan.took {
        let a = repair.took_inner_back_edge(func, block);
        let not = InstKind::Binary { op: BinaryOp::Xor, ty: Type::I1, a, b: Operand::Const(1) };
        parts.push(Operand::Value(make(func, not, Type::I1, plan.loc, code)));
    }
    for part in parts {
        result = Some(match result {
            None => part,
            Some(so_far) => {
                let and = InstKind::Binary { op: BinaryOp::And, ty: Type::I1, a: so_far, b: part };
                Operand::Value(make(func, and, Type::I1, plan.loc, code))
            }
        });
    }
    result.unwrap_or(Operand::Const(1))
}
