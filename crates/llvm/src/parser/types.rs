//! Types: `i32`, `ptr`, `[4 x i8]`, `%struct.node*`, `void (i32, ...)*`.
//!
//! A type is read from left to right with any number of suffixes: `*` makes a pointer, `( ... )` a function type. Since
//! pointees are erased, a suffix `*` replaces what stands before it.

use super::Parser;
use crate::error::{Fault, Parsed};
use crate::lexer::{Token, display_name};
use crate::types::{FloatKind, NamedId, Type, TypeId, TypeTable};

/// The largest integer that LLVM has.
const MAX_INT_BITS: u32 = 1 << 23;

impl<'a> Parser<'a> {
    /// A type that values can have, or `void`; not a bare function type.
    pub(super) fn ty(&mut self) -> Parsed<TypeId> {
        let at = self.start;
        let ty = self.ty_or_function()?;
        if matches!(self.module.types.get(ty), Type::Function { .. }) {
            return self.wrong(at, "a function type cannot stand here");
        }
        Ok(ty)
    }

    /// A type of which there can be values: no `void`.
    pub(super) fn value_type(&mut self) -> Parsed<TypeId> {
        let at = self.start;
        let ty = self.ty()?;
        if ty == TypeTable::VOID {
            return self.wrong(at, "`void` cannot stand here");
        }
        Ok(ty)
    }

    /// Any type.
    pub(super) fn ty_or_function(&mut self) -> Parsed<TypeId> {
        let mut ty = self.nested(|p| p.type_atom())?;
        loop {
            match self.token {
                Token::Mark(b'*') => {
                    self.bump()?;
                    ty = TypeTable::PTR;
                }
                Token::Word("addrspace") if matches!(self.peek(), Token::Mark(b'(')) => {
                    self.bump()?;
                    let space = self.address_space_number()?;
                    if !self.eat(b'*')? && ty != TypeTable::PTR {
                        return self.expected("`*`");
                    }
                    ty = self.module.types.intern(Type::Pointer(space));
                }
                Token::Mark(b'(') => ty = self.nested(|p| p.function_type(ty))?,
                _ => return Ok(ty),
            }
        }
    }

    /// `(N)` or `("A")` after `addrspace`; the symbolic spaces are those of the data layout.
    pub(super) fn address_space_number(&mut self) -> Parsed<u32> {
        self.expect(b'(')?;
        if let Token::String(name) = self.token {
            return Err(Fault::unsupported(self.start, format!("the address space {name:?}")));
        }
        let space = self.unsigned32()?;
        self.expect(b')')?;
        Ok(space)
    }

    fn function_type(&mut self, result: TypeId) -> Parsed<TypeId> {
        self.expect(b'(')?;
        let mut params = Vec::new();
        let mut variadic = false;
        self.list_until(b')', |p| {
            if variadic {
                return p.expected("`)`");
            }
            if p.token == Token::Ellipsis {
                variadic = true;
                return p.bump();
            }
            params.push(p.value_type()?);
            Ok(())
        })?;
        Ok(self.module.types.intern(Type::Function { result, params: params.into_boxed_slice(), variadic }))
    }

    fn type_atom(&mut self) -> Parsed<TypeId> {
        let at = self.start;
        match self.token {
            Token::Word(word) => match self.type_word(word) {
                Some(ty) => {
                    self.bump()?;
                    Ok(ty)
                }
                None if word == "target" => self.target_type(),
                None => self.expected("a type"),
            },
            Token::LocalName(name) => {
                self.bump()?;
                Ok(self.named_type(name, at).1)
            }
            Token::LocalNumber(number) => {
                self.bump()?;
                Ok(self.numbered_type(number, at).1)
            }
            Token::Mark(b'[') => self.array_type(),
            Token::Mark(b'{') => self.struct_type(false),
            Token::Mark(b'<') => {
                self.bump()?;
                if self.is_mark(b'{') {
                    let ty = self.struct_type(true)?;
                    self.expect(b'>')?;
                    return Ok(ty);
                }
                self.vector_type()
            }
            _ => self.expected("a type"),
        }
    }

    /// The type that a keyword names.
    pub(super) fn type_word(&mut self, word: &str) -> Option<TypeId> {
        let float = |kind| Type::Float(kind);
        let ty = match word {
            "void" => return Some(TypeTable::VOID),
            "ptr" => return Some(TypeTable::PTR),
            "i32" => return Some(TypeTable::I32),
            "i64" => return Some(TypeTable::I64),
            "i8" => return Some(TypeTable::I8),
            "i1" => return Some(TypeTable::I1),
            "label" => return Some(TypeTable::LABEL),
            "metadata" => return Some(TypeTable::METADATA),
            "token" => return Some(TypeTable::TOKEN),
            "half" => float(FloatKind::Half),
            "bfloat" => float(FloatKind::BFloat),
            "float" => float(FloatKind::Single),
            "double" => float(FloatKind::Double),
            "x86_fp80" => float(FloatKind::X87),
            "fp128" => float(FloatKind::Quad),
            "ppc_fp128" => float(FloatKind::PairOfDoubles),
            "x86_mmx" | "x86_amx" => Type::Target(word.into()),
            _ => {
                let bits: u32 = word.strip_prefix('i')?.parse().ok()?;
                if bits == 0 || bits > MAX_INT_BITS {
                    return None;
                }
                Type::Int(bits)
            }
        };
        Some(self.module.types.intern(ty))
    }

    /// `target("name", types..., numbers...)`.
    fn target_type(&mut self) -> Parsed<TypeId> {
        let at = self.start;
        self.bump()?;
        self.skip_parens()?;
        let text = &self.text[at as usize..self.previous_end as usize];
        Ok(self.module.types.intern(Type::Target(text.into())))
    }

    fn array_type(&mut self) -> Parsed<TypeId> {
        self.expect(b'[')?;
        let length = self.unsigned()?;
        self.expect_word("x")?;
        let element = self.element_type()?;
        self.expect(b']')?;
        Ok(self.module.types.intern(Type::Array(length, element)))
    }

    fn element_type(&mut self) -> Parsed<TypeId> {
        let at = self.start;
        let element = self.value_type()?;
        match self.module.types.get(element) {
            Type::Label | Type::Metadata | Type::Token => self.wrong(at, "this type cannot be an element"),
            _ => Ok(element),
        }
    }

    fn struct_type(&mut self, packed: bool) -> Parsed<TypeId> {
        self.expect(b'{')?;
        let mut fields = Vec::new();
        self.list_until(b'}', |p| {
            fields.push(p.element_type()?);
            Ok(())
        })?;
        Ok(self.module.types.intern(Type::Struct { fields: fields.into_boxed_slice(), packed }))
    }

    /// After `<`.
    fn vector_type(&mut self) -> Parsed<TypeId> {
        let scalable = self.eat_word("vscale")?;
        if scalable {
            self.expect_word("x")?;
        }
        let at = self.start;
        let length = self.unsigned32()?;
        if length == 0 {
            return self.wrong(at, "a vector cannot be empty");
        }
        self.expect_word("x")?;
        let at = self.start;
        let element = self.value_type()?;
        if !matches!(self.module.types.get(element), Type::Int(_) | Type::Float(_) | Type::Pointer(_) | Type::Target(_))
        {
            return self.wrong(at, "a vector's elements are numbers or pointers");
        }
        self.expect(b'>')?;
        Ok(self.module.types.intern(Type::Vector { length, element, scalable }))
    }

    /// `%name` as a type, added as opaque if it is new.
    pub(super) fn named_type(&mut self, name: &'a str, offset: u32) -> (NamedId, TypeId) {
        if let Some(&entry) = self.named_types.get(name) {
            return entry;
        }
        let entry = self.new_named_type(display_name(name), offset);
        self.named_types.insert(name, entry);
        entry
    }

    /// `%12` as a type, added as opaque if it is new.
    pub(super) fn numbered_type(&mut self, number: u32, offset: u32) -> (NamedId, TypeId) {
        if let Some(&entry) = self.numbered_types.get(&number) {
            return entry;
        }
        let entry = self.new_named_type(number.to_string(), offset);
        self.numbered_types.insert(number, entry);
        entry
    }

    fn new_named_type(&mut self, name: String, offset: u32) -> (NamedId, TypeId) {
        let named = self.module.types.add_named(name, offset);
        (named, self.module.types.intern(Type::Named(named)))
    }
}
