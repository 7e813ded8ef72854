//! Stands in for `std::sync::atomic`.

mod bool;
mod int;
mod ptr;

pub use self::bool::AtomicBool;
pub use int::{
    AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize,
};
pub use ptr::AtomicPtr;
pub use std::sync::atomic::Ordering;

use crate::request::Request;
use crate::runtime;
use selvedge_ir::Order;
use std::panic::Location;

/// An atomic fence.
#[track_caller]
pub fn fence(order: Ordering) {
    assert!(order != Ordering::Relaxed, "there is no such thing as a relaxed fence");
    runtime::must_run();
    runtime::perform(Request::fence(any(order)), Location::caller());
}

/// Keeps the compiler from moving accesses; for signal handlers, of which a model has none. Between threads it does nothing,
/// and that is what it does here.
#[track_caller]
pub fn compiler_fence(order: Ordering) {
    assert!(order != Ordering::Relaxed, "there is no such thing as a relaxed compiler fence");
}

/// Signals that the thread spins.
#[deprecated(note = "use `hint::spin_loop`")]
#[track_caller]
#[inline(always)]
pub fn spin_loop_hint() {
    runtime::yields();
}

/// The order of a read-modify-write or fence.
pub(crate) fn any(order: Ordering) -> Order {
    match order {
        Ordering::Relaxed => Order::Relaxed,
        Ordering::Release => Order::Release,
        Ordering::Acquire => Order::Acquire,
        Ordering::AcqRel => Order::AcqRel,
        Ordering::SeqCst => Order::SeqCst,
        _ => panic!("this memory order is not known"),
    }
}

/// The order of a load.
#[track_caller]
pub(crate) fn of_load(order: Ordering) -> Order {
    match order {
        Ordering::Release => panic!("there is no such thing as a release load"),
        Ordering::AcqRel => panic!("there is no such thing as an acquire-release load"),
        order => any(order),
    }
}

/// The order of a store.
#[track_caller]
pub(crate) fn of_store(order: Ordering) -> Order {
    match order {
        Ordering::Acquire => panic!("there is no such thing as an acquire store"),
        Ordering::AcqRel => panic!("there is no such thing as an acquire-release store"),
        order => any(order),
    }
}

/// The order of a compare-and-exchange that is made of a load and a store order (for `compare_and_swap`).
pub(crate) fn failure_of(order: Ordering) -> Ordering {
    match order {
        Ordering::AcqRel => Ordering::Acquire,
        Ordering::Release => Ordering::Relaxed,
        order => order,
    }
}
