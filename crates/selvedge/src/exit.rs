//! A thread of a model that ends the process.
//!
//! `std::process::exit` ends a test program with the code that it is given, before the tests after it have run and with no word of
//! those before: with 0, all is said to be well. So the system is asked to tell when the process ends, and if a thread of a model
//! is why, that is said, and the code is that of tests that have failed. It is too late to go on: destructors of statics may have
//! run. On systems other than Unix, nobody is asked.

// Functions of the system.
#![allow(unsafe_code)]

use crate::report;
use crate::runtime;
use std::io::Write;
use std::sync::Once;

/// What test programs end with if a test fails.
const FAILED: libc::c_int = 101;

/// From now on it is noticed.
pub(crate) fn install() {
    static ONCE: Once = Once::new();
    // SAFETY: the function may be called at any time until the process has ended. If there is no room for it, nothing is noticed.
    ONCE.call_once(|| {
        let _ = unsafe { libc::atexit(ends) };
    });
}

extern "C" fn ends() {
    let Some(thread) = runtime::current() else { return };
    let name = if runtime::is_busy() { format!("thread {thread}") } else { report::name(thread) };
    // Not by a macro: what these print is kept by the test, and lost.
    let _ = writeln!(
        std::io::stderr(),
        "\nselvedge: {name} of a model has ended the process, by `std::process::exit` or the like. What other executions do, and other \
         tests, is not known: this is a failure."
    );
    // SAFETY: nothing runs any more that would have to.
    unsafe { libc::_exit(FAILED) };
}
