//! Barriers.
//!
//! The word at the start counts arrivals and never goes back; the word behind it holds how many threads meet, and is
//! written by initialisation only. The arrival that finds `old` belongs to round `old / n`. The last one of a round goes
//! through and is told that it is the one that may do what is done once (the standard leaves open which thread that is;
//! every thread is the last in some schedule). The others wait until the count has reached the end of the round; since
//! it never goes back, a fast thread that arrives for the next round disturbs nobody.

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
