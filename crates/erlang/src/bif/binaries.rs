//! Binaries.

use super::{Native, Pure, Raised, Row, badarg};
use crate::atom::Atom;
use crate::bits::Bits;
use crate::term::Term;
use std::rc::Rc;

pub(super) const TABLE: &[Row<Native>] = &[
    ("erlang", "byte_size", 1, |args| match &args[0] {
        Term::Bits(bits) => Ok(Term::count(bits.len().div_ceil(8))),
        _ => badarg(),
    }),
    ("erlang", "bit_size", 1, |args| match &args[0] {
        Term::Bits(bits) => Ok(Term::count(bits.len())),
        _ => badarg(),
    }),
    ("erlang", "binary_part", 2, |args| match args[1].as_tuple() {
        Some([start, length]) => part(&args[0], start, length),
        _ => badarg(),
    }),
    ("erlang", "binary_part", 3, |args| part(&args[0], &args[1], &args[2])),
    ("binary", "part", 2, |args| match args[1].as_tuple() {
        Some([start, length]) => part(&args[0], start, length),
        _ => badarg(),
    }),
    ("binary", "part", 3, |args| part(&args[0], &args[1], &args[2])),
    ("erlang", "split_binary", 2, |args| {
        let (Term::Bits(bits), Some(at)) = (&args[0], args[1].as_count()) else { return badarg() };
        if at.saturating_mul(8) > bits.len() {
            return badarg();
        }
        let halves = [bits.slice(0, at * 8), bits.slice(at * 8, bits.len() - at * 8)];
        Ok(Term::tuple(halves.map(|half| Term::Bits(Rc::new(half)))))
    }),
    ("binary", "at", 2, |args| {
        let (bits, Some(at)) = (binary(&args[0])?, args[1].as_count()) else { return badarg() };
        if at < bits.len() / 8 { Ok(Term::Int(i64::from(bits.byte(at)))) } else { badarg() }
    }),
    ("binary", "first", 1, |args| {
        let bits = binary(&args[0])?;
        if bits.is_empty() { badarg() } else { Ok(Term::Int(i64::from(bits.byte(0)))) }
    }),
    ("binary", "last", 1, |args| {
        let bits = binary(&args[0])?;
        if bits.is_empty() { badarg() } else { Ok(Term::Int(i64::from(bits.byte(bits.len() / 8 - 1)))) }
    }),
    ("binary", "copy", 1, |args| Ok(Term::binary(&binary(&args[0])?.to_bytes()))),
    ("binary", "copy", 2, |args| {
        let (bits, Some(times)) = (binary(&args[0])?, args[1].as_count()) else { return badarg() };
        let bytes = (bits.len() / 8).saturating_mul(times);
        if bytes > super::TERM_LIMIT {
            return super::too_large(bytes);
        }
        Ok(Term::binary(&bits.to_bytes().repeat(times)))
    }),
    ("binary", "bin_to_list", 1, |args| {
        Ok(Term::list(binary(&args[0])?.to_bytes().into_iter().map(|byte| Term::Int(i64::from(byte)))))
    }),
    ("binary", "list_to_bin", 1, |args| match super::pure(Atom::ERLANG, Atom::new("list_to_binary"), 1) {
        Some(native) => native(args),
        None => badarg(),
    }),
    ("binary", "match", 2, |args| {
        let found = matches(&args[0], &args[1])?;
        Ok(found.into_iter().next().map_or(Term::atom("nomatch"), position))
    }),
    ("binary", "split", 2, |args| split(&args[0], &args[1], &Term::Nil)),
    ("binary", "split", 3, |args| split(&args[0], &args[1], &args[2])),
    ("binary", "matches", 2, |args| Ok(Term::list(matches(&args[0], &args[1])?.into_iter().map(position)))),
];

fn binary(term: &Term) -> Result<&Bits, Box<Raised>> {
    match term {
        Term::Bits(bits) if bits.is_binary() => Ok(bits),
        _ => badarg(),
    }
}

/// Bytes from a position; a negative length counts backwards.
fn part(source: &Term, start: &Term, length: &Term) -> Pure {
    let bits = binary(source)?;
    let (Some(start), Some(length)) = (start.as_int(), length.as_int()) else { return badarg() };
    let (from, to) =
        if length < 0 { (start.saturating_add(length), start) } else { (start, start.saturating_add(length)) };
    match (usize::try_from(from), usize::try_from(to)) {
        (Ok(from), Ok(to)) if to <= bits.len() / 8 => Ok(Term::Bits(Rc::new(bits.slice(from * 8, (to - from) * 8)))),
        _ => badarg(),
    }
}

fn position((start, length): (usize, usize)) -> Term {
    Term::tuple([Term::count(start), Term::count(length)])
}

/// Where patterns occur, from left to right, the longest first, without overlaps.
fn matches(source: &Term, patterns: &Term) -> Result<Vec<(usize, usize)>, Box<Raised>> {
    let bytes = binary(source)?.to_bytes();
    let patterns = match patterns {
        Term::Bits(_) => vec![binary(patterns)?.to_bytes()],
        _ => {
            let Some(items) = patterns.to_vec() else { return badarg() };
            items.iter().map(|item| binary(item).map(Bits::to_bytes)).collect::<Result<_, _>>()?
        }
    };
    if patterns.is_empty() || patterns.iter().any(Vec::is_empty) {
        return badarg();
    }
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let here = patterns.iter().filter(|pattern| bytes[at..].starts_with(pattern)).map(Vec::len).max();
        match here {
            Some(length) => {
                found.push((at, length));
                at += length;
            }
            None => at += 1,
        }
    }
    Ok(found)
}

/// The parts between patterns: all of them with `global`, else two; empty ones can be left out.
fn split(source: &Term, patterns: &Term, options: &Term) -> Pure {
    let bits = binary(source)?;
    let mut found = matches(source, patterns)?;
    let (mut global, mut trim, mut trim_all) = (false, false, false);
    let Some(options) = options.to_vec() else { return badarg() };
    for option in options {
        match option.as_atom().map(Atom::name) {
            Some("global") => global = true,
            Some("trim") => trim = true,
            Some("trim_all") => trim_all = true,
            _ => return badarg(),
        }
    }
    if !global {
        found.truncate(1);
    }
    let mut parts = Vec::new();
    let mut at = 0;
    for (start, length) in found {
        parts.push(bits.slice(at * 8, (start - at) * 8));
        at = start + length;
    }
    parts.push(bits.slice(at * 8, bits.len() - at * 8));
    if trim_all {
        parts.retain(|part| !part.is_empty());
    } else if trim {
        while parts.last().is_some_and(Bits::is_empty) {
            parts.pop();
        }
    }
    Ok(Term::list(parts.into_iter().map(|part| Term::Bits(Rc::new(part)))))
}
