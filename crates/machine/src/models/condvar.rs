//! Condition variables.
//!
//! To wait is four steps: the thread enters the set of waiting threads (`CondWait`), releases the mutex, comes back
//! (`CondWake`), and takes the mutex again. Between the first two it still holds the mutex, so nobody who plays by the
//! rules can signal before it waits; a signal without the mutex finds it waiting.
//!
//! A timed wait may come back at any time, and then gives `ETIMEDOUT`. With spurious wake-ups switched on every wait
//! may, and a timed one that does chooses which of the two it was.
//!
//! Only a signal that nobody can be waiting for, because no other thread can reach the condition variable, is not an Op.
//!
//! The word at the start of the object says whether it was destroyed. It is looked at without an Op, for the sake of a
//! clear error: whoever signals while another thread destroys has a race that the program has to exclude anyway.

use super::call::{Answer, Call, initial, int, models};
use super::errno::{EPERM, ETIMEDOUT, thrd_status};
use super::facts::MUTEX;
use super::{clock, mutex};
use crate::{Addr, Op};

models! {
    "pthread_cond_init" | "__pthread_cond_init" / 1 => |c| init(c, c.ptr(0)),
    "pthread_cond_destroy" | "__pthread_cond_destroy" / 1 => |c| destroy(c, c.ptr(0)),
    "pthread_cond_wait" | "__pthread_cond_wait" / 2 => |c| wait(c, c.ptr(0), c.ptr(1), None),
    "pthread_cond_timedwait" / 3 => |c| wait(c, c.ptr(0), c.ptr(1), Some(c.ptr(2))),
    "pthread_cond_clockwait" / 4 => |c| wait(c, c.ptr(0), c.ptr(1), Some(c.ptr(3))),
    "pthread_cond_signal" | "__pthread_cond_signal" / 1 => |c| signal(c, c.ptr(0)),
    "pthread_cond_broadcast" | "__pthread_cond_broadcast" / 1 => |c| broadcast(c, c.ptr(0)),
    "cnd_init" / 1 => |c| init(c, c.ptr(0)),
    "cnd_destroy" / 1 => |c| destroy(c, c.ptr(0)),
    "cnd_wait" / 2 => |c| wait(c, c.ptr(0), c.ptr(1), None).map(thrd_status),
    "cnd_timedwait" / 3 => |c| wait(c, c.ptr(0), c.ptr(1), Some(c.ptr(2))).map(thrd_status),
    "cnd_signal" / 1 => |c| signal(c, c.ptr(0)),
    "cnd_broadcast" / 1 => |c| broadcast(c, c.ptr(0)),
}

const DESTROYED: u64 = 0xdead_c0de;

/// Makes a condition variable.
pub(super) fn init(call: &mut Call<'_>, cond: Addr) -> Answer {
    call.access(initial(cond, 0))?;
    Ok(0)
}

/// Ends a condition variable.
pub(super) fn destroy(call: &mut Call<'_>, cond: Addr) -> Answer {
    check(call, cond, "`{}` is destroyed twice")?;
    call.access(initial(cond, DESTROYED))?;
    Ok(0)
}

/// Whether other threads can reach a condition variable that exists.
fn check(call: &mut Call<'_>, cond: Addr, message: &str) -> Answer<bool> {
    let visible = call.effect(|host| {
        let visible = host.is_visible(cond, 4)?;
        let thread = host.thread();
        if host.memory().load(thread, cond, 4, false).is_err() {
            // Never initialised: report it as any read of such bytes.
            host.load_private(cond, 4)?;
        }
        Ok(u64::from(visible))
    })?;
    if call.peek(cond)? == DESTROYED {
        return call.misuse(cond, message);
    }
    Ok(visible != 0)
}

/// `pthread_cond_wait`, and its timed forms.
pub(super) fn wait(call: &mut Call<'_>, cond: Addr, mutex: Addr, deadline: Option<Addr>) -> Answer {
    check(call, cond, "`{}` is waited for after it was destroyed")?;
    let held = call.fact(MUTEX, mutex.0)?;
    if held == 0 {
        return match mutex::not_held(call, mutex)? {
            mutex::NORMAL => call.misuse(mutex, "a condition variable is waited for without holding `{}`"),
            _ => Ok(int(EPERM)),
        };
    }
    let spurious = call.host.options().spurious_wakeups;
    call.op(Op::CondWait { cond })?;
    // A recursive mutex that is held more than once stays held, as in the GNU C library.
    mutex::unlock(call, mutex)?;
    let signalled = call.op(Op::CondWake { cond, early: deadline.is_some() || spurious })? != 0;
    mutex::lock(call, mutex)?;
    match deadline {
        Some(deadline) if !signalled => {
            let timed_out = !spurious || call.op(Op::Choose { alternatives: 2 })? == 0;
            clock::timed(call, if timed_out { int(ETIMEDOUT) } else { 0 }, deadline)
        }
        _ => Ok(0),
    }
}

/// `pthread_cond_signal`.
pub(super) fn signal(call: &mut Call<'_>, cond: Addr) -> Answer {
    if check(call, cond, "`{}` is signalled after it was destroyed")? {
        call.op(Op::CondSignal { cond })?;
    }
    Ok(0)
}

/// `pthread_cond_broadcast`.
pub(super) fn broadcast(call: &mut Call<'_>, cond: Addr) -> Answer {
    if check(call, cond, "`{}` is signalled after it was destroyed")? {
        call.op(Op::CondBroadcast { cond })?;
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use crate::models::testing::Fake;
    use crate::{Access, AccessKind, Op, ViolationKind};

    #[test]
    fn a_wait_is_enter_release_wake_and_take() {
        let mut host = Fake::with_threads();
        let (cond, mutex) = (host.global(48), host.global(40));
        host.call("pthread_mutex_lock", &[mutex.0]);
        host.ops.clear();
        host.outcomes = vec![0, 1];
        assert_eq!(host.call("pthread_cond_wait", &[cond.0, mutex.0]), 0);
        let [wait, release, wake, take] = host.ops[..] else { panic!("{:?}", host.ops) };
        assert_eq!((wait, wake), (Op::CondWait { cond }, Op::CondWake { cond, early: false }));
        assert!(
            matches!(release, Op::Access(Access { kind: AccessKind::Store { value: 0 }, addr, .. }) if addr == mutex)
        );
        assert!(matches!(take, Op::Access(Access { kind: AccessKind::Rmw { .. }, addr, .. }) if addr == mutex));
        assert_eq!(host.call("pthread_mutex_unlock", &[mutex.0]), 0, "it holds the mutex again");
    }

    #[test]
    fn a_timed_wait_may_time_out_and_may_be_woken_for_no_reason() {
        for (spurious, outcomes, result) in
            [(false, vec![0, 0], 110), (false, vec![0, 1], 0), (true, vec![0, 0, 0], 110), (true, vec![0, 0, 1], 0)]
        {
            let mut host = Fake::with_threads();
            host.options.spurious_wakeups = spurious;
            let (cond, mutex, deadline) = (host.global(48), host.global(40), host.string("sixteen bytes..."));
            host.call("pthread_mutex_lock", &[mutex.0]);
            host.outcomes = outcomes;
            assert_eq!(host.call("pthread_cond_timedwait", &[cond.0, mutex.0, deadline]), result);
            assert!(host.ops.contains(&Op::CondWake { cond, early: true }));
        }
    }

    #[test]
    fn a_wait_needs_the_mutex() {
        let mut host = Fake::with_threads();
        let (cond, mutex) = (host.global(48), host.global(40));
        assert_eq!(host.violation("pthread_cond_wait", &[cond.0, mutex.0]).0, ViolationKind::LockMisuse);
    }

    #[test]
    fn a_signal_that_nobody_can_wait_for_is_no_op() {
        let mut host = Fake::new();
        let cond = host.heap(48);
        assert_eq!(host.violation("pthread_cond_signal", &[cond.0]).0, ViolationKind::UninitialisedRead);
        host.call("pthread_cond_init", &[cond.0, 0]);
        host.call("pthread_cond_broadcast", &[cond.0]);
        assert!(host.ops.is_empty());
        host.call("pthread_cond_destroy", &[cond.0]);
        assert_eq!(host.violation("pthread_cond_signal", &[cond.0]).0, ViolationKind::LockMisuse);
        let mut host = Fake::with_threads();
        let cond = host.global(48);
        host.call("cnd_signal", &[cond.0]);
        host.call("cnd_broadcast", &[cond.0]);
        assert_eq!(host.ops, [Op::CondSignal { cond }, Op::CondBroadcast { cond }]);
    }

    #[test]
    fn a_recursive_mutex_that_is_held_twice_stays_held() {
        let mut host = Fake::with_threads();
        let (cond, mutex) = (host.global(48), host.global(40));
        host.store(crate::Addr(mutex.0 + 16), 4, 1);
        host.call("pthread_mutex_lock", &[mutex.0]);
        host.call("pthread_mutex_lock", &[mutex.0]);
        host.ops.clear();
        host.call("pthread_cond_wait", &[cond.0, mutex.0]);
        assert_eq!(host.ops, [Op::CondWait { cond }, Op::CondWake { cond, early: false }]);
        host.call("pthread_mutex_unlock", &[mutex.0]);
        assert_ne!(host.load(mutex, 4), 0);
        host.call("pthread_mutex_unlock", &[mutex.0]);
        assert_eq!(host.load(mutex, 4), 0);
    }
}
