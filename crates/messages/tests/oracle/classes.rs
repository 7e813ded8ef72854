//! All interleavings of a program, and their classes.
//!
//! The classes are those of the paper, computed in the plainest way: for every maximal interleaving, which pairs of its
//! events depend on each other, and the transitive closure of that. Nothing is shared with the engine but the meaning of
//! single steps.

use super::lang::{COUNTERS, Deed, Model, Program};
use selvedge_messages::act::{Act, Touch};
use selvedge_messages::roster::{Actor, Role};
use selvedge_messages::{Accepts, Content, Delivery, Machine, Message, Pid, System};
use std::collections::{BTreeMap, BTreeSet};

/// What every process has observed, by ancestry.
pub type Result = BTreeMap<Vec<u32>, Vec<u64>>;

/// An event of a class: who, how many events it had made before, which alternative.
type Name = (Role, usize, u32);

/// A class: every event with what happens before it.
pub type Class = BTreeMap<Name, BTreeSet<Name>>;

pub struct Classes {
    pub classes: BTreeMap<Class, Result>,
    pub interleavings: usize,
}

struct Step {
    role: Role,
    index: usize,
    choice: u32,
    act: Act<Model>,
    cause: u32,
    source: u32,
}

/// Enumerates; none if there are more interleavings than the limit. Says if one class has two results.
pub fn enumerate(program: &Program, delivery: Delivery, observers: bool, limit: usize) -> Option<Classes> {
    let (mut system, stop) = System::start(Model::new(program.clone()), delivery);
    assert!(stop.is_none());
    let mut classes = Classes { classes: BTreeMap::new(), interleavings: 0 };
    let mut steps = Vec::new();
    visit(&mut system, &mut steps, observers, limit, &mut classes).then_some(classes)
}

fn visit(
    system: &mut System<Model>,
    steps: &mut Vec<Step>,
    observers: bool,
    limit: usize,
    classes: &mut Classes,
) -> bool {
    let actors: Vec<Actor> = system.actors().filter(|&actor| system.enabled(actor)).collect();
    if actors.is_empty() {
        classes.interleavings += 1;
        let class = class_of(system, steps, observers);
        let result = system.machine.histories();
        let known = classes.classes.entry(class).or_insert_with(|| result.clone());
        assert_eq!(*known, result, "one class has two results: two steps are dependent that are taken for independent");
        return classes.interleavings <= limit;
    }
    for actor in actors {
        for choice in 0..system.alternatives(actor) {
            let role = system.roster.role(actor);
            let index = steps.iter().filter(|step| step.role == role).count();
            let stepped = system.step(actor, choice);
            steps.push(Step { role, index, choice, act: stepped.act, cause: stepped.cause, source: stepped.source });
            let go_on = visit(system, steps, observers, limit, classes);
            steps.pop();
            system.undo();
            if !go_on {
                return false;
            }
        }
    }
    true
}

fn takes(system: &System<Model>, accepts: &Accepts<u8>, message: &Message<Model>) -> bool {
    match accepts {
        Accepts::Any => true,
        Accepts::Nothing => false,
        Accepts::When(mask) => system.machine.accepts(mask, message),
    }
}

fn class_of(system: &System<Model>, steps: &[Step], observers: bool) -> Class {
    let n = steps.len();
    let mut before = vec![vec![false; n]; n];
    for j in 0..n {
        for i in 0..j {
            before[i][j] = steps[i].role == steps[j].role
                || steps[j].cause == i as u32
                || steps[j].source == i as u32
                || dependent(system, steps, observers, i, j);
        }
    }
    for k in 0..n {
        for i in 0..k {
            for j in k + 1..n {
                before[i][j] |= before[i][k] && before[k][j];
            }
        }
    }
    let name = |i: usize| (steps[i].role, steps[i].index, steps[i].choice);
    (0..n).map(|j| (name(j), (0..j).filter(|&i| before[i][j]).map(name).collect())).collect()
}

/// The receive that takes what has arrived in a step.
fn taker(steps: &[Step], i: usize) -> Option<usize> {
    (i + 1..steps.len()).find(|&k| steps[k].source == i as u32)
}

/// The number of receives of the owner of a monitor before it flushes the mailbox, if it does.
fn flushed(steps: &[Step], message: &Message<Model>) -> Option<u32> {
    let Content::Down { reference, .. } = &message.content else { return None };
    steps.iter().find_map(|step| step.act.flush().filter(|flush| flush.monitor == *reference)).map(|flush| flush.limit)
}

/// Whether what a step has stored in a counter is there when somebody next does anything else than store.
fn is_seen(steps: &[Step], store: usize, counter: usize) -> bool {
    for step in &steps[store + 1..] {
        match step.act.effect() {
            Some((_, Deed::Reset)) => return false,
            Some((_, Deed::ReadAll)) => return true,
            Some((other, _)) if *other != counter => {}
            Some((_, Deed::Store(_))) => return false,
            Some(_) => return true,
            None => {}
        }
    }
    false
}

fn dependent(system: &System<Model>, steps: &[Step], observers: bool, i: usize, j: usize) -> bool {
    let (a, b) = (&steps[i].act, &steps[j].act);
    let owner = |act: &Act<Model>| act.arrival.as_ref().map(|arrival| arrival.message.to);
    // Two arrivals at one mailbox.
    if let (Some(_), Some(later)) = (&a.arrival, &b.arrival)
        && owner(a) == owner(b)
    {
        if !observers {
            return true;
        }
        if let Some(k) = taker(steps, i) {
            let receive = steps[k].act.received.as_ref().expect("a taker is a receive");
            let gone = taker(steps, j).is_some_and(|l| {
                let other = steps[l].act.received.as_ref().expect("a taker is a receive");
                other.nth < receive.nth
            });
            let flushed = flushed(steps, &later.message).is_some_and(|limit| limit <= receive.nth);
            if !gone && !flushed && takes(system, &receive.accepts, &later.message) {
                return true;
            }
        }
    }
    // A receive that timed out, and what comes too late.
    if let (Some(receive), Some(arrival)) = (&a.received, &b.arrival)
        && receive.taken.is_none()
        && receive.by == arrival.message.to
        && takes(system, &receive.accepts, &arrival.message)
        && flushed(steps, &arrival.message).is_none_or(|limit| receive.nth < limit)
    {
        return true;
    }
    let kills = |x: &Act<Model>, y: &Act<Model>| x.kills().is_some() && x.kills() == y.own;
    let counts = |x: &Act<Model>, y: &Act<Model>| {
        let taken = y.received.as_ref().filter(|received| received.taken.is_some());
        let received: Option<Pid> = taken.map(|received| received.by);
        let flushed = y.own.filter(|_| y.flush().is_some());
        x.counts().is_some() && (x.counts() == owner(y) || x.counts() == received || x.counts() == flushed)
    };
    let cells = a.touched().iter().any(|(cell, x)| {
        b.touched().iter().any(|(other, y)| {
            cell == other && !(*x == Touch::Read && *y == Touch::Read) && !(*x == Touch::Add && *y == Touch::Add)
        })
    });
    let effects = match (a.effect(), b.effect()) {
        (Some(x), Some(y)) if !observers => !system.machine.commute(x, y),
        (Some(&(x, Deed::Store(_))), Some(&(y, Deed::Store(_)))) => x == y && is_seen(steps, j, y),
        // One that stores what is there already still hides what others have stored.
        (Some(&(x, Deed::Store(_))), Some(&(_, Deed::Reset)))
        | (Some(&(_, Deed::Reset)), Some(&(x, Deed::Store(_)))) => x < COUNTERS,
        (Some(x), Some(y)) => !system.machine.commute(x, y),
        _ => false,
    };
    kills(a, b) || kills(b, a) || counts(a, b) || counts(b, a) || cells || effects
}
