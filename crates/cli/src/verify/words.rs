//! What the verifier found, in words.

use super::{Ended, place};
use selvedge_impact::art::NodeId;
use selvedge_impact::iterate::{Counterexample, Verdict};
use selvedge_impact::program::{Place, StepKind, ThreadId};
use selvedge_impact::remove_error_paths::Ivr;
use selvedge_impact::verifier::{Halt, Verifier};
use selvedge_ir::{EntityRef, Module};
use std::time::Duration;

/// What every answer takes for granted.
pub const ASSUMPTIONS: &str =
    "assumed: sequential consistency; nobody is woken without a signal; integers wrap; data races are not looked for";

/// The most steps of an interleaving that are shown from its start and its end.
const SHOWN: usize = 12;

/// The program that is verified.
pub fn program(verifier: &Verifier) -> String {
    let names: Vec<&str> = verifier.program.threads.values().map(|thread| thread.name.as_str()).collect();
    let count = verifier.program.transitions.len();
    format!("{} threads ({}), {count} transitions", names.len(), names.join(", "))
}

/// How long it took to read the program.
pub fn reading(all: Duration, clang: Duration) -> String {
    format!("read in {:.3} s, {:.3} s of it clang's", all.as_secs_f64(), clang.as_secs_f64())
}

/// What a safe result permits that the last one did not.
pub fn added(verifier: &Verifier, module: &Module, ivr: &Ivr, last: Option<&Ivr>) -> Vec<String> {
    match last {
        None => vec![first(verifier, ivr)],
        Some(last) => {
            let new = new_choices(ivr, last);
            let mut said: Vec<String> =
                new.iter().take(3).map(|&(node, thread)| choice(verifier, module, node, thread, ivr)).collect();
            if new.len() > 3 {
                said.push(format!("and {} more", new.len() - 3));
            }
            if said.is_empty() {
                said.push("the same schedules with further executions".to_owned());
            }
            said
        }
    }
}

/// The first result: who goes when, along one way through the tree.
fn first(verifier: &Verifier, ivr: &Ivr) -> String {
    let mut turns: Vec<ThreadId> = Vec::new();
    let mut loop_start = None;
    let mut seen: Vec<(NodeId, usize)> = Vec::new();
    let mut node = verifier.art.root();
    loop {
        if let Some(by) = verifier.art.nodes[node].covered_by {
            node = by;
        }
        if let Some(&(_, at)) = seen.iter().find(|(n, _)| *n == node) {
            loop_start = Some(at);
            break;
        }
        let Some(thread) = ivr.permitted[node].iter().next() else { break };
        if turns.last() != Some(&thread) {
            turns.push(thread);
        }
        seen.push((node, turns.len() - 1));
        let next = verifier.art.by(node, thread).find(|&child| !verifier.is_false(child));
        let Some(child) = next else { break };
        node = child;
    }
    let name = |t: &ThreadId| verifier.program.threads[*t].name.clone();
    match loop_start {
        Some(at) => {
            let around: Vec<String> = turns[at..].iter().map(name).collect();
            let mut names = around.clone();
            names.dedup();
            if names.len() > 1 && names.first() == names.last() {
                names.pop();
            }
            match names.as_slice() {
                [one] => format!("{one} goes on and on"),
                _ => format!("{} take turns", list(&names)),
            }
        }
        None => format!("{}, one after the other", list(&turns.iter().map(name).collect::<Vec<_>>())),
    }
}

/// Nodes of the last result at which another thread may go now.
fn new_choices(ivr: &Ivr, last: &Ivr) -> Vec<(NodeId, ThreadId)> {
    let mut found = Vec::new();
    for (node, &threads) in ivr.permitted.iter() {
        let before = last.permitted.get(node).copied().unwrap_or_default();
        if before.is_empty() {
            continue;
        }
        found.extend(threads.iter().filter(|&thread| !before.has(thread)).map(|thread| (node, thread)));
    }
    found
}

fn choice(verifier: &Verifier, module: &Module, node: NodeId, thread: ThreadId, ivr: &Ivr) -> String {
    let name = |t: ThreadId| verifier.program.threads[t].name.clone();
    let at = |t: ThreadId| {
        let location = verifier.art.nodes[node].locations[t.index()];
        let data = &verifier.program.locations[location];
        let what = data.transitions.first().map(|&r| verifier.program.transitions[r].text.clone()).unwrap_or_default();
        let what = what.split("; [").next().unwrap_or_default().to_owned();
        let line = module.locs[data.loc].line;
        if line == 0 { format!("`{what}`") } else { format!("`{what}` (line {line})") }
    };
    let others: Vec<String> =
        ivr.permitted[node].iter().filter(|&t| t != thread).map(|t| format!("{} does {}", name(t), at(t))).collect();
    format!("{} may do {} before {}", name(thread), at(thread), list(&others))
}

fn list(names: &[String]) -> String {
    match names {
        [] => "the others".to_owned(),
        [one] => one.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

/// What is wrong, and where.
pub fn wrong(found: &Counterexample, module: &Module) -> String {
    match &found.error {
        None => "deadlock: no thread can go on".to_owned(),
        Some(error) => {
            let place = place(module, error.loc);
            if place.is_empty() { error.message.clone() } else { format!("{place}: {}", error.message) }
        }
    }
}

/// Where each thread waits at the end of a counterexample that is a deadlock.
pub fn waits(verifier: &Verifier, module: &Module, found: &Counterexample) -> Vec<String> {
    if found.error.is_some() {
        return Vec::new();
    }
    let mut said = Vec::new();
    for (thread, data) in verifier.program.threads.iter() {
        let location = &verifier.program.locations[verifier.art.nodes[found.node].locations[thread.index()]];
        if location.place != Place::Code {
            continue;
        }
        let transition = location.transitions.first().map(|&r| &verifier.program.transitions[r]);
        let at = place(module, transition.map_or(location.loc, |transition| transition.loc));
        let at = if at.is_empty() { String::new() } else { format!(" at {at}") };
        let what = match transition {
            None if location.assumes => "an assumption that never holds".to_owned(),
            None => "something that never comes".to_owned(),
            Some(transition) => transition.text.split("; [").next().unwrap_or_default().to_owned(),
        };
        said.push(format!("{} waits{at}: {what}", data.name));
    }
    said
}

/// Whether a thread waits for an assumption at the end of a counterexample that is a deadlock.
pub fn waits_for_assumption(verifier: &Verifier, found: &Counterexample) -> bool {
    let assumes =
        |thread: ThreadId| verifier.program.locations[verifier.art.nodes[found.node].locations[thread.index()]].assumes;
    found.error.is_none() && verifier.program.threads.keys().any(assumes)
}

/// What `verify` and `check` make of assumptions.
pub const DECLARED: &str = "an assumption is a constraint that a thread waits for (as a lock is); \
     `selvedge check` leaves executions out in which one does not hold";

/// Why a schedule of the program could not be enforced, and where, if so.
pub fn not_enforced(verifier: &Verifier, module: &Module) -> Option<String> {
    for data in verifier.program.transitions.values() {
        for step in &data.steps {
            let what = match step.kind {
                StepKind::Piece => "several shared variables are copied as a block",
                StepKind::Return => "a function returns whose variables other threads may use",
                _ => continue,
            };
            let at = place(module, module.functions[step.func].insts[step.inst].loc);
            return Some(if at.is_empty() { what.to_owned() } else { format!("{at}: {what}") });
        }
    }
    None
}

/// The steps of a counterexample.
pub fn interleaving(verifier: &Verifier, module: &Module, found: &Counterexample) -> Vec<String> {
    let path = verifier.art.path(found.node);
    let steps: Vec<String> = path
        .iter()
        .filter_map(|&node| verifier.art.nodes[node].parent)
        .map(|edge| {
            let data = &verifier.program.transitions[edge.transition];
            let line = module.locs[data.loc].line;
            format!("{:>4}  {}: {}", line, verifier.program.threads[edge.thread].name, data.text)
        })
        .collect();
    if steps.len() <= 2 * SHOWN {
        return steps;
    }
    let left_out = format!("      ... {} more steps ...", steps.len() - 2 * SHOWN);
    let mut shown = steps[..SHOWN].to_vec();
    shown.push(left_out);
    shown.extend_from_slice(&steps[steps.len() - SHOWN..]);
    shown
}

/// What the answer means.
pub fn answer(ended: &Ended, safe: u32, wrong: usize) -> String {
    let so_far = || match (safe, wrong) {
        (0, 0) => "nothing was shown so far".to_owned(),
        (0, wrong) => format!("{}, no safe schedule so far", plural(wrong, "counterexample")),
        (safe, 0) => format!("{} and no counterexample so far", plural(safe as usize, "safe schedule")),
        (safe, wrong) => {
            format!("{}, {} so far", plural(safe as usize, "safe schedule"), plural(wrong, "counterexample"))
        }
    };
    match ended {
        Ended::Verdict(Verdict::Safe) => "no execution goes wrong, under any schedule and for any input".to_owned(),
        Ended::Verdict(Verdict::PartiallySafe) => {
            "there are executions that go wrong, and a schedule that avoids them for all inputs".to_owned()
        }
        Ended::Verdict(Verdict::Unsafe) => "every schedule goes wrong for some input".to_owned(),
        Ended::Enough => format!("{}; more with --ivrs N or --complete", so_far()),
        Ended::Halt(halt) => format!("{}; stopped: {}", so_far(), reason(*halt)),
    }
}

fn reason(halt: Halt) -> &'static str {
    match halt {
        Halt::Solver => "the solver gave up on a question (--solver-time)",
        Halt::Projection => "an input could not be removed from a formula",
        Halt::Time => "the time is up",
        Halt::Interrupted => "interrupted",
        Halt::Nodes => "the tree is too large",
        Halt::Stuck => "nothing goes wrong, but no schedule goes on: an assumption never holds",
    }
}

fn plural(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}
