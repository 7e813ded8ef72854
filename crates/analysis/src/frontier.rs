//! Dominance frontiers: where the influence of a block ends.
//!
//! Block `f` is in the frontier of `b` if `b` dominates a predecessor of `f` but does not strictly dominate `f` itself.
//! A value defined in `b` meets other definitions exactly there, so SSA construction puts its phis there. Computed as in
//! K. Cooper, T. Harvey and K. Kennedy, "A Simple, Fast Dominance Algorithm" (2001), figure 5.

use selvedge_ir::{Block, Cfg, Dominators, EntityRef, EntityVec};

/// The dominance frontier of every block.
#[derive(Clone, Debug)]
pub struct Frontiers {
    frontier: EntityVec<Block, Vec<Block>>,
}

impl Frontiers {
    /// The frontiers of all reachable blocks.
    pub fn new(cfg: &Cfg, dominators: &Dominators) -> Frontiers {
        let mut frontier: EntityVec<Block, Vec<Block>> = cfg.blocks().map(|_| Vec::new()).collect();
        for &join in cfg.reverse_post_order() {
            let preds = || cfg.preds(join).iter().copied().filter(|&pred| cfg.is_reachable(pred));
            // A block with one predecessor is dominated by it and in no frontier.
            if preds().count() < 2 {
                continue;
            }
            for pred in preds() {
                let mut runner = Some(pred);
                while let Some(block) = runner.filter(|&block| Some(block) != dominators.immediate(join)) {
                    if !frontier[block].contains(&join) {
                        frontier[block].push(join);
                    }
                    runner = dominators.immediate(block);
                }
            }
        }
        Frontiers { frontier }
    }

    /// The frontier of one block.
    pub fn of(&self, block: Block) -> &[Block] {
        &self.frontier[block]
    }

    /// The frontier of a set of blocks and of the blocks in that frontier, and so on: where definitions in the set need
    /// phis. In the order of discovery, without repetition.
    pub fn iterated(&self, blocks: impl IntoIterator<Item = Block>) -> Vec<Block> {
        let mut seen = vec![false; self.frontier.len()];
        let mut found = Vec::new();
        let mut work: Vec<Block> = blocks.into_iter().collect();
        while let Some(block) = work.pop() {
            for &join in self.of(block) {
                if !std::mem::replace(&mut seen[join.index()], true) {
                    found.push(join);
                    work.push(join);
                }
            }
        }
        found
    }
}
