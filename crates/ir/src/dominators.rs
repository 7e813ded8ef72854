//! Dominators: block `a` dominates block `b` if every path from the entry to `b` goes through `a`.
//!
//! The algorithm is that of K. Cooper, T. Harvey and K. Kennedy, "A Simple, Fast Dominance Algorithm" (2001): immediate
//! dominators are improved over the blocks in reverse post-order until nothing changes. Afterwards the tree is numbered
//! in pre- and post-order, so that a question takes constant time.

use crate::cfg::Cfg;
use crate::{Block, EntityVec};

/// The dominator tree of a function.
#[derive(Clone, Debug)]
pub struct Dominators {
    idom: EntityVec<Block, Option<Block>>,
    children: EntityVec<Block, Vec<Block>>,
    /// When a walk over the tree enters and leaves each block; none for unreachable ones.
    interval: EntityVec<Block, Option<(u32, u32)>>,
}

impl Dominators {
    /// The dominators of all reachable blocks.
    pub fn new(cfg: &Cfg) -> Dominators {
        let idom = immediate_dominators(cfg);
        let mut children: EntityVec<Block, Vec<Block>> = idom.keys().map(|_| Vec::new()).collect();
        for &block in cfg.reverse_post_order() {
            if let Some(parent) = idom[block] {
                children[parent].push(block);
            }
        }
        let interval = intervals(cfg, &children);
        Dominators { idom, children, interval }
    }

    /// The closest block that strictly dominates this one; none for the entry and for unreachable blocks.
    pub fn immediate(&self, block: Block) -> Option<Block> {
        self.idom[block]
    }

    /// The blocks whose immediate dominator this is, in reverse post-order.
    pub fn children(&self, block: Block) -> &[Block] {
        &self.children[block]
    }

    /// Whether `a` dominates `b`; every block dominates itself. False if either is unreachable.
    pub fn dominates(&self, a: Block, b: Block) -> bool {
        match (self.interval[a], self.interval[b]) {
            (Some((enter, leave)), Some((inner, _))) => enter <= inner && inner < leave,
            _ => false,
        }
    }

    /// Whether `a` dominates `b` and is another block.
    pub fn strictly_dominates(&self, a: Block, b: Block) -> bool {
        a != b && self.dominates(a, b)
    }
}

fn immediate_dominators(cfg: &Cfg) -> EntityVec<Block, Option<Block>> {
    let rpo = cfg.reverse_post_order();
    // By position in reverse post-order; the entry is position 0 and its own dominator while we compute.
    let mut idom: Vec<Option<u32>> = vec![None; rpo.len()];
    idom[0] = Some(0);
    let mut changed = true;
    while changed {
        changed = false;
        for (n, &block) in rpo.iter().enumerate().skip(1) {
            let mut new = None;
            for pred in cfg.preds(block).iter().filter_map(|&pred| cfg.position(pred)) {
                if idom[pred as usize].is_some() {
                    new = Some(new.map_or(pred, |other| intersect(&idom, pred, other)));
                }
            }
            if idom[n] != new {
                idom[n] = new;
                changed = true;
            }
        }
    }
    let parent = |block| cfg.position(block).filter(|&n| n != 0).and_then(|n| idom[n as usize]);
    cfg.blocks().map(|block| parent(block).map(|n| rpo[n as usize])).collect()
}

/// The closest common ancestor of two positions in the tree so far.
fn intersect(idom: &[Option<u32>], mut a: u32, mut b: u32) -> u32 {
    let up = |n: u32| idom[n as usize].expect("processed blocks have a dominator");
    while a != b {
        while a > b {
            a = up(a);
        }
        while b > a {
            b = up(b);
        }
    }
    a
}

fn intervals(cfg: &Cfg, children: &EntityVec<Block, Vec<Block>>) -> EntityVec<Block, Option<(u32, u32)>> {
    let mut interval: EntityVec<Block, Option<(u32, u32)>> = children.keys().map(|_| None).collect();
    let mut clock = 1;
    let entry = cfg.reverse_post_order()[0];
    let mut stack = vec![(entry, 0)];
    interval[entry] = Some((0, 0));
    while let Some((block, next)) = stack.last_mut() {
        match children[*block].get(*next) {
            Some(&child) => {
                *next += 1;
                interval[child] = Some((clock, clock));
                clock += 1;
                stack.push((child, 0));
            }
            None => {
                if let Some((_, leave)) = &mut interval[*block] {
                    *leave = clock;
                }
                stack.pop();
            }
        }
    }
    interval
}
