//! Modules: functions, globals and the tables of debug information.

use crate::{DebugType, EntityVec, FileId, FuncId, Function, LocId, PathId, SourceFile, SourceLoc, TypeId, entity};

entity! {
    /// A global variable.
    GlobalId, "g"
}

/// A whole program, or the part of it that one file holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Module {
    /// The name of the file that it came from.
    pub name: String,
    /// Functions, defined and declared.
    pub functions: EntityVec<FuncId, Function>,
    /// Global variables.
    pub globals: EntityVec<GlobalId, Global>,
    /// Functions to run before `main`, in order.
    pub constructors: Vec<FuncId>,
    /// Source positions; the first is the unknown position.
    pub locs: EntityVec<LocId, SourceLoc>,
    /// Source files.
    pub files: EntityVec<FileId, SourceFile>,
    /// Source-level types.
    pub types: EntityVec<TypeId, DebugType>,
    /// Names of accesses, such as `queue->tail`.
    pub paths: EntityVec<PathId, String>,
}

/// A global variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Global {
    /// Its linkage name.
    pub name: String,
    /// Its name in the source, for reports.
    pub source_name: String,
    /// Size in bytes.
    pub size: u64,
    /// Alignment in bytes.
    pub align: u32,
    /// Initial bytes; shorter than `size` means zeros behind.
    pub data: Vec<u8>,
    /// Addresses to put into the initial bytes.
    pub relocs: Vec<Reloc>,
    /// Whether writing it is an error.
    pub constant: bool,
    /// Whether each thread has its own instance.
    pub thread_local: bool,
    /// Whether it is only declared here; using it is an error when reached.
    pub external: bool,
    /// Its source-level type, if known.
    pub debug_type: Option<TypeId>,
    /// Where it is defined.
    pub loc: LocId,
}

/// An address in the initial bytes of a global: 8 bytes at `offset`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reloc {
    /// Where, in bytes.
    pub offset: u64,
    /// The address of what.
    pub target: RelocTarget,
    /// Bytes to add.
    pub addend: i64,
}

/// What a relocation points to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RelocTarget {
    /// A global.
    Global(GlobalId),
    /// A function.
    Func(FuncId),
}

impl Module {
    /// The unknown source position.
    pub const NO_LOC: usize = 0;

    /// An empty module.
    pub fn new(name: impl Into<String>) -> Module {
        let mut locs = EntityVec::new();
        let unknown = SourceLoc { file: None, line: 0, column: 0, function: String::new(), inlined_at: None };
        locs.push(unknown);
        Module {
            name: name.into(),
            functions: EntityVec::new(),
            globals: EntityVec::new(),
            constructors: Vec::new(),
            locs,
            files: EntityVec::new(),
            types: EntityVec::new(),
            paths: EntityVec::new(),
        }
    }

    /// The unknown source position.
    pub fn no_loc(&self) -> LocId {
        self.locs.keys().next().expect("every module starts with the unknown position")
    }

    /// The function with this linkage name.
    pub fn function_named(&self, name: &str) -> Option<FuncId> {
        self.functions.iter().find(|(_, f)| f.name == name).map(|(id, _)| id)
    }

    /// The global with this linkage name.
    pub fn global_named(&self, name: &str) -> Option<GlobalId> {
        self.globals.iter().find(|(_, g)| g.name == name).map(|(id, _)| id)
    }
}
