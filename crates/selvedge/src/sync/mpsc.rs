//! Stands in for `std::sync::mpsc`: channels without a bound.

use super::{Arc, Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::fmt;
use std::sync::PoisonError;
pub use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError};
use std::time::Duration;

struct State<T> {
    messages: VecDeque<T>,
    senders: usize,
    receives: bool,
}

struct Channel<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

impl<T> Channel<T> {
    #[track_caller]
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends.
pub struct Sender<T>(Arc<Channel<T>>);

/// Receives.
pub struct Receiver<T>(Arc<Channel<T>>);

/// A channel.
#[track_caller]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let state = Mutex::new(State { messages: VecDeque::new(), senders: 1, receives: true });
    let channel = Arc::new(Channel { state, changed: Condvar::new() });
    (Sender(Arc::clone(&channel)), Receiver(channel))
}

impl<T> Sender<T> {
    /// Sends a message, unless nobody can receive it any more.
    #[track_caller]
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        let mut state = self.0.lock();
        if !state.receives {
            return Err(SendError(message));
        }
        state.messages.push_back(message);
        drop(state);
        self.0.changed.notify_one();
        Ok(())
    }
}

impl<T> Clone for Sender<T> {
    #[track_caller]
    fn clone(&self) -> Sender<T> {
        self.0.lock().senders += 1;
        Sender(Arc::clone(&self.0))
    }
}

impl<T> Drop for Sender<T> {
    #[track_caller]
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.senders -= 1;
        let last = state.senders == 0;
        drop(state);
        if last {
            self.0.changed.notify_one();
        }
    }
}

impl<T> Receiver<T> {
    /// Waits for a message, or until nobody can send one any more.
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        let mut state = self.0.lock();
        loop {
            match state.messages.pop_front() {
                Some(message) => return Ok(message),
                None if state.senders == 0 => return Err(RecvError),
                None => state = self.0.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    /// As `recv`, or until time is up, which may be at any moment.
    #[track_caller]
    pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        let mut state = self.0.lock();
        loop {
            match state.messages.pop_front() {
                Some(message) => return Ok(message),
                None if state.senders == 0 => return Err(RecvTimeoutError::Disconnected),
                None => {}
            }
            let (again, waited) = self.0.changed.wait_timeout(state, timeout).unwrap_or_else(PoisonError::into_inner);
            state = again;
            if waited.timed_out() {
                return state.messages.pop_front().ok_or(RecvTimeoutError::Timeout);
            }
        }
    }

    /// A message, if there is one.
    #[track_caller]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        let mut state = self.0.lock();
        match state.messages.pop_front() {
            Some(message) => Ok(message),
            None if state.senders == 0 => Err(TryRecvError::Disconnected),
            None => Err(TryRecvError::Empty),
        }
    }
}

impl<T> Drop for Receiver<T> {
    #[track_caller]
    fn drop(&mut self) {
        self.0.lock().receives = false;
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}
