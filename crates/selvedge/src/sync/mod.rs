//! Stands in for `std::sync`.

mod arc;
pub mod atomic;
mod barrier;
pub(crate) mod channel;
mod condvar;
pub mod mpsc;
mod mutex;
mod notify;
mod once;
mod poison;
mod rwlock;
mod weak;

pub use arc::Arc;
pub use barrier::Barrier;
pub use condvar::{Condvar, WaitTimeoutResult};
pub use mutex::{Mutex, MutexGuard};
pub use notify::Notify;
pub use once::{LazyLock, Once, OnceLock, OnceState};
pub(crate) use rwlock::WRITER;
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use std::sync::{BarrierWaitResult, LockResult, PoisonError, TryLockError, TryLockResult};
pub use weak::Weak;
