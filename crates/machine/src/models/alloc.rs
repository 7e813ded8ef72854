//! The heap: `malloc` and its kin, and the C++ operators `new` and `delete`.
//!
//! Objects start at page boundaries, so every alignment up to a page is given. `free` of an object that other threads
//! can reach is an Op; whether it was freed already is looked at before, and by the engine when it comes to its turn.
//! `realloc` always moves: the old object is copied and freed.
//!
//! `malloc` returns null only if the user asks for that possibility; then it is a choice. `new` never fails, except in
//! its `nothrow` form, since the exception that it would throw is not supported.

use super::bytes;
use super::call::{Answer, Call, int, models};
use super::errno::{EINVAL, ENOMEM};
use crate::memory::ObjectKind;
use crate::{Addr, Op, ViolationKind};

models! {
    "malloc" / 1 => |c| allocate(c, c.arg(0), false),
    "calloc" / 2 => calloc,
    "realloc" / 2 => |c| realloc(c, c.arg(1)),
    "reallocarray" / 3 => reallocarray,
    "aligned_alloc" | "memalign" / 2 => aligned,
    "valloc" | "pvalloc" / 1 => |c| allocate(c, c.arg(0), false),
    "posix_memalign" / 3 => posix_memalign,
    "free" | "cfree" / 1 => |c| free(c, c.ptr(0)),
    "malloc_usable_size" / 1 => usable_size,
    "_Znwm" | "_Znam" / 1 => new,
    "_ZnwmSt11align_val_t" | "_ZnamSt11align_val_t" / 2 => aligned_new,
    "_ZnwmRKSt9nothrow_t" | "_ZnamRKSt9nothrow_t" / 1 => |c| allocate(c, c.arg(0), false),
    "_ZnwmSt11align_val_tRKSt9nothrow_t" | "_ZnamSt11align_val_tRKSt9nothrow_t" / 2 => |c| {
        check_alignment(c, c.arg(1))?;
        allocate(c, c.arg(0), false)
    },
    "_ZdlPv" | "_ZdaPv" | "_ZdlPvm" | "_ZdaPvm" | "_ZdlPvSt11align_val_t" | "_ZdaPvSt11align_val_t"
        | "_ZdlPvmSt11align_val_t" | "_ZdaPvmSt11align_val_t" | "_ZdlPvRKSt9nothrow_t" | "_ZdaPvRKSt9nothrow_t"
        | "_ZdlPvSt11align_val_tRKSt9nothrow_t" | "_ZdaPvSt11align_val_tRKSt9nothrow_t" / 1 => |c| free(c, c.ptr(0)),
}

/// The largest alignment that every object has.
const PAGE: u64 = 4096;

/// Makes an object, or chooses not to.
pub(super) fn allocate(call: &mut Call<'_>, size: u64, zeroed: bool) -> Answer {
    if call.host.options().malloc_may_fail && call.op(Op::Choose { alternatives: 2 })? == 1 {
        call.set_errno(ENOMEM)?;
        return Ok(0);
    }
    call.effect(|host| host.allocate(size, zeroed).map(|addr| addr.0))
}

fn new(call: &mut Call<'_>) -> Answer {
    let size = call.arg(0);
    call.effect(|host| host.allocate(size, false).map(|addr| addr.0))
}

fn aligned_new(call: &mut Call<'_>) -> Answer {
    check_alignment(call, call.arg(1))?;
    new(call)
}

fn check_alignment(call: &Call<'_>, alignment: u64) -> Answer<()> {
    if alignment > PAGE {
        return call.unsupported(format!("an alignment of {alignment} bytes; at most {PAGE} are supported"));
    }
    Ok(())
}

/// The product, or a failed allocation if it does not fit into 64 bits.
fn product(call: &mut Call<'_>, a: u64, b: u64) -> Answer<Option<u64>> {
    if let Some(size) = a.checked_mul(b) {
        return Ok(Some(size));
    }
    call.set_errno(ENOMEM)?;
    Ok(None)
}

fn calloc(call: &mut Call<'_>) -> Answer {
    match product(call, call.arg(0), call.arg(1))? {
        Some(size) => allocate(call, size, true),
        None => Ok(0),
    }
}

fn reallocarray(call: &mut Call<'_>) -> Answer {
    match product(call, call.arg(1), call.arg(2))? {
        Some(size) => realloc(call, size),
        None => Ok(0),
    }
}

/// Slot 0 is the progress of the copy, slot 1 the new object, slot 2 how much there is to copy.
fn realloc(call: &mut Call<'_>, size: u64) -> Answer {
    let old = call.ptr(0);
    if old.0 == 0 {
        return allocate(call, size, false);
    }
    if size == 0 {
        // As the GNU C library does; the standard leaves it open.
        return free(call, old);
    }
    if call.state.slots[1] == 0 {
        let old_size = freeable(call, old)?;
        let new = allocate(call, size, false)?;
        if new == 0 {
            return Ok(0);
        }
        (call.state.slots[1], call.state.slots[2]) = (new, old_size.min(size));
        call.commit();
    }
    let (new, length) = (call.state.slots[1], call.state.slots[2]);
    bytes::copy(call, Addr(new), old, length)?;
    free(call, old)?;
    Ok(new)
}

fn aligned(call: &mut Call<'_>) -> Answer {
    let (alignment, size) = (call.arg(0), call.arg(1));
    if !alignment.is_power_of_two() {
        call.set_errno(EINVAL)?;
        return Ok(0);
    }
    check_alignment(call, alignment)?;
    allocate(call, size, false)
}

fn posix_memalign(call: &mut Call<'_>) -> Answer {
    let alignment = call.arg(1);
    if !alignment.is_power_of_two() || alignment < 8 {
        return Ok(int(EINVAL));
    }
    check_alignment(call, alignment)?;
    match allocate(call, call.arg(2), false)? {
        0 => Ok(int(ENOMEM)),
        addr => {
            call.store(call.ptr(0), 8, addr)?;
            Ok(0)
        }
    }
}

/// The size of the object that a pointer may be freed with.
fn freeable(call: &mut Call<'_>, addr: Addr) -> Answer {
    call.effect(|host| {
        let memory = host.memory();
        let Some(id) = memory.find(addr) else {
            return Err(host.violation(ViolationKind::InvalidFree, format!("{addr} is freed, which is no object")));
        };
        let object = memory.object(id);
        let (base, size, kind, alive) = (object.base, object.size, object.kind, object.alive);
        let (kind, what) = match (kind, alive) {
            (ObjectKind::Heap, true) if base == addr => return Ok(size),
            (ObjectKind::Heap, true) => (ViolationKind::InvalidFree, "is freed by a pointer that is not its start"),
            (ObjectKind::Heap, false) => return Err(host.double_free(addr)),
            _ => (ViolationKind::InvalidFree, "is freed, but was not allocated on the heap"),
        };
        let name = host.name_of(addr);
        Err(host.violation(kind, format!("{name} {what}")))
    })
}

/// `free`.
pub(super) fn free(call: &mut Call<'_>, addr: Addr) -> Answer {
    if addr.0 == 0 {
        return Ok(0);
    }
    let size = freeable(call, addr)?;
    // An object of no bytes can be reached by others as well.
    let visible = call.effect(|host| {
        let visible = host.is_visible(addr, 0)?;
        if !visible {
            host.release(addr);
        }
        Ok(u64::from(visible))
    })?;
    if visible != 0 {
        call.op(Op::Free { addr, size })?;
    }
    Ok(0)
}

fn usable_size(call: &mut Call<'_>) -> Answer {
    match call.ptr(0) {
        Addr(0) => Ok(0),
        addr => freeable(call, addr),
    }
}

#[cfg(test)]
mod tests {
    use crate::models::testing::Fake;
    use crate::{Addr, Op, ViolationKind};

    #[test]
    fn what_is_freed_has_to_be_a_live_heap_object() {
        let mut host = Fake::new();
        let object = host.call("malloc", &[16]);
        let global = host.global(8);
        assert_eq!(host.violation("free", &[object + 8]).0, ViolationKind::InvalidFree);
        assert_eq!(host.violation("free", &[global.0]).0, ViolationKind::InvalidFree);
        assert_eq!(host.violation("free", &[12]).0, ViolationKind::InvalidFree);
        assert_eq!(host.call("free", &[0]), 0);
        assert_eq!(host.call("free", &[object]), 0);
        assert_eq!(host.violation("free", &[object]).0, ViolationKind::DoubleFree);
        assert_eq!(host.violation("_ZdlPv", &[object]).0, ViolationKind::DoubleFree);
    }

    #[test]
    fn freeing_what_others_can_reach_is_an_op() {
        let mut host = Fake::with_threads();
        let object = host.call("malloc", &[16]);
        host.memory.publish(Addr(object));
        host.call("free", &[object]);
        assert_eq!(host.ops, [Op::Free { addr: Addr(object), size: 16 }]);
    }

    #[test]
    fn reallocation_moves_what_was_written() {
        for visible in [false, true] {
            let mut host = if visible { Fake::with_threads() } else { Fake::new() };
            let old = host.call("malloc", &[16]);
            host.store(Addr(old), 8, 77);
            host.memory.publish(Addr(old));
            let new = host.call("realloc", &[old, 32]);
            assert_eq!(host.load(Addr(new), 8), 77);
            assert!(host.memory.load(host.thread, Addr(new + 8), 8, false).is_err(), "never written");
            let freed = matches!(host.ops.last(), Some(Op::Free { addr, .. }) if addr.0 == old);
            assert_eq!(freed, visible);
        }
    }

    #[test]
    fn zeroed_aligned_and_failing_allocations() {
        let mut host = Fake::new();
        let object = host.call("calloc", &[3, 8]);
        assert_eq!(host.load(Addr(object + 16), 8), 0);
        assert_eq!(host.call("calloc", &[1 << 40, 1 << 40]), 0);
        assert_eq!(host.call("aligned_alloc", &[64, 100]) % 64, 0);
        assert_eq!(host.call("aligned_alloc", &[3, 100]), 0);
        let place = host.heap(8);
        assert_eq!(host.call("posix_memalign", &[place.0, 4, 8]), 22);
        assert_eq!(host.call("posix_memalign", &[place.0, 4096, 8]), 0);
        assert!(host.unsupported("malloc", &[1 << 60]).contains("bytes"));
        host.options.malloc_may_fail = true;
        host.outcomes = vec![1];
        assert_eq!(host.call("malloc", &[8]), 0);
        assert_ne!(host.call("malloc", &[8]), 0);
    }
}
