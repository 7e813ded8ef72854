//! Loops whose failing attempts may be errors that no successful attempt shows.
//!
//! An engine that only visits executions in which confirmations succeed does not see what goes wrong in an attempt that
//! fails. What goes wrong because of the value that was read is seen nevertheless: there is an execution in which the
//! thread reads that value first. But an object that another thread frees, or writes without being atomic, *because* its
//! own exchange came first, is only met by an attempt which fails. So a loop is marked only if all that it reads is read
//! by atomic loads, and from global variables unless nothing is ever freed.

use super::pattern::Pattern;
use super::{Declined, Scene};
use crate::purity::forward_purity::may_fault;
use crate::purity::report::Words;
use selvedge_ir::{Inst, InstKind, Module};

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

/// Whether an attempt cannot go wrong in a way that only failing ones do.
pub fn check(scene: &Scene<'_>, pattern: &Pattern) -> Result<(), Declined> {
    let func = scene.context.func;
    let in_loop = scene.context.this.blocks.iter().flat_map(|&block| func.blocks[block].insts.iter().copied());
    for load in in_loop.chain([pattern.source.load(), pattern.attempt.exchange]) {
        let (ty, addr) = match func.insts[load].kind {
            InstKind::Load { order, .. } if !order.is_atomic() => {
                let why = format!("{} is read by a load that is not atomic", name(scene, load));
                return Err(Declined { why, loc: func.insts[load].loc });
            }
            InstKind::Load { ty, addr, .. } | InstKind::Cas { ty, addr, .. } => (ty, addr),
            _ => continue,
        };
        if may_fault(scene.context.module, scene.context.func, addr, ty)
            && let Some(ending) = ending(scene.context.module)
        {
            let why = format!("{} is reached through a pointer, and {ending}", name(scene, load));
            return Err(Declined { why, loc: func.insts[load].loc });
        }
    }
    Ok(())
}

fn name(scene: &Scene<'_>, load: Inst) -> String {
    let words = Words { module: scene.context.module, func: scene.context.func };
    words.path(load).unwrap_or_else(|| "memory".to_owned())
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
