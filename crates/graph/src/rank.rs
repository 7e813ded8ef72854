//! When one worker alone would come to a piece of work.
//!
//! What is left to explore is a stack of entries: the newest is taken first, and what it leads to is put in its place and
//! above it. So the *height* at which an entry lies says when its turn comes among those that are there: the highest first.
//! An entry that is put there while another one is explored comes before all that lie below that one. Hence the heights of
//! an entry and of the entries that led to it, oldest first, are its *rank*: of two ranks the one with the larger number
//! at the first difference comes first, and what leads to others comes before them.
//!
//! An entry that is given away stays where it is, as a mark, so that heights do not change. The worker that takes it on
//! counts heights from 0 again, behind the rank that came with it.

use std::cmp::Ordering;

/// When one worker alone would come to a piece of work; what comes first is less.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Rank {
    heights: Vec<u32>,
    /// How many of them are another worker's.
    given: usize,
}

impl Rank {
    /// Takes an entry from the stack that lies at a height: what led to it lies there or lower.
    pub fn take(&mut self, height: usize) {
        let height = height as u32;
        while self.heights.len() > self.given && self.heights.last().is_some_and(|&last| last > height) {
            self.heights.pop();
        }
        self.heights.push(height);
    }

    /// The rank of an entry that lies at a height.
    pub fn of(&self, height: usize) -> Rank {
        let mut rank = self.clone();
        rank.take(height);
        rank
    }

    /// The same for another worker.
    pub fn given(mut self) -> Rank {
        self.given = self.heights.len();
        self
    }
}

impl Ord for Rank {
    fn cmp(&self, other: &Rank) -> Ordering {
        let differ = self.heights.iter().zip(&other.heights).find(|(a, b)| a != b);
        differ.map_or(self.heights.len().cmp(&other.heights.len()), |(a, b)| b.cmp(a))
    }
}

impl PartialOrd for Rank {
    fn partial_cmp(&self, other: &Rank) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::Rank;

    /// A node of a tree: the way to it, and a number that says how many children it has.
    type Node = (Vec<u32>, u64);

    fn children((path, seed): &Node) -> Vec<Node> {
        let count = if path.len() < 9 { [3, 1, 2, 4, 0, 1, 2][(seed >> 33) as usize % 7] } else { 0 };
        let child = |n: u32| {
            let path = [&path[..], &[n]].concat();
            (path, seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(u64::from(n) + 1))
        };
        (0..count).map(child).collect()
    }

    #[test]
    fn ranks_are_in_the_order_of_one_worker() {
        let root = (Vec::new(), 1);
        let mut alone = Vec::new();
        let mut stack = vec![root.clone()];
        while let Some(node) = stack.pop() {
            stack.extend(children(&node));
            alone.push(node.0);
        }
        // The same by several workers, one after the other: now and then an entry is given away.
        let (mut found, mut given) = (Vec::new(), 0);
        let mut parcels = vec![(Rank::default(), root)];
        while let Some((mut rank, first)) = parcels.pop() {
            let mut stack = vec![Some(first)];
            while let Some(entry) = stack.pop() {
                let Some(node) = entry else { continue };
                rank.take(stack.len());
                stack.extend(children(&node).into_iter().map(Some));
                let at = (node.1 >> 20) as usize % (stack.len() + 1);
                if let Some(entry) = stack.get_mut(at).filter(|_| node.1 % 3 == 0).and_then(Option::take) {
                    parcels.push((rank.of(at).given(), entry));
                    given += 1;
                }
                found.push((rank.clone(), node.0));
            }
        }
        assert!(found.len() > 100 && given > 10, "{} nodes, {given} given away", found.len());
        found.sort();
        assert!(found.windows(2).all(|two| two[0].0 < two[1].0), "no two ranks are the same");
        assert!(found.into_iter().map(|(_, path)| path).eq(alone));
    }
}
