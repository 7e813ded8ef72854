//! Stands in for `std::sync::mpsc`; what a channel is made of is in `channel.rs`.

use super::channel::{Channel, Look, Unsent};
use crate::nondet::{nondet_bool, times_out};
use crate::runtime::prepare;
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::panic::{Location, RefUnwindSafe};
use std::sync::Arc;
pub use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};
use std::time::Duration;

/// Sends.
pub struct Sender<T>(Arc<Channel<T>>);

/// Sends, and waits for room.
pub struct SyncSender<T>(Arc<Channel<T>>);

/// Receives. There is one: a reference to it cannot be sent to other threads.
pub struct Receiver<T>(Arc<Channel<T>>, PhantomData<Cell<()>>);

// The cell is none: it keeps references to the receiver from being sent.
impl<T> RefUnwindSafe for Receiver<T> {}

/// A channel without a bound.
#[track_caller]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let channel = Arc::new(Channel::new(None));
    (Sender(Arc::clone(&channel)), Receiver(channel, PhantomData))
}

/// A channel for so many messages. With 0, a sender waits until his message is received.
#[track_caller]
pub fn sync_channel<T>(bound: usize) -> (SyncSender<T>, Receiver<T>) {
    let channel = Arc::new(Channel::new(Some(bound)));
    (SyncSender(Arc::clone(&channel)), Receiver(channel, PhantomData))
}

impl<T> Sender<T> {
    /// Sends a message, unless nobody can receive it any more.
    #[track_caller]
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        self.0.send(message).map_err(SendError)
    }
}

impl<T> SyncSender<T> {
    /// Waits for room and sends a message, unless nobody can receive it any more.
    #[track_caller]
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        self.0.send(message).map_err(SendError)
    }

    /// Sends a message if there is room. Without a bound of at least 1 there is none: that a receiver waits for it at this
    /// moment is not explored, and `Stats::not_covered` says so.
    #[track_caller]
    pub fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        self.0.try_send(message).map_err(|(why, message)| match why {
            Unsent::Full => TrySendError::Full(message),
            Unsent::NoReceiver => TrySendError::Disconnected(message),
        })
    }
}

impl<T> Clone for Sender<T> {
    #[track_caller]
    fn clone(&self) -> Sender<T> {
        self.0.clone_sender();
        Sender(Arc::clone(&self.0))
    }
}

impl<T> Clone for SyncSender<T> {
    #[track_caller]
    fn clone(&self) -> SyncSender<T> {
        self.0.clone_sender();
        SyncSender(Arc::clone(&self.0))
    }
}

impl<T> Drop for Sender<T> {
    #[track_caller]
    fn drop(&mut self) {
        self.0.drop_sender();
    }
}

impl<T> Drop for SyncSender<T> {
    #[track_caller]
    fn drop(&mut self) {
        self.0.drop_sender();
    }
}

impl<T> Receiver<T> {
    /// Waits for a message, or until nobody can send one any more.
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        self.0.receive().ok_or(RecvError)
    }

    /// As `recv`, or until time is up, which may be at any moment.
    #[track_caller]
    pub fn recv_timeout(&self, _timeout: Duration) -> Result<T, RecvTimeoutError> {
        if self.0.look() == Look::Empty && nondet_bool() {
            times_out();
            return Err(RecvTimeoutError::Timeout);
        }
        self.0.receive_in_time().ok_or(RecvTimeoutError::Disconnected)
    }

    /// A message, if there is one.
    #[track_caller]
    #[inline(always)]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        prepare();
        self.receive_if_there()
    }

    #[track_caller]
    #[inline(never)]
    fn receive_if_there(&self) -> Result<T, TryRecvError> {
        match self.0.look() {
            Look::There => Ok(self.0.receive_there(Location::caller())),
            Look::Message => self.0.receive().ok_or(TryRecvError::Disconnected),
            Look::Empty => Err(TryRecvError::Empty),
            Look::Ended => Err(TryRecvError::Disconnected),
        }
    }

    /// All messages until nobody can send one any more.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter(self)
    }

    /// The messages that are there.
    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter(self)
    }
}

impl<T> Drop for Receiver<T> {
    #[track_caller]
    fn drop(&mut self) {
        self.0.drop_receiver();
    }
}

/// The messages of a channel.
#[derive(Debug)]
pub struct Iter<'a, T>(&'a Receiver<T>);

/// The messages of a channel that are there.
#[derive(Debug)]
pub struct TryIter<'a, T>(&'a Receiver<T>);

/// The messages of a channel.
#[derive(Debug)]
pub struct IntoIter<T>(Receiver<T>);

impl<T> Iterator for Iter<'_, T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}

impl<T> Iterator for TryIter<'_, T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.0.try_recv().ok()
    }
}

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}

impl<'a, T> IntoIterator for &'a Receiver<T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> IntoIter<T> {
        IntoIter(self)
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for SyncSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SyncSender").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}
