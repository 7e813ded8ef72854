//! Core Erlang as a tree.
//!
//! The compiler's own records (`core_parse.hrl`: 22 kinds of nodes) are read into a tree in which every variable and
//! every local function has a number of its own, so that nothing is shadowed. A function is read when it is first
//! needed: most functions of a library module never are.

use crate::atom::Atom;
use crate::term::Term;

/// A variable; numbers are unique in a function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Var(pub u32);

/// A function defined by `letrec`; numbers are unique in a function of the module.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LocalFn(pub u32);

/// A place in the source; line 0 if it is not known.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Place {
    /// The file, as the compiler names it.
    pub file: Atom,
    /// The line.
    pub line: u32,
}

impl Place {
    /// Not known.
    pub const NONE: Place = Place { file: Atom::EMPTY, line: 0 };
}

/// An expression and where it stands.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: Kind,
    /// Where it stands.
    pub place: Place,
}

/// A function: parameters and body.
#[derive(Clone, Debug)]
pub struct FunDef {
    /// The parameters.
    pub params: Vec<Var>,
    /// The body.
    pub body: Expr,
    /// The compiler's name for a `fun`.
    pub name: Option<Atom>,
}

/// What an expression is.
#[derive(Clone, Debug)]
pub enum Kind {
    /// A constant.
    Literal(Term),
    /// A variable.
    Var(Var),
    /// A function of the module, as a value.
    ModuleFn(Atom, u8),
    /// A function of a `letrec`, as a value.
    LocalFn(LocalFn),
    /// `[Head | Tail]`
    Cons(Box<Expr>, Box<Expr>),
    /// `{A, B}`
    Tuple(Vec<Expr>),
    /// A map: what it is made from, and the pairs.
    Map(Box<Expr>, Vec<(MapOp, Expr, Expr)>),
    /// A bit string.
    Binary(Vec<Segment<Expr>>),
    /// `fun (X) -> ...`
    Fun(Box<FunDef>),
    /// Several values.
    Values(Vec<Expr>),
    /// `let <X, Y> = A in B`
    Let(Vec<Var>, Box<Expr>, Box<Expr>),
    /// `do A B`
    Seq(Box<Expr>, Box<Expr>),
    /// `letrec`; whether its functions are only jumped to.
    Letrec(Vec<(LocalFn, FunDef)>, Box<Expr>, bool),
    /// `case`
    Case(Box<Expr>, Vec<Clause>),
    /// `apply F(...)`
    Apply(Box<Expr>, Vec<Expr>),
    /// `call M:F(...)`
    Call(Box<Expr>, Box<Expr>, Vec<Expr>),
    /// `primop name(...)`
    Primop(Atom, Vec<Expr>),
    /// `try Arg of Vars -> Body catch EVars -> Handler`
    Try(Box<Expr>, Vec<Var>, Box<Expr>, Vec<Var>, Box<Expr>),
    /// `catch`
    Catch(Box<Expr>),
}

/// `=>` or `:=`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MapOp {
    /// `=>`
    Assoc,
    /// `:=`
    Exact,
}

/// A segment of a bit string, to be built or matched.
#[derive(Clone, Debug)]
pub struct Segment<T> {
    /// The value or pattern.
    pub value: T,
    /// Its size: `all`, `undefined` (as the type says) or a number.
    pub size: Expr,
    /// What the size is multiplied by.
    pub unit: u32,
    /// How the bits are read.
    pub kind: SegmentKind,
    /// Whether an integer has a sign.
    pub signed: bool,
    /// Whether the least significant byte comes first.
    pub little: bool,
}

/// How the bits of a segment are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SegmentKind {
    /// An integer.
    Integer,
    /// A float.
    Float,
    /// Bits as they are.
    Binary,
    /// A character.
    Utf8,
    /// A character.
    Utf16,
    /// A character.
    Utf32,
}

/// A clause of a `case`.
#[derive(Clone, Debug)]
pub struct Clause {
    /// A pattern for each value.
    pub patterns: Vec<Pattern>,
    /// The guard.
    pub guard: Expr,
    /// The body.
    pub body: Expr,
}

/// A pattern.
#[derive(Clone, Debug)]
pub enum Pattern {
    /// Anything; bound to the variable.
    Var(Var),
    /// This very term.
    Literal(Term),
    /// `[Head | Tail]`
    Cons(Box<Pattern>, Box<Pattern>),
    /// `{A, B}`
    Tuple(Vec<Pattern>),
    /// `#{Key := Pattern}`
    Map(Vec<(Expr, Pattern)>),
    /// A bit string.
    Binary(Vec<Segment<Pattern>>),
    /// `X = Pattern`
    Alias(Var, Box<Pattern>),
}

/// A function of a module, not read yet.
#[derive(Clone, Debug)]
pub struct Definition {
    /// Its name.
    pub name: Atom,
    /// How many arguments it takes.
    pub arity: u8,
    /// The compiler's record of it.
    pub fun: Term,
}

/// A module, its functions not read yet.
#[derive(Clone, Debug)]
pub struct CoreModule {
    /// Its name.
    pub name: Atom,
    /// What it exports.
    pub exports: Vec<(Atom, u8)>,
    /// Its attributes, as pairs.
    pub attributes: Vec<(Term, Term)>,
    /// All functions.
    pub definitions: Vec<Definition>,
}

/// The compiler's records are not what they should be: the name of the record or field.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the compiler's Core Erlang is not understood: {0}")]
pub struct CoreError(pub String);

type Result<T> = std::result::Result<T, CoreError>;

fn bad<T>(what: &str, term: &Term) -> Result<T> {
    let mut shown = format!("{term}");
    if shown.len() > 200 {
        shown.truncate((0..=200).rev().find(|&n| shown.is_char_boundary(n)).unwrap_or(0));
    }
    Err(CoreError(format!("{what} in {shown}")))
}

/// The fields of a record, without its name.
fn record<'a>(term: &'a Term, name: &str) -> Result<&'a [Term]> {
    match term.as_tuple() {
        Some([tag, fields @ ..]) if tag.as_atom().is_some_and(|tag| tag.name() == name) => Ok(fields),
        _ => bad(name, term),
    }
}

fn items(term: &Term) -> Result<Vec<Term>> {
    term.to_vec().map_or_else(|| bad("a list", term), Ok)
}

/// The name and arity of a function variable.
fn function_name(term: &Term) -> Option<(Atom, u8)> {
    match term.as_tuple()? {
        [Term::Atom(name), Term::Int(arity)] => Some((*name, u8::try_from(*arity).ok()?)),
        _ => None,
    }
}

fn function_variable(term: &Term) -> Result<(Atom, u8)> {
    match record(term, "c_var")? {
        [_, name] => function_name(name).map_or_else(|| bad("a function's name", term), Ok),
        _ => bad("c_var", term),
    }
}

/// Reads a module.
pub fn module(term: &Term) -> Result<CoreModule> {
    let [_, name, exports, attributes, definitions] = record(term, "c_module")? else { return bad("c_module", term) };
    let Some(name) = literal(name).and_then(|name| name.as_atom()) else { return bad("the module's name", name) };
    let exports = items(exports)?.iter().map(function_variable).collect::<Result<_>>()?;
    let mut pairs = Vec::new();
    for attribute in items(attributes)? {
        if let Some([key, value]) = attribute.as_tuple()
            && let (Some(key), Some(value)) = (literal(key), literal(value))
        {
            pairs.push((key, value));
        }
    }
    let mut all = Vec::new();
    for definition in items(definitions)? {
        let Some([variable, fun]) = definition.as_tuple() else { return bad("a definition", &definition) };
        let (name, arity) = function_variable(variable)?;
        all.push(Definition { name, arity, fun: fun.clone() });
    }
    Ok(CoreModule { name, exports, attributes: pairs, definitions: all })
}

fn literal(term: &Term) -> Option<Term> {
    match record(term, "c_literal").ok()? {
        [_, value] => Some(value.clone()),
        _ => None,
    }
}

/// Reads a function.
pub fn function(definition: &Definition) -> Result<FunDef> {
    let mut reader = Reader::default();
    reader.fun(&definition.fun)
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Name {
    Atom(Atom),
    Int(i64),
}

#[derive(Default)]
struct Reader {
    variables: Vec<(Name, Var)>,
    functions: Vec<((Atom, u8), LocalFn)>,
    next_var: u32,
    next_fn: u32,
    places: Vec<Place>,
}

impl Reader {
    fn bind(&mut self, term: &Term) -> Result<Var> {
        let [_, name] = record(term, "c_var")? else { return bad("c_var", term) };
        let name = match name {
            Term::Atom(atom) => Name::Atom(*atom),
            Term::Int(number) => Name::Int(*number),
            _ => return bad("a variable's name", term),
        };
        let var = Var(self.next_var);
        self.next_var += 1;
        self.variables.push((name, var));
        Ok(var)
    }

    fn binds(&mut self, list: &Term) -> Result<Vec<Var>> {
        items(list)?.iter().map(|var| self.bind(var)).collect()
    }

    fn fun(&mut self, term: &Term) -> Result<FunDef> {
        let [annotation, params, body] = record(term, "c_fun")? else { return bad("c_fun", term) };
        let depth = self.variables.len();
        let params = self.binds(params)?;
        let place = self.place(annotation);
        self.places.push(place);
        let body = self.expr(body)?;
        self.places.pop();
        self.variables.truncate(depth);
        Ok(FunDef { params, body, name: fun_name(annotation) })
    }

    /// The line and file of an annotation; those of what is around it, if it has none.
    fn place(&self, annotation: &Term) -> Place {
        let around = self.places.last().copied().unwrap_or(Place::NONE);
        let mut place = Place::NONE;
        for item in annotation.items() {
            match item {
                Term::Int(line) => place.line = u32::try_from(*line).unwrap_or(0),
                Term::Tuple(pair) => match &**pair {
                    [Term::Int(line), Term::Int(_)] => place.line = u32::try_from(*line).unwrap_or(0),
                    [Term::Atom(Atom::FILE), name] => place.file = Atom::new(&name.to_text().unwrap_or_default()),
                    _ => {}
                },
                _ => {}
            }
        }
        if place.line == 0 {
            return around;
        }
        if place.file == Atom::EMPTY {
            place.file = around.file;
        }
        place
    }

    fn exprs(&mut self, list: &Term) -> Result<Vec<Expr>> {
        items(list)?.iter().map(|item| self.expr(item)).collect()
    }

    fn expr(&mut self, term: &Term) -> Result<Expr> {
        let Some([tag, annotation, ..]) = term.as_tuple() else { return bad("a record", term) };
        let place = self.place(annotation);
        self.places.push(place);
        let kind = match tag.as_atom() {
            Some(tag) => self.kind(tag.name(), term),
            None => bad("a record", term),
        };
        self.places.pop();
        Ok(Expr { kind: kind?, place })
    }

    fn boxed(&mut self, term: &Term) -> Result<Box<Expr>> {
        self.expr(term).map(Box::new)
    }

    fn kind(&mut self, tag: &str, term: &Term) -> Result<Kind> {
        let fields = &term.as_tuple().expect("checked by the caller")[1..];
        Ok(match (tag, fields) {
            ("c_literal", [_, value]) => Kind::Literal(value.clone()),
            ("c_var", [_, name]) => self.variable(name, term)?,
            ("c_cons", [_, head, tail]) => Kind::Cons(self.boxed(head)?, self.boxed(tail)?),
            ("c_tuple", [_, elements]) => Kind::Tuple(self.exprs(elements)?),
            ("c_values", [_, values]) => Kind::Values(self.exprs(values)?),
            ("c_map", [_, base, pairs, _]) => {
                let base = self.boxed(base)?;
                let mut all = Vec::new();
                for pair in items(pairs)? {
                    let [_, op, key, value] = record(&pair, "c_map_pair")? else { return bad("c_map_pair", &pair) };
                    let exact = literal(op).is_some_and(|op| op.is(Atom::EXACT));
                    let op = if exact { MapOp::Exact } else { MapOp::Assoc };
                    all.push((op, self.expr(key)?, self.expr(value)?));
                }
                Kind::Map(base, all)
            }
            ("c_binary", [_, segments]) => {
                let read = |segment: &Term| self.segment(segment, Reader::expr);
                Kind::Binary(items(segments)?.iter().map(read).collect::<Result<_>>()?)
            }
            ("c_fun", _) => Kind::Fun(Box::new(self.fun(term)?)),
            ("c_let", [_, vars, arg, body]) => {
                let arg = self.boxed(arg)?;
                let depth = self.variables.len();
                let vars = self.binds(vars)?;
                let body = self.boxed(body)?;
                self.variables.truncate(depth);
                Kind::Let(vars, arg, body)
            }
            ("c_seq", [_, first, then]) => Kind::Seq(self.boxed(first)?, self.boxed(then)?),
            ("c_letrec", [annotation, definitions, body]) => self.letrec(annotation, definitions, body)?,
            ("c_case", [_, arg, clauses]) => {
                let arg = self.boxed(arg)?;
                let clauses = items(clauses)?.iter().map(|clause| self.clause(clause)).collect::<Result<_>>()?;
                Kind::Case(arg, clauses)
            }
            ("c_apply", [_, op, args]) => Kind::Apply(self.boxed(op)?, self.exprs(args)?),
            ("c_call", [_, module, name, args]) => {
                Kind::Call(self.boxed(module)?, self.boxed(name)?, self.exprs(args)?)
            }
            ("c_primop", [_, name, args]) => match literal(name) {
                Some(Term::Atom(name)) => Kind::Primop(name, self.exprs(args)?),
                _ => return bad("a primop's name", term),
            },
            ("c_try", [_, arg, vars, body, evars, handler]) => {
                let arg = self.boxed(arg)?;
                let depth = self.variables.len();
                let vars = self.binds(vars)?;
                let body = self.boxed(body)?;
                self.variables.truncate(depth);
                let evars = self.binds(evars)?;
                let handler = self.boxed(handler)?;
                self.variables.truncate(depth);
                Kind::Try(arg, vars, body, evars, handler)
            }
            ("c_catch", [_, body]) => Kind::Catch(self.boxed(body)?),
            ("c_opaque", [_, value]) => Kind::Literal(value.clone()),
            _ => return bad("a node", term),
        })
    }

    fn variable(&mut self, name: &Term, term: &Term) -> Result<Kind> {
        if let Some(function) = function_name(name) {
            let local = self.functions.iter().rev().find(|(known, _)| *known == function);
            return Ok(match local {
                Some((_, id)) => Kind::LocalFn(*id),
                None => Kind::ModuleFn(function.0, function.1),
            });
        }
        let name = match name {
            Term::Atom(atom) => Name::Atom(*atom),
            Term::Int(number) => Name::Int(*number),
            _ => return bad("a variable's name", term),
        };
        match self.variables.iter().rev().find(|(known, _)| *known == name) {
            Some((_, var)) => Ok(Kind::Var(*var)),
            None => bad("an unbound variable", term),
        }
    }

    fn letrec(&mut self, annotation: &Term, definitions: &Term, body: &Term) -> Result<Kind> {
        let depth = self.functions.len();
        let definitions = items(definitions)?;
        let mut ids = Vec::new();
        for definition in &definitions {
            let Some([variable, _]) = definition.as_tuple() else { return bad("a definition", definition) };
            let id = LocalFn(self.next_fn);
            self.next_fn += 1;
            self.functions.push((function_variable(variable)?, id));
            ids.push(id);
        }
        let mut defs = Vec::new();
        for (id, definition) in ids.into_iter().zip(&definitions) {
            let Some([variable, fun]) = definition.as_tuple() else { return bad("a definition", definition) };
            let mut def = self.fun(fun)?;
            def.name = def.name.or(Some(function_variable(variable)?.0));
            defs.push((id, def));
        }
        let body = self.boxed(body)?;
        self.functions.truncate(depth);
        let goto = annotation.items().any(|item| item.is(Atom::LETREC_GOTO));
        Ok(Kind::Letrec(defs, body, goto))
    }

    fn clause(&mut self, term: &Term) -> Result<Clause> {
        let [annotation, patterns, guard, body] = record(term, "c_clause")? else { return bad("c_clause", term) };
        let depth = self.variables.len();
        self.places.push(self.place(annotation));
        let patterns = items(patterns)?.iter().map(|pattern| self.pattern(pattern)).collect::<Result<_>>()?;
        let guard = self.expr(guard)?;
        let body = self.expr(body)?;
        self.places.pop();
        self.variables.truncate(depth);
        Ok(Clause { patterns, guard, body })
    }

    fn pattern(&mut self, term: &Term) -> Result<Pattern> {
        let Some([tag, fields @ ..]) = term.as_tuple() else { return bad("a pattern", term) };
        let tag = tag.as_atom().map_or("", Atom::name);
        Ok(match (tag, fields) {
            ("c_var", _) => Pattern::Var(self.bind(term)?),
            ("c_literal", [_, value]) => Pattern::Literal(value.clone()),
            ("c_cons", [_, head, tail]) => Pattern::Cons(Box::new(self.pattern(head)?), Box::new(self.pattern(tail)?)),
            ("c_tuple", [_, elements]) => {
                Pattern::Tuple(items(elements)?.iter().map(|element| self.pattern(element)).collect::<Result<_>>()?)
            }
            ("c_alias", [_, var, pattern]) => {
                // The inner pattern may use the variable as a size only after it is bound, which it never is.
                let pattern = self.pattern(pattern)?;
                Pattern::Alias(self.bind(var)?, Box::new(pattern))
            }
            ("c_map", [_, _, pairs, _]) => {
                let mut all = Vec::new();
                for pair in items(pairs)? {
                    let [_, _, key, value] = record(&pair, "c_map_pair")? else { return bad("c_map_pair", &pair) };
                    all.push((self.expr(key)?, self.pattern(value)?));
                }
                Pattern::Map(all)
            }
            ("c_binary", [_, segments]) => {
                let read = |segment: &Term| self.segment(segment, Reader::pattern);
                Pattern::Binary(items(segments)?.iter().map(read).collect::<Result<_>>()?)
            }
            _ => return bad("a pattern", term),
        })
    }

    fn segment<T>(&mut self, term: &Term, read: impl Fn(&mut Reader, &Term) -> Result<T>) -> Result<Segment<T>> {
        let [_, value, size, unit, kind, flags] = record(term, "c_bitstr")? else { return bad("c_bitstr", term) };
        let size = self.expr(size)?;
        let value = read(self, value)?;
        let unit = literal(unit).and_then(|unit| unit.as_int()).and_then(|unit| u32::try_from(unit).ok());
        let kind = match literal(kind).and_then(|kind| kind.as_atom()) {
            Some(Atom::INTEGER) => SegmentKind::Integer,
            Some(Atom::FLOAT) => SegmentKind::Float,
            Some(Atom::BINARY) => SegmentKind::Binary,
            Some(Atom::UTF8) => SegmentKind::Utf8,
            Some(Atom::UTF16) => SegmentKind::Utf16,
            Some(Atom::UTF32) => SegmentKind::Utf32,
            _ => return bad("a segment's type", term),
        };
        let flags = flag_list(flags);
        let little = flags.contains(&Atom::LITTLE) || flags.contains(&Atom::NATIVE) && cfg!(target_endian = "little");
        Ok(Segment { value, size, unit: unit.unwrap_or(1), kind, signed: flags.contains(&Atom::SIGNED), little })
    }
}

fn flag_list(flags: &Term) -> Vec<Atom> {
    literal(flags).map(|flags| flags.items().filter_map(Term::as_atom).collect()).unwrap_or_default()
}

/// The name that the compiler has chosen for a `fun`.
fn fun_name(annotation: &Term) -> Option<Atom> {
    annotation.items().find_map(|item| match item.as_tuple()? {
        [Term::Atom(Atom::ID), id] => match id.as_tuple()? {
            [_, _, Term::Atom(name)] => Some(*name),
            _ => None,
        },
        _ => None,
    })
}
