//! Futures in models.

use crate::nondet::for_no_reason;
use crate::sync::{Mutex, Notify};
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

struct Signal(Notify);

impl Wake for Signal {
    #[track_caller]
    fn wake(self: Arc<Self>) {
        self.0.notify();
    }

    #[track_caller]
    fn wake_by_ref(self: &Arc<Self>) {
        self.0.notify();
    }
}

/// Runs a future to its end; the thread waits as long as the future does.
///
/// Executors may poll a future although nobody has woken it, and those that poll several of them together do. That it is
/// polled for no reason is explored in a second pass: in the first one, a waker that is never called is a deadlock.
#[track_caller]
pub fn block_on<F>(f: F) -> F::Output
where
    F: Future,
{
    let mut future = pin!(f);
    let signal = Arc::new(Signal(Notify::new()));
    let waker = Waker::from(Arc::clone(&signal));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => {
                if !for_no_reason("polls again") {
                    signal.0.wait();
                }
            }
        }
    }
}

/// Stands in for `futures_util::task::AtomicWaker`.
#[derive(Debug)]
pub struct AtomicWaker {
    waker: Mutex<Option<Waker>>,
}

impl AtomicWaker {
    /// Nobody waits.
    #[track_caller]
    pub fn new() -> AtomicWaker {
        AtomicWaker { waker: Mutex::new(None) }
    }

    /// Says who waits.
    #[track_caller]
    pub fn register(&self, waker: Waker) {
        let old = self.waker.lock().unwrap_or_else(PoisonError::into_inner).replace(waker);
        drop(old);
    }

    /// Says who waits.
    #[track_caller]
    pub fn register_by_ref(&self, waker: &Waker) {
        self.register(waker.clone());
    }

    /// Wakes who waits.
    #[track_caller]
    pub fn wake(&self) {
        if let Some(waker) = self.take_waker() {
            waker.wake();
        }
    }

    /// Who waits.
    #[track_caller]
    pub fn take_waker(&self) -> Option<Waker> {
        self.waker.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Default for AtomicWaker {
    #[track_caller]
    fn default() -> Self {
        AtomicWaker::new()
    }
}
