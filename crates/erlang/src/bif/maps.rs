//! Maps.

use super::{Native, Pure, Raised, Row, badarg, error_with};
use crate::atom::Atom;
use crate::term::{Map, Term};
use std::rc::Rc;

pub(super) const TABLE: &[Row<Native>] = &[
    ("erlang", "map_size", 1, |args| Ok(Term::count(map(&args[0])?.len()))),
    ("erlang", "is_map_key", 2, |args| Ok(Term::bool(map(&args[1])?.contains_key(&args[0])))),
    ("erlang", "map_get", 2, get),
    ("maps", "get", 2, get),
    ("maps", "get", 3, |args| Ok(map(&args[1])?.get(&args[0]).unwrap_or(&args[2]).clone())),
    ("maps", "size", 1, |args| Ok(Term::count(map(&args[0])?.len()))),
    ("maps", "is_key", 2, |args| Ok(Term::bool(map(&args[1])?.contains_key(&args[0])))),
    ("maps", "find", 2, |args| {
        let found = map(&args[1])?.get(&args[0]);
        Ok(found.map_or(Term::Atom(Atom::ERROR), |value| Term::tuple([Term::Atom(Atom::OK), value.clone()])))
    }),
    ("maps", "new", 0, |_| Ok(Term::map(Map::new()))),
    ("maps", "put", 3, |args| {
        changed(&args[2], |map| {
            map.insert(args[0].clone(), args[1].clone());
            Ok(())
        })
    }),
    ("maps", "update", 3, |args| {
        changed(&args[2], |map| match map.get_mut(&args[0]) {
            Some(value) => {
                *value = args[1].clone();
                Ok(())
            }
            None => error_with(Atom::BADKEY, &args[0]),
        })
    }),
    ("maps", "remove", 2, |args| {
        changed(&args[1], |map| {
            map.remove(&args[0]);
            Ok(())
        })
    }),
    ("maps", "take", 2, |args| match map(&args[1])?.get(&args[0]) {
        Some(value) => {
            let rest = changed(&args[1], |map| {
                map.remove(&args[0]);
                Ok(())
            })?;
            Ok(Term::tuple([value.clone(), rest]))
        }
        None => Ok(Term::Atom(Atom::ERROR)),
    }),
    ("maps", "keys", 1, |args| Ok(Term::list(map(&args[0])?.keys().cloned()))),
    ("maps", "values", 1, |args| Ok(Term::list(map(&args[0])?.values().cloned()))),
    ("maps", "to_list", 1, |args| Ok(pairs(map(&args[0])?, Term::Nil))),
    ("maps", "from_list", 1, |args| {
        let Some(items) = args[0].to_vec() else { return badarg() };
        let mut map = Map::new();
        for item in items {
            let Some([key, value]) = item.as_tuple() else { return badarg() };
            map.insert(key.clone(), value.clone());
        }
        Ok(Term::map(map))
    }),
    ("maps", "from_keys", 2, |args| {
        let Some(keys) = args[0].to_vec() else { return badarg() };
        Ok(Term::map(keys.into_iter().map(|key| (key, args[1].clone())).collect()))
    }),
    ("maps", "merge", 2, |args| {
        let first = map(&args[0])?.clone();
        let second = map(&args[1])?.iter().map(|(key, value)| (key.clone(), value.clone()));
        Ok(Term::map(first.into_iter().chain(second).collect()))
    }),
    ("erts_internal", "map_next", 3, next),
];

fn map(term: &Term) -> Result<&Map, Box<Raised>> {
    match term {
        Term::Map(map) => Ok(map),
        _ => error_with(Atom::BADMAP, term),
    }
}

fn get(args: &[Term]) -> Pure {
    map(&args[1])?.get(&args[0]).map_or_else(|| error_with(Atom::BADKEY, &args[0]), |value| Ok(value.clone()))
}

fn changed(term: &Term, change: impl FnOnce(&mut Map) -> Result<(), Box<Raised>>) -> Pure {
    let Term::Map(map) = term else { return error_with(Atom::BADMAP, term) };
    let mut map = map.clone();
    change(Rc::make_mut(&mut map))?;
    Ok(Term::Map(map))
}

fn pairs(map: &Map, tail: Term) -> Term {
    let pair = |(key, value): (&Term, &Term)| Term::tuple([key.clone(), value.clone()]);
    Term::list_with_tail(map.iter().map(pair), tail)
}

/// All that is left of an iteration at once: `{K, V, {K, V, ... none}}`, or pairs in front of a list.
fn next(args: &[Term]) -> Pure {
    let (Term::Int(0), Term::Map(map)) = (&args[0], &args[1]) else { return badarg() };
    if !args[2].is(Atom::ITERATOR) {
        return Ok(pairs(map, args[2].clone()));
    }
    let chain = |rest, (key, value): (&Term, &Term)| Term::tuple([key.clone(), value.clone(), rest]);
    Ok(map.iter().rev().fold(Term::Atom(Atom::NONE), chain))
}
