//! How an operation gets from the code of a process to the machine.

// The yielder of the running coroutine, and its context, are reached through pointers.
#![allow(unsafe_code)]

use crate::coroutine::{ProcessYielder, Told, unwind};
use crate::machine::{RustMachine, Yielded};
use crate::payload::Signals;
use rustc_hash::FxHashMap;
use selvedge_ir::EntityRef;
use selvedge_machine::{SourceSpan, Stop, Unsupported};
use selvedge_messages::{Name, Op, Outcome, Pid, Ref};
use std::cell::{Cell, RefCell};
use std::panic::Location;
use std::rc::Rc;

/// A place in the user's code.
pub(crate) type At = &'static Location<'static>;

/// What makes a process when it is created, as often as it is run again.
pub(crate) type Body = Rc<dyn Fn() -> Box<dyn FnOnce()>>;

/// What the operations of a process need to know of it.
pub(crate) struct Context {
    pub pid: Pid,
    yielder: *const ProcessYielder,
    /// How many references it has made.
    pub refs: u32,
    /// What the next process that it creates runs, and its name.
    pub body: Option<(Body, Option<Rc<str>>)>,
    /// How it wants to be told what monitors and links have to tell.
    pub signals: Option<Rc<Signals>>,
    pub is_server: bool,
    pub may_panic: bool,
    /// It is not needed any more: every operation makes it unwind.
    pub unwinding: bool,
    /// How often it has caught that.
    pub caught: u32,
}

impl Context {
    pub fn new(pid: Pid) -> Context {
        Context {
            pid,
            yielder: std::ptr::null(),
            refs: 0,
            body: None,
            signals: None,
            is_server: false,
            may_panic: false,
            unwinding: false,
            caught: 0,
        }
    }

    /// A new reference.
    pub fn reference(&mut self) -> Ref {
        self.refs += 1;
        Ref { owner: self.pid, n: self.refs - 1 }
    }

    /// Changes how signals become messages.
    pub fn signals(&mut self, change: impl FnOnce(&mut Signals)) {
        let mut signals = self.signals.as_deref().cloned().unwrap_or_default();
        change(&mut signals);
        self.signals = Some(Rc::new(signals));
    }
}

thread_local! {
    static CURRENT: Cell<*mut Context> = const { Cell::new(std::ptr::null_mut()) };
    static PANIC: RefCell<Option<(String, SourceSpan)>> = const { RefCell::new(None) };
    static NAMES: RefCell<Names> = RefCell::default();
}

/// Registered names and their numbers.
#[derive(Default)]
struct Names {
    texts: Vec<Rc<str>>,
    numbers: FxHashMap<Rc<str>, Name>,
}

/// The number of a name.
pub(crate) fn name(text: &str) -> Name {
    NAMES.with_borrow_mut(|names| {
        if let Some(&name) = names.numbers.get(text) {
            return name;
        }
        let (name, text) = (Name::new(names.texts.len()), Rc::<str>::from(text));
        names.texts.push(Rc::clone(&text));
        names.numbers.insert(text, name);
        name
    })
}

/// The text of a name.
pub(crate) fn name_text(name: Name) -> String {
    NAMES.with_borrow(|names| names.texts.get(name.index()).map_or_else(String::new, |text| text.to_string()))
}

/// A process is about to run.
pub(crate) fn enter(context: &mut Context) {
    CURRENT.set(context);
}

/// It does not run any more.
pub(crate) fn leave() {
    CURRENT.set(std::ptr::null_mut());
}

/// Where the running process suspends itself.
pub(crate) fn set_yielder(yielder: &ProcessYielder) {
    with(|context| context.yielder = yielder);
}

/// The context of the running process.
#[track_caller]
pub(crate) fn with<R>(f: impl FnOnce(&mut Context) -> R) -> R {
    let current = CURRENT.get();
    if current.is_null() {
        outside();
    }
    // SAFETY: the pool sets `CURRENT` to the context of the coroutine that it resumes, which outlives the time that it
    // runs, and to nothing when that suspends itself or ends. `f` neither suspends nor calls `with`.
    f(unsafe { &mut *current })
}

#[cold]
#[track_caller]
fn outside() -> ! {
    panic!("this can be used in a process of `actors::check` only, and not in a predicate");
}

/// Performs an operation: the process goes on when the engine says so. None if it is being unwound and this is a
/// destructor's doing: nobody is told.
#[track_caller]
pub(crate) fn perform(op: Op<RustMachine>) -> Option<Outcome<RustMachine>> {
    if std::thread::panicking() {
        return None;
    }
    suspend(Yielded::Op(op, Location::caller()))
}

/// The process uses something that is not possible, and does not go on.
#[track_caller]
pub(crate) fn unsupported(feature: String) -> ! {
    let place = span(Location::caller());
    suspend(Yielded::Stop(Stop::Unsupported(Box::new(Unsupported { feature, place }))));
    unreachable!("a process that was stopped is never told an outcome")
}

/// How often a process may catch what should make it unwind before it is left alone.
const PATIENCE: u32 = 100;

#[track_caller]
fn suspend(yielded: Yielded) -> Option<Outcome<RustMachine>> {
    let (yielder, unwinding) = with(|context| {
        context.caught += u32::from(context.unwinding);
        (context.yielder, context.unwinding && context.caught <= PATIENCE)
    });
    if unwinding {
        unwind();
    }
    // SAFETY: the yielder is that of the coroutine that runs, on whose stack it lives.
    match unsafe { &*yielder }.suspend(yielded) {
        Told::Outcome(outcome) => Some(outcome),
        Told::Unwind => unwind(),
    }
}

/// What the last panic of a process said, and where.
pub(crate) fn take_panic() -> (String, SourceSpan) {
    PANIC.take().unwrap_or_else(|| ("a panic".to_owned(), SourceSpan::default()))
}

/// Panics of processes are part of the verdict: they are not printed when they happen, but kept.
pub(crate) fn install_hook() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let others = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if CURRENT.get().is_null() {
                return others(info);
            }
            let message = info.payload_as_str().unwrap_or("a panic without a message").to_owned();
            PANIC.set(Some((message, info.location().map(span).unwrap_or_default())));
        }));
    });
}

/// A place in the source, in the engine's words.
pub(crate) fn span(at: &Location<'_>) -> SourceSpan {
    SourceSpan { file: at.file().to_owned(), line: at.line(), column: at.column(), function: String::new() }
}
