//! Panics, which are bugs of ours.
//!
//! A panic must neither look like a verdict nor take one away. The hook keeps what the panic said; whoever catches the
//! panic decides what is left to report.

use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::Mutex;

/// What to do about it.
pub const HELP: &str = "this is a bug in selvedge, not in your program; please report it together with the input \
                        and the command line (RUST_BACKTRACE=1 shows where it happened)";

static LAST: Mutex<String> = Mutex::new(String::new());

/// Keeps the words of a panic instead of printing them; a backtrace is printed if it was asked for.
pub fn install_hook() {
    std::panic::set_hook(Box::new(|info| {
        if let Ok(mut last) = LAST.lock() {
            *last = describe(info);
        }
        if std::env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0") {
            anstream::eprintln!("{}", std::backtrace::Backtrace::force_capture());
        }
    }));
}

fn describe(info: &PanicHookInfo) -> String {
    let place = info.location().map_or(String::new(), |at| format!(" at {}:{}", at.file(), at.line()));
    let text = info.payload_as_str().unwrap_or("no message");
    format!("internal error{place}: {text}")
}

/// What the last panic said.
pub fn message() -> String {
    LAST.lock().map_or_else(|_| "internal error".to_owned(), |last| last.clone())
}

/// Runs something that must not take the rest with it.
pub fn catch<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    // What the closure leaves half done is not looked at again by any caller.
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| message())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_panic_said_is_kept() {
        install_hook();
        let result = catch(|| -> u32 { panic!("the invariant of {}", "something") });
        let message = result.expect_err("it panics");
        assert!(
            message.starts_with("internal error at ") && message.ends_with("the invariant of something"),
            "{message}"
        );
        assert_eq!(catch(|| 3), Ok(3));
    }
}
