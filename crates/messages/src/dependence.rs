//! When two steps of an execution depend on each other.
//!
//! Steps conflict *hard* if swapping them changes something whatever comes later. Two arrivals at the same mailbox conflict
//! *if observed* (Optimal DPOR with Observers, Sec. 6, "Observers in Concuerror"): `D1` before `D2` depend on each other
//! iff `D1` was taken by a receive, the observer, that would also have taken `D2`, had it been there first, and `D2` was
//! not gone by then. Two stores of the same thing by shared operations, too, conflict *if observed* (ibid., "Observers in
//! Nidhugg"): `S1` before `S2` depend on each other iff the next operation that has to do with what `S2` has stored looks at
//! it. Without observers (the column `optimal` of the paper) both always conflict.
//!
//! | steps | dependent iff |
//! |---|---|
//! | arrival `D1`, arrival `D2` at the same mailbox | observed, see above |
//! | arrival, the receive that takes it | always; can be reversed only if the receive has a timeout |
//! | receive that timed out, arrival at that mailbox | the receive accepts it, and no flush comes between |
//! | receive that took something, another arrival | never |
//! | exit signal that ends `q`, any step of `q` itself | always |
//! | two exit signals to `q` of which one ends it and the other would have | always |
//! | touches of the same cell | unless both read, or both change elements of a set |
//! | store `S1`, store `S2` of the same thing | observed, see above |
//! | other shared operations | the front end says so |
//! | query of a queue's length, arrival or receive there | always |
//!
//! An arrival at a process that has ended, or is about to, depends on its end in no way: nobody takes the message.

use crate::act::{Act, Received, Touch};
use crate::{Accepts, Access, Machine, Message};

/// Whether a receive would take a message.
#[inline]
pub fn accepts<M: Machine>(machine: &M, received: &Received<M>, message: &Message<M>) -> bool {
    match &received.accepts {
        Accepts::Any => true,
        Accepts::Nothing => false,
        Accepts::When(predicate) => machine.accepts(predicate, message),
    }
}

/// Whether a receive that timed out would have taken what has arrived, with this limit to the receives that could.
#[inline]
fn missed<M: Machine>(machine: &M, receive: &Act<M>, arrival: &Act<M>, limit: u32) -> bool {
    match (&receive.received, &arrival.arrival) {
        (Some(received), Some(arrival)) => {
            received.taken.is_none()
                && received.timeout
                && received.by == arrival.message.to
                && received.nth < limit
                && accepts(machine, received, &arrival.message)
        }
        _ => false,
    }
}

/// Whether two steps conflict, whatever comes later. `observers`: arrivals and stores do not, by themselves. The limits say
/// which receives could take what the steps have brought.
#[inline]
pub fn conflict<M: Machine>(machine: &M, observers: bool, (a, m): (&Act<M>, u32), (b, n): (&Act<M>, u32)) -> bool {
    if !observers && a.mailbox().is_some() && a.mailbox() == b.mailbox() {
        return true;
    }
    missed(machine, a, b, n) || missed(machine, b, a, m) || conflict_elsewhere(machine, observers, a, b)
}

/// Whether two steps conflict by something else than messages.
#[inline]
pub fn conflict_elsewhere<M: Machine>(machine: &M, observers: bool, a: &Act<M>, b: &Act<M>) -> bool {
    if a.is_plain() && b.is_plain() {
        return false;
    }
    ends(a, b) || ends(b, a) || counts(a, b) || counts(b, a) || cells(a, b) || effects(machine, observers, a, b)
}

/// Whether `a` ends the process whose step `b` is.
#[inline]
fn ends<M: Machine>(a: &Act<M>, b: &Act<M>) -> bool {
    a.kills().is_some() && a.kills() == b.own
}

#[inline]
fn counts<M: Machine>(a: &Act<M>, b: &Act<M>) -> bool {
    let takes = b.received.as_ref().is_some_and(|received| received.taken.is_some()) || b.flush().is_some();
    a.counts().is_some() && (a.counts() == b.mailbox() || (takes && a.counts() == b.own))
}

#[inline]
fn cells<M: Machine>(a: &Act<M>, b: &Act<M>) -> bool {
    let commute = |x: Touch, y: Touch| x == y && x != Touch::Write;
    a.touched().iter().any(|&(cell, x)| b.touched().iter().any(|&(other, y)| cell == other && !commute(x, y)))
}

#[inline]
fn effects<M: Machine>(machine: &M, observers: bool, a: &Act<M>, b: &Act<M>) -> bool {
    match (a.effect(), b.effect()) {
        (Some(_), Some(_)) if observers && overwrite_each_other(machine, a, b) => false,
        // A store and another operation on that conflict even if both write the same: who is last has to be known.
        (Some(_), Some(_))
            if observers && (access(machine, a, b) != Access::Apart || access(machine, b, a) != Access::Apart) =>
        {
            true
        }
        (Some(a), Some(b)) => !machine.commute(a, b),
        _ => false,
    }
}

/// Whether an act is a store.
#[inline]
pub fn is_store<M: Machine>(machine: &M, act: &Act<M>) -> bool {
    act.effect().is_some_and(|effect| machine.is_store(effect))
}

/// What `later` is to `store`; nothing, if that is no store.
#[inline]
pub fn access<M: Machine>(machine: &M, later: &Act<M>, store: &Act<M>) -> Access {
    match (later.effect(), store.effect()) {
        (Some(later), Some(store)) if machine.is_store(store) => machine.access(later, store),
        _ => Access::Apart,
    }
}

/// Whether both are stores of the same thing.
#[inline]
pub fn overwrite_each_other<M: Machine>(machine: &M, a: &Act<M>, b: &Act<M>) -> bool {
    is_store(machine, a) && access(machine, a, b) == Access::Overwrites && is_store(machine, b)
}

/// Whether the arrival `first`, taken by `taker`, and a later arrival with this limit conflict: the receive would have
/// taken the later one instead.
#[inline]
pub fn observed<M: Machine>(machine: &M, taker: &Received<M>, later: &Act<M>, limit: u32) -> bool {
    match &later.arrival {
        Some(arrival) => {
            arrival.message.to == taker.by && taker.nth < limit && accepts(machine, taker, &arrival.message)
        }
        None => false,
    }
}

/// Whether `e`, which comes before `f`, only reads what it conflicts with: then `f` does the same without it.
pub fn only_reads<M: Machine>(e: &Act<M>, f: &Act<M>) -> bool {
    let reads = |&(cell, touch): &(_, Touch)| {
        touch == Touch::Read || !f.touched().iter().any(|&(other, y)| cell == other && !(touch == y && y == Touch::Add))
    };
    !ends(e, f) && !ends(f, e) && e.effect().is_none() && e.touched().iter().all(reads) && f.counts().is_none()
}
