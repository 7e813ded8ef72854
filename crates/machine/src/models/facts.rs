//! The facts that models keep: one list, so that no two families use the same number.
//!
//! A fact is found under a kind and a key of 64 bits (an address, a thread, a number). Facts of a thread are seen by it
//! alone and change by its own steps. Process-wide facts are used only where the program orders those who look.

/// A kind of fact.
pub(super) type Kind = u32;

/// How often the thread holds the mutex at an address.
pub(super) const MUTEX: Kind = 1;
/// How often the thread holds the read-write lock at an address for reading.
pub(super) const READ_LOCK: Kind = 2;
/// Whether the thread holds the read-write lock at an address for writing.
pub(super) const WRITE_LOCK: Kind = 3;
/// The thread's value for a key of thread-specific data.
pub(super) const KEY_VALUE: Kind = 4;
/// The n-th key that the thread has given a value, plus one.
pub(super) const KEY_USED: Kind = 5;
/// How many keys it has given a value.
pub(super) const KEYS_USED: (Kind, u64) = (6, 0);
/// How many keys the thread has made.
pub(super) const KEYS_MADE: (Kind, u64) = (7, 0);
/// Process-wide: 1 for a key that exists.
pub(super) const KEY_EXISTS: Kind = 8;
/// Process-wide: the destructor of a key.
pub(super) const KEY_DESTRUCTOR: Kind = 9;
/// Process-wide: what may still be done with a thread (see `threads.rs`).
pub(super) const THREAD: Kind = 10;
/// Process-wide: the state object that a C++ thread deletes when it ends.
pub(super) const THREAD_STATE: Kind = 11;
/// Where the thread's `errno` is.
pub(super) const ERRNO: (Kind, u64) = (12, 0);
/// Where the thread's table number n of `<ctype.h>` is.
pub(super) const CTYPE: Kind = 13;
/// The thread's state of `rand`, plus one.
pub(super) const SEED: (Kind, u64) = (14, 0);
/// Microseconds that have passed for the thread.
pub(super) const CLOCK: (Kind, u64) = (15, 0);
/// Where the thread's `strtok` goes on.
pub(super) const STRTOK: (Kind, u64) = (16, 0);
/// How many handlers the thread has registered to run at exit.
pub(super) const EXIT_HANDLERS: (Kind, u64) = (17, 0);
/// The n-th of them: the function.
pub(super) const EXIT_HANDLER: Kind = 18;
/// The n-th of them: under 2n whether it has an argument, under 2n + 1 the argument.
pub(super) const EXIT_ARGUMENT: Kind = 19;
/// How many destructors of thread-local C++ objects the thread has registered.
pub(super) const LOCAL_DESTRUCTORS: (Kind, u64) = (21, 0);
/// The n-th of them: the function.
pub(super) const LOCAL_DESTRUCTOR: Kind = 22;
/// The n-th of them: its argument.
pub(super) const LOCAL_ARGUMENT: Kind = 23;
/// How deep the thread is in atomic sections.
pub(super) const ATOMIC: (Kind, u64) = (24, 0);
