//! SSA construction: stack objects that are only loaded and stored become values.
//!
//! The classic scheme of R. Cytron et al., "Efficiently computing static single assignment form and the control
//! dependence graph" (TOPLAS 1991): phis at the iterated dominance frontier of the stores, then one walk over the
//! dominator tree that replaces loads by the current definition. Phis are *pruned*: only where the variable is live.
//!
//! Three things are special here:
//!
//! 1. Reading uninitialised memory is an error that the machine reports. An object is therefore left in memory if some
//!    path leads from its `alloca` to a load without a store between them. That is one question to the liveness
//!    analysis: whether the variable is live right behind its `alloca`. As phis stand only where the variable is
//!    live, no phi of a promoted variable ever has an undefined argument.
//! 2. A variable may be accessed with several types of one width: a compiler moves an atomic pointer as an `i64`. The
//!    value then has one of these types, and accesses with another one get a conversion.
//! 3. An `alloca` in a loop makes a new object each time, without a value. It acts as the end of the old value; by
//!    point 1 nothing can read the old value behind it.

use crate::frontier::Frontiers;
use crate::local_memory::{LocalAccess, LocalObject, local_objects};
use crate::rewrite::{self, Replacements};
use selvedge_ir::{
    Block, CastOp, Cfg, Dominators, EntityRef, EntityVec, Function, Inst, InstKind, LocId, Operand, Type, entity,
};
use std::collections::BTreeMap;

entity! {
    /// A stack object that becomes a value.
    Var, "var"
}

/// A variable to promote.
struct Variable {
    alloca: Inst,
    ty: Type,
    name: String,
    loc: LocId,
    /// Whether control may need its value at the start of each block.
    live_in: Vec<bool>,
    /// Blocks that store to it.
    stores: Vec<Block>,
}

/// What an instruction means for a variable.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Alloca,
    Load,
    Store,
}

/// The instructions that concern the variables that may be promoted.
type Roles = EntityVec<Inst, Option<(Var, Role)>>;

/// Promotes all stack objects of a function that can be promoted; whether there were any.
pub fn run(func: &mut Function) -> bool {
    if func.is_declaration() {
        return false;
    }
    let cfg = Cfg::new(func);
    if cfg.reverse_post_order().len() < func.blocks.len() {
        rewrite::keep_blocks(func, cfg.reverse_post_order());
        return run(func);
    }
    let candidates: Vec<(LocalObject, Type)> =
        local_objects(func).into_iter().filter_map(|object| whole_type(&object).map(|ty| (object, ty))).collect();
    let mut roles = roles(func, &candidates);
    let occurrences = occurrences(func, &roles, candidates.len());
    let mut promoted: EntityVec<Var, Option<Variable>> = EntityVec::new();
    for (object, ty) in &candidates {
        let var = promoted.next_key();
        promoted.push(variable(func, &cfg, object, *ty, &occurrences[var]));
    }
    if promoted.values().all(Option::is_none) {
        return false;
    }
    unify_types(func, &promoted, &mut roles);
    promote(func, &cfg, &promoted, &roles);
    true
}

/// The type to keep the object in, if it is always accessed from its start on with types of one width.
fn whole_type(object: &LocalObject) -> Option<Type> {
    let ty = object.accesses.first()?.ty()?;
    let fits = |access: &LocalAccess| access.offset == 0 && access.ty().is_some_and(|other| other.bits() == ty.bits());
    let pointer = object.accesses.iter().any(|access| access.ty() == Some(Type::Ptr));
    object.accesses.iter().all(fits).then_some(if pointer { Type::Ptr } else { ty })
}

fn roles(func: &Function, candidates: &[(LocalObject, Type)]) -> Roles {
    let mut roles: Roles = func.insts.keys().map(|_| None).collect();
    for (n, (object, _)) in candidates.iter().enumerate() {
        let var = Var::new(n);
        roles[object.alloca] = Some((var, Role::Alloca));
        for access in &object.accesses {
            let is_load = matches!(func.insts[access.inst].kind, InstKind::Load { .. });
            roles[access.inst] = Some((var, if is_load { Role::Load } else { Role::Store }));
        }
    }
    roles
}

/// For each variable, what happens to it in each block, in order.
fn occurrences(func: &Function, roles: &Roles, count: usize) -> EntityVec<Var, BTreeMap<Block, Vec<Role>>> {
    let mut occurrences: EntityVec<Var, BTreeMap<Block, Vec<Role>>> = (0..count).map(|_| BTreeMap::new()).collect();
    for (block, inst) in func.placed_insts() {
        if let Some((var, role)) = roles[inst] {
            occurrences[var].entry(block).or_default().push(role);
        }
    }
    occurrences
}

/// Where the variable is live; none if a load might find it uninitialised.
fn variable(
    func: &Function,
    cfg: &Cfg,
    object: &LocalObject,
    ty: Type,
    occurrences: &BTreeMap<Block, Vec<Role>>,
) -> Option<Variable> {
    let InstKind::Alloca { name, .. } = &func.insts[object.alloca].kind else {
        return None;
    };
    let mut live_in = vec![false; func.blocks.len()];
    let mut work: Vec<Block> = Vec::new();
    for (&block, roles) in occurrences {
        if roles.first() == Some(&Role::Load) {
            live_in[block.index()] = true;
            work.push(block);
        }
    }
    while let Some(block) = work.pop() {
        for &pred in cfg.preds(block) {
            // A block that mentions the variable starts with a load, and was found above, or it ends the liveness.
            if !occurrences.contains_key(&pred) && !std::mem::replace(&mut live_in[pred.index()], true) {
                work.push(pred);
            }
        }
    }
    let live_out = |block: Block| cfg.succs(block).iter().any(|succ| live_in[succ.index()]);
    let uninitialised = occurrences.iter().any(|(&block, roles)| {
        let alloca = roles.iter().position(|&role| role == Role::Alloca);
        alloca.is_some_and(|n| roles.get(n + 1).map_or(live_out(block), |&next| next == Role::Load))
    });
    let stores = occurrences.iter().filter(|(_, roles)| roles.contains(&Role::Store)).map(|(&block, _)| block);
    let (name, loc) = (name.clone(), func.insts[object.alloca].loc);
    (!uninitialised).then(|| Variable { alloca: object.alloca, ty, name, loc, stores: stores.collect(), live_in })
}

/// Lets all accesses to a promoted variable have its type.
fn unify_types(func: &mut Function, vars: &EntityVec<Var, Option<Variable>>, roles: &mut Roles) {
    for block in func.blocks.keys() {
        let old = std::mem::take(&mut func.blocks[block].insts);
        let mut insts = Vec::with_capacity(old.len());
        for inst in old {
            let role = roles.get(inst).copied().flatten();
            if let Some((var, ty)) = role.and_then(|(var, _)| vars[var].as_ref().map(|data| (var, data.ty))) {
                insts.extend(convert_access(func, roles, inst, var, ty));
            }
            insts.push(inst);
        }
        func.blocks[block].insts = insts;
    }
}

/// Makes an access have the type of its variable; yields an instruction to put before it, if it had another one.
fn convert_access(func: &mut Function, roles: &mut Roles, inst: Inst, var: Var, ty: Type) -> Option<Inst> {
    let loc = func.insts[inst].loc;
    let mut kind = func.insts[inst].kind.clone();
    let (new, role) = match &mut kind {
        InstKind::Load { ty: found, .. } if *found != ty => {
            let to = std::mem::replace(found, ty);
            let load = func.make_inst(kind, &[ty], loc);
            let a = Operand::Value(func.result(load));
            func.insts[inst].kind = InstKind::Cast { op: conversion(ty, to), from: ty, to, a };
            roles[inst] = None;
            (load, Some((var, Role::Load)))
        }
        InstKind::Store { ty: found, value, .. } if *found != ty => {
            let (from, a) = (std::mem::replace(found, ty), *value);
            let cast = func.make_inst(InstKind::Cast { op: conversion(from, ty), from, to: ty, a }, &[ty], loc);
            *value = Operand::Value(func.result(cast));
            func.insts[inst].kind = kind;
            (cast, None)
        }
        _ => return None,
    };
    // The table grows with the function.
    let key = roles.push(role);
    debug_assert!(key == new, "one role per instruction");
    Some(new)
}

/// The conversion between two types of one width that keeps the bits.
fn conversion(from: Type, to: Type) -> CastOp {
    match (from, to) {
        (Type::Ptr, Type::Int(_)) => CastOp::PtrToInt,
        (Type::Int(_), Type::Ptr) => CastOp::IntToPtr,
        _ => CastOp::Bitcast,
    }
}

/// The phis that were made, by block: which variable each one is for.
type Phis = EntityVec<Block, Vec<(Var, Inst)>>;

fn promote(func: &mut Function, cfg: &Cfg, vars: &EntityVec<Var, Option<Variable>>, roles: &Roles) {
    let dominators = Dominators::new(cfg);
    let phis = place_phis(func, cfg, &dominators, vars);
    let is_promoted = |var: Var| vars[var].is_some();
    let mut renamer = Renamer {
        cfg,
        phis: &phis,
        roles,
        current: vars.keys().map(|_| None).collect(),
        replacements: Replacements::new(func),
    };
    renamer.walk(func, &dominators, is_promoted);
    let replacements = renamer.replacements;
    rewrite::remove_insts(func, |inst| {
        // Phis are newer than the table of roles.
        roles.get(inst).copied().flatten().is_some_and(|(var, _)| is_promoted(var))
    });
    replacements.apply(func);
    debug_assert!(
        vars.values().flatten().all(|var| func.placed_insts().all(|(_, inst)| inst != var.alloca)),
        "promoted objects are gone"
    );
}

fn place_phis(
    func: &mut Function,
    cfg: &Cfg,
    dominators: &Dominators,
    vars: &EntityVec<Var, Option<Variable>>,
) -> Phis {
    let frontiers = Frontiers::new(cfg, dominators);
    let mut phis: Phis = func.blocks.keys().map(|_| Vec::new()).collect();
    for (id, var) in vars.iter() {
        let Some(var) = var else {
            continue;
        };
        for block in frontiers.iterated(var.stores.iter().copied()) {
            if var.live_in[block.index()] {
                let kind = InstKind::Phi { ty: var.ty, args: Vec::new() };
                let phi = func.make_inst(kind, &[var.ty], var.loc);
                let value = func.result(phi);
                func.values[value].name.clone_from(&var.name);
                phis[block].push((id, phi));
            }
        }
    }
    for (block, made) in phis.iter() {
        func.blocks[block].insts.splice(0..0, made.iter().map(|&(_, phi)| phi));
    }
    phis
}

/// The walk over the dominator tree.
struct Renamer<'a> {
    cfg: &'a Cfg,
    phis: &'a Phis,
    roles: &'a Roles,
    /// The value of each variable at the current place; none where it has not been stored.
    current: EntityVec<Var, Option<Operand>>,
    replacements: Replacements,
}

impl Renamer<'_> {
    fn walk(&mut self, func: &mut Function, dominators: &Dominators, is_promoted: impl Fn(Var) -> bool) {
        // Each entry is a block to enter, or values to restore when everything below a block is done.
        enum Step {
            Enter(Block),
            Leave(Vec<(Var, Option<Operand>)>),
        }
        let mut steps = vec![Step::Enter(func.entry())];
        while let Some(step) = steps.pop() {
            match step {
                Step::Enter(block) => {
                    let mut undo = Vec::new();
                    self.rename_block(func, block, &is_promoted, &mut undo);
                    steps.push(Step::Leave(undo));
                    steps.extend(dominators.children(block).iter().rev().map(|&child| Step::Enter(child)));
                }
                Step::Leave(undo) => {
                    for (var, old) in undo.into_iter().rev() {
                        self.current[var] = old;
                    }
                }
            }
        }
    }

    fn rename_block(
        &mut self,
        func: &mut Function,
        block: Block,
        is_promoted: &impl Fn(Var) -> bool,
        undo: &mut Vec<(Var, Option<Operand>)>,
    ) {
        for &(var, phi) in &self.phis[block] {
            undo.push((var, self.current[var].replace(Operand::Value(func.result(phi)))));
        }
        for &inst in &func.blocks[block].insts {
            let Some((var, role)) = self.roles.get(inst).copied().flatten().filter(|&(var, _)| is_promoted(var)) else {
                continue;
            };
            match (&func.insts[inst].kind, role) {
                (InstKind::Store { value, .. }, _) => {
                    let value = self.replacements.resolve(*value);
                    undo.push((var, self.current[var].replace(value)));
                }
                (_, Role::Alloca) => undo.push((var, self.current[var].take())),
                _ => {
                    let value = self.current[var].expect("no load of a promoted variable comes before its first store");
                    self.replacements.set(func.result(inst), value);
                }
            }
        }
        for &succ in self.cfg.succs(block) {
            for &(var, phi) in &self.phis[succ] {
                let value = self.current[var].expect("a phi of a promoted variable is defined on every path");
                if let InstKind::Phi { args, .. } = &mut func.insts[phi].kind {
                    args.push((block, value));
                }
            }
        }
    }
}
