//! Red-black trees: what `std::map` and `std::set` leave to the C++ library.
//!
//! Nodes start with their colour, parent, left and right child. The header of a tree is such a node too: its parent is
//! the root, its left child the leftmost node and its right child the rightmost; it is red, and the root's parent is the
//! header. Insertion and removal are those of Cormen, Leiserson, Rivest and Stein, Introduction to Algorithms, chapter
//! 13, with null pointers for leaves (so the parent of a leaf is carried along).

use super::call::{Answer, Call, models};
use crate::Addr;

models! {
    "_ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base" | "_ZSt18_Rb_tree_incrementPKSt18_Rb_tree_node_base" / 1
        => |c| step(c, LEFT, RIGHT),
    "_ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base" | "_ZSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base" / 1
        => decrement,
    "_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_" / 4 => insert,
    "_ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_" / 2 => erase,
}

const COLOUR: u64 = 0;
const PARENT: u64 = 8;
const LEFT: u64 = 16;
const RIGHT: u64 = 24;
const RED: u64 = 0;
const BLACK: u64 = 1;
const NULL: Addr = Addr(0);

fn get(call: &mut Call<'_>, node: Addr, field: u64) -> Answer<Addr> {
    call.load(node.plus(field), 8).map(Addr)
}

fn set(call: &mut Call<'_>, node: Addr, field: u64, value: Addr) -> Answer<()> {
    call.store(node.plus(field), 8, value.0)
}

fn colour(call: &mut Call<'_>, node: Addr) -> Answer {
    call.load(node.plus(COLOUR), 4)
}

/// A leaf counts as black.
fn is_black(call: &mut Call<'_>, node: Addr) -> Answer<bool> {
    Ok(node == NULL || colour(call, node)? == BLACK)
}

fn paint(call: &mut Call<'_>, node: Addr, colour: u64) -> Answer<()> {
    call.store(node.plus(COLOUR), 4, colour)
}

fn other(side: u64) -> u64 {
    LEFT + RIGHT - side
}

/// The outermost node on a side.
fn outermost(call: &mut Call<'_>, mut node: Addr, side: u64) -> Answer<Addr> {
    loop {
        let next = get(call, node, side)?;
        if next == NULL {
            return Ok(node);
        }
        node = next;
    }
}

/// The neighbour of a node in the direction of `towards`.
fn step(call: &mut Call<'_>, back: u64, towards: u64) -> Answer {
    let mut node = call.ptr(0);
    let child = get(call, node, towards)?;
    if child != NULL {
        return Ok(outermost(call, child, back)?.0);
    }
    let mut parent = get(call, node, PARENT)?;
    while get(call, parent, towards)? == node {
        node = parent;
        parent = get(call, parent, PARENT)?;
    }
    // At the end of a tree of one node, the header is its own neighbour.
    let at_header = get(call, node, towards)? == parent;
    Ok(if at_header { node.0 } else { parent.0 })
}

fn decrement(call: &mut Call<'_>) -> Answer {
    let node = call.ptr(0);
    // From the end (the red header, which is its root's parent) back to the rightmost node.
    if colour(call, node)? == RED {
        let parent = get(call, node, PARENT)?;
        if parent != NULL && get(call, parent, PARENT)? == node {
            return Ok(get(call, node, RIGHT)?.0);
        }
    }
    let child = get(call, node, LEFT)?;
    if child != NULL {
        return Ok(outermost(call, child, RIGHT)?.0);
    }
    let mut node = node;
    let mut parent = get(call, node, PARENT)?;
    while get(call, parent, LEFT)? == node {
        node = parent;
        parent = get(call, parent, PARENT)?;
    }
    Ok(parent.0)
}

/// Puts `new` where `old` hangs on its parent.
fn replace(call: &mut Call<'_>, header: Addr, old: Addr, new: Addr) -> Answer<()> {
    let parent = get(call, old, PARENT)?;
    if get(call, header, PARENT)? == old {
        set(call, header, PARENT, new)
    } else if get(call, parent, LEFT)? == old {
        set(call, parent, LEFT, new)
    } else {
        set(call, parent, RIGHT, new)
    }
}

/// Turns the edge between a node and its child on the other side towards `side`.
fn rotate(call: &mut Call<'_>, header: Addr, node: Addr, side: u64) -> Answer<()> {
    let child = get(call, node, other(side))?;
    let inner = get(call, child, side)?;
    set(call, node, other(side), inner)?;
    if inner != NULL {
        set(call, inner, PARENT, node)?;
    }
    let parent = get(call, node, PARENT)?;
    set(call, child, PARENT, parent)?;
    replace(call, header, node, child)?;
    set(call, child, side, node)?;
    set(call, node, PARENT, child)
}

/// `_Rb_tree_insert_and_rebalance(left, node, parent, header)`.
fn insert(call: &mut Call<'_>) -> Answer {
    let (left, node, parent, header) = (call.arg(0) & 1 != 0, call.ptr(1), call.ptr(2), call.ptr(3));
    set(call, node, PARENT, parent)?;
    set(call, node, LEFT, NULL)?;
    set(call, node, RIGHT, NULL)?;
    paint(call, node, RED)?;
    hang(call, left, node, parent, header)?;
    let mut node = node;
    while node != get(call, header, PARENT)? {
        let parent = get(call, node, PARENT)?;
        if is_black(call, parent)? {
            break;
        }
        node = repair_red(call, node, parent, header)?;
    }
    let root = get(call, header, PARENT)?;
    paint(call, root, BLACK)?;
    Ok(0)
}

/// Hangs a new node on its parent, and keeps the header's ends right.
fn hang(call: &mut Call<'_>, left: bool, node: Addr, parent: Addr, header: Addr) -> Answer<()> {
    set(call, parent, if left { LEFT } else { RIGHT }, node)?;
    if parent == header {
        set(call, header, PARENT, node)?;
        set(call, header, LEFT, node)?;
        return set(call, header, RIGHT, node);
    }
    let side = if left { LEFT } else { RIGHT };
    if get(call, header, side)? == parent {
        set(call, header, side, node)?;
    }
    Ok(())
}

/// One round of repairing a red node with a red parent; the node to go on with.
fn repair_red(call: &mut Call<'_>, node: Addr, parent: Addr, header: Addr) -> Answer<Addr> {
    let grandparent = get(call, parent, PARENT)?;
    let side = if get(call, grandparent, LEFT)? == parent { LEFT } else { RIGHT };
    let uncle = get(call, grandparent, other(side))?;
    if !is_black(call, uncle)? {
        paint(call, parent, BLACK)?;
        paint(call, uncle, BLACK)?;
        paint(call, grandparent, RED)?;
        return Ok(grandparent);
    }
    let (node, parent) = if get(call, parent, other(side))? == node {
        rotate(call, header, parent, side)?;
        (parent, node)
    } else {
        (node, parent)
    };
    paint(call, parent, BLACK)?;
    paint(call, grandparent, RED)?;
    rotate(call, header, grandparent, other(side))?;
    Ok(node)
}

/// `_Rb_tree_rebalance_for_erase(node, header)`: takes a node out and gives it.
fn erase(call: &mut Call<'_>) -> Answer {
    let (node, header) = (call.ptr(0), call.ptr(1));
    let (left, right) = (get(call, node, LEFT)?, get(call, node, RIGHT)?);
    let (hole, parent, removed) = if left != NULL && right != NULL {
        splice_successor(call, node, left, right, header)?
    } else {
        splice(call, node, if left == NULL { right } else { left }, header)?
    };
    if removed == BLACK {
        repair_black(call, hole, parent, header)?;
    }
    Ok(node.0)
}

/// Takes out a node with at most one child. Gives what stands in its place, the parent of that, and the lost colour.
fn splice(call: &mut Call<'_>, node: Addr, child: Addr, header: Addr) -> Answer<(Addr, Addr, u64)> {
    let parent = get(call, node, PARENT)?;
    if child != NULL {
        set(call, child, PARENT, parent)?;
    }
    replace(call, header, node, child)?;
    for side in [LEFT, RIGHT] {
        if get(call, header, side)? == node {
            // An end has no child on its side; its neighbour is its parent or the end of its only subtree.
            let end = if child == NULL { parent } else { outermost(call, child, side)? };
            set(call, header, side, end)?;
        }
    }
    let removed = colour(call, node)?;
    Ok((child, parent, removed))
}

/// Takes out a node with two children: its successor takes its place and colour.
fn splice_successor(
    call: &mut Call<'_>,
    node: Addr,
    left: Addr,
    right: Addr,
    header: Addr,
) -> Answer<(Addr, Addr, u64)> {
    let successor = outermost(call, right, LEFT)?;
    let child = get(call, successor, RIGHT)?;
    set(call, left, PARENT, successor)?;
    set(call, successor, LEFT, left)?;
    let parent = if successor == right {
        successor
    } else {
        let parent = get(call, successor, PARENT)?;
        if child != NULL {
            set(call, child, PARENT, parent)?;
        }
        set(call, parent, LEFT, child)?;
        set(call, successor, RIGHT, right)?;
        set(call, right, PARENT, successor)?;
        parent
    };
    replace(call, header, node, successor)?;
    let above = get(call, node, PARENT)?;
    set(call, successor, PARENT, above)?;
    let (removed, kept) = (colour(call, successor)?, colour(call, node)?);
    paint(call, successor, kept)?;
    Ok((child, parent, removed))
}

/// Repairs a path that has one black node too few at `hole`.
fn repair_black(call: &mut Call<'_>, mut hole: Addr, mut parent: Addr, header: Addr) -> Answer<()> {
    while hole != get(call, header, PARENT)? && is_black(call, hole)? {
        let side = if get(call, parent, LEFT)? == hole { LEFT } else { RIGHT };
        let mut sibling = get(call, parent, other(side))?;
        if !is_black(call, sibling)? {
            paint(call, sibling, BLACK)?;
            paint(call, parent, RED)?;
            rotate(call, header, parent, side)?;
            sibling = get(call, parent, other(side))?;
        }
        let (near, far) = (get(call, sibling, side)?, get(call, sibling, other(side))?);
        if is_black(call, near)? && is_black(call, far)? {
            paint(call, sibling, RED)?;
            hole = parent;
            parent = get(call, hole, PARENT)?;
            continue;
        }
        if is_black(call, far)? {
            paint(call, near, BLACK)?;
            paint(call, sibling, RED)?;
            rotate(call, header, sibling, other(side))?;
            sibling = near;
        }
        let kept = colour(call, parent)?;
        paint(call, sibling, kept)?;
        paint(call, parent, BLACK)?;
        let far = get(call, sibling, other(side))?;
        paint(call, far, BLACK)?;
        rotate(call, header, parent, side)?;
        return Ok(());
    }
    if hole != NULL {
        paint(call, hole, BLACK)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::testing::Fake;

    struct Tree {
        host: Fake,
        header: Addr,
    }

    /// Nodes have their key behind the links.
    const KEY: u64 = 32;

    impl Tree {
        fn new() -> Tree {
            let mut host = Fake::new();
            let header = host.global(32);
            host.store(Addr(header.0 + LEFT), 8, header.0);
            host.store(Addr(header.0 + RIGHT), 8, header.0);
            Tree { host, header }
        }

        fn field(&self, node: u64, field: u64) -> u64 {
            self.host.load(Addr(node + field), 8)
        }

        fn insert(&mut self, key: u64) {
            let node = self.host.heap(40);
            self.host.store(Addr(node.0 + KEY), 8, key);
            let (mut parent, mut next, mut left) = (self.header.0, self.field(self.header.0, PARENT), true);
            while next != 0 {
                parent = next;
                left = key < self.field(next, KEY);
                next = self.field(next, if left { LEFT } else { RIGHT });
            }
            let name = "_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_";
            self.host.call(name, &[u64::from(left), node.0, parent, self.header.0]);
        }

        fn erase(&mut self, key: u64) {
            let mut node = self.field(self.header.0, PARENT);
            while self.field(node, KEY) != key {
                node = self.field(node, if key < self.field(node, KEY) { LEFT } else { RIGHT });
            }
            let name = "_ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_";
            assert_eq!(self.host.call(name, &[node, self.header.0]), node);
        }

        /// The keys below a node and the number of black nodes on every path.
        fn check(&self, node: u64, parent: u64, keys: &mut Vec<u64>) -> u32 {
            if node == 0 {
                return 1;
            }
            assert_eq!(self.field(node, PARENT), parent);
            let black = self.host.load(Addr(node), 4) == BLACK;
            let red_parent = parent != self.header.0 && self.host.load(Addr(parent), 4) == RED;
            assert!(black || !red_parent, "a red node has a red parent");
            let left = self.check(self.field(node, LEFT), node, keys);
            keys.push(self.field(node, KEY));
            let right = self.check(self.field(node, RIGHT), node, keys);
            assert_eq!(left, right, "paths with different numbers of black nodes");
            left + u32::from(black)
        }

        fn keys(&mut self) -> Vec<u64> {
            let mut keys = Vec::new();
            self.check(self.field(self.header.0, PARENT), self.header.0, &mut keys);
            let (mut forward, mut node) = (Vec::new(), self.field(self.header.0, LEFT));
            while node != self.header.0 {
                forward.push(self.field(node, KEY));
                node = self.host.call("_ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base", &[node]);
            }
            let (mut backward, mut node) = (Vec::new(), self.header.0);
            for _ in 0..keys.len() {
                node = self.host.call("_ZSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base", &[node]);
                backward.push(self.field(node, KEY));
            }
            backward.reverse();
            assert_eq!((&forward, &backward), (&keys, &keys));
            keys
        }
    }

    #[test]
    fn trees_stay_sorted_and_balanced() {
        let mut tree = Tree::new();
        let mut expected = std::collections::BTreeSet::new();
        let mut seed = 1u64;
        for round in 0..400 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let key = seed >> 59;
            if expected.remove(&key) {
                tree.erase(key);
            } else {
                expected.insert(key);
                tree.insert(key);
            }
            assert_eq!(tree.keys(), expected.iter().copied().collect::<Vec<_>>(), "round {round}");
            if expected.is_empty() {
                assert_eq!(tree.field(tree.header.0, LEFT), tree.header.0);
            }
        }
        for key in expected {
            tree.erase(key);
        }
        assert_eq!(tree.keys(), []);
    }
}
