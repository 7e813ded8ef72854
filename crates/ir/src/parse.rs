//! The text form of a module: parsing.
//!
//! The form itself is shown in `print.rs`; this file and those below `parse/` read it back. They also accept what is
//! pleasant to write by hand and never printed: names instead of numbers for values and labels (`loop:`, `old`), no
//! types on results (`old = load i32 @x`), results left out altogether, positions in place (`!"a.c":12:3`), typed
//! numbers as initial data (`= i32 1, i64 2`).
//!
//! Three passes go over the tokens, so that nothing has to be declared before it is used: the first collects names and
//! tables, the second reads globals and the heads of functions, the third reads bodies (a call may leave out its result
//! types because all signatures are known by then). The parser stops at the first error and never panics; whether the
//! program makes sense is the verifier's business.

mod body;
mod cursor;
mod instruction;
mod tables;

use crate::lex::{self, Tok};
use crate::{
    EntityRef, FileId, FuncId, Function, Global, GlobalId, LocId, Module, PathId, Reloc, RelocTarget, Type, TypeId,
};
use body::Body;
use cursor::Cursor;
use std::collections::HashMap;

pub use crate::lex::ParseError;

/// Reads a module from its text form.
pub fn parse_module(text: &str) -> Result<Module, ParseError> {
    let mut parser = Parser {
        at: Cursor::new(lex::tokens(text)?),
        module: Module::new(""),
        symbols: HashMap::new(),
        paths: HashMap::new(),
        files: HashMap::new(),
        places: HashMap::new(),
        spare_values: 1_000_000 + text.len(),
    };
    let outline = parser.outline()?;
    for (id, start) in outline.globals {
        parser.global(id, start)?;
    }
    let mut bodies = Vec::new();
    for (id, start) in outline.functions {
        bodies.extend(parser.function_head(id, start)?);
    }
    for start in outline.constructors {
        parser.constructors(start)?;
    }
    for body in bodies {
        parser.function_body(body)?;
    }
    Ok(parser.module)
}

/// What a name stands for.
#[derive(Clone, Copy)]
enum Symbol {
    Global(GlobalId),
    Func(FuncId),
}

/// Where the parts of the text begin, as positions of tokens.
#[derive(Default)]
struct Outline {
    globals: Vec<(GlobalId, usize)>,
    functions: Vec<(FuncId, usize)>,
    constructors: Vec<usize>,
}

struct Parser<'t> {
    at: Cursor<'t>,
    module: Module,
    symbols: HashMap<String, Symbol>,
    paths: HashMap<String, PathId>,
    /// Files and positions that were written out in place.
    files: HashMap<String, FileId>,
    places: HashMap<(FileId, u32, u32), LocId>,
    /// How many value numbers may still be left unused: bounds the memory that a short text can ask for.
    spare_values: usize,
}

type Parsed<T> = Result<T, ParseError>;

impl<'t> Parser<'t> {
    /// The first pass: finds all names and reads the tables of debug information.
    fn outline(&mut self) -> Parsed<Outline> {
        let mut outline = Outline::default();
        let mut references = tables::References::default();
        while self.at.skip_newlines() {
            let keyword = self.at.word("a statement such as `func` or `global`")?;
            match keyword {
                "module" => self.module.name = self.at.string()?,
                "file" => self.file_entry()?,
                "loc" => self.loc_entry(&mut references)?,
                "type" => self.type_entry(&mut references)?,
                "global" => {
                    let id = self.new_global()?;
                    outline.globals.push((id, self.at.position()));
                    self.at.skip_statement();
                }
                "func" | "declare" => {
                    let id = self.new_function()?;
                    outline.functions.push((id, self.at.position()));
                    self.at.skip_statement();
                }
                "constructors" => {
                    outline.constructors.push(self.at.position());
                    self.at.skip_statement();
                }
                _ => return self.at.error_before(format!("unknown statement `{keyword}`")),
            }
            self.at.end_statement()?;
        }
        references.check(&self.module, &self.at)?;
        Ok(outline)
    }

    fn new_global(&mut self) -> Parsed<GlobalId> {
        let name = self.at.symbol()?;
        let id = self.module.globals.push(Global {
            name: name.clone(),
            source_name: name.clone(),
            size: 0,
            align: 1,
            data: Vec::new(),
            relocs: Vec::new(),
            constant: false,
            thread_local: false,
            external: false,
            debug_type: None,
            loc: self.module.no_loc(),
        });
        self.new_symbol(name, Symbol::Global(id))?;
        Ok(id)
    }

    fn new_function(&mut self) -> Parsed<FuncId> {
        let name = self.at.symbol()?;
        let function = Function::new(name.clone(), self.module.no_loc());
        let id = self.module.functions.push(function);
        self.new_symbol(name, Symbol::Func(id))?;
        Ok(id)
    }

    fn new_symbol(&mut self, name: String, symbol: Symbol) -> Parsed<()> {
        match self.symbols.insert(name, symbol) {
            None => Ok(()),
            Some(_) => self.at.error_before("this name is already taken"),
        }
    }

    /// A name that must stand for something.
    fn known_symbol(&mut self) -> Parsed<Symbol> {
        let name = self.at.symbol()?;
        match self.symbols.get(&name) {
            Some(&symbol) => Ok(symbol),
            None => self.at.error_before(format!("there is no global or function `{name}`")),
        }
    }

    fn known_function(&mut self) -> Parsed<FuncId> {
        match self.known_symbol()? {
            Symbol::Func(id) => Ok(id),
            Symbol::Global(_) => self.at.error_before("this is a global, but a function is needed"),
        }
    }

    fn known_global(&mut self) -> Parsed<GlobalId> {
        match self.known_symbol()? {
            Symbol::Global(id) => Ok(id),
            Symbol::Func(_) => self.at.error_before("this is a function, but a global is needed"),
        }
    }

    /// `@x : 4 align 4 constant = i32 5 relocs [0: @y] source "x" type1 !loc2`, from the colon on.
    fn global(&mut self, id: GlobalId, start: usize) -> Parsed<()> {
        self.at.go_to(start);
        self.at.expect(':')?;
        self.module.globals[id].size = self.at.unsigned()?;
        while !self.at.at_end_of_statement() {
            match self.at.next() {
                Tok::Word("align") => self.module.globals[id].align = self.at.small("an alignment")?,
                Tok::Word("constant") => self.module.globals[id].constant = true,
                Tok::Word("thread_local") => self.module.globals[id].thread_local = true,
                Tok::Word("external") => self.module.globals[id].external = true,
                Tok::Word("source") => self.module.globals[id].source_name = self.at.string()?,
                Tok::Word("relocs") => self.module.globals[id].relocs = self.relocs()?,
                Tok::Word(word) if cursor::index::<TypeId>("type", word).is_some() => {
                    self.at.back();
                    self.module.globals[id].debug_type = Some(self.type_reference()?);
                }
                Tok::Punct('=') => self.module.globals[id].data = self.initial_data()?,
                Tok::Punct('!') => self.module.globals[id].loc = self.loc()?,
                other => return self.at.error_before(format!("{other} has no meaning for a global")),
            }
        }
        Ok(())
    }

    fn initial_data(&mut self) -> Parsed<Vec<u8>> {
        if self.at.accept_word("zero") {
            return Ok(Vec::new());
        }
        if self.at.accept_word("string") {
            let text = self.at.string()?;
            let bytes = text.chars().map(|c| u8::try_from(u32::from(c))).collect::<Result<_, _>>();
            return bytes.or_else(|_| self.at.error_before("only characters up to U+00FF can be bytes"));
        }
        if self.at.accept_word("bytes") {
            let text = self.at.string()?;
            return match hex_bytes(&text) {
                Some(bytes) => Ok(bytes),
                None => self.at.error_before("bytes are pairs of hexadecimal digits"),
            };
        }
        let mut data = Vec::new();
        loop {
            let ty = self.at.ty()?;
            let bits = self.at.constant(ty)?;
            data.extend_from_slice(&bits.to_le_bytes()[..ty.store_size() as usize]);
            if !self.at.accept(',') {
                return Ok(data);
            }
        }
    }

    /// `[8: @y+4, 16: @f]`.
    fn relocs(&mut self) -> Parsed<Vec<Reloc>> {
        let mut relocs = Vec::new();
        self.at.expect('[')?;
        while !self.at.accept(']') {
            self.at.comma_unless_first(relocs.is_empty())?;
            let offset = self.at.unsigned()?;
            self.at.expect(':')?;
            let target = match self.known_symbol()? {
                Symbol::Global(id) => RelocTarget::Global(id),
                Symbol::Func(id) => RelocTarget::Func(id),
            };
            relocs.push(Reloc { offset, target, addend: self.at.offset()? });
        }
        Ok(relocs)
    }

    fn constructors(&mut self, start: usize) -> Parsed<()> {
        self.at.go_to(start);
        loop {
            let id = self.known_function()?;
            self.module.constructors.push(id);
            if !self.at.accept(',') {
                return self.at.end_statement();
            }
        }
    }

    /// The second pass over a function, from its parameters on; yields where its body begins.
    fn function_head(&mut self, id: FuncId, start: usize) -> Parsed<Option<Body<'t>>> {
        self.at.go_to(start);
        let declaration = self.at.is_declaration(start);
        let mut body = Body::new(id);
        self.at.expect('(')?;
        let mut first = true;
        while !self.at.accept(')') {
            self.at.comma_unless_first(first)?;
            first = false;
            if self.at.accept_ellipsis() {
                self.module.functions[id].vararg = true;
                self.at.expect(')')?;
                break;
            }
            if declaration {
                let ty = self.at.ty()?;
                let name = self.at.accept_string().unwrap_or_default();
                self.module.functions[id].add_param(ty, name);
            } else {
                body.param(&mut self.at)?;
            }
        }
        self.module.functions[id].results = self.result_types()?;
        loop {
            match self.at.next() {
                Tok::Word("source") => self.module.functions[id].source_name = self.at.string()?,
                Tok::Punct('!') => self.module.functions[id].loc = self.loc()?,
                Tok::Newline if declaration => return Ok(None),
                Tok::Punct('{') if !declaration => {
                    self.at.end_statement()?;
                    body.start = self.at.position();
                    return Ok(Some(body));
                }
                other => return self.at.error_before(format!("{other} has no meaning here; is `{{` missing?")),
            }
        }
    }

    /// Nothing, `-> i32` or `-> (i32, ptr)`.
    fn result_types(&mut self) -> Parsed<Vec<Type>> {
        if !self.at.accept_arrow() {
            return Ok(Vec::new());
        }
        if !self.at.accept('(') {
            return Ok(vec![self.at.ty()?]);
        }
        let mut types = Vec::new();
        while !self.at.accept(')') {
            self.at.comma_unless_first(types.is_empty())?;
            types.push(self.at.ty()?);
        }
        Ok(types)
    }

    /// A position behind `!`: `loc3`, or a place that is written out.
    fn loc(&mut self) -> Parsed<LocId> {
        if let Some(name) = self.at.accept_string() {
            return self.loc_in_place(name);
        }
        let word = self.at.word("a position such as `!loc3`")?;
        match cursor::index::<LocId>("loc", word).filter(|&id| self.module.locs.is_valid(id)) {
            Some(id) => Ok(id),
            None => self.at.error_before(format!("there is no position `{word}`")),
        }
    }

    fn type_reference(&mut self) -> Parsed<TypeId> {
        let word = self.at.word("a source-level type such as `type3`")?;
        match cursor::index::<TypeId>("type", word).filter(|&id| self.module.types.is_valid(id)) {
            Some(id) => Ok(id),
            None => self.at.error_before(format!("there is no source-level type `{word}`")),
        }
    }

    /// The identity of a path's text.
    fn path(&mut self, text: String) -> PathId {
        let paths = &mut self.module.paths;
        *self.paths.entry(text).or_insert_with_key(|text| paths.push(text.clone()))
    }
}

fn hex_bytes(text: &str) -> Option<Vec<u8>> {
    let digit = |c: char| c.to_digit(16).map(|d| d as u8);
    let digits = text.chars().map(digit).collect::<Option<Vec<u8>>>()?;
    (digits.len() % 2 == 0).then(|| digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

/// An index from its number, if it is small enough to be one.
fn entity<K: EntityRef>(number: u64) -> Option<K> {
    (number < u64::from(u32::MAX)).then(|| K::new(number as usize))
}
