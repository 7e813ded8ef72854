//! Loops whose failing attempts may be errors that no successful attempt shows.
//!
//! An engine that only visits executions in which confirmations succeed does not see what goes wrong in an attempt that
//! fails. What goes wrong because of the value that was read is seen nevertheless: there is an execution in which the
//! thread reads that value first. But an object that another thread frees, or writes without being atomic, *because* its
//! own exchange came first, is only met by an attempt which fails. So a loop is marked only if
//!
//! - it reads through pointers only if nothing is ever freed;
//! - what it may read is written by plain stores only while no other thread can know it: before there are threads, or in
//!   an object that has not been published yet. For a load through a pointer that goes for all plain stores of the same
//!   size: an engine refuses accesses of different sizes to the same atomic bytes anyway;
//! - what it reads by a load that is not atomic itself is not written in any way once others can know it.

use super::pattern::Pattern;
use super::{Declined, Scene};
use crate::purity::forward_purity::{Context, may_fault};
use crate::purity::guards::definition;
use crate::purity::private_store;
use crate::purity::report::Words;
use crate::{Dominators, LoopForest, rewrite};
use selvedge_ir::{
    AwaitKind, Block, Callee, Cfg, EntityVec, FuncId, Function, GlobalId, Inst, InstKind, LocId, Module, Operand,
    Reloc, RelocTarget, Type, Value,
};

/// Library functions that end the life of an object.
const ENDINGS: &[&str] = &[
    "free",
    "cfree",
    "realloc",
    "reallocarray",
    "munmap",
    "fclose",
    "_ZdlPv",
    "_ZdaPv",
    "_ZdlPvm",
    "_ZdaPvm",
    "_ZdlPvSt11align_val_t",
    "_ZdlPvmSt11align_val_t",
];

/// Library functions that create no thread.
const HARMLESS: &[&str] =
    &["malloc", "calloc", "aligned_alloc", "_Znwm", "_Znam", "printf", "puts", "memset", "memcpy"];

/// Whether an attempt cannot go wrong in a way that only failing ones do.
pub fn check(scene: &Scene<'_>, pattern: &Pattern) -> Result<(), Declined> {
    let Context { module, func, .. } = scene.context;
    let in_loop = scene.context.this.blocks.iter().flat_map(|&block| func.blocks[block].insts.iter().copied());
    for load in in_loop.chain([pattern.source.load(), pattern.attempt.exchange]) {
        let loc = func.insts[load].loc;
        let (ty, addr, reader) = match func.insts[load].kind {
            InstKind::Load { ty, addr, order, .. } if !order.is_atomic() => (ty, addr, Reader::Plain),
            InstKind::Load { ty, addr, .. } | InstKind::Cas { ty, addr, .. } => (ty, addr, Reader::Atomic),
            _ => continue,
        };
        let name = name(module, func, load);
        let global = global_of(func, addr).filter(|_| !may_fault(module, func, addr, ty));
        if global.is_none()
            && let Some(ending) = ending(module)
        {
            return Err(Declined { why: format!("{name} is reached through a pointer, and {ending}"), loc });
        }
        let target = match global.filter(|&id| !is_pointed_to(module, id)) {
            Some(id) => Target::Global(id),
            None => Target::Anywhere(ty),
        };
        if let Some((written, loc)) = noticed_write(module, target, reader) {
            let why = match reader {
                Reader::Atomic => format!("{name} is read, and {written} is written by a store that is not atomic"),
                Reader::Plain => format!("{name} is read by a load that is not atomic, and {written} is written"),
            };
            return Err(Declined { why, loc });
        }
    }
    Ok(())
}

fn name(module: &Module, func: &Function, access: Inst) -> String {
    Words { module, func }.path(access).unwrap_or_else(|| "memory".to_owned())
}

/// How objects of the program may come to an end before it does.
fn ending(module: &Module) -> Option<String> {
    for func in module.functions.values() {
        if func.is_declaration() && ENDINGS.contains(&func.name.as_str()) {
            return Some(format!("the program calls {}", func.source_name));
        }
        let makes_objects =
            func.placed_insts().any(|(_, inst)| matches!(func.insts[inst].kind, InstKind::Alloca { .. }));
        if makes_objects && func.name != "main" {
            return Some(format!("{} has local objects", func.source_name));
        }
    }
    None
}

/// What a load of an attempt may read.
#[derive(Clone, Copy)]
enum Target {
    /// Part of this global variable, which no pointer points to.
    Global(GlobalId),
    /// Any value of this type.
    Anywhere(Type),
}

/// How a load of an attempt reads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reader {
    /// Races with plain writes.
    Atomic,
    /// Races with all writes.
    Plain,
}

/// A write that may be to a target while other threads know it, and races with a load of it.
fn noticed_write(module: &Module, target: Target, reader: Reader) -> Option<(String, LocId)> {
    for (id, func) in module.functions.iter().filter(|(_, func)| !func.is_declaration()) {
        for (block, inst) in func.placed_insts() {
            let (addr, ty) = match func.insts[inst].kind {
                InstKind::Store { addr, ty, order, .. } if !order.is_atomic() => (addr, Some(ty)),
                InstKind::MemSet { dst, .. } | InstKind::MemCopy { dst, .. } => (dst, None),
                InstKind::Store { addr, .. }
                | InstKind::Rmw { addr, .. }
                | InstKind::Cas { addr, .. }
                | InstKind::Await { access: AwaitKind::Rmw { .. } | AwaitKind::Cas { .. }, addr, .. }
                    if reader == Reader::Plain =>
                {
                    (addr, None)
                }
                _ => continue,
            };
            let may_meet = match target {
                Target::Global(own) => global_of(func, addr) == Some(own),
                // Races with plain loads are errors whatever the sizes are.
                Target::Anywhere(_) if reader == Reader::Plain => {
                    global_of(func, addr).is_none_or(|global| is_pointed_to(module, global))
                }
                Target::Anywhere(own) => ty.is_none_or(|ty| ty.store_size() == own.store_size()),
            };
            if may_meet && !is_unnoticed(module, id, block, inst, addr) {
                return Some((name(module, func, inst), func.insts[inst].loc));
            }
        }
    }
    None
}

/// The global variable that an address lies in, as far as can be seen.
fn global_of(func: &Function, addr: Operand) -> Option<GlobalId> {
    match (addr, definition(func, addr)) {
        (Operand::Global(id, _), _) => Some(id),
        (_, Some((&InstKind::PtrAdd { base, .. }, _))) => global_of(func, base),
        _ => None,
    }
}

/// Whether the address of a global variable is used for anything but to access it.
fn is_pointed_to(module: &Module, id: GlobalId) -> bool {
    let in_data = |reloc: &Reloc| matches!(reloc.target, RelocTarget::Global(other) if other == id);
    module.globals.values().any(|global| global.relocs.iter().any(in_data))
        || module.functions.values().any(|func| {
            let uses = rewrite::uses(func);
            let names = |operand: Operand| matches!(operand, Operand::Global(other, _) if other == id);
            func.placed_insts().any(|(_, inst)| passes_on(func, &uses, inst, &names))
        })
}

/// Whether an instruction uses one of these operands other than as the address of an access.
fn passes_on(func: &Function, uses: &EntityVec<Value, Vec<Inst>>, inst: Inst, names: &dyn Fn(Operand) -> bool) -> bool {
    let kind = &func.insts[inst].kind;
    let mut count = 0;
    kind.visit_operands(|operand, _| count += usize::from(names(operand)));
    let allowed = match *kind {
        InstKind::Load { addr, .. }
        | InstKind::Store { addr, .. }
        | InstKind::Rmw { addr, .. }
        | InstKind::Cas { addr, .. }
        | InstKind::Await { addr, .. } => usize::from(names(addr)),
        InstKind::PtrAdd { base, .. } if names(base) => {
            let result = func.result(inst);
            let own = |operand: Operand| operand == Operand::Value(result);
            usize::from(!uses[result].iter().any(|&user| passes_on(func, uses, user, &own)))
        }
        _ => 0,
    };
    count > allowed
}

/// Whether no other thread can know what is written.
fn is_unnoticed(module: &Module, id: FuncId, block: Block, write: Inst, addr: Operand) -> bool {
    let func = &module.functions[id];
    let cfg = Cfg::new(func);
    if func.name == "main" && is_before_threads(module, func, &cfg, block, write) {
        return true;
    }
    if private_store::is_unpublished(module, func, &cfg, (block, write), addr) {
        return true;
    }
    let dominators = Dominators::new(&cfg);
    let forest = LoopForest::new(&cfg, &dominators);
    forest.around(block).any(|id| {
        let context = Context { module, func, cfg: &cfg, this: &forest.loops[id] };
        private_store::leaves_nothing(&context, write)
    })
}

/// Whether nothing that may create a thread has been called when control comes to an instruction of `main`.
fn is_before_threads(module: &Module, func: &Function, cfg: &Cfg, block: Block, inst: Inst) -> bool {
    let may_create = |&inst: &Inst| match func.insts[inst].kind {
        InstKind::Call { callee: Callee::Direct(id), .. } => {
            let callee = &module.functions[id];
            !(callee.is_declaration() && HARMLESS.contains(&callee.name.as_str()))
        }
        InstKind::Call { .. } => true,
        _ => false,
    };
    let own = &func.blocks[block].insts;
    let at = own.iter().position(|&other| other == inst).expect("the instruction stands in this block");
    if own[..at].iter().any(may_create) {
        return false;
    }
    let mut before: Vec<Block> = cfg.preds(block).to_vec();
    let mut next = 0;
    while next < before.len() {
        let block = before[next];
        next += 1;
        if func.blocks[block].insts.iter().any(may_create) {
            return false;
        }
        for &pred in cfg.preds(block) {
            if !before.contains(&pred) {
                before.push(pred);
            }
        }
    }
    true
}
