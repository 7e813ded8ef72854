//! Semaphores.
//!
//! The value is the word at the start, where the GNU C library has it. To wait is to subtract 1 once it is positive, to
//! post is to add 1; neither looks at the old value. A destroyed semaphore is negative, so that nobody gets past it;
//! using one is reported if it was destroyed before the call.
//!
//! `sem_trywait` is not one step, since it must not subtract if the value is 0: it looks first, and then exchanges the
//! value that it saw, from the start again if somebody else came between. `sem_timedwait` does the same; why that
//! covers waiting is said in `mutex.rs`.

use super::call::{Answer, Call, initial, int, models, until, word};
use super::clock;
use super::errno::{EAGAIN, EINVAL, ETIMEDOUT};
use crate::{AccessKind, Addr, Purpose};
use selvedge_ir::{CmpOp, Order, RmwOp};

models! {
    "sem_init" / 3 => init,
    "sem_wait" / 1 => wait,
    "sem_trywait" / 1 => |c| attempt(c, None),
    "sem_timedwait" / 2 => |c| attempt(c, Some(c.ptr(1))),
    "sem_clockwait" / 3 => |c| attempt(c, Some(c.ptr(2))),
    "sem_post" / 1 => post,
    "sem_getvalue" / 2 => get_value,
    "sem_destroy" / 1 => destroy,
    "sem_open" | "sem_close" | "sem_unlink" / 1 => |c| c.unsupported("named semaphores"),
}

const DESTROYED: u64 = 0x8000_0000;

fn init(call: &mut Call<'_>) -> Answer {
    let value = call.arg(2) & 0xffff_ffff;
    if value >= DESTROYED {
        return call.fail(EINVAL);
    }
    call.access(initial(call.ptr(0), value))?;
    Ok(0)
}

fn check(call: &mut Call<'_>, semaphore: Addr) -> Answer<()> {
    match call.peek(semaphore)? {
        DESTROYED => call.misuse(semaphore, "`{}` is used after it was destroyed"),
        _ => Ok(()),
    }
}

fn wait(call: &mut Call<'_>) -> Answer {
    let semaphore = call.ptr(0);
    check(call, semaphore)?;
    let take = AccessKind::Rmw { op: RmwOp::Sub, operand: 1, used: false };
    let access = word(semaphore, take, Order::Acquire, Purpose::Lock);
    call.access(until(access, CmpOp::Sgt, 0))?;
    Ok(0)
}

/// Takes 1 if the value is positive; fails otherwise, with a deadline because it has passed.
fn attempt(call: &mut Call<'_>, deadline: Option<Addr>) -> Answer {
    let semaphore = call.ptr(0);
    loop {
        let seen = call.access(word(semaphore, AccessKind::Load, Order::Relaxed, Purpose::Lock))?;
        if seen == DESTROYED {
            return call.misuse(semaphore, "`{}` is used after it was destroyed");
        }
        if seen == 0 || seen > DESTROYED {
            return match deadline {
                None => call.fail(EAGAIN),
                Some(deadline) => {
                    clock::timed(call, int(ETIMEDOUT), deadline)?;
                    call.fail(ETIMEDOUT)
                }
            };
        }
        let take = AccessKind::Cas { expected: seen, new: seen - 1, failure: Order::Relaxed };
        if call.access(word(semaphore, take, Order::Acquire, Purpose::Lock))? == seen {
            return Ok(0);
        }
    }
}

fn post(call: &mut Call<'_>) -> Answer {
    let semaphore = call.ptr(0);
    check(call, semaphore)?;
    let give = AccessKind::Rmw { op: RmwOp::Add, operand: 1, used: false };
    call.access(word(semaphore, give, Order::Release, Purpose::Unlock))?;
    Ok(0)
}

fn get_value(call: &mut Call<'_>) -> Answer {
    let semaphore = call.ptr(0);
    check(call, semaphore)?;
    let value = call.access(word(semaphore, AccessKind::Load, Order::Relaxed, Purpose::Sync))?;
    call.store(call.ptr(1), 4, value)?;
    Ok(0)
}

fn destroy(call: &mut Call<'_>) -> Answer {
    let semaphore = call.ptr(0);
    let mark = AccessKind::Rmw { op: RmwOp::Xchg, operand: DESTROYED, used: true };
    match call.access(word(semaphore, mark, Order::AcqRel, Purpose::Sync))? {
        DESTROYED => call.misuse(semaphore, "`{}` is destroyed twice"),
        _ => Ok(0),
    }
}

#[cfg(test)]
mod tests {
    use crate::models::Step;
    use crate::models::testing::Fake;
    use crate::{Access, AccessKind, Addr, Op, ViolationKind};

    #[test]
    fn the_value_never_falls_below_zero() {
        let mut host = Fake::with_threads();
        let (semaphore, value, deadline) = (host.global(32), host.heap(4), host.global(16));
        host.call("sem_init", &[semaphore.0, 0, 2]);
        assert_eq!(host.call("sem_wait", &[semaphore.0]), 0);
        assert_eq!(host.call("sem_trywait", &[semaphore.0]), 0);
        assert_eq!(host.int("sem_trywait", &[semaphore.0]), -1);
        let errno = Addr(host.call("__errno_location", &[]));
        assert_eq!(host.load(errno, 4), 11);
        assert_eq!(host.int("sem_timedwait", &[semaphore.0, deadline.0]), -1);
        assert_eq!(host.load(errno, 4), 110);
        assert!(matches!(host.run("sem_wait", &[semaphore.0]), Ok(Step::Yield(_))));
        host.call("sem_post", &[semaphore.0]);
        host.call("sem_getvalue", &[semaphore.0, value.0]);
        assert_eq!(host.load(value, 4), 1);
    }

    #[test]
    fn waiting_and_posting_do_not_look_at_the_value() {
        let mut host = Fake::with_threads();
        let semaphore = host.global(32);
        host.call("sem_post", &[semaphore.0]);
        host.call("sem_wait", &[semaphore.0]);
        for op in &host.ops {
            assert!(matches!(op, Op::Access(Access { kind: AccessKind::Rmw { used: false, .. }, .. })), "{op:?}");
        }
    }

    #[test]
    fn a_destroyed_semaphore_is_of_no_use() {
        let mut host = Fake::with_threads();
        let semaphore = host.global(32);
        host.call("sem_destroy", &[semaphore.0]);
        for name in ["sem_wait", "sem_trywait", "sem_post", "sem_destroy"] {
            assert_eq!(host.violation(name, &[semaphore.0]).0, ViolationKind::LockMisuse, "{name}");
        }
    }
}
