//! Type tests, comparisons, booleans, tuples and functions.

use super::{Native, Pure, Row, badarg};
use crate::atom::Atom;
use crate::order::compare;
use crate::term::{Fun, Term};
use std::cmp::Ordering;

pub(super) const TABLE: &[Row<Native>] = &[
    ("erlang", "=:=", 2, |args| Ok(Term::bool(args[0] == args[1]))),
    ("erlang", "=/=", 2, |args| Ok(Term::bool(args[0] != args[1]))),
    ("erlang", "==", 2, |args| Ok(Term::bool(compare(&args[0], &args[1]) == Ordering::Equal))),
    ("erlang", "/=", 2, |args| Ok(Term::bool(compare(&args[0], &args[1]) != Ordering::Equal))),
    ("erlang", "<", 2, |args| Ok(Term::bool(compare(&args[0], &args[1]) == Ordering::Less))),
    ("erlang", ">", 2, |args| Ok(Term::bool(compare(&args[0], &args[1]) == Ordering::Greater))),
    ("erlang", "=<", 2, |args| Ok(Term::bool(compare(&args[0], &args[1]) != Ordering::Greater))),
    ("erlang", ">=", 2, |args| Ok(Term::bool(compare(&args[0], &args[1]) != Ordering::Less))),
    ("erlang", "max", 2, |args| {
        Ok(if compare(&args[0], &args[1]) == Ordering::Less { args[1].clone() } else { args[0].clone() })
    }),
    ("erlang", "min", 2, |args| {
        Ok(if compare(&args[0], &args[1]) == Ordering::Greater { args[1].clone() } else { args[0].clone() })
    }),
    ("erlang", "and", 2, |args| Ok(Term::bool(boolean(&args[0])? & boolean(&args[1])?))),
    ("erlang", "or", 2, |args| Ok(Term::bool(boolean(&args[0])? | boolean(&args[1])?))),
    ("erlang", "xor", 2, |args| Ok(Term::bool(boolean(&args[0])? ^ boolean(&args[1])?))),
    ("erlang", "not", 1, |args| Ok(Term::bool(!boolean(&args[0])?))),
    ("erlang", "is_atom", 1, |args| Ok(Term::bool(matches!(args[0], Term::Atom(_))))),
    ("erlang", "is_boolean", 1, |args| Ok(Term::bool(boolean(&args[0]).is_ok()))),
    ("erlang", "is_integer", 1, |args| Ok(Term::bool(matches!(args[0], Term::Int(_) | Term::Big(_))))),
    ("erlang", "is_float", 1, |args| Ok(Term::bool(matches!(args[0], Term::Float(_))))),
    ("erlang", "is_number", 1, |args| Ok(Term::bool(matches!(args[0], Term::Int(_) | Term::Big(_) | Term::Float(_))))),
    ("erlang", "is_list", 1, |args| Ok(Term::bool(matches!(args[0], Term::Nil | Term::Cons(_))))),
    ("erlang", "is_tuple", 1, |args| Ok(Term::bool(matches!(args[0], Term::Tuple(_))))),
    ("erlang", "is_map", 1, |args| Ok(Term::bool(matches!(args[0], Term::Map(_))))),
    ("erlang", "is_binary", 1, |args| Ok(Term::bool(matches!(&args[0], Term::Bits(bits) if bits.is_binary())))),
    ("erlang", "is_bitstring", 1, |args| Ok(Term::bool(matches!(args[0], Term::Bits(_))))),
    ("erlang", "is_pid", 1, |args| Ok(Term::bool(matches!(args[0], Term::Pid(_))))),
    ("erlang", "is_reference", 1, |args| Ok(Term::bool(matches!(args[0], Term::Ref(_))))),
    ("erlang", "is_port", 1, |_| Ok(Term::bool(false))),
    ("erlang", "is_function", 1, |args| Ok(Term::bool(matches!(args[0], Term::Fun(_))))),
    ("erlang", "is_function", 2, |args| {
        let Some(arity) = args[1].as_count() else { return badarg() };
        Ok(Term::bool(matches!(&args[0], Term::Fun(fun) if usize::from(fun.arity()) == arity)))
    }),
    ("erlang", "is_record", 2, |args| is_record(args, None)),
    ("erlang", "is_record", 3, |args| is_record(args, Some(&args[2]))),
    ("erlang", "element", 2, |args| {
        let (Some(index), Some(items)) = (args[0].as_count(), args[1].as_tuple()) else { return badarg() };
        index.checked_sub(1).and_then(|index| items.get(index).cloned()).map_or_else(badarg, Ok)
    }),
    ("erlang", "setelement", 3, |args| {
        let (Some(index), Some(items)) = (args[0].as_count(), args[1].as_tuple()) else { return badarg() };
        if index == 0 || index > items.len() {
            return badarg();
        }
        let mut items = items.to_vec();
        items[index - 1] = args[2].clone();
        Ok(Term::tuple_of(items))
    }),
    ("erlang", "tuple_size", 1, |args| args[0].as_tuple().map_or_else(badarg, |items| Ok(Term::count(items.len())))),
    ("erlang", "size", 1, |args| match &args[0] {
        Term::Tuple(items) => Ok(Term::count(items.len())),
        Term::Bits(bits) => Ok(Term::count(bits.len() / 8)),
        _ => badarg(),
    }),
    ("erlang", "make_tuple", 2, |args| match args[0].as_count() {
        // Erlang's own limit.
        Some(count) if count < 1 << 24 => Ok(Term::tuple_of(vec![args[1].clone(); count])),
        _ => badarg(),
    }),
    ("erlang", "append_element", 2, |args| {
        let Some(items) = args[0].as_tuple() else { return badarg() };
        Ok(Term::tuple_of(items.iter().chain([&args[1]]).cloned().collect()))
    }),
    ("erlang", "insert_element", 3, |args| {
        let (Some(index), Some(items)) = (args[0].as_count(), args[1].as_tuple()) else { return badarg() };
        if index == 0 || index > items.len() + 1 {
            return badarg();
        }
        let mut items = items.to_vec();
        items.insert(index - 1, args[2].clone());
        Ok(Term::tuple_of(items))
    }),
    ("erlang", "delete_element", 2, |args| {
        let (Some(index), Some(items)) = (args[0].as_count(), args[1].as_tuple()) else { return badarg() };
        if index == 0 || index > items.len() {
            return badarg();
        }
        let mut items = items.to_vec();
        items.remove(index - 1);
        Ok(Term::tuple_of(items))
    }),
    ("erlang", "make_fun", 3, |args| match (&args[0], &args[1], &args[2]) {
        (Term::Atom(module), Term::Atom(name), Term::Int(arity)) => {
            let Ok(arity) = u8::try_from(*arity) else { return badarg() };
            Ok(Term::Fun(std::rc::Rc::new(Fun::External { module: *module, name: *name, arity })))
        }
        _ => badarg(),
    }),
    ("erlang", "fun_info", 2, fun_info),
    ("erlang", "node", 0, |_| Ok(Term::Atom(Atom::NONODE))),
    ("erlang", "node", 1, |args| match args[0] {
        Term::Pid(_) | Term::Ref(_) => Ok(Term::Atom(Atom::NONODE)),
        _ => badarg(),
    }),
    ("erlang", "nodes", 0, |_| Ok(Term::Nil)),
    ("erlang", "is_alive", 0, |_| Ok(Term::bool(false))),
    ("erts_internal", "cmp_term", 2, |args| {
        Ok(Term::Int(match args[0].cmp(&args[1]) {
            Ordering::Less => -1,
            Ordering::Equal => 0,
            Ordering::Greater => 1,
        }))
    }),
];

fn boolean(term: &Term) -> Result<bool, Box<super::Raised>> {
    match term {
        Term::Atom(Atom::TRUE) => Ok(true),
        Term::Atom(Atom::FALSE) => Ok(false),
        _ => badarg(),
    }
}

fn is_record(args: &[Term], size: Option<&Term>) -> Pure {
    if args[1].as_atom().is_none() {
        return badarg();
    }
    let size = match size {
        Some(size) => match size.as_count() {
            Some(size) => Some(size),
            None => return badarg(),
        },
        None => None,
    };
    let items = args[0].as_tuple().unwrap_or(&[]);
    let fits = items.first() == Some(&args[1]) && size.is_none_or(|size| size == items.len());
    Ok(Term::bool(fits))
}

fn fun_info(args: &[Term]) -> Pure {
    let (Term::Fun(fun), Some(item)) = (&args[0], args[1].as_atom()) else { return badarg() };
    let value = match (item.name(), &**fun) {
        ("arity", fun) => Term::Int(i64::from(fun.arity())),
        ("module", Fun::Local { module, .. } | Fun::External { module, .. }) => Term::Atom(*module),
        ("name", Fun::Local { name, .. } | Fun::External { name, .. }) => Term::Atom(*name),
        ("type", Fun::Local { .. }) => Term::atom("local"),
        ("type", Fun::External { .. }) => Term::atom("external"),
        ("env", Fun::Local { captured, .. }) => Term::list(captured.to_vec()),
        ("env", Fun::External { .. }) => Term::Nil,
        _ => return badarg(),
    };
    Ok(Term::tuple([args[1].clone(), value]))
}
