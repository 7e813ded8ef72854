//! Assertions, the end of the process, and what it knows about its surroundings.
//!
//! `exit` calls the destructors of the thread's thread-local C++ objects and then the handlers of `atexit` and
//! `__cxa_atexit` (destructors of C++ globals), newest first. Only handlers that the exiting thread has registered itself
//! are called: those of other threads are in no fixed order with them, and hardly any program has such. The machine
//! calls `exit` when `main` returns.

use super::call::{Answer, Call, Pause, int, models};
use super::errno::{EINVAL, describe};
use super::facts::{EXIT_ARGUMENT, EXIT_HANDLER, EXIT_HANDLERS};
use super::{Step, threads};
use crate::memory::ObjectKind;
use crate::{Addr, ViolationKind};

models! {
    "__assert_fail" / 1 => |c| assertion(c, c.ptr(0)),
    "__assert" / 1 => |c| assertion(c, c.ptr(0)),
    "__assert_rtn" / 4 => |c| assertion(c, c.ptr(3)),
    "__assert_perror_fail" / 1 => |c| {
        let error = describe(c.int(0));
        c.violation(ViolationKind::Assertion, format!("assertion failed: unexpected error `{error}`"))
    },
    "abort" / 0 => |c| c.violation(ViolationKind::Abort, "`abort` is called"),
    "__stack_chk_fail" / 0 => |c| c.violation(ViolationKind::Abort, "the stack is damaged"),
    "__chk_fail" / 0 => |c| c.violation(ViolationKind::OutOfBounds, "a buffer overflow is detected"),
    "exit" / 1 => exit,
    "_exit" | "_Exit" | "quick_exit" / 1 => |c| end(c, c.int(0)),
    "atexit" / 1 => |c| at_exit(c, None),
    "__cxa_atexit" / 2 => |c| at_exit(c, Some(c.arg(1))),
    "__cxa_finalize" / 1 => |_| Ok(0),
    "at_quick_exit" | "on_exit" / 1 => |c| c.unsupported("handlers other than those of `atexit`"),
    "getenv" | "secure_getenv" / 1 => |_| Ok(0),
    "getpid" | "gettid" | "getppid" / 0 => |c| Ok(4242 + c.thread_index()),
    "getuid" | "geteuid" | "getgid" | "getegid" / 0 => |_| Ok(1000),
    "sysconf" / 1 => sysconf,
    "getpagesize" / 0 => |_| Ok(4096),
    "get_nprocs" | "get_nprocs_conf" / 0 => |_| Ok(2),
    "setlocale" / 2 => |_| Ok(0),
    "__errno_location" | "__error" | "_errno" / 0 => |c| Ok(c.errno_address()?.0),
    "strerror" / 1 => strerror,
    "raise" / 1 => raise,
}

fn assertion(call: &mut Call<'_>, text: Addr) -> Answer {
    let text = call.read_string(text, 4096)?;
    let text = String::from_utf8_lossy(&text).into_owned();
    call.violation(ViolationKind::Assertion, format!("assertion `{text}` failed"))
}

/// Ends the process at once.
fn end(call: &mut Call<'_>, status: i32) -> Answer {
    if status != 0 && call.host.options().nonzero_exit_is_error {
        return call.violation(ViolationKind::Abort, format!("the program exits with status {status}"));
    }
    Err(Pause::Step(Step::ExitProcess(status)))
}

fn exit(call: &mut Call<'_>) -> Answer {
    threads::destroy_locals(call)?;
    loop {
        let count = call.fact(EXIT_HANDLERS.0, EXIT_HANDLERS.1)?;
        if count == 0 {
            return end(call, call.int(0));
        }
        call.set_fact(EXIT_HANDLERS.0, EXIT_HANDLERS.1, count - 1)?;
        let function = Addr(call.fact(EXIT_HANDLER, count)?);
        if call.fact(EXIT_ARGUMENT, 2 * count)? == 0 {
            call.call(function, &[])?;
        } else {
            let argument = call.fact(EXIT_ARGUMENT, 2 * count + 1)?;
            call.call(function, &[argument])?;
        }
    }
}

fn at_exit(call: &mut Call<'_>, argument: Option<u64>) -> Answer {
    let count = call.fact(EXIT_HANDLERS.0, EXIT_HANDLERS.1)? + 1;
    call.set_fact(EXIT_HANDLERS.0, EXIT_HANDLERS.1, count)?;
    call.set_fact(EXIT_HANDLER, count, call.arg(0))?;
    call.set_fact(EXIT_ARGUMENT, 2 * count, u64::from(argument.is_some()))?;
    call.set_fact(EXIT_ARGUMENT, 2 * count + 1, argument.unwrap_or(0))?;
    Ok(0)
}

/// Two processors, pages of 4096 bytes, 100 ticks a second.
fn sysconf(call: &mut Call<'_>) -> Answer {
    match call.int(0) {
        2 => Ok(100),
        30 => Ok(4096),
        83 | 84 => Ok(2),
        other if other < 0 => call.fail(EINVAL).map(|_| u64::MAX),
        other => call.unsupported(format!("`sysconf` of number {other}")),
    }
}

fn strerror(call: &mut Call<'_>) -> Answer {
    let text = describe(call.int(0));
    call.effect(|host| {
        let addr = host.library_object("error message", ObjectKind::Constant, text.len() as u64 + 1)?;
        host.memory().initialise(addr, text.as_bytes());
        Ok(addr.0)
    })
}

fn raise(call: &mut Call<'_>) -> Answer {
    match call.int(0) {
        6 => call.violation(ViolationKind::Abort, "the program raises SIGABRT"),
        0 => Ok(int(0)),
        number => call.unsupported(format!("raising signal {number}")),
    }
}

#[cfg(test)]
mod tests {
    use crate::models::Step;
    use crate::models::testing::Fake;
    use crate::{Addr, ViolationKind};

    #[test]
    fn handlers_run_newest_first() {
        let mut host = Fake::new();
        host.call("atexit", &[0x7000]);
        host.call("__cxa_atexit", &[0x7001, 5, 0]);
        host.call("__cxa_thread_atexit", &[0x7002, 6, 0]);
        assert!(matches!(host.run("exit", &[3]), Ok(Step::ExitProcess(3))));
        assert_eq!(host.calls, [(Addr(0x7002), vec![6]), (Addr(0x7001), vec![5]), (Addr(0x7000), vec![])]);
    }

    #[test]
    fn a_status_is_an_error_if_asked_for() {
        let mut host = Fake::new();
        host.options.nonzero_exit_is_error = true;
        assert!(matches!(host.run("exit", &[0]), Ok(Step::ExitProcess(0))));
        assert_eq!(host.violation("_exit", &[1]).0, ViolationKind::Abort);
    }

    #[test]
    fn a_failed_assertion_says_which() {
        let mut host = Fake::new();
        let text = host.string("x == 1");
        let (kind, message) = host.violation("__assert_fail", &[text, 0, 0, 0]);
        assert_eq!((kind, message.as_str()), (ViolationKind::Assertion, "assertion `x == 1` failed"));
        assert_eq!(host.violation("abort", &[]).0, ViolationKind::Abort);
    }
}
