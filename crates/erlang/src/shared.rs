//! What processes share besides tables: `counters`, `atomics`, and persistent terms.
//!
//! Each operation is a step, as those of `ets` are, and says what it has touched: an element of an array, a key of the
//! persistent terms, or all of these. Putting a value is a store (`table.rs`); adding to one is not, since what is left there
//! depends on what was there. A `compare_exchange` that finds something else only looks.

use crate::atom::Atom;
use crate::bif::{Raised, badarg};
use crate::table::{Access, Effect, Key, Spot, TableOp, Tables};
use crate::term::{Map, Pid, Ref, Term};
use num_bigint::BigInt;
use num_traits::ToPrimitive;
use std::collections::BTreeMap;
use std::rc::Rc;

type Result<T> = std::result::Result<T, Box<Raised>>;

/// An array of 64-bit numbers.
#[derive(Clone, Debug)]
pub struct Array {
    signed: bool,
    /// As bits, whatever they mean.
    values: Vec<u64>,
}

/// Everything that is shared besides tables. A copy is a counter.
#[derive(Clone, Default, Debug)]
pub struct Shared {
    arrays: Rc<BTreeMap<Ref, Rc<Array>>>,
    persistent: Rc<Map>,
}

/// Arrays have at most so many elements.
const LARGEST: usize = 1 << 20;

/// What persistent terms have in common, as if it were a table.
const PERSISTENT: Ref = Ref { maker: Pid(u32::MAX), number: 0 };

/// Does what an operation says.
pub fn perform(op: &TableOp, tables: &mut Tables, effect: &mut Effect) -> Result<Term> {
    let shared = &mut tables.shared;
    match (op.module.name(), op.function.name(), op.args.as_slice()) {
        ("persistent_term", function, args) => persistent_term(function, args, shared, effect),
        ("counters", "new", [size, options]) => {
            let Some(options) = options.to_vec() else { return badarg() };
            let kind = match options.as_slice() {
                [] => "atomics",
                [Term::Atom(option)] if matches!(option.name(), "atomics" | "write_concurrency") => option.name(),
                _ => return badarg(),
            };
            Ok(Term::tuple([Term::atom(kind), new(shared, op.fresh, size, true)?]))
        }
        ("atomics", "new", [size, options]) => {
            let Some(options) = options.to_vec() else { return badarg() };
            let mut signed = true;
            for option in options {
                match option.as_tuple() {
                    Some([Term::Atom(key), Term::Atom(value @ (Atom::TRUE | Atom::FALSE))])
                        if key.name() == "signed" =>
                    {
                        signed = *value == Atom::TRUE;
                    }
                    _ => return badarg(),
                }
            }
            new(shared, op.fresh, size, signed)
        }
        ("counters", function, [counters, rest @ ..]) => match counters.as_tuple() {
            Some([Term::Atom(kind), Term::Ref(id)]) if matches!(kind.name(), "atomics" | "write_concurrency") => {
                on_array(function, *id, rest, shared, effect)
            }
            _ => badarg(),
        },
        (_, function, [Term::Ref(id), rest @ ..]) => on_array(function, *id, rest, shared, effect),
        _ => badarg(),
    }
}

fn new(shared: &mut Shared, fresh: Option<Ref>, size: &Term, signed: bool) -> Result<Term> {
    match (size.as_count(), fresh) {
        (Some(size @ 1..=LARGEST), Some(id)) => {
            let array = Array { signed, values: vec![0; size] };
            Rc::make_mut(&mut shared.arrays).insert(id, Rc::new(array));
            Ok(id.into())
        }
        (Some(size), _) if size > LARGEST => crate::bif::error(Term::atom("system_limit")),
        _ => badarg(),
    }
}

impl Array {
    fn term(&self, bits: u64) -> Term {
        if self.signed { Term::Int(bits.cast_signed()) } else { Term::integer(BigInt::from(bits)) }
    }

    /// The bits of a number that an element can hold.
    fn bits(&self, term: &Term) -> Result<u64> {
        let number = integer(term)?;
        let bits = if self.signed { number.to_i64().map(i64::cast_unsigned) } else { number.to_u64() };
        bits.map_or_else(badarg, Ok)
    }
}

fn integer(term: &Term) -> Result<BigInt> {
    match term {
        Term::Int(value) => Ok(BigInt::from(*value)),
        Term::Big(value) => Ok((**value).clone()),
        _ => badarg(),
    }
}

/// The bits of something that is added: any number of 64 bits, with or without a sign.
fn summand(term: &Term) -> Result<u64> {
    let number = integer(term)?;
    number.to_i64().map(i64::cast_unsigned).or_else(|| number.to_u64()).map_or_else(badarg, Ok)
}

fn on_array(function: &str, id: Ref, args: &[Term], shared: &mut Shared, effect: &mut Effect) -> Result<Term> {
    let Some(array) = shared.arrays.get(&id).cloned() else { return badarg() };
    let ok = Term::Atom(Atom::OK);
    if function == "info" {
        return info(&array);
    }
    let Some(at) = args.first().and_then(Term::as_count).and_then(|index| index.checked_sub(1)) else {
        return badarg();
    };
    let Some(&old) = array.values.get(at) else { return badarg() };
    let spot = Spot::Key(id, Key::exact(args[0].clone()));
    let (new, access, result) = match (function, &args[1..]) {
        ("get", []) => (old, Access::Read, array.term(old)),
        ("put", [value]) => {
            let new = array.bits(value)?;
            (new, Access::Write(Some(array.term(new))), ok)
        }
        ("add", [by]) => (old.wrapping_add(summand(by)?), Access::Write(None), ok),
        ("sub", [by]) => (old.wrapping_sub(summand(by)?), Access::Write(None), ok),
        ("add_get", [by]) => {
            let new = old.wrapping_add(summand(by)?);
            (new, Access::Write(None), array.term(new))
        }
        ("sub_get", [by]) => {
            let new = old.wrapping_sub(summand(by)?);
            (new, Access::Write(None), array.term(new))
        }
        ("exchange", [value]) => (array.bits(value)?, Access::Write(None), array.term(old)),
        ("compare_exchange", [expected, desired]) => {
            let (expected, desired) = (array.bits(expected)?, array.bits(desired)?);
            if old == expected { (desired, Access::Write(None), ok) } else { (old, Access::Read, array.term(old)) }
        }
        _ => return badarg(),
    };
    effect.touch(spot, access);
    if new != old {
        let array = Rc::make_mut(&mut shared.arrays).get_mut(&id).expect("it was found just now");
        Rc::make_mut(array).values[at] = new;
    }
    Ok(result)
}

fn info(array: &Array) -> Result<Term> {
    let (min, max) = if array.signed { (1 << 63, i64::MAX.cast_unsigned()) } else { (0, u64::MAX) };
    let size = array.values.len();
    let entries = [
        ("size", Term::count(size)),
        ("max", array.term(max)),
        ("min", array.term(min)),
        ("memory", Term::count(40 + 8 * size)),
    ];
    Ok(Term::map(entries.into_iter().map(|(key, value)| (Term::atom(key), value)).collect()))
}

fn persistent_term(function: &str, args: &[Term], shared: &mut Shared, effect: &mut Effect) -> Result<Term> {
    let key = |key: &Term| Spot::Key(PERSISTENT, Key::exact(key.clone()));
    let pair = |(key, value): (&Term, &Term)| Term::tuple([key.clone(), value.clone()]);
    match (function, args) {
        ("put", [name, value]) => {
            effect.touch(key(name), Access::Write(Some(pair((name, value)))));
            Rc::make_mut(&mut shared.persistent).insert(name.clone(), value.clone());
            Ok(Term::Atom(Atom::OK))
        }
        ("get", []) => {
            effect.touch(Spot::Whole(PERSISTENT), Access::Read);
            Ok(Term::list(shared.persistent.iter().map(pair).collect::<Vec<_>>()))
        }
        ("get", [name, default @ ..]) => {
            effect.touch(key(name), Access::Read);
            shared.persistent.get(name).or(default.first()).cloned().map_or_else(badarg, Ok)
        }
        ("erase", [name]) => {
            let there = shared.persistent.contains_key(name);
            effect.touch(key(name), if there { Access::Write(None) } else { Access::Read });
            if there {
                Rc::make_mut(&mut shared.persistent).remove(name);
            }
            Ok(Term::bool(there))
        }
        _ => badarg(),
    }
}
