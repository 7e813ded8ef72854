//! From the program representation to LLVM's text, with calls of the run-time at the instructions that a schedule names.
//!
//! What is compiled is the module that the verifier read, after all passes: so nothing lies between what was proved and what
//! is run but clang. Names of functions and variables are local to the text, so that they cannot meet those of the
//! C library. The text is for clang from 14 on: pointers are written with or without a type, as that version wants it.
//!
//! | file | owns |
//! |---|---|
//! | `symbols.rs` | global variables, declarations, names, types |
//! | `function.rs` | blocks and instructions |
//! | `operation.rs` | instructions that compute |
//! | `memory.rs` | instructions that access memory |
//! | `call.rs` | calls |
//! | `hooks.rs` | calls of the run-time around named instructions |

mod call;
mod function;
mod hooks;
mod memory;
mod operation;
mod symbols;

pub use hooks::{SiteId, Sites, Treatment};

use selvedge_ir::{FuncId, Inst, Module};
use std::collections::BTreeMap;
use thiserror::Error;

/// How LLVM's text is to be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dialect {
    /// Whether pointers have no type (from LLVM 15 on).
    pub opaque_pointers: bool,
}

/// What cannot be compiled.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{place}: {feature} cannot be run under a schedule")]
pub struct EmitError {
    /// Where.
    pub place: String,
    /// What.
    pub feature: String,
}

/// The text of a module. An instruction that is among the sites is treated as they say.
pub fn emit(module: &Module, sites: &Sites, dialect: Dialect) -> Result<String, EmitError> {
    let mut emitter = Emitter { module, sites, dialect, out: String::new(), intrinsics: BTreeMap::new() };
    emitter.globals();
    for (id, function) in module.functions.iter() {
        if function.is_declaration() {
            emitter.declaration(id);
        } else {
            emitter.function(id)?;
        }
    }
    emitter.constructors();
    emitter.support();
    Ok(emitter.out)
}

/// The state of writing a module.
struct Emitter<'a> {
    module: &'a Module,
    sites: &'a Sites,
    dialect: Dialect,
    out: String,
    /// Declarations that instructions turned out to need, by name.
    intrinsics: BTreeMap<String, String>,
}

impl Emitter<'_> {
    /// An error at an instruction.
    fn refuse(&self, func: FuncId, inst: Inst, feature: impl Into<String>) -> EmitError {
        let function = &self.module.functions[func];
        let loc = &self.module.locs[function.insts[inst].loc];
        let file = loc.file.map_or("?", |file| self.module.files[file].name.as_str());
        let place = format!("{file}:{}: in `{}`", loc.line, function.source_name);
        EmitError { place, feature: feature.into() }
    }
}
