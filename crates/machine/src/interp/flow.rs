//! The order of blocks.
//!
//! Compilation needs little of the control-flow graph: a reverse post-order of the blocks that can be reached (in which
//! every block comes after those that dominate it), predecessors, and which edges go back. An edge is a *back edge* if
//! its target comes no later in the order than its source. For loops as C has them these are the back edges of natural
//! loops; with `goto` into a loop there are others, and they too must be counted, since every cycle contains at least
//! one.

use selvedge_ir::{Block, EntityRef, Function};

/// Blocks in order, and how control flows between them.
pub struct Flow {
    /// Reachable blocks in reverse post-order.
    pub order: Vec<Block>,
    /// Place of each block in `order`; `u32::MAX` if it cannot be reached.
    pub place: Vec<u32>,
    /// Predecessors of each block that can be reached themselves, each once.
    pub preds: Vec<Vec<Block>>,
}

impl Flow {
    /// The flow of a function with a body.
    pub fn of(function: &Function) -> Flow {
        let count = function.blocks.len();
        let order = reverse_post_order(function);
        let mut place = vec![u32::MAX; count];
        for (n, block) in order.iter().enumerate() {
            place[block.index()] = n as u32;
        }
        let mut preds = vec![Vec::new(); count];
        for &block in &order {
            for next in function.successors(block) {
                if !preds[next.index()].contains(&block) {
                    preds[next.index()].push(block);
                }
            }
        }
        Flow { order, place, preds }
    }

    /// Whether control goes backwards on this edge.
    pub fn is_back_edge(&self, from: Block, to: Block) -> bool {
        self.place[to.index()] <= self.place[from.index()]
    }

    /// Whether some back edge leads to this block.
    pub fn is_loop_header(&self, block: Block) -> bool {
        self.preds[block.index()].iter().any(|&pred| self.is_back_edge(pred, block))
    }
}

fn reverse_post_order(function: &Function) -> Vec<Block> {
    let mut seen = vec![false; function.blocks.len()];
    let mut order = Vec::new();
    let entry = function.entry();
    seen[entry.index()] = true;
    let mut stack = vec![(entry, function.successors(entry))];
    while let Some((block, rest)) = stack.last_mut() {
        match rest.pop() {
            Some(next) if !seen[next.index()] => {
                seen[next.index()] = true;
                stack.push((next, function.successors(next)));
            }
            Some(_) => {}
            None => {
                order.push(*block);
                stack.pop();
            }
        }
    }
    order.reverse();
    order
}
