//! What is run: `mod:fun(Args)` as text, or what a module exports for the purpose.

use crate::atom::Atom;
use crate::evaluate::{NoValue, evaluate};
use crate::system::{CodeError, System};
use crate::term::{Map, Term};
use num_bigint::BigInt;

/// A call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The module; none: the first one given.
    pub module: Option<Atom>,
    /// The function.
    pub function: Atom,
    /// Its arguments.
    pub args: Vec<Term>,
}

impl std::fmt::Display for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(module) = self.module {
            write!(f, "{module}:")?;
        }
        let args: Vec<String> = self.args.iter().map(Term::to_string).collect();
        write!(f, "{}({})", self.function, args.join(", "))
    }
}

/// Reads `fun`, `fun(Args)`, `mod:fun(Args)` or `mod:fun`.
pub fn parse(text: &str) -> Result<Entry, String> {
    let mut parser = Parser { text, at: 0 };
    let entry = parser.entry()?;
    parser.end()?;
    Ok(entry)
}

/// Reads a term.
pub fn parse_term(text: &str) -> Result<Term, String> {
    let mut parser = Parser { text, at: 0 };
    let term = parser.term()?;
    parser.end()?;
    Ok(term)
}

/// Reads `name` or `name/arity`.
pub fn parse_function(text: &str) -> Result<(Atom, Option<u8>), String> {
    match text.rsplit_once('/') {
        Some((name, arity)) => {
            let arity = arity.parse().map_err(|_| format!("`{arity}` is no arity"))?;
            Ok((Atom::new(name.trim_matches('\'')), Some(arity)))
        }
        None => Ok((Atom::new(text.trim_matches('\'')), None)),
    }
}

/// How many calls a `scenarios/0` may make.
const FUEL: u64 = 1_000_000;

/// What to run if nobody says: what `scenarios/0` lists, else `test/0`, else every `*_test/0`.
pub fn default_entries(system: &mut System, modules: &[Atom]) -> Result<Vec<Entry>, String> {
    let mut entries = Vec::new();
    for &module in modules {
        let exports = match system.module(module) {
            Ok(Some(found)) => found.exports.clone(),
            Ok(None) => continue,
            Err(error) => return Err(error.to_string()),
        };
        let entry = |function| Entry { module: Some(module), function, args: Vec::new() };
        let named = |name: &str| exports.contains(&(Atom::new(name), 0));
        if named("scenarios") {
            entries.extend(scenarios(system, module)?);
        } else if named("test") {
            entries.push(entry(Atom::new("test")));
        } else {
            let tests = exports.iter().filter(|(name, arity)| *arity == 0 && name.name().ends_with("_test"));
            entries.extend(tests.map(|(name, _)| entry(*name)));
        }
    }
    Ok(entries)
}

/// Each scenario is a name, `{Name, Args}` or a tuple that starts so.
fn scenarios(system: &mut System, module: Atom) -> Result<Vec<Entry>, String> {
    let list = match evaluate(system, module, Atom::new("scenarios"), Vec::new(), FUEL) {
        Ok(list) => list,
        Err(NoValue::Exception(exception)) => {
            return Err(format!("{module}:scenarios/0 fails: {}", exception.reason));
        }
        Err(_) => return Err(format!("{module}:scenarios/0 cannot be evaluated: it must only compute a list")),
    };
    let bad = |item: &Term| format!("{module}:scenarios/0 lists {item}, which is neither a name nor {{Name, Args}}");
    let items = list.to_vec().ok_or_else(|| format!("{module}:scenarios/0 returns {list}, which is no list"))?;
    let mut entries = Vec::new();
    for item in items {
        let (function, args) = match (&item, item.as_tuple()) {
            (Term::Atom(name), _) => (*name, Vec::new()),
            (_, Some([Term::Atom(name)])) => (*name, Vec::new()),
            (_, Some([Term::Atom(name), args, ..])) => (*name, args.to_vec().unwrap_or_default()),
            _ => return Err(bad(&item)),
        };
        entries.push(Entry { module: Some(module), function, args });
    }
    Ok(entries)
}

/// Whether there is such a function; if not, what there is.
pub fn check(system: &mut System, entry: &Entry, module: Atom) -> Result<(), String> {
    let arity = u8::try_from(entry.args.len()).map_err(|_| "too many arguments".to_owned())?;
    let function = entry.function;
    let found: Result<_, CodeError> = system.module(module);
    match found {
        Err(error) => Err(error.to_string()),
        Ok(None) => Err(format!("there is no module {module}")),
        Ok(Some(found)) if found.exports.contains(&(function, arity)) => Ok(()),
        Ok(Some(found)) => {
            let same = found.exports.iter().filter(|(name, _)| *name == function);
            let arities: Vec<String> = same.map(|(name, arity)| format!("{name}/{arity}")).collect();
            let hint = if arities.is_empty() { String::new() } else { format!("; it exports {}", arities.join(", ")) };
            Err(format!("module {module} exports no function {function}/{arity}{hint}"))
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn eat(&mut self, token: &str) -> bool {
        self.space();
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn expect(&mut self, token: &str) -> Result<(), String> {
        if self.eat(token) { Ok(()) } else { Err(self.unexpected(token)) }
    }

    fn unexpected(&self, wanted: &str) -> String {
        let rest = self.rest();
        let found = if rest.is_empty() { "the end".to_owned() } else { format!("`{rest}`") };
        format!("`{}`: expected {wanted}, found {found}", self.text)
    }

    fn end(&mut self) -> Result<(), String> {
        self.space();
        if self.rest().is_empty() { Ok(()) } else { Err(self.unexpected("the end")) }
    }

    fn entry(&mut self) -> Result<Entry, String> {
        let first = self.name()?;
        let (module, function) = if self.eat(":") { (Some(first), self.name()?) } else { (None, first) };
        let args = if self.eat("(") { self.sequence(")")? } else { Vec::new() };
        Ok(Entry { module, function, args })
    }

    fn name(&mut self) -> Result<Atom, String> {
        self.space();
        if self.rest().starts_with('\'') {
            return self.quoted('\'').map(|name| Atom::new(&name));
        }
        let plain = |c: char| c.is_alphanumeric() || c == '_' || c == '@';
        let length: usize = self.rest().chars().take_while(|&c| plain(c)).map(char::len_utf8).sum();
        let name = self.rest()[..length].to_owned();
        if !name.starts_with(char::is_lowercase) {
            return Err(self.unexpected("a name"));
        }
        self.at += length;
        Ok(Atom::new(&name))
    }

    fn quoted(&mut self, quote: char) -> Result<String, String> {
        let mut out = String::new();
        let mut chars = self.text[self.at + 1..].char_indices();
        while let Some((index, c)) = chars.next() {
            match c {
                '\\' => match chars.next() {
                    Some((_, 'n')) => out.push('\n'),
                    Some((_, 't')) => out.push('\t'),
                    Some((_, other)) => out.push(other),
                    None => break,
                },
                c if c == quote => {
                    self.at += 1 + index + 1;
                    return Ok(out);
                }
                c => out.push(c),
            }
        }
        Err(format!("`{}`: a quote is not closed", self.text))
    }

    fn sequence(&mut self, close: &str) -> Result<Vec<Term>, String> {
        let mut items = Vec::new();
        if self.eat(close) {
            return Ok(items);
        }
        loop {
            items.push(self.term()?);
            if self.eat(close) {
                return Ok(items);
            }
            self.expect(",")?;
        }
    }

    fn term(&mut self) -> Result<Term, String> {
        self.space();
        match self.rest().chars().next() {
            Some('[') => self.list(),
            Some('{') => {
                self.at += 1;
                Ok(Term::tuple_of(self.sequence("}")?))
            }
            Some('#') => self.map(),
            Some('"') => self.quoted('"').map(|text| Term::string(&text)),
            Some('$') => {
                let c = self.rest().chars().nth(1).ok_or_else(|| self.unexpected("a character"))?;
                self.at += 1 + c.len_utf8();
                Ok(Term::Int(i64::from(c as u32)))
            }
            Some('<') => {
                self.expect("<<")?;
                self.space();
                let bytes = if self.rest().starts_with('"') { self.quoted('"')?.into_bytes() } else { Vec::new() };
                self.expect(">>")?;
                Ok(Term::binary(&bytes))
            }
            Some(c) if c.is_ascii_digit() || c == '-' => self.number(),
            _ => self.name().map(Term::Atom),
        }
    }

    fn list(&mut self) -> Result<Term, String> {
        self.expect("[")?;
        let mut items = Vec::new();
        if self.eat("]") {
            return Ok(Term::Nil);
        }
        loop {
            items.push(self.term()?);
            if self.eat("|") {
                let tail = self.term()?;
                self.expect("]")?;
                return Ok(Term::list_with_tail(items, tail));
            }
            if self.eat("]") {
                return Ok(Term::list(items));
            }
            self.expect(",")?;
        }
    }

    fn map(&mut self) -> Result<Term, String> {
        self.expect("#{")?;
        let mut map = Map::new();
        if self.eat("}") {
            return Ok(Term::map(map));
        }
        loop {
            let key = self.term()?;
            self.expect("=>")?;
            let value = self.term()?;
            map.insert(key, value);
            if self.eat("}") {
                return Ok(Term::map(map));
            }
            self.expect(",")?;
        }
    }

    fn number(&mut self) -> Result<Term, String> {
        let sign = usize::from(self.rest().starts_with('-'));
        let digits = |text: &str| text.chars().take_while(char::is_ascii_digit).count();
        let mut length = sign + digits(&self.rest()[sign..]);
        let is_float = self.rest()[length..].starts_with('.') && digits(&self.rest()[length + 1..]) > 0;
        if is_float {
            length += 1 + digits(&self.rest()[length + 1..]);
            if self.rest()[length..].starts_with('e') {
                let exponent = &self.rest()[length + 1..];
                let sign = usize::from(exponent.starts_with(['+', '-']));
                length += 1 + sign + digits(&exponent[sign..]);
            }
        }
        let text = self.rest()[..length].to_owned();
        let wrong = self.unexpected("a number");
        self.at += length;
        if is_float {
            return text.parse().ok().filter(|value: &f64| value.is_finite()).map(Term::Float).ok_or(wrong);
        }
        text.parse::<BigInt>().map(Term::integer).map_err(|_| wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_read() {
        let entry = parse("lock:test(3, [a, {b, -2.5}|c], \"x\", #{k => <<\"v\">>})").unwrap();
        assert_eq!(entry.to_string(), "lock:test(3, [a,{b,-2.5}|c], \"x\", #{k => <<\"v\">>})");
        assert_eq!(parse("test").unwrap(), Entry { module: None, function: Atom::new("test"), args: vec![] });
        assert_eq!(parse(" 'a b':f ( ) ").unwrap().module, Some(Atom::new("a b")));
    }

    #[test]
    fn what_is_no_call_is_refused() {
        for text in ["", "Test()", "test(", "test(X)", "test()()", "a:b:c()", "test('x)", "test(1,)", "test(-)", "1()"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
