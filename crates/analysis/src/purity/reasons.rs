//! Why an iteration is not pure.

use selvedge_ir::{Inst, LocId, Value};

/// Something that an iteration does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reason {
    /// Where.
    pub loc: LocId,
    /// What.
    pub why: Why,
}

/// What keeps an iteration from being pure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// An instruction acts on something that others, or later iterations, can see.
    Acts(Inst),
    /// A local variable changes: this phi of the header.
    Changes(Value),
    /// An inner loop, which has become this await, ends only when another thread has written.
    WaitsForChange(Inst),
    /// On the way back, a local variable always changes.
    AlwaysChanges,
}
