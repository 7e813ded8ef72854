//! Source sets (Abdulla et al., POPL 2014, Alg. 1 "Source-DPOR").
//!
//! A race asks for one branch more at `pre(E, e)`: some initial of `v = notdep(e, E).ê'` must be in the backtrack set.
//! Unlike Optimal-DPOR, `v` ends at `e'`, and only its first step is kept: what is explored behind it may turn out to
//! be asleep.

use crate::action::{Action, Dependence};
use crate::reversal::revised;
use crate::trace::{EventId, Trace};
use selvedge_ir::EntityRef;

/// `v = notdep(e, pre(E, e')).ê'`.
pub fn reversed_up_to(trace: &Trace, e: EventId, e2: EventId, v: &mut Vec<Action>) {
    v.clear();
    let between = (e.index() + 1..e2.index()).map(EventId::new);
    v.extend(between.filter(|&f| !trace.happens_before(e, f)).map(|f| trace.event(f).action));
    let kept = |f: EventId| f < e || (f < e2 && !trace.happens_before(e, f));
    v.push(revised(trace, trace.event(e2), kept));
}

/// The initials of a sequence: steps that no earlier step of it is dependent with.
pub fn initials(v: &[Action], dependence: &Dependence) -> Vec<Action> {
    let is_initial = |&n: &usize| v[..n].iter().all(|earlier| !dependence.dependent(earlier, &v[n]));
    (0..v.len()).filter(is_initial).map(|n| v[n]).collect()
}
