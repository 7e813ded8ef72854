//! The parser: recursive descent with one token of look-ahead, as LLVM's own.
//!
//! This file owns the cursor and the small steps (`expect`, `eat`) from which the others are made:
//!
//! | file | reads |
//! |---|---|
//! | `module.rs` | top-level entities |
//! | `types.rs` | types |
//! | `constant.rs` | constants and constant expressions |
//! | `attributes.rs` | attributes, linkage and calling conventions: the lists of what may be ignored |
//! | `metadata.rs` | metadata, generically |
//! | `function.rs` | function headers, locals, blocks |
//! | `instruction.rs` | instructions |
//! | `call.rs` | calls, invokes and debug intrinsics |
//! | `check.rs` | what must hold of the whole module |
//!
//! Recursion is bounded by `MAX_DEPTH`, so that no input can exhaust the stack.

mod attributes;
mod call;
mod check;
mod constant;
mod function;
mod instruction;
mod metadata;
mod module;
mod types;

use crate::ast::{Module, NodeId, Symbol, SymbolDefinition, SymbolId};
use crate::error::{Fault, Parsed};
use crate::lexer::{Lexer, Token};
use crate::types::{NamedId, TypeId};
use function::FunctionState;
pub(crate) use function::describe as describe_local;
use rustc_hash::FxHashMap;

/// How deeply types, constants and metadata may nest.
const MAX_DEPTH: u32 = 200;

/// Reads a module.
pub fn parse_module<'a>(file: &str, text: &'a str) -> Parsed<Module<'a>> {
    if text.len() >= u32::MAX as usize {
        return Err(Fault::unsupported(0, "a file of 4 GiB or more"));
    }
    let mut parser = Parser::new(file, text)?;
    parser.module()?;
    check::check_module(&parser.module, parser.used_groups)?;
    Ok(parser.module)
}

/// The state of the parser.
pub(crate) struct Parser<'a> {
    text: &'a str,
    lexer: Lexer<'a>,
    token: Token<'a>,
    /// Where the current token starts.
    start: u32,
    /// Where the previous token ended.
    previous_end: u32,
    depth: u32,
    module: Module<'a>,
    symbols: FxHashMap<&'a str, SymbolId>,
    numbered_symbols: FxHashMap<u32, SymbolId>,
    next_symbol_number: u32,
    named_types: FxHashMap<&'a str, (NamedId, TypeId)>,
    numbered_types: FxHashMap<u32, (NamedId, TypeId)>,
    /// Attribute groups that are mentioned, with a place to blame if one is missing.
    used_groups: Vec<(u32, u32)>,
    function: FunctionState<'a>,
}

impl<'a> Parser<'a> {
    fn new(file: &str, text: &'a str) -> Parsed<Self> {
        let mut parser = Parser {
            text,
            lexer: Lexer::new(text),
            token: Token::Eof,
            start: 0,
            previous_end: 0,
            depth: 0,
            module: Module { file: file.to_string(), ..Module::default() },
            symbols: FxHashMap::default(),
            numbered_symbols: FxHashMap::default(),
            next_symbol_number: 0,
            named_types: FxHashMap::default(),
            numbered_types: FxHashMap::default(),
            used_groups: Vec::new(),
            function: FunctionState::default(),
        };
        parser.bump()?;
        Ok(parser)
    }

    /// Goes to the next token.
    fn bump(&mut self) -> Parsed<()> {
        self.previous_end = self.lexer.offset();
        (self.token, self.start) = self.lexer.next_token()?;
        Ok(())
    }

    /// The token after the current one.
    fn peek(&self) -> Token<'a> {
        let mut ahead = self.lexer;
        match ahead.next_token() {
            Ok((token, _)) => token,
            Err(_) => Token::Eof,
        }
    }

    /// A fault at the current token: what was expected and what is there.
    fn expected<T>(&self, what: &str) -> Parsed<T> {
        Err(Fault::syntax(self.start, format!("expected {what}, found {}", self.token)))
    }

    /// A fault at a place.
    fn wrong<T>(&self, at: u32, message: impl Into<String>) -> Parsed<T> {
        Err(Fault::syntax(at, message))
    }

    fn is_mark(&self, mark: u8) -> bool {
        self.token == Token::Mark(mark)
    }

    fn eat(&mut self, mark: u8) -> Parsed<bool> {
        let found = self.is_mark(mark);
        if found {
            self.bump()?;
        }
        Ok(found)
    }

    fn expect(&mut self, mark: u8) -> Parsed<()> {
        if self.eat(mark)? {
            return Ok(());
        }
        self.expected(&format!("`{}`", mark as char))
    }

    fn is_word(&self, word: &str) -> bool {
        self.token == Token::Word(word)
    }

    fn eat_word(&mut self, word: &str) -> Parsed<bool> {
        let found = self.is_word(word);
        if found {
            self.bump()?;
        }
        Ok(found)
    }

    fn expect_word(&mut self, word: &str) -> Parsed<()> {
        if self.eat_word(word)? {
            return Ok(());
        }
        self.expected(&format!("`{word}`"))
    }

    /// Eats any of these words, any number of times.
    fn eat_words(&mut self, words: &[&str]) -> Parsed<()> {
        while let Token::Word(word) = self.token {
            if !words.contains(&word) {
                break;
            }
            self.bump()?;
        }
        Ok(())
    }

    fn string(&mut self) -> Parsed<&'a str> {
        let Token::String(text) = self.token else {
            return self.expected("a string");
        };
        self.bump()?;
        Ok(text)
    }

    /// An unsigned decimal number.
    fn unsigned(&mut self) -> Parsed<u64> {
        if let Token::Integer(digits) = self.token
            && let Ok(value) = digits.parse::<u64>()
        {
            self.bump()?;
            return Ok(value);
        }
        self.expected("an unsigned number")
    }

    fn unsigned32(&mut self) -> Parsed<u32> {
        let at = self.start;
        let value = self.unsigned()?;
        u32::try_from(value).map_err(|_| Fault::syntax(at, "this number is too large"))
    }

    /// Skips `( ... )` with everything inside.
    fn skip_parens(&mut self) -> Parsed<()> {
        let open = self.start;
        self.expect(b'(')?;
        let mut depth = 1u32;
        while depth > 0 {
            match self.token {
                Token::Mark(b'(') => depth += 1,
                Token::Mark(b')') => depth -= 1,
                Token::Eof => return self.wrong(open, "this parenthesis has no end"),
                _ => {}
            }
            self.bump()?;
        }
        Ok(())
    }

    /// A list in which `item` reads one entry, separated by commas, up to the closing mark, which is eaten.
    fn list_until(&mut self, close: u8, mut item: impl FnMut(&mut Self) -> Parsed<()>) -> Parsed<()> {
        if self.eat(close)? {
            return Ok(());
        }
        loop {
            item(self)?;
            if self.eat(close)? {
                return Ok(());
            }
            if !self.eat(b',')? {
                return self.expected(&format!("`,` or `{}`", close as char));
            }
        }
    }

    /// Runs a step of a recursive rule, unless the nesting is too deep.
    fn nested<T>(&mut self, step: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            return Err(Fault::unsupported(self.start, format!("nesting deeper than {MAX_DEPTH} levels")));
        }
        self.depth += 1;
        let result = step(self);
        self.depth -= 1;
        result
    }

    /// The symbol that the current token names.
    fn symbol(&mut self) -> Parsed<SymbolId> {
        let at = self.start;
        let symbol = match self.token {
            Token::GlobalName(name) => self.symbol_named(name, at),
            Token::GlobalNumber(number) => self.symbol_numbered(number, at),
            _ => return self.expected("a global symbol"),
        };
        self.bump()?;
        Ok(symbol)
    }

    fn symbol_named(&mut self, name: &'a str, offset: u32) -> SymbolId {
        if let Some(&id) = self.symbols.get(name) {
            return id;
        }
        let id = self.add_symbol(name, None, offset);
        self.symbols.insert(name, id);
        id
    }

    fn symbol_numbered(&mut self, number: u32, offset: u32) -> SymbolId {
        if let Some(&id) = self.numbered_symbols.get(&number) {
            return id;
        }
        let id = self.add_symbol("", Some(number), offset);
        self.numbered_symbols.insert(number, id);
        id
    }

    fn add_symbol(&mut self, name: &'a str, number: Option<u32>, offset: u32) -> SymbolId {
        let id = SymbolId(self.module.symbols.len() as u32);
        self.module.symbols.push(Symbol { name, number, definition: SymbolDefinition::Missing, offset });
        id
    }

    /// Says what a symbol names; it is an error to say it twice.
    fn define_symbol(&mut self, id: SymbolId, definition: SymbolDefinition, at: u32) -> Parsed<()> {
        let symbol = &mut self.module.symbols[id.index()];
        if symbol.definition != SymbolDefinition::Missing {
            let name = self.module.symbol_name(id);
            return self.wrong(at, format!("`@{name}` is defined twice"));
        }
        symbol.definition = definition;
        Ok(())
    }

    fn add_node(&mut self, kind: &'a str, fields: Vec<(&'a str, crate::ast::Metadata<'a>)>) -> NodeId {
        let id = NodeId(self.module.nodes.len() as u32);
        self.module.nodes.push(crate::ast::Node { kind, fields: fields.into_boxed_slice() });
        id
    }
}
