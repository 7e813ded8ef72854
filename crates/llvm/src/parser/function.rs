//! Functions: headers, the table of locals, blocks.
//!
//! LLVM numbers unnamed arguments, blocks and results with one counter, and a block without a label takes a number too;
//! the counter here follows the same rule, so that `%3` means what it means to LLVM. A local may be used before it is
//! defined; the type of its first mention is remembered and every other mention must agree.

use super::Parser;
use crate::ast::{Block, Function, Instruction, Linkage, Local, LocalId, Parameter, SymbolDefinition};
use crate::error::{Fault, Parsed};
use crate::lexer::Token;
use crate::types::{Type, TypeId, TypeTable};
use rustc_hash::FxHashMap;

/// The locals of the function that is being read.
#[derive(Default)]
pub(super) struct FunctionState<'a> {
    open: bool,
    locals: Vec<Local<'a>>,
    names: FxHashMap<&'a str, LocalId>,
    numbers: FxHashMap<u32, LocalId>,
    next_number: u32,
    /// Result type, which `ret` must agree with.
    pub(super) result: Option<TypeId>,
}

impl FunctionState<'_> {
    /// Whether a body is being read.
    pub(super) fn is_open(&self) -> bool {
        self.open
    }
}

/// How a local is called.
#[derive(Clone, Copy)]
pub(super) enum LocalName<'a> {
    Name(&'a str),
    Number(u32),
    /// Not written: takes the next number.
    Implicit,
}

impl<'a> Parser<'a> {
    /// `declare ...`.
    pub(super) fn function_declaration(&mut self) -> Parsed<()> {
        let at = self.start;
        self.bump()?;
        let mut debug = None;
        self.attachments(|name, value| {
            if name == "dbg" {
                debug = Some(value);
            }
        })?;
        let mut function = self.function_header(at)?;
        function.debug = function.debug.or(debug);
        function.params.iter_mut().for_each(|param| param.local = None);
        self.finish_function(function)
    }

    /// `define ... { ... }`.
    pub(super) fn function_definition(&mut self) -> Parsed<()> {
        let at = self.start;
        self.bump()?;
        let mut function = self.function_header(at)?;
        self.function.open = true;
        self.function.result = Some(function.result);
        self.expect(b'{')?;
        if self.is_mark(b'}') {
            return self.expected("an instruction");
        }
        while !self.is_mark(b'}') {
            if let Token::Word("uselistorder" | "uselistorder_bb") = self.token {
                self.use_list_order()?;
                continue;
            }
            let block = self.block()?;
            function.blocks.push(block);
        }
        self.bump()?;
        self.check_locals()?;
        function.locals = std::mem::take(&mut self.function.locals);
        self.finish_function(function)
    }

    fn finish_function(&mut self, function: Function<'a>) -> Parsed<()> {
        self.function = FunctionState::default();
        let index = self.module.functions.len() as u32;
        self.define_symbol(function.symbol, SymbolDefinition::Function(index), function.offset)?;
        self.module.functions.push(function);
        Ok(())
    }

    fn check_locals(&self) -> Parsed<()> {
        match self.function.locals.iter().filter(|local| !local.defined).min_by_key(|local| local.offset) {
            Some(local) => self.wrong(local.offset, format!("{} is never defined", describe(local))),
            None => Ok(()),
        }
    }

    fn function_header(&mut self, at: u32) -> Parsed<Function<'a>> {
        let linkage = self.linkage()?;
        self.skip_visibility()?;
        self.calling_convention()?;
        let result_attributes = self.parameter_attributes()?;
        self.reject_unknown_attribute()?;
        let result = self.ty()?;
        let symbol = self.symbol()?;
        let (params, variadic) = self.parameters()?;
        let types = params.iter().map(|p| p.ty).collect();
        let ty = self.function_type_of(result, types, variadic);
        let mut function = Function {
            symbol,
            linkage: linkage.unwrap_or(Linkage::External),
            result,
            params,
            variadic,
            ty,
            attributes: Default::default(),
            debug: None,
            locals: Vec::new(),
            blocks: Vec::new(),
            offset: at,
        };
        self.function_clauses(&mut function)?;
        function.attributes.unsupported = function.attributes.unsupported.or(result_attributes.unsupported);
        Ok(function)
    }

    fn parameters(&mut self) -> Parsed<(Vec<Parameter>, bool)> {
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
            let at = p.start;
            let ty = p.value_type()?;
            let attributes = p.parameter_attributes()?;
            let name = match p.token {
                Token::LocalName(name) => LocalName::Name(name),
                Token::LocalNumber(number) => LocalName::Number(number),
                Token::Word(_) => {
                    p.reject_unknown_attribute()?;
                    return p.expected("`,` or `)`");
                }
                _ => LocalName::Implicit,
            };
            if !matches!(name, LocalName::Implicit) {
                p.bump()?;
            }
            let local = p.define_local(name, ty, at)?;
            params.push(Parameter { ty, local: Some(local), attributes });
            Ok(())
        })?;
        Ok((params, variadic))
    }

    /// What may follow the parameters.
    fn function_clauses(&mut self, function: &mut Function<'a>) -> Parsed<()> {
        loop {
            let found = self.function_attributes()?;
            let merged = &mut function.attributes;
            merged.groups.extend(found.groups);
            merged.noreturn |= found.noreturn;
            merged.returns_twice |= found.returns_twice;
            merged.unsupported = merged.unsupported.or(found.unsupported);
            match self.token {
                Token::Word("unnamed_addr" | "local_unnamed_addr") => self.bump()?,
                Token::Word("addrspace") => {
                    self.bump()?;
                    self.address_space_number()?;
                }
                Token::Word("section" | "partition" | "gc") => {
                    self.bump()?;
                    self.string()?;
                }
                Token::Word("comdat") => self.comdat_clause()?,
                Token::Word("align") => {
                    self.bump()?;
                    self.alignment_value()?;
                }
                // Data before the code, seen only by reading the code's memory.
                Token::Word("prefix" | "prologue" | "personality") => {
                    self.bump()?;
                    self.typed_constant()?;
                }
                Token::MetadataName(_) if self.peek() != Token::Mark(b'=') => self.attachments(|name, value| {
                    if name == "dbg" {
                        function.debug = Some(value);
                    }
                })?,
                Token::Word(word) if !self.starts_entity(word) => {
                    return Err(Fault::unsupported(
                        self.start,
                        format!("the unknown attribute `{word}`, which may change what the program does"),
                    ));
                }
                _ => return Ok(()),
            }
        }
    }

    /// Whether a word after a declaration starts the next entity.
    fn starts_entity(&self, word: &str) -> bool {
        matches!(
            word,
            "define"
                | "declare"
                | "attributes"
                | "target"
                | "source_filename"
                | "module"
                | "uselistorder"
                | "uselistorder_bb"
        )
    }

    fn block(&mut self) -> Parsed<Block<'a>> {
        let at = self.start;
        let name = match self.token {
            Token::Label(name) => LocalName::Name(name),
            Token::LabelNumber(number) => LocalName::Number(number),
            _ => LocalName::Implicit,
        };
        if !matches!(name, LocalName::Implicit) {
            self.bump()?;
        }
        let label = self.define_local(name, TypeTable::LABEL, at)?;
        let mut instructions: Vec<Instruction<'a>> = Vec::new();
        loop {
            if let Some(instruction) = self.instruction()? {
                let done = instruction.op.is_terminator();
                instructions.push(instruction);
                if done {
                    return Ok(Block { label, instructions });
                }
            }
        }
    }

    /// Defines a local.
    pub(super) fn define_local(&mut self, name: LocalName<'a>, ty: TypeId, at: u32) -> Parsed<LocalId> {
        let id = match name {
            LocalName::Name(name) => self.local_named(name, ty, at),
            LocalName::Number(number) => self.local_numbered(number, ty, at),
            LocalName::Implicit => {
                let number = self.function.next_number;
                self.local_numbered(number, ty, at)
            }
        };
        let number = self.function.locals[id.index()].number;
        if !matches!(name, LocalName::Name(_)) {
            self.function.next_number = number.max(self.function.next_number).saturating_add(1);
        }
        self.agree(id, ty, at)?;
        let local = &mut self.function.locals[id.index()];
        if local.defined {
            let message = format!("{} is defined twice", describe(local));
            return self.wrong(at, message);
        }
        local.defined = true;
        Ok(id)
    }

    /// The local that the current token names, used as a value of this type.
    pub(super) fn local(&mut self, ty: TypeId) -> Parsed<LocalId> {
        let at = self.start;
        let id = match self.token {
            Token::LocalName(name) => self.local_named(name, ty, at),
            Token::LocalNumber(number) => self.local_numbered(number, ty, at),
            _ => return self.expected("a local value"),
        };
        self.agree(id, ty, at)?;
        self.bump()?;
        Ok(id)
    }

    /// `label %name`.
    pub(super) fn block_label(&mut self) -> Parsed<LocalId> {
        self.expect_word("label")?;
        self.local(TypeTable::LABEL)
    }

    fn local_named(&mut self, name: &'a str, ty: TypeId, offset: u32) -> LocalId {
        if let Some(&id) = self.function.names.get(name) {
            return id;
        }
        let id = self.add_local(Local { name, number: 0, ty, defined: false, offset });
        self.function.names.insert(name, id);
        id
    }

    fn local_numbered(&mut self, number: u32, ty: TypeId, offset: u32) -> LocalId {
        if let Some(&id) = self.function.numbers.get(&number) {
            return id;
        }
        let id = self.add_local(Local { name: "", number, ty, defined: false, offset });
        self.function.numbers.insert(number, id);
        id
    }

    fn add_local(&mut self, local: Local<'a>) -> LocalId {
        let id = LocalId(self.function.locals.len() as u32);
        self.function.locals.push(local);
        id
    }

    fn agree(&self, id: LocalId, ty: TypeId, at: u32) -> Parsed<()> {
        let local = &self.function.locals[id.index()];
        if local.ty == ty {
            return Ok(());
        }
        let types = &self.module.types;
        self.wrong(
            at,
            format!("{} has type `{}`, not `{}`", describe(local), types.display(local.ty), types.display(ty)),
        )
    }

    /// Whether values of this type can be results and operands.
    pub(super) fn is_sized_value(&self, ty: TypeId) -> bool {
        !matches!(self.module.types.get(ty), Type::Void | Type::Label | Type::Metadata | Type::Function { .. })
    }
}

/// A local as the text writes it.
pub(crate) fn describe(local: &Local<'_>) -> String {
    if local.name.is_empty() { format!("`%{}`", local.number) } else { format!("`%{}`", local.name) }
}
