//! Poisoning: what a lock protects may be broken if somebody has panicked while he held it.

use crate::runtime;
use std::cell::Cell;
use std::sync::{LockResult, PoisonError};

/// What a lock protects.
pub(super) struct Guarded<T: ?Sized> {
    poisoned: Cell<bool>,
    /// The value.
    pub value: T,
}

impl<T> Guarded<T> {
    /// A value that is not broken.
    pub const fn new(value: T) -> Guarded<T> {
        Guarded { poisoned: Cell::new(false), value }
    }
}

impl<T: ?Sized> Guarded<T> {
    /// Whether it may be broken.
    pub fn is_poisoned(&self) -> bool {
        self.poisoned.get()
    }

    /// Says whether it may be broken.
    pub fn set_poisoned(&self, poisoned: bool) {
        self.poisoned.set(poisoned);
    }
}

/// A result that is an error if what is behind it is poisoned.
pub(super) fn poisoned<G>(is_poisoned: bool, guard: G) -> LockResult<G> {
    if is_poisoned { Err(PoisonError::new(guard)) } else { Ok(guard) }
}

/// Somebody clears the flag of a lock, most often while he holds it. That is no operation either.
pub(super) fn is_cleared() {
    if runtime::current().is_some() && !runtime::alone() {
        runtime::shared(|shared| shared.left_out.poison = true);
    }
}

/// Somebody looks at a lock from outside. That is no operation, so what he could see of what others are about to do is not
/// explored; the verdict says so.
pub(super) fn is_looked_at() {
    if runtime::current().is_some() {
        let alone = runtime::alone();
        runtime::shared(|shared| {
            shared.asked += 1;
            shared.left_out.poison |= !alone;
        });
    }
}
