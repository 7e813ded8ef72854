//! Atomic integers.

// `unsync_load` is an unsafe function in loom.
#![allow(unsafe_code)]

use super::{any, failure_of, of_load, of_store};
use crate::nondet::{assume, exchange_fails};
use crate::object::{Word, real_of, virtual_of};
use crate::request::Request;
use crate::runtime::{self, prepare};
use crate::update::{self, Update};
use selvedge_ir::{Order, RmwOp};
use selvedge_machine::truncate;
use std::fmt;
use std::panic::Location;
use std::sync::atomic::Ordering;

macro_rules! atomic_int {
    ($name:ident, $int:ty, $max:ident, $min:ident) => {
        #[doc = concat!("Stands in for `std::sync::atomic::", stringify!($name), "`.")]
        pub struct $name(Word);

        impl $name {
            const SIZE: u8 = size_of::<$int>() as u8;

            /// An atomic with its first value. A `static` starts every execution with it.
            #[track_caller]
            pub const fn new(value: $int) -> Self {
                Self::named(stringify!($name), value)
            }

            /// Under another name, for what is made of this.
            #[track_caller]
            pub(super) const fn named(what: &'static str, value: $int) -> Self {
                $name(Word::new(what, Self::SIZE, value as u64 & (u64::MAX >> (64 - 8 * Self::SIZE as u32))))
            }

            /// What the engine sees of a value; one of 8 bytes may be a pointer.
            fn bits(value: $int) -> u64 {
                let bits = truncate(value as u64, Self::SIZE);
                if Self::SIZE == 8 { virtual_of(bits) } else { bits }
            }

            // Operations have two halves. The first one is part of the model's code: it only clears the stack below. The
            // second one is never inlined and is told everything in registers, so that nothing is left over from it in the
            // frame of the model's code: stacks are compared (`spin.rs`).
            #[track_caller]
            #[inline(never)]
            fn access(&self, order: Order, request: Request) -> $int {
                let bits = self.0.access(order, request, Location::caller());
                if Self::SIZE == 8 { real_of(bits) as $int } else { bits as $int }
            }

            #[track_caller]
            #[inline(never)]
            fn read(&self, order: Order) -> $int {
                self.access(order, Request::load())
            }

            #[track_caller]
            #[inline(never)]
            fn write(&self, value: $int, order: Order) {
                self.access(order, Request::store(Self::bits(value)));
            }

            #[track_caller]
            #[inline(never)]
            fn rmw(&self, op: RmwOp, value: $int, order: Ordering) -> $int {
                let operand = if op == RmwOp::Xchg { Self::bits(value) } else { truncate(value as u64, Self::SIZE) };
                self.access(any(order), Request::rmw(op, operand, true))
            }

            /// Gives exclusive access to the value.
            #[track_caller]
            pub fn with_mut<R>(&mut self, f: impl FnOnce(&mut $int) -> R) -> R {
                let mut value = self.access(Order::Plain, Request::load());
                let result = f(&mut value);
                self.access(Order::Plain, Request::store(Self::bits(value)));
                result
            }

            /// Loads the value without synchronisation: a data race if another thread may store at the same time.
            ///
            /// # Safety
            ///
            /// As in loom. Here nothing bad happens: a race is reported.
            #[track_caller]
            pub unsafe fn unsync_load(&self) -> $int {
                self.access(Order::Plain, Request::load())
            }

            /// The value.
            #[track_caller]
            pub fn into_inner(self) -> $int {
                self.access(Order::Plain, Request::load())
            }

            /// Loads the value.
            #[track_caller]
            #[inline(always)]
            pub fn load(&self, order: Ordering) -> $int {
                prepare();
                self.read(of_load(order))
            }

            /// Stores a value.
            #[track_caller]
            #[inline(always)]
            pub fn store(&self, value: $int, order: Ordering) {
                prepare();
                self.write(value, of_store(order));
            }

            /// Stores a value and returns the old one.
            #[track_caller]
            #[inline(always)]
            pub fn swap(&self, value: $int, order: Ordering) -> $int {
                prepare();
                self.rmw(RmwOp::Xchg, value, order)
            }

            /// Stores a value if the present one is `current`; returns the old one.
            #[track_caller]
            pub fn compare_and_swap(&self, current: $int, new: $int, order: Ordering) -> $int {
                match self.compare_exchange(current, new, order, failure_of(order)) {
                    Ok(old) | Err(old) => old,
                }
            }

            /// Stores a value if the present one is `current`.
            #[track_caller]
            #[inline(always)]
            pub fn compare_exchange(
                &self,
                current: $int,
                new: $int,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$int, $int> {
                prepare();
                self.exchange(current, new, success, failure)
            }

            #[track_caller]
            #[inline(never)]
            fn exchange(&self, current: $int, new: $int, success: Ordering, failure: Ordering) -> Result<$int, $int> {
                let (expected, new, failure) = (Self::bits(current), Self::bits(new), of_load(failure));
                let kind = Request::cas(expected, new, failure);
                let old = self.access(any(success), kind);
                if old == current { Ok(old) } else { Err(old) }
            }

            /// As `compare_exchange`, but it may fail for no reason.
            #[track_caller]
            #[inline(always)]
            pub fn compare_exchange_weak(
                &self,
                current: $int,
                new: $int,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$int, $int> {
                prepare();
                self.exchange_weakly(current, new, success, failure)
            }

            #[track_caller]
            #[inline(never)]
            fn exchange_weakly(
                &self,
                current: $int,
                new: $int,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$int, $int> {
                if exchange_fails(self.0.addr(), Self::SIZE, Self::bits(current)) {
                    let old = self.access(of_load(failure), Request::load().of_failure());
                    // If the values differ it fails for a reason, which is explored anyway.
                    assume(old == current);
                    return Err(old);
                }
                match self.compare_exchange(current, new, success, failure) {
                    Ok(old) if runtime::fails_in_trial() => Err(old),
                    result => result,
                }
            }

            /// Adds and returns the old value.
            #[track_caller]
            #[inline(always)]
            pub fn fetch_add(&self, value: $int, order: Ordering) -> $int {
                prepare();
                self.rmw(RmwOp::Add, value, order)
            }

            /// Subtracts and returns the old value.
            #[track_caller]
            #[inline(always)]
            pub fn fetch_sub(&self, value: $int, order: Ordering) -> $int {
                prepare();
                self.rmw(RmwOp::Sub, value, order)
            }

            /// Bitwise and; returns the old value.
            #[track_caller]
            #[inline(always)]
            pub fn fetch_and(&self, value: $int, order: Ordering) -> $int {
                prepare();
                self.rmw(RmwOp::And, value, order)
            }

            /// Bitwise not-and; returns the old value.
            #[track_caller]
            #[inline(always)]
            pub fn fetch_nand(&self, value: $int, order: Ordering) -> $int {
                prepare();
                self.rmw(RmwOp::Nand, value, order)
            }

            /// Bitwise or; returns the old value.
            #[track_caller]
            #[inline(always)]
            pub fn fetch_or(&self, value: $int, order: Ordering) -> $int {
                prepare();
                self.rmw(RmwOp::Or, value, order)
            }

            /// Bitwise exclusive or; returns the old value.
            #[track_caller]
            #[inline(always)]
            pub fn fetch_xor(&self, value: $int, order: Ordering) -> $int {
                prepare();
                self.rmw(RmwOp::Xor, value, order)
            }

            /// The greater of both stays; returns the old value.
            #[track_caller]
            #[inline(always)]
            pub fn fetch_max(&self, value: $int, order: Ordering) -> $int {
                prepare();
                self.rmw(RmwOp::$max, value, order)
            }

            /// The smaller of both stays; returns the old value.
            #[track_caller]
            #[inline(always)]
            pub fn fetch_min(&self, value: $int, order: Ordering) -> $int {
                prepare();
                self.rmw(RmwOp::$min, value, order)
            }

            /// Replaces the value by what a function makes of it, until nobody comes in between.
            #[track_caller]
            pub fn fetch_update<F>(&self, set: Ordering, fetch: Ordering, mut f: F) -> Result<$int, $int>
            where
                F: FnMut($int) -> Option<$int>,
            {
                let at = Location::caller();
                let (addr, size) = (self.0.addr(), Self::SIZE);
                let update = Update { addr, size, set: any(set), fetch: of_load(fetch), at };
                let outside = |bits: u64| if Self::SIZE == 8 { real_of(bits) as $int } else { bits as $int };
                if let Some(done) = update::update(update, &mut |bits| f(outside(bits)).map(Self::bits)) {
                    return done.map(outside).map_err(outside);
                }
                let mut old = self.load(fetch);
                while let Some(new) = f(old) {
                    match self.compare_exchange_weak(old, new, set, fetch) {
                        Ok(old) => return Ok(old),
                        Err(now) => old = now,
                    }
                }
                Err(old)
            }
        }

        impl Default for $name {
            #[track_caller]
            fn default() -> Self {
                $name::new(0)
            }
        }

        impl From<$int> for $name {
            #[track_caller]
            fn from(value: $int) -> Self {
                $name::new(value)
            }
        }

        impl fmt::Debug for $name {
            /// Without the value: to look at it is an operation.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    };
}

atomic_int!(AtomicI8, i8, Max, Min);
atomic_int!(AtomicI16, i16, Max, Min);
atomic_int!(AtomicI32, i32, Max, Min);
atomic_int!(AtomicI64, i64, Max, Min);
atomic_int!(AtomicIsize, isize, Max, Min);
atomic_int!(AtomicU8, u8, UMax, UMin);
atomic_int!(AtomicU16, u16, UMax, UMin);
atomic_int!(AtomicU32, u32, UMax, UMin);
atomic_int!(AtomicU64, u64, UMax, UMin);
atomic_int!(AtomicUsize, usize, UMax, UMin);
