//! Copies, fills and comparisons of a known number of bytes.
//!
//! Memory that others can reach is accessed in pieces of up to eight bytes, each aligned to its size, so that fields are
//! not torn more than the hardware would. Private memory is done in eights.
//!
//! *Padding.* A copy may read bytes that were never written. Copied to private memory they stay unwritten. Copied to
//! memory that others can reach, the stores leave them out: each run of written bytes of a piece is stored for itself.
//! Leaving the old bytes where the source says nothing is one of the behaviours that the standard allows, and it never
//! makes an unwritten byte look written; but a race on nothing but padding, or the later use of a byte that the copy
//! should have made indeterminate, is not noticed. Which bytes of a visible piece were written is looked at when its load
//! has been performed.
//!
//! `memcpy` of ranges that overlap works as `memmove` does.

use super::Host;
use super::call::{Answer, Call, int, load_raw, models, piece, plain};
use crate::{Access, AccessKind, Addr, Stop, ViolationKind};

models! {
    "memcpy" | "memmove" / 3 => |c| copy_to(c, c.arg(2)),
    "mempcpy" | "__mempcpy" / 3 => |c| copy_to(c, c.arg(2)).map(|start| start.wrapping_add(c.arg(2))),
    "__memcpy_chk" | "__memmove_chk" / 4 => |c| {
        fits(c, c.arg(2), c.arg(3))?;
        copy_to(c, c.arg(2))
    },
    "bcopy" / 3 => |c| copy(c, c.ptr(1), c.ptr(0), c.arg(2)).map(|()| 0),
    "memset" / 3 => |c| fill(c, c.ptr(0), c.arg(1), c.arg(2)),
    "__memset_chk" / 4 => |c| {
        fits(c, c.arg(2), c.arg(3))?;
        fill(c, c.ptr(0), c.arg(1), c.arg(2))
    },
    "bzero" | "explicit_bzero" / 2 => |c| fill(c, c.ptr(0), 0, c.arg(1)),
    "memcmp" | "bcmp" | "__memcmpeq" / 3 => compare,
}

/// Fails if a function with a known destination size (`__*_chk`) would write behind it.
pub(super) fn fits(call: &Call<'_>, length: u64, room: u64) -> Answer<()> {
    if length > room {
        let message = format!("{length} bytes are written to a place for {room}");
        return call.violation(ViolationKind::OutOfBounds, message);
    }
    Ok(())
}

fn copy_to(call: &mut Call<'_>, length: u64) -> Answer {
    copy(call, call.ptr(0), call.ptr(1), length)?;
    Ok(call.arg(0))
}

/// Copies bytes; the ranges may overlap. Slot 0 says how many are done: from the start if the destination comes first,
/// otherwise from the end.
pub(super) fn copy(call: &mut Call<'_>, dst: Addr, src: Addr, length: u64) -> Answer<()> {
    let backward = dst.0 > src.0 && dst.0 - src.0 < length;
    while call.state.slots[0] < length {
        let done = call.state.slots[0];
        let range = Range { dst, src, length, backward };
        let private = call.effect(|host| range.copy_privately(host, done).map(u64::from))?;
        let (at, size) = range.piece(done, src);
        call.state.slots[0] = if private != 0 {
            length
        } else {
            copy_piece(call, dst.plus(at), src.plus(at), size)?;
            done + u64::from(size)
        };
        call.commit();
    }
    Ok(())
}

/// What is copied where.
#[derive(Clone, Copy)]
struct Range {
    dst: Addr,
    src: Addr,
    length: u64,
    backward: bool,
}

impl Range {
    /// The next piece when `done` bytes are done: where it starts, and its size. It is aligned in the destination and
    /// with respect to `other`.
    fn piece(&self, done: u64, other: Addr) -> (u64, u8) {
        let rest = self.length - done;
        let edge = if self.backward { rest } else { done };
        let size = piece(self.dst.plus(edge), other.plus(edge), rest);
        (if self.backward { rest - u64::from(size) } else { done }, size)
    }

    /// Copies all that is left if both ranges are private; whether it did. Pieces are aligned where they go, so that
    /// pointers are stored whole.
    fn copy_privately(&self, host: &mut dyn Host, mut done: u64) -> Result<bool, Stop> {
        if host.is_visible(self.src, self.length)? | host.is_visible(self.dst, self.length)? {
            return Ok(false);
        }
        while done < self.length {
            let (at, size) = self.piece(done, self.dst);
            let value = load_raw(host, self.src.plus(at), size)?;
            let written = host.memory().written_bytes(self.src.plus(at), size);
            store_written(host, self.dst.plus(at), size, value, written)?;
            done += u64::from(size);
        }
        Ok(true)
    }
}

fn store_written(host: &mut dyn Host, addr: Addr, size: u8, value: u64, written: u8) -> Result<(), Stop> {
    let thread = host.thread();
    match host.memory().store_masked(thread, addr, size, value, written) {
        Ok(()) => Ok(()),
        Err(_) => host.store_private(addr, size, value),
    }
}

/// Copies one piece of which at least one end is visible.
fn copy_piece(call: &mut Call<'_>, dst: Addr, src: Addr, size: u8) -> Answer<()> {
    let value = call.access(Access { raw: true, ..plain(src, size, AccessKind::Load) })?;
    let written = call.effect(|host| Ok(u64::from(host.memory().written_bytes(src, size))))? as u8;
    let visible = call.effect(|host| {
        let visible = host.is_visible(dst, u64::from(size))?;
        if !visible {
            store_written(host, dst, size, value, written)?;
        }
        Ok(u64::from(visible))
    })?;
    if visible == 0 {
        return Ok(());
    }
    let mut at = 0;
    while at < size {
        let run = (written >> at).trailing_ones().min(u32::from(size - at)) as u8;
        if run > 0 {
            call.store(dst.plus(u64::from(at)), run, value >> (8 * at))?;
        }
        at += run.max(1);
    }
    Ok(())
}

/// Fills bytes and gives the destination. Slot 0 says how many are done.
fn fill(call: &mut Call<'_>, dst: Addr, byte: u64, length: u64) -> Answer {
    let pattern = (byte & 0xff) * 0x0101_0101_0101_0101;
    while call.state.slots[0] < length {
        let done = call.state.slots[0];
        let at = dst.plus(done);
        let size = piece(at, at, length - done);
        if done == 0 {
            // So that a range that ends outside its object is reported before anything is written.
            call.effect(|host| host.is_visible(dst, length).map(u64::from))?;
        }
        call.store(at, size, pattern)?;
        call.state.slots[0] += u64::from(size);
        call.commit();
    }
    Ok(dst.0)
}

/// `memcmp`. Slot 0 says how many bytes are known to be equal.
fn compare(call: &mut Call<'_>) -> Answer {
    let (a, b, length) = (call.ptr(0), call.ptr(1), call.arg(2));
    while call.state.slots[0] < length {
        let done = call.state.slots[0];
        let size = piece(a.plus(done), b.plus(done), length - done);
        let left = call.load(a.plus(done), size)?.to_le_bytes();
        let right = call.load(b.plus(done), size)?.to_le_bytes();
        if let Some((x, y)) = left.into_iter().zip(right).find(|(x, y)| x != y) {
            return Ok(int(i32::from(x) - i32::from(y)));
        }
        call.state.slots[0] += u64::from(size);
        call.commit();
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use crate::models::testing::Fake;
    use crate::{Access, AccessKind, Addr, Op, ViolationKind};

    fn accesses(host: &Fake) -> Vec<Access> {
        let access = |op: &Op| match op {
            Op::Access(access) => *access,
            other => panic!("{other:?}"),
        };
        host.ops.iter().map(access).collect()
    }

    #[test]
    fn overlapping_ranges_are_moved_in_the_right_direction() {
        for visible in [false, true] {
            for (to, from) in [(3, 0), (0, 3), (8, 0), (0, 8), (1, 2)] {
                let mut host = if visible { Fake::with_threads() } else { Fake::new() };
                let object = host.global(32);
                for at in 0..32 {
                    host.store(Addr(object.0 + at), 1, at);
                }
                host.call("memmove", &[object.0 + to, object.0 + from, 19]);
                for at in 0..32 {
                    let expected = if (to..to + 19).contains(&at) { at + from - to } else { at };
                    assert_eq!(host.load(Addr(object.0 + at), 1), expected, "{to} {from} {at} {visible}");
                }
                assert_eq!(host.ops.is_empty(), !visible);
            }
        }
    }

    #[test]
    fn visible_pieces_are_as_large_as_alignment_allows() {
        let mut host = Fake::with_threads();
        let (a, b) = (host.global(32), host.global(32));
        host.call("memcpy", &[a.0 + 4, b.0 + 12, 15]);
        let stores: Vec<_> = accesses(&host).iter().filter(|a| !a.reads()).map(|x| (x.addr.0 - a.0, x.size)).collect();
        assert_eq!(stores, [(4, 4), (8, 8), (16, 2), (18, 1)]);
        assert_eq!(host.ops.len(), 8);
    }

    #[test]
    fn padding_stays_unwritten() {
        let mut host = Fake::with_threads();
        let (source, copy, global) = (host.heap(16), host.heap(16), host.global(16));
        host.store(source, 4, 1);
        host.store(Addr(source.0 + 4), 1, 2);
        host.store(Addr(source.0 + 8), 8, 3);
        host.store(global, 8, u64::MAX);
        host.call("memcpy", &[copy.0, source.0, 16]);
        assert!(host.ops.is_empty());
        assert_eq!(host.load(Addr(copy.0 + 8), 8), 3);
        assert!(host.memory.load(host.thread, Addr(copy.0 + 5), 1, false).is_err());
        host.call("memcpy", &[global.0, source.0, 16]);
        let stores: Vec<_> = accesses(&host).iter().map(|x| (x.addr.0 - global.0, x.size, x.kind)).collect();
        let value = |value| AccessKind::Store { value };
        assert_eq!(stores, [(0, 5, value(0x2_0000_0001)), (8, 8, value(3))]);
    }

    #[test]
    fn fills_and_comparisons() {
        for visible in [false, true] {
            let mut host = if visible { Fake::with_threads() } else { Fake::new() };
            let (a, b) = (host.global(20), host.global(20));
            assert_eq!(host.call("memset", &[a.0 + 1, 0x1ab, 13]), a.0 + 1);
            assert_eq!((host.load(a, 1), host.load(Addr(a.0 + 13), 1), host.load(Addr(a.0 + 14), 1)), (0, 0xab, 0));
            assert_eq!(host.int("memcmp", &[a.0, b.0, 1]), 0);
            assert!(host.int("memcmp", &[a.0, b.0, 20]) > 0);
            assert!(host.int("memcmp", &[b.0, a.0, 20]) < 0);
            assert_eq!(host.int("memcmp", &[b.0, a.0, 0]), 0);
            host.call("memcpy", &[b.0, a.0, 20]);
            assert_eq!(host.int("bcmp", &[a.0, b.0, 20]), 0);
        }
    }

    #[test]
    fn ranges_that_leave_their_object_are_noticed_before_anything_is_written() {
        let mut host = Fake::new();
        let (a, b) = (host.global(8), host.global(16));
        assert_eq!(host.violation("memset", &[a.0, 1, 9]).0, ViolationKind::OutOfBounds);
        assert_eq!(host.violation("memcpy", &[a.0, b.0, 16]).0, ViolationKind::OutOfBounds);
        assert_eq!(host.violation("memcpy", &[0, b.0, 16]).0, ViolationKind::InvalidPointer);
        assert_eq!(host.violation("__memcpy_chk", &[b.0, a.0, 8, 4]).0, ViolationKind::OutOfBounds);
        assert_eq!(host.load(a, 8), 0);
        assert_eq!(host.call("memcpy", &[0, 0, 0]), 0);
    }
}
