//! Metadata, read without knowing its kind.

use super::{ConstId, LocalId, NodeId};
use crate::types::TypeId;

/// A metadata operand.
#[derive(Clone, Copy, Debug)]
pub enum Metadata<'a> {
    /// `null`.
    Null,
    /// `!12`.
    Number(u32),
    /// A node written in place.
    Node(NodeId),
    /// `!"text"`, still escaped.
    String(&'a str),
    /// An integer field.
    Int(i128),
    /// A keyword or flags joined by `|`, as written.
    Word(&'a str),
    /// A local or constant wrapped as metadata.
    Local(TypeId, LocalId),
    /// A constant wrapped as metadata.
    Const(ConstId),
}

/// A metadata node, read without knowing its kind: new fields come with every release.
#[derive(Clone, Debug)]
pub struct Node<'a> {
    /// `DILocation`, `DISubprogram`, ...; empty for a tuple.
    pub kind: &'a str,
    /// Fields with their keys; a key is empty where the syntax has none.
    pub fields: Box<[(&'a str, Metadata<'a>)]>,
}

impl<'a> Node<'a> {
    /// The field with this key.
    pub fn field(&self, key: &str) -> Option<Metadata<'a>> {
        self.fields.iter().find(|(k, _)| *k == key).map(|&(_, value)| value)
    }
}
