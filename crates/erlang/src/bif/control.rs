//! Calls, exceptions, the process dictionary, references, time, and questions about code.

use super::{Bif, Context, Flow, Pure, Raised, Row, badarg};
use crate::atom::Atom;
use crate::process::Exception;
use crate::term::{Fun, Term};
use std::hash::{Hash, Hasher};
use std::rc::Rc;

pub(super) const TABLE: &[Row<Bif>] = &[
    ("erlang", "apply", 2, |_, args| match args[1].to_vec() {
        Some(list) => Flow::Call(args[0].clone(), list),
        None => badarg().into(),
    }),
    ("erlang", "apply", 3, |_, args| match (&args[0], &args[1], args[2].to_vec()) {
        (Term::Atom(module), Term::Atom(name), Some(list)) => Flow::CallNamed(*module, *name, list),
        _ => badarg().into(),
    }),
    ("erlang", "error", 1, |_, args| raise(Atom::ERROR, &args[0])),
    ("erlang", "error", 2, |context, args| error_with_args(context, args)),
    ("erlang", "error", 3, |context, args| error_with_args(context, args)),
    ("erlang", "exit", 1, |_, args| raise(Atom::EXIT, &args[0])),
    ("erlang", "throw", 1, |_, args| raise(Atom::THROW, &args[0])),
    ("erlang", "raise", 3, |_, args| {
        let class = match args[0].as_atom() {
            Some(class @ (Atom::ERROR | Atom::EXIT | Atom::THROW)) => class,
            _ => return Flow::Value(Term::Atom(Atom::BADARG)),
        };
        if args[2].to_vec().is_none() {
            return Flow::Value(Term::Atom(Atom::BADARG));
        }
        Flow::Exception(Box::new(Exception { class, reason: args[1].clone(), trace: args[2].clone() }))
    }),
    ("erlang", "nif_error", 1, nif_error),
    ("erlang", "nif_error", 2, nif_error),
    ("erlang", "load_nif", 2, |_, args| Flow::Unsupported(format!("native code: erlang:load_nif/2 of {}", args[0]))),
    ("erlang", "open_port", 2, |_, args| Flow::Unsupported(format!("a port: erlang:open_port/2 of {}", args[0]))),
    ("erlang", "get", 0, |context, _| Flow::Value(pairs(context))),
    ("erlang", "get", 1, |context, args| {
        Flow::Value(context.process.dictionary.get(&args[0]).cloned().unwrap_or(Term::Atom(Atom::UNDEFINED)))
    }),
    ("erlang", "put", 2, |context, args| {
        let old = Rc::make_mut(&mut context.process.dictionary).insert(args[0].clone(), args[1].clone());
        Flow::Value(old.unwrap_or(Term::Atom(Atom::UNDEFINED)))
    }),
    ("erlang", "erase", 0, |context, _| {
        let all = pairs(context);
        context.process.dictionary = Rc::default();
        Flow::Value(all)
    }),
    ("erlang", "erase", 1, |context, args| {
        let old = Rc::make_mut(&mut context.process.dictionary).remove(&args[0]);
        Flow::Value(old.unwrap_or(Term::Atom(Atom::UNDEFINED)))
    }),
    ("erlang", "get_keys", 0, |context, _| Flow::Value(Term::list(context.process.dictionary.keys().cloned()))),
    ("erlang", "get_keys", 1, |context, args| {
        let entries = context.process.dictionary.iter().filter(|(_, value)| **value == args[0]);
        Flow::Value(Term::list(entries.map(|(key, _)| key.clone()).collect::<Vec<_>>()))
    }),
    ("erlang", "self", 0, |context, _| Flow::Value(context.process.pid.into())),
    ("erlang", "make_ref", 0, |context, _| Flow::Value(context.process.make_ref().into())),
    ("erlang", "unique_integer", 0, |context, _| Flow::Value(unique(context))),
    ("erlang", "unique_integer", 1, |context, args| match args[0].to_vec() {
        // Numbers that grow over all processes would tell about the schedule.
        Some(options) if options.iter().any(|option| option.as_atom().is_some_and(|o| o.name() == "monotonic")) => {
            Flow::Unsupported("erlang:unique_integer/1 with monotonic".into())
        }
        Some(_) => Flow::Value(unique(context)),
        None => badarg().into(),
    }),
    // Time is not modelled: every clock stands still.
    ("erlang", "monotonic_time", 0, |_, _| Flow::Value(Term::Int(0))),
    ("erlang", "monotonic_time", 1, |_, _| Flow::Value(Term::Int(0))),
    ("erlang", "system_time", 0, |_, _| Flow::Value(Term::Int(0))),
    ("erlang", "system_time", 1, |_, _| Flow::Value(Term::Int(0))),
    ("erlang", "time_offset", 0, |_, _| Flow::Value(Term::Int(0))),
    ("erlang", "timestamp", 0, timestamp),
    ("erlang", "now", 0, |_, _| Flow::Unsupported("erlang:now/0 (deprecated; it tells about the schedule)".into())),
    ("os", "timestamp", 0, timestamp),
    ("os", "system_time", 0, |_, _| Flow::Value(Term::Int(0))),
    ("os", "system_time", 1, |_, _| Flow::Value(Term::Int(0))),
    ("erlang", "function_exported", 3, function_exported),
    ("erlang", "is_builtin", 3, |_, args| match (&args[0], &args[1], args[2].as_count()) {
        (Term::Atom(module), Term::Atom(name), Some(arity)) => {
            let arity = u8::try_from(arity).unwrap_or(u8::MAX);
            let known =
                super::pure(*module, *name, arity).is_some() || super::effectful(*module, *name, arity).is_some();
            Flow::Value(Term::bool(known))
        }
        _ => badarg().into(),
    }),
    ("erlang", "module_loaded", 1, |context, args| module_exists(context, args, |_, found| Term::bool(found))),
    ("code", "ensure_loaded", 1, |context, args| {
        module_exists(context, args, |module, found| match found {
            true => Term::tuple([Term::atom("module"), module.clone()]),
            false => Term::tuple([Term::Atom(Atom::ERROR), Term::atom("nofile")]),
        })
    }),
    // Modules are loaded when they are called.
    ("code", "ensure_modules_loaded", 1, |_, _| Flow::Value(Term::Atom(Atom::OK))),
    ("erlang", "get_module_info", 1, |context, args| module_info(context, args, None)),
    ("erlang", "get_module_info", 2, |context, args| module_info(context, args, args[1].as_atom())),
    ("erlang", "garbage_collect", 0, |_, _| Flow::Value(Term::bool(true))),
    ("erlang", "garbage_collect", 1, |_, _| Flow::Value(Term::bool(true))),
    ("erlang", "yield", 0, |_, _| Flow::Value(Term::bool(true))),
    ("erlang", "bump_reductions", 1, |_, _| Flow::Value(Term::bool(true))),
    ("erlang", "system_flag", 2, |_, args| Flow::Unsupported(format!("erlang:system_flag({}, _)", args[0]))),
    ("erlang", "system_info", 1, system_info),
    ("erlang", "fun_info_mfa", 1, |_, args| match &args[0] {
        Term::Fun(fun) => match &**fun {
            Fun::Local { module, name, arity, .. } | Fun::External { module, name, arity } => {
                Flow::Value(Term::tuple([Term::Atom(*module), Term::Atom(*name), Term::Int(i64::from(*arity))]))
            }
        },
        _ => badarg().into(),
    }),
    ("binary", "matches", 3, |_, args| without_options("matches", args)),
    ("binary", "match", 3, |_, args| without_options("match", args)),
    ("io", "printable_range", 0, |_, _| Flow::Value(Term::atom("latin1"))),
    ("erlang", "phash", 2, phash),
    ("application", "get_env", 2, |_, _| Flow::Value(Term::Atom(Atom::UNDEFINED))),
    ("application", "get_env", 3, |_, args| Flow::Value(args[2].clone())),
];

fn raise(class: Atom, reason: &Term) -> Flow {
    Flow::Raise(Box::new(Raised { class, reason: reason.clone() }))
}

/// `error/2`: the arguments are those of the caller, and stand in its entry of the trace.
fn error_with_args(context: &mut Context<'_>, args: &[Term]) -> Flow {
    let function = &context.top.function;
    let arity = if args[1].to_vec().is_some() { args[1].clone() } else { Term::Int(i64::from(function.arity)) };
    let first = crate::process::stack_entry(function.module, function.name, arity, context.top.place());
    let frames = std::iter::successors(context.top.parent.as_deref(), |frame| frame.parent.as_deref());
    let entry = |frame: &crate::process::Frame| {
        let function = &frame.function;
        let arity = Term::Int(i64::from(function.arity));
        crate::process::stack_entry(function.module, function.name, arity, frame.place())
    };
    let trace = Term::list(std::iter::once(first).chain(frames.map(entry)).take(8).collect::<Vec<_>>());
    Flow::Exception(Box::new(Exception { class: Atom::ERROR, reason: args[0].clone(), trace }))
}

/// The body of a function that is native in the run-time system and has no counterpart here.
fn nif_error(context: &mut Context<'_>, _: &[Term]) -> Flow {
    let function = &context.top.function;
    Flow::Unsupported(format!("{}:{}/{} (native code)", function.module, function.name, function.arity))
}

fn pairs(context: &Context<'_>) -> Term {
    let pair = |(key, value): (&Term, &Term)| Term::tuple([key.clone(), value.clone()]);
    Term::list(context.process.dictionary.iter().map(pair))
}

/// Different in every process and at every call.
fn unique(context: &mut Context<'_>) -> Term {
    let reference = context.process.make_ref();
    Term::Int((i64::from(reference.maker.0) << 32) | i64::from(reference.number) | 1 << 31)
}

fn timestamp(_: &mut Context<'_>, _: &[Term]) -> Flow {
    Flow::Value(Term::tuple([Term::Int(0), Term::Int(0), Term::Int(0)]))
}

fn function_exported(context: &mut Context<'_>, args: &[Term]) -> Flow {
    let (Term::Atom(module), Term::Atom(name), Some(arity)) = (&args[0], &args[1], args[2].as_count()) else {
        return badarg().into();
    };
    let Ok(arity) = u8::try_from(arity) else { return Flow::Value(Term::bool(false)) };
    match context.system.module(*module) {
        Ok(Some(found)) => Flow::Value(Term::bool(found.exports.contains(&(*name, arity)))),
        Ok(None) => Flow::Value(Term::bool(false)),
        Err(error) => Flow::Problem(Box::new(crate::interp::Problem::Code(error))),
    }
}

fn module_exists(context: &mut Context<'_>, args: &[Term], answer: fn(&Term, bool) -> Term) -> Flow {
    let Term::Atom(module) = args[0] else { return badarg().into() };
    match context.system.module(module) {
        Ok(found) => Flow::Value(answer(&args[0], found.is_some() || module == Atom::ERLANG)),
        Err(error) => Flow::Problem(Box::new(crate::interp::Problem::Code(error))),
    }
}

fn module_info(context: &mut Context<'_>, args: &[Term], item: Option<Atom>) -> Flow {
    let Term::Atom(name) = args[0] else { return badarg().into() };
    let module = match context.system.module(name) {
        Ok(Some(module)) => module,
        Ok(None) => return badarg().into(),
        Err(error) => return Flow::Problem(Box::new(crate::interp::Problem::Code(error))),
    };
    let function = |(name, arity): &(Atom, u8)| Term::tuple([Term::Atom(*name), Term::Int(i64::from(*arity))]);
    let exports = Term::list(module.exports.iter().map(function));
    let attribute = |(key, value): &(Term, Term)| Term::tuple([key.clone(), value.clone()]);
    let hidden =
        |(key, _): &&(Term, Term)| !matches!(key.as_atom().map(Atom::name), Some("file" | "spec" | "type" | "record"));
    let attributes = Term::list(module.attributes.iter().filter(hidden).map(attribute).collect::<Vec<_>>());
    match item.map(Atom::name) {
        Some("exports") => Flow::Value(exports),
        Some("attributes") => Flow::Value(attributes),
        Some("module") => Flow::Value(Term::Atom(name)),
        None => Flow::Value(Term::list([
            Term::tuple([Term::Atom(Atom::MODULE), Term::Atom(name)]),
            Term::tuple([Term::atom("exports"), exports]),
            Term::tuple([Term::atom("attributes"), attributes]),
            Term::tuple([Term::atom("compile"), Term::Nil]),
        ])),
        Some(other) => Flow::Unsupported(format!("{name}:module_info({other})")),
    }
}

fn system_info(_: &mut Context<'_>, args: &[Term]) -> Flow {
    let value: Pure = match args[0].as_atom().map(Atom::name) {
        Some("schedulers" | "schedulers_online" | "logical_processors") => Ok(Term::Int(1)),
        Some("wordsize") => Ok(Term::Int(8)),
        Some("process_limit") => Ok(Term::Int(262_144)),
        Some(other) => return Flow::Unsupported(format!("erlang:system_info({other})")),
        None => badarg(),
    };
    value.into()
}

/// A search in a binary whose third argument, the options, is empty.
fn without_options(name: &str, args: &[Term]) -> Flow {
    match (&args[2], super::pure(Atom::BINARY, Atom::new(name), 2)) {
        (Term::Nil, Some(native)) => native(&args[..2]).into(),
        _ => Flow::Unsupported(format!("binary:{name}/3 with options")),
    }
}

/// A hash for the tables of `sets` and `dict`, whose order nobody may rely on. Elsewhere the very number may matter.
fn phash(context: &mut Context<'_>, args: &[Term]) -> Flow {
    if !matches!(context.top.function.module.name(), "sets" | "dict") {
        return Flow::Unsupported("erlang:phash/2".into());
    }
    let Some(range) = args[1].as_count().filter(|range| *range > 0) else { return badarg().into() };
    let mut hasher = rustc_hash::FxHasher::default();
    // Atoms hash by name: their numbers depend on what was loaded before.
    args[0].to_string().hash(&mut hasher);
    Flow::Value(Term::count(hasher.finish() as usize % range + 1))
}
