//! How large the tables of `std::unordered_map` and `std::unordered_set` are, and how bytes are hashed.
//!
//! A policy is the largest load factor (a `float`) and the number of elements at which the table is to grow next. The
//! C++ library takes the number of buckets from a list of primes; here it is the next prime, which is the same number up
//! to some hundred buckets. Neither that nor the hash of a string is fixed by the standard, and so the order in which such
//! a table is traversed is not.

use super::Step;
use super::call::{Answer, Call, Pause, models};
use crate::Addr;

models! {
    "_ZNKSt8__detail20_Prime_rehash_policy14_M_need_rehashEmmm" / 4 => need_rehash,
    "_ZNKSt8__detail20_Prime_rehash_policy11_M_next_bktEm" / 2 => |c| next_buckets(c, c.ptr(0), c.arg(1)),
    "_ZSt11_Hash_bytesPKvmm" | "_ZSt15_Fnv_hash_bytesPKvmm" / 3 => hash_bytes,
}

const NEXT_RESIZE: u64 = 8;
/// A table starts with room for this many elements and grows by this factor.
const START: u64 = 11;
const GROWTH: u64 = 2;

fn load_factor(call: &mut Call<'_>, policy: Addr) -> Answer<f64> {
    let bits = call.load(policy, 4)?;
    Ok(f64::from(f32::from_bits(bits as u32)))
}

/// Whether a table of `buckets` with `elements` has to grow when `more` come, and to how many buckets.
fn need_rehash(call: &mut Call<'_>) -> Answer {
    let (policy, buckets, elements, more) = (call.ptr(0), call.arg(1), call.arg(2), call.arg(3));
    let wanted = elements.saturating_add(more);
    let threshold = call.load(policy.plus(NEXT_RESIZE), 8)?;
    let mut answer = [0, 0];
    if wanted > threshold {
        let factor = load_factor(call, policy)?;
        let least = wanted.max(if threshold == 0 { START } else { 0 }) as f64 / factor;
        if least >= buckets as f64 {
            let size = (least.floor() as u64).saturating_add(1).max(buckets.saturating_mul(GROWTH));
            answer = [1, next_buckets(call, policy, size)?];
        } else {
            call.store(policy.plus(NEXT_RESIZE), 8, (buckets as f64 * factor).floor() as u64)?;
        }
    }
    Err(Pause::Step(Step::ReturnTwo(answer)))
}

/// The number of buckets for a table of at least this size; remembers when it is to grow.
fn next_buckets(call: &mut Call<'_>, policy: Addr, size: u64) -> Answer {
    if size > u64::from(u32::MAX) {
        return call.unsupported(format!("a hash table of {size} buckets"));
    }
    let buckets = (size.max(2)..).find(|&n| is_prime(n)).expect("there is no largest prime");
    let factor = load_factor(call, policy)?;
    call.store(policy.plus(NEXT_RESIZE), 8, (buckets as f64 * factor).floor() as u64)?;
    Ok(buckets)
}

fn is_prime(n: u64) -> bool {
    (2..).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d))
}

/// The FNV-1a hash of Fowler, Noll and Vo.
fn hash_bytes(call: &mut Call<'_>) -> Answer {
    let (start, length, seed) = (call.ptr(0), call.arg(1), call.arg(2));
    let mut hash = seed ^ 0xcbf2_9ce4_8422_2325;
    for at in 0..length {
        hash = (hash ^ call.load(start.plus(at), 1)?).wrapping_mul(0x100_0000_01b3);
    }
    Ok(hash)
}

#[cfg(test)]
mod tests {
    use crate::models::Step;
    use crate::models::testing::Fake;

    #[test]
    fn a_table_grows_when_it_is_full() {
        let mut host = Fake::new();
        let policy = host.global(16);
        host.store(policy, 4, u64::from(1f32.to_bits()));
        let (mut buckets, mut sizes) = (1, Vec::new());
        for elements in 0..60 {
            let name = "_ZNKSt8__detail20_Prime_rehash_policy14_M_need_rehashEmmm";
            match host.run(name, &[policy.0, buckets, elements, 1]) {
                Ok(Step::ReturnTwo([1, new])) => {
                    buckets = new;
                    sizes.push((elements, new));
                }
                Ok(Step::ReturnTwo([0, _])) => {}
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(sizes, [(0, 13), (13, 29), (29, 59), (59, 127)]);
    }
}
