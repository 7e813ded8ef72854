//! Runs a schedule again and says in words what happens.

use crate::roster::{Role, Roster};
use crate::{Content, Delivery, Machine, Message, MessageId, Op, Pid, Query, Schedule, Sender, System, Target};
use rustc_hash::FxHashMap;
use selvedge_ir::EntityRef;
use selvedge_machine::{SourceSpan, Stop};

/// What a step is in a chart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Mark {
    /// Something goes from one process to another.
    Arrow {
        /// From whom; none if from a timer.
        from: Option<Pid>,
        /// To whom.
        to: Pid,
    },
    /// A process takes a message.
    Takes {
        /// From whom; none if from a timer.
        from: Option<Pid>,
    },
    /// A process ends.
    End,
    /// Anything else.
    Other,
}

/// One step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// Whose step it is; of a delivery, who it is delivered to; of a timer, who has started it.
    pub pid: Pid,
    /// Who, for people.
    pub name: String,
    /// Where in the source.
    pub place: SourceSpan,
    /// What, in words.
    pub what: String,
    /// The message, for a chart; empty if there is none.
    pub label: String,
    /// How it is drawn.
    pub mark: Mark,
}

/// A schedule that was run again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Replay {
    /// The steps.
    pub records: Vec<Record>,
    /// Names of the processes that took part, in the order of their numbers.
    pub processes: Vec<(Pid, String)>,
    /// What was to report on the way.
    pub stops: Vec<Stop>,
    /// Processes that wait at the end, with what they wait for.
    pub waiting: Vec<(Pid, String)>,
    /// Whether one of them is no server: nothing can happen any more, and it waits forever.
    pub stuck: bool,
}

/// Runs a schedule on a fresh machine.
pub fn replay<M: Machine>(machine: M, delivery: Delivery, schedule: &Schedule) -> Result<Replay, String> {
    let mut roster = Roster::default();
    schedule.number(&mut roster);
    let (mut system, stop) = System::start_with(machine, delivery, roster, schedule.quiet);
    let mut replay = Replay {
        records: Vec::new(),
        processes: Vec::new(),
        stops: Vec::from_iter(stop),
        waiting: Vec::new(),
        stuck: false,
    };
    let mut labels = FxHashMap::default();
    schedule.run(&mut system, |system, role, choice| {
        let (record, stop) = step(system, role, choice, &mut labels);
        replay.records.push(record);
        replay.stops.extend(stop);
    })?;
    let named = |pid: Pid| (pid, system.machine.name(pid));
    let all = || (0..system.roster.processes()).map(Pid::new);
    let there = |pid: &Pid| system.machine.status(*pid) != crate::Status::Absent;
    replay.processes = all().filter(there).map(named).collect();
    // One that has not come to its next step yet does not wait for anything.
    let receives = |pid: &Pid| matches!(system.machine.pending(*pid), Op::Receive { .. });
    let waits = all().filter(|&pid| system.is_waiting(pid)).filter(receives);
    replay.waiting = waits.map(|pid| (pid, system.machine.waits_for(pid))).collect();
    let halted = all().any(|pid| system.machine.status(pid) == crate::Status::Halted);
    let over = !halted && system.actors().all(|actor| !system.enabled(actor));
    replay.stuck = over && replay.waiting.iter().any(|(pid, _)| !system.machine.is_server(*pid));
    Ok(replay)
}

fn sender(message: &MessageId) -> Option<Pid> {
    match message.from {
        Sender::Process(pid) => Some(pid),
        Sender::Timer(_) => None,
    }
}

/// Makes a step and describes it.
fn step<M: Machine>(
    system: &mut System<M>,
    role: Role,
    choice: u32,
    labels: &mut FxHashMap<MessageId, String>,
) -> (Record, Option<Stop>) {
    let pid = match role {
        Role::Process(pid) => pid,
        Role::Channel(_, to) => to,
        Role::Timer(timer) => timer.owner,
    };
    let (name, place) = (system.machine.name(pid), system.machine.place(pid));
    let own = matches!(role, Role::Process(_)) && system.is_waiting(pid);
    let op = own.then(|| system.machine.pending(pid).clone());
    let shared = matches!(op, Some(Op::Shared)).then(|| system.machine.show_shared(pid));
    let actor = system.roster.actor(role);
    let stepped = system.step(actor, choice);
    let machine = &system.machine;
    let label = |message: &Message<M>| machine.show_message(message);
    let act = &stepped.act;
    let (mut mark, mut text) = (Mark::Other, String::new());
    if let Some(arrival) = &act.arrival {
        text = label(&arrival.message);
        labels.insert(arrival.message.id, text.clone());
        mark = Mark::Arrow { from: sender(&arrival.message.id), to: arrival.message.to };
    }
    if let Some(killed) = act.kills() {
        text = "exit signal".to_owned();
        mark = Mark::Arrow { from: Some(pid), to: killed };
    }
    let what = match (&op, role) {
        (Some(Op::Receive { .. }), _) => {
            let taken = act.received.as_ref().and_then(|received| received.taken);
            match taken {
                Some(id) => {
                    mark = Mark::Takes { from: sender(&id) };
                    text = labels.get(&id).cloned().unwrap_or_default();
                    format!("receives {text}")
                }
                None => "times out".to_owned(),
            }
        }
        (Some(Op::Shared), _) => shared.unwrap_or_default(),
        (Some(op), _) => {
            if matches!(op, Op::Exit { .. }) {
                mark = Mark::End;
            }
            words(system, op, choice, &text)
        }
        (None, Role::Channel(Sender::Process(from), _)) => {
            format!("is delivered {text} from {}", machine.name(from))
        }
        (None, Role::Channel(Sender::Timer(timer), _)) => {
            format!("is delivered {text} from a timer of {}", machine.name(timer.owner))
        }
        (None, Role::Timer(_)) => match &act.arrival {
            Some(arrival) => format!("timer sends {text} to {}", machine.name(arrival.message.to)),
            None => "timer fires, or was stopped".to_owned(),
        },
        (None, Role::Process(_)) if act.own.is_some() => {
            mark = Mark::End;
            "is ended by a signal".to_owned()
        }
        (None, Role::Process(_)) => match &mark {
            Mark::Arrow { to, .. } => format!("has ended: tells {}", machine.name(*to)),
            _ => "has ended: tells one who does not care".to_owned(),
        },
    };
    (Record { pid, name, place, what, label: text, mark }, stepped.stop)
}

/// An Op in words, after it was executed.
fn words<M: Machine>(system: &System<M>, op: &Op<M>, choice: u32, label: &str) -> String {
    let machine = &system.machine;
    let name = |pid: Pid| machine.name(pid);
    let target = |target: &Target| match target {
        Target::Pid(pid) if system.is_alive(*pid) => name(*pid),
        Target::Pid(pid) => format!("{} (which has ended)", name(*pid)),
        Target::Name(registered) => format!("the name {}", machine.show_name(*registered)),
        Target::Alias(alias) => format!("an alias of {}", name(alias.owner)),
    };
    match op {
        Op::Spawn { .. } => "creates a process".to_owned(),
        Op::Send { to, payload } if label.is_empty() => {
            let id = MessageId { from: Sender::Process(crate::first_process()), n: 0 };
            let message = Message { id, to: crate::first_process(), content: Content::User(payload.clone()) };
            format!("sends {} to {}", machine.show_message(&message), target(to))
        }
        Op::Send { to, .. } => format!("sends {label} to {}", target(to)),
        Op::Receive { .. } => "receives".to_owned(),
        Op::Exit { reason } => format!("ends: {}", machine.show_reason(reason)),
        Op::Link { to } => format!("links with {}", target(&Target::Pid(*to))),
        Op::Unlink { to } => format!("ends the link with {}", target(&Target::Pid(*to))),
        Op::Monitor { target: watched, .. } => format!("monitors {}", target(watched)),
        Op::Demonitor { .. } => "ends a monitor".to_owned(),
        Op::TrapExit { on: true } => "traps exits".to_owned(),
        Op::TrapExit { on: false } => "does not trap exits".to_owned(),
        Op::Signal { to, reason } => format!("sends exit signal {} to {}", machine.show_reason(reason), target(to)),
        Op::Register { name: registered, pid } => {
            format!("registers {} as {}", name(*pid), machine.show_name(*registered))
        }
        Op::Unregister { name: registered } => format!("unregisters {}", machine.show_name(*registered)),
        Op::Whereis { name: registered } => format!("asks who is {}", machine.show_name(*registered)),
        Op::Alias { .. } => "makes an alias".to_owned(),
        Op::Unalias { .. } => "ends an alias".to_owned(),
        Op::StartTimer { to, .. } => format!("starts a timer for {}", target(to)),
        Op::CancelTimer { .. } => "stops a timer".to_owned(),
        Op::ReadTimer { .. } => "looks at a timer".to_owned(),
        Op::Choose { alternatives } => format!("chooses {choice} of {alternatives}"),
        Op::Inspect { target: of, query } => {
            let what = match query {
                Query::Alive => "whether it lives",
                Query::QueueLength => "the length of the mailbox",
                Query::RegisteredName => "the name",
                Query::TrapExit => "whether exits are trapped",
                Query::Links => "the links",
            };
            format!("asks {} for {what}", target(&Target::Pid(*of)))
        }
        Op::Shared => "uses something shared".to_owned(),
    }
}
