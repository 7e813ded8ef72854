//! From one kind of term to another.

use super::{Native, Pure, Row, badarg, error};
use crate::atom::Atom;
use crate::bits::{Bits, Builder};
use crate::display::shortest_float;
use crate::etf;
use crate::term::Term;
use num_bigint::BigInt;
use num_traits::Num;
use std::rc::Rc;

pub(super) const TABLE: &[Row<Native>] = &[
    ("erlang", "atom_to_list", 1, |args| args[0].as_atom().map_or_else(badarg, |atom| Ok(Term::string(atom.name())))),
    ("erlang", "atom_to_binary", 1, |args| {
        args[0].as_atom().map_or_else(badarg, |atom| Ok(Term::binary(atom.name().as_bytes())))
    }),
    ("erlang", "atom_to_binary", 2, |args| {
        args[0].as_atom().map_or_else(badarg, |atom| Ok(Term::binary(atom.name().as_bytes())))
    }),
    ("erlang", "list_to_atom", 1, |args| text(&args[0]).and_then(|name| new_atom(&name))),
    ("erlang", "binary_to_atom", 1, |args| utf8(&args[0]).and_then(|name| new_atom(&name))),
    ("erlang", "binary_to_atom", 2, |args| utf8(&args[0]).and_then(|name| new_atom(&name))),
    ("erlang", "list_to_existing_atom", 1, |args| existing_atom(&text(&args[0])?)),
    ("erlang", "binary_to_existing_atom", 1, |args| existing_atom(&utf8(&args[0])?)),
    ("erlang", "binary_to_existing_atom", 2, |args| existing_atom(&utf8(&args[0])?)),
    ("erlang", "integer_to_list", 1, |args| Ok(Term::string(&digits(&args[0], &Term::Int(10))?))),
    ("erlang", "integer_to_list", 2, |args| Ok(Term::string(&digits(&args[0], &args[1])?))),
    ("erlang", "integer_to_binary", 1, |args| Ok(Term::binary(digits(&args[0], &Term::Int(10))?.as_bytes()))),
    ("erlang", "integer_to_binary", 2, |args| Ok(Term::binary(digits(&args[0], &args[1])?.as_bytes()))),
    ("erlang", "list_to_integer", 1, |args| integer(&text(&args[0])?, &Term::Int(10))),
    ("erlang", "list_to_integer", 2, |args| integer(&text(&args[0])?, &args[1])),
    ("erlang", "binary_to_integer", 1, |args| integer(&utf8(&args[0])?, &Term::Int(10))),
    ("erlang", "binary_to_integer", 2, |args| integer(&utf8(&args[0])?, &args[1])),
    ("string", "to_integer", 1, to_integer),
    ("erlang", "float_to_list", 1, |args| Ok(Term::string(&float_digits(&args[0], &Term::Nil)?))),
    ("erlang", "float_to_list", 2, |args| Ok(Term::string(&float_digits(&args[0], &args[1])?))),
    ("erlang", "float_to_binary", 1, |args| Ok(Term::binary(float_digits(&args[0], &Term::Nil)?.as_bytes()))),
    ("erlang", "float_to_binary", 2, |args| Ok(Term::binary(float_digits(&args[0], &args[1])?.as_bytes()))),
    ("erlang", "list_to_float", 1, |args| float(&text(&args[0])?)),
    ("erlang", "binary_to_float", 1, |args| float(&utf8(&args[0])?)),
    ("erlang", "tuple_to_list", 1, |args| {
        args[0].as_tuple().map_or_else(badarg, |items| Ok(Term::list(items.iter().cloned())))
    }),
    ("erlang", "list_to_tuple", 1, |args| args[0].to_vec().map_or_else(badarg, |items| Ok(Term::tuple_of(items)))),
    ("erlang", "list_to_binary", 1, |args| match &args[0] {
        Term::Nil | Term::Cons(_) => iolist(&args[0]),
        _ => badarg(),
    }),
    ("erlang", "iolist_to_binary", 1, |args| iolist(&args[0])),
    ("erlang", "list_to_bitstring", 1, |args| {
        let mut builder = Builder::default();
        collect(&args[0], &mut builder, true)?;
        Ok(Term::Bits(Rc::new(builder.finish())))
    }),
    ("erlang", "iolist_size", 1, |args| {
        let mut builder = Builder::default();
        collect(&args[0], &mut builder, false)?;
        Ok(Term::count(builder.len() / 8))
    }),
    ("erlang", "iolist_to_iovec", 1, |args| Ok(Term::list([iolist(&args[0])?]))),
    ("erlang", "binary_to_list", 1, |args| Ok(bytes_list(&binary(&args[0])?.to_bytes()))),
    ("erlang", "binary_to_list", 3, |args| {
        let bytes = binary(&args[0])?.to_bytes();
        let (Some(first), Some(last)) = (args[1].as_count(), args[2].as_count()) else { return badarg() };
        if first == 0 || first > last + 1 || last > bytes.len() {
            return badarg();
        }
        Ok(bytes_list(&bytes[first - 1..last]))
    }),
    ("erlang", "bitstring_to_list", 1, |args| {
        let Term::Bits(bits) = &args[0] else { return badarg() };
        let whole = bits.len() / 8;
        let rest = bits.slice(whole * 8, bits.len() % 8);
        let tail = if rest.is_empty() { Term::Nil } else { Term::list([Term::Bits(Rc::new(rest))]) };
        let bytes = (0..whole).map(|index| Term::Int(i64::from(bits.byte(index))));
        Ok(Term::list_with_tail(bytes, tail))
    }),
    ("erlang", "term_to_binary", 1, |args| etf::encode(&args[0]).map_or_else(badarg, |bytes| Ok(Term::binary(&bytes)))),
    ("erlang", "binary_to_term", 1, |args| etf::decode(&binary(&args[0])?.to_bytes()).map_or_else(|_| badarg(), Ok)),
    ("erlang", "external_size", 1, |args| {
        etf::encode(&args[0]).map_or_else(badarg, |bytes| Ok(Term::count(bytes.len())))
    }),
    ("erlang", "pid_to_list", 1, |args| match &args[0] {
        Term::Pid(pid) => Ok(Term::string(&pid.to_string())),
        _ => badarg(),
    }),
    ("erlang", "ref_to_list", 1, |args| match &args[0] {
        Term::Ref(_) => Ok(Term::string(&args[0].to_string())),
        _ => badarg(),
    }),
    ("erlang", "fun_to_list", 1, |args| match &args[0] {
        Term::Fun(_) => Ok(Term::string(&args[0].to_string())),
        _ => badarg(),
    }),
    // The library asks the run-time system's environment which words further features reserve.
    ("erl_scan", "reserved_word", 1, |args| {
        Ok(Term::bool(args[0].as_atom().is_some_and(|atom| crate::atom::RESERVED.contains(&atom.name()))))
    }),
    ("unicode", "characters_to_list", 1, |args| characters(&args[0]).map(|text| Term::string(&text))),
    ("unicode", "characters_to_list", 2, |args| characters(&args[0]).map(|text| Term::string(&text))),
    ("unicode", "characters_to_binary", 1, |args| characters(&args[0]).map(|text| Term::binary(text.as_bytes()))),
];

fn text(term: &Term) -> Result<String, Box<super::Raised>> {
    term.to_text().map_or_else(badarg, Ok)
}

fn binary(term: &Term) -> Result<&Bits, Box<super::Raised>> {
    match term {
        Term::Bits(bits) if bits.is_binary() => Ok(bits),
        _ => badarg(),
    }
}

fn utf8(term: &Term) -> Result<String, Box<super::Raised>> {
    String::from_utf8(binary(term)?.to_bytes()).map_or_else(|_| badarg(), Ok)
}

fn new_atom(name: &str) -> Pure {
    if name.chars().count() > 255 { error(Term::Atom(Atom::SYSTEM_LIMIT)) } else { Ok(Term::atom(name)) }
}

fn existing_atom(name: &str) -> Pure {
    Atom::existing(name).map_or_else(badarg, |atom| Ok(Term::Atom(atom)))
}

fn base(term: &Term) -> Result<u32, Box<super::Raised>> {
    term.as_int()
        .and_then(|base| u32::try_from(base).ok())
        .filter(|base| (2..=36).contains(base))
        .map_or_else(badarg, Ok)
}

fn digits(number: &Term, radix: &Term) -> Result<String, Box<super::Raised>> {
    let radix = base(radix)?;
    match number {
        Term::Int(value) if radix == 10 => Ok(value.to_string()),
        Term::Int(value) => Ok(BigInt::from(*value).to_str_radix(radix).to_uppercase()),
        Term::Big(value) => Ok(value.to_str_radix(radix).to_uppercase()),
        _ => badarg(),
    }
}

fn integer(text: &str, radix: &Term) -> Pure {
    let radix = base(radix)?;
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if unsigned.is_empty() || !unsigned.chars().all(|c| c.is_digit(radix)) {
        return badarg();
    }
    match BigInt::from_str_radix(text.strip_prefix('+').unwrap_or(text), radix) {
        Ok(value) => Ok(Term::integer(value)),
        Err(_) => badarg(),
    }
}

/// The integer at the start of a string, and the rest.
fn to_integer(args: &[Term]) -> Pure {
    let Some(text) = args[0].to_text() else {
        return Ok(Term::tuple([Term::Atom(Atom::ERROR), Term::Atom(Atom::BADARG)]));
    };
    let sign = usize::from(text.starts_with(['+', '-']));
    let end = sign + text[sign..].chars().take_while(char::is_ascii_digit).count();
    if end == sign {
        return Ok(Term::tuple([Term::Atom(Atom::ERROR), Term::atom("no_integer")]));
    }
    Ok(Term::tuple([integer(&text[..end], &Term::Int(10))?, Term::string(&text[end..])]))
}

fn float(text: &str) -> Pure {
    // Erlang wants a point with digits on both sides.
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let number = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    let point = mantissa.split_once('.').is_some_and(|(whole, part)| number(whole) && number(part));
    let exponent = exponent.is_none_or(|exponent| number(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)));
    match text.parse::<f64>() {
        Ok(value) if point && exponent && value.is_finite() => Ok(Term::Float(value)),
        _ => badarg(),
    }
}

fn float_digits(value: &Term, options: &Term) -> Result<String, Box<super::Raised>> {
    let Term::Float(value) = *value else { return badarg() };
    let Some(options) = options.to_vec() else { return badarg() };
    let mut shown = scientific(value, 20);
    let mut compact = false;
    for option in options {
        match &option {
            Term::Atom(atom) if atom.name() == "compact" => compact = true,
            Term::Atom(atom) if atom.name() == "short" => shown = shortest_float(value),
            Term::Tuple(pair) => match (&pair[..], pair.last().and_then(Term::as_count)) {
                ([Term::Atom(key), _], Some(count)) if key.name() == "decimals" && count < 254 => {
                    shown = format!("{value:.count$}");
                }
                ([Term::Atom(key), _], Some(count)) if key.name() == "scientific" && count < 250 => {
                    shown = scientific(value, count);
                    compact = false;
                }
                _ => return badarg(),
            },
            _ => return badarg(),
        }
    }
    if compact && shown.contains('.') && !shown.contains('e') {
        let trimmed = shown.trim_end_matches('0');
        shown = if trimmed.ends_with('.') { format!("{trimmed}0") } else { trimmed.to_owned() };
    }
    Ok(shown)
}

/// `1.50000000000000000000e+00`
fn scientific(value: f64, count: usize) -> String {
    let shown = format!("{value:.count$e}");
    let (mantissa, exponent) = shown.split_once('e').unwrap_or((&shown, "0"));
    let (sign, digits) = match exponent.strip_prefix('-') {
        Some(digits) => ('-', digits),
        None => ('+', exponent),
    };
    format!("{mantissa}e{sign}{digits:0>2}")
}

fn bytes_list(bytes: &[u8]) -> Term {
    Term::list(bytes.iter().map(|&byte| Term::Int(i64::from(byte))))
}

fn iolist(term: &Term) -> Pure {
    let mut builder = Builder::default();
    collect(term, &mut builder, false)?;
    Ok(Term::Bits(Rc::new(builder.finish())))
}

/// Bytes of an I/O list, or of one of bit strings.
fn collect(term: &Term, builder: &mut Builder, bits_allowed: bool) -> Result<(), Box<super::Raised>> {
    let mut at = term;
    loop {
        match at {
            Term::Nil => return Ok(()),
            Term::Bits(bits) if bits_allowed || bits.is_binary() => {
                builder.push(bits);
                return Ok(());
            }
            Term::Cons(cell) => {
                match &cell.head {
                    Term::Int(byte) => match u8::try_from(*byte) {
                        Ok(byte) => builder.push_bytes(&[byte]),
                        Err(_) => return badarg(),
                    },
                    head @ (Term::Nil | Term::Cons(_) | Term::Bits(_)) => collect(head, builder, bits_allowed)?,
                    _ => return badarg(),
                }
                at = &cell.tail;
                if matches!(at, Term::Int(_)) {
                    return badarg();
                }
            }
            _ => return badarg(),
        }
    }
}

/// The text of characters, strings and binaries, nested in any way.
pub(super) fn characters(term: &Term) -> Result<String, Box<super::Raised>> {
    let mut out = String::new();
    push_characters(term, &mut out)?;
    Ok(out)
}

fn push_characters(term: &Term, out: &mut String) -> Result<(), Box<super::Raised>> {
    let mut at = term;
    loop {
        match at {
            Term::Nil => return Ok(()),
            Term::Bits(_) => {
                out.push_str(&utf8(at)?);
                return Ok(());
            }
            Term::Cons(cell) => {
                match &cell.head {
                    Term::Int(code) => match u32::try_from(*code).ok().and_then(char::from_u32) {
                        Some(c) => out.push(c),
                        None => return badarg(),
                    },
                    head => push_characters(head, out)?,
                }
                at = &cell.tail;
            }
            _ => return badarg(),
        }
    }
}
