//! Atomic operations that the compiler leaves to a library.
//!
//! Compilers call these where an object may be misaligned, or where the type has a size that they do not know to be free
//! of locks. Sizes of 1, 2, 4 and 8 bytes are what they say; others are not supported. Memory orders are numbers from 0
//! (relaxed) to 5 (sequentially consistent).

use super::call::{Answer, Call, models};
use crate::{Access, AccessKind, Addr, Op};
use selvedge_ir::{Order, RmwOp};

models! {
    "__atomic_load_1" / 2 => |c| load(c, c.ptr(0), 1, c.int(1)),
    "__atomic_store_1" / 3 => |c| store(c, c.ptr(0), 1, c.arg(1), c.int(2)),
    "__atomic_exchange_1" / 3 => |c| rmw(c, RmwOp::Xchg, 1),
    "__atomic_compare_exchange_1" / 5 => |c| compare_exchange_value(c, 1),
    "__atomic_fetch_add_1" / 3 => |c| rmw(c, RmwOp::Add, 1),
    "__atomic_add_fetch_1" / 3 => |c| rmw_new(c, RmwOp::Add, 1),
    "__atomic_fetch_sub_1" / 3 => |c| rmw(c, RmwOp::Sub, 1),
    "__atomic_sub_fetch_1" / 3 => |c| rmw_new(c, RmwOp::Sub, 1),
    "__atomic_fetch_and_1" / 3 => |c| rmw(c, RmwOp::And, 1),
    "__atomic_and_fetch_1" / 3 => |c| rmw_new(c, RmwOp::And, 1),
    "__atomic_fetch_or_1" / 3 => |c| rmw(c, RmwOp::Or, 1),
    "__atomic_or_fetch_1" / 3 => |c| rmw_new(c, RmwOp::Or, 1),
    "__atomic_fetch_xor_1" / 3 => |c| rmw(c, RmwOp::Xor, 1),
    "__atomic_xor_fetch_1" / 3 => |c| rmw_new(c, RmwOp::Xor, 1),
    "__atomic_fetch_nand_1" / 3 => |c| rmw(c, RmwOp::Nand, 1),
    "__atomic_nand_fetch_1" / 3 => |c| rmw_new(c, RmwOp::Nand, 1),
    "__atomic_load_2" / 2 => |c| load(c, c.ptr(0), 2, c.int(1)),
    "__atomic_store_2" / 3 => |c| store(c, c.ptr(0), 2, c.arg(1), c.int(2)),
    "__atomic_exchange_2" / 3 => |c| rmw(c, RmwOp::Xchg, 2),
    "__atomic_compare_exchange_2" / 5 => |c| compare_exchange_value(c, 2),
    "__atomic_fetch_add_2" / 3 => |c| rmw(c, RmwOp::Add, 2),
    "__atomic_add_fetch_2" / 3 => |c| rmw_new(c, RmwOp::Add, 2),
    "__atomic_fetch_sub_2" / 3 => |c| rmw(c, RmwOp::Sub, 2),
    "__atomic_sub_fetch_2" / 3 => |c| rmw_new(c, RmwOp::Sub, 2),
    "__atomic_fetch_and_2" / 3 => |c| rmw(c, RmwOp::And, 2),
    "__atomic_and_fetch_2" / 3 => |c| rmw_new(c, RmwOp::And, 2),
    "__atomic_fetch_or_2" / 3 => |c| rmw(c, RmwOp::Or, 2),
    "__atomic_or_fetch_2" / 3 => |c| rmw_new(c, RmwOp::Or, 2),
    "__atomic_fetch_xor_2" / 3 => |c| rmw(c, RmwOp::Xor, 2),
    "__atomic_xor_fetch_2" / 3 => |c| rmw_new(c, RmwOp::Xor, 2),
    "__atomic_fetch_nand_2" / 3 => |c| rmw(c, RmwOp::Nand, 2),
    "__atomic_nand_fetch_2" / 3 => |c| rmw_new(c, RmwOp::Nand, 2),
    "__atomic_load_4" / 2 => |c| load(c, c.ptr(0), 4, c.int(1)),
    "__atomic_store_4" / 3 => |c| store(c, c.ptr(0), 4, c.arg(1), c.int(2)),
    "__atomic_exchange_4" / 3 => |c| rmw(c, RmwOp::Xchg, 4),
    "__atomic_compare_exchange_4" / 5 => |c| compare_exchange_value(c, 4),
    "__atomic_fetch_add_4" / 3 => |c| rmw(c, RmwOp::Add, 4),
    "__atomic_add_fetch_4" / 3 => |c| rmw_new(c, RmwOp::Add, 4),
    "__atomic_fetch_sub_4" / 3 => |c| rmw(c, RmwOp::Sub, 4),
    "__atomic_sub_fetch_4" / 3 => |c| rmw_new(c, RmwOp::Sub, 4),
    "__atomic_fetch_and_4" / 3 => |c| rmw(c, RmwOp::And, 4),
    "__atomic_and_fetch_4" / 3 => |c| rmw_new(c, RmwOp::And, 4),
    "__atomic_fetch_or_4" / 3 => |c| rmw(c, RmwOp::Or, 4),
    "__atomic_or_fetch_4" / 3 => |c| rmw_new(c, RmwOp::Or, 4),
    "__atomic_fetch_xor_4" / 3 => |c| rmw(c, RmwOp::Xor, 4),
    "__atomic_xor_fetch_4" / 3 => |c| rmw_new(c, RmwOp::Xor, 4),
    "__atomic_fetch_nand_4" / 3 => |c| rmw(c, RmwOp::Nand, 4),
    "__atomic_nand_fetch_4" / 3 => |c| rmw_new(c, RmwOp::Nand, 4),
    "__atomic_load_8" / 2 => |c| load(c, c.ptr(0), 8, c.int(1)),
    "__atomic_store_8" / 3 => |c| store(c, c.ptr(0), 8, c.arg(1), c.int(2)),
    "__atomic_exchange_8" / 3 => |c| rmw(c, RmwOp::Xchg, 8),
    "__atomic_compare_exchange_8" / 5 => |c| compare_exchange_value(c, 8),
    "__atomic_fetch_add_8" / 3 => |c| rmw(c, RmwOp::Add, 8),
    "__atomic_add_fetch_8" / 3 => |c| rmw_new(c, RmwOp::Add, 8),
    "__atomic_fetch_sub_8" / 3 => |c| rmw(c, RmwOp::Sub, 8),
    "__atomic_sub_fetch_8" / 3 => |c| rmw_new(c, RmwOp::Sub, 8),
    "__atomic_fetch_and_8" / 3 => |c| rmw(c, RmwOp::And, 8),
    "__atomic_and_fetch_8" / 3 => |c| rmw_new(c, RmwOp::And, 8),
    "__atomic_fetch_or_8" / 3 => |c| rmw(c, RmwOp::Or, 8),
    "__atomic_or_fetch_8" / 3 => |c| rmw_new(c, RmwOp::Or, 8),
    "__atomic_fetch_xor_8" / 3 => |c| rmw(c, RmwOp::Xor, 8),
    "__atomic_xor_fetch_8" / 3 => |c| rmw_new(c, RmwOp::Xor, 8),
    "__atomic_fetch_nand_8" / 3 => |c| rmw(c, RmwOp::Nand, 8),
    "__atomic_nand_fetch_8" / 3 => |c| rmw_new(c, RmwOp::Nand, 8),
    "__atomic_load" / 4 => generic_load,
    "__atomic_store" / 4 => generic_store,
    "__atomic_exchange" / 5 => generic_exchange,
    "__atomic_compare_exchange" / 6 => generic_compare_exchange,
    "__atomic_is_lock_free" / 1 => |c| Ok(u64::from(matches!(c.arg(0), 1 | 2 | 4 | 8))),
    "__atomic_test_and_set" | "atomic_flag_test_and_set_explicit" / 2 => |c| test_and_set(c, c.int(1)),
    "atomic_flag_test_and_set" / 1 => |c| test_and_set(c, SEQ_CST),
    "__atomic_clear" | "atomic_flag_clear_explicit" / 2 => |c| store(c, c.ptr(0), 1, 0, c.int(1)),
    "atomic_flag_clear" / 1 => |c| store(c, c.ptr(0), 1, 0, SEQ_CST),
    "__atomic_thread_fence" | "atomic_thread_fence" / 1 => |c| fence(c, c.int(0)),
    "__atomic_signal_fence" | "atomic_signal_fence" / 1 => |_| Ok(0),
    "__sync_synchronize" / 0 => |c| fence(c, SEQ_CST),
}

const SEQ_CST: i32 = 5;

/// The order with a number; unknown ones are the strongest.
fn order(number: i32) -> Order {
    match number & 0xffff {
        0 => Order::Relaxed,
        1 | 2 => Order::Acquire,
        3 => Order::Release,
        4 => Order::AcqRel,
        _ => Order::SeqCst,
    }
}

fn access(call: &mut Call<'_>, addr: Addr, size: u8, kind: AccessKind, order: Order) -> Answer {
    call.access(Access::new(addr, size, order, kind))
}

fn load(call: &mut Call<'_>, addr: Addr, size: u8, number: i32) -> Answer {
    access(call, addr, size, AccessKind::Load, order(number))
}

fn store(call: &mut Call<'_>, addr: Addr, size: u8, value: u64, number: i32) -> Answer {
    access(call, addr, size, AccessKind::Store { value }, order(number))?;
    Ok(0)
}

fn exchange(call: &mut Call<'_>, op: RmwOp, addr: Addr, size: u8, operand: u64, number: i32) -> Answer {
    access(call, addr, size, AccessKind::Rmw { op, operand, used: true }, order(number))
}

fn rmw(call: &mut Call<'_>, op: RmwOp, size: u8) -> Answer {
    exchange(call, op, call.ptr(0), size, call.arg(1), call.int(2))
}

fn rmw_new(call: &mut Call<'_>, op: RmwOp, size: u8) -> Answer {
    let old = rmw(call, op, size)?;
    Ok(crate::apply_rmw(op, size, old, call.arg(1)))
}

fn test_and_set(call: &mut Call<'_>, number: i32) -> Answer {
    exchange(call, RmwOp::Xchg, call.ptr(0), 1, 1, number).map(|old| u64::from(old != 0))
}

/// Exchanges if the object has the value that `expected` points to; otherwise writes there what it has.
fn compare_exchange(
    call: &mut Call<'_>,
    size: u8,
    [object, expected]: [Addr; 2],
    new: u64,
    orders: [i32; 2],
) -> Answer {
    let wanted = call.load(expected, size)?;
    let kind = AccessKind::Cas { expected: wanted, new, failure: order(orders[1]) };
    let old = access(call, object, size, kind, order(orders[0]))?;
    if old == wanted {
        return Ok(1);
    }
    call.store(expected, size, old)?;
    Ok(0)
}

fn compare_exchange_value(call: &mut Call<'_>, size: u8) -> Answer {
    compare_exchange(call, size, [call.ptr(0), call.ptr(1)], call.arg(2), [call.int(3), call.int(4)])
}

/// The size that a generic function is called with.
fn size(call: &Call<'_>) -> Answer<u8> {
    match call.arg(0) {
        size @ (1 | 2 | 4 | 8) => Ok(size as u8),
        size => call.unsupported(format!("an atomic access of {size} bytes; 1, 2, 4 and 8 are supported")),
    }
}

fn generic_load(call: &mut Call<'_>) -> Answer {
    let size = size(call)?;
    let value = load(call, call.ptr(1), size, call.int(3))?;
    call.store(call.ptr(2), size, value)?;
    Ok(0)
}

fn generic_store(call: &mut Call<'_>) -> Answer {
    let size = size(call)?;
    let value = call.load(call.ptr(2), size)?;
    store(call, call.ptr(1), size, value, call.int(3))
}

fn generic_exchange(call: &mut Call<'_>) -> Answer {
    let size = size(call)?;
    let value = call.load(call.ptr(2), size)?;
    let old = exchange(call, RmwOp::Xchg, call.ptr(1), size, value, call.int(4))?;
    call.store(call.ptr(3), size, old)?;
    Ok(0)
}

fn generic_compare_exchange(call: &mut Call<'_>) -> Answer {
    let size = size(call)?;
    let new = call.load(call.ptr(3), size)?;
    compare_exchange(call, size, [call.ptr(1), call.ptr(2)], new, [call.int(4), call.int(5)])
}

fn fence(call: &mut Call<'_>, number: i32) -> Answer {
    match order(number) {
        Order::Relaxed => Ok(0),
        order => call.op(Op::Fence { order }),
    }
}

#[cfg(test)]
mod tests {
    use crate::models::testing::Fake;
    use crate::{Access, Addr, Op};
    use selvedge_ir::Order;

    #[test]
    fn every_width_does_what_it_says() {
        for size in [1u8, 2, 4, 8] {
            let mut host = Fake::with_threads();
            let (object, expected) = (host.global(8), host.heap(8));
            let top = u64::MAX >> (64 - 8 * size);
            let mut call = |name: &str, args: &[u64]| host.call(&format!("__atomic_{name}_{size}"), args);
            call("store", &[object.0, u64::MAX, 3]);
            assert_eq!(call("load", &[object.0, 2]), top);
            assert_eq!(call("fetch_add", &[object.0, 2, 0]), top);
            assert_eq!(call("add_fetch", &[object.0, 2, 0]), 3);
            assert_eq!(call("fetch_nand", &[object.0, 1, 5]), 3);
            assert_eq!(call("exchange", &[object.0, 9, 4]), top - 1);
            host.store(expected, size, 8);
            let name = format!("__atomic_compare_exchange_{size}");
            assert_eq!(host.call(&name, &[object.0, expected.0, 1, 5, 5]), 0);
            assert_eq!(host.load(expected, size), 9);
            assert_eq!(host.call(&name, &[object.0, expected.0, 1, 5, 5]), 1);
            assert_eq!(host.load(object, size), 1);
            let orders: Vec<_> = host
                .ops
                .iter()
                .map(|op| match op {
                    Op::Access(Access { order, size: n, .. }) if *n == size => *order,
                    other => panic!("{other:?}"),
                })
                .collect();
            use Order::{AcqRel, Acquire, Relaxed, Release, SeqCst};
            assert_eq!(orders, [Release, Acquire, Relaxed, Relaxed, SeqCst, AcqRel, SeqCst, SeqCst]);
        }
    }

    #[test]
    fn generic_functions_work_for_sizes_of_registers() {
        let mut host = Fake::with_threads();
        let (object, a, b) = (host.global(8), host.heap(8), host.heap(8));
        host.store(a, 8, 5);
        host.call("__atomic_store", &[8, object.0, a.0, 5]);
        host.call("__atomic_exchange", &[8, object.0, a.0, b.0, 5]);
        assert_eq!(host.load(b, 8), 5);
        assert_eq!(host.call("__atomic_compare_exchange", &[8, object.0, b.0, a.0, 5, 0]), 1);
        host.call("__atomic_load", &[8, object.0, b.0, 5]);
        assert_eq!(host.load(Addr(b.0), 8), 5);
        assert!(host.unsupported("__atomic_load", &[24, object.0, b.0, 5]).contains("24 bytes"));
        assert_eq!(host.call("__atomic_is_lock_free", &[16, 0]), 0);
    }
}
