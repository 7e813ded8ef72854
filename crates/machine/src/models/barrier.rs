//! Barriers.
//!
//! The word at the start counts arrivals and never goes back; the word behind it holds how many threads meet, and is
//! written by initialisation only. The arrival that finds `old` belongs to round `old / n`. The last one of a round goes
//! through and is told that it is the one that may do what is done once (the standard leaves open which thread that is;
//! every thread is the last in some schedule). The others wait until the count has reached the end of the round; since
//! it never goes back, a fast thread that arrives for the next round disturbs nobody.
//!
//! A thread that has been let through still looks at the count once, when it comes to its turn. A program that destroys
//! the barrier at once is fine, but one that also frees or initialises it anew before all threads have come back (which
//! the standard allows, and nearly nobody does) is reported.

use super::call::{Answer, Call, initial, int, models, until, word};
use super::errno::EINVAL;
use crate::{AccessKind, Purpose};
use selvedge_ir::{CmpOp, Order, RmwOp};

models! {
    "pthread_barrier_init" / 3 => init,
    "pthread_barrier_wait" / 1 => wait,
    "pthread_barrier_destroy" / 1 => destroy,
}

const COUNT_OFFSET: u64 = 4;
/// `PTHREAD_BARRIER_SERIAL_THREAD`.
const SERIAL: i32 = -1;

fn init(call: &mut Call<'_>) -> Answer {
    let (barrier, count) = (call.ptr(0), call.arg(2) & 0xffff_ffff);
    if count == 0 || count > i32::MAX as u64 {
        return Ok(int(EINVAL));
    }
    call.access(initial(barrier, 0))?;
    call.poke(barrier.plus(COUNT_OFFSET), count)?;
    Ok(0)
}

fn wait(call: &mut Call<'_>) -> Answer {
    let barrier = call.ptr(0);
    call.effect(|host| host.is_visible(barrier, 4).map(u64::from))?;
    let count = call.peek(barrier.plus(COUNT_OFFSET))?;
    if count == 0 {
        return call.misuse(barrier, "`{}` is waited at, but it is not initialised or was destroyed");
    }
    let arrive = AccessKind::Rmw { op: RmwOp::Add, operand: 1, used: true };
    let old = call.access(word(barrier, arrive, Order::AcqRel, Purpose::Sync))?;
    if old % count == count - 1 {
        return Ok(int(SERIAL));
    }
    let end = (old / count + 1) * count;
    let look = word(barrier, AccessKind::Load, Order::Acquire, Purpose::Sync);
    call.access(until(look, CmpOp::Uge, end))?;
    Ok(0)
}

fn destroy(call: &mut Call<'_>) -> Answer {
    let barrier = call.ptr(0);
    let arrived = call.access(word(barrier, AccessKind::Load, Order::Acquire, Purpose::Sync))?;
    let count = call.peek(barrier.plus(COUNT_OFFSET))?;
    if count == 0 {
        return call.misuse(barrier, "`{}` is destroyed, but it is not initialised or was destroyed already");
    }
    if arrived % count != 0 {
        return call.misuse(barrier, "`{}` is destroyed while threads wait at it");
    }
    call.poke(barrier.plus(COUNT_OFFSET), 0)?;
    Ok(0)
}

#[cfg(test)]
mod tests {
    use crate::models::Step;
    use crate::models::testing::Fake;
    use crate::{Access, Cond, Op, ViolationKind};
    use selvedge_ir::CmpOp;

    #[test]
    fn the_last_of_each_round_goes_through_and_the_others_wait_for_its_end() {
        let mut host = Fake::with_threads();
        let barrier = host.global(32);
        host.call("pthread_barrier_init", &[barrier.0, 0, 3]);
        for round in 1..4 {
            for _ in 0..2 {
                let step = host.run("pthread_barrier_wait", &[barrier.0]).unwrap();
                let Step::Yield(Op::Access(Access { until, .. })) = step else { panic!("{step:?}") };
                assert_eq!(until, Some(Cond::new(CmpOp::Uge, 3 * round)));
            }
            assert_eq!(host.int("pthread_barrier_wait", &[barrier.0]), -1);
        }
    }

    #[test]
    fn misuse_is_a_violation() {
        let mut host = Fake::with_threads();
        let barrier = host.global(32);
        assert_eq!(host.violation("pthread_barrier_wait", &[barrier.0]).0, ViolationKind::LockMisuse);
        assert_eq!(host.call("pthread_barrier_init", &[barrier.0, 0, 0]), 22);
        host.call("pthread_barrier_init", &[barrier.0, 0, 2]);
        host.run("pthread_barrier_wait", &[barrier.0]).unwrap();
        assert_eq!(host.violation("pthread_barrier_destroy", &[barrier.0]).0, ViolationKind::LockMisuse);
        host.call("pthread_barrier_wait", &[barrier.0]);
        assert_eq!(host.call("pthread_barrier_destroy", &[barrier.0]), 0);
        assert_eq!(host.violation("pthread_barrier_wait", &[barrier.0]).0, ViolationKind::LockMisuse);
    }
}
