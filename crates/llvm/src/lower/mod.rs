//! From LLVM's modules to one program in Selvedge's representation.
//!
//! The representation has scalars only, so every LLVM value becomes a *list* of scalars: a struct its fields, a vector
//! its elements, an integer wider than 64 bits its 64-bit limbs. Address computations become pointer arithmetic,
//! constant expressions become instructions or relocations, and calls of LLVM's intrinsics become instructions. What
//! cannot be expressed becomes an `Unsupported` instruction in place, with the feature's name.
//!
//! | file | lowers |
//! |---|---|
//! | `link.rs` | symbols: which definition each name means, over all modules |
//! | `shape.rs` | types: the scalars of a value and where they lie in memory |
//! | `constant.rs` | constants, to bits and addresses |
//! | `global.rs` | global variables, their initial bytes, constructors |
//! | `function.rs` | functions: order of blocks, phis, the table of values |
//! | `instruction.rs` | instructions on values |
//! | `wide.rs`, `wide_bits.rs` | integers wider than 64 bits |
//! | `aggregate.rs` | parts of structs, elements of vectors, reinterpretation of bits |
//! | `gep.rs` | address computations |
//! | `memory.rs` | stack variables, loads, stores, atomics |
//! | `control.rs` | terminators |
//! | `call.rs` | calls |
//! | `variadic.rs` | variadic arguments |
//! | `asm.rs` | the few inline assembly texts whose meaning is known |
//! | `intrinsic.rs`, `math.rs` | LLVM's intrinsics |
//!
//! Two ways to fail are kept apart by `Stop`: a *fault* means that the text is not a valid program and ends the
//! lowering; *unsupported* ends the lowering of one instruction only.

mod aggregate;
mod asm;
mod call;
mod constant;
mod control;
mod function;
mod gep;
mod global;
mod instruction;
mod intrinsic;
mod link;
mod math;
mod memory;
mod shape;
mod variadic;
mod wide;
mod wide_bits;

use crate::ast::{Module, SymbolDefinition, SymbolId};
use crate::debug_info::{DebugInfo, FileTable, Variable};
use crate::error::{Fault, LoadError, Parsed};
use crate::layout::{DataLayout, Extents};
use link::Binding;
use rustc_hash::{FxHashMap, FxHashSet};
use selvedge_ir as ir;
use shape::Shapes;

/// Why something was not lowered.
#[derive(Debug)]
pub(crate) enum Stop {
    /// It cannot be expressed; the name of the feature.
    Unsupported(String),
    /// The text is not a valid program.
    Fault(Box<Fault>),
}

impl From<Box<Fault>> for Stop {
    fn from(fault: Box<Fault>) -> Stop {
        Stop::Fault(fault)
    }
}

/// The result of lowering one thing.
pub(crate) type Lowered<T> = Result<T, Stop>;

/// Says that a feature cannot be expressed.
pub(crate) fn unsupported<T>(feature: impl Into<String>) -> Lowered<T> {
    Err(Stop::Unsupported(feature.into()))
}

/// One module with what is derived from it.
pub(crate) struct Unit<'m, 'a> {
    pub(crate) module: &'m Module<'a>,
    pub(crate) layout: DataLayout,
    pub(crate) extents: Extents,
    pub(crate) shapes: Shapes,
    /// What each symbol means; filled by the linker.
    pub(crate) bindings: Vec<Binding>,
}

impl<'m, 'a> Unit<'m, 'a> {
    fn new(module: &'m Module<'a>) -> Parsed<Self> {
        if let Some(offset) = module.module_asm {
            return Err(Fault::unsupported(offset, "module-level assembly"));
        }
        let layout = DataLayout::of(module)?;
        let extents = Extents::new(&module.types, &layout);
        let shapes = Shapes::new(module.types.len());
        Ok(Unit { module, layout, extents, shapes, bindings: Vec::new() })
    }

    /// Source name and type of a symbol.
    pub(crate) fn variable(&self, program: &ir::Module, symbol: SymbolId) -> Option<Variable> {
        match self.bindings[symbol.index()] {
            Binding::Global(id, 0) => {
                let global = &program.globals[id];
                Some(Variable { name: global.source_name.clone(), ty: global.debug_type })
            }
            Binding::Func(id) => Some(Variable { name: program.functions[id].source_name.clone(), ty: None }),
            _ => None,
        }
    }
}

/// The program that is being built, with its tables.
pub(crate) struct Program {
    pub(crate) module: ir::Module,
    pub(crate) files: FileTable,
    paths: FxHashMap<String, ir::PathId>,
    /// Functions that are visible by name.
    pub(crate) functions: FxHashMap<String, ir::FuncId>,
    /// Functions that have a body, lowered or not yet.
    pub(crate) defined: FxHashSet<ir::FuncId>,
}

impl Program {
    /// The number of a name, which is added if it is new.
    pub(crate) fn path(&mut self, text: String) -> ir::PathId {
        match self.paths.get(&text) {
            Some(&id) => id,
            None => {
                let id = self.module.paths.push(text.clone());
                self.paths.insert(text, id);
                id
            }
        }
    }

    /// A function that the lowering itself calls, declared on first use.
    pub(crate) fn external(&mut self, name: &str, params: &[ir::Type], results: &[ir::Type]) -> ir::FuncId {
        if let Some(&id) = self.functions.get(name) {
            return id;
        }
        let mut function = ir::Function::new(name, self.module.no_loc());
        for &param in params {
            function.add_param(param, "");
        }
        function.results = results.to_vec();
        let id = self.module.functions.push(function);
        self.functions.insert(name.to_string(), id);
        id
    }
}

/// Lowers and links modules; each comes with its text, for messages.
pub fn lower_modules(name: &str, modules: &[(&Module<'_>, &str)]) -> Result<ir::Module, LoadError> {
    let locate = |n: usize, fault: Box<Fault>| fault.locate(&modules[n].0.file, modules[n].1);
    let mut units = Vec::new();
    for (n, (module, _)) in modules.iter().enumerate() {
        units.push(Unit::new(module).map_err(|fault| locate(n, fault))?);
    }
    let mut program = Program {
        module: ir::Module::new(name),
        files: FileTable::default(),
        paths: FxHashMap::default(),
        functions: FxHashMap::default(),
        defined: FxHashSet::default(),
    };
    let mut debugs: Vec<DebugInfo<'_, '_>> = modules.iter().map(|(module, _)| DebugInfo::new(module)).collect();
    let bodies = link::link(&mut units, &mut debugs, &mut program, &locate)?;
    program.defined.extend(bodies.iter().flat_map(|bodies| bodies.functions.iter().map(|&(_, id)| id)));
    for (n, unit) in units.iter().enumerate() {
        global::lower_globals(unit, &bodies[n], &mut program).map_err(|fault| locate(n, fault))?;
    }
    for (n, unit) in units.iter().enumerate() {
        for &(index, id) in &bodies[n].functions {
            let source = &unit.module.functions[index];
            function::lower_function(unit, source, id, &mut debugs[n], &mut program)
                .map_err(|fault| locate(n, fault))?;
        }
    }
    global::lower_constructors(&units, &mut program).map_err(|(n, fault)| locate(n, fault))?;
    for (n, unit) in units.iter().enumerate() {
        for &(index, id) in &bodies[n].functions {
            let source = &unit.module.functions[index];
            verify(&program.module, id, source.offset).map_err(|fault| locate(n, fault))?;
        }
    }
    Ok(program.module)
}

/// Checks a lowered function. What the parser and the lowering do not check themselves, above all that definitions
/// dominate their uses, is checked here, so that a damaged file cannot become a program that means nothing.
fn verify(program: &ir::Module, id: ir::FuncId, offset: u32) -> Parsed<()> {
    ir::verify::verify_function(program, id).map_err(|errors| {
        let name = &program.functions[id].name;
        let first = errors.0.first().map_or(String::new(), |error| format!(": {}: {}", error.place, error.message));
        Fault::syntax(offset, format!("the function `{name}` is not well-formed{first}"))
    })
}

/// Whether a symbol is one of LLVM's own, which names no object: an intrinsic or a list for the linker.
pub(crate) fn is_llvm_symbol(module: &Module<'_>, symbol: SymbolId) -> bool {
    let entry = &module.symbols[symbol.index()];
    entry.name.starts_with("llvm.")
        && match entry.definition {
            SymbolDefinition::Function(index) => module.functions[index as usize].blocks.is_empty(),
            SymbolDefinition::Variable(_) => {
                matches!(entry.name, "llvm.global_ctors" | "llvm.global_dtors" | "llvm.used" | "llvm.compiler.used")
            }
            _ => false,
        }
}
