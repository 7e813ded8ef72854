//! Threads of a model that panic: what their destructors do, and what is kept of what they say.

use super::stopping::violation;
use super::{ASIDE, ASIDE_DURING, At, PANIC, SPOILED, YIELDER, Yielded, defer, suspend};
use crate::blocks::quiet;
use crate::overflow;
use crate::request::Request;
use selvedge_machine::{Access, AccessKind, Op, Outcome, SourceSpan, Stop, Unsupported, ViolationKind};
use std::any::Any;
use std::cell::Cell;
use std::io::Write;
use std::time::Duration;

/// What destructors do that run because their thread panics.
///
/// Most often the panic is a violation and the execution ends with it. If somebody catches it, what they did has to take
/// effect. Nobody can notice when, as long as the thread does nothing else: operations that tell them nothing are put off.
/// Others cannot be: they find zero, and what they exchange is what they expect; then the thread must not go on.
#[cold]
pub(super) fn aside(request: Request, at: At) -> Outcome {
    let op = request.op();
    match op {
        Op::Access(Access {
            kind: AccessKind::Store { .. } | AccessKind::Rmw { used: false, .. },
            until: None,
            ..
        }) => {
            defer(op, at);
            0
        }
        Op::Free { .. } | Op::CondSignal { .. } | Op::CondBroadcast { .. } => {
            defer(op, at);
            0
        }
        Op::Access(access) => {
            count_aside();
            match access.kind {
                AccessKind::Cas { expected, .. } => expected,
                _ => 0,
            }
        }
        _ => {
            count_aside();
            0
        }
    }
}

/// An operation cannot be put off: the thread must not go on.
pub(super) fn count_aside() {
    let count = ASIDE.get() + 1;
    ASIDE.set(count);
    ASIDE_DURING.set(PANIC.with_borrow(Vec::len));
    if count > 1_000_000 {
        let (message, place) = take_panic().unwrap_or_default();
        let message = format!("{message}; and a destructor that runs because of this panic does not come to an end");
        abandon_in_panic(message, place);
    }
}

/// Leaves a thread in the middle of a panic that cannot come to an end.
fn abandon_in_panic(message: String, place: SourceSpan) -> ! {
    SPOILED.set(true);
    suspend(Yielded::Stop(Box::new(violation(ViolationKind::Assertion, message, place))));
    unreachable!("a thread that was stopped is never resumed")
}

/// A thread was abandoned where it was, with this message. If it was in the middle of a panic, that came first: what to say, and
/// where the panic was.
pub(crate) fn torn_off(message: String) -> (String, Option<SourceSpan>) {
    if !std::thread::panicking() {
        return (message, None);
    }
    SPOILED.set(true);
    if !ABORTS.replace(false) {
        MAY_HOLD_HOOK.set(true);
    }
    match take_panic() {
        Some((first, place)) => {
            (format!("{first}; and what is done because of this panic goes wrong: {message}"), Some(place))
        }
        None => (message, None),
    }
}

thread_local! {
    /// Whether `std` was heard to abort the process because of a second panic, and has not done so yet.
    static ABORTS: Cell<bool> = const { Cell::new(false) };
    /// Whether a thread was torn off in a panic for another reason. It may have been asked for the message of the panic: `std` holds a
    /// lock then, without which neither hooks can be changed nor a test program comes to its end.
    static MAY_HOLD_HOOK: Cell<bool> = const { Cell::new(false) };
}

/// Whether a thread that was torn off holds `std`'s lock of the hook for panics: that can only be tried.
pub(crate) fn is_hook_lost() -> bool {
    /// It takes as long if there is much else to do.
    const PATIENCE: Duration = Duration::from_secs(5);
    if !MAY_HOLD_HOOK.take() {
        return false;
    }
    let (sender, receiver) = std::sync::mpsc::channel();
    let tries = std::thread::Builder::new().name("selvedge".to_owned()).spawn(move || {
        std::panic::set_hook(std::panic::take_hook());
        let _ = sender.send(());
    });
    tries.is_ok() && receiver.recv_timeout(PATIENCE).is_err()
}

/// Whether destructors of the running thread have made operations that could not be put off while it unwound; asked when it
/// goes on all the same.
pub(crate) fn take_aside() -> bool {
    ASIDE.replace(0) > 0
}

/// A thread goes on that was told zero by what destructors have done because of a panic.
pub(crate) fn caught_panic(place: SourceSpan) -> Stop {
    let feature = "a panic that the model catches, during which destructors use shared objects".to_owned();
    Stop::Unsupported(Box::new(Unsupported { feature, place }))
}

/// What a thread says that has ended with a panic, and where. If it was told zero because of a panic before that, which it has caught,
/// there is no telling whether this one comes of it.
pub(crate) fn take_last_panic() -> Result<(String, SourceSpan), Stop> {
    let count = PANIC.with_borrow(Vec::len);
    let (message, place) = take_panic().unwrap_or_default();
    match ASIDE.get() > 0 && ASIDE_DURING.get() < count {
        true => Err(caught_panic(place)),
        false => Ok((message, place)),
    }
}

/// What the last panic of a model's thread said, and where.
pub(crate) fn take_panic() -> Option<(String, SourceSpan)> {
    PANIC.take().pop()
}

/// Panics of a thread that waits in the middle of one, while others may panic.
pub(crate) struct Suspended(Vec<(String, SourceSpan)>);

impl Suspended {
    /// It goes on.
    pub fn goes_on(self) {
        PANIC.set(self.0);
    }
}

/// A scope has caught a panic, to wait for its threads before it goes on. If destructors were told zero during it, nothing that comes
/// next is what would happen: the panic is all that there is to say, as if nobody had caught it.
pub(crate) fn scope_caught_panic() -> Suspended {
    if ASIDE.get() == 0 || super::glance(|shared| shared.config.panics_end_threads) {
        return Suspended(PANIC.take());
    }
    let stop = take_last_panic()
        .map_or_else(|stop| stop, |(message, place)| violation(ViolationKind::Assertion, message, place));
    take_aside();
    suspend(Yielded::Stop(Box::new(stop)));
    unreachable!("a thread that was stopped is never resumed")
}

/// A thread has ended with a panic. `resume_unwind` does not say so when it is called: then what was thrown is what there is to say.
/// It is not dropped, since that may panic once more.
pub(crate) fn note_payload(payload: Box<dyn Any + Send>) {
    quiet(|| {
        PANIC.with_borrow_mut(|panics| {
            if panics.is_empty() {
                let text = payload.downcast_ref::<&str>().copied();
                let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
                panics.push((text.unwrap_or("a panic without a message").to_owned(), SourceSpan::default()));
                // If destructors were told zero, it was during this one.
                ASIDE_DURING.set(panics.len());
            }
        });
    });
    std::mem::forget(payload);
}

/// Panics of a model's threads are part of its verdict: they are not printed when they happen, but kept.
pub(super) fn install_hook() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let others = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if YIELDER.get().is_null() {
                return others(info);
            }
            quiet(|| note_panic(info));
        }));
    });
}

/// `std` is about to say that it aborts the process, which nobody can keep it from.
fn say_that_nothing_aborts() {
    // Not by a macro: tests keep what these print to themselves, and what `std` says is seen.
    let _ = writeln!(
        std::io::stderr(),
        "selvedge: a thread of a model panics while it panics; the process goes on, whatever the next line says:"
    );
}

fn note_panic(info: &std::panic::PanicHookInfo<'_>) {
    let message = info.payload_as_str().unwrap_or("a panic without a message").to_owned();
    // What comes next is the end of the process, unless it is caught.
    let in_destructor = message == "panic in a destructor during cleanup";
    if in_destructor || message == "panic in a function that cannot unwind" {
        let mut before = PANIC.take();
        let (last, last_at) = before.pop().unwrap_or_default();
        // What went wrong is what the first one says. The other may come of that: destructors are told zero (`aside`).
        let (message, place) = match before.pop().filter(|_| in_destructor) {
            Some((first, place)) => {
                let told = if ASIDE.get() > 0 { ", having found zero in atomics, since its thread panics" } else { "" };
                let and = "and a destructor that runs because of this panic";
                (format!("{first}; {and} panics too, at {last_at}{told}: {last}"), place)
            }
            None => (format!("{last} ({message})"), last_at),
        };
        if overflow::aborts() {
            SPOILED.set(true);
            ABORTS.set(true);
            say_that_nothing_aborts();
        } else {
            eprintln!("selvedge: {message} at {place}");
        }
        return PANIC.set(vec![(message, place)]);
    }
    let place = info.location().map(|at| SourceSpan {
        file: at.file().to_owned(),
        line: at.line(),
        column: at.column(),
        function: String::new(),
    });
    PANIC.with_borrow_mut(|panics| panics.push((message, place.unwrap_or_default())));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(result: Result<(String, SourceSpan), Stop>) -> Option<String> {
        take_aside();
        result.ok().map(|(message, _)| message)
    }

    #[test]
    fn a_panic_that_was_suspended_is_told_whatever_others_have_done() {
        PANIC.set(vec![("first of all".to_owned(), SourceSpan::default())]);
        let suspended = scope_caught_panic();
        // Somebody was tried out.
        assert_eq!(take_panic(), None);
        suspended.goes_on();
        count_aside();
        assert_eq!(message(take_last_panic()).as_deref(), Some("first of all"));
    }

    #[test]
    fn what_was_thrown_again_is_told_if_nothing_else_is_known() {
        take_panic();
        count_aside();
        note_payload(Box::new("thrown again"));
        assert_eq!(message(take_last_panic()).as_deref(), Some("thrown again"));
        // This one may come of what the other was told.
        PANIC.set(vec![("first".to_owned(), SourceSpan::default())]);
        count_aside();
        PANIC.with_borrow_mut(|panics| panics.push(("second".to_owned(), SourceSpan::default())));
        assert_eq!(message(take_last_panic()), None);
    }
}
