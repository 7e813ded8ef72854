//! Everything that loom 0.7 exports, under the same paths and with the same signatures: this has to compile, and to run.

#![allow(unsafe_code, deprecated)]

use loom::alloc::{Layout, Track, alloc, alloc_zeroed, dealloc};
use loom::cell::{Cell, ConstPtr, MutPtr, UnsafeCell};
use loom::future::{AtomicWaker, block_on};
use loom::model::Builder;
use loom::sync::atomic::{
    AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicPtr, AtomicU8, AtomicU16, AtomicU32,
    AtomicU64, AtomicUsize, Ordering, fence, spin_loop_hint,
};
use loom::sync::mpsc::{Receiver, Sender, channel};
use loom::sync::{
    Arc, Barrier, Condvar, LockResult, Mutex, MutexGuard, Notify, RwLock, RwLockReadGuard, RwLockWriteGuard,
    TryLockResult, WaitTimeoutResult,
};
use loom::thread::{AccessError, JoinHandle, LocalKey, Thread, ThreadId};
use loom::{explore, hint, skip_branch, stop_exploring, thread};
use std::path::PathBuf;
use std::pin::Pin;
use std::time::Duration;

const _: usize = loom::MAX_THREADS;

#[test]
fn builder() {
    let mut builder: Builder = Builder::new();
    builder.max_threads = loom::MAX_THREADS;
    builder.max_branches = 1_000;
    builder.max_permutations = None;
    builder.max_duration = Some(Duration::from_secs(60));
    builder.preemption_bound = Some(3);
    builder.checkpoint_file = None::<PathBuf>;
    builder.checkpoint_interval = 1;
    builder.expect_explicit_explore = false;
    builder.location = true;
    builder.log = false;
    builder.clone().check(|| {
        stop_exploring();
        explore();
        skip_branch();
    });
    let _ = Builder::default().checkpoint_file("file");
    loom::model(|| {});
    loom::model::model(|| {});
}

macro_rules! integers {
    ($($name:ident: $int:ty),*) => {
        $({
            let mut x: $name = $name::new(1);
            let o: $int = x.load(Ordering::SeqCst);
            x.store(o, Ordering::Release);
            // SAFETY: nobody else has it.
            let _: $int = unsafe { x.unsync_load() };
            x.with_mut(|value: &mut $int| *value += 1);
            let _: $int = x.swap(2, Ordering::AcqRel);
            let _: $int = x.compare_and_swap(2, 3, Ordering::AcqRel);
            let _: Result<$int, $int> = x.compare_exchange(3, 4, Ordering::AcqRel, Ordering::Acquire);
            let _: Result<$int, $int> = x.compare_exchange_weak(4, 5, Ordering::SeqCst, Ordering::Relaxed);
            let before: [$int; 8] = [
                x.fetch_add(1, Ordering::Relaxed),
                x.fetch_sub(1, Ordering::Relaxed),
                x.fetch_and(7, Ordering::Relaxed),
                x.fetch_nand(3, Ordering::Relaxed),
                x.fetch_or(1, Ordering::Relaxed),
                x.fetch_xor(1, Ordering::Relaxed),
                x.fetch_max(9, Ordering::Relaxed),
                x.fetch_min(2, Ordering::Relaxed),
            ];
            let std = std::sync::atomic::$name::new(before[0]);
            let expected = [
                std.fetch_add(1, Ordering::Relaxed),
                std.fetch_sub(1, Ordering::Relaxed),
                std.fetch_and(7, Ordering::Relaxed),
                std.fetch_nand(3, Ordering::Relaxed),
                std.fetch_or(1, Ordering::Relaxed),
                std.fetch_xor(1, Ordering::Relaxed),
                std.fetch_max(9, Ordering::Relaxed),
                std.fetch_min(2, Ordering::Relaxed),
            ];
            assert_eq!(before, expected);
            let _: Result<$int, $int> = x.fetch_update(Ordering::AcqRel, Ordering::Acquire, |n| Some(n));
            assert_eq!(x.into_inner(), std.into_inner());
            let _ = ($name::default(), $name::from(1));
            assert!(!format!("{:?}", $name::new(1)).is_empty());
        })*
    };
}

#[test]
fn atomics() {
    loom::model(|| {
        integers!(
            AtomicI8: i8, AtomicI16: i16, AtomicI32: i32, AtomicI64: i64, AtomicIsize: isize,
            AtomicU8: u8, AtomicU16: u16, AtomicU32: u32, AtomicU64: u64, AtomicUsize: usize
        );
        let flag: AtomicBool = AtomicBool::new(true);
        flag.store(false, Ordering::Relaxed);
        // SAFETY: nobody else has it.
        let _: bool = unsafe { flag.unsync_load() };
        let _: [bool; 6] = [
            flag.swap(true, Ordering::Relaxed),
            flag.compare_and_swap(true, false, Ordering::Relaxed),
            flag.fetch_and(true, Ordering::Relaxed),
            flag.fetch_nand(true, Ordering::Relaxed),
            flag.fetch_or(true, Ordering::Relaxed),
            flag.fetch_xor(true, Ordering::Relaxed),
        ];
        let _: Result<bool, bool> = flag.compare_exchange(true, false, Ordering::Acquire, Ordering::Relaxed);
        let _: Result<bool, bool> = flag.compare_exchange_weak(true, false, Ordering::Acquire, Ordering::Relaxed);
        let _: Result<bool, bool> = flag.fetch_update(Ordering::AcqRel, Ordering::Acquire, |now| Some(!now));
        let _: bool = flag.into_inner();
        let _ = (AtomicBool::default(), AtomicBool::from(true));
        let mut value = 1;
        let mut pointer: AtomicPtr<i32> = AtomicPtr::new(&raw mut value);
        pointer.store(&raw mut value, Ordering::Relaxed);
        // SAFETY: nobody else has it.
        let old: *mut i32 = unsafe { pointer.unsync_load() };
        assert_eq!(old, &raw mut value);
        pointer.with_mut(|pointer: &mut *mut i32| *pointer = std::ptr::null_mut());
        let _: *mut i32 = pointer.swap(old, Ordering::AcqRel);
        let _: *mut i32 = pointer.compare_and_swap(old, old, Ordering::AcqRel);
        let _: Result<*mut i32, *mut i32> = pointer.compare_exchange(old, old, Ordering::AcqRel, Ordering::Acquire);
        let _ = pointer.compare_exchange_weak(old, old, Ordering::AcqRel, Ordering::Acquire);
        let _ = pointer.fetch_update(Ordering::AcqRel, Ordering::Acquire, Some);
        assert_eq!(pointer.into_inner(), &raw mut value);
        let _ = (AtomicPtr::<i32>::default(), AtomicPtr::from(old));
        fence(Ordering::SeqCst);
    });
}

#[test]
fn locks() {
    loom::model(|| {
        let mut mutex: Mutex<i32> = Mutex::new(1);
        let guard: LockResult<MutexGuard<'_, i32>> = mutex.lock();
        drop(guard);
        let guard: TryLockResult<MutexGuard<'_, i32>> = mutex.try_lock();
        drop(guard);
        *mutex.get_mut().unwrap() = 2;
        assert_eq!(mutex.into_inner().unwrap(), 2);
        let _ = (Mutex::<i32>::default(), Mutex::from(1));

        let mut lock: RwLock<i32> = RwLock::new(1);
        let guard: LockResult<RwLockReadGuard<'_, i32>> = lock.read();
        drop(guard);
        let guard: TryLockResult<RwLockReadGuard<'_, i32>> = lock.try_read();
        drop(guard);
        let guard: LockResult<RwLockWriteGuard<'_, i32>> = lock.write();
        drop(guard);
        let guard: TryLockResult<RwLockWriteGuard<'_, i32>> = lock.try_write();
        drop(guard);
        *lock.get_mut().unwrap() = 2;
        assert_eq!(lock.into_inner().unwrap(), 2);
        let _ = (RwLock::<i32>::default(), RwLock::from(1));

        let (mutex, condvar) = (Mutex::new(0), Condvar::new());
        condvar.notify_one();
        condvar.notify_all();
        let (guard, result): (MutexGuard<'_, i32>, WaitTimeoutResult) =
            condvar.wait_timeout(mutex.lock().unwrap(), Duration::from_millis(1)).unwrap();
        let _: bool = result.timed_out();
        drop(guard);
        let _: fn(&Condvar, MutexGuard<'static, i32>) -> LockResult<MutexGuard<'static, i32>> = Condvar::wait;
        let _ = Condvar::default();

        let notify = Notify::new();
        notify.notify();
        notify.wait();
        let _ = Notify::default();
        assert!(Barrier::new(1).wait().is_leader());
    });
}

/// In loom it is no warning to take a lock and to give it back at once, and there is code that denies warnings.
#[test]
#[deny(warnings)]
fn guards_need_not_be_used() {
    loom::model(|| {
        let (mutex, lock) = (Mutex::new(0), RwLock::new(0));
        mutex.lock().unwrap();
        lock.read().unwrap();
        lock.write().unwrap();
    });
}

#[test]
fn channels() {
    loom::model(|| {
        let (sender, receiver): (Sender<i32>, Receiver<i32>) = channel();
        let other: Sender<i32> = sender.clone();
        let sent: Result<(), std::sync::mpsc::SendError<i32>> = other.send(1);
        sent.unwrap();
        sender.send(2).unwrap();
        let received: Result<i32, std::sync::mpsc::RecvError> = receiver.recv();
        assert_eq!(received, Ok(1));
        let received: Result<i32, std::sync::mpsc::RecvTimeoutError> = receiver.recv_timeout(Duration::from_secs(1));
        assert_eq!(received, Ok(2));
        let received: Result<i32, std::sync::mpsc::TryRecvError> = receiver.try_recv();
        assert!(received.is_err());
    });
}

/// Has one implementation for what is not `Sync`, and two otherwise: then it is not known which is meant.
trait NotSync<A> {
    fn is_not_sync() {}
}
struct Sure;
impl<T: ?Sized> NotSync<()> for T {}
impl<T: ?Sized + Sync> NotSync<Sure> for T {}

fn is_send<T: Send>() {}
fn is_sync<T: Sync>() {}

#[test]
fn what_may_be_sent_to_other_threads_is_what_std_lets() {
    is_send::<(Sender<i32>, Receiver<i32>, Arc<i32>, Mutex<i32>, RwLock<i32>, Condvar, Notify, Barrier)>();
    is_sync::<(Sender<i32>, Arc<i32>, Mutex<i32>, RwLock<i32>, Condvar, Notify, Barrier)>();
    is_sync::<(MutexGuard<'static, i32>, RwLockReadGuard<'static, i32>, RwLockWriteGuard<'static, i32>)>();
    <Receiver<i32> as NotSync<_>>::is_not_sync();
    <std::sync::mpsc::Receiver<i32> as NotSync<_>>::is_not_sync();
    <MutexGuard<'static, std::cell::Cell<i32>> as NotSync<_>>::is_not_sync();
}

#[test]
fn arcs() {
    loom::model(|| {
        let mut arc: Arc<i32> = Arc::new(1);
        let _: Option<&mut i32> = Arc::get_mut(&mut arc);
        let other = Arc::clone(&arc);
        let _: (usize, bool) = (Arc::strong_count(&arc), Arc::ptr_eq(&arc, &other));
        let pointer: *const i32 = Arc::into_raw(other);
        assert_eq!(Arc::as_ptr(&arc), pointer);
        // SAFETY: the pointer comes from `into_raw`, and is given back once.
        unsafe {
            Arc::increment_strong_count(pointer);
            Arc::decrement_strong_count(pointer);
            drop(Arc::from_raw(pointer));
        }
        let unwrapped: Result<i32, Arc<i32>> = Arc::try_unwrap(arc);
        assert_eq!(unwrapped, Ok(1));
        let _: Pin<Arc<i32>> = Arc::pin(1);
        let shared: Arc<dyn std::fmt::Debug> = Arc::from_std(std::sync::Arc::new(1));
        assert_eq!(format!("{shared:?}"), "1");
        let _ = (Arc::<i32>::default(), Arc::from(1));
        let _: (Arc<str>, Arc<str>) = (Arc::from("text"), Arc::from("text".to_owned()));
        let _: (Arc<[i32]>, Arc<[i32]>) = (Arc::from(vec![1]), Arc::from([1].as_slice()));
        let _: (Arc<[i32]>, Arc<dyn Send>) = (Arc::from([1, 2]), Arc::from(Box::new(1) as Box<dyn Send>));
        assert_eq!(Arc::weak_count(&Arc::new(1)), 0);
        let _: (&i32, &i32) = (Arc::new(1).as_ref(), std::borrow::Borrow::borrow(&Arc::new(1)));
    });
}

#[test]
fn cells() {
    loom::model(|| {
        let cell: UnsafeCell<i32> = UnsafeCell::new(1);
        // SAFETY: nobody else has it.
        unsafe {
            assert_eq!(cell.with(|pointer: *const i32| *pointer), 1);
            cell.with_mut(|pointer: *mut i32| *pointer = 2);
            let pointer: MutPtr<i32> = cell.get_mut();
            *pointer.deref() = 3;
            pointer.with(|pointer: *mut i32| *pointer = 4);
            // As with loom, it must not live on.
            drop(pointer);
            let pointer: ConstPtr<i32> = cell.get();
            assert_eq!((*pointer.deref(), pointer.with(|pointer: *const i32| *pointer)), (4, 4));
        }
        assert_eq!(cell.into_inner(), 4);
        let _ = (UnsafeCell::<i32>::default(), UnsafeCell::from(1));

        let cell: Cell<i32> = Cell::new(1);
        cell.set(2);
        cell.swap(&Cell::new(3));
        assert_eq!((cell.replace(4), cell.get(), cell.take()), (3, 4, 4));
        assert!(cell == cell.clone() && cell <= Cell::new(1) && cell.cmp(&Cell::new(1)).is_lt());
        assert_eq!(cell.into_inner(), 0);
        let _ = (Cell::<i32>::default(), Cell::from(1));
    });
}

#[test]
fn memory() {
    loom::model(|| {
        let layout: Layout = Layout::new::<u64>();
        // SAFETY: the size is not zero, and blocks are freed once.
        unsafe {
            dealloc(alloc(layout), layout);
            dealloc(alloc_zeroed(layout), layout);
        }
        let mut track: Track<i32> = Track::new(1);
        *track.get_mut() += *track.get_ref();
        assert_eq!(track.into_inner(), 2);
    });
}

loom::thread_local! {
    static LOCAL: std::cell::Cell<i32> = std::cell::Cell::new(1);
    pub(crate) static OTHER: i32 = 2
}

loom::lazy_static! {
    /// Private.
    static ref LAZY: i32 = 1;
    /// Public.
    pub static ref PUBLIC: String = "text".to_owned();
    /// In between.
    pub(crate) static ref INSIDE: Vec<i32> = vec![1];
}

static BY_HAND: loom::lazy_static::Lazy<i32> = loom::lazy_static::Lazy { init: || 3, _p: std::marker::PhantomData };

#[test]
fn lazy_statics() {
    loom::model(|| {
        let (first, second): (&'static i32, &'static i32) = (BY_HAND.get(), BY_HAND.get());
        assert_eq!((first, std::ptr::from_ref(first)), (&3, std::ptr::from_ref(second)));
        let _: Option<loom::lazy_static::AccessError> = None;
        loom::lazy_static::yield_now();
        assert!(!loom::lazy_static::panicking());
        assert!(thread::available_parallelism().is_ok());
    });
}

#[test]
fn threads() {
    loom::model(|| {
        let handle: JoinHandle<i32> = thread::spawn(|| {
            thread::park();
            1
        });
        let other: &Thread = handle.thread();
        let _: (ThreadId, Option<&str>) = (other.id(), other.name());
        assert_eq!(thread::current().name(), None, "nobody has named the first thread");
        other.unpark();
        let joined: std::thread::Result<i32> = handle.join();
        assert_eq!(joined.unwrap(), 1);
        let builder = thread::Builder::new().name("name".to_owned()).stack_size(1 << 16);
        let handle = builder.spawn(|| thread::current().name().map(str::to_owned)).unwrap();
        assert_eq!(handle.join().unwrap().as_deref(), Some("name"));
        assert!(!thread::panicking());
        thread::yield_now();
        hint::spin_loop();
        spin_loop_hint();
        let _: unsafe fn() -> ! = hint::unreachable_unchecked;
        let key: &LocalKey<std::cell::Cell<i32>> = &LOCAL;
        key.with(|value| value.set(2));
        let value: Result<i32, AccessError> = LOCAL.try_with(std::cell::Cell::get);
        assert_eq!((value, OTHER.with(|value| *value)), (Ok(2), 2));
        assert_eq!((*LAZY, PUBLIC.len(), INSIDE.len()), (1, 4, 1));
    });
}

#[test]
fn futures() {
    loom::model(|| {
        let waker = AtomicWaker::new();
        let value = block_on(async { 7 });
        assert_eq!(value, 7);
        waker.register_by_ref(std::task::Waker::noop());
        waker.register(std::task::Waker::noop().clone());
        waker.wake();
        let _: Option<std::task::Waker> = waker.take_waker();
        let _ = AtomicWaker::default();
    });
}
