//! Mutexes and spin locks.
//!
//! A mutex is the word at its address: 0 if it is free, 1 if it was destroyed, and the number of the thread that holds
//! it plus 2. Locking is an exchange that waits for a word of at most 1, so one comparison lets both a free mutex and
//! a destroyed one through, and the latter is reported. Unlocking is a store of 0. Zeros are `PTHREAD_MUTEX_INITIALIZER`,
//! so a static mutex needs no initialisation.
//!
//! Who holds what is a fact of the holding thread, with a count for recursive mutexes. Therefore unlocking needs no
//! look at memory, and a thread knows by itself that it locks twice: a recursive mutex counts, an error-checking one
//! gives `EDEADLK`, and a normal one waits for itself forever, which the engine reports as a deadlock.
//!
//! The kind of a mutex stands where the GNU C library has it, at offset 16, so that its static initialisers for other
//! kinds work. It is read without an Op: only initialisation writes it, and it is looked at only by a thread that holds
//! the mutex (thus behind the initialisation) or that misuses it.
//!
//! `timedlock` fails if the mutex is held when it comes to its turn. Waiting and getting the mutex later is the same as
//! coming later, so all behaviours of any timeout are covered.

use super::call::{Answer, Call, initial, int, models, until, word};
use super::clock;
use super::errno::{EBUSY, EDEADLK, EINVAL, EPERM, ETIMEDOUT, thrd_status};
use super::facts::MUTEX;
use crate::{AccessKind, Addr, Purpose};
use selvedge_ir::{CmpOp, Order, RmwOp};

models! {
    "pthread_mutex_init" | "__pthread_mutex_init" / 2 => init,
    "pthread_mutex_lock" | "__pthread_mutex_lock" / 1 => |c| lock(c, c.ptr(0)),
    "pthread_mutex_trylock" | "__pthread_mutex_trylock" / 1 => |c| attempt(c, c.ptr(0), EBUSY),
    "pthread_mutex_timedlock" / 2 => |c| attempt_until(c, c.ptr(1)),
    "pthread_mutex_clocklock" / 3 => |c| attempt_until(c, c.ptr(2)),
    "pthread_mutex_unlock" | "__pthread_mutex_unlock" / 1 => |c| unlock(c, c.ptr(0)),
    "pthread_mutex_destroy" | "__pthread_mutex_destroy" / 1 => |c| destroy(c, c.ptr(0)),
    "pthread_mutex_consistent" / 1 => |c| c.unsupported("robust mutexes"),
    "mtx_init" / 2 => mtx_init,
    "mtx_lock" / 1 => |c| lock(c, c.ptr(0)).map(thrd_status),
    "mtx_trylock" / 1 => |c| attempt(c, c.ptr(0), EBUSY).map(thrd_status),
    "mtx_timedlock" / 2 => |c| attempt_until(c, c.ptr(1)).map(thrd_status),
    "mtx_unlock" / 1 => |c| unlock(c, c.ptr(0)).map(thrd_status),
    "mtx_destroy" / 1 => |c| destroy(c, c.ptr(0)),
    "pthread_spin_init" / 2 => |c| start(c, c.ptr(0)),
    "pthread_spin_lock" / 1 => |c| acquire(c, c.ptr(0)),
    "pthread_spin_trylock" / 1 => spin_trylock,
    "pthread_spin_unlock" / 1 => spin_unlock,
    "pthread_spin_destroy" / 1 => |c| destroy(c, c.ptr(0)),
}

const FREE: u64 = 0;
const DESTROYED: u64 = 1;

/// Kinds, by their numbers in the GNU C library; 3 is an adaptive mutex, which is a normal one here.
pub(super) const NORMAL: u64 = 0;
const RECURSIVE: u64 = 1;
const ERRORCHECK: u64 = 2;
const KIND_OFFSET: u64 = 16;

fn held_by_me(call: &Call<'_>) -> u64 {
    call.thread_index() + 2
}

fn kind(call: &mut Call<'_>, mutex: Addr) -> Answer {
    // The upper bits of the GNU library's word are about priorities.
    call.peek(mutex.plus(KIND_OFFSET)).map(|kind| kind & 3)
}

/// `pthread_mutex_lock`.
pub(super) fn lock(call: &mut Call<'_>, mutex: Addr) -> Answer {
    let held = call.fact(MUTEX, mutex.0)?;
    if held > 0 {
        match kind(call, mutex)? {
            RECURSIVE => return call.set_fact(MUTEX, mutex.0, held + 1).map(|()| 0),
            ERRORCHECK => return Ok(int(EDEADLK)),
            _ => {}
        }
    }
    acquire(call, mutex)
}

/// Waits for the word to be free and takes it.
fn acquire(call: &mut Call<'_>, mutex: Addr) -> Answer {
    let take = AccessKind::Rmw { op: RmwOp::Xchg, operand: held_by_me(call), used: true };
    let access = word(mutex, take, Order::Acquire, Purpose::Lock);
    if call.access(until(access, CmpOp::Ule, DESTROYED))? == DESTROYED {
        return call.misuse(mutex, "`{}` is locked after it was destroyed");
    }
    call.set_fact(MUTEX, mutex.0, 1)?;
    Ok(0)
}

/// Takes the mutex if it is free; otherwise gives `failure`.
fn attempt(call: &mut Call<'_>, mutex: Addr, failure: i32) -> Answer {
    let held = call.fact(MUTEX, mutex.0)?;
    if held > 0 {
        return match kind(call, mutex)? {
            RECURSIVE => call.set_fact(MUTEX, mutex.0, held + 1).map(|()| 0),
            ERRORCHECK if failure == ETIMEDOUT => Ok(int(EDEADLK)),
            _ => Ok(int(failure)),
        };
    }
    attempt_word(call, mutex, failure)
}

fn attempt_until(call: &mut Call<'_>, deadline: Addr) -> Answer {
    let result = attempt(call, call.ptr(0), ETIMEDOUT)?;
    clock::timed(call, result, deadline)
}

fn attempt_word(call: &mut Call<'_>, mutex: Addr, failure: i32) -> Answer {
    let take = AccessKind::Cas { expected: FREE, new: held_by_me(call), failure: Order::Relaxed };
    match call.access(word(mutex, take, Order::Acquire, Purpose::Lock))? {
        FREE => call.set_fact(MUTEX, mutex.0, 1).map(|()| 0),
        DESTROYED => call.misuse(mutex, "`{}` is locked after it was destroyed"),
        _ => Ok(int(failure)),
    }
}

/// `pthread_mutex_unlock`.
pub(super) fn unlock(call: &mut Call<'_>, mutex: Addr) -> Answer {
    match call.fact(MUTEX, mutex.0)? {
        0 => match not_held(call, mutex)? {
            NORMAL => call.misuse(mutex, "`{}` is unlocked by a thread that does not hold it"),
            _ => Ok(int(EPERM)),
        },
        1 => release(call, mutex),
        held => call.set_fact(MUTEX, mutex.0, held - 1).map(|()| 0),
    }
}

/// The kind of a mutex that the thread does not hold, with adaptive ones counted as normal.
pub(super) fn not_held(call: &mut Call<'_>, mutex: Addr) -> Answer {
    // So that a null pointer or a freed mutex is reported as what it is.
    call.effect(|host| host.is_visible(mutex, 4).map(u64::from))?;
    match kind(call, mutex)? {
        kind @ (RECURSIVE | ERRORCHECK) => Ok(kind),
        _ => Ok(NORMAL),
    }
}

fn release(call: &mut Call<'_>, mutex: Addr) -> Answer {
    call.access(word(mutex, AccessKind::Store { value: FREE }, Order::Release, Purpose::Unlock))?;
    call.set_fact(MUTEX, mutex.0, 0)?;
    Ok(0)
}

fn init(call: &mut Call<'_>) -> Answer {
    let (mutex, attr) = (call.ptr(0), call.ptr(1));
    let kind = if attr.0 == 0 { NORMAL } else { call.load(attr, 4)? };
    initialise(call, mutex, kind)
}

fn initialise(call: &mut Call<'_>, mutex: Addr, kind: u64) -> Answer {
    start(call, mutex)?;
    call.poke(mutex.plus(KIND_OFFSET), kind)?;
    Ok(0)
}

/// Makes the word free.
fn start(call: &mut Call<'_>, mutex: Addr) -> Answer {
    if call.fact(MUTEX, mutex.0)? > 0 {
        return call.misuse(mutex, "`{}` is initialised while it is held");
    }
    call.access(initial(mutex, FREE))?;
    Ok(0)
}

fn destroy(call: &mut Call<'_>, mutex: Addr) -> Answer {
    let mark = AccessKind::Rmw { op: RmwOp::Xchg, operand: DESTROYED, used: true };
    match call.access(word(mutex, mark, Order::AcqRel, Purpose::Sync))? {
        FREE => Ok(0),
        DESTROYED => call.misuse(mutex, "`{}` is destroyed twice"),
        _ => call.misuse(mutex, "`{}` is destroyed while it is held"),
    }
}

fn mtx_init(call: &mut Call<'_>) -> Answer {
    // mtx_plain is 0, mtx_recursive 1, mtx_timed 2; every mutex can be timed.
    let kind = match call.int(1) {
        0 | 2 => NORMAL,
        1 | 3 => RECURSIVE,
        _ => return Ok(thrd_status(int(EINVAL))),
    };
    initialise(call, call.ptr(0), kind)
}

fn spin_trylock(call: &mut Call<'_>) -> Answer {
    let lock = call.ptr(0);
    match call.fact(MUTEX, lock.0)? {
        0 => attempt_word(call, lock, EBUSY),
        _ => Ok(int(EBUSY)),
    }
}

fn spin_unlock(call: &mut Call<'_>) -> Answer {
    let lock = call.ptr(0);
    match call.fact(MUTEX, lock.0)? {
        0 => call.misuse(lock, "`{}` is unlocked by a thread that does not hold it"),
        _ => release(call, lock),
    }
}

#[cfg(test)]
mod tests {
    use crate::models::Step;
    use crate::models::testing::Fake;
    use crate::{Access, AccessKind, Addr, Cond, Op, Purpose, ThreadId, ViolationKind};
    use selvedge_ir::{CmpOp, EntityRef, Order, RmwOp};

    fn access(addr: Addr, kind: AccessKind, order: Order, purpose: Purpose) -> Access {
        Access { purpose, ..Access::new(addr, 4, order, kind) }
    }

    #[test]
    fn a_visible_mutex_is_an_exchange_that_waits_and_a_store() {
        let mut host = Fake::with_threads();
        host.thread = ThreadId::new(3);
        let mutex = host.global(40);
        assert_eq!(host.call("pthread_mutex_lock", &[mutex.0]), 0);
        assert_eq!(host.load(mutex, 4), 5);
        assert_eq!(host.call("pthread_mutex_unlock", &[mutex.0]), 0);
        let take = AccessKind::Rmw { op: RmwOp::Xchg, operand: 5, used: true };
        let lock =
            Access { until: Some(Cond::new(CmpOp::Ule, 1)), ..access(mutex, take, Order::Acquire, Purpose::Lock) };
        let unlock = access(mutex, AccessKind::Store { value: 0 }, Order::Release, Purpose::Unlock);
        assert_eq!(host.ops, [Op::Access(lock), Op::Access(unlock)]);
    }

    #[test]
    fn a_private_mutex_needs_no_op_unless_its_owner_waits_for_itself() {
        let mut host = Fake::new();
        let mutex = host.heap(40);
        host.call("pthread_mutex_init", &[mutex.0, 0]);
        host.call("pthread_mutex_lock", &[mutex.0]);
        assert!(host.ops.is_empty());
        let step = host.run("pthread_mutex_lock", &[mutex.0]).unwrap();
        assert!(matches!(step, Step::Yield(Op::Access(Access { until: Some(_), .. }))), "{step:?}");
    }

    #[test]
    fn kinds_differ_when_the_owner_comes_again() {
        for (kind, again, try_again, foreign) in [(1, 0, 0, 1), (2, 35, 16, 1)] {
            let mut host = Fake::with_threads();
            let mutex = host.global(40);
            host.store(Addr(mutex.0 + 16), 4, kind); // As a static initialiser does.
            assert_eq!(host.call("pthread_mutex_unlock", &[mutex.0]), foreign, "EPERM");
            assert_eq!(host.call("pthread_mutex_lock", &[mutex.0]), 0);
            assert_eq!(host.call("pthread_mutex_lock", &[mutex.0]), again);
            assert_eq!(host.call("pthread_mutex_trylock", &[mutex.0]), try_again);
            while host.load(mutex, 4) != 0 {
                assert_eq!(host.call("pthread_mutex_unlock", &[mutex.0]), 0);
            }
            assert_eq!(host.ops.len(), 2, "only the outermost lock and unlock are visible");
        }
    }

    #[test]
    fn attributes_give_the_kind() {
        let mut host = Fake::new();
        let (mutex, attr) = (host.heap(40), host.heap(4));
        host.call("pthread_mutexattr_init", &[attr.0]);
        host.call("pthread_mutexattr_settype", &[attr.0, 1]);
        host.call("pthread_mutex_init", &[mutex.0, attr.0]);
        assert_eq!(host.call("pthread_mutex_lock", &[mutex.0]), 0);
        assert_eq!(host.call("pthread_mutex_lock", &[mutex.0]), 0);
        assert_eq!(host.call("pthread_mutexattr_settype", &[attr.0, 9]), 22);
    }

    #[test]
    fn what_is_held_by_another_thread_is_busy_or_times_out() {
        let mut host = Fake::with_threads();
        let (mutex, deadline) = (host.global(40), host.global(16));
        host.store(mutex, 4, 7);
        assert_eq!(host.call("pthread_mutex_trylock", &[mutex.0]), 16);
        assert_eq!(host.call("pthread_mutex_timedlock", &[mutex.0, deadline.0]), 110);
        assert_eq!(host.call("mtx_trylock", &[mutex.0]), 1);
        assert_eq!(host.call("mtx_timedlock", &[mutex.0, deadline.0]), 4);
        assert!(matches!(host.run("pthread_mutex_lock", &[mutex.0]), Ok(Step::Yield(_))));
    }

    #[test]
    fn misuse_is_a_violation() {
        let mut host = Fake::with_threads();
        let mutex = host.global(40);
        let (kind, message) = host.violation("pthread_mutex_unlock", &[mutex.0]);
        assert_eq!(kind, ViolationKind::LockMisuse);
        assert!(message.contains("`m`"), "{message}");
        host.call("pthread_mutex_lock", &[mutex.0]);
        assert_eq!(host.violation("pthread_mutex_destroy", &[mutex.0]).0, ViolationKind::LockMisuse);
        let mutex = host.global(40);
        host.call("pthread_mutex_destroy", &[mutex.0]);
        for name in ["pthread_mutex_lock", "pthread_mutex_trylock", "pthread_mutex_destroy"] {
            assert_eq!(host.load(mutex, 4), 1);
            assert_eq!(host.violation(name, &[mutex.0]).0, ViolationKind::LockMisuse, "{name}");
            host.store(mutex, 4, 1);
        }
        host.call("pthread_mutex_init", &[mutex.0, 0]);
        assert_eq!(host.call("pthread_mutex_lock", &[mutex.0]), 0);
        let never = host.heap(40);
        assert_eq!(host.violation("pthread_mutex_lock", &[never.0]).0, ViolationKind::UninitialisedRead);
        assert_eq!(host.violation("pthread_mutex_unlock", &[0]).0, ViolationKind::InvalidPointer);
    }

    #[test]
    fn spin_locks_do_not_look_behind_their_word() {
        let mut host = Fake::new();
        let lock = host.heap(4);
        host.call("pthread_spin_init", &[lock.0, 0]);
        assert_eq!(host.call("pthread_spin_lock", &[lock.0]), 0);
        assert_eq!(host.call("pthread_spin_trylock", &[lock.0]), 16);
        assert_eq!(host.call("pthread_spin_unlock", &[lock.0]), 0);
        assert_eq!(host.violation("pthread_spin_unlock", &[lock.0]).0, ViolationKind::LockMisuse);
    }
}
