//! Channels made of a queue under a mutex, and condition variables for who waits: slow, and obviously right.

use selvedge::sync::{Arc, Condvar, LockResult, Mutex, MutexGuard, PoisonError};
use std::collections::VecDeque;
pub use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};
use std::time::Duration;

fn guard_of<G>(result: LockResult<G>) -> G {
    result.unwrap_or_else(PoisonError::into_inner)
}

struct State<T> {
    messages: VecDeque<T>,
    /// How many were received.
    received: usize,
    senders: usize,
    receives: bool,
}

struct Channel<T> {
    state: Mutex<State<T>>,
    /// There is a message, or nobody sends any more.
    filled: Condvar,
    /// A message was received, or nobody receives any more.
    emptied: Condvar,
    /// How many messages there is room for; for 0, a sender waits until his message is received.
    bound: Option<usize>,
}

impl<T> Channel<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        guard_of(self.state.lock())
    }

    fn new(bound: Option<usize>) -> Arc<Channel<T>> {
        let state = Mutex::new(State { messages: VecDeque::new(), received: 0, senders: 1, receives: true });
        Arc::new(Channel { state, filled: Condvar::new(), emptied: Condvar::new(), bound })
    }

    fn take(&self, state: &mut State<T>) -> Option<T> {
        let message = state.messages.pop_front()?;
        state.received += 1;
        if self.bound.is_some() {
            self.emptied.notify_all();
        }
        Some(message)
    }

    fn one_sender_more(&self) {
        self.lock().senders += 1;
    }

    fn one_sender_less(&self) {
        let mut state = self.lock();
        state.senders -= 1;
        let last = state.senders == 0;
        drop(state);
        if last {
            self.filled.notify_one();
        }
    }
}

/// Sends.
pub struct Sender<T>(Arc<Channel<T>>);

/// Sends, and waits for room.
pub struct SyncSender<T>(Arc<Channel<T>>);

/// Receives.
pub struct Receiver<T>(Arc<Channel<T>>);

/// A channel without a bound.
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let channel = Channel::new(None);
    (Sender(Arc::clone(&channel)), Receiver(channel))
}

/// A channel for so many messages. With 0, a sender waits until his message is received.
pub fn sync_channel<T>(bound: usize) -> (SyncSender<T>, Receiver<T>) {
    let channel = Channel::new(Some(bound));
    (SyncSender(Arc::clone(&channel)), Receiver(channel))
}

impl<T> Sender<T> {
    /// Sends a message, unless nobody can receive it any more.
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        let mut state = self.0.lock();
        if !state.receives {
            return Err(SendError(message));
        }
        state.messages.push_back(message);
        drop(state);
        self.0.filled.notify_one();
        Ok(())
    }
}

impl<T> SyncSender<T> {
    fn bound(&self) -> usize {
        self.0.bound.expect("a channel of a `SyncSender` has a bound")
    }

    /// Waits for room and sends a message, unless nobody can receive it any more.
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        let mut state = self.0.lock();
        while state.receives && state.messages.len() >= self.bound().max(1) {
            state = guard_of(self.0.emptied.wait(state));
        }
        if !state.receives {
            return Err(SendError(message));
        }
        state.messages.push_back(message);
        let mine = state.received + state.messages.len();
        self.0.filled.notify_one();
        if self.bound() == 0 {
            while state.receives && state.received < mine {
                state = guard_of(self.0.emptied.wait(state));
            }
            if state.received < mine {
                let message = state.messages.pop_back().expect("a message that is not received is there");
                return Err(SendError(message));
            }
        }
        Ok(())
    }

    /// Sends a message if there is room. Without a bound of at least 1 there is none, as nobody is seen to wait for it.
    pub fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        let mut state = self.0.lock();
        if !state.receives {
            return Err(TrySendError::Disconnected(message));
        }
        if state.messages.len() >= self.bound() {
            return Err(TrySendError::Full(message));
        }
        state.messages.push_back(message);
        drop(state);
        self.0.filled.notify_one();
        Ok(())
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Sender<T> {
        self.0.one_sender_more();
        Sender(Arc::clone(&self.0))
    }
}

impl<T> Clone for SyncSender<T> {
    fn clone(&self) -> SyncSender<T> {
        self.0.one_sender_more();
        SyncSender(Arc::clone(&self.0))
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.0.one_sender_less();
    }
}

impl<T> Drop for SyncSender<T> {
    fn drop(&mut self) {
        self.0.one_sender_less();
    }
}

impl<T> Receiver<T> {
    /// Waits for a message, or until nobody can send one any more.
    pub fn recv(&self) -> Result<T, RecvError> {
        let mut state = self.0.lock();
        loop {
            match self.0.take(&mut state) {
                Some(message) => return Ok(message),
                None if state.senders == 0 => return Err(RecvError),
                None => state = guard_of(self.0.filled.wait(state)),
            }
        }
    }

    /// As `recv`, or until time is up, which may be at any moment.
    pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        let mut state = self.0.lock();
        loop {
            match self.0.take(&mut state) {
                Some(message) => return Ok(message),
                None if state.senders == 0 => return Err(RecvTimeoutError::Disconnected),
                None => {}
            }
            let (again, waited) = guard_of(self.0.filled.wait_timeout(state, timeout));
            state = again;
            if waited.timed_out() {
                return self.0.take(&mut state).ok_or(RecvTimeoutError::Timeout);
            }
        }
    }

    /// A message, if there is one.
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        let mut state = self.0.lock();
        match self.0.take(&mut state) {
            Some(message) => Ok(message),
            None if state.senders == 0 => Err(TryRecvError::Disconnected),
            None => Err(TryRecvError::Empty),
        }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.receives = false;
        // A message that nobody receives is dropped, except one whose sender waits to get it back.
        let left = if self.0.bound == Some(0) { VecDeque::new() } else { std::mem::take(&mut state.messages) };
        drop(state);
        drop(left);
        if self.0.bound.is_some() {
            self.0.emptied.notify_all();
        }
    }
}
