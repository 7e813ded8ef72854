//! Processes: starting and ending them, messages, links, monitors, names, timers.

use super::{Bif, Context, Flow, Row, badarg};
use crate::atom::Atom;
use crate::machine::{engine_name, engine_pid, engine_ref, signal_reason};
use crate::request::{Child, Question, Request, Then};
use crate::term::{Pid, Ref, Term};
use selvedge_messages::{AliasEnd, Info, Op, Query, Target};

/// The group leader: nobody of the program.
pub const GROUP_LEADER: Pid = Pid(u32::MAX - 1);

macro_rules! rows {
    ($(($module:literal, $name:literal, $arity:literal, $function:expr)),* $(,)?) => {
        &[$(($module, $name, $arity, |context, args| {
            // Only what is not done with it is known about the group leader.
            if $name != "!" && args.iter().any(|arg| *arg == Term::Pid(GROUP_LEADER)) && !matches!($name, "group_leader") {
                return Flow::Unsupported(format!("{}:{}/{} of the group leader", $module, $name, $arity));
            }
            let function: Bif = $function;
            function(context, args)
        })),*]
    };
}

pub(super) const TABLE: &[Row<Bif>] = rows![
    ("erlang", "spawn", 1, |c, args| spawn_fun(c, &args[0], Start::default())),
    ("erlang", "spawn_link", 1, |c, args| spawn_fun(c, &args[0], Start::LINK)),
    ("erlang", "spawn_monitor", 1, |c, args| spawn_fun(c, &args[0], Start::MONITOR)),
    ("erlang", "spawn_opt", 2, |c, args| with_options(&args[1], |start| spawn_fun(c, &args[0], start))),
    ("erlang", "spawn", 3, |c, args| spawn_named(c, args, Start::default())),
    ("erlang", "spawn_link", 3, |c, args| spawn_named(c, args, Start::LINK)),
    ("erlang", "spawn_monitor", 3, |c, args| spawn_named(c, args, Start::MONITOR)),
    ("erlang", "spawn_opt", 4, |c, args| with_options(&args[3], |start| spawn_named(c, &args[..3], start))),
    ("erlang", "!", 2, |c, args| send(c, &args[0], &args[1], args[1].clone())),
    ("erlang", "send", 2, |c, args| send(c, &args[0], &args[1], args[1].clone())),
    ("erlang", "send", 3, |c, args| send(c, &args[0], &args[1], Term::Atom(Atom::OK))),
    ("erlang", "send_nosuspend", 2, |c, args| send(c, &args[0], &args[1], Term::bool(true))),
    ("erlang", "exit", 2, exit_signal),
    ("erlang", "link", 1, |c, args| match &args[0] {
        Term::Pid(pid) if *pid == c.process.pid => Flow::Value(Term::bool(true)),
        Term::Pid(pid) => ask(Op::Link { to: engine_pid(*pid) }, Then::Value(Term::bool(true))),
        _ => badarg().into(),
    }),
    ("erlang", "unlink", 1, |c, args| match &args[0] {
        Term::Pid(pid) if *pid == c.process.pid => Flow::Value(Term::bool(true)),
        Term::Pid(pid) => ask(Op::Unlink { to: engine_pid(*pid) }, Then::Value(Term::bool(true))),
        _ => badarg().into(),
    }),
    ("erlang", "monitor", 2, |c, args| monitor(c, &args[0], &args[1], None)),
    ("erlang", "monitor", 3, monitor_with_options),
    ("erlang", "demonitor", 1, |_, args| match &args[0] {
        Term::Ref(reference) => {
            let op = Op::Demonitor { reference: engine_ref(*reference), flush: false, info: false };
            ask(op, Then::Value(Term::bool(true)))
        }
        _ => badarg().into(),
    }),
    ("erlang", "demonitor", 2, demonitor),
    ("erlang", "alias", 0, |c, _| alias(c, AliasEnd::Unalias)),
    ("erlang", "alias", 1, |c, args| match args[0].to_vec() {
        Some(options) if options.iter().all(|option| option.as_atom().is_some_and(|o| o.name() == "reply")) => {
            alias(c, if options.is_empty() { AliasEnd::Unalias } else { AliasEnd::Reply })
        }
        Some(options)
            if options.iter().all(|option| option.as_atom().is_some_and(|o| o.name() == "explicit_unalias")) =>
        {
            alias(c, AliasEnd::Unalias)
        }
        _ => badarg().into(),
    }),
    ("erlang", "unalias", 1, |_, args| match &args[0] {
        Term::Ref(reference) => ask(Op::Unalias { reference: engine_ref(*reference) }, Then::Flag),
        _ => badarg().into(),
    }),
    ("erlang", "process_flag", 2, process_flag),
    ("erlang", "register", 2, |_, args| match (&args[0], &args[1]) {
        (Term::Atom(Atom::UNDEFINED), _) => badarg().into(),
        (Term::Atom(name), Term::Pid(pid)) => {
            ask(Op::Register { name: engine_name(*name), pid: engine_pid(*pid) }, Then::Value(Term::bool(true)))
        }
        _ => badarg().into(),
    }),
    ("erlang", "unregister", 1, |_, args| match &args[0] {
        Term::Atom(name) => ask(Op::Unregister { name: engine_name(*name) }, Then::Value(Term::bool(true))),
        _ => badarg().into(),
    }),
    ("erlang", "whereis", 1, |_, args| match &args[0] {
        Term::Atom(name) => ask(Op::Whereis { name: engine_name(*name) }, Then::Found),
        _ => badarg().into(),
    }),
    ("erlang", "is_process_alive", 1, |c, args| match &args[0] {
        Term::Pid(pid) if *pid == c.process.pid => Flow::Value(Term::bool(true)),
        Term::Pid(pid) => ask(Op::Inspect { target: engine_pid(*pid), query: Query::Alive }, Then::Alive),
        _ => badarg().into(),
    }),
    ("erlang", "process_info", 2, process_info),
    ("erlang", "group_leader", 0, |_, _| Flow::Value(GROUP_LEADER.into())),
    ("erlang", "group_leader", 2, |_, _| Flow::Value(Term::bool(true))),
    ("erlang", "send_after", 3, |c, args| start_timer(c, args, false)),
    ("erlang", "send_after", 4, |c, args| start_timer(c, args, false)),
    ("erlang", "start_timer", 3, |c, args| start_timer(c, args, true)),
    ("erlang", "start_timer", 4, |c, args| start_timer(c, args, true)),
    ("timer", "send_after", 2, |c, args| library_timer(c, &[args[0].clone(), c.process.pid.into(), args[1].clone()])),
    ("timer", "send_after", 3, library_timer),
    ("timer", "cancel", 1, |_, args| match args[0].as_tuple() {
        Some([Term::Atom(kind), Term::Ref(reference)]) if kind.name() == "send_local" => {
            let done = Term::tuple([Term::Atom(Atom::OK), Term::atom("cancel")]);
            ask(Op::CancelTimer { reference: engine_ref(*reference) }, Then::Value(done))
        }
        _ => Flow::Value(Term::tuple([Term::Atom(Atom::ERROR), Term::Atom(Atom::BADARG)])),
    }),
    ("erlang", "cancel_timer", 1, |_, args| timer(&args[0], true)),
    ("erlang", "cancel_timer", 2, |_, args| match args[1].to_vec() {
        Some(options) if options.is_empty() => timer(&args[0], true),
        _ => Flow::Unsupported("erlang:cancel_timer/2 with options".into()),
    }),
    ("erlang", "read_timer", 1, |_, args| timer(&args[0], false)),
    ("erlang", "hibernate", 3, |_, args| match (&args[0], &args[1], args[2].to_vec()) {
        (Term::Atom(module), Term::Atom(name), Some(list)) => Flow::Restart(*module, *name, list),
        _ => badarg().into(),
    }),
    ("erlang", "halt", 0, |_, _| Flow::Halt(Term::Int(0))),
    ("erlang", "halt", 1, |_, args| halt(&args[0])),
    ("erlang", "halt", 2, |_, args| halt(&args[0])),
    ("init", "stop", 0, |_, _| Flow::Unsupported("init:stop/0".into())),
];

fn ask(op: Op<crate::machine::Machine>, then: Then) -> Flow {
    Flow::Ask(Box::new(Request { op, then }))
}

/// How a process is started.
#[derive(Clone, Copy, Default)]
struct Start {
    link: bool,
    monitor: bool,
}

impl Start {
    const LINK: Start = Start { link: true, monitor: false };
    const MONITOR: Start = Start { link: false, monitor: true };
}

/// Options that only concern memory and priorities change nothing here.
fn with_options(options: &Term, start: impl FnOnce(Start) -> Flow) -> Flow {
    let Some(options) = options.to_vec() else { return badarg().into() };
    let mut how = Start::default();
    for option in &options {
        match option {
            Term::Atom(Atom::LINK) => how.link = true,
            Term::Atom(Atom::MONITOR) => how.monitor = true,
            Term::Tuple(pair) => match pair[..] {
                [Term::Atom(key), _]
                    if matches!(
                        key.name(),
                        "priority"
                            | "fullsweep_after"
                            | "min_heap_size"
                            | "min_bin_vheap_size"
                            | "max_heap_size"
                            | "message_queue_data"
                    ) => {}
                _ => return Flow::Unsupported(format!("erlang:spawn_opt with {option}")),
            },
            _ => return badarg().into(),
        }
    }
    start(how)
}

fn spawn_fun(context: &mut Context<'_>, fun: &Term, start: Start) -> Flow {
    match fun {
        Term::Fun(function) if function.arity() == 0 => spawn(context, fun.clone(), Vec::new(), start),
        Term::Fun(_) => badarg().into(),
        _ => badarg().into(),
    }
}

fn spawn_named(context: &mut Context<'_>, args: &[Term], start: Start) -> Flow {
    match (&args[0], &args[1], args[2].to_vec()) {
        (Term::Atom(_), Term::Atom(_), Some(list)) => {
            spawn(context, Term::tuple([args[0].clone(), args[1].clone()]), list, start)
        }
        _ => badarg().into(),
    }
}

fn spawn(context: &mut Context<'_>, function: Term, args: Vec<Term>, start: Start) -> Flow {
    let reference = start.monitor.then(|| context.process.make_ref());
    let op = Op::Spawn { link: start.link, monitor: reference.map(engine_ref) };
    ask(op, Then::Spawned(Child { function, args }, reference))
}

/// To whom something can be sent; with whether a missing name is an error.
fn target(to: &Term) -> Option<(Target, bool)> {
    match to {
        Term::Pid(pid) => Some((Target::Pid(engine_pid(*pid)), true)),
        Term::Atom(name) => Some((Target::Name(engine_name(*name)), true)),
        Term::Ref(reference) => Some((Target::Alias(engine_ref(*reference)), true)),
        Term::Tuple(pair) => match pair[..] {
            [Term::Atom(name), Term::Atom(Atom::NONODE)] => Some((Target::Name(engine_name(name)), false)),
            _ => None,
        },
        _ => None,
    }
}

fn send(_: &mut Context<'_>, to: &Term, message: &Term, result: Term) -> Flow {
    if to == &Term::Pid(GROUP_LEADER) {
        return Flow::Unsupported(format!("a message to the group leader: {message}"));
    }
    match target(to) {
        Some((to, strict)) => {
            let then = if strict { Then::Value(result) } else { Then::Always(result) };
            ask(Op::Send { to, payload: message.clone() }, then)
        }
        None if matches!(to.as_tuple(), Some([Term::Atom(_), Term::Atom(_)])) => {
            Flow::Unsupported(format!("a message to another node: {to}"))
        }
        None => badarg().into(),
    }
}

fn exit_signal(context: &mut Context<'_>, args: &[Term]) -> Flow {
    let Term::Pid(pid) = args[0] else { return badarg().into() };
    let own = pid == context.process.pid;
    let reason = signal_reason(&args[1]);
    // A signal to oneself acts at once.
    if own && !context.process.trap_exit && !matches!(reason, selvedge_messages::Reason::Kill) {
        return Flow::Exit(args[1].clone());
    }
    ask(Op::Signal { to: Target::Pid(engine_pid(pid)), reason }, Then::Value(Term::bool(true)))
}

fn monitor(context: &mut Context<'_>, kind: &Term, target: &Term, alias: Option<AliasEnd>) -> Flow {
    if !kind.is(Atom::PROCESS) {
        return match kind.as_atom() {
            Some(kind) => Flow::Unsupported(format!("erlang:monitor({kind}, _)")),
            None => badarg().into(),
        };
    }
    let target = match target {
        Term::Pid(pid) => Target::Pid(engine_pid(*pid)),
        Term::Atom(name) => Target::Name(engine_name(*name)),
        Term::Tuple(pair) => match pair[..] {
            [Term::Atom(name), Term::Atom(Atom::NONODE)] => Target::Name(engine_name(name)),
            [Term::Atom(_), Term::Atom(_)] => return Flow::Unsupported(format!("a monitor on another node: {target}")),
            _ => return badarg().into(),
        },
        _ => return badarg().into(),
    };
    let reference = context.process.make_ref();
    ask(Op::Monitor { target, reference: engine_ref(reference), alias }, Then::Value(reference.into()))
}

fn monitor_with_options(context: &mut Context<'_>, args: &[Term]) -> Flow {
    let Some(options) = args[2].to_vec() else { return badarg().into() };
    let mut alias = None;
    for option in options {
        alias = match option.as_tuple() {
            Some([Term::Atom(Atom::ALIAS), Term::Atom(end)]) => match end.name() {
                "explicit_unalias" => Some(AliasEnd::Unalias),
                "demonitor" => Some(AliasEnd::Demonitor),
                "reply_demonitor" => Some(AliasEnd::Reply),
                _ => return badarg().into(),
            },
            Some([Term::Atom(tag), _]) if tag.name() == "tag" => {
                return Flow::Unsupported("erlang:monitor/3 with a tag".into());
            }
            _ => return badarg().into(),
        };
    }
    monitor(context, &args[0], &args[1], alias)
}

fn demonitor(_: &mut Context<'_>, args: &[Term]) -> Flow {
    let (Term::Ref(reference), Some(options)) = (&args[0], args[1].to_vec()) else { return badarg().into() };
    let (mut flush, mut info) = (false, false);
    for option in options {
        match option.as_atom() {
            Some(Atom::FLUSH) => flush = true,
            Some(Atom::INFO) => info = true,
            _ => return badarg().into(),
        }
    }
    let then = if info { Then::Flag } else { Then::Value(Term::bool(true)) };
    ask(Op::Demonitor { reference: engine_ref(*reference), flush, info }, then)
}

fn alias(context: &mut Context<'_>, end: AliasEnd) -> Flow {
    let reference = context.process.make_ref();
    ask(Op::Alias { reference: engine_ref(reference), end }, Then::Value(reference.into()))
}

fn process_flag(context: &mut Context<'_>, args: &[Term]) -> Flow {
    match (args[0].as_atom().map(Atom::name), &args[1]) {
        (Some("trap_exit"), Term::Atom(on @ (Atom::TRUE | Atom::FALSE))) => {
            let on = *on == Atom::TRUE;
            if on == context.process.trap_exit {
                return Flow::Value(Term::bool(on));
            }
            ask(Op::TrapExit { on }, Then::TrapExit(on))
        }
        (Some("priority"), _) => Flow::Value(Term::Atom(Atom::NORMAL)),
        (Some("fullsweep_after" | "min_heap_size" | "min_bin_vheap_size"), _) => Flow::Value(Term::Int(0)),
        (Some("message_queue_data"), _) => Flow::Value(Term::atom("on_heap")),
        (Some(other @ ("max_heap_size" | "save_calls" | "sensitive" | "async_dist" | "error_handler")), _) => {
            Flow::Unsupported(format!("erlang:process_flag({other}, _)"))
        }
        _ => badarg().into(),
    }
}

/// A status, `abort`, or what is to be printed.
fn halt(status: &Term) -> Flow {
    match status {
        Term::Int(0..) | Term::Nil | Term::Cons(_) => Flow::Halt(status.clone()),
        Term::Atom(abort) if abort.name() == "abort" => Flow::Halt(status.clone()),
        _ => badarg().into(),
    }
}

fn process_info(context: &mut Context<'_>, args: &[Term]) -> Flow {
    let (list, items) = match &args[1] {
        Term::Atom(_) => (false, vec![args[1].clone()]),
        other => match other.to_vec() {
            Some(items) => (true, items),
            None => return badarg().into(),
        },
    };
    let Term::Pid(pid) = &args[0] else { return badarg().into() };
    let own = *pid == context.process.pid;
    let mut question = Question { items: Vec::new(), list };
    let mut asked: Option<(Query, &Term)> = None;
    for item in &items {
        let value = match process_item(context, own, item) {
            Item::Known(value) => Some(value),
            Item::Ask(query) => {
                // All answers are about one moment, and the engine answers one question.
                if let Some((_, other)) = asked.filter(|(other, _)| *other != query) {
                    return Flow::Unsupported(format!("erlang:process_info/2 with both {other} and {item}"));
                }
                asked = Some((query, item));
                None
            }
            Item::Unsupported(what) => return Flow::Unsupported(format!("erlang:process_info(_, {what})")),
            Item::Bad => return badarg().into(),
        };
        question.items.push((item.clone(), value));
    }
    match asked {
        // It runs: there is nothing to ask.
        None if own => Flow::Value(question.answer(Info::Yes)),
        asked => {
            let query = asked.map_or(Query::Alive, |(query, _)| query);
            ask(Op::Inspect { target: engine_pid(*pid), query }, Then::Info(Box::new(question)))
        }
    }
}

/// What is known of an item that `process_info/2` is asked for.
enum Item {
    Known(Term),
    Ask(Query),
    Unsupported(String),
    Bad,
}

fn process_item(context: &Context<'_>, own: bool, item: &Term) -> Item {
    let Term::Atom(item) = item else { return Item::Bad };
    Item::Known(match item.name() {
        "message_queue_len" => return Item::Ask(Query::QueueLength),
        "registered_name" => return Item::Ask(Query::RegisteredName),
        "trap_exit" if own => Term::bool(context.process.trap_exit),
        "trap_exit" => return Item::Ask(Query::TrapExit),
        "links" => return Item::Ask(Query::Links),
        "current_stacktrace" if own => Term::list(stack(context.top)),
        "current_function" if own => {
            let function = &context.top.function;
            let arity = Term::Int(i64::from(function.arity));
            Term::tuple([Term::Atom(function.module), Term::Atom(function.name), arity])
        }
        "status" if own => Term::atom("running"),
        "dictionary" if own => {
            let pair = |(key, value): (&Term, &Term)| Term::tuple([key.clone(), value.clone()]);
            Term::list(context.process.dictionary.iter().map(pair))
        }
        "priority" => Term::Atom(Atom::NORMAL),
        "group_leader" => GROUP_LEADER.into(),
        "heap_size" | "memory" | "total_heap_size" | "stack_size" | "reductions" => Term::Int(0),
        other if FURTHER_ITEMS.contains(&other) => return Item::Unsupported(other.to_owned()),
        _ => return Item::Bad,
    })
}

/// Items that `process_info/2` knows in Erlang, and not here (or only of the caller).
const FURTHER_ITEMS: &[&str] = &[
    "backtrace",
    "binary",
    "catchlevel",
    "current_function",
    "current_location",
    "current_stacktrace",
    "dictionary",
    "error_handler",
    "garbage_collection",
    "garbage_collection_info",
    "initial_call",
    "last_calls",
    "max_heap_size",
    "message_queue_data",
    "messages",
    "min_bin_vheap_size",
    "min_heap_size",
    "monitored_by",
    "monitors",
    "parent",
    "sequential_trace_token",
    "status",
    "suspending",
    "trace",
];

/// `send_after` sends the message, `start_timer` sends `{timeout, Timer, Message}`.
fn start_timer(context: &mut Context<'_>, args: &[Term], wrapped: bool) -> Flow {
    if args.len() == 4 && !matches!(args[3], Term::Nil) {
        return Flow::Unsupported("a timer with options".into());
    }
    if args[0].as_count().is_none() {
        return badarg().into();
    }
    let to = match target(&args[1]) {
        Some((to @ (Target::Pid(_) | Target::Name(_)), _)) if !matches!(args[1], Term::Tuple(_)) => to,
        _ => return badarg().into(),
    };
    let reference: Ref = context.process.make_ref();
    let message = args[2].clone();
    let payload = if wrapped { Term::tuple([Term::Atom(Atom::TIMEOUT), reference.into(), message]) } else { message };
    ask(Op::StartTimer { reference: engine_ref(reference), to, payload }, Then::Value(reference.into()))
}

/// `timer:send_after`, without the process that the library starts for it.
fn library_timer(context: &mut Context<'_>, args: &[Term]) -> Flow {
    match start_timer(context, args, false) {
        Flow::Ask(mut request) => {
            if let Then::Value(reference) = request.then {
                let timer = Term::tuple([Term::atom("send_local"), reference]);
                request.then = Then::Value(Term::tuple([Term::Atom(Atom::OK), timer]));
            }
            Flow::Ask(request)
        }
        Flow::Raise(_) => Flow::Value(Term::tuple([Term::Atom(Atom::ERROR), Term::Atom(Atom::BADARG)])),
        other => other,
    }
}

fn timer(timer: &Term, cancel: bool) -> Flow {
    let Term::Ref(reference) = timer else { return badarg().into() };
    let reference = engine_ref(*reference);
    ask(if cancel { Op::CancelTimer { reference } } else { Op::ReadTimer { reference } }, Then::TimeLeft)
}

fn stack(top: &crate::process::Frame) -> Vec<Term> {
    let frames = std::iter::successors(Some(top), |frame| frame.parent.as_deref());
    frames.take(8).map(crate::process::entry).collect()
}
