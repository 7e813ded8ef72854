//! Natural loops.
//!
//! A *back edge* goes from a block, the latch, to a block that dominates it, the header. The loop of a header consists
//! of all blocks from which some latch can be reached without passing the header; control enters it at the header only.
//! Back edges to one header make one loop with several latches. Two loops are disjoint or nested.
//!
//! An edge that goes back in reverse post-order but not to a dominator belongs to a region with several entries. Such
//! regions are not loops in this sense: they are *irreducible*, come from `goto` only, and are reported as they are.

use selvedge_ir::{Block, Cfg, Dominators, EntityRef, EntityVec, Function, entity};

entity! {
    /// A loop of a function.
    LoopId, "loop"
}

/// A natural loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loop {
    /// The only block at which control enters.
    pub header: Block,
    /// All blocks in reverse post-order, the header first, those of inner loops included.
    pub blocks: Vec<Block>,
    /// The blocks that jump back to the header.
    pub latches: Vec<Block>,
    /// The edges that leave the loop: a block inside and its successor outside.
    pub exits: Vec<(Block, Block)>,
    /// The innermost loop around this one.
    pub parent: Option<LoopId>,
}

impl Loop {
    /// Whether the block belongs to the loop.
    pub fn contains(&self, block: Block) -> bool {
        self.blocks.contains(&block)
    }
}

/// All loops of a function.
#[derive(Clone, Debug)]
pub struct LoopForest {
    /// The loops, outer before inner.
    pub loops: EntityVec<LoopId, Loop>,
    /// Edges that close a cycle without being back edges: the marks of irreducible regions.
    pub irreducible: Vec<(Block, Block)>,
    innermost: EntityVec<Block, Option<LoopId>>,
}

impl LoopForest {
    /// The loops of a function with a body.
    pub fn of(func: &Function) -> LoopForest {
        let cfg = Cfg::new(func);
        let dominators = Dominators::new(&cfg);
        LoopForest::new(&cfg, &dominators)
    }

    /// The loops of a control-flow graph.
    pub fn new(cfg: &Cfg, dominators: &Dominators) -> LoopForest {
        let mut loops: EntityVec<LoopId, Loop> = EntityVec::new();
        let mut innermost: EntityVec<Block, Option<LoopId>> = cfg.blocks().map(|_| None).collect();
        // Headers in reverse post-order: an outer header comes before those inside its loop, so the last loop that
        // claims a block is the innermost one.
        for &header in cfg.reverse_post_order() {
            let preds = cfg.preds(header).iter().copied();
            let latches: Vec<Block> = preds.filter(|&pred| dominators.dominates(header, pred)).collect();
            if latches.is_empty() {
                continue;
            }
            let blocks = natural_loop(cfg, header, &latches);
            let exits = exits(cfg, &blocks);
            let parent = innermost[header];
            let id = loops.push(Loop { header, blocks, latches, exits, parent });
            for &block in &loops[id].blocks {
                innermost[block] = Some(id);
            }
        }
        LoopForest { loops, irreducible: irreducible_edges(cfg, dominators), innermost }
    }

    /// The innermost loop that a block belongs to.
    pub fn innermost(&self, block: Block) -> Option<LoopId> {
        self.innermost[block]
    }

    /// The loops that a block belongs to, from the innermost outwards.
    pub fn around(&self, block: Block) -> impl Iterator<Item = LoopId> + '_ {
        std::iter::successors(self.innermost[block], |&id| self.loops[id].parent)
    }

    /// In how many loops a block lies.
    pub fn depth(&self, block: Block) -> usize {
        self.around(block).count()
    }
}

/// The header and all reachable blocks that reach a latch without passing the header, in reverse post-order.
fn natural_loop(cfg: &Cfg, header: Block, latches: &[Block]) -> Vec<Block> {
    let mut inside = vec![false; cfg.blocks().len()];
    inside[header.index()] = true;
    let mut blocks = vec![header];
    let mut work = latches.to_vec();
    while let Some(block) = work.pop() {
        if cfg.is_reachable(block) && !std::mem::replace(&mut inside[block.index()], true) {
            blocks.push(block);
            work.extend_from_slice(cfg.preds(block));
        }
    }
    blocks.sort_by_key(|&block| cfg.position(block));
    blocks
}

fn exits(cfg: &Cfg, blocks: &[Block]) -> Vec<(Block, Block)> {
    let mut inside = vec![false; cfg.blocks().len()];
    blocks.iter().for_each(|block| inside[block.index()] = true);
    let edges = blocks.iter().flat_map(|&block| cfg.succs(block).iter().map(move |&succ| (block, succ)));
    edges.filter(|(_, succ)| !inside[succ.index()]).collect()
}

fn irreducible_edges(cfg: &Cfg, dominators: &Dominators) -> Vec<(Block, Block)> {
    let edges = cfg.reverse_post_order().iter();
    let edges = edges.flat_map(|&block| cfg.succs(block).iter().map(move |&succ| (block, succ)));
    let goes_back = |&(from, to): &(Block, Block)| cfg.position(to) <= cfg.position(from);
    edges.filter(goes_back).filter(|&(from, to)| !dominators.dominates(to, from)).collect()
}
