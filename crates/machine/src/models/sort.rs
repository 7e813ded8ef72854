//! `qsort` and `bsearch`: the program's own comparison is called back.
//!
//! Sorting is a stable merge sort from the bottom up, so that elements that compare equal keep their order (as the GNU
//! C library does for all but huge arrays). Runs of the array are merged into a buffer and copied back; the comparison
//! is always called with pointers into the array. Steps of the merge are rounds in the sense of `call.rs`: the slots
//! hold the width of the runs, where the pair of runs starts, how many elements of each have been merged, how many of the
//! merged ones have been copied back, and the buffer.

use super::alloc;
use super::call::{Answer, Call, load_raw, models, piece};
use crate::Addr;

models! {
    "qsort" / 4 => sort,
    "qsort_r" / 5 => sort,
    "bsearch" / 5 => search,
}

/// The state of a merge, in slots.
const WIDTH: usize = 0;
const START: usize = 1;
const LEFT: usize = 2;
const RIGHT: usize = 3;
const COPIED: usize = 4;
const BUFFER: usize = 5;

/// What a comparison is called with: two elements, and for `qsort_r` what the caller gave.
fn compare(call: &mut Call<'_>, a: Addr, b: Addr, function: Addr, extra: Option<u64>) -> Answer<i32> {
    let result = match extra {
        Some(extra) => call.call(function, &[a.0, b.0, extra])?,
        None => call.call(function, &[a.0, b.0])?,
    };
    Ok(result as i32)
}

fn sort(call: &mut Call<'_>) -> Answer {
    let (base, count, size, function) = (call.ptr(0), call.arg(1), call.arg(2), call.ptr(3));
    let extra = call.state.args.get(4).copied();
    if count < 2 || size == 0 {
        return Ok(0);
    }
    if call.state.slots[BUFFER] == 0 {
        let bytes = count.saturating_mul(size);
        call.effect(|host| host.is_visible(base, bytes).map(u64::from))?;
        call.state.slots[BUFFER] = call.effect(|host| host.allocate(bytes, true).map(|buffer| buffer.0))?;
        call.state.slots[WIDTH] = 1;
        call.commit();
    }
    let buffer = Addr(call.state.slots[BUFFER]);
    while call.state.slots[WIDTH] < count {
        let [width, start, left, right, copied, _] = call.state.slots;
        let middle = (start + width).min(count);
        let end = (start + 2 * width).min(count);
        let element = |n: u64| base.plus(n * size);
        if left + right < end - start {
            let take_left = if start + left >= middle {
                false
            } else if middle + right >= end {
                true
            } else {
                compare(call, element(start + left), element(middle + right), function, extra)? <= 0
            };
            let from = if take_left { start + left } else { middle + right };
            move_element(call, buffer.plus((left + right) * size), element(from), size)?;
            call.state.slots[if take_left { LEFT } else { RIGHT }] += 1;
        } else if copied < end - start {
            move_element(call, element(start + copied), buffer.plus(copied * size), size)?;
            call.state.slots[COPIED] += 1;
        } else {
            next_pair(call, end, count);
        }
        call.commit();
    }
    alloc::free(call, buffer)?;
    Ok(0)
}

/// Goes to the next pair of runs, or to runs of twice the width.
fn next_pair(call: &mut Call<'_>, end: u64, count: u64) {
    let slots = &mut call.state.slots;
    (slots[LEFT], slots[RIGHT], slots[COPIED]) = (0, 0, 0);
    slots[START] = end;
    if end >= count {
        slots[START] = 0;
        slots[WIDTH] *= 2;
    }
}

/// Copies an element. The buffer is private to the sort; padding becomes written there, and is written back.
fn move_element(call: &mut Call<'_>, dst: Addr, src: Addr, size: u64) -> Answer<()> {
    let mut done = 0;
    while done < size {
        let (to, from) = (dst.plus(done), src.plus(done));
        let part = piece(to, from, size - done);
        let visible = call.effect(|host| host.is_visible(from, u64::from(part)).map(u64::from))?;
        let value = match visible {
            0 => call.effect(|host| load_raw(host, from, part))?,
            _ => call.load(from, part)?,
        };
        call.store(to, part, value)?;
        done += u64::from(part);
    }
    Ok(())
}

/// Slot 0 is the first candidate, slot 1 how many have been excluded from the end.
fn search(call: &mut Call<'_>) -> Answer {
    let (key, base, count, size, function) = (call.ptr(0), call.ptr(1), call.arg(2), call.arg(3), call.ptr(4));
    loop {
        let (low, high) = (call.state.slots[0], count - call.state.slots[1]);
        if low >= high {
            return Ok(0);
        }
        let middle = low + (high - low) / 2;
        let element = base.plus(middle.wrapping_mul(size));
        match compare(call, key, element, function, None)? {
            0 => return Ok(element.0),
            1.. => call.state.slots[0] = middle + 1,
            _ => call.state.slots[1] = count - middle,
        }
        call.commit();
    }
}

#[cfg(test)]
mod tests {
    use crate::models::testing::Fake;
    use crate::{Addr, Memory};

    /// Compares the low halves of two words.
    fn compare(memory: &mut Memory, args: &[u64]) -> u64 {
        let thread = crate::main_thread();
        let [a, b] = [args[0], args[1]].map(|addr| memory.load(thread, Addr(addr), 4, false).unwrap() as i32);
        u64::from(a.cmp(&b) as i32 as u32)
    }

    #[test]
    fn sorting_is_stable_and_complete() {
        for visible in [false, true] {
            for count in [0, 1, 2, 3, 7, 16, 33] {
                let mut host = if visible { Fake::with_threads() } else { Fake::new() };
                host.callback = Box::new(|memory, _, args| compare(memory, args));
                let array = host.global(8 * count + 8);
                let mut expected: Vec<u64> = (0..count).map(|n| (n * 7919 % 11) | n << 32).collect();
                for (n, &value) in expected.iter().enumerate() {
                    host.store(Addr(array.0 + 8 * n as u64), 8, value);
                }
                expected.sort_by_key(|value| *value as u32);
                host.call("qsort", &[array.0, count, 8, 0x1000]);
                let sorted: Vec<u64> = (0..count).map(|n| host.load(Addr(array.0 + 8 * n), 8)).collect();
                assert_eq!(sorted, expected);
            }
        }
    }

    #[test]
    fn searching_finds_each_element_and_no_other() {
        let mut host = Fake::new();
        host.callback = Box::new(|memory, _, args| compare(memory, args));
        let (array, key) = (host.global(40), host.global(4));
        for n in 0..10 {
            host.store(Addr(array.0 + 4 * n), 4, 2 * n);
        }
        for wanted in 0..21 {
            host.store(key, 4, wanted);
            let expected = if wanted % 2 == 0 && wanted < 20 { array.0 + 2 * wanted } else { 0 };
            assert_eq!(host.call("bsearch", &[key.0, array.0, 10, 4, 0x1000]), expected);
        }
    }
}
