//! Loops that try an exchange again, written by hand, as confirmation loops.
//!
//! Stacks, queues and counters without locks load a value, compute a new one and exchange the two, until nobody comes in
//! between:
//!
//! ```text
//! let mut old = top.load(Relaxed);                        loop {
//! loop {                                                      let old = top.load(Relaxed);
//!     node.next.store(old, Relaxed);                          node.next.store(old, Relaxed);
//!     match top.compare_exchange(old, node, ..) {             if top.compare_exchange(old, node, ..).is_ok() {
//!         Ok(_) => break,                                         break;
//!         Err(now) => old = now,                              }
//!     }                                                   }
//! }
//! ```
//!
//! As in `update.rs`, the load can be *speculative* and the exchange *confirm* it (TruSt with awaits, section 3.3), so that
//! an attempt that fails is no execution of its own, if such an attempt leaves no trace. Here nobody says that it does not,
//! and where an attempt starts: that is found out from what threads do.
//!
//! **Learning.** When an exchange fails for the first time, the steps of its thread are looked at. If the thread has loaded
//! the value that the exchange expects, and has since then only loaded, or stored to objects of its own, then both places
//! are noted, and the exploration starts again. (An object is its own if it has allocated it. If others come to see what is stored
//! there before the exchange, the engine notices, and gives the word up. It does not notice what is stored before the load, so
//! nothing may be; nor may it be the word that is exchanged.) If the thread is now at an operation at which it has been before in this
//! attempt (the load, or something that comes before it), a new attempt begins there: the loop goes *back*. So it does if it
//! performs the same load at another place. If not, what the exchange has found is taken for what the load would have found:
//! the attempt goes on *with that*.
//!
//! **What has to hold.** Let G be an execution in which an attempt loads v and its exchange finds u. A loop that goes back
//! does, without the attempt, the same in the same way if the attempt has changed nothing that matters, and G without the
//! attempt is an execution: only reads, and stores that nobody else has seen, are taken away. In a loop that goes on with u,
//! the load reads u in the place of the exchange; it must not have a stronger order than the exchange has when it fails, since
//! it would see more. In both, *nothing that matters* means: when the thread comes to the exchange again, it has performed
//! the same operations, and is in the same state, as if it had never made the attempt.
//!
//! **Looking.** So whenever a thread comes to such an exchange, what it would have done in an attempt that fails before that
//! is tried out (`machine/attempts.rs`): the thread is put back to where it began the attempt, and is told an older
//! value, with which it comes to the exchange; that fails. Most often the thread is then in the state in which it began the
//! attempt, or, in a loop that goes on with what was found, in which it is when its load has found that. If not, it is told
//! what it was told in the execution itself.
//! Operations, stack (registers included), memory of the model and counts of objects must be what they are in the
//! execution. If not, the place is given up, and the exploration starts again without it. What an attempt that fails has
//! stored to atomics of the thread's own, the one that was made must store again before it looks at it.
//!
//! Often something is left on the stack that does not matter: what the exchange has found, in a place that nobody looks at
//! again. So there is a second way to show that nothing is left that matters. If the exchange then succeeds, the thread comes
//! to the same operation in the same state as without the attempt that has failed; and if *two* attempts fail, what is left
//! is what is left after one of them, and the second comes to the exchange in a state in which it could have come there
//! without the first. (If not, three are tried out, and so on.) Then that is so after any number of them, by induction.
//!
//! All attempts that could fail are looked at. Writes of the location are ordered by program order and reads-from (the
//! engine insists on it), so an execution in which the load reads u, or in which a loop that has gone back reads u, has v
//! and all values between the two before that, and it is explored if the treatment is right up to there: take the first
//! attempt that is not. An attempt has loaded something older than what its exchange has found, and so has the next one. What was looked at once is not looked at again if the thread has been told the same, by threads that
//! have been told the same, and the same values are there.
//!
//! **For no reason.** An attempt whose exchange is weak may also fail though it finds what it expects. Nothing else is different:
//! it has loaded v, and u is v. So if it leaves no trace when it does so, which is tried out as well, then the choice whether
//! it does (`nondet.rs`) need not be offered. Where it ends no attempt of a loop that is known, or attempts are explored one by
//! one, it is.
//!
//! If with some values the loop ends without an exchange (an empty stack), or comes to another one (a queue whose end has
//! to be helped along), then the load is speculative only with those with which the next operation is on the way to the
//! exchange; that is tried out too. If that does not tell either, the place is given up.
//! Attempts that could have failed before such an end are looked at in the same way, and those that load what others write
//! later are looked at again (`machine/retries/later.rs`).
//!
//! **What goes wrong.** An attempt that fails may go wrong where one that succeeds does not: it looks at a node that somebody
//! else has taken and freed meanwhile. So on the way to the exchange there may be no plain access but to objects of the
//! thread's own; nothing may be loaded from a block that is freed in some execution before all other threads have been
//! joined; and attempts that are tried out must not panic. Otherwise the place is given up.
//!
//! What is not seen is what is not seen of loops that spin (`spin.rs`): changes of statics of `std`'s types and of
//! thread-local variables of `std`. As everywhere, what threads do must not depend on these.

use crate::blocks::BlockId;
use crate::lately::Lately;
use crate::machine::awaits::is_look;
use crate::runtime::At;
use rustc_hash::{FxHashMap, FxHashSet};
use selvedge_ir::{CmpOp, Order, Speculation};
use selvedge_machine::{Access, AccessKind, Addr, Cond, Op, Outcome, truncate};
use std::hash::{Hash, Hasher};

/// A place in the source that is looked up fast: hashing and comparing names of files takes time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spot(pub At);

impl PartialEq for Spot {
    fn eq(&self, other: &Spot) -> bool {
        std::ptr::eq(self.0, other.0) || self.0 == other.0
    }
}

impl Eq for Spot {}

impl Hash for Spot {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(u64::from(self.0.line()) << 32 | u64::from(self.0.column()));
    }
}

/// What is known of loops that try again.
#[derive(Default)]
pub(crate) struct Retries {
    loads: FxHashMap<Spot, Load>,
    exchanges: FxHashMap<Spot, Exchange>,
    /// Where attempts begin.
    starts: FxHashSet<Spot>,
    /// Where loads and beginnings were found, or were not.
    loads_lately: Lately,
    starts_lately: Lately,
    /// Which exchanges there are of a word.
    words: FxHashMap<Addr, FxHashSet<Spot>>,
    /// Words that the engine cannot make use of what is known of.
    in_vain: FxHashSet<Addr>,
    /// Blocks that threads look into on the way to an exchange.
    looked_into: FxHashMap<BlockId, FxHashSet<Spot>>,
    /// Loads and values of which it was tried out what comes next.
    tried: FxHashSet<(Spot, u64)>,
    /// Exchanges of which it was tried out what comes if they fail.
    foreseen: FxHashSet<Spot>,
    /// Numbers of attempts before which others may have failed, and have been looked at. What a look has shown holds whatever
    /// is learned of other places.
    pub looked: FxHashSet<u64>,
    /// Exchanges that may fail for no reason.
    weak: Vec<Spot>,
    /// Whether they are looked for.
    pub on: bool,
    /// Whether what fails for no reason is explored.
    pub spurious: bool,
    /// What is not treated as it could be, and why.
    notes: Vec<String>,
}

/// A load with which an attempt begins.
#[derive(Default)]
struct Load {
    speculates: Speculates,
    /// Where the thread comes by on its way to the exchange, the exchange included.
    way: FxHashSet<Spot>,
}

/// With which values a load is speculative.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) enum Speculates {
    #[default]
    Always,
    /// With those with which the next operation is on the way to the exchange.
    Sometimes,
    Never,
}

/// An exchange that is tried again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Exchange {
    /// Where the value was loaded that it expects.
    pub load: At,
    pub then: Then,
    /// Whether what the exchange has found may be taken for what the load would have found, if it is not so far.
    may_go_on: bool,
    given_up: GivenUp,
}

impl Exchange {
    /// Where an attempt begins.
    pub fn first(&self) -> At {
        if let Then::Back(place) = self.then { place } else { self.load }
    }
}

/// What a loop does when its exchange has failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Then {
    /// It goes on with what the exchange has found.
    GoesOn,
    /// It goes back to an operation.
    Back(At),
    /// It loads again, but elsewhere.
    LoadsElsewhere,
}

/// Whether an exchange is treated like any other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum GivenUp {
    No,
    /// The engine cannot make use of it. It may be able to when it knows more of what is done with the same word.
    ForNow,
    /// There is another attempt within one.
    Nested,
    /// What its load finds does not tell whether it follows.
    Irregular,
    /// What it finds when it fails orders less than what the load finds.
    Orders,
    Yes,
}

/// More loads and values are not tried out before it turns out by itself.
const MOST_TRIED: usize = 256;

/// Why an exchange is given up for now.
const NOT_NOW: &str = "what else is done with the word does not allow to take them together";

/// A speculative load of a thread that it has not confirmed yet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Open {
    addr: Addr,
    size: u8,
    value: u64,
    load: At,
    order: Order,
    /// Whether something has been performed since, and whether the first of it was on the way to an exchange.
    moved: bool,
    on_way: bool,
}

/// What a thread stands at.
pub(crate) enum Standing {
    /// An operation, with its marks.
    Op(Op),
    /// Something that was not expected: the exploration has to start again.
    Unexpected,
}

impl Retries {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.exchanges.is_empty()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.loads.clear();
        self.exchanges.clear();
        self.starts.clear();
        self.loads_lately.forget();
        self.starts_lately.forget();
        self.weak.clear();
        self.next_pass();
    }

    /// Another pass starts. Which loops there are need not be learned again; what their attempts leave has to be looked at.
    pub fn next_pass(&mut self) {
        self.words.clear();
        self.in_vain.clear();
        self.looked_into.clear();
        self.looked.clear();
        self.foreseen.clear();
        self.tried.clear();
        self.notes.clear();
    }

    /// What is not treated as it could be, and why.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Whether something is known of an exchange.
    pub fn knows(&self, at: At) -> bool {
        self.exchanges.contains_key(&Spot(at))
    }

    /// An exchange that is given up waits instead (`machine/relayed.rs`): nothing need be said of its attempts.
    pub fn waits(&mut self, at: At) {
        let place = place_of(at);
        self.notes.retain(|note| !note.contains(&place));
    }

    /// An exchange may fail for no reason.
    pub fn is_weakly(&mut self, at: At) {
        if !self.weak.contains(&Spot(at)) {
            self.weak.push(Spot(at));
        }
    }

    /// Whether an exchange may fail for no reason, and that is explored.
    pub fn is_weak(&self, at: At) -> bool {
        self.spurious && self.weak.contains(&Spot(at))
    }

    /// Whether some exchange of the attempts that begin with an operation may.
    pub fn is_weak_after(&self, start: At) -> bool {
        self.spurious
            && self.weak.iter().any(|&Spot(at)| self.exchange(at).is_some_and(|e| Spot(e.first()) == Spot(start)))
    }

    /// Whether an exchange that may fail for no reason ends an attempt, so that it need not do so (`retry.rs`).
    pub fn need_not_fail(&self, open: Option<Open>, (addr, size, expected): (Addr, u8, u64), at: At) -> bool {
        let Some(open) = open.filter(|_| self.spurious) else { return false };
        let same = (addr, size, truncate(expected, size)) == (open.addr, open.size, open.value);
        same && self.exchange(at).is_some_and(|exchange| exchange.load == open.load)
    }

    /// Whether attempts may begin with an operation at a place.
    pub fn begins(&self, at: At) -> bool {
        !self.starts.is_empty() && self.on && self.starts_lately.ask(at, || self.starts.contains(&Spot(at)))
    }

    fn note_starts(&mut self) {
        let live = self.exchanges.values().filter(|exchange| exchange.given_up == GivenUp::No);
        self.starts = live.map(|exchange| Spot(exchange.first())).collect();
        self.starts_lately.forget();
    }

    /// The loop that an exchange ends an attempt of.
    pub fn exchange(&self, at: At) -> Option<Exchange> {
        self.exchanges.get(&Spot(at)).copied().filter(|exchange| self.on && exchange.given_up == GivenUp::No)
    }

    /// The loops whose attempts begin with a load, by where their exchanges are.
    pub fn exchanges_after(&self, load: At) -> Vec<(At, Exchange)> {
        let Some(known) = self.loads.get(&Spot(load)) else { return Vec::new() };
        let exchanges = known.way.iter().filter_map(|&Spot(at)| self.exchange(at).map(|exchange| (at, exchange)));
        exchanges.filter(|(_, exchange)| exchange.load == load).collect()
    }

    /// The loops whose attempts are taken together, by where their exchanges are.
    pub fn live(&self) -> Vec<(At, Exchange)> {
        let speculates = |exchange: &Exchange| {
            self.loads.get(&Spot(exchange.load)).is_some_and(|load| load.speculates != Speculates::Never)
        };
        let exchanges = self.exchanges.keys().filter_map(|&Spot(at)| self.exchange(at).map(|exchange| (at, exchange)));
        exchanges.filter(|(_, exchange)| speculates(exchange)).collect()
    }

    /// Whether all attempts that begin with an operation at a place do so with the load whose value they exchange.
    pub fn begins_with_load(&self, at: At) -> bool {
        let mut here = self.exchanges.values().filter(|exchange| Spot(exchange.first()) == Spot(at));
        here.all(|exchange| Spot(exchange.load) == Spot(at))
    }

    /// Whether it was tried out what an exchange does that fails.
    pub fn is_foreseen(&self, at: At) -> bool {
        self.foreseen.contains(&Spot(at))
    }

    /// That is tried out.
    pub fn foresees(&mut self, at: At) {
        self.foreseen.insert(Spot(at));
    }

    /// A loop was found; whether there is something to be done otherwise.
    ///
    /// There can be no other attempt within one. If there is, the one within is preferred.
    pub fn learn(
        &mut self,
        at: At,
        (load, then, may_go_on): (At, Then, bool),
        way: Vec<At>,
        speculates: Speculates,
    ) -> bool {
        if speculates == Speculates::Never {
            self.exchanges.insert(Spot(at), Exchange { load, then, may_go_on, given_up: GivenUp::No });
            self.give_up(at, GivenUp::Irregular);
            return false;
        }
        let live = |exchange: &Exchange| exchange.given_up == GivenUp::No;
        if way.iter().any(|place| self.exchanges.values().any(|other| live(other) && Spot(other.load) == Spot(place))) {
            self.exchanges.insert(Spot(at), Exchange { load, then, may_go_on, given_up: GivenUp::No });
            self.give_up(at, GivenUp::Nested);
            return false;
        }
        let around: Vec<Spot> =
            self.loads.iter().filter(|(_, other)| other.way.contains(&Spot(load))).map(|(&at, _)| at).collect();
        let around: Vec<At> =
            self.exchanges.iter().filter(|(_, other)| around.contains(&Spot(other.load))).map(|(at, _)| at.0).collect();
        for at in around {
            self.give_up(at, GivenUp::Nested);
        }
        for exchange in self.exchanges.values_mut().filter(|exchange| exchange.given_up == GivenUp::ForNow) {
            exchange.given_up = GivenUp::No;
        }
        self.notes.retain(|note| !note.ends_with(NOT_NOW));
        self.exchanges.insert(Spot(at), Exchange { load, then, may_go_on, given_up: GivenUp::No });
        self.loads_lately.forget();
        let known = self.loads.entry(Spot(load)).or_default();
        known.way.extend(way.into_iter().map(Spot));
        known.speculates = known.speculates.max(speculates);
        self.note_starts();
        true
    }

    /// An engine starts: what it cannot make use of is not known yet.
    pub fn start(&mut self) {
        self.in_vain.clear();
    }

    /// The engine cannot make use of what is known of exchanges of a word; whether there are any. It may find that out at the
    /// load, before a thread has come to the first of them, and says so once.
    pub fn give_up_word(&mut self, addr: Addr) -> bool {
        self.in_vain.insert(addr);
        let places = self.words.remove(&addr).unwrap_or_default();
        for Spot(at) in &places {
            self.give_up(at, GivenUp::ForNow);
        }
        !places.is_empty()
    }

    /// A thread looks into a block on the way to an exchange.
    pub fn looks_into(&mut self, block: BlockId, at: At) {
        self.looked_into.entry(block).or_default().insert(Spot(at));
    }

    /// Gives exchanges up on the way to which threads look into blocks that others free: an attempt that fails could look
    /// into one that was freed. Whether there are any.
    pub fn give_up_freed(&mut self, freed: &FxHashSet<BlockId>) -> bool {
        if self.looked_into.is_empty() {
            return false;
        }
        let places: FxHashSet<Spot> = self
            .looked_into
            .iter()
            .filter(|(block, _)| freed.contains(block))
            .flat_map(|(_, at)| at)
            .copied()
            .collect();
        let mut any = false;
        for Spot(at) in places {
            any |= self.exchange(at).is_some();
            self.give_up(at, GivenUp::Yes);
        }
        any
    }

    /// Attempts that fail leave no trace, up to now: the loop is what it was taken for.
    pub fn leaves_no_trace(&mut self, at: At) {
        if let Some(exchange) = self.exchanges.get_mut(&Spot(at)) {
            exchange.may_go_on = false;
        }
    }

    /// An attempt that fails leaves a trace, or may go wrong. If the loop was taken for one that goes back, and that has never shown
    /// to be right, it may be another one that comes to the same load: of the next call of the same function, after this one has
    /// returned with what the exchange has found. So it is looked at as one that goes on with that.
    pub fn leaves_trace(&mut self, at: At) {
        match self.exchanges.get_mut(&Spot(at)) {
            Some(exchange) if exchange.may_go_on && exchange.given_up == GivenUp::No => {
                (exchange.then, exchange.may_go_on) = (Then::GoesOn, false);
                self.looked.clear();
                self.note_starts();
            }
            _ => self.give_up(at, GivenUp::Yes),
        }
    }

    fn give_up(&mut self, at: At, given_up: GivenUp) {
        let Some(exchange) = self.exchanges.get_mut(&Spot(at)).filter(|exchange| exchange.given_up == GivenUp::No)
        else {
            return;
        };
        exchange.given_up = given_up;
        self.note_starts();
        let place = place_of(at);
        let why = match given_up {
            GivenUp::ForNow => NOT_NOW,
            GivenUp::Nested => "there is another exchange that is tried again within one",
            GivenUp::Irregular => "what the load finds does not tell whether the exchange will follow",
            GivenUp::Orders => "the order that it has if it fails is weaker than that of the load",
            _ => "one that fails leaves a trace, or may go wrong",
        };
        self.notes.push(format!("attempts of the exchange at {place} are explored one by one: {why}"));
    }

    /// Whether attempts may begin with a load at a place.
    pub fn is_load(&self, at: At) -> bool {
        self.loads_lately.ask(at, || self.loads.contains_key(&Spot(at)))
    }

    /// Whether it is to be tried out what a thread does that finds a value with a load: once for each.
    pub fn is_to_be_tried(&mut self, load: At, value: u64) -> bool {
        let always = self.loads.get(&Spot(load)).is_some_and(|load| load.speculates == Speculates::Always);
        always && self.tried.len() < MOST_TRIED && self.tried.insert((Spot(load), value))
    }

    /// With some value a thread does not come from a load to something that is on the way to the exchange.
    pub fn is_sometimes(&mut self, load: At) {
        if let Some(load) = self.loads.get_mut(&Spot(load)) {
            load.speculates = load.speculates.max(Speculates::Sometimes);
        }
    }

    /// Whether a place is on the way from a load to an exchange.
    pub fn is_on_way(&self, load: At, at: At) -> bool {
        self.loads.get(&Spot(load)).is_some_and(|load| load.way.contains(&Spot(at)))
    }

    /// A thread comes to an operation; `own` says whether that is a store to an object of its own.
    pub fn comes_to(&mut self, open: &mut Option<Open>, op: Op, at: At, own: bool) -> Standing {
        if !self.on {
            return Standing::Op(op);
        }
        if let Some(speculation) = open {
            let sometimes =
                self.loads.get(&Spot(speculation.load)).map(|load| load.speculates) == Some(Speculates::Sometimes);
            if sometimes && !speculation.moved && !self.is_on_way(speculation.load, at) {
                *open = None;
            } else if let Some(marked) = self.confirms(&speculation.clone(), &op, at) {
                let why = match () {
                    () if self.in_vain.contains(&speculation.addr) => Some(GivenUp::ForNow),
                    () if self.goes_on_with_less(speculation.order, &op, at) => Some(GivenUp::Orders),
                    () => None,
                };
                if let Some(why) = why {
                    *open = None;
                    self.give_up(at, why);
                    return Standing::Unexpected;
                }
                *open = None;
                return Standing::Op(marked);
            } else if own && !is_access_to(&op, speculation.addr)
                || is_load(&op) && !is_speculative(&self.speculates(op, at))
            {
                speculation.on_way |= !speculation.moved && self.is_on_way(speculation.load, at);
                speculation.moved = true;
            } else {
                let irregular = *speculation;
                *open = None;
                self.is_irregular(irregular);
                return Standing::Unexpected;
            }
        }
        Standing::Op(self.speculates(op, at))
    }

    /// Whether a loop goes on with what its exchange has found, though that orders less than the load for which it would be taken.
    /// Orders may be arguments: somebody else may have come by with others when the loop was found.
    fn goes_on_with_less(&self, load: Order, op: &Op, at: At) -> bool {
        let Op::Access(Access { kind: AccessKind::Cas { failure, .. }, .. }) = *op else { return false };
        let goes_on = self.exchange(at).is_some_and(|exchange| exchange.then == Then::GoesOn);
        goes_on && !sees_no_more(load, failure)
    }

    /// An exchange that confirms a speculative load.
    fn confirms(&mut self, open: &Open, op: &Op, at: At) -> Option<Op> {
        let Op::Access(access @ Access { kind: AccessKind::Cas { expected, .. }, .. }) = op else { return None };
        let loop_ = self.exchange(at)?;
        let expected = truncate(*expected, access.size);
        let same = (access.addr, access.size, expected) == (open.addr, open.size, open.value);
        if !same || loop_.load != open.load {
            return None;
        }
        self.words.entry(access.addr).or_default().insert(Spot(at));
        let until = Some(Cond { retry: true, ..Cond::new(CmpOp::Eq, expected) });
        Some(Op::Access(Access { until, confirms: true, spins: false, ..*access }))
    }

    /// A load that an attempt may begin with.
    fn speculates(&self, op: Op, at: At) -> Op {
        let Op::Access(access @ Access { kind: AccessKind::Load, spins: false, .. }) = op else { return op };
        let confirmed =
            |load: &&Load| load.way.iter().any(|Spot(way)| self.exchange(way).is_some_and(|other| other.load == at));
        let speculates = self.loads.get(&Spot(at)).filter(confirmed).map_or(Speculates::Never, |load| load.speculates);
        let speculative = match speculates {
            Speculates::Never => return op,
            Speculates::Always => Speculation::Always,
            Speculates::Sometimes => Speculation::IfNext,
        };
        if is_look(&access) { Op::Access(Access { speculative: Some(speculative), ..access }) } else { op }
    }

    /// A thread was told the outcome of an operation.
    pub fn performed(&self, open: &mut Option<Open>, op: &Op, at: At, outcome: Outcome) {
        let Op::Access(access) = op else { return };
        if access.speculative.is_some() && self.loads.contains_key(&Spot(at)) {
            let Access { addr, size, order, .. } = *access;
            *open = Some(Open { addr, size, value: outcome, load: at, order, moved: false, on_way: false });
        }
    }

    /// When a confirmation is tried out that fails: what is taken for what the load would have found.
    pub fn goes_on_with(&self, access: &Access, at: At, value: u64) -> Option<Open> {
        let load = self.exchange(at)?.load;
        let order = if let AccessKind::Cas { failure, .. } = access.kind { failure } else { access.order };
        Some(Open { addr: access.addr, size: access.size, value, load, order, moved: false, on_way: false })
    }

    /// A thread has ended; whether that was not expected.
    pub fn ends(&mut self, open: Option<Open>) -> bool {
        let Some(open) = open.filter(|_| self.on) else { return false };
        let sometimes = self.loads.get(&Spot(open.load)).map(|load| load.speculates) == Some(Speculates::Sometimes);
        let unexpected = !sometimes || open.moved;
        if unexpected {
            self.is_irregular(open);
        }
        unexpected
    }

    /// A thread does not come from a load to the exchange.
    fn is_irregular(&mut self, Open { load, on_way, .. }: Open) {
        let Some(known) = self.loads.get_mut(&Spot(load)) else { return };
        known.speculates = match known.speculates {
            // The next operation can tell only if it was not on the way.
            Speculates::Always if !on_way => Speculates::Sometimes,
            _ => Speculates::Never,
        };
        if known.speculates == Speculates::Never {
            self.notes.push(format!(
                "attempts that begin with the load at {} are explored one by one: what it finds does not tell whether an \
                 exchange will follow",
                place_of(load)
            ));
        }
    }
}

/// A place for people.
fn place_of(at: At) -> String {
    format!("{}:{}:{}", at.file(), at.line(), at.column())
}

fn is_access_to(op: &Op, addr: Addr) -> bool {
    matches!(op, Op::Access(access) if access.addr == addr)
}

/// Whether an operation is a load.
pub(crate) fn is_load(op: &Op) -> bool {
    matches!(op, Op::Access(Access { kind: AccessKind::Load, .. }))
}

/// Whether an operation begins an attempt: the one before it has not been confirmed then, and never will be.
fn is_speculative(op: &Op) -> bool {
    matches!(op, Op::Access(Access { speculative: Some(_), .. }))
}

/// Whether a load may take the place of a failed exchange: it must not see more.
pub(crate) fn sees_no_more(load: Order, failure: Order) -> bool {
    match load {
        Order::Relaxed => true,
        Order::Acquire => matches!(failure, Order::Acquire | Order::SeqCst),
        _ => failure == load,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_takes_the_place_of_a_failed_exchange_only_if_it_sees_no_more() {
        let orders = [Order::Relaxed, Order::Acquire, Order::SeqCst];
        let seen = orders.map(|load| orders.map(|failure| sees_no_more(load, failure)));
        assert_eq!(seen, [[true, true, true], [false, true, true], [false, false, true]]);
    }
}
