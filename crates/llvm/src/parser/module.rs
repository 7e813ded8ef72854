//! Top-level entities: target, types, globals, aliases, functions, attribute groups, metadata.

use super::Parser;
use crate::ast::{Alias, GlobalVariable, Linkage, SymbolDefinition, SymbolId};
use crate::error::{Fault, Parsed};
use crate::lexer::Token;
use crate::types::{Type, TypeId};

impl<'a> Parser<'a> {
    /// The whole text.
    pub(super) fn module(&mut self) -> Parsed<()> {
        loop {
            match self.token {
                Token::Eof => return Ok(()),
                Token::Word("define") => self.function_definition()?,
                Token::Word("declare") => self.function_declaration()?,
                Token::Word("attributes") => self.attribute_group()?,
                Token::Word("target") => self.target()?,
                Token::Word("source_filename") => {
                    self.bump()?;
                    self.expect(b'=')?;
                    self.module.source_filename = self.string()?;
                }
                Token::Word("module") => self.module_asm()?,
                Token::Word("uselistorder" | "uselistorder_bb") => self.use_list_order()?,
                Token::LocalName(_) | Token::LocalNumber(_) => self.type_definition()?,
                Token::Comdat(_) => self.comdat_definition()?,
                Token::GlobalName(_) | Token::GlobalNumber(_) => self.global()?,
                Token::MetadataName(_) | Token::MetadataNumber(_) => self.metadata_definition()?,
                Token::Word(word) if self.starts_global(word) => self.unnamed_global()?,
                // A ThinLTO summary (`^0 = ...`) describes the module for the linker, one entry per line.
                Token::Caret => {
                    self.lexer.skip_line();
                    self.bump()?;
                }
                _ => return self.expected("a top-level entity"),
            }
        }
    }

    fn target(&mut self) -> Parsed<()> {
        self.bump()?;
        let at = self.start;
        match self.token {
            Token::Word("triple") => {
                self.bump()?;
                self.expect(b'=')?;
                self.module.triple = self.string()?;
                Ok(())
            }
            Token::Word("datalayout") => {
                self.bump()?;
                self.expect(b'=')?;
                self.module.data_layout = Some((self.string()?, at));
                Ok(())
            }
            _ => self.expected("`triple` or `datalayout`"),
        }
    }

    fn module_asm(&mut self) -> Parsed<()> {
        let at = self.start;
        self.bump()?;
        self.expect_word("asm")?;
        let text = self.string()?.trim();
        if !text.is_empty() && !text.starts_with(".ident") {
            self.module.module_asm = self.module.module_asm.or(Some(at));
        }
        Ok(())
    }

    /// The order of use lists concerns LLVM's own data structures only.
    pub(super) fn use_list_order(&mut self) -> Parsed<()> {
        self.bump()?;
        loop {
            match self.token {
                Token::Mark(b'{') => break,
                Token::Eof => return self.expected("`{`"),
                _ => self.bump()?,
            }
        }
        self.expect(b'{')?;
        self.list_until(b'}', |p| p.unsigned().map(|_| ()))
    }

    /// `%name = type ...`.
    fn type_definition(&mut self) -> Parsed<()> {
        let at = self.start;
        let (named, _) = match self.token {
            Token::LocalName(name) => self.named_type(name, at),
            Token::LocalNumber(number) => self.numbered_type(number, at),
            _ => return self.expected("a type name"),
        };
        self.bump()?;
        self.expect(b'=')?;
        self.expect_word("type")?;
        if self.eat_word("opaque")? {
            return Ok(());
        }
        let body_at = self.start;
        let body = self.value_type()?;
        if self.module.types.named(named).body.is_some() {
            let name = self.module.types.named(named).name.clone();
            return self.wrong(at, format!("the type `%{name}` is defined twice"));
        }
        if !matches!(self.module.types.get(body), Type::Struct { .. }) {
            return Err(Fault::unsupported(body_at, "a named type that is not a struct"));
        }
        self.module.types.set_body(named, body);
        Ok(())
    }

    /// `$name = comdat any`: a matter of the linker, which linkage already decides for us.
    fn comdat_definition(&mut self) -> Parsed<()> {
        self.bump()?;
        self.expect(b'=')?;
        self.expect_word("comdat")?;
        match self.token {
            Token::Word("any" | "exactmatch" | "largest" | "nodeduplicate" | "noduplicates" | "samesize") => {
                self.bump()
            }
            _ => self.expected("a comdat kind"),
        }
    }

    /// Whether a word can start a global without a name.
    fn starts_global(&self, word: &str) -> bool {
        matches!(
            word,
            "private"
                | "internal"
                | "external"
                | "global"
                | "constant"
                | "alias"
                | "ifunc"
                | "dso_local"
                | "weak"
                | "linkonce"
                | "linkonce_odr"
                | "weak_odr"
                | "common"
                | "hidden"
                | "unnamed_addr"
                | "local_unnamed_addr"
                | "thread_local"
                | "addrspace"
        )
    }

    /// `@name = ...`.
    fn global(&mut self) -> Parsed<()> {
        let at = self.start;
        if let Token::GlobalNumber(number) = self.token {
            self.next_symbol_number = number.saturating_add(1);
        }
        let symbol = self.symbol()?;
        self.expect(b'=')?;
        self.global_body(symbol, at)
    }

    fn unnamed_global(&mut self) -> Parsed<()> {
        let at = self.start;
        let number = self.next_symbol_number;
        self.next_symbol_number = number.saturating_add(1);
        let symbol = self.symbol_numbered(number, at);
        self.global_body(symbol, at)
    }

    fn global_body(&mut self, symbol: SymbolId, at: u32) -> Parsed<()> {
        let linkage = self.linkage()?;
        self.skip_visibility()?;
        let thread_local = self.thread_local()?;
        self.eat_words(&["unnamed_addr", "local_unnamed_addr"])?;
        match self.token {
            Token::Word("alias" | "ifunc") => self.alias(symbol, linkage, at),
            _ => self.variable(symbol, linkage, thread_local, at),
        }
    }

    fn alias(&mut self, symbol: SymbolId, linkage: Option<Linkage>, at: u32) -> Parsed<()> {
        let ifunc = self.is_word("ifunc");
        self.bump()?;
        self.ty_or_function()?;
        self.expect(b',')?;
        // clang 14 writes the target's type; constant expressions may stand without it.
        let target = match self.token {
            Token::Word("getelementptr" | "bitcast" | "inttoptr" | "addrspacecast") => {
                self.constant(crate::types::TypeTable::PTR)?
            }
            _ => self.typed_constant()?,
        };
        while self.eat(b',')? {
            self.expect_word("partition")?;
            self.string()?;
        }
        let index = self.module.aliases.len() as u32;
        self.define_symbol(symbol, SymbolDefinition::Alias(index), at)?;
        let linkage = linkage.unwrap_or_default();
        self.module.aliases.push(Alias { symbol, linkage, ifunc, target, offset: at });
        Ok(())
    }

    fn variable(&mut self, symbol: SymbolId, linkage: Option<Linkage>, thread_local: bool, at: u32) -> Parsed<()> {
        let address_space = if self.eat_word("addrspace")? { self.address_space_number()? } else { 0 };
        if self.is_word("externally_initialized") {
            return Err(Fault::unsupported(self.start, "a variable that something outside the program initialises"));
        }
        let constant = match self.token {
            Token::Word("global") => false,
            Token::Word("constant") => true,
            _ => return self.expected("`global` or `constant`"),
        };
        self.bump()?;
        let ty = self.value_type()?;
        let declared = matches!(linkage, Some(Linkage::External | Linkage::ExternWeak));
        let initializer = if declared { None } else { Some(self.constant(ty)?) };
        let mut variable = GlobalVariable {
            symbol,
            ty,
            linkage: linkage.unwrap_or_default(),
            address_space,
            thread_local,
            constant,
            initializer,
            align: None,
            section: None,
            debug: Vec::new(),
            offset: at,
        };
        self.variable_clauses(&mut variable)?;
        self.function_attributes()?;
        let index = self.module.globals.len() as u32;
        self.define_symbol(symbol, SymbolDefinition::Variable(index), at)?;
        self.module.globals.push(variable);
        Ok(())
    }

    /// `, section "x", align 8, comdat, !dbg !3`.
    fn variable_clauses(&mut self, variable: &mut GlobalVariable<'a>) -> Parsed<()> {
        while self.eat(b',')? {
            match self.token {
                Token::Word("section") => {
                    self.bump()?;
                    variable.section = Some(self.string()?);
                }
                Token::Word("partition" | "code_model") => {
                    self.bump()?;
                    self.string()?;
                }
                Token::Word("align") => {
                    self.bump()?;
                    variable.align = Some(self.alignment_value()?);
                }
                Token::Word("comdat") => self.comdat_clause()?,
                Token::Word(
                    "no_sanitize_address" | "no_sanitize_hwaddress" | "sanitize_memtag" | "sanitize_address_dyninit",
                ) => self.bump()?,
                Token::MetadataName(_) => self.attachments(|name, value| {
                    if name == "dbg" {
                        variable.debug.push(value);
                    }
                })?,
                _ => return self.expected("a property of a global variable"),
            }
        }
        Ok(())
    }

    /// `comdat` or `comdat($name)`.
    pub(super) fn comdat_clause(&mut self) -> Parsed<()> {
        self.bump()?;
        if self.eat(b'(')? {
            match self.token {
                Token::Comdat(_) => self.bump()?,
                _ => return self.expected("a comdat"),
            }
            self.expect(b')')?;
        }
        Ok(())
    }

    /// The type of a function with this signature.
    pub(super) fn function_type_of(&mut self, result: TypeId, params: Vec<TypeId>, variadic: bool) -> TypeId {
        self.module.types.intern(Type::Function { result, params: params.into_boxed_slice(), variadic })
    }
}
