//! Attributes of threads, mutexes, condition variables, read-write locks and barriers, and of scheduling.
//!
//! The layout of an attribute object is our own; the first word holds what matters: whether a thread is detached, the
//! kind of a mutex. Everything else (stack sizes, priorities, clocks, sharing between processes) has no influence on
//! which schedules there are, so it is kept only where it can be asked for. A robust mutex would have, and is not
//! supported.

use super::call::{Answer, Call, int, models};
use super::errno::EINVAL;
use crate::Addr;

models! {
    "pthread_attr_init" / 1 => attr_init,
    "pthread_attr_destroy" / 1 => nothing,
    "pthread_attr_setdetachstate" / 2 => |c| set_if(c, FIRST, 1),
    "pthread_attr_getdetachstate" / 2 => |c| get(c, FIRST, 4),
    "pthread_attr_setstacksize" / 2 => |c| put(c, STACK_SIZE, 8),
    "pthread_attr_getstacksize" / 2 => |c| get(c, STACK_SIZE, 8),
    "pthread_attr_setguardsize" / 2 => |c| put(c, GUARD_SIZE, 8),
    "pthread_attr_getguardsize" / 2 => |c| get(c, GUARD_SIZE, 8),
    "pthread_attr_setscope" / 2 => |c| put(c, SCOPE, 4),
    "pthread_attr_getscope" / 2 => |c| get(c, SCOPE, 4),
    "pthread_attr_setschedpolicy" / 2 => |c| put(c, POLICY, 4),
    "pthread_attr_getschedpolicy" / 2 => |c| get(c, POLICY, 4),
    "pthread_attr_setinheritsched" / 2 => |c| put(c, INHERIT, 4),
    "pthread_attr_getinheritsched" / 2 => |c| get(c, INHERIT, 4),
    "pthread_attr_setschedparam" / 2 => set_priority,
    "pthread_attr_getschedparam" / 2 => |c| get(c, PRIORITY, 4),
    "pthread_attr_setstack" / 3 => nothing,
    "pthread_attr_setaffinity_np" / 3 => nothing,
    "pthread_getattr_np" | "pthread_attr_getstack" / 2 => |c| c.unsupported("asking for the stack of a thread"),
    "pthread_mutexattr_init" | "__pthread_mutexattr_init" / 1 => one_word,
    "pthread_mutexattr_destroy" | "__pthread_mutexattr_destroy" / 1 => nothing,
    "pthread_mutexattr_settype" | "__pthread_mutexattr_settype" / 2 => |c| set_if(c, FIRST, 3),
    "pthread_mutexattr_gettype" / 2 => |c| get(c, FIRST, 4),
    "pthread_mutexattr_setpshared" | "pthread_mutexattr_setprotocol" | "pthread_mutexattr_setprioceiling" / 2 => nothing,
    "pthread_mutexattr_getpshared" | "pthread_mutexattr_getprotocol" | "pthread_mutexattr_getprioceiling"
        | "pthread_mutexattr_getrobust" | "pthread_mutexattr_getrobust_np" / 2 => zero,
    "pthread_mutexattr_setrobust" | "pthread_mutexattr_setrobust_np" / 2 => set_robust,
    "pthread_condattr_init" / 1 => one_word,
    "pthread_condattr_destroy" / 1 => nothing,
    "pthread_condattr_setclock" / 2 => |c| put(c, FIRST, 4),
    "pthread_condattr_getclock" / 2 => |c| get(c, FIRST, 4),
    "pthread_condattr_setpshared" / 2 => nothing,
    "pthread_condattr_getpshared" / 2 => zero,
    "pthread_rwlockattr_init" / 1 => one_word,
    "pthread_rwlockattr_destroy" / 1 => nothing,
    "pthread_rwlockattr_setpshared" / 2 => nothing,
    "pthread_rwlockattr_getpshared" / 2 => zero,
    "pthread_rwlockattr_setkind_np" / 2 => |c| put(c, FIRST, 4),
    "pthread_rwlockattr_getkind_np" / 2 => |c| get(c, FIRST, 4),
    "pthread_barrierattr_init" / 1 => one_word,
    "pthread_barrierattr_destroy" / 1 => nothing,
    "pthread_barrierattr_setpshared" / 2 => nothing,
    "pthread_barrierattr_getpshared" / 2 => zero,
    "sched_yield" | "pthread_yield" | "thrd_yield" | "__sched_yield" / 0 => nothing,
    "pthread_setconcurrency" / 1 => nothing,
    "pthread_getconcurrency" / 0 => nothing,
    "pthread_setname_np" | "pthread_setaffinity_np" | "pthread_setschedprio" / 2 => nothing,
    "pthread_setschedparam" | "sched_setaffinity" / 3 => nothing,
    "sched_getcpu" / 0 => nothing,
}

/// Offsets; a `pthread_attr_t` has 56 bytes, the others 4 or 8.
const FIRST: u64 = 0;
const SCOPE: u64 = 4;
const STACK_SIZE: u64 = 8;
const GUARD_SIZE: u64 = 16;
const POLICY: u64 = 24;
const INHERIT: u64 = 28;
const PRIORITY: u64 = 32;

fn attr_init(call: &mut Call<'_>) -> Answer {
    let attr = call.ptr(0);
    let fields = [(FIRST, 4, 0), (SCOPE, 4, 0), (STACK_SIZE, 8, 8 << 20), (GUARD_SIZE, 8, 4096)];
    for (offset, size, value) in fields.into_iter().chain([POLICY, INHERIT, PRIORITY].map(|field| (field, 4, 0))) {
        call.store(attr.plus(offset), size, value)?;
    }
    Ok(0)
}

/// Whether threads made with this attribute are detached.
pub(super) fn is_detached(call: &mut Call<'_>, attr: Addr) -> Answer<bool> {
    Ok(call.load(attr.plus(FIRST), 4)? != 0)
}

fn one_word(call: &mut Call<'_>) -> Answer {
    call.store(call.ptr(0), 4, 0)?;
    Ok(0)
}

fn nothing(_: &mut Call<'_>) -> Answer {
    Ok(0)
}

/// Stores the second argument.
fn put(call: &mut Call<'_>, offset: u64, size: u8) -> Answer {
    call.store(call.ptr(0).plus(offset), size, call.arg(1))?;
    Ok(0)
}

/// Stores the second argument if it is at most `max`.
fn set_if(call: &mut Call<'_>, offset: u64, max: i32) -> Answer {
    if !(0..=max).contains(&call.int(1)) {
        return Ok(int(EINVAL));
    }
    put(call, offset, 4)
}

/// Writes a field to where the second argument points.
fn get(call: &mut Call<'_>, offset: u64, size: u8) -> Answer {
    let value = call.load(call.ptr(0).plus(offset), size)?;
    call.store(call.ptr(1), size, value)?;
    Ok(0)
}

/// Writes 0 to where the second argument points.
fn zero(call: &mut Call<'_>) -> Answer {
    call.store(call.ptr(1), 4, 0)?;
    Ok(0)
}

fn set_priority(call: &mut Call<'_>) -> Answer {
    let priority = call.load(call.ptr(1), 4)?;
    call.store(call.ptr(0).plus(PRIORITY), 4, priority)?;
    Ok(0)
}

fn set_robust(call: &mut Call<'_>) -> Answer {
    match call.int(1) {
        0 => Ok(0),
        _ => call.unsupported("robust mutexes"),
    }
}
