//! Cutting a graph back to how it was when an event was added.

use super::{Change, Graph};
use crate::event::{Event, EventId, Kind, NONE};
use selvedge_ir::{EntityRef, Order};

impl Graph {
    /// Keeps the oldest `len` events and goes back to how they were when the next one was added.
    pub fn cut(&mut self, len: usize) {
        let Some(first) = self.events.get(len) else { return };
        let (executed, changes) = (first.executed, first.changes);
        self.may_be_open = true;
        self.take_back(changes);
        self.executed.truncate(executed as usize);
        for n in (len..self.events.len()).rev() {
            let (e, event) = (EventId::new(n), &self.events[n]);
            let popped = self.threads[event.thread.index()].pop();
            debug_assert_eq!(popped, Some(e), "the newest event is the last of its thread");
            self.seq_cst -= usize::from(event.order == Order::SeqCst);
            self.blocked -= usize::from(event.blocked);
            match event.kind {
                Kind::Read => {
                    let popped = self.locations[event.loc.index()].reads.pop().map(|reader| reader.read);
                    debug_assert_eq!(popped, Some(e), "reads are listed in the order in which they were added");
                }
                Kind::Write => self.unplace(event.loc, event.co),
                Kind::Spawn => self.births[event.other().index()] = NONE,
                _ => {}
            }
        }
        self.events.truncate(len);
        self.clocks.truncate(len);
    }

    /// Goes back to how the newest event found the others.
    pub fn back_to_newest(&mut self) {
        self.may_be_open = true;
        let Event { changes, executed, .. } = self.events[self.events.len() - 1];
        self.take_back(changes);
        self.executed.truncate(executed as usize);
    }

    #[inline]
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
