//! Random numbers: a fixed sequence for each thread.
//!
//! A run has to be repeatable, so `rand` and its kin give the sequence of `rand_r` with a seed that each thread keeps
//! for itself: 1 at first, as the standard asks, or what the thread gave to `srand`. A program that should be checked for
//! many numbers can use `__VERIFIER_nondet_int`.

use super::call::{Answer, Call, models};
use super::facts::SEED;

models! {
    "rand" | "random" | "lrand48" / 0 => next,
    "drand48" / 0 => |c| next(c).map(|number| (number as f64 / 2_147_483_648.0).to_bits()),
    "mrand48" / 0 => |c| next(c).map(|number| ((number as u32) << 1) as i32 as i64 as u64),
    "srand" | "srandom" | "srand48" / 1 => |c| {
        c.set_fact(SEED.0, SEED.1, (c.arg(0) & 0xffff_ffff) + 1)?;
        Ok(0)
    },
    "rand_r" / 1 => rand_r,
    "arc4random" / 0 => next,
}

/// The next number from a seed and the new seed: three steps of a linear congruential generator, whose upper bits make
/// up 31 bits. These are the numbers of the GNU C library's `rand_r`.
fn step(seed: u32) -> (u32, u32) {
    let advance = |seed: u32| seed.wrapping_mul(1_103_515_245).wrapping_add(12_345);
    let first = advance(seed);
    let second = advance(first);
    let third = advance(second);
    let number = (first >> 16) % 2048 * (1 << 20) + (second >> 16) % 1024 * (1 << 10) + (third >> 16) % 1024;
    (number, third)
}

fn next(call: &mut Call<'_>) -> Answer {
    let seed = match call.fact(SEED.0, SEED.1)? {
        0 => 1,
        kept => (kept - 1) as u32,
    };
    let (number, seed) = step(seed);
    call.set_fact(SEED.0, SEED.1, u64::from(seed) + 1)?;
    Ok(u64::from(number))
}

fn rand_r(call: &mut Call<'_>) -> Answer {
    let place = call.ptr(0);
    let (number, seed) = step(call.load(place, 4)? as u32);
    call.store(place, 4, u64::from(seed))?;
    Ok(u64::from(number))
}

#[cfg(test)]
mod tests {
    use crate::models::testing::Fake;

    #[test]
    fn the_numbers_are_those_of_the_gnu_c_library() {
        let mut host = Fake::new();
        let seed = host.heap(4);
        host.store(seed, 4, 1);
        let expected = [476_707_713, 1_186_278_907, 505_671_508];
        assert_eq!([(); 3].map(|()| host.call("rand_r", &[seed.0])), expected);
        assert_eq!(host.load(seed, 4), 3_210_001_534);
        assert_eq!([(); 3].map(|()| host.call("rand", &[])), expected);
        host.call("srand", &[1]);
        assert_eq!(host.call("rand", &[]), expected[0]);
    }
}
