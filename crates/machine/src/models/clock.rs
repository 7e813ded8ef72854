//! Time.
//!
//! Clocks are made up, so that a run is repeatable: every thread has its own, which starts at a fixed time, goes on by a
//! millisecond whenever it is looked at, and by the whole time of every sleep. A sleep does nothing else: how long a
//! thread sleeps says nothing about the schedule, and a schedule in which the others run meanwhile is explored anyway.
//! A wait that times out lets the clock go on to its deadline. The clocks of two threads do not agree; a program that relies on that relies on timing.

use super::call::{Answer, Call, int, models};
use super::errno::ETIMEDOUT;
use super::facts::CLOCK;
use crate::Addr;

models! {
    "time" / 1 => time,
    "clock" / 0 => look,
    "gettimeofday" / 1 => gettimeofday,
    "clock_gettime" / 2 => |c| { clock_gettime(c, c.int(0), c.ptr(1))?; Ok(0) },
    "clock_getres" / 2 => clock_getres,
    "timespec_get" / 2 => |c| { clock_gettime(c, REALTIME, c.ptr(0))?; Ok(c.arg(1)) },
    "difftime" / 2 => |c| Ok(((c.arg(0) as i64).wrapping_sub(c.arg(1) as i64) as f64).to_bits()),
    "sleep" / 1 => |c| pass(c, (c.arg(0) & 0xffff_ffff).saturating_mul(SECOND)),
    "usleep" / 1 => |c| pass(c, c.arg(0) & 0xffff_ffff),
    "nanosleep" | "thrd_sleep" / 1 => |c| sleep(c, c.ptr(0), false),
    "clock_nanosleep" / 3 => |c| sleep(c, c.ptr(2), c.int(1) != 0),
    "_ZNSt6chrono3_V212steady_clock3nowEv" / 0 => |c| nanoseconds(c, MONOTONIC),
    "_ZNSt6chrono3_V212system_clock3nowEv" / 0 => |c| nanoseconds(c, REALTIME),
}

/// Microseconds in a second.
const SECOND: u64 = 1_000_000;
const REALTIME: i32 = 0;
const MONOTONIC: i32 = 1;
/// What the clocks show when a thread starts, in seconds; the time of day is in September 2020.
const REALTIME_START: u64 = 1_600_000_000;
const MONOTONIC_START: u64 = 1000;

/// Lets time pass, in microseconds.
fn pass(call: &mut Call<'_>, microseconds: u64) -> Answer {
    let now = call.fact(CLOCK.0, CLOCK.1)?;
    // A millennium is enough, and leaves room for nanoseconds in 64 bits.
    call.set_fact(CLOCK.0, CLOCK.1, now.saturating_add(microseconds).min(1 << 50))?;
    Ok(0)
}

/// Looks at the clock: microseconds since the thread started.
fn look(call: &mut Call<'_>) -> Answer {
    pass(call, 1000)?;
    call.fact(CLOCK.0, CLOCK.1)
}

/// Microseconds of a clock.
fn microseconds(call: &mut Call<'_>, clock: i32) -> Answer {
    let start = if clock == REALTIME { REALTIME_START } else { MONOTONIC_START };
    Ok(start * SECOND + look(call)?)
}

fn nanoseconds(call: &mut Call<'_>, clock: i32) -> Answer {
    Ok(microseconds(call, clock)?.saturating_mul(1000))
}

fn time(call: &mut Call<'_>) -> Answer {
    let seconds = microseconds(call, REALTIME)? / SECOND;
    let place = call.ptr(0);
    if place.0 != 0 {
        call.store(place, 8, seconds)?;
    }
    Ok(seconds)
}

fn gettimeofday(call: &mut Call<'_>) -> Answer {
    let now = microseconds(call, REALTIME)?;
    let place = call.ptr(0);
    call.store(place, 8, now / SECOND)?;
    call.store(place.plus(8), 8, now % SECOND)?;
    Ok(0)
}

fn clock_gettime(call: &mut Call<'_>, clock: i32, place: Addr) -> Answer<()> {
    let now = microseconds(call, clock)?;
    call.store(place, 8, now / SECOND)?;
    call.store(place.plus(8), 8, now % SECOND * 1000)
}

fn clock_getres(call: &mut Call<'_>) -> Answer {
    let place = call.ptr(1);
    if place.0 != 0 {
        call.store(place, 8, 0)?;
        call.store(place.plus(8), 8, 1000)?;
    }
    Ok(0)
}

/// Passes on the result of a function that waits until a time at most: if it timed out, that time has come. A time
/// that the time of day has passed long ago is one of the monotonic clock.
pub(super) fn timed(call: &mut Call<'_>, result: u64, deadline: Addr) -> Answer {
    if result == int(ETIMEDOUT) {
        let seconds = call.load(deadline, 8)?;
        let nanoseconds = call.load(deadline.plus(8), 8)?;
        let start = if seconds >= REALTIME_START { REALTIME_START } else { MONOTONIC_START };
        let elapsed = seconds.saturating_sub(start).saturating_mul(SECOND).saturating_add(nanoseconds / 1000);
        let now = call.fact(CLOCK.0, CLOCK.1)?;
        pass(call, elapsed.saturating_sub(now))?;
    }
    Ok(result)
}

fn sleep(call: &mut Call<'_>, request: Addr, until: bool) -> Answer {
    let seconds = call.load(request, 8)?;
    let nanoseconds = call.load(request.plus(8), 8)?;
    let length = if until { 0 } else { seconds.saturating_mul(SECOND).saturating_add(nanoseconds / 1000) };
    pass(call, length)
}

#[cfg(test)]
mod tests {
    use crate::Addr;
    use crate::models::testing::Fake;

    #[test]
    fn time_goes_on_by_looking_and_by_sleeping() {
        let mut host = Fake::new();
        let place = host.heap(16);
        let look = |host: &mut Fake| {
            host.call("clock_gettime", &[1, place.0]);
            (host.load(place, 8), host.load(Addr(place.0 + 8), 8))
        };
        assert_eq!(look(&mut host), (1000, 1_000_000));
        assert_eq!(look(&mut host), (1000, 2_000_000));
        host.call("sleep", &[3]);
        host.call("usleep", &[500]);
        assert_eq!(look(&mut host), (1003, 3_500_000));
        assert_eq!(host.call("time", &[0]), 1_600_000_003);
        assert!(host.ops.is_empty());
    }

    #[test]
    fn a_wait_that_times_out_takes_its_time() {
        let mut host = Fake::with_threads();
        let (mutex, deadline) = (host.global(40), host.heap(16));
        host.store(mutex, 4, 7);
        for (clock, seconds) in [(1, 1005), (0, 1_600_000_050)] {
            host.store(deadline, 8, seconds);
            host.store(Addr(deadline.0 + 8), 8, 0);
            assert_eq!(host.call("pthread_mutex_timedlock", &[mutex.0, deadline.0]), 110);
            let now = host.heap(16);
            host.call("clock_gettime", &[clock, now.0]);
            assert_eq!(host.load(now, 8), seconds);
        }
    }
}
