//! Metadata, read without knowing what it means.
//!
//! A specialised node is a name and a list of `key: value`; fields are added with every release of LLVM, so none is
//! required and none is rejected. Metadata never changes what a program does: LLVM may drop it at any time.

use super::Parser;
use crate::ast::Metadata;
use crate::error::Parsed;
use crate::lexer::Token;
use crate::types::TypeTable;

impl<'a> Parser<'a> {
    /// `!12 = ...` or `!name = !{...}` at the top level.
    pub(super) fn metadata_definition(&mut self) -> Parsed<()> {
        match self.token {
            Token::MetadataName(_) => {
                self.bump()?;
                self.expect(b'=')?;
                self.metadata_node()?;
                Ok(())
            }
            Token::MetadataNumber(number) => {
                let at = self.start;
                self.bump()?;
                self.expect(b'=')?;
                let Metadata::Node(id) = self.metadata_node()? else {
                    return self.wrong(at, "expected a metadata node");
                };
                if self.module.numbered.insert(number, id).is_some() {
                    return self.wrong(at, format!("`!{number}` is defined twice"));
                }
                Ok(())
            }
            _ => self.expected("metadata"),
        }
    }

    /// A node: `distinct !{...}`, `!DIKind(...)`.
    fn metadata_node(&mut self) -> Parsed<Metadata<'a>> {
        self.eat_word("distinct")?;
        match self.token {
            Token::Bang | Token::MetadataName(_) => self.metadata(),
            _ => self.expected("a metadata node"),
        }
    }

    /// A metadata operand.
    pub(super) fn metadata(&mut self) -> Parsed<Metadata<'a>> {
        self.nested(|p| p.metadata_inner())
    }

    fn metadata_inner(&mut self) -> Parsed<Metadata<'a>> {
        match self.token {
            Token::MetadataNumber(number) => {
                self.bump()?;
                Ok(Metadata::Number(number))
            }
            Token::MetadataName(kind) => {
                self.bump()?;
                self.expect(b'(')?;
                let mut fields = Vec::new();
                self.list_until(b')', |p| {
                    fields.push(p.metadata_field()?);
                    Ok(())
                })?;
                Ok(Metadata::Node(self.add_node(kind, fields)))
            }
            Token::Bang => {
                self.bump()?;
                match self.token {
                    Token::String(text) => {
                        self.bump()?;
                        Ok(Metadata::String(text))
                    }
                    Token::Mark(b'{') => self.metadata_tuple(),
                    _ => self.expected("a metadata string or tuple"),
                }
            }
            Token::Word("null") => {
                self.bump()?;
                Ok(Metadata::Null)
            }
            Token::Word("distinct") => self.metadata_node(),
            _ => self.metadata_value(),
        }
    }

    /// `{ operand, ... }`.
    fn metadata_tuple(&mut self) -> Parsed<Metadata<'a>> {
        self.expect(b'{')?;
        let mut fields = Vec::new();
        self.list_until(b'}', |p| {
            fields.push(("", p.metadata()?));
            Ok(())
        })?;
        Ok(Metadata::Node(self.add_node("", fields)))
    }

    /// A typed value wrapped as metadata.
    pub(super) fn metadata_value(&mut self) -> Parsed<Metadata<'a>> {
        let at = self.start;
        let ty = self.value_type()?;
        if ty == TypeTable::METADATA {
            return self.metadata();
        }
        match self.token {
            Token::LocalName(_) | Token::LocalNumber(_) if self.function.is_open() => {
                Ok(Metadata::Local(ty, self.local(ty)?))
            }
            Token::LocalName(_) | Token::LocalNumber(_) => {
                self.wrong(at, "a local cannot be used outside its function")
            }
            _ => Ok(Metadata::Const(self.constant(ty)?)),
        }
    }

    /// `key: value`, or a value without key in `DIExpression` and `DIArgList`.
    fn metadata_field(&mut self) -> Parsed<(&'a str, Metadata<'a>)> {
        let key = match self.token {
            Token::Label(key) => {
                self.bump()?;
                key
            }
            _ => "",
        };
        Ok((key, self.field_value()?))
    }

    fn field_value(&mut self) -> Parsed<Metadata<'a>> {
        let token = self.token;
        match token {
            Token::String(text) => {
                self.bump()?;
                Ok(Metadata::String(text))
            }
            Token::Integer(digits) => {
                let at = self.start;
                self.bump()?;
                match digits.parse::<i128>() {
                    Ok(value) if !self.is_mark(b'|') => Ok(Metadata::Int(value)),
                    Ok(_) => self.flags(at),
                    // Enumerators of `_BitInt` may be wider; they are shown only, never computed with.
                    Err(_) => Ok(Metadata::Word(digits)),
                }
            }
            Token::Mark(b'{') => self.nested(|p| p.metadata_tuple()),
            Token::Word("null" | "distinct") => self.metadata(),
            Token::Word(word) if self.type_word(word).is_none() => {
                let at = self.start;
                self.bump()?;
                self.flags(at)
            }
            _ => self.metadata(),
        }
    }

    /// The rest of `A | B | C`, the first flag being read.
    fn flags(&mut self, at: u32) -> Parsed<Metadata<'a>> {
        while self.eat(b'|')? {
            match self.token {
                Token::Word(_) | Token::Integer(_) => self.bump()?,
                _ => return self.expected("a flag"),
            }
        }
        Ok(Metadata::Word(&self.text[at as usize..self.previous_end as usize]))
    }

    /// Attachments without commas, as functions have them: `!dbg !7 !prof !8`. Calls `found` for each. A name before `=`
    /// is no attachment but the next entity, named metadata.
    pub(super) fn attachments(&mut self, mut found: impl FnMut(&'a str, Metadata<'a>)) -> Parsed<()> {
        while let Token::MetadataName(name) = self.token
            && self.peek() != Token::Mark(b'=')
        {
            self.bump()?;
            let value = self.metadata_node_or_number()?;
            found(name, value);
        }
        Ok(())
    }

    /// The value of an attachment.
    pub(super) fn metadata_node_or_number(&mut self) -> Parsed<Metadata<'a>> {
        match self.token {
            Token::MetadataNumber(_) | Token::MetadataName(_) | Token::Bang => self.metadata(),
            Token::Word("distinct") => self.metadata_node(),
            _ => self.expected("a metadata node"),
        }
    }
}
