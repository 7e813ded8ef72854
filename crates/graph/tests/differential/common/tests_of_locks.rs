//! Which graphs need not be explored because an exchange reads from something else than the load that has tested the
//! location before it (`explorer/tested.rs`), or that it confirms (`explorer/older_value.rs`), found out by brute force: every
//! graph of the oracle is run once more.

use selvedge_ir::{CmpOp, EntityRef, Order};
use selvedge_machine::{Access, AccessKind, Addr, Machine, Op, Status, ThreadId};
use selvedge_oracle::axiomatic::{Entry, GraphKey, Source};
use selvedge_oracle::litmus::{Expr, Inst, Program, Thread, Until, VarId};
use selvedge_oracle::machine::LitmusMachine;
use std::collections::{BTreeMap, BTreeSet};

/// A load and, directly after it, an exchange of the same location that waits, or confirms the load; and where they have read
/// which value from.
#[derive(Clone, Copy, Debug)]
struct Pair {
    load: (Access, u64, Source),
    exchange: (Access, u64, Source),
}

/// The values that a location has in any graph.
type Values = BTreeMap<Addr, BTreeSet<u64>>;

/// The graphs in which some exchange that waits could have read from what the load that has tested its location has read from,
/// but has not.
pub fn differ<'a>(program: &Program, graphs: impl Iterator<Item = &'a GraphKey> + Clone) -> BTreeSet<&'a GraphKey> {
    let mut values = Values::new();
    for entry in graphs.clone().flat_map(|key| key.threads().iter().flatten()) {
        if let Entry::Read { addr, value, .. } | Entry::Write { addr, value } = *entry {
            values.entry(addr).or_default().insert(value);
        }
    }
    with_pair(program, graphs, |pair| !pair.exchange.0.confirms && is_tested(pair, &values))
}

/// The graphs in which some exchange confirms what a load directly before it has read from another write.
pub fn confirm_others<'a>(program: &Program, graphs: impl Iterator<Item = &'a GraphKey>) -> BTreeSet<&'a GraphKey> {
    with_pair(program, graphs, |pair| pair.exchange.0.confirms && is_confirmed(pair))
}

/// The graphs with a certain pair that has read from different writes.
fn with_pair<'a>(
    program: &Program,
    graphs: impl Iterator<Item = &'a GraphKey>,
    is_it: impl Fn(&Pair) -> bool,
) -> BTreeSet<&'a GraphKey> {
    let differs = |pair: &Pair| pair.load.2 != pair.exchange.2 && is_it(pair);
    graphs.filter(|key| pairs(program, key).iter().any(differs)).collect()
}

/// Whether a load tests whether an exchange may get on: with every other value it would have to wait. If it does, so must the load:
/// otherwise there is no other execution in which the thread waits.
fn is_tested(pair: &Pair, values: &Values) -> bool {
    let ((load, value, _), (exchange, found, _)) = (pair.load, pair.exchange);
    let would_wait = |access: &Access, value| access.until.is_some_and(|until| !until.holds(value, access.size));
    let waits = |value| would_wait(&exchange, value);
    let takes = !waits(value) && exchange.written(value).is_some();
    let stands_for_it = !waits(found) || would_wait(&load, found);
    is_weaker(&load, &exchange)
        && takes
        && stands_for_it
        && values[&load.addr].iter().all(|&other| other == value || waits(other))
}

/// Whether a load orders nothing that an exchange does not.
fn is_weaker(load: &Access, exchange: &Access) -> bool {
    match load.order {
        Order::Relaxed => true,
        Order::Acquire => matches!(exchange.order, Order::Acquire | Order::AcqRel | Order::SeqCst),
        Order::SeqCst => exchange.order == Order::SeqCst,
        _ => false,
    }
}

/// Whether an exchange confirms the value that its load has found.
fn is_confirmed(pair: &Pair) -> bool {
    let ((load, value, _), (exchange, found, _)) = (pair.load, pair.exchange);
    found == value && is_weaker(&load, &exchange)
}

/// All such pairs of a graph.
fn pairs(program: &Program, key: &GraphKey) -> Vec<Pair> {
    let mut machine = LitmusMachine::new(program.clone()).expect("the program is valid");
    let _ = machine.start();
    let threads = program.threads.len();
    let mut all = Vec::new();
    let mut left: Vec<_> = (0..threads).map(|n| key.threads().get(n).map_or(&[][..], Vec::as_slice).iter()).collect();
    let mut last: Vec<Option<(Access, u64, Source)>> = vec![None; threads];
    loop {
        let mut stuck = true;
        for n in 0..threads {
            let thread = ThreadId::new(n);
            while machine.status(thread) == Status::Ready {
                let before = last[n];
                let outcome = match *machine.pending(thread) {
                    Op::Join { thread: other } if !machine.can_be_joined(other) => break,
                    Op::Access(access) => match left[n].next() {
                        Some(&Entry::Read { value, from, .. }) => {
                            let this = (access, value, from);
                            let is_exchange = matches!(access.kind, AccessKind::Rmw { .. } | AccessKind::Cas { .. });
                            let place = |access: &Access| (access.addr, access.size);
                            let fits = |load: &(Access, u64, Source)| place(&load.0) == place(&access);
                            if let Some(load) = before.filter(fits)
                                && is_exchange
                                && access.until.is_some()
                                && access.confirms == load.0.speculative.is_some()
                            {
                                all.push(Pair { load, exchange: this });
                            }
                            last[n] = matches!(access.kind, AccessKind::Load).then_some(this);
                            if access.until.is_some_and(|until| !until.holds(value, access.size)) {
                                break;
                            }
                            if access.written(value).is_some() {
                                left[n].next();
                            }
                            value
                        }
                        Some(_) => {
                            last[n] = None;
                            0
                        }
                        // It waits.
                        None => break,
                    },
                    Op::Choose { .. } => match left[n].next() {
                        Some(&Entry::Choice { value }) => {
                            last[n] = None;
                            value
                        }
                        _ => break,
                    },
                    _ => {
                        last[n] = None;
                        0
                    }
                };
                stuck = false;
                let _ = machine.resume(thread, outcome);
            }
        }
        if stuck {
            return all;
        }
    }
}

/// Whether a program does nothing with locks but what the reduction is made for, so that it must be at work: threads wait for a lock to
/// be free, take it at once, and set it free again if they have it.
pub fn is_plain(program: &Program) -> bool {
    let exchanges = |inst: &Inst| matches!(inst, Inst::Rmw { until: Some(_), .. } | Inst::Cas { until: Some(_), .. });
    let words: BTreeSet<VarId> =
        program.threads.iter().flatten().filter(|inst| exchanges(inst)).filter_map(Inst::var).collect();
    let straight = |inst: &Inst| {
        !matches!(
            inst,
            Inst::Skip { .. }
                | Inst::Repeat { .. }
                | Inst::Retry { .. }
                | Inst::Assume(_)
                | Inst::Lock { .. }
                | Inst::Unlock { .. }
                | Inst::Load { speculative: Some(_), .. }
                | Inst::Cas { confirms: true, .. }
        )
    };
    let is_straight = program.threads.iter().flatten().all(straight);
    is_straight && words.iter().all(|&word| program.threads.iter().all(|thread| is_plain_in(thread, word)))
}

fn is_plain_in(thread: &Thread, word: VarId) -> bool {
    let free = Some(Until { op: CmpOp::Eq, operand: Expr::constant(0) });
    let at = |n: usize| thread.get(n).filter(|inst| inst.var() == Some(word));
    let mut has_it = false;
    let mut n = 0;
    while n < thread.len() {
        let fits = match (at(n), at(n + 1)) {
            (None, _) => true,
            (Some(Inst::Load { order, until, .. }), Some(next)) if *until == free && !has_it => {
                has_it = true;
                n += 1;
                takes(next, free) && (*order == Order::Relaxed || Some(*order) == strongest(next))
            }
            (Some(Inst::Store { value, order, until: None, .. }), _) => {
                *value == Expr::constant(0) && order.is_atomic() && std::mem::take(&mut has_it)
            }
            _ => false,
        };
        if !fits {
            return false;
        }
        n += 1;
    }
    true
}

/// Whether an exchange takes a lock that is free, by leaving one there.
fn takes(inst: &Inst, free: Option<Until>) -> bool {
    match inst {
        Inst::Rmw { value, until, .. } => *until == free && *value == Expr::constant(1),
        Inst::Cas { expected, new, until, .. } => {
            *until == free && *expected == Expr::constant(0) && *new == Expr::constant(1)
        }
        _ => false,
    }
}

fn strongest(inst: &Inst) -> Option<Order> {
    match inst {
        Inst::Rmw { order, .. } => Some(*order),
        Inst::Cas { success, .. } => Some(*success),
        _ => None,
    }
}
