//! Lists.

use super::{LIST_LIMIT, Native, Pure, Row, badarg, error, too_large};
use crate::atom::Atom;
use crate::order::compare;
use crate::term::Term;
use std::cmp::Ordering;

pub(super) const TABLE: &[Row<Native>] = &[
    ("erlang", "hd", 1, |args| match &args[0] {
        Term::Cons(cell) => Ok(cell.head.clone()),
        _ => badarg(),
    }),
    ("erlang", "tl", 1, |args| match &args[0] {
        Term::Cons(cell) => Ok(cell.tail.clone()),
        _ => badarg(),
    }),
    ("erlang", "length", 1, |args| {
        let mut items = args[0].items();
        let count = items.by_ref().count();
        if matches!(items.at, Term::Nil) { Ok(Term::count(count)) } else { badarg() }
    }),
    ("erlang", "++", 2, append),
    ("lists", "append", 2, append),
    ("erlang", "--", 2, |args| subtract(args, badarg)),
    ("lists", "subtract", 2, |args| subtract(args, badarg)),
    ("lists", "reverse", 1, |args| reverse(&args[0], Term::Nil, 2)),
    ("lists", "reverse", 2, |args| reverse(&args[0], args[1].clone(), 0)),
    ("lists", "member", 2, |args| {
        let mut items = args[1].items();
        let found = items.by_ref().any(|item| *item == args[0]);
        if found || matches!(items.at, Term::Nil) { Ok(Term::bool(found)) } else { badarg() }
    }),
    ("lists", "keyfind", 3, |args| Ok(key_find(args)?.unwrap_or(Term::bool(false)))),
    ("lists", "keymember", 3, |args| Ok(Term::bool(key_find(args)?.is_some()))),
    ("lists", "keysearch", 3, |args| {
        Ok(key_find(args)?.map_or(Term::bool(false), |found| Term::tuple([Term::atom("value"), found])))
    }),
    ("lists", "seq", 2, |args| sequence(&args[0], &args[1], 1)),
];

fn append(args: &[Term]) -> Pure {
    if matches!((&args[0], &args[1]), (Term::Nil, _)) {
        return Ok(args[1].clone());
    }
    match args[0].to_vec() {
        Some(items) if items.len() > LIST_LIMIT => too_large(items.len()),
        Some(items) => Ok(Term::list_with_tail(items, args[1].clone())),
        None => badarg(),
    }
}

fn subtract(args: &[Term], fail: fn() -> Pure) -> Pure {
    let (Some(mut items), Some(without)) = (args[0].to_vec(), args[1].to_vec()) else { return fail() };
    for item in without {
        if let Some(index) = items.iter().position(|own| *own == item) {
            items.remove(index);
        }
    }
    Ok(Term::list(items))
}

/// The library looks at the first elements itself: a shorter list that is none matches no clause.
fn reverse(list: &Term, tail: Term, looked_at: usize) -> Pure {
    let mut items = list.items();
    let mut count = 0;
    let mut reversed = tail;
    for item in items.by_ref() {
        reversed = Term::cons(item.clone(), reversed);
        count += 1;
    }
    match items.at {
        Term::Nil => Ok(reversed),
        _ => error(Term::Atom(if count < looked_at { Atom::FUNCTION_CLAUSE } else { Atom::BADARG })),
    }
}

fn key_find(args: &[Term]) -> Result<Option<Term>, Box<super::Raised>> {
    let Some(position) = args[1].as_count().and_then(|position| position.checked_sub(1)) else { return badarg() };
    let mut items = args[2].items();
    let fits = |item: &&Term| {
        let key = item.as_tuple().and_then(|items| items.get(position));
        key.is_some_and(|key| compare(key, &args[0]) == Ordering::Equal)
    };
    let found = items.by_ref().find(fits).cloned();
    if found.is_none() && !matches!(items.at, Term::Nil) { badarg() } else { Ok(found) }
}

fn sequence(first: &Term, last: &Term, step: i64) -> Pure {
    let (Some(first), Some(last)) = (first.as_int(), last.as_int()) else {
        return error(Term::Atom(Atom::FUNCTION_CLAUSE));
    };
    if first > last.saturating_add(1) {
        return error(Term::Atom(Atom::FUNCTION_CLAUSE));
    }
    if let Ok(count) = usize::try_from(last.saturating_sub(first))
        && count > LIST_LIMIT
    {
        return too_large(count);
    }
    let mut list = Term::Nil;
    let mut at = last;
    while at >= first {
        list = Term::cons(Term::Int(at), list);
        at -= step;
    }
    Ok(list)
}
