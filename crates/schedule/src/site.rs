//! How a transition names an instruction of the program.
//!
//! The program that a schedule talks about is the module that `selvedge_analysis::prepare` makes with
//! `Options::for_schedules()`: the verifier reads it, and the very same module is compiled when the program is run under
//! the schedule. So an instruction is named by its function and its number there, and the hash of the module's text
//! says whether it is the same program.
//!
//! A name has no call path, although the verifier may look at a function once for each call. It needs none: where a
//! thread stands in its schedule, only one instruction can come next, and the name is there to notice that another one
//! came.

use selvedge_ir::{EntityRef, FuncId, Inst, Module};
use serde::{Deserialize, Serialize};
use std::fmt;

/// An instruction of the prepared program.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Site {
    /// Linkage name of the function.
    pub function: String,
    /// Number of the instruction in it.
    pub inst: u32,
    /// Source line, for people; 0 is unknown.
    pub line: u32,
}

impl Site {
    /// The name of an instruction.
    pub fn of(module: &Module, func: FuncId, inst: Inst) -> Site {
        let function = &module.functions[func];
        let line = module.locs[function.insts[inst].loc].line;
        Site { function: function.name.clone(), inst: inst.index() as u32, line }
    }

    /// The instruction with this name, if the module has it.
    pub fn resolve(&self, module: &Module) -> Option<(FuncId, Inst)> {
        let func = module.function_named(&self.function)?;
        let function = &module.functions[func];
        let number = self.inst as usize;
        let inst = (number < function.insts.len()).then(|| Inst::new(number))?;
        function.blocks.values().any(|block| block.insts.contains(&inst)).then_some((func, inst))
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line == 0 {
            write!(f, "{} (instruction {})", self.function, self.inst)
        } else {
            write!(f, "{} line {}", self.function, self.line)
        }
    }
}
