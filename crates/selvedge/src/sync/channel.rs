//! What a channel is to the engines: words, such that executions differ in the order of what is sent, and in what is
//! looked at, and in nothing else.
//!
//! | word | what it says | who writes it |
//! |---|---|---|
//! | `tail` | how many were sent; whether the receiver is gone; whether all senders are | `send` adds one, and is told which message its own is |
//! | full(n) | message n is there; or there is none, nor will there be: all senders are gone | the sender of message n; or the last sender |
//! | taken(n) | message n was received; or it will not be: the receiver is gone | the receiver; in bounded channels only |
//! | `senders` | how many there are | who clones and drops them, if that is counted |
//!
//! To send is a read-modify-write of `tail`, which makes the order of messages, and then a store to full(n), which is what
//! the message's receiver acquires. To receive message n is to wait for full(n), which is written once: there is one
//! write that it can read from, so that no execution differs from another in that. With room for `bound` messages the sender
//! of message n first waits for taken(n - bound), which is written once too. Without room, he waits for taken(n) afterwards.
//! So the receive of message n happens before message n + `bound` is sent.
//!
//! A message counts as sent when `tail` does, though its sender may have to do a step more, or to wait for room. Nobody can
//! tell: the receiver who finds that message n was sent has received all before it, so there is room for it, and its
//! sender needs nobody to go on; and that somebody waits for room is seen by nobody else.
//!
//! To look (`try_recv`, `recv_timeout`) is a load of full(n), so that there is one execution for every answer, and a loop that
//! looks until a message is there waits for it (`machine/awaits.rs`). If several threads send, one of them may have sent
//! message n + 1, and told the receiver so, while another one is about to store to full(n): there is something in the channel
//! then. (Whether several threads send to a channel into which somebody looks is found out.)
//!
//! - In a channel without a bound, a sender then waits for full(n) before it stores to full(n + 1). Nobody can tell: the other
//!   sender needs nobody to go on, and what it did before happens before this anyway, by `tail`.
//! - In a bounded channel, others may have learned of message n by `try_send`, and its sender may have to wait for room. There, to
//!   look is a load of `tail` instead.
//!
//! `send`, looks and that wait are sequentially consistent, as `std`'s channels are.
//! That the receiver is gone is a bit of `tail`: whether a message was sent before or after that is what `send` returns.
//!
//! Who finds that a channel is disconnected learns nothing else of who has left it: where `std` has no lock, the bit that says so is
//! looked at by a relaxed load (but a sender to a channel without a bound acquires it). So what is said by who leaves is not
//! released. Nor is it sequentially consistent then, as `std`'s is: a fence behind it would make up for that, but release what comes
//! after it.
//!
//! # Senders that are gone
//!
//! Who of several senders is dropped last is observed by nobody, but counting them has an execution for every order in
//! which they are dropped. So they are not counted at first. Nobody can tell either, as long as every receive gets a
//! message and nobody looks into a channel that is empty. If somebody does, or if an execution ends in which somebody is
//! left waiting for a message (`Machine::ends`), everything starts again with senders counted.

use crate::blocks::quiet;
use crate::object::Word;
use crate::request::Request;
use crate::runtime::{self, At};
use selvedge_ir::{CmpOp, Order, RmwOp};
use selvedge_machine::{Access, AccessKind, Addr, Cond, Outcome, Purpose, ThreadId, main_thread};
use std::panic::Location;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What words are in reports.
pub(crate) const CHANNEL: &str = "channel";
pub(crate) const SENDERS: &str = "the senders of a channel";
pub(crate) const MESSAGE: &str = "a message from a channel";
pub(crate) const ROOM: &str = "room in a channel";
pub(crate) const TAKER: &str = "the receiver of a channel";

/// Bits of `tail`: the receiver is gone, all senders are; and what it counts messages by.
pub(crate) const NO_RECEIVER: u64 = 1;
pub(crate) const NO_SENDER: u64 = 2;
const ONE: u64 = 4;
/// What full(n) and taken(n) say: it is so, or never will be.
pub(crate) const YES: u64 = 1;
pub(crate) const NEVER: u64 = 2;

/// Something is known of a message.
const KNOWN: Request = Request::load().until(CmpOp::Ne, 0);
/// It was sent: what other senders wait for.
pub(crate) const SENT: Cond = Cond::new(CmpOp::Eq, YES);

/// A channel.
pub(super) struct Channel<T> {
    tail: Word,
    senders: Word,
    /// How many messages there is room for; for 0, a sender waits until his message is received.
    bound: Option<u64>,
    state: Mutex<State<T>>,
    /// Its number among what must not be leaked.
    number: Option<u64>,
    at: At,
}

struct State<T> {
    /// Messages by their number, if they were sent and not received. Not the model's memory: who makes it larger depends on
    /// the order in which threads happen to be run. (So a thread that has changed this is not put back: `handed_over`.)
    messages: Vec<Option<T>>,
    /// How many were received.
    received: u64,
    /// Who has sent.
    sender: Option<ThreadId>,
}

/// What one sees who looks into a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Look {
    /// There is a message.
    Message,
    /// The same, and nothing has to be waited for.
    There,
    /// There is none.
    Empty,
    /// There is none, nor will there be.
    Ended,
}

/// There is room for so many messages in a channel. Who sends and finds none waits before `tail` counts the message: it
/// makes room for others without a preemption, and the receiver may be gone when it goes on. (To wait later, as it does without a
/// bound on preemptions, is to be told about that room and nothing else.)
#[cold]
#[inline(never)]
fn notes_room(tail: &Word, bound: u64) {
    runtime::shared(|shared| {
        if shared.bounded
            && let Some(addr) = tail.known(shared)
        {
            shared.rooms.insert(addr, bound);
        }
    });
}

/// Which of a channel's words taken(n) is.
pub(crate) fn taken(n: u64) -> u64 {
    2 * n + 1
}

/// Whether an access to `tail` counts a message.
pub(crate) fn sends(access: &Access) -> bool {
    access.purpose == Purpose::Sync && matches!(access.kind, AccessKind::Rmw { op: RmwOp::Add, operand: ONE, .. })
}

/// How many messages `tail` counts.
pub(crate) fn count(tail: u64) -> u64 {
    tail / ONE
}

/// Why a message is not sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unsent {
    /// There is no room.
    Full,
    /// Nobody receives it.
    NoReceiver,
}

impl<T> Channel<T> {
    /// A channel with one sender.
    #[track_caller]
    pub fn new(bound: Option<usize>) -> Channel<T> {
        let at = Location::caller();
        let inside = runtime::current().is_some() && !std::thread::panicking();
        let tail = Word::made(CHANNEL, 8, 0);
        if let Some(bound @ 1..) = bound.filter(|_| inside) {
            notes_room(&tail, bound as u64);
        }
        Channel {
            tail,
            senders: Word::made(SENDERS, 8, 1),
            bound: bound.map(|bound| bound as u64),
            state: Mutex::new(State { messages: Vec::new(), received: 0, sender: None }),
            number: inside.then(|| runtime::shared(|shared| shared.born(CHANNEL, at))),
            at,
        }
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Which message is received next.
    fn next(&self) -> u64 {
        self.state().received
    }

    fn put(&self, n: u64, message: T) {
        runtime::shared(|shared| shared.handed_over += 1);
        let mut state = self.state();
        let at = n as usize;
        if state.messages.len() <= at {
            quiet(|| state.messages.resize_with(at + 1, || None));
        }
        let before = state.messages[at].replace(message);
        debug_assert!(before.is_none(), "a message has its own number");
    }

    fn take(&self, n: u64) -> T {
        runtime::shared(|shared| shared.handed_over += 1);
        let message = self.state().messages.get_mut(n as usize).and_then(Option::take);
        message.expect("a message that was sent and not received is there")
    }

    /// The address of one of the words that there is one of for each message.
    #[track_caller]
    fn word(&self, what: &'static str, n: u64, at: At) -> Addr {
        let base = self.tail.addr();
        let which = if what == MESSAGE { 2 * n } else { taken(n) };
        match runtime::shared(|shared| shared.channel_word(base, which, what, self.at)) {
            Some(addr) => addr,
            None => runtime::stop("a model with that many messages in channels".to_owned(), at),
        }
    }

    #[track_caller]
    fn access(&self, what: &'static str, n: u64, order: Order, request: Request, at: At) -> Outcome {
        runtime::perform(request.at(self.word(what, n, at), 8, order).for_purpose(Purpose::Sync), at)
    }

    /// Says something of message n.
    #[track_caller]
    fn say(&self, what: &'static str, n: u64, value: u64, at: At) {
        self.say_with(what, n, value, Order::SeqCst, at);
    }

    #[track_caller]
    fn say_with(&self, what: &'static str, n: u64, value: u64, order: Order, at: At) {
        self.access(what, n, order, Request::store(value), at);
    }

    /// Waits until something is known of message n; says whether it is so.
    #[track_caller]
    fn wait(&self, what: &'static str, n: u64, at: At) -> bool {
        self.wait_for(what, n, KNOWN, at)
    }

    #[track_caller]
    fn wait_for(&self, what: &'static str, n: u64, known: Request, at: At) -> bool {
        self.access(what, n, Order::Acquire, known, at) == YES
    }

    #[track_caller]
    fn tail(&self, request: Request, at: At) -> u64 {
        self.tail.must_be_of_this_run(at);
        self.tail.synchronise(Order::SeqCst, request, Purpose::Sync, at)
    }

    /// Somebody leaves, and says so, and perhaps something of messages from then on. Whether others acquire that differs.
    #[track_caller]
    fn leave(&self, bit: u64, releases: bool, say: impl FnOnce(u64, Order), at: At) -> u64 {
        let (first, order) = if releases { (Order::SeqCst, Order::SeqCst) } else { (Order::Acquire, Order::Relaxed) };
        self.tail.must_be_of_this_run(at);
        let tail = self.tail.synchronise(first, Request::rmw(RmwOp::Or, bit, true), Purpose::Sync, at);
        say(tail, order);
        tail
    }

    /// What taken(n) is called.
    fn taken(&self) -> &'static str {
        if self.bound == Some(0) { TAKER } else { ROOM }
    }

    /// A thread is about to send. If it is not the only one, looks have to be made otherwise, or each waits for the one before.
    fn is_sent_to(&self) {
        let thread = runtime::current();
        let first = *self.state().sender.get_or_insert(thread.unwrap_or(main_thread()));
        let is_news = thread.is_some_and(|thread| thread != first)
            && counts_senders()
            && !std::thread::panicking()
            && runtime::shared(|shared| !std::mem::replace(&mut shared.config.many_senders, true));
        if is_news {
            runtime::start_again();
        }
    }

    /// Sends message n, for which there is room.
    #[track_caller]
    fn hand_over(&self, n: u64, message: T, at: At) {
        self.put(n, message);
        if n > 0 && self.bound.is_none() && runtime::shared(|shared| shared.config.many_senders) {
            self.access(MESSAGE, n - 1, Order::SeqCst, Request::load().until(SENT.op, SENT.operand), at);
        }
        self.say(MESSAGE, n, YES, at);
    }

    /// Waits for room and sends a message; gives it back if nobody can receive it any more.
    #[track_caller]
    pub fn send(&self, message: T) -> Result<(), T> {
        let at = Location::caller();
        self.is_sent_to();
        let old = self.tail(Request::rmw(RmwOp::Add, ONE, true), at);
        // A destructor that runs because of a panic is told nothing (`runtime::aside`).
        if old & NO_RECEIVER != 0 || std::thread::panicking() {
            return Err(message);
        }
        let n = old / ONE;
        match self.bound {
            Some(0) => {
                self.hand_over(n, message, at);
                if self.wait(TAKER, n, at) { Ok(()) } else { Err(self.take(n)) }
            }
            Some(bound) if n >= bound && !self.wait(ROOM, n - bound, at) => Err(message),
            _ => {
                self.hand_over(n, message, at);
                Ok(())
            }
        }
    }

    /// Sends a message if there is room.
    #[track_caller]
    pub fn try_send(&self, message: T) -> Result<(), (Unsent, T)> {
        let at = Location::caller();
        self.is_sent_to();
        let bound = self.bound.unwrap_or(u64::MAX);
        let mut tail = self.tail(Request::load(), at);
        loop {
            let n = tail / ONE;
            if tail & NO_RECEIVER != 0 {
                return Err((Unsent::NoReceiver, message));
            }
            if bound == 0 {
                // `std`'s succeeds if a receiver waits at this moment.
                runtime::shared(|shared| shared.left_out.rendezvous = true);
                return Err((Unsent::Full, message));
            }
            if n >= bound {
                match self.access(ROOM, n - bound, Order::SeqCst, Request::load(), at) {
                    YES => {}
                    NEVER => return Err((Unsent::NoReceiver, message)),
                    _ => return Err((Unsent::Full, message)),
                }
            }
            let one_more = Request::cas(tail, tail + ONE, Order::SeqCst);
            match self.tail(one_more, at) {
                now if now == tail => {
                    self.hand_over(n, message, at);
                    return Ok(());
                }
                now => tail = now,
            }
        }
    }

    /// Waits for the next message, or until nobody can send one any more.
    #[track_caller]
    pub fn receive(&self) -> Option<T> {
        self.receive_if(KNOWN)
    }

    /// As `receive`, for a receiver that would give up in time.
    #[track_caller]
    pub fn receive_in_time(&self) -> Option<T> {
        self.receive_if(Request::load().in_time())
    }

    #[track_caller]
    fn receive_if(&self, known: Request) -> Option<T> {
        let at = Location::caller();
        self.tail.must_be_of_this_run(at);
        let n = self.next();
        if !self.wait_for(MESSAGE, n, known, at) {
            return None;
        }
        Some(self.receive_there(at))
    }

    /// Receives the next message, which is there.
    #[track_caller]
    pub fn receive_there(&self, at: At) -> T {
        let n = self.next();
        let message = self.take(n);
        self.state().received = n + 1;
        if self.bound.is_some() {
            self.say(self.taken(), n, YES, at);
        }
        message
    }

    /// Looks whether there is a message.
    #[track_caller]
    pub fn look(&self) -> Look {
        let (at, n) = (Location::caller(), self.next());
        if self.bound.is_some() && runtime::shared(|shared| shared.config.many_senders) {
            let tail = self.tail(Request::load(), at);
            if tail / ONE > n {
                return Look::Message;
            }
            if tail & NO_SENDER != 0 {
                return Look::Ended;
            }
        } else {
            self.tail.must_be_of_this_run(at);
            match self.access(MESSAGE, n, Order::SeqCst, Request::load(), at) {
                YES => return Look::There,
                NEVER => return Look::Ended,
                _ => {}
            }
        }
        if !counts_senders() && !std::thread::panicking() {
            runtime::shared(|shared| shared.config.count_senders = true);
            runtime::start_again();
        }
        Look::Empty
    }

    /// Nobody receives any more. Messages that were sent are dropped, but for those whose senders wait for room: they get them
    /// back.
    #[track_caller]
    pub fn drop_receiver(&self) {
        let at = Location::caller();
        if !self.is_of_this_run() {
            return;
        }
        let (next, bound) = (self.next(), self.bound.unwrap_or(u64::MAX));
        let is_noticed = !matches!(self.bound, Some(1..));
        let refuses = |tail: u64, order| {
            let waiting = next..(tail / ONE).saturating_sub(bound);
            waiting.for_each(|n| self.say_with(self.taken(), n, NEVER, order, at));
        };
        let sent = self.leave(NO_RECEIVER, is_noticed, refuses, at) / ONE;
        for n in next..sent.min(next.saturating_add(bound)) {
            self.wait(MESSAGE, n, at);
            drop(self.take(n));
        }
    }

    /// There is one sender more.
    #[track_caller]
    pub fn clone_sender(&self) {
        if counts_senders() {
            let more = Request::rmw(RmwOp::Add, 1, false);
            self.senders.synchronise(Order::Relaxed, more, Purpose::Sync, Location::caller());
        }
    }

    /// There is one sender less.
    #[track_caller]
    pub fn drop_sender(&self) {
        let at = Location::caller();
        if !self.is_of_this_run() || !counts_senders() {
            return;
        }
        let less = Request::rmw(RmwOp::Sub, 1, true);
        if self.senders.synchronise(Order::AcqRel, less, Purpose::Sync, at) == 1 {
            let ends = |tail: u64, order| {
                if tail & NO_RECEIVER == 0 {
                    self.say_with(MESSAGE, tail / ONE, NEVER, order, at);
                }
            };
            self.leave(NO_SENDER, self.bound == Some(0), ends, at);
        }
    }

    fn is_of_this_run(&self) -> bool {
        runtime::current().is_some() && self.tail.is_of_this_run()
    }
}

fn counts_senders() -> bool {
    runtime::current().is_some() && runtime::shared(|shared| shared.config.count_senders)
}

impl<T> Drop for Channel<T> {
    fn drop(&mut self) {
        if let Some(number) = self.number.filter(|_| runtime::current().is_some()) {
            runtime::shared(|shared| shared.died(number));
        }
    }
}
