//! The stack of graphs that are being explored. The newest one is looked at all the time, so it is kept at hand.

use super::Frame;

/// Graphs and what is left to explore of them.
#[derive(Default)]
pub(crate) struct Frames {
    /// The newest one; an empty one if there is none.
    pub top: Frame,
    /// The others, oldest first.
    below: Vec<Frame>,
    is_filled: bool,
}

impl Frames {
    /// One graph.
    pub fn of(frame: Frame) -> Frames {
        Frames { top: frame, below: Vec::new(), is_filled: true }
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        !self.is_filled
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.below.len() + usize::from(self.is_filled)
    }

    /// Adds one.
    pub fn push(&mut self, frame: Frame) {
        let older = std::mem::replace(&mut self.top, frame);
        if self.is_filled {
            self.below.push(older);
        }
        self.is_filled = true;
    }

    /// Takes the newest one away.
    pub fn pop(&mut self) -> Option<Frame> {
        if !self.is_filled {
            return None;
        }
        let next = self.below.pop();
        self.is_filled = next.is_some();
        Some(std::mem::replace(&mut self.top, next.unwrap_or_default()))
    }

    /// Takes all away, oldest first.
    pub fn move_to(&mut self, spare: &mut Vec<Frame>) {
        spare.append(&mut self.below);
        if self.is_filled {
            spare.push(std::mem::take(&mut self.top));
        }
        self.is_filled = false;
    }

    /// All of them, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Frame> {
        self.below.iter().chain(self.is_filled.then_some(&self.top))
    }

    /// The same, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Frame> {
        self.below.iter_mut().chain(self.is_filled.then_some(&mut self.top))
    }

    /// One of them, from 0, the oldest.
    pub fn at(&mut self, n: usize) -> &mut Frame {
        self.below.get_mut(n).unwrap_or(&mut self.top)
    }
}
