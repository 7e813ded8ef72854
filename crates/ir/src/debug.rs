//! Source positions and source-level types.
//!
//! They come from the front end's debug information and serve only reports: no analysis depends on them.

use crate::entity;

entity! {
    /// A source position.
    LocId, "loc"
}
entity! {
    /// A source file.
    FileId, "file"
}
entity! {
    /// A source-level type.
    TypeId, "type"
}
entity! {
    /// A C-like name of what an access touches, such as `queue->tail`.
    PathId, "path"
}

/// A source file as the compiler named it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SourceFile {
    /// Its name, possibly relative to `directory`.
    pub name: String,
    /// The directory of the compilation.
    pub directory: String,
}

/// A position in a source file, with the calls through which it was inlined.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceLoc {
    /// The file; none where the position is unknown.
    pub file: Option<FileId>,
    /// Line, from 1; 0 is unknown.
    pub line: u32,
    /// Column, from 1; 0 is unknown.
    pub column: u32,
    /// The source name of the enclosing function.
    pub function: String,
    /// Where this code was inlined, if it was.
    pub inlined_at: Option<LocId>,
}

/// A source-level type, for naming the parts of an object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DebugType {
    /// A number, character or boolean.
    Base {
        /// Source name, such as `int`.
        name: String,
        /// Size in bytes.
        size: u64,
        /// Whether to show it as signed.
        signed: bool,
        /// Whether to show it as floating point.
        float: bool,
    },
    /// A pointer.
    Pointer {
        /// What it points to, if known.
        to: Option<TypeId>,
    },
    /// A struct, class or union.
    Record {
        /// Source name (`struct node`), possibly empty.
        name: String,
        /// Size in bytes.
        size: u64,
        /// Members with their offsets; for a union, all offsets are 0.
        fields: Vec<Field>,
        /// Whether it is a union.
        union: bool,
    },
    /// An array.
    Array {
        /// Element type.
        element: TypeId,
        /// Element size in bytes.
        element_size: u64,
        /// Number of elements, if known.
        count: Option<u64>,
    },
    /// An enumeration: value and name pairs.
    Enum {
        /// Source name.
        name: String,
        /// Size in bytes.
        size: u64,
        /// The enumerators.
        variants: Vec<(i64, String)>,
    },
    /// A type that is not described.
    Opaque {
        /// Source name, possibly empty.
        name: String,
    },
}

/// A member of a record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    /// Its name; empty for an anonymous member or a base class.
    pub name: String,
    /// Offset in bytes.
    pub offset: u64,
    /// Its type.
    pub ty: TypeId,
    /// Its size in bytes.
    pub size: u64,
}
