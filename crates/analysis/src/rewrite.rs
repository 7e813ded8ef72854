//! The steps that most passes share: replacing values, finding uses, removing and reordering blocks.

use selvedge_ir::{Block, EntityRef, EntityVec, Function, Inst, InstKind, Operand, Value};

/// Values that are to be replaced by other operands, everywhere at once.
#[derive(Debug)]
pub struct Replacements {
    by: EntityVec<Value, Option<Operand>>,
    any: bool,
}

impl Replacements {
    /// Nothing to replace in this function yet.
    pub fn new(func: &Function) -> Replacements {
        Replacements { by: func.values.keys().map(|_| None).collect(), any: false }
    }

    /// Replaces a value by an operand, which may itself be replaced, but not by this value.
    pub fn set(&mut self, value: Value, operand: Operand) {
        let operand = self.resolve(operand);
        debug_assert!(operand != Operand::Value(value), "{value} would be replaced by itself");
        // Passes may make new values after the replacements were set up.
        while !self.by.is_valid(value) {
            self.by.push(None);
        }
        self.by[value] = Some(operand);
        self.any = true;
    }

    /// What an operand becomes.
    pub fn resolve(&self, mut operand: Operand) -> Operand {
        while let Operand::Value(value) = operand {
            match self.by.get(value).copied().flatten() {
                Some(next) => operand = next,
                None => break,
            }
        }
        operand
    }

    /// Whether there is anything to replace.
    pub fn is_empty(&self) -> bool {
        !self.any
    }

    /// Replaces in all instructions that stand in a block.
    pub fn apply(&self, func: &mut Function) {
        if self.is_empty() {
            return;
        }
        let placed: Vec<Inst> = func.placed_insts().map(|(_, inst)| inst).collect();
        for inst in placed {
            func.insts[inst].kind.map_operands(|operand| self.resolve(operand));
        }
    }
}

/// The instructions that use each value, in the order of the blocks; an instruction that uses a value twice is listed
/// twice.
pub fn uses(func: &Function) -> EntityVec<Value, Vec<Inst>> {
    let mut uses: EntityVec<Value, Vec<Inst>> = func.values.keys().map(|_| Vec::new()).collect();
    for (_, inst) in func.placed_insts() {
        for value in func.insts[inst].kind.used_values() {
            uses[value].push(inst);
        }
    }
    uses
}

/// Takes the marked instructions out of their blocks.
pub fn remove_insts(func: &mut Function, remove: impl Fn(Inst) -> bool) -> bool {
    let mut changed = false;
    for data in func.blocks.values_mut() {
        let before = data.insts.len();
        data.insts.retain(|&inst| !remove(inst));
        changed |= data.insts.len() != before;
    }
    changed
}

/// Keeps the blocks that are listed, in that order; the first must be the entry. Phis lose their arguments for blocks
/// that are gone.
pub fn keep_blocks(func: &mut Function, order: &[Block]) {
    debug_assert!(order.first() == Some(&func.entry()), "the entry stays the first block");
    let mut number: EntityVec<Block, Option<Block>> = func.blocks.keys().map(|_| None).collect();
    for (n, &block) in order.iter().enumerate() {
        number[block] = Some(Block::new(n));
    }
    let blocks = order.iter().map(|&block| std::mem::take(&mut func.blocks[block])).collect();
    func.blocks = blocks;
    let placed: Vec<Inst> = func.placed_insts().map(|(_, inst)| inst).collect();
    for inst in placed {
        let kind = &mut func.insts[inst].kind;
        if let InstKind::Phi { args, .. } = kind {
            args.retain(|&(block, _)| number[block].is_some());
        }
        let renumber = |block: Block| number[block].expect("a block that stays jumps to blocks that stay");
        kind.map_successors(renumber);
        kind.map_phi_blocks(renumber);
    }
}

/// Tells the phis of a block that one of its predecessors has become another.
pub fn rename_pred(func: &mut Function, block: Block, old: Block, new: Block) {
    let phis: Vec<Inst> = func.phis(block).collect();
    for phi in phis {
        func.insts[phi].kind.map_phi_blocks(|pred| if pred == old { new } else { pred });
    }
}

/// Removes the arguments for a predecessor from the phis of a block.
pub fn remove_pred(func: &mut Function, block: Block, pred: Block) {
    let phis: Vec<Inst> = func.phis(block).collect();
    for phi in phis {
        if let InstKind::Phi { args, .. } = &mut func.insts[phi].kind {
            args.retain(|&(from, _)| from != pred);
        }
    }
}

/// What the phis of a block take from a predecessor, in order.
pub fn phi_args_from(func: &Function, block: Block, pred: Block) -> Vec<Operand> {
    let arg = |phi: Inst| match &func.insts[phi].kind {
        InstKind::Phi { args, .. } => args.iter().find(|&&(from, _)| from == pred).map(|&(_, operand)| operand),
        _ => None,
    };
    func.phis(block).map(|phi| arg(phi).unwrap_or(Operand::Undef)).collect()
}

/// Adds arguments for a new predecessor to the phis of a block, in order.
pub fn add_pred(func: &mut Function, block: Block, pred: Block, operands: &[Operand]) {
    let phis: Vec<Inst> = func.phis(block).collect();
    debug_assert!(phis.len() == operands.len(), "one operand per phi");
    for (phi, &operand) in phis.into_iter().zip(operands) {
        if let InstKind::Phi { args, .. } = &mut func.insts[phi].kind {
            args.push((pred, operand));
        }
    }
}
