//! The tables of debug information: files, positions, source-level types.
//!
//! Entries are numbered in order, and may refer to entries that come later: that is checked when all are read.

use super::cursor::{self, Cursor};
use super::{Parsed, Parser};
use crate::lex::Tok;
use crate::{DebugType, EntityRef, EntityVec, Field, FileId, LocId, Module, SourceFile, SourceLoc, TypeId};

/// References between entries that are still to be checked, each with the position of its token.
#[derive(Default)]
pub(super) struct References {
    types: Vec<(TypeId, usize)>,
    locs: Vec<(LocId, usize)>,
    files: Vec<(FileId, usize)>,
}

impl References {
    /// Whether everything that is referred to exists.
    pub fn check(&self, module: &Module, at: &Cursor<'_>) -> Parsed<()> {
        check_all(&self.types, &module.types, at)?;
        check_all(&self.locs, &module.locs, at)?;
        check_all(&self.files, &module.files, at)
    }
}

fn check_all<K, V>(references: &[(K, usize)], table: &EntityVec<K, V>, at: &Cursor<'_>) -> Parsed<()>
where
    K: EntityRef + std::fmt::Display,
{
    match references.iter().find(|(id, _)| !table.is_valid(*id)) {
        Some((id, position)) => at.error_at(*position, format!("`{id}` is not defined")),
        None => Ok(()),
    }
}

impl Parser<'_> {
    /// `file0 = "a.c" in "/src"`.
    pub(super) fn file_entry(&mut self) -> Parsed<()> {
        self.new_entry("file", self.module.files.next_key())?;
        let name = self.at.string()?;
        let directory = if self.at.accept_word("in") { self.at.string()? } else { String::new() };
        self.module.files.push(SourceFile { name, directory });
        Ok(())
    }

    /// `loc1 = file0 12:3 in "main" at loc2`.
    pub(super) fn loc_entry(&mut self, references: &mut References) -> Parsed<()> {
        self.new_entry("loc", self.module.locs.next_key())?;
        let file = match *self.at.peek() {
            Tok::Word(_) => Some(self.reference("file", &mut references.files)?),
            _ => None,
        };
        let (line, column) = self.line_and_column()?;
        let function = if self.at.accept_word("in") { self.at.string()? } else { String::new() };
        let inlined_at = match self.at.accept_word("at") {
            true => Some(self.reference("loc", &mut references.locs)?),
            false => None,
        };
        self.module.locs.push(SourceLoc { file, line, column, function, inlined_at });
        Ok(())
    }

    fn line_and_column(&mut self) -> Parsed<(u32, u32)> {
        let line = self.at.small("a line")?;
        self.at.expect(':')?;
        Ok((line, self.at.small("a column")?))
    }

    /// `:12:3` behind the name of a file: the position, made if it is new.
    pub(super) fn loc_in_place(&mut self, file: String) -> Parsed<LocId> {
        self.at.expect(':')?;
        let (line, column) = self.line_and_column()?;
        let files = &mut self.module.files;
        let file = *self.files.entry(file).or_insert_with_key(|name| {
            let known = files.iter().find(|(_, data)| data.name == *name).map(|(id, _)| id);
            known.unwrap_or_else(|| files.push(SourceFile { name: name.clone(), directory: String::new() }))
        });
        let loc = SourceLoc { file: Some(file), line, column, function: String::new(), inlined_at: None };
        let locs = &mut self.module.locs;
        Ok(*self.places.entry((file, line, column)).or_insert_with(|| locs.push(loc)))
    }

    /// `type0 = base "int" 4 signed` and so on.
    pub(super) fn type_entry(&mut self, references: &mut References) -> Parsed<()> {
        self.new_entry("type", self.module.types.next_key())?;
        let ty = match self.at.word("a kind of type")? {
            "base" => DebugType::Base {
                name: self.at.string()?,
                size: self.at.unsigned()?,
                signed: self.at.accept_word("signed"),
                float: self.at.accept_word("float"),
            },
            "pointer" if self.at.at_end_of_statement() => DebugType::Pointer { to: None },
            "pointer" => DebugType::Pointer { to: Some(self.reference("type", &mut references.types)?) },
            "struct" => self.record(false, references)?,
            "union" => self.record(true, references)?,
            "array" => {
                let element = self.reference("type", &mut references.types)?;
                self.at.expect_word("size")?;
                let element_size = self.at.unsigned()?;
                let count = if self.at.accept_word("count") { Some(self.at.unsigned()?) } else { None };
                DebugType::Array { element, element_size, count }
            }
            "enum" => self.enumeration()?,
            "opaque" => DebugType::Opaque { name: self.at.string()? },
            other => return self.at.error_before(format!("unknown kind of type `{other}`")),
        };
        self.module.types.push(ty);
        Ok(())
    }

    /// `"node" 16 ["next": type1 at 0 size 8]`.
    fn record(&mut self, union: bool, references: &mut References) -> Parsed<DebugType> {
        let name = self.at.string()?;
        let size = self.at.unsigned()?;
        let mut fields = Vec::new();
        self.at.expect('[')?;
        while !self.at.accept(']') {
            self.at.comma_unless_first(fields.is_empty())?;
            let name = self.at.string()?;
            self.at.expect(':')?;
            let ty = self.reference("type", &mut references.types)?;
            self.at.expect_word("at")?;
            let offset = self.at.unsigned()?;
            self.at.expect_word("size")?;
            fields.push(Field { name, offset, ty, size: self.at.unsigned()? });
        }
        Ok(DebugType::Record { name, size, fields, union })
    }

    /// `"color" 4 ["RED": 0, "GREEN": 1]`.
    fn enumeration(&mut self) -> Parsed<DebugType> {
        let name = self.at.string()?;
        let size = self.at.unsigned()?;
        let mut variants = Vec::new();
        self.at.expect('[')?;
        while !self.at.accept(']') {
            self.at.comma_unless_first(variants.is_empty())?;
            let name = self.at.string()?;
            self.at.expect(':')?;
            variants.push((self.at.signed()?, name));
        }
        Ok(DebugType::Enum { name, size, variants })
    }

    /// `file0 =` where `file0` is the number that comes next.
    fn new_entry<K: EntityRef + std::fmt::Display>(&mut self, prefix: &str, expected: K) -> Parsed<()> {
        let word = self.at.word("an entry")?;
        if cursor::index::<K>(prefix, word) != Some(expected) {
            return self.at.error_before(format!("entries are numbered in order: `{expected}` comes next"));
        }
        self.at.expect('=')
    }

    fn reference<K: EntityRef>(&mut self, prefix: &str, references: &mut Vec<(K, usize)>) -> Parsed<K> {
        let position = self.at.position();
        let word = self.at.word("a reference to an entry")?;
        match cursor::index::<K>(prefix, word) {
            Some(id) => {
                references.push((id, position));
                Ok(id)
            }
            None => self.at.error_before(format!("expected `{prefix}` with a number, found `{word}`")),
        }
    }
}
