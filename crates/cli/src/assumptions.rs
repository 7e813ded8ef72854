//! What an exploration of a given program takes for granted.
//!
//! Some behaviours of real machines and libraries are left out unless they are asked for, or cannot be asked for yet.
//! They are named in the verdict, but only if the program has anything to do with them.

use crate::engine::Engine;
use selvedge_ir::{InstKind, Module, Order};
use selvedge_report::verdict::RunOptions;

const WAITS: [&str; 4] = ["pthread_cond_wait", "pthread_cond_timedwait", "cnd_wait", "cnd_timedwait"];
const ALLOCATIONS: [&str; 6] = ["malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign", "strdup"];

/// What is taken for granted about a program, in words.
pub fn of(module: &Module, options: &RunOptions, engine: Engine) -> Vec<String> {
    let mut list = Vec::new();
    if engine.model() == "sc" && uses_weak_orders(module) {
        list.push(
            "weak memory: relaxed, acquire and release accesses count as sequentially consistent (--model sc)"
                .to_owned(),
        );
    }
    if !options.spurious_wakeups && declares_any(module, &WAITS) {
        list.push("waits on condition variables that return without a signal (--spurious-wakeups)".to_owned());
    }
    if !options.malloc_may_fail && declares_any(module, &ALLOCATIONS) {
        list.push("allocations that fail (--malloc-may-fail)".to_owned());
    }
    if any_instruction(module, |kind| matches!(kind, InstKind::Cas { weak: true, .. })) {
        list.push("weak compare-and-exchange operations that fail although they find what they expect".to_owned());
    }
    list
}

fn any_instruction(module: &Module, is_wanted: impl Fn(&InstKind) -> bool) -> bool {
    module.functions.values().flat_map(|f| f.insts.values()).any(|inst| is_wanted(&inst.kind))
}

fn declares_any(module: &Module, names: &[&str]) -> bool {
    module.functions.values().any(|f| f.is_declaration() && names.contains(&f.name.as_str()))
}

fn uses_weak_orders(module: &Module) -> bool {
    let is_weak = |order: Order| order.is_atomic() && order != Order::SeqCst;
    any_instruction(module, |kind| match kind {
        InstKind::Load { order, .. } | InstKind::Store { order, .. } | InstKind::Rmw { order, .. } => is_weak(*order),
        InstKind::Cas { success, failure, .. } => is_weak(*success) || is_weak(*failure),
        InstKind::Await { order, .. } => is_weak(*order),
        // A weaker fence is implied by sequential consistency; it has no effect that could be left out.
        _ => false,
    })
}
