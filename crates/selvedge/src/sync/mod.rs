//! Stands in for `std::sync`.

mod arc;
pub mod atomic;
mod condvar;
mod mutex;
mod rwlock;

pub use arc::Arc;
pub use condvar::{Condvar, WaitTimeoutResult};
pub use mutex::{Mutex, MutexGuard};
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};
