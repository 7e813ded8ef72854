//! Threads that do not go on, and why: the model is wrong, something is not supported, or the exploration starts again.

use super::{At, YIELDER, Yielded, glance, shared, span, suspend};
use crate::blocks;
use crate::update::Updates;
use selvedge_machine::{SourceSpan, Stop, Unsupported, Violation, ViolationKind};

/// No thread of a model runs, and something was used that only they can use.
#[track_caller]
#[cold]
pub(super) fn outside_model() -> ! {
    panic!("this can be used inside `selvedge::model` only, by threads that `selvedge::thread` has spawned");
}

/// For operations that are to no object: says that no thread of a model runs while it is known who has called the library.
/// Where threads are suspended, it is not: what is told on the way there would be left over on their stacks.
#[track_caller]
#[inline]
pub(crate) fn must_run() {
    if YIELDER.get().is_null() && !std::thread::panicking() {
        outside_model();
    }
}

/// Ends the exploration, which then starts again with what is known by now.
pub(crate) fn starts_again() -> Box<Stop> {
    let feature = "the exploration starts again".to_owned();
    Box::new(Stop::Unsupported(Box::new(Unsupported { feature, place: SourceSpan::default() })))
}

/// A function that `fetch_update` has called performs operations: the exploration has to start again.
pub(crate) fn updates_one_by_one() -> Box<Stop> {
    shared(|shared| {
        shared.config.updates = Updates::OneByOne;
        shared.restart = true;
    });
    starts_again()
}

/// The exploration has to start again.
#[track_caller]
pub(crate) fn start_again() -> ! {
    shared(|shared| shared.restart = true);
    suspend(Yielded::Stop(starts_again()));
    unreachable!("a thread that was stopped is never resumed")
}

/// The thread cannot go on: it uses something that is not supported.
#[track_caller]
pub(crate) fn stop(feature: String, at: At) -> ! {
    suspend(Yielded::Stop(Box::new(Stop::Unsupported(Box::new(Unsupported { feature, place: span(at) })))));
    unreachable!("a thread that was stopped is never resumed")
}

/// The thread cannot go on, for this reason.
#[track_caller]
pub(crate) fn stop_with(why: Yielded) -> ! {
    suspend(why);
    unreachable!("a thread that was stopped is never resumed")
}

/// Stops the first thread of a model if nobody sees what the model allocates.
pub(crate) fn must_track() {
    if !glance(|shared| std::mem::replace(&mut shared.tracked, true)) && !blocks::is_installed() {
        let feature = "a program whose allocator is not `selvedge::alloc::Tracking`: what a model allocates would not be \
                       known again in the next execution. Switch the feature `own-allocator` of this crate off, or wrap \
                       the program's own allocator in `Tracking`";
        suspend(Yielded::Stop(Box::new(Stop::Unsupported(Box::new(Unsupported {
            feature: feature.to_owned(),
            place: SourceSpan::default(),
        })))));
        unreachable!("a thread that was stopped is never resumed");
    }
}

/// The thread cannot go on: the model is wrong.
#[track_caller]
pub(crate) fn fail(kind: ViolationKind, message: String, at: At) -> ! {
    suspend(Yielded::Stop(Box::new(violation(kind, message, span(at)))));
    unreachable!("a thread that was stopped is never resumed")
}

/// The thread that runs has freed a block of memory for the second time. If it panics, it goes on: that is what went wrong.
#[cold]
pub(crate) fn freed_twice() {
    if !std::thread::panicking() {
        suspend(Yielded::FreedTwice);
        unreachable!("a thread that was stopped is never resumed")
    }
}

/// A violation at one place.
pub(crate) fn violation(kind: ViolationKind, message: String, place: SourceSpan) -> Stop {
    Stop::Violation(Box::new(Violation { kind, message, places: vec![(place, String::new())] }))
}

/// The thread does not go on in this execution.
#[track_caller]
pub(crate) fn block(at: At) -> ! {
    suspend(Yielded::Assumes(at));
    unreachable!("a thread that is blocked is never resumed")
}
