//! Threads that send messages.

use crate::library::sync::mpsc::channel;
use crate::library::thread;

/// Threads that send so many messages each; all are received, those of a thread in its order.
pub fn senders(senders: usize, each: usize) {
    let (sender, receiver) = channel();
    let handles: Vec<_> = (0..senders)
        .map(|n| {
            let sender = sender.clone();
            thread::spawn(move || (0..each).for_each(|m| sender.send((n, m)).unwrap()))
        })
        .collect();
    let mut next = vec![0; senders];
    for _ in 0..senders * each {
        let (n, m) = receiver.recv().unwrap();
        assert_eq!(next[n], m);
        next[n] += 1;
    }
    handles.into_iter().for_each(|handle| handle.join().unwrap());
}
