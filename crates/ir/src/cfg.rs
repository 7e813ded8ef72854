//! The control-flow graph of a function: predecessors, successors, and the order in which data flows.

use crate::{Block, EntityRef, EntityVec, Function};

/// The control-flow graph of a function with a body. It does not follow changes of the function.
#[derive(Clone, Debug)]
pub struct Cfg {
    preds: EntityVec<Block, Vec<Block>>,
    succs: EntityVec<Block, Vec<Block>>,
    rpo: Vec<Block>,
    rpo_position: EntityVec<Block, Option<u32>>,
}

impl Cfg {
    /// The graph of this function. All jump targets must exist.
    pub fn new(func: &Function) -> Cfg {
        let mut preds: EntityVec<Block, Vec<Block>> = func.blocks.keys().map(|_| Vec::new()).collect();
        let mut succs: EntityVec<Block, Vec<Block>> = EntityVec::new();
        for block in func.blocks.keys() {
            let mut out: Vec<Block> = Vec::new();
            for succ in func.successors(block) {
                // Two cases of a switch may lead to the same block; a wide switch is rare enough for a linear search.
                if !out.contains(&succ) {
                    out.push(succ);
                    preds[succ].push(block);
                }
            }
            succs.push(out);
        }
        let rpo = reverse_post_order(func.entry(), &succs);
        let mut rpo_position: EntityVec<Block, Option<u32>> = func.blocks.keys().map(|_| None).collect();
        for (n, &block) in rpo.iter().enumerate() {
            rpo_position[block] = Some(n as u32);
        }
        Cfg { preds, succs, rpo, rpo_position }
    }

    /// All blocks, including unreachable ones.
    pub fn blocks(&self) -> impl DoubleEndedIterator<Item = Block> + ExactSizeIterator + use<> {
        self.preds.keys()
    }

    /// The blocks that may jump to this one, each once, including unreachable ones.
    pub fn preds(&self, block: Block) -> &[Block] {
        &self.preds[block]
    }

    /// The blocks that this one may jump to, each once.
    pub fn succs(&self, block: Block) -> &[Block] {
        &self.succs[block]
    }

    /// The reachable blocks in reverse post-order: the entry first, and every block before its successors unless the
    /// edge goes back.
    pub fn reverse_post_order(&self) -> &[Block] {
        &self.rpo
    }

    /// The place of a block in reverse post-order; none if it is unreachable.
    pub fn position(&self, block: Block) -> Option<u32> {
        self.rpo_position[block]
    }

    /// Whether control can come from the entry to this block.
    pub fn is_reachable(&self, block: Block) -> bool {
        self.rpo_position[block].is_some()
    }
}

/// Depth-first search with an explicit stack: functions may be deeper than the machine's stack. The last successor is
/// visited first, so that in the result the first one comes first: `then` before `else`, a loop before its exit.
fn reverse_post_order(entry: Block, succs: &EntityVec<Block, Vec<Block>>) -> Vec<Block> {
    let mut seen = vec![false; succs.len()];
    let mut order = Vec::new();
    let mut stack = vec![(entry, 0)];
    seen[entry.index()] = true;
    while let Some((block, next)) = stack.last_mut() {
        match succs[*block].iter().rev().nth(*next) {
            Some(&succ) => {
                *next += 1;
                if !std::mem::replace(&mut seen[succ.index()], true) {
                    stack.push((succ, 0));
                }
            }
            None => {
                order.push(*block);
                stack.pop();
            }
        }
    }
    order.reverse();
    order
}
