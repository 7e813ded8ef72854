//! Says so if a thread of a model runs on and on without an operation.
//!
//! Threads of a model take turns at operations only. One that waits for a lock of `std` which another one holds, or for a
//! variable of `std` to change, is never interrupted, so that nothing that the engine could do ends it. All that can be done
//! is to tell the user, from a thread of the operating system that looks at the others now and then.

use selvedge_ir::EntityRef;
use selvedge_machine::ThreadId;
use std::io::Write;
use std::panic::Location;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, Once, PoisonError, Weak};
use std::time::Duration;

/// How often one looks.
const EVERY: Duration = Duration::from_secs(1);
/// How many times a thread is found where it was before something is said.
const PATIENCE: u32 = 10;

/// What a thread of the operating system does for its models.
#[derive(Default)]
pub(crate) struct Beat {
    /// One more whenever a thread of a model goes on, and when it comes back: odd as long as it runs.
    turns: AtomicU64,
    /// Which thread of the model that is.
    thread: AtomicUsize,
    /// The operation that it comes from; null at its start.
    since: AtomicPtr<Location<'static>>,
}

static BEATS: Mutex<Vec<Weak<Beat>>> = Mutex::new(Vec::new());

thread_local! {
    static BEAT: Arc<Beat> = registered();
}

fn registered() -> Arc<Beat> {
    static WATCHED: Once = Once::new();
    // If no thread can be had, nobody is told.
    WATCHED.call_once(|| drop(std::thread::Builder::new().name("selvedge-watch".to_owned()).spawn(watch)));
    let beat = Arc::new(Beat::default());
    let mut beats = BEATS.lock().unwrap_or_else(PoisonError::into_inner);
    beats.retain(|beat| beat.strong_count() > 0);
    beats.push(Arc::downgrade(&beat));
    beat
}

/// What is known of this thread of the operating system. At its end there is nothing to watch any more.
pub(crate) fn beat() -> Arc<Beat> {
    BEAT.try_with(Arc::clone).unwrap_or_default()
}

impl Beat {
    /// A thread of the model goes on from an operation.
    #[inline]
    pub fn goes_on(&self, thread: ThreadId, since: Option<&'static Location<'static>>) {
        let since = since.map_or(std::ptr::null(), std::ptr::from_ref);
        self.thread.store(thread.index(), Relaxed);
        self.since.store(since.cast_mut(), Relaxed);
        self.turns.store(self.turns.load(Relaxed) + 1, Relaxed);
    }

    /// It has come back.
    #[inline]
    pub fn is_back(&self) {
        self.turns.store(self.turns.load(Relaxed) + 1, Relaxed);
    }
}

/// What is known of a thread of the operating system.
struct Seen {
    beat: Weak<Beat>,
    turns: u64,
    times: u32,
}

fn watch() {
    let mut seen: Vec<Seen> = Vec::new();
    loop {
        std::thread::sleep(EVERY);
        let beats = BEATS.lock().unwrap_or_else(PoisonError::into_inner).clone();
        seen.retain(|seen| seen.beat.strong_count() > 0);
        for beat in beats {
            if !seen.iter().any(|seen| seen.beat.ptr_eq(&beat)) {
                seen.push(Seen { beat, turns: 0, times: 0 });
            }
        }
        for message in seen.iter_mut().filter_map(look) {
            // Not by a macro: what these print is kept by the test that has started this thread, until it ends.
            let _ = writeln!(std::io::stderr(), "{message}");
        }
    }
}

/// Looks at a thread once more. Something is said once for each time that it runs on and on.
fn look(seen: &mut Seen) -> Option<String> {
    let beat = seen.beat.upgrade()?;
    let turns = beat.turns.load(Relaxed);
    seen.times = if turns == seen.turns { seen.times.saturating_add(1) } else { 0 };
    seen.turns = turns;
    if turns % 2 == 0 || seen.times != PATIENCE {
        return None;
    }
    let name = match beat.thread.load(Relaxed) {
        0 => "main".to_owned(),
        n => format!("thread {n}"),
    };
    let since = beat.since.load(Relaxed);
    Some(in_words(&name, PATIENCE, location(since)))
}

fn in_words(name: &str, seconds: u32, since: Option<&Location<'_>>) -> String {
    let since = since.map_or_else(|| "its start".to_owned(), |at| format!("the operation at {at}"));
    format!(
        "selvedge: {name} of a model has run for {seconds} seconds without an operation, since {since}. Threads of a model \
         take turns at operations only: one that waits for a lock of `std` that another one holds, or loops until \
         something that is not an operation changes, waits for ever. Use the types of `selvedge` for what threads share."
    )
}

/// The place that was stored.
#[allow(unsafe_code)]
fn location(since: *mut Location<'static>) -> Option<&'static Location<'static>> {
    // SAFETY: it is null, or was made of a reference for ever.
    unsafe { since.as_ref() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(seen: &mut Seen, times: u32) -> Vec<String> {
        (0..times).filter_map(|_| look(seen)).collect()
    }

    #[test]
    fn who_runs_on_and_on_is_told_of_once() {
        let beat = Arc::new(Beat::default());
        let mut seen = Seen { beat: Arc::downgrade(&beat), turns: 0, times: 0 };
        assert_eq!(looks(&mut seen, 3 * PATIENCE), Vec::<String>::new(), "nobody runs");
        beat.turns.store(1, Relaxed);
        let at = Location::caller();
        beat.since.store(std::ptr::from_ref(at).cast_mut(), Relaxed);
        beat.thread.store(2, Relaxed);
        assert_eq!(looks(&mut seen, PATIENCE), Vec::<String>::new(), "that is not long");
        let told = looks(&mut seen, 3 * PATIENCE);
        assert_eq!(told.len(), 1, "{told:?}");
        let place = at.to_string();
        assert!(told[0].contains("thread 2 of a model") && told[0].contains(&place), "{told:?}");
    }

    #[test]
    fn who_comes_back_now_and_then_is_not_told_of() {
        let beat = Arc::new(Beat::default());
        let mut seen = Seen { beat: Arc::downgrade(&beat), turns: 0, times: 0 };
        for turns in 1..40 {
            beat.turns.store(turns, Relaxed);
            assert_eq!(looks(&mut seen, PATIENCE), Vec::<String>::new());
        }
    }

    #[test]
    fn a_turn_is_seen_from_outside() {
        let turns = || BEAT.with(|beat| beat.turns.load(Relaxed));
        let before = turns();
        beat().goes_on(ThreadId::new(3), Some(Location::caller()));
        assert_eq!((turns(), BEAT.with(|beat| beat.thread.load(Relaxed))), (before + 1, 3));
        beat().is_back();
        assert_eq!((turns() - before, turns() % 2), (2, 0));
        let mine = BEAT.with(Arc::downgrade);
        assert!(BEATS.lock().unwrap().iter().any(|beat| beat.ptr_eq(&mine)));
    }
}
