//! ETS, counters, atomics and persistent terms: each operation is a request to the engine, as others may notice it.

use super::{Bif, Context, Flow, Row, badarg};
use crate::atom::Atom;
use crate::ets;
use crate::request::{Request, Then};
use crate::table::TableOp;
use crate::term::Term;
use selvedge_messages::Op;
use std::rc::Rc;

macro_rules! operations {
    ($($name:literal $arity:literal)*; $($module:literal: $function:literal $n:literal)*) => {
        pub(super) const TABLE: &[Row<Bif>] = &[
            $(("ets", $name, $arity, |context, args| operation(context, $name, args)),)*
            $(($module, $function, $n, |context, args| shared(context, $module, $function, args)),)*
            // Rows are never lost under an iteration.
            ("ets", "safe_fixtable", 2, |_, _| Flow::Value(Term::bool(true))),
            ("ets", "setopts", 2, |_, _| Flow::Unsupported("ets:setopts/2".into())),
            ("ets", "give_away", 3, |_, _| Flow::Unsupported("ets:give_away/3".into())),
        ];
    };
}

operations! {
    "new" 2 "insert" 2 "insert_new" 2 "lookup" 2 "lookup_element" 3 "member" 2 "delete" 1 "delete" 2 "delete_object" 2
    "delete_all_objects" 1 "update_counter" 3 "update_counter" 4 "update_element" 3 "take" 2 "tab2list" 1 "first" 1
    "last" 1 "next" 2 "prev" 2 "info" 1 "info" 2 "whereis" 1 "rename" 2 "match" 2 "match_object" 2 "match_delete" 2
    "select" 2 "select_count" 2 "select_delete" 2 "select_reverse" 2;
    "counters": "new" 2 "counters": "get" 2 "counters": "put" 3 "counters": "add" 3 "counters": "sub" 3
    "counters": "info" 1
    "atomics": "new" 2 "atomics": "get" 2 "atomics": "put" 3 "atomics": "add" 3 "atomics": "sub" 3 "atomics": "info" 1
    "atomics": "add_get" 3 "atomics": "sub_get" 3 "atomics": "exchange" 3 "atomics": "compare_exchange" 4
    "persistent_term": "get" 0 "persistent_term": "get" 1 "persistent_term": "get" 2 "persistent_term": "put" 2
    "persistent_term": "erase" 1
}

fn operation(context: &mut Context<'_>, name: &str, args: &[Term]) -> Flow {
    if let Some(what) = ets::unsupported(name, args) {
        return Flow::Unsupported(what);
    }
    if name != "new" && !matches!(args.first(), Some(Term::Atom(_) | Term::Ref(_))) {
        return badarg().into();
    }
    let fresh = (name == "new").then(|| context.process.make_ref());
    let op = TableOp { module: Atom::new("ets"), function: Atom::new(name), args: args.to_vec(), fresh, outcome: None };
    Flow::Ask(Box::new(Request { op: Op::Shared, then: Then::Table(Rc::new(op)) }))
}

fn shared(context: &mut Context<'_>, module: &str, function: &str, args: &[Term]) -> Flow {
    // OTP keeps settings of the running system in persistent terms: here that has just started, and has the default ones.
    if module == "persistent_term" && context.system.is_library(context.top.function.module) {
        return match (function, args) {
            ("get", [_, default]) => Flow::Value(default.clone()),
            _ => Flow::Unsupported(format!("{module}:{function}/{} in OTP's own code", args.len())),
        };
    }
    let fresh = (function == "new").then(|| context.process.make_ref());
    let op =
        TableOp { module: Atom::new(module), function: Atom::new(function), args: args.to_vec(), fresh, outcome: None };
    Flow::Ask(Box::new(Request { op: Op::Shared, then: Then::Table(Rc::new(op)) }))
}
