//! Functions: blocks of instructions over SSA values.

use crate::{EntityVec, InstData, LocId, Type, entity};

entity! {
    /// A function of a module.
    FuncId, "fn"
}
entity! {
    /// A basic block of a function.
    Block, "bb"
}
entity! {
    /// An SSA value of a function.
    Value, "v"
}
entity! {
    /// An instruction of a function.
    Inst, "inst"
}

/// A function. Without blocks it is a declaration, to be resolved by a model of the machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Function {
    /// Its linkage name.
    pub name: String,
    /// Its name in the source, for reports.
    pub source_name: String,
    /// Parameters; their types are those of the values.
    pub params: Vec<Value>,
    /// Types of the results; more than one where the front end took an aggregate apart.
    pub results: Vec<Type>,
    /// Whether it takes further arguments.
    pub vararg: bool,
    /// Blocks; the first is the entry.
    pub blocks: EntityVec<Block, BlockData>,
    /// All instructions that were ever made; blocks list those that are in use.
    pub insts: EntityVec<Inst, InstData>,
    /// All values.
    pub values: EntityVec<Value, ValueData>,
    /// Where it is defined.
    pub loc: LocId,
}

/// A basic block: phis first, one terminator last.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BlockData {
    /// A name for people, possibly empty.
    pub name: String,
    /// Its instructions in order.
    pub insts: Vec<Inst>,
}

/// An SSA value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ValueData {
    /// Its type.
    pub ty: Type,
    /// Where it is defined.
    pub def: ValueDef,
    /// A name for people, possibly empty (without sigil).
    pub name: String,
}

/// Where a value comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueDef {
    /// The n-th parameter.
    Param(u32),
    /// The n-th result of an instruction.
    Result(Inst, u32),
}

impl Function {
    /// A function without parameters or blocks.
    pub fn new(name: impl Into<String>, loc: LocId) -> Function {
        let name = name.into();
        Function {
            source_name: name.clone(),
            name,
            params: Vec::new(),
            results: Vec::new(),
            vararg: false,
            blocks: EntityVec::new(),
            insts: EntityVec::new(),
            values: EntityVec::new(),
            loc,
        }
    }

    /// Whether the function has no body.
    pub fn is_declaration(&self) -> bool {
        self.blocks.is_empty()
    }

    /// The entry block of a function with a body.
    pub fn entry(&self) -> Block {
        debug_assert!(!self.is_declaration(), "a declaration has no entry block");
        self.blocks.keys().next().expect("the caller checked that there is a body")
    }

    /// Adds a parameter.
    pub fn add_param(&mut self, ty: Type, name: impl Into<String>) -> Value {
        let def = ValueDef::Param(self.params.len() as u32);
        let value = self.values.push(ValueData { ty, def, name: name.into() });
        self.params.push(value);
        value
    }

    /// Adds an empty block.
    pub fn add_block(&mut self, name: impl Into<String>) -> Block {
        self.blocks.push(BlockData { name: name.into(), insts: Vec::new() })
    }

    /// Makes an instruction with results of the given types, without placing it in a block.
    pub fn make_inst(&mut self, kind: crate::InstKind, results: &[Type], loc: LocId) -> Inst {
        let inst = self.insts.next_key();
        let results = results
            .iter()
            .enumerate()
            .map(|(n, &ty)| {
                let def = ValueDef::Result(inst, n as u32);
                self.values.push(ValueData { ty, def, name: String::new() })
            })
            .collect();
        self.insts.push(InstData { kind, results, loc })
    }

    /// Makes an instruction and appends it to a block.
    pub fn append(&mut self, block: Block, kind: crate::InstKind, results: &[Type], loc: LocId) -> Inst {
        let inst = self.make_inst(kind, results, loc);
        self.blocks[block].insts.push(inst);
        inst
    }

    /// The first result of an instruction that has one.
    pub fn result(&self, inst: Inst) -> Value {
        *self.insts[inst].results.first().expect("the caller knows that the instruction has a result")
    }

    /// The terminator of a block, if it has any instruction.
    pub fn terminator(&self, block: Block) -> Option<Inst> {
        self.blocks[block].insts.last().copied()
    }

    /// The blocks that control may go to from this one.
    pub fn successors(&self, block: Block) -> Vec<Block> {
        self.terminator(block).map(|inst| self.insts[inst].kind.successors()).unwrap_or_default()
    }
}
