//! Values at places that their definition does not dominate.
//!
//! An inserted assumption may need a register that is defined on some paths to it only; on the others any value will do.
//! Phis are made on demand, backwards from the place, as in M. Braun et al., "Simple and Efficient Construction of Static
//! Single Assignment Form" (CC 2013). The search ends at the loop's header, where nothing of the present iteration is
//! defined yet. The "took internal backedge" register is made in the same way: it is false at the header, true on inner
//! back edges.

use crate::Loop;
use selvedge_ir::{Block, Cfg, Dominators, Function, InstKind, Operand, Type, Value, ValueDef};
use std::collections::HashMap;

/// The shape of the function around a loop.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Control-flow graph.
    pub cfg: Cfg,
    /// Dominators.
    pub dominators: Dominators,
    /// The loop.
    pub this: Loop,
}

/// What is followed backwards.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Followed {
    /// A value that is defined in this block.
    Value(Value, Block),
    /// Whether an inner back edge was taken.
    Took,
}

/// Phis that were made so far.
pub struct Repair<'a> {
    flow: &'a Flow,
    made: HashMap<(Followed, Block), Operand>,
}

impl Repair<'_> {
    /// Nothing is made yet.
    pub fn new(flow: &Flow) -> Repair<'_> {
        Repair { flow, made: HashMap::new() }
    }

    /// An operand that is valid in a block of the loop and is the given one if its definition was passed in this iteration.
    pub fn reaching(&mut self, func: &mut Function, operand: Operand, block: Block) -> Operand {
        let Operand::Value(value) = operand else { return operand };
        let ValueDef::Result(inst, _) = func.values[value].def else { return operand };
        let placed = func.blocks.iter().find(|(_, data)| data.insts.contains(&inst));
        let Some((home, _)) = placed else { return Operand::Undef };
        if self.flow.dominators.dominates(home, block) {
            return operand;
        }
        self.at_start(func, Followed::Value(value, home), block)
    }

    /// Whether an inner back edge was taken in this iteration, in a block of the loop.
    pub fn took_inner_back_edge(&mut self, func: &mut Function, block: Block) -> Operand {
        self.at_start(func, Followed::Took, block)
    }

    fn at_start(&mut self, func: &mut Function, followed: Followed, block: Block) -> Operand {
        let (ty, nothing) = match followed {
            Followed::Value(value, _) => (func.values[value].ty, Operand::Undef),
            Followed::Took => (Type::I1, Operand::Const(0)),
        };
        if block == self.flow.this.header || !self.flow.this.contains(block) {
            return nothing;
        }
        if let Some(&known) = self.made.get(&(followed, block)) {
            return known;
        }
        let preds = self.flow.cfg.preds(block).to_vec();
        let loc = func.loc;
        let phi = func.make_inst(InstKind::Phi { ty, args: Vec::new() }, &[ty], loc);
        let result = Operand::Value(func.result(phi));
        // Known before its arguments are looked for, since the search may come round an inner loop.
        self.made.insert((followed, block), result);
        let args: Vec<(Block, Operand)> =
            preds.into_iter().map(|pred| (pred, self.along_edge(func, followed, pred, block))).collect();
        func.insts[phi].kind = InstKind::Phi { ty, args };
        func.blocks[block].insts.insert(0, phi);
        result
    }

    fn along_edge(&mut self, func: &mut Function, followed: Followed, from: Block, to: Block) -> Operand {
        match followed {
            Followed::Value(value, home) if home == from => Operand::Value(value),
            Followed::Took if self.flow.cfg.position(to) <= self.flow.cfg.position(from) => Operand::Const(1),
            _ => self.at_start(func, followed, from),
        }
    }
}
