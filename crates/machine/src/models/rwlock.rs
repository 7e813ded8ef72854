//! Read-write locks.
//!
//! The word at the start counts readers; a writer sets its highest bit, and a destroyed lock has all bits set. To read
//! is to add 1 while there is no writer, to write is to exchange while the word is 0. Neither looks at the old value, so
//! that the order of readers among each other need not matter to an engine. A destroyed lock lets nobody in: whoever
//! comes to it is told so at once, and whoever was waiting already waits forever.
//!
//! Readers and writers are not preferred over each other: every order in which they could be let in is a schedule.
//! A thread that wants to write what it already holds waits for itself forever (the standard allows that, and
//! `EDEADLK` as well; waiting is what shows the mistake).
//!
//! `tryrdlock` has to add 1 only if there is no writer, which is not one step: it looks first, and then exchanges the
//! value that it saw, from the start again if another reader came between. The timed forms do the same; why that covers
//! waiting is said in `mutex.rs`.

use super::call::{Answer, Call, initial, int, models, until, word};
use super::clock;
use super::errno::{EBUSY, ETIMEDOUT};
use super::facts::{READ_LOCK, WRITE_LOCK};
use crate::{AccessKind, Addr, Purpose};
use selvedge_ir::{CmpOp, Order, RmwOp};

models! {
    "pthread_rwlock_init" / 1 => init,
    "pthread_rwlock_rdlock" / 1 => read_lock,
    "pthread_rwlock_tryrdlock" / 1 => |c| try_read(c, EBUSY),
    "pthread_rwlock_timedrdlock" / 2 => |c| timed(c, try_read, c.ptr(1)),
    "pthread_rwlock_clockrdlock" / 3 => |c| timed(c, try_read, c.ptr(2)),
    "pthread_rwlock_wrlock" / 1 => write_lock,
    "pthread_rwlock_trywrlock" / 1 => |c| try_write(c, EBUSY),
    "pthread_rwlock_timedwrlock" / 2 => |c| timed(c, try_write, c.ptr(1)),
    "pthread_rwlock_clockwrlock" / 3 => |c| timed(c, try_write, c.ptr(2)),
    "pthread_rwlock_unlock" / 1 => unlock,
    "pthread_rwlock_destroy" / 1 => destroy,
}

const WRITER: u64 = 0x8000_0000;
const DESTROYED: u64 = 0xffff_ffff;

fn writer(call: &Call<'_>) -> u64 {
    WRITER | call.thread_index()
}

fn init(call: &mut Call<'_>) -> Answer {
    call.access(initial(call.ptr(0), 0))?;
    Ok(0)
}

fn check(call: &mut Call<'_>, lock: Addr) -> Answer<()> {
    match call.peek(lock)? {
        DESTROYED => locked_after_destruction(call, lock),
        _ => Ok(()),
    }
}

fn locked_after_destruction<T>(call: &Call<'_>, lock: Addr) -> Answer<T> {
    call.misuse(lock, "`{}` is locked after it was destroyed")
}

fn read_lock(call: &mut Call<'_>) -> Answer {
    let lock = call.ptr(0);
    check(call, lock)?;
    let enter = AccessKind::Rmw { op: RmwOp::Add, operand: 1, used: false };
    let access = word(lock, enter, Order::Acquire, Purpose::Lock);
    call.access(until(access, CmpOp::Ult, WRITER))?;
    count_reader(call, lock)
}

fn count_reader(call: &mut Call<'_>, lock: Addr) -> Answer {
    let held = call.fact(READ_LOCK, lock.0)?;
    call.set_fact(READ_LOCK, lock.0, held + 1)?;
    Ok(0)
}

fn try_read(call: &mut Call<'_>, failure: i32) -> Answer {
    let lock = call.ptr(0);
    loop {
        let seen = call.access(word(lock, AccessKind::Load, Order::Relaxed, Purpose::Lock))?;
        if seen == DESTROYED {
            return locked_after_destruction(call, lock);
        }
        if seen >= WRITER {
            return Ok(int(failure));
        }
        let enter = AccessKind::Cas { expected: seen, new: seen + 1, failure: Order::Relaxed };
        if call.access(word(lock, enter, Order::Acquire, Purpose::Lock))? == seen {
            return count_reader(call, lock);
        }
    }
}

fn write_lock(call: &mut Call<'_>) -> Answer {
    let lock = call.ptr(0);
    check(call, lock)?;
    let enter = AccessKind::Rmw { op: RmwOp::Xchg, operand: writer(call), used: false };
    let access = word(lock, enter, Order::Acquire, Purpose::Lock);
    call.access(until(access, CmpOp::Eq, 0))?;
    call.set_fact(WRITE_LOCK, lock.0, 1)?;
    Ok(0)
}

fn try_write(call: &mut Call<'_>, failure: i32) -> Answer {
    let lock = call.ptr(0);
    let enter = AccessKind::Cas { expected: 0, new: writer(call), failure: Order::Relaxed };
    match call.access(word(lock, enter, Order::Acquire, Purpose::Lock))? {
        0 => call.set_fact(WRITE_LOCK, lock.0, 1).map(|()| 0),
        DESTROYED => locked_after_destruction(call, lock),
        _ => Ok(int(failure)),
    }
}

fn timed(call: &mut Call<'_>, attempt: fn(&mut Call<'_>, i32) -> Answer, deadline: Addr) -> Answer {
    let result = attempt(call, ETIMEDOUT)?;
    clock::timed(call, result, deadline)
}

fn unlock(call: &mut Call<'_>) -> Answer {
    let lock = call.ptr(0);
    if call.fact(WRITE_LOCK, lock.0)? > 0 {
        call.access(word(lock, AccessKind::Store { value: 0 }, Order::Release, Purpose::Unlock))?;
        call.set_fact(WRITE_LOCK, lock.0, 0)?;
        return Ok(0);
    }
    match call.fact(READ_LOCK, lock.0)? {
        0 => {
            call.effect(|host| host.is_visible(lock, 4).map(u64::from))?;
            call.misuse(lock, "`{}` is unlocked by a thread that does not hold it")
        }
        held => {
            let leave = AccessKind::Rmw { op: RmwOp::Sub, operand: 1, used: false };
            call.access(word(lock, leave, Order::Release, Purpose::Unlock))?;
            call.set_fact(READ_LOCK, lock.0, held - 1)?;
            Ok(0)
        }
    }
}

fn destroy(call: &mut Call<'_>) -> Answer {
    let lock = call.ptr(0);
    let mark = AccessKind::Rmw { op: RmwOp::Xchg, operand: DESTROYED, used: true };
    match call.access(word(lock, mark, Order::AcqRel, Purpose::Sync))? {
        0 => Ok(0),
        DESTROYED => call.misuse(lock, "`{}` is destroyed twice"),
        _ => call.misuse(lock, "`{}` is destroyed while it is held"),
    }
}

#[cfg(test)]
mod tests {
    use crate::models::Step;
    use crate::models::testing::Fake;
    use crate::{Access, AccessKind, Op, ViolationKind};

    #[test]
    fn readers_share_and_writers_do_not() {
        let mut host = Fake::with_threads();
        let (lock, deadline) = (host.global(56), host.heap(16));
        host.call("memset", &[deadline.0, 0, 16]);
        assert_eq!(host.call("pthread_rwlock_rdlock", &[lock.0]), 0);
        assert_eq!(host.call("pthread_rwlock_tryrdlock", &[lock.0]), 0);
        assert_eq!(host.load(lock, 4), 2);
        assert_eq!(host.call("pthread_rwlock_trywrlock", &[lock.0]), 16);
        assert_eq!(host.call("pthread_rwlock_timedwrlock", &[lock.0, deadline.0]), 110);
        assert!(matches!(host.run("pthread_rwlock_wrlock", &[lock.0]), Ok(Step::Yield(_))));
        host.call("pthread_rwlock_unlock", &[lock.0]);
        host.call("pthread_rwlock_unlock", &[lock.0]);
        assert_eq!(host.load(lock, 4), 0);
        assert_eq!(host.call("pthread_rwlock_wrlock", &[lock.0]), 0);
        assert_eq!(host.load(lock, 4), 0x8000_0000);
        assert_eq!(host.call("pthread_rwlock_tryrdlock", &[lock.0]), 16);
        assert!(matches!(host.run("pthread_rwlock_rdlock", &[lock.0]), Ok(Step::Yield(_))));
        host.call("pthread_rwlock_unlock", &[lock.0]);
        assert_eq!(host.load(lock, 4), 0);
    }

    #[test]
    fn readers_do_not_look_at_what_they_change() {
        let mut host = Fake::with_threads();
        let lock = host.global(56);
        host.call("pthread_rwlock_rdlock", &[lock.0]);
        host.call("pthread_rwlock_unlock", &[lock.0]);
        for op in &host.ops {
            assert!(matches!(op, Op::Access(Access { kind: AccessKind::Rmw { used: false, .. }, .. })), "{op:?}");
        }
    }

    #[test]
    fn misuse_is_a_violation() {
        let mut host = Fake::with_threads();
        let lock = host.global(56);
        assert_eq!(host.violation("pthread_rwlock_unlock", &[lock.0]).0, ViolationKind::LockMisuse);
        host.call("pthread_rwlock_rdlock", &[lock.0]);
        assert_eq!(host.violation("pthread_rwlock_destroy", &[lock.0]).0, ViolationKind::LockMisuse);
        let lock = host.global(56);
        host.call("pthread_rwlock_destroy", &[lock.0]);
        let names = ["rdlock", "wrlock", "tryrdlock", "trywrlock", "destroy"];
        for name in names.map(|name| format!("pthread_rwlock_{name}")) {
            assert_eq!(host.violation(&name, &[lock.0]).0, ViolationKind::LockMisuse, "{name}");
        }
    }
}
