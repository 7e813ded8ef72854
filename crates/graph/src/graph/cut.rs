//! Cutting a graph back to how it was when an event was added.

use super::{Change, Graph};
use crate::event::{EventId, Kind, NONE};
use selvedge_ir::{EntityRef, Order};

impl Graph {
    /// Keeps the oldest `len` events and goes back to how they were when the next one was added.
    pub fn cut(&mut self, len: usize) {
        let Some(first) = self.events.get(len) else { return };
        let (executed, changes) = (first.executed, first.changes);
        self.may_be_open = true;
        self.take_back(changes);
        self.executed.truncate(executed as usize);
        while self.events.len() > len {
            let e = EventId::new(self.events.len() - 1);
            let event = self.events[e.index()];
            match event.kind {
                Kind::Read => {
                    let location = &mut self.locations[event.loc.index()];
                    location.readers.pop();
                    let popped = location.reads.pop();
                    debug_assert_eq!(popped, Some(e), "reads are listed in the order in which they were added");
                }
                Kind::Write => self.unplace(&event),
                Kind::Spawn => self.births[event.other().index()] = NONE,
                _ => {}
            }
            let popped = self.threads[event.thread.index()].pop();
            debug_assert_eq!(popped, Some(e), "the newest event is the last of its thread");
            self.seq_cst -= usize::from(event.order == Order::SeqCst);
            self.blocked -= usize::from(event.blocked);
            self.events.pop();
        }
        self.clocks.truncate(len);
    }

    /// Goes back to how the newest event found the others.
    pub fn back_to_newest(&mut self) {
        self.may_be_open = true;
        let newest = self.events[self.events.len() - 1];
        self.take_back(newest.changes);
        self.executed.truncate(newest.executed as usize);
    }

    fn take_back(&mut self, changes: u32) {
        while self.changes.len() > changes as usize {
            let Change { read, before } = self.changes.pop().expect("the list is longer than `changes`");
            self.seq_cst -= usize::from(self.events[read.index()].order == Order::SeqCst);
            self.seq_cst += usize::from(before.order == Order::SeqCst);
            self.blocked -= usize::from(self.events[read.index()].blocked);
            self.blocked += usize::from(before.blocked);
            self.events[read.index()] = before;
            self.refresh(read);
        }
    }
}
