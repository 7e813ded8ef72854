//! Confirmation-CAS loops: read a location, work on the value, exchange it if nobody else was faster, otherwise start again.
//!
//! M. Kokologiannakis, I. Marmanis, V. Vafeiadis, "Unblocking Dynamic Partial Order Reduction" (CAV 2023), section 3.3. An
//! engine that knows which compare-and-exchange confirms which load need not explore attempts that fail at all. For that,
//! this pass does two things with such a loop, one after the other:
//!
//! 1. *Attempts that fail are cut off*: the exchange becomes an await for its expected value, and the loop is no loop any
//!    more. Purity (`purity/`) does so where it can; here are added attempts that walk along a list, and those that carry
//!    the value which the failed exchange has read (C11's `compare_exchange_weak(&x, &old, new)`).
//! 2. *Load and exchange are marked* ([`Speculation`], `confirms`), unless the loop is outside of what the paper assumes.
//!
//! | file | owns |
//! |---|---|
//! | `pattern.rs` | the shape: load, work, exchange, and nothing else on the way back |
//! | `source.rs` | where the expected value comes from |
//! | `speculation.rs` | the values with which a load leads to the exchange |
//! | `unseen_errors.rs` | loops whose failing attempts may be errors |
//! | `transform.rs` | step 1 and 2 |
//!
//! # Why failing attempts may be cut off
//!
//! Take an execution in which a thread makes some attempts that fail, then one that does not (it succeeds, leaves the loop
//! in another way, or goes wrong). The failing ones have only read shared memory. Take all their events out. What is left
//! is an execution of the same program in which the thread came to the loop later: it is at the header in the same local
//! state (`pattern.rs` demands that nothing is carried round, other than the expected value), objects of its own that it
//! writes in an attempt are written again by the last one before anybody looks (`purity/private_store.rs`), and others have
//! read nothing from it. The memory model allows it: consistency of SC, TSO, RA and RC11 asks that certain relations have
//! no cycles, and with fewer reads there are fewer edges. No error is lost either, since an attempt is cut off at its
//! exchange and not before: an attempt that goes wrong can be made as the first one.
//!
//! A loop that carries the value which the failed exchange has read,
//!
//! ```text
//! old = load(x);                              do {
//! do {                             becomes       old = load(x);
//!     new = f(old);                              new = f(old);
//! } while (!cas(x, &old, new));               } while (!cas(x, old, new));
//! ```
//!
//! In an execution of the left loop keep of each run through it only the last read of `old`, by the load or by a failed
//! exchange, and what follows. That is an execution of the right one, if the load is ordered no more strongly than a failed
//! exchange: then taking its order for both only removes edges. Every execution of the right loop in which the first
//! attempt does not fail is one of the left. For this nothing may happen between the load and the loop, and nothing else
//! may use what was loaded (`source.rs`). A loop that reads again at its end (`while (!cas(..)) old = load(x);`) is the same
//! with a second load in the place of the failed exchange.
//!
//! # When the two are marked
//!
//! The paper's Definition 4 wants every speculative read to be followed by its confirmation with no write between. Its
//! engine visits the executions in which all confirmations succeed, and these only: an error that shows only in an attempt
//! which fails (the node was freed meanwhile, the classic mistake of a lock-free stack) would be missed. So the marks are
//! set only if an attempt cannot go wrong (`unseen_errors.rs`). A loop that can be left between load and exchange (pop,
//! dequeue) is reported as a *confirmation with exits*: the paper leaves it open, and it is marked only if asked for
//! ([`Options::exits`]). Values that repeat (ABA), other writes to the location that race, and plain accesses to it
//! elsewhere are for the engine to notice.

mod pattern;
mod source;
mod speculation;
mod transform;
mod unseen_errors;

use crate::purity::forward_purity::Context;
use crate::purity::report::{Insertion, Kind, LoopReport, Outcome, Words, place_of_loop, position};
use crate::{Loop, LoopForest};
use pattern::Pattern;
use selvedge_ir::{Block, Cfg, Dominators, FuncId, Inst, InstKind, LocId, Module, Speculation};

/// What to do with the loops that are found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// Cut failing attempts off and mark what can be marked; otherwise the program is only looked at.
    pub transform: bool,
    /// Mark confirmations with exits as well.
    pub exits: bool,
}

/// Why a loop that looks like a confirmation is not treated as one, or is not marked.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Declined {
    why: String,
    loc: LocId,
}

/// What is known of a function and one of its loops.
struct Scene<'a> {
    context: Context<'a>,
    dominators: &'a Dominators,
}

/// A compare-and-exchange of a value that was read from the same location in the same attempt.
struct Candidate {
    header: Block,
    /// What is exchanged, in words.
    name: String,
    load: LocId,
    exchange: LocId,
    found: Result<Found, Declined>,
}

/// A confirmation-CAS loop.
struct Found {
    pattern: Pattern,
    /// How the load is to be marked, and where the loop can be left between load and exchange.
    mark: Result<(Speculation, Vec<LocId>), Declined>,
}

/// Looks at the loops of a function, before `purity` does: the reports of the loops that are none any more, and notes
/// about the others.
pub fn run(module: &mut Module, id: FuncId, options: Options) -> (Vec<LoopReport>, Vec<Note>) {
    let (mut reports, mut notes) = (Vec::new(), Vec::new());
    if module.functions[id].is_declaration() {
        return (reports, notes);
    }
    // A treated loop changes the graph; headers that were looked at are not looked at again.
    let mut seen: Vec<Inst> = Vec::new();
    while let Some(candidate) = next_candidate(module, id, &mut seen) {
        let note = note(module, id, &candidate, options);
        match candidate.found {
            Ok(found) if options.transform => {
                let mut report = note.report();
                report.insertions.push(insertion(module, &candidate.name, candidate.exchange));
                reports.push(report);
                let func = &mut module.functions[id];
                let mark = found.mark.ok().filter(|(_, exits)| exits.is_empty() || options.exits);
                transform::run(func, &found.pattern, mark.map(|(speculation, _)| speculation));
                while crate::purity::facts::decide_branches(func) {}
            }
            _ => notes.push(note),
        }
    }
    (reports, notes)
}

/// What is said about a loop that stays.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    function: String,
    position: crate::purity::report::Position,
    text: String,
}

impl Note {
    fn report(&self) -> LoopReport {
        LoopReport {
            function: self.function.clone(),
            position: self.position.clone(),
            outcome: Outcome::Confirmed,
            insertions: Vec::new(),
            confirmations: vec![self.text.clone()],
        }
    }

    /// Adds the note to the report of its loop.
    pub fn attach(self, reports: &mut [LoopReport]) {
        let own = |report: &&mut LoopReport| report.function == self.function && report.position == self.position;
        if let Some(report) = reports.iter_mut().find(own) {
            report.confirmations.push(self.text);
        }
    }
}

/// Adds what is said about a treated loop to the other report about it, if it is a loop still.
pub fn attach(own: LoopReport, reports: &mut Vec<LoopReport>) {
    let same = |report: &&mut LoopReport| report.function == own.function && report.position == own.position;
    match reports.iter_mut().find(same) {
        Some(report) => {
            report.confirmations.extend(own.confirmations);
            report.insertions.extend(own.insertions);
        }
        None => reports.push(own),
    }
}

fn next_candidate(module: &Module, id: FuncId, seen: &mut Vec<Inst>) -> Option<Candidate> {
    let func = &module.functions[id];
    let cfg = Cfg::new(func);
    let dominators = Dominators::new(&cfg);
    let forest = LoopForest::new(&cfg, &dominators);
    for (loop_id, this) in forest.loops.iter().rev() {
        let own = this.blocks.iter().filter(|&&block| forest.innermost(block) == Some(loop_id));
        let insts = own.flat_map(|&block| func.blocks[block].insts.iter().map(move |&inst| (block, inst)));
        for (block, inst) in insts {
            if !matches!(func.insts[inst].kind, InstKind::Cas { .. }) || seen.contains(&inst) {
                continue;
            }
            seen.push(inst);
            let context = Context { module, func, cfg: &cfg, this };
            let scene = Scene { context, dominators: &dominators };
            if let Some(candidate) = look_at(&scene, this, block, inst) {
                return Some(candidate);
            }
        }
    }
    None
}

fn look_at(scene: &Scene<'_>, this: &Loop, block: Block, exchange: Inst) -> Option<Candidate> {
    let Context { module, func, .. } = scene.context;
    let source = source::find(scene, block, exchange)?;
    let attempt = pattern::way_back(scene, block, exchange)?;
    let words = Words { module, func };
    let found = attempt.and_then(|attempt| pattern::recognise(scene, attempt, source)).map(|pattern| {
        let mark =
            speculation::of(scene, &pattern).and_then(|mark| unseen_errors::check(scene, &pattern).map(|()| mark));
        Found { pattern, mark }
    });
    Some(Candidate {
        header: this.header,
        name: words.path(exchange).unwrap_or_else(|| "memory".to_owned()),
        load: func.insts[source.load()].loc,
        exchange: func.insts[exchange].loc,
        found,
    })
}

fn insertion(module: &Module, name: &str, exchange: LocId) -> Insertion {
    let until = format!("the compare-and-exchange of {name} succeeds");
    Insertion { position: position(module, exchange), kind: Kind::Await, until }
}

fn note(module: &Module, id: FuncId, candidate: &Candidate, options: Options) -> Note {
    let func = &module.functions[id];
    let (function, position) = place_of_loop(module, func, candidate.header);
    let line = |loc: LocId| module.locs[loc].line;
    let name = &candidate.name;
    let because = |declined: &Declined| match line(declined.loc) {
        0 => declined.why.clone(),
        line => format!("{} (line {line})", declined.why),
    };
    let read =
        format!("{name} is read (line {}) and exchanged (line {})", line(candidate.load), line(candidate.exchange));
    let text = match &candidate.found {
        Err(declined) => format!("no confirmation of {name}: {}", because(declined)),
        Ok(Found { mark: Err(declined), .. }) => format!("confirmation: {read}; not used: {}", because(declined)),
        Ok(Found { mark: Ok((speculation, exits)), .. }) if exits.is_empty() => {
            format!("confirmation: {read}{}", values(*speculation))
        }
        Ok(Found { mark: Ok((speculation, exits)), .. }) => {
            let mut lines: Vec<String> = exits.iter().map(|&loc| line(loc).to_string()).collect();
            lines.dedup();
            let used = if options.exits { values(*speculation) } else { "; not used" };
            format!("confirmation with exits (line {}): {read}{used}", lines.join(", "))
        }
    };
    Note { function, position, text }
}

fn values(speculation: Speculation) -> &'static str {
    match speculation {
        Speculation::Always => "",
        Speculation::IfZero => " if it is zero",
        Speculation::IfNonzero => " unless it is zero",
        Speculation::IfNext => " if that comes next",
    }
}
