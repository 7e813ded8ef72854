//! What is done once: `pthread_once`, `call_once`, and the guards of C++ local statics.
//!
//! The word is 0 at first, 1 while a thread does it, and 2 when it is done. Whoever comes waits until the word is not
//! 1, and takes it if it is 0. A routine that comes to its own `once` again waits for itself: a deadlock.
//!
//! The guard of a C++ static has a first byte that compiled code looks at by itself (not 0: done), so the same protocol
//! is played on the second byte, and the first is set before the second says that it is done.

use super::call::{Answer, Call, models, until, word};
use crate::{Access, AccessKind, Addr, Purpose};
use selvedge_ir::{CmpOp, Order};

models! {
    "pthread_once" | "__pthread_once" | "call_once" / 2 => once,
    "__once_proxy" / 0 => once_proxy,
    "__cxa_guard_acquire" / 1 => guard_acquire,
    "__cxa_guard_release" / 1 => guard_release,
    "__cxa_guard_abort" / 1 => guard_abort,
}

const FRESH: u64 = 0;
const BUSY: u64 = 1;
const DONE: u64 = 2;

/// Takes a word, or waits until it is done; whether it was taken.
fn take(call: &mut Call<'_>, addr: Addr, size: u8) -> Answer<bool> {
    let take = AccessKind::Cas { expected: FRESH, new: BUSY, failure: Order::Acquire };
    let access = Access { size, ..word(addr, take, Order::AcqRel, Purpose::Sync) };
    Ok(call.access(until(access, CmpOp::Ne, BUSY))? == FRESH)
}

fn put(call: &mut Call<'_>, addr: Addr, size: u8, value: u64) -> Answer<()> {
    let put = AccessKind::Store { value };
    call.access(Access { size, ..word(addr, put, Order::Release, Purpose::Sync) }).map(drop)
}

fn once(call: &mut Call<'_>) -> Answer {
    let (control, routine) = (call.ptr(0), call.ptr(1));
    if take(call, control, 4)? {
        call.call(routine, &[])?;
        put(call, control, 4, DONE)?;
    }
    Ok(0)
}

/// What `std::call_once` gives to `pthread_once`: it calls what the thread has left in a variable of its own.
fn once_proxy(call: &mut Call<'_>) -> Answer {
    let variable = call.effect(|host| Ok(host.thread_local("_ZSt11__once_call").map_or(0, |addr| addr.0)))?;
    if variable == 0 {
        return call.unsupported("a call of `__once_proxy` outside `std::call_once`");
    }
    let function = call.load(Addr(variable), 8)?;
    call.call(Addr(function), &[])?;
    Ok(0)
}

fn guard_acquire(call: &mut Call<'_>) -> Answer {
    take(call, call.ptr(0).plus(1), 1).map(u64::from)
}

fn guard_release(call: &mut Call<'_>) -> Answer {
    put(call, call.ptr(0), 1, 1)?;
    put(call, call.ptr(0).plus(1), 1, DONE)?;
    Ok(0)
}

fn guard_abort(call: &mut Call<'_>) -> Answer {
    put(call, call.ptr(0).plus(1), 1, FRESH)?;
    Ok(0)
}

#[cfg(test)]
mod tests {
    use crate::Addr;
    use crate::models::Step;
    use crate::models::testing::Fake;

    #[test]
    fn the_routine_is_called_once() {
        for visible in [false, true] {
            let mut host = if visible { Fake::with_threads() } else { Fake::new() };
            let control = host.global(4);
            host.call("pthread_once", &[control.0, 0x7000]);
            host.call("call_once", &[control.0, 0x7000]);
            assert_eq!(host.calls, [(Addr(0x7000), vec![])]);
            assert_eq!(host.ops.len(), if visible { 3 } else { 0 });
        }
    }

    #[test]
    fn others_wait_while_it_runs() {
        let mut host = Fake::with_threads();
        let control = host.global(4);
        host.store(control, 4, 1);
        assert!(matches!(host.run("pthread_once", &[control.0, 0x7000]), Ok(Step::Yield(_))));
    }

    #[test]
    fn a_guard_shows_its_first_byte_when_it_is_done() {
        let mut host = Fake::with_threads();
        let guard = host.global(8);
        assert_eq!(host.call("__cxa_guard_acquire", &[guard.0]), 1);
        assert_eq!(host.load(guard, 1), 0);
        assert!(matches!(host.run("__cxa_guard_acquire", &[guard.0]), Ok(Step::Yield(_))));
        host.call("__cxa_guard_abort", &[guard.0]);
        assert_eq!(host.call("__cxa_guard_acquire", &[guard.0]), 1);
        host.call("__cxa_guard_release", &[guard.0]);
        assert_eq!(host.load(guard, 1), 1);
        assert_eq!(host.call("__cxa_guard_acquire", &[guard.0]), 0);
    }
}
