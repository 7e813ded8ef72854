//! What went wrong, in words and source places.

use crate::atom::Atom;
use crate::bif::{LIST_LIMIT, TERM_LIMIT};
use crate::core::Place;
use crate::interp::Problem;
use crate::process::{Exception, Process};
use crate::system::System;
use crate::term::Term;
use selvedge_machine::{Bound, BoundKind, SourceSpan, Stop, Unsupported, Violation, ViolationKind};

fn span(place: Place, function: &str) -> SourceSpan {
    SourceSpan { file: place.file.name().to_owned(), line: place.line, column: 0, function: function.to_owned() }
}

/// Where a process is in the user's own code; where it is at all, if that is nowhere.
pub fn place(system: &System, process: &Process) -> SourceSpan {
    let mut all = process.frames().map(|frame| {
        let function = &frame.function;
        (system.is_users(function.module), span(frame.place(), &format!("{}/{}", function.name, function.arity)))
    });
    let first = all.next();
    match first {
        Some((false, place)) => all.find(|(users, _)| *users).map_or(place, |(_, place)| place),
        Some((true, place)) => place,
        None => SourceSpan::default(),
    }
}

/// Something that cannot be run.
pub fn problem(system: &System, process: &Process, problem: &Problem) -> Stop {
    let place = place(system, process);
    match problem {
        Problem::Unsupported(feature) => Stop::Unsupported(Box::new(Unsupported { feature: feature.clone(), place })),
        Problem::Code(error) => Stop::Unsupported(Box::new(Unsupported { feature: error.to_string(), place })),
        Problem::TooLarge => {
            let what = format!("lists to {LIST_LIMIT} elements and binaries to {TERM_LIMIT} bytes, at {place}");
            let kind = BoundKind::Local { instructions: LIST_LIMIT as u64 };
            Stop::Bound(Box::new(Bound { kind, what, place }))
        }
        Problem::Endless(calls) => {
            let what =
                format!("a process to {calls} calls between two operations that others could notice, at {place}");
            Stop::Bound(Box::new(Bound { kind: BoundKind::Local { instructions: *calls }, what, place }))
        }
    }
}

/// A process that has ended by an exception.
pub fn crash(system: &System, name: &str, exception: &Exception) -> Stop {
    let Exception { class, reason, trace } = exception;
    let message = match *class {
        Atom::THROW => format!("process {name} throws {reason}, and nobody catches it"),
        Atom::EXIT => format!("process {name} exits abnormally: {reason}"),
        _ => format!("process {name} ends by an error: {}", error_words(reason, trace)),
    };
    let kind = match reason.as_tuple().and_then(<[Term]>::first).and_then(Term::as_atom).map(Atom::name) {
        Some(name) if *class == Atom::ERROR && (name == "badmatch" || name.starts_with("assert")) => {
            ViolationKind::Assertion
        }
        _ => ViolationKind::Abort,
    };
    let mut places: Vec<(SourceSpan, String)> = trace.items().filter_map(|entry| user_place(system, entry)).collect();
    for (_, word) in places.iter_mut().skip(1) {
        word.push_str("called from here");
    }
    Stop::Violation(Box::new(Violation { kind, message, places }))
}

/// A process has ended all others with a status that says that something is wrong.
pub fn halted(system: &System, name: &str, process: &Process, status: &Term) -> Stop {
    let message = format!("process {name} halts the system with {status}");
    let places = vec![(place(system, process), String::new())];
    Stop::Violation(Box::new(Violation { kind: ViolationKind::Abort, message, places }))
}

/// The first process is ended by an exit signal; a reason with a stack trace tells where it comes from.
pub fn ended_by_signal(system: &System, reason: &Term) -> Stop {
    let (shown, places) = match reason.as_tuple() {
        Some([what, trace @ Term::Cons(_)]) => (what, trace.items().filter_map(|e| user_place(system, e)).collect()),
        _ => (reason, Vec::new()),
    };
    let message = format!("process main is ended by an exit signal: {shown}");
    Stop::Violation(Box::new(Violation { kind: ViolationKind::Abort, message, places }))
}

/// The reason, with the function that it is about if the reason does not say.
fn error_words(reason: &Term, trace: &Term) -> String {
    let first = trace.items().next().and_then(Term::as_tuple);
    match (reason.as_atom(), first) {
        (Some(Atom::UNDEF), Some([module, name, args, _])) => {
            let arity = args.to_vec().map_or_else(|| args.to_string(), |args| args.len().to_string());
            format!("undef: there is no function {module}:{name}/{arity}")
        }
        (Some(_), Some([module, name, args @ (Term::Nil | Term::Cons(_)), _])) => {
            let args: Vec<String> = args.items().map(Term::to_string).collect();
            format!("{reason}, in {module}:{name}({})", args.join(", "))
        }
        _ => reason.to_string(),
    }
}

/// The place of an entry of a stack trace, if it is in the user's code.
fn user_place(system: &System, entry: &Term) -> Option<(SourceSpan, String)> {
    let [Term::Atom(module), name, arity, location] = entry.as_tuple()? else { return None };
    if !system.is_users(*module) {
        return None;
    }
    let field = |key: Atom| {
        location.items().find_map(|item| match item.as_tuple()? {
            [Term::Atom(own), value] if *own == key => Some(value.clone()),
            _ => None,
        })
    };
    let arity = arity.to_vec().map_or_else(|| arity.to_string(), |args| args.len().to_string());
    let line = field(Atom::LINE)?.as_int().and_then(|line| u32::try_from(line).ok())?;
    let file = field(Atom::FILE)?.to_text()?;
    Some((SourceSpan { file, line, column: 0, function: format!("{name}/{arity}") }, String::new()))
}
