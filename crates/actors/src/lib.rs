//! Checks Rust code whose processes pass messages: runs it in every way that differs, each once.
//!
//! ```
//! use selvedge_actors::{Pid, check, process};
//!
//! #[derive(Clone, Debug)]
//! enum Ask {
//!     Add(u32),
//!     Get(Pid<u32>),
//! }
//!
//! check(|| {
//!     let counter = process::spawn_named("counter", || {
//!         process::server();
//!         let mut sum = 0;
//!         loop {
//!             match process::receive() {
//!                 Ask::Add(n) => sum += n,
//!                 Ask::Get(who) => who.send(sum),
//!             }
//!         }
//!     });
//!     counter.send(Ask::Add(1));
//!     counter.send(Ask::Get(process::me()));
//!     assert_eq!(process::receive::<u32>(), 1);
//! });
//! ```
//!
//! | file | owns |
//! |---|---|
//! | `process.rs` | what processes do |
//! | `check.rs` | `check`, `Builder` |
//! | `payload.rs` | messages, and what receives accept |
//! | `machine.rs` | the machine that the engine drives |
//! | `context.rs` | how an operation gets from a process to the machine |
//! | `coroutine.rs` | processes as coroutines on pooled stacks |
//! | `report.rs` | what went wrong, in words |

mod check;
mod context;
mod coroutine;
mod machine;
mod payload;
pub mod process;
mod report;

pub use check::{Builder, Stats, check, replay};
pub use payload::{Down, Exit, ExitReason, Message};
pub use selvedge_messages::Delivery;

use std::fmt;
use std::marker::PhantomData;

/// A process, without the type of its messages.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessId(selvedge_messages::Pid);

impl fmt::Debug for ProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A process that receives messages of type `M`.
pub struct Pid<M> {
    pid: selvedge_messages::Pid,
    messages: PhantomData<fn(M)>,
}

impl<M> Pid<M> {
    fn of(pid: selvedge_messages::Pid) -> Pid<M> {
        Pid { pid, messages: PhantomData }
    }
}

impl<M> Clone for Pid<M> {
    fn clone(&self) -> Pid<M> {
        *self
    }
}

impl<M> Copy for Pid<M> {}

impl<M> PartialEq for Pid<M> {
    fn eq(&self, other: &Pid<M>) -> bool {
        self.pid == other.pid
    }
}

impl<M> Eq for Pid<M> {}

impl<M> PartialOrd for Pid<M> {
    fn partial_cmp(&self, other: &Pid<M>) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<M> Ord for Pid<M> {
    fn cmp(&self, other: &Pid<M>) -> std::cmp::Ordering {
        self.pid.cmp(&other.pid)
    }
}

impl<M> std::hash::Hash for Pid<M> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.pid.hash(state);
    }
}

impl<M> fmt::Debug for Pid<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.pid)
    }
}
