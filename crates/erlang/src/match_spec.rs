//! Match specifications: patterns with `'$1'` and `'_'`, guards and bodies that are written as terms.

use crate::atom::Atom;
use crate::bif::pure;
use crate::order::compare;
use crate::term::{Map, Term};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// What the variables of a pattern stand for, by their numbers.
type Bindings = BTreeMap<usize, Term>;

/// A clause: `{Pattern, Guards, Body}`.
#[derive(Clone, Debug)]
struct Clause {
    pattern: Term,
    guards: Vec<Term>,
    body: Vec<Term>,
}

/// A match specification.
#[derive(Clone, Debug)]
pub struct Spec {
    clauses: Vec<Clause>,
}

impl Spec {
    /// A pattern with a body.
    pub fn of_pattern(pattern: &Term, body: Term) -> Option<Spec> {
        Some(Spec { clauses: vec![Clause { pattern: pattern.clone(), guards: Vec::new(), body: body.to_vec()? }] })
    }

    /// `[{Pattern, Guards, Body}, ...]`
    pub fn parse(term: &Term) -> Option<Spec> {
        let clause = |term: &Term| match term.as_tuple()? {
            [pattern, guards, body] => {
                let body = body.to_vec().filter(|body| !body.is_empty())?;
                Some(Clause { pattern: pattern.clone(), guards: guards.to_vec()?, body })
            }
            _ => None,
        };
        Some(Spec { clauses: term.to_vec()?.iter().map(clause).collect::<Option<_>>()? })
    }

    /// The key that every row must have which matches, if there is one.
    pub fn fixed_key(&self, index: usize) -> Option<Term> {
        let key = |clause: &Clause| clause.pattern.as_tuple()?.get(index).filter(|key| is_ground(key)).cloned();
        let first = key(self.clauses.first()?)?;
        self.clauses.iter().all(|clause| key(clause).as_ref() == Some(&first)).then_some(first)
    }
}

fn variable(atom: Atom) -> Option<usize> {
    let digits = atom.name().strip_prefix('$')?;
    if digits.starts_with('0') && digits.len() > 1 { None } else { digits.parse().ok() }
}

fn is_ground(term: &Term) -> bool {
    match term {
        Term::Atom(atom) => atom.name() != "_" && variable(*atom).is_none(),
        Term::Tuple(items) => items.iter().all(is_ground),
        Term::Cons(_) => {
            let mut items = term.items();
            items.by_ref().all(is_ground) && is_ground(items.at)
        }
        Term::Map(map) => map.values().all(is_ground),
        _ => true,
    }
}

/// The result of the first clause that matches a row.
pub fn run(spec: &Spec, row: &Term) -> Option<Term> {
    spec.clauses.iter().find_map(|clause| {
        let mut bindings = Bindings::new();
        if !matches(&clause.pattern, row, &mut bindings) {
            return None;
        }
        let context = Context { row, bindings };
        if !clause.guards.iter().all(|guard| context.value(guard) == Some(Term::Atom(Atom::TRUE))) {
            return None;
        }
        let mut result = None;
        for expression in &clause.body {
            // An exception in a body gives the atom that says so.
            result = Some(context.value(expression).unwrap_or_else(|| Term::atom("EXIT")));
        }
        result
    })
}

fn matches(pattern: &Term, term: &Term, bindings: &mut Bindings) -> bool {
    match (pattern, term) {
        (Term::Atom(atom), _) if atom.name() == "_" => true,
        (Term::Atom(atom), _) if variable(*atom).is_some() => {
            let number = variable(*atom).expect("it is one");
            match bindings.get(&number) {
                Some(bound) => bound == term,
                None => {
                    bindings.insert(number, term.clone());
                    true
                }
            }
        }
        (Term::Tuple(patterns), Term::Tuple(items)) => {
            patterns.len() == items.len() && patterns.iter().zip(items.iter()).all(|(p, t)| matches(p, t, bindings))
        }
        (Term::Cons(pattern), Term::Cons(cell)) => {
            matches(&pattern.head, &cell.head, bindings) && matches(&pattern.tail, &cell.tail, bindings)
        }
        (Term::Map(patterns), Term::Map(map)) => {
            patterns.iter().all(|(key, pattern)| map.get(key).is_some_and(|value| matches(pattern, value, bindings)))
        }
        _ => pattern == term,
    }
}

struct Context<'a> {
    row: &'a Term,
    bindings: Bindings,
}

impl Context<'_> {
    /// The value of an expression; none if it raises an exception.
    fn value(&self, expression: &Term) -> Option<Term> {
        match expression {
            Term::Atom(atom) => match (atom.name(), variable(*atom)) {
                ("$_", _) => Some(self.row.clone()),
                ("$$", _) => Some(Term::list(self.bindings.values().cloned())),
                (_, Some(number)) => self.bindings.get(&number).cloned(),
                _ => Some(expression.clone()),
            },
            Term::Cons(cell) => Some(Term::cons(self.value(&cell.head)?, self.value(&cell.tail)?)),
            Term::Map(map) => {
                let pair = |(key, value): (&Term, &Term)| Some((key.clone(), self.value(value)?));
                Some(Term::map(map.iter().map(pair).collect::<Option<Map>>()?))
            }
            Term::Tuple(items) => match &items[..] {
                // `{{A, B}}` is a tuple of values.
                [Term::Tuple(parts)] => {
                    Some(Term::tuple_of(parts.iter().map(|part| self.value(part)).collect::<Option<_>>()?))
                }
                [Term::Atom(name), args @ ..] => self.call(*name, args),
                _ => None,
            },
            other => Some(other.clone()),
        }
    }

    fn call(&self, name: Atom, args: &[Term]) -> Option<Term> {
        let truth = |arg: &Term| match self.value(arg)? {
            Term::Atom(Atom::TRUE) => Some(true),
            Term::Atom(Atom::FALSE) => Some(false),
            _ => None,
        };
        match (name.name(), args) {
            ("const", [value]) => Some(value.clone()),
            ("andalso", args) => {
                for arg in args {
                    if !truth(arg)? {
                        return Some(Term::bool(false));
                    }
                }
                Some(Term::bool(true))
            }
            ("orelse", args) => {
                for arg in args {
                    if truth(arg)? {
                        return Some(Term::bool(true));
                    }
                }
                Some(Term::bool(false))
            }
            // `and` and `or` may have any number of arguments here.
            ("and", args) => args.iter().try_fold(true, |all, arg| Some(truth(arg)? & all)).map(Term::bool),
            ("or", args) => args.iter().try_fold(false, |any, arg| Some(truth(arg)? | any)).map(Term::bool),
            ("==", [a, b]) => Some(Term::bool(compare(&self.value(a)?, &self.value(b)?) == Ordering::Equal)),
            _ => {
                let native = pure(Atom::ERLANG, name, u8::try_from(args.len()).ok()?)?;
                let values: Vec<Term> = args.iter().map(|arg| self.value(arg)).collect::<Option<_>>()?;
                native(&values).ok()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::parse_term;

    fn result(spec: &str, row: &str) -> Option<String> {
        let spec = Spec::parse(&parse_term(spec).unwrap()).unwrap();
        run(&spec, &parse_term(row).unwrap()).map(|term| term.to_string())
    }

    #[test]
    fn patterns_guards_and_bodies_work_together() {
        let spec = "[{{'$1','$2'},[{'>','$2',3}],[{{'$2','$1'}}]}]";
        assert_eq!(result(spec, "{a,5}").as_deref(), Some("{5,a}"));
        assert_eq!(result(spec, "{a,2}"), None);
        assert_eq!(result(spec, "{a,5,x}"), None);
        assert_eq!(result("[{{'$1','$1'},[],['$_']}]", "{a,a}").as_deref(), Some("{a,a}"));
        assert_eq!(result("[{{'$1','$1'},[],['$_']}]", "{a,b}"), None);
        assert_eq!(
            result("[{{'_','$1'},[{is_atom,'$1'}],[atom]},{'_',[],[other]}]", "{1,2}").as_deref(),
            Some("other")
        );
    }

    #[test]
    fn a_key_is_fixed_if_all_clauses_have_it() {
        let key = |spec: &str| Spec::parse(&parse_term(spec).unwrap()).unwrap().fixed_key(0).map(|key| key.to_string());
        assert_eq!(key("[{{a,'_'},[],['$_']}]").as_deref(), Some("a"));
        assert_eq!(key("[{{a,'_'},[],['$_']},{{b,'_'},[],['$_']}]"), None);
        assert_eq!(key("[{{'$1','_'},[],['$_']}]"), None);
    }
}
