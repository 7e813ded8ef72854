//! What may be sent, shared, moved and caught: all that loom 0.7.2's types have, ours have too. This has to compile.
//!
//! The compiler derives these traits from the fields, so that a pointer more in some object takes them away unnoticed.

use loom::alloc::Track;
use loom::cell::{Cell, ConstPtr, MutPtr, UnsafeCell};
use loom::future::AtomicWaker;
use loom::lazy_static::Lazy;
use loom::sync::atomic::{AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize};
use loom::sync::atomic::{AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize};
use loom::sync::mpsc::{Receiver, Sender};
use loom::sync::{Arc, Barrier, Condvar, Mutex, MutexGuard, Notify, RwLock, RwLockReadGuard, RwLockWriteGuard};
use loom::thread::{AccessError, JoinHandle, LocalKey, Thread, ThreadId};
use std::marker::PhantomPinned;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::rc::Rc;

type Plain<T> = std::cell::Cell<T>;

/// Types, and the traits that they have.
macro_rules! have {
    ($($name:ident: $($type:ty),+ => $($bound:ident),+;)*) => {
        $(
            #[test]
            fn $name() {
                fn has<T: $($bound +)+>() {}
                $(has::<$type>();)+
            }
        )*
    };
}

// `Plain` is not `Sync`, and nobody may look at it after a panic; an `Rc` is neither `Send` nor `Sync`; a mutable reference
// is not to be had back after a panic; and what is pinned is not to be moved.
have! {
    objects_without_a_type_have_all:
        AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicU8, AtomicU16, AtomicU32, AtomicU64,
        AtomicUsize, Condvar, Notify, Barrier, AtomicWaker, Thread, ThreadId, AccessError, loom::thread::Builder,
        loom::model::Builder
        => Send, Sync, Unpin, UnwindSafe, RefUnwindSafe;
    all_objects_of_a_number_can_be_caught_and_moved:
        Arc<u8>, Mutex<u8>, RwLock<u8>, MutexGuard<'static, u8>, RwLockReadGuard<'static, u8>,
        RwLockWriteGuard<'static, u8>, AtomicPtr<u8>, Sender<u8>, Receiver<u8>, ConstPtr<u8>, MutPtr<u8>, Track<u8>,
        JoinHandle<u8>, LocalKey<u8>, Lazy<u8>
        => UnwindSafe, RefUnwindSafe, Unpin;
    what_poisons_or_only_points_can_be_caught_whatever_is_in_it:
        Mutex<Plain<u8>>, RwLock<Plain<u8>>, MutexGuard<'static, Plain<u8>>, RwLockWriteGuard<'static, Plain<u8>>,
        MutexGuard<'static, &'static mut u8>, RwLockReadGuard<'static, &'static mut u8>,
        RwLockWriteGuard<'static, &'static mut u8>, AtomicPtr<Plain<u8>>, Sender<Plain<u8>>, Receiver<Plain<u8>>,
        Sender<&'static mut u8>, Receiver<&'static mut u8>, JoinHandle<Plain<u8>>, JoinHandle<&'static mut u8>,
        LocalKey<Plain<u8>>, Lazy<Plain<u8>>
        => UnwindSafe, RefUnwindSafe;
    cells_can_be_caught_as_a_whole: Cell<u8>, UnsafeCell<u8>, Cell<Plain<u8>>, UnsafeCell<Plain<u8>> => UnwindSafe, Unpin;
    what_can_be_sent:
        Arc<u8>, Mutex<Plain<u8>>, RwLock<Plain<u8>>, AtomicPtr<Rc<u8>>, Sender<Plain<u8>>, Receiver<Plain<u8>>,
        Cell<Plain<u8>>, UnsafeCell<Plain<u8>>, Track<Plain<u8>>, JoinHandle<Plain<u8>>, LocalKey<Rc<u8>>, Lazy<Rc<u8>>
        => Send;
    what_can_be_shared:
        Arc<u8>, Mutex<Plain<u8>>, RwLock<u8>, MutexGuard<'static, u8>, RwLockReadGuard<'static, u8>,
        RwLockWriteGuard<'static, u8>, AtomicPtr<Rc<u8>>, Sender<Plain<u8>>, Track<u8>, JoinHandle<Plain<u8>>,
        LocalKey<Rc<u8>>, Lazy<Rc<u8>>
        => Sync;
    what_points_can_be_moved:
        Arc<PhantomPinned>, MutexGuard<'static, PhantomPinned>, RwLockReadGuard<'static, PhantomPinned>,
        RwLockWriteGuard<'static, PhantomPinned>, AtomicPtr<PhantomPinned>, Sender<PhantomPinned>,
        Receiver<PhantomPinned>, ConstPtr<PhantomPinned>, MutPtr<PhantomPinned>, JoinHandle<PhantomPinned>,
        LocalKey<PhantomPinned>, Lazy<PhantomPinned>
        => Unpin;
}
