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
use super::mutex;
use crate::{Addr, Op};

models! {
    "pthread_cond_init" | "__pthread_cond_init" / 1 => |c| init(c, c.ptr(0)),
    "pthread_cond_destroy" | "__pthread_cond_destroy" / 1 => |c| destroy(c, c.ptr(0)),
    "pthread_cond_wait" | "__pthread_cond_wait" / 2 => |c| wait(c, c.ptr(0), c.ptr(1), false),
    "pthread_cond_timedwait" / 3 => |c| wait(c, c.ptr(0), c.ptr(1), true),
    "pthread_cond_clockwait" / 4 => |c| wait(c, c.ptr(0), c.ptr(1), true),
    "pthread_cond_signal" | "__pthread_cond_signal" / 1 => |c| signal(c, c.ptr(0)),
    "pthread_cond_broadcast" | "__pthread_cond_broadcast" / 1 => |c| broadcast(c, c.ptr(0)),
    "cnd_init" / 1 => |c| init(c, c.ptr(0)),
    "cnd_destroy" / 1 => |c| destroy(c, c.ptr(0)),
    "cnd_wait" / 2 => |c| wait(c, c.ptr(0), c.ptr(1), false).map(thrd_status),
    "cnd_timedwait" / 3 => |c| wait(c, c.ptr(0), c.ptr(1), true).map(thrd_status),
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
pub(super) fn wait(call: &mut Call<'_>, cond: Addr, mutex: Addr, timed: bool) -> Answer {
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
    let signalled = call.op(Op::CondWake { cond, early: timed || spurious })? != 0;
    mutex::lock(call, mutex)?;
    if signalled || !timed {
        return Ok(0);
    }
    let timed_out = !spurious || call.op(Op::Choose { alternatives: 2 })? == 0;
    Ok(if timed_out { int(ETIMEDOUT) } else { 0 })
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
