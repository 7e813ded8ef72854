//! LLVM's types, each stored once.
//!
//! A type is an index into a table, so that equality of types is equality of indices. Pointees are erased while
//! reading: `i32*`, `%struct.node**` and `ptr` are all the same pointer, which makes text from typed-pointer compilers
//! (up to 14) and opaque-pointer compilers the same from here on. Named structs are the exception to structural
//! equality: each name is its own type, whose body may follow later in the text or never.

use rustc_hash::FxHashMap;

/// An index into a [`TypeTable`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TypeId(u32);

/// An index into the named structs of a [`TypeTable`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NamedId(u32);

/// A floating-point format.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FloatKind {
    /// IEEE 16 bits.
    Half,
    /// Brain float, 16 bits.
    BFloat,
    /// IEEE 32 bits.
    Single,
    /// IEEE 64 bits.
    Double,
    /// The x87's 80 bits.
    X87,
    /// IEEE 128 bits.
    Quad,
    /// PowerPC's pair of doubles.
    PairOfDoubles,
}

impl FloatKind {
    /// Width in bits.
    pub fn bits(self) -> u32 {
        match self {
            FloatKind::Half | FloatKind::BFloat => 16,
            FloatKind::Single => 32,
            FloatKind::Double => 64,
            FloatKind::X87 => 80,
            FloatKind::Quad | FloatKind::PairOfDoubles => 128,
        }
    }

    /// The keyword.
    pub fn name(self) -> &'static str {
        match self {
            FloatKind::Half => "half",
            FloatKind::BFloat => "bfloat",
            FloatKind::Single => "float",
            FloatKind::Double => "double",
            FloatKind::X87 => "x86_fp80",
            FloatKind::Quad => "fp128",
            FloatKind::PairOfDoubles => "ppc_fp128",
        }
    }
}

/// A type of LLVM, pointees erased.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Type {
    /// No value.
    Void,
    /// A block.
    Label,
    /// Metadata as an argument.
    Metadata,
    /// A token.
    Token,
    /// A target's own register type (`x86_mmx`, `x86_amx`, `target("...")`), by name.
    Target(Box<str>),
    /// An integer of this many bits.
    Int(u32),
    /// Floating point.
    Float(FloatKind),
    /// A pointer into an address space.
    Pointer(u32),
    /// An array.
    Array(u64, TypeId),
    /// A vector.
    Vector {
        /// Number of elements, or its factor if scalable.
        length: u32,
        /// Element type.
        element: TypeId,
        /// Whether the length is a multiple known at run time only.
        scalable: bool,
    },
    /// A struct without a name.
    Struct {
        /// Field types.
        fields: Box<[TypeId]>,
        /// Whether there is no padding.
        packed: bool,
    },
    /// A struct with a name.
    Named(NamedId),
    /// A function.
    Function {
        /// Result type.
        result: TypeId,
        /// Parameter types.
        params: Box<[TypeId]>,
        /// Whether more arguments may follow.
        variadic: bool,
    },
}

/// A named struct.
#[derive(Clone, Debug)]
pub struct NamedType {
    /// The name without its sigil, for messages.
    pub name: String,
    /// Its body, which is a `Struct` unless the text aliases another type; none while it is opaque.
    pub body: Option<TypeId>,
    /// Where it was first mentioned.
    pub offset: u32,
}

/// All types of a module.
#[derive(Clone, Debug)]
pub struct TypeTable {
    types: Vec<Type>,
    index: FxHashMap<Type, TypeId>,
    named: Vec<NamedType>,
}

impl Default for TypeTable {
    fn default() -> Self {
        let mut table = TypeTable { types: Vec::new(), index: FxHashMap::default(), named: Vec::new() };
        // These have fixed indices: see the constants below.
        for ty in [
            Type::Void,
            Type::Label,
            Type::Metadata,
            Type::Token,
            Type::Pointer(0),
            Type::Int(1),
            Type::Int(8),
            Type::Int(32),
            Type::Int(64),
        ] {
            table.intern(ty);
        }
        table
    }
}

impl TypeTable {
    /// `void`.
    pub const VOID: TypeId = TypeId(0);
    /// `label`.
    pub const LABEL: TypeId = TypeId(1);
    /// `metadata`.
    pub const METADATA: TypeId = TypeId(2);
    /// `token`.
    pub const TOKEN: TypeId = TypeId(3);
    /// `ptr`.
    pub const PTR: TypeId = TypeId(4);
    /// `i1`.
    pub const I1: TypeId = TypeId(5);
    /// `i8`.
    pub const I8: TypeId = TypeId(6);
    /// `i32`.
    pub const I32: TypeId = TypeId(7);
    /// `i64`.
    pub const I64: TypeId = TypeId(8);

    /// The index of a type, which is added if it is new.
    pub fn intern(&mut self, ty: Type) -> TypeId {
        if let Some(&id) = self.index.get(&ty) {
            return id;
        }
        let id = TypeId(self.types.len() as u32);
        self.types.push(ty.clone());
        self.index.insert(ty, id);
        id
    }

    /// Adds a named struct without a body.
    pub fn add_named(&mut self, name: String, offset: u32) -> NamedId {
        let id = NamedId(self.named.len() as u32);
        self.named.push(NamedType { name, body: None, offset });
        id
    }

    /// A named struct.
    pub fn named(&self, id: NamedId) -> &NamedType {
        &self.named[id.0 as usize]
    }

    /// Gives a named struct its body.
    pub fn set_body(&mut self, id: NamedId, body: TypeId) {
        self.named[id.0 as usize].body = Some(body);
    }

    /// The type at an index.
    pub fn get(&self, id: TypeId) -> &Type {
        &self.types[id.0 as usize]
    }

    /// How many types there are.
    pub fn len(&self) -> usize {
        self.types.len()
    }

    /// Whether there is no type; never, since the common ones are always there.
    pub fn is_empty(&self) -> bool {
        self.types.is_empty()
    }

    /// The position of a type in the table, for side tables.
    pub fn index_of(&self, id: TypeId) -> usize {
        id.0 as usize
    }

    /// All indices.
    pub fn ids(&self) -> impl Iterator<Item = TypeId> + use<> {
        (0..self.types.len() as u32).map(TypeId)
    }

    /// The type itself, or the body if it is a named struct with one.
    pub fn resolved(&self, id: TypeId) -> &Type {
        match self.get(id) {
            Type::Named(named) => match self.named(*named).body {
                Some(body) => self.get(body),
                None => self.get(id),
            },
            other => other,
        }
    }

    /// The element type of a vector, or the type itself.
    pub fn scalar(&self, id: TypeId) -> TypeId {
        match self.get(id) {
            Type::Vector { element, .. } => *element,
            _ => id,
        }
    }

    /// `new` in the shape of `like`: a vector of it if `like` is a vector.
    pub fn with_shape_of(&mut self, like: TypeId, new: TypeId) -> TypeId {
        match *self.get(like) {
            Type::Vector { length, scalable, .. } => self.intern(Type::Vector { length, element: new, scalable }),
            _ => new,
        }
    }

    /// Whether it is an integer or a vector of integers.
    pub fn is_int(&self, id: TypeId) -> bool {
        matches!(self.get(self.scalar(id)), Type::Int(_))
    }

    /// Whether it is a floating-point type or a vector of one.
    pub fn is_float(&self, id: TypeId) -> bool {
        matches!(self.get(self.scalar(id)), Type::Float(_))
    }

    /// Whether it is a pointer or a vector of pointers.
    pub fn is_pointer(&self, id: TypeId) -> bool {
        matches!(self.get(self.scalar(id)), Type::Pointer(_))
    }

    /// Whether values of it can be computed, passed and returned.
    pub fn is_first_class(&self, id: TypeId) -> bool {
        !matches!(self.get(id), Type::Void | Type::Function { .. })
    }

    /// The type of a part of an aggregate, if the index is in range.
    pub fn part(&self, id: TypeId, index: u64) -> Option<TypeId> {
        match self.resolved(id) {
            Type::Struct { fields, .. } => fields.get(usize::try_from(index).ok()?).copied(),
            Type::Array(length, element) => (index < *length).then_some(*element),
            _ => None,
        }
    }

    /// The type as LLVM writes it.
    pub fn display(&self, id: TypeId) -> String {
        let list = |ids: &[TypeId]| ids.iter().map(|&id| self.display(id)).collect::<Vec<_>>().join(", ");
        match self.get(id) {
            Type::Void => "void".into(),
            Type::Label => "label".into(),
            Type::Metadata => "metadata".into(),
            Type::Token => "token".into(),
            Type::Target(name) => name.to_string(),
            Type::Int(bits) => format!("i{bits}"),
            Type::Float(kind) => kind.name().into(),
            Type::Pointer(0) => "ptr".into(),
            Type::Pointer(space) => format!("ptr addrspace({space})"),
            Type::Array(length, element) => format!("[{length} x {}]", self.display(*element)),
            Type::Vector { length, element, scalable } => {
                let factor = if *scalable { "vscale x " } else { "" };
                format!("<{factor}{length} x {}>", self.display(*element))
            }
            Type::Struct { fields, packed: false } => format!("{{ {} }}", list(fields)),
            Type::Struct { fields, packed: true } => format!("<{{ {} }}>", list(fields)),
            Type::Named(named) => format!("%{}", self.named(*named).name),
            Type::Function { result, params, variadic } => {
                let mut all = list(params);
                if *variadic {
                    all.push_str(if params.is_empty() { "..." } else { ", ..." });
                }
                format!("{} ({all})", self.display(*result))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_types_have_equal_indices() {
        let mut table = TypeTable::default();
        assert_eq!(table.intern(Type::Int(32)), TypeTable::I32);
        assert_eq!(table.intern(Type::Pointer(0)), TypeTable::PTR);
        let a = table.intern(Type::Array(4, TypeTable::I8));
        let b = table.intern(Type::Array(4, TypeTable::I8));
        let c = table.intern(Type::Array(5, TypeTable::I8));
        assert_eq!(a, b);
        assert_ne!(a, c);
        assert_eq!(table.display(c), "[5 x i8]");
    }

    #[test]
    fn named_structs_are_distinct_although_equal_in_structure() {
        let mut table = TypeTable::default();
        let body = table.intern(Type::Struct { fields: [TypeTable::I32].into(), packed: false });
        let a = table.add_named("a".into(), 0);
        let b = table.add_named("b".into(), 0);
        table.set_body(a, body);
        table.set_body(b, body);
        let (a, b) = (table.intern(Type::Named(a)), table.intern(Type::Named(b)));
        assert_ne!(a, b);
        assert_eq!(table.part(a, 0), Some(TypeTable::I32));
        assert_eq!(table.part(b, 1), None);
    }
}
