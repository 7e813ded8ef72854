//! Code on the edges between blocks: the copies that phis stand for, and loop counters.
//!
//! The phis of a block take effect together: first all arguments are read, then all results are written. A sequence of
//! copies does the same if no copy overwrites what a later one reads. Copies whose target nobody reads any more go
//! first; when only cycles are left, one value is set aside in a temporary register (as in "Tilting at windmills with
//! Coq: formal verification of a compilation algorithm for parallel moves" by L. Rideau, B. P. Serpette and X. Leroy,
//! 2008). Constants read nothing, so they come last.

use super::code::{Debug, Ins, Reg};
use super::compile::Encoder;
use super::select::Root;
use selvedge_ir::{Block, EntityRef, InstKind};

/// What has to happen on an edge.
#[derive(Default)]
struct Copies {
    /// From register to register, together.
    moves: Vec<(Reg, Reg)>,
    /// Registers that get something which is not read from a register.
    others: Vec<Ins>,
}

impl Encoder<'_> {
    /// Whether an edge needs any code.
    pub(super) fn edge_needs_code(&self, from: Block, to: Block) -> bool {
        let copies = self.copies(from, to);
        self.counters.contains_key(&to)
            || self.loops.contains_key(&to)
            || !copies.moves.is_empty()
            || !copies.others.is_empty()
    }

    /// Emits the code of an edge.
    pub(super) fn edge_code(&mut self, from: Block, to: Block) {
        let Copies { moves, others } = self.copies(from, to);
        let spare = self.temporary();
        for (dst, src) in in_sequence(moves, spare) {
            self.emit(Ins::Move { dst, src });
        }
        for ins in others {
            self.emit(ins);
        }
        self.count_loop(from, to);
        self.compare_iteration(from, to);
    }

    fn copies(&self, from: Block, to: Block) -> Copies {
        let mut copies = Copies::default();
        for &inst in &self.function.blocks[to].insts {
            let data = &self.function.insts[inst];
            let InstKind::Phi { args, .. } = &data.kind else { break };
            let Some(&result) = data.results.first().filter(|_| self.selection.needed[inst.index()]) else { continue };
            let dst = self.register(result);
            // A phi without an argument for this edge is not valid; what it yields does not matter.
            let arg = args.iter().find(|&&(block, _)| block == from);
            match arg.map_or(Root::Const(0), |&(_, arg)| self.selection.root(arg)) {
                Root::Value(value) if self.register(value) == dst => {}
                Root::Value(value) => copies.moves.push((dst, self.register(value))),
                Root::Const(value) => copies.others.push(Ins::Const { dst, value }),
                Root::ThreadLocal(global, offset) => {
                    copies.others.push(Ins::ThreadLocal { dst, global, offset: offset as i32 });
                }
            }
        }
        copies
    }

    fn count_loop(&mut self, from: Block, to: Block) {
        let Some(&counter) = self.counters.get(&to) else { return };
        if self.flow.is_back_edge(from, to) {
            let about = self.about;
            self.about = Debug { loc: self.loop_position(to), ..about };
            self.emit(Ins::LoopCheck { counter, limit: self.limit });
            self.about = about;
        } else {
            self.emit(Ins::LoopReset { counter });
        }
    }
}

impl Encoder<'_> {
    fn compare_iteration(&mut self, from: Block, to: Block) {
        let Some(&site) = self.loops.get(&to) else { return };
        if !self.flow.is_back_edge(from, to) {
            return self.emit(Ins::LoopEnter { site });
        }
        let about = self.about;
        self.about = Debug { loc: self.loop_position(to), ..about };
        self.emit(Ins::LoopAgain { site });
        self.about = about;
    }
}

/// Copies one after the other that have the effect of all at once.
fn in_sequence(mut moves: Vec<(Reg, Reg)>, spare: Reg) -> Vec<(Reg, Reg)> {
    let mut sequence = Vec::with_capacity(moves.len());
    while !moves.is_empty() {
        let is_read = |dst: Reg| moves.iter().any(|&(_, src)| src == dst);
        if let Some(at) = moves.iter().position(|&(dst, _)| !is_read(dst)) {
            sequence.push(moves.swap_remove(at));
            continue;
        }
        let (dst, _) = moves[0];
        sequence.push((spare, dst));
        for (_, src) in moves.iter_mut().filter(|(_, src)| *src == dst) {
            *src = spare;
        }
    }
    sequence
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All ways to copy among four registers, against doing it at once.
    #[test]
    fn copies_in_sequence_have_the_effect_of_all_at_once() {
        let sources = |n: u16| [n % 4, n / 4 % 4, n / 16 % 4, n / 64];
        for choice in 0..256 {
            for present in 0..16u16 {
                let moves: Vec<(Reg, Reg)> = (0..4)
                    .filter(|&dst| present >> dst & 1 == 1)
                    .map(|dst| (dst, sources(choice)[dst as usize]))
                    .filter(|(dst, src)| dst != src)
                    .collect();
                let mut expected = [10, 11, 12, 13, 0];
                for &(dst, src) in &moves {
                    expected[dst as usize] = 10 + src;
                }
                let mut registers = [10, 11, 12, 13, 0];
                for (dst, src) in in_sequence(moves, 4) {
                    registers[dst as usize] = registers[src as usize];
                }
                assert_eq!(registers[..4], expected[..4]);
            }
        }
    }
}
