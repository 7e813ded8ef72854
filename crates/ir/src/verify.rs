//! The verifier: whether a module keeps the rules that every later stage relies on.
//!
//! Passes and front ends make mistakes; the machine would turn them into wrong verdicts. The verifier runs after each
//! pass and names the function, block and instruction of every broken rule. It never panics, whatever it is given.
//!
//! The rules:
//!
//! 1. Every index (value, block, global, function, position, ...) is in range; names of functions and globals are unique.
//! 2. A block ends with its only terminator; its phis stand first; no instruction stands in two places.
//! 3. The entry block has no predecessors. A phi has exactly one argument for each predecessor block.
//! 4. Every use of a value in a reachable block is dominated by its definition.
//! 5. Operands and results have the types that the instruction asks for (`verify/types.rs`).
//!
//! Unreachable blocks need not keep rule 4, as they may use values of each other.

mod module;
mod types;

use crate::cfg::Cfg;
use crate::dominators::Dominators;
use crate::print::{inst_text, symbol};
use crate::{Block, EntityVec, FuncId, Function, Inst, InstKind, Module, Operand, Value, ValueDef};
use std::fmt;

/// A broken rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifyError {
    /// Where: the function, block and instruction, as far as they are known.
    pub place: String,
    /// What is wrong.
    pub message: String,
}

/// All broken rules that were found: at least one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifyErrors(pub Vec<VerifyError>);

impl fmt::Display for VerifyErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, error) in self.0.iter().enumerate() {
            let line_end = if n == 0 { "" } else { "\n" };
            write!(f, "{line_end}{}: {}", error.place, error.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for VerifyErrors {}

/// Checks a whole module.
pub fn verify_module(module: &Module) -> Result<(), VerifyErrors> {
    let mut errors = Vec::new();
    module::check(module, &mut errors);
    for id in module.functions.keys() {
        check_function(module, id, &mut errors);
    }
    if errors.is_empty() { Ok(()) } else { Err(VerifyErrors(errors)) }
}

/// Checks one function of a module whose other parts are in order.
pub fn verify_function(module: &Module, func: FuncId) -> Result<(), VerifyErrors> {
    let mut errors = Vec::new();
    check_function(module, func, &mut errors);
    if errors.is_empty() { Ok(()) } else { Err(VerifyErrors(errors)) }
}

fn check_function(module: &Module, id: FuncId, errors: &mut Vec<VerifyError>) {
    let func = &module.functions[id];
    let mut checker = Checker { module, func, errors, block: None, inst: None };
    let before = checker.errors.len();
    checker.head();
    if func.is_declaration() {
        return;
    }
    let placed = checker.structure();
    // The rest relies on indices that exist.
    if checker.errors.len() > before {
        return;
    }
    checker.types();
    checker.flow(&placed);
}

/// What is being checked, for messages.
struct Checker<'m> {
    module: &'m Module,
    func: &'m Function,
    errors: &'m mut Vec<VerifyError>,
    block: Option<Block>,
    inst: Option<Inst>,
}

/// Where each instruction stands: its block and its place in it.
type Placement = EntityVec<Inst, Option<(Block, usize)>>;

impl Checker<'_> {
    fn error(&mut self, message: impl Into<String>) {
        let mut place = symbol(&self.func.name).to_string();
        if let Some(block) = self.block {
            place.push_str(&format!(", {block}"));
        }
        if let Some(inst) = self.inst {
            place.push_str(&format!(", `{}`", inst_text(self.module, self.func, inst)));
        }
        self.errors.push(VerifyError { place, message: message.into() });
    }

    fn head(&mut self) {
        let func = self.func;
        if !self.module.locs.is_valid(func.loc) {
            self.error(format!("position {} does not exist", func.loc));
        }
        for &ty in &func.results {
            self.scalar(ty);
        }
        for (n, &param) in func.params.iter().enumerate() {
            match func.values.get(param) {
                Some(data) if data.def == ValueDef::Param(n as u32) => self.scalar(data.ty),
                _ => self.error(format!("parameter {n} is {param}, which is defined elsewhere")),
            }
        }
    }

    /// Rules 1 and 2.
    fn structure(&mut self) -> Placement {
        let func = self.func;
        let mut placed: Placement = func.insts.keys().map(|_| None).collect();
        for (block, data) in func.blocks.iter() {
            (self.block, self.inst) = (Some(block), None);
            if data.insts.is_empty() {
                self.error("the block is empty: it needs a terminator");
            }
            let mut phis_end = false;
            for (n, &inst) in data.insts.iter().enumerate() {
                let Some(inst_data) = func.insts.get(inst) else {
                    self.error(format!("{inst} does not exist"));
                    continue;
                };
                self.inst = Some(inst);
                if let Some((other, _)) = placed[inst].replace((block, n)) {
                    self.error(format!("the instruction stands in {other} too"));
                }
                let (last, kind) = (n + 1 == data.insts.len(), &inst_data.kind);
                if last && !kind.is_terminator() {
                    self.error("the last instruction of a block must be a terminator");
                }
                if !last && kind.is_terminator() {
                    self.error("a terminator must be the last instruction of its block");
                }
                if kind.is_phi() && phis_end {
                    self.error("phis must stand first in their block");
                }
                phis_end |= !kind.is_phi();
                self.indices(inst);
            }
        }
        (self.block, self.inst) = (None, None);
        placed
    }

    /// Rule 1 for one instruction.
    fn indices(&mut self, inst: Inst) {
        let (module, func) = (self.module, self.func);
        let data = &func.insts[inst];
        let mut missing: Vec<String> = Vec::new();
        let mut need = |exists: bool, what: &dyn fmt::Display| {
            if !exists {
                missing.push(what.to_string());
            }
        };
        need(module.locs.is_valid(data.loc), &data.loc);
        data.kind.visit_operands(|operand, _| match operand {
            Operand::Value(value) => need(func.values.is_valid(value), &value),
            Operand::Global(global, _) => need(module.globals.is_valid(global), &global),
            Operand::Func(callee) => need(module.functions.is_valid(callee), &callee),
            Operand::Const(_) | Operand::Undef => {}
        });
        data.kind.successors().iter().for_each(|dest| need(func.blocks.is_valid(*dest), dest));
        match &data.kind {
            InstKind::Phi { args, .. } => args.iter().for_each(|(b, _)| need(func.blocks.is_valid(*b), b)),
            InstKind::Call { callee: crate::Callee::Direct(callee), .. } => {
                need(module.functions.is_valid(*callee), callee);
            }
            InstKind::ThreadLocal { global } => need(module.globals.is_valid(*global), global),
            InstKind::Alloca { debug_type: Some(ty), .. } => need(module.types.is_valid(*ty), ty),
            _ => {}
        }
        if let Some(path) = data.kind.path() {
            need(module.paths.is_valid(path), &path);
        }
        for what in missing {
            self.error(format!("{what} does not exist"));
        }
        for (n, &result) in data.results.iter().enumerate() {
            let def = func.values.get(result).map(|data| data.def);
            if def != Some(ValueDef::Result(inst, n as u32)) {
                self.error(format!("result {n} is {result}, which is defined elsewhere"));
            }
        }
    }

    /// Rules 3 and 4.
    fn flow(&mut self, placed: &Placement) {
        let func = self.func;
        let cfg = Cfg::new(func);
        let dominators = Dominators::new(&cfg);
        if !cfg.preds(func.entry()).is_empty() {
            self.block = Some(func.entry());
            self.error("nothing may jump to the entry block");
        }
        for (block, data) in func.blocks.iter() {
            self.block = Some(block);
            for (n, &inst) in data.insts.iter().enumerate() {
                self.inst = Some(inst);
                match &func.insts[inst].kind {
                    InstKind::Phi { args, .. } => self.phi(&cfg, &dominators, placed, block, args),
                    kind => {
                        for value in kind.used_values() {
                            self.use_of(&cfg, &dominators, placed, value, (block, n));
                        }
                    }
                }
            }
        }
    }

    fn phi(&mut self, cfg: &Cfg, dominators: &Dominators, placed: &Placement, block: Block, args: &[(Block, Operand)]) {
        for &pred in cfg.preds(block) {
            match args.iter().filter(|(from, _)| *from == pred).count() {
                1 => {}
                0 => self.error(format!("the phi has no argument for predecessor {pred}")),
                n => self.error(format!("the phi has {n} arguments for predecessor {pred}")),
            }
        }
        for &(from, operand) in args {
            if !cfg.preds(block).contains(&from) {
                self.error(format!("the phi has an argument for {from}, which is no predecessor"));
            } else if let Operand::Value(value) = operand {
                // The argument is used at the end of the predecessor.
                self.use_of(cfg, dominators, placed, value, (from, usize::MAX));
            }
        }
    }

    fn use_of(
        &mut self,
        cfg: &Cfg,
        dominators: &Dominators,
        placed: &Placement,
        value: Value,
        (block, place): (Block, usize),
    ) {
        let ValueDef::Result(inst, _) = self.func.values[value].def else {
            return;
        };
        let Some((def_block, def_place)) = placed.get(inst).copied().flatten() else {
            self.error(format!("{value} is used, but its definition stands in no block"));
            return;
        };
        let before = if def_block == block { def_place < place } else { dominators.dominates(def_block, block) };
        if cfg.is_reachable(block) && !before {
            self.error(format!("the definition of {value} in {def_block} does not dominate this use"));
        }
    }
}
