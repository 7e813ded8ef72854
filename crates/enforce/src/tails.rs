//! Tails: what a thread still does in a section while the next one has begun.
//!
//! Definition 37 has all events of a section before the first event of the next. If a thread takes an input in the middle of
//! its part (a search that is long, and then the result is written down), everybody would wait for that. But the order between
//! sections is only there to keep *dependent* events in order. So behind such an input, the rest of a thread's part is its
//! *tail*: the next section begins without it.
//!
//! An event that depends on something in a tail waits for it. In which section that will be is not known beforehand, so
//! it is looked up when the program runs: a thread says on its line which section it owes its tail of, from before others hear
//! that its part is done up to there until the tail is done. Tails of a thread with the same accesses are a *class*, which it says
//! as well. An event waits for each thread that owes a tail of an *earlier* section, if it depends on an access of that class; and the
//! end of a thread or of the process for all of them.
//!
//! Why that is enough: let an execution follow the sections π0 π1 ... in which each event waits as it should. Events of a
//! thread are in their order; dependent events of one section are, by its schedule; and of two dependent events in
//! different sections, either the earlier one is in no tail and came before the later section began, or it is in one and the
//! later one has waited. So the execution keeps the order of all dependent transitions of the path π0 π1 ..., is equivalent to
//! the one that follows the path step by step, and that one corresponds to a path of the tree (Lemma 5). And nobody waits for
//! ever: what is waited for stands earlier on the path, whose transitions are enabled, one after the other.

use selvedge_ir::EntityRef;
use selvedge_schedule::independence::dependent;
use selvedge_schedule::{Access, Edge, Precision, PublishedArt, Section, StepKind, ThreadId};
use std::collections::{BTreeSet, HashSet};

/// At most so many classes are told apart for each thread.
const CLASSES: usize = 31;

/// A set of classes, a bit for each.
pub(crate) type Classes = u32;

/// The tails of all sections of a program schedule.
pub(crate) struct Tails {
    /// For each section and thread, how many of its events do not belong to its tail.
    pub early: Vec<Vec<u32>>,
    /// For each section and thread, whether it takes an input behind these, be it that the section has nothing more of it.
    pub asks: Vec<Vec<bool>>,
    /// For each section and thread, the class of its tail; 0 if it has none.
    pub class: Vec<Vec<u32>>,
    /// The classes of each thread: what they access.
    classes: Vec<Vec<BTreeSet<Access>>>,
    precision: Precision,
}

impl Tails {
    /// The tails of these sections. `asks_behind` says whether a thread takes an input in an event when others may go on.
    pub(crate) fn new(
        art: &PublishedArt,
        sections: &[&Section],
        precision: Precision,
        asks_behind: impl Fn(&Section, usize) -> bool,
    ) -> Tails {
        let mut tails = Tails::none(art, sections);
        tails.precision = precision;
        for (n, section) in sections.iter().enumerate() {
            (tails.early[n], tails.asks[n]) = parts(art, section, &asks_behind);
            let mut accesses: Vec<Option<BTreeSet<Access>>> = vec![None; art.threads.len()];
            for (event, edge) in section.schedule.events.iter().zip(events(art, section)) {
                let thread = event.thread.index();
                if event.k >= tails.early[n][thread] {
                    accesses[thread].get_or_insert_default().extend(art.accesses(edge).iter().copied());
                }
            }
            for (thread, accesses) in accesses.into_iter().enumerate() {
                tails.class[n][thread] = accesses.map_or(0, |accesses| tails.classify(thread, accesses));
            }
        }
        tails
    }

    /// The class of a tail. When there are too many, the last one takes all others in.
    fn classify(&mut self, thread: usize, accesses: BTreeSet<Access>) -> u32 {
        let classes = &mut self.classes[thread];
        let class = match classes.iter().position(|known| *known == accesses) {
            Some(class) => class,
            None if classes.len() < CLASSES => {
                classes.push(accesses);
                classes.len() - 1
            }
            None => {
                classes[CLASSES - 1].extend(accesses);
                CLASSES - 1
            }
        };
        class as u32
    }

    /// No tails: every section ends before the next one begins.
    pub(crate) fn none(art: &PublishedArt, sections: &[&Section]) -> Tails {
        let early = sections.iter().map(|section| section.schedule.lengths.clone()).collect();
        let asks = vec![vec![false; art.threads.len()]; sections.len()];
        let class = vec![vec![0; art.threads.len()]; sections.len()];
        Tails { early, asks, class, classes: vec![Vec::new(); art.threads.len()], precision: Precision::Order }
    }

    /// The tails that an event has to wait for: of which threads, and which classes.
    pub(crate) fn waits(&self, art: &PublishedArt, edge: &Edge) -> Vec<(ThreadId, Classes)> {
        let own = art.thread_of(edge);
        let ends = art.transition(edge.transition).steps.iter().any(|step| step.kind == StepKind::Exit);
        let depends = |class: &BTreeSet<Access>| {
            let class: Vec<Access> = class.iter().copied().collect();
            ends || dependent(&class, art.accesses(edge), self.precision)
        };
        let of_thread = |thread: ThreadId| {
            let classes = self.classes[thread.index()].iter().enumerate();
            let set = classes.filter(|(_, class)| depends(class)).fold(0, |set, (n, _)| set | 1 << n);
            (thread, set)
        };
        let others = art.thread_ids().filter(|&thread| thread != own);
        others.map(of_thread).filter(|&(_, set)| set != 0).collect()
    }
}

/// The edges of a section that are its events, in order.
pub(crate) fn events<'a>(art: &'a PublishedArt, section: &'a Section) -> impl Iterator<Item = &'a Edge> {
    let is_event: HashSet<_> = section.schedule.events.iter().map(|event| event.transition).collect();
    section.path.edges(art).filter(move |edge| is_event.contains(&edge.transition))
}

/// How many events of each thread come before its tail in a section, and whether it takes an input there. The first one never belongs to it: that the thread has
/// made it says that it knows of the section.
fn parts(
    art: &PublishedArt,
    section: &Section,
    asks_behind: &impl Fn(&Section, usize) -> bool,
) -> (Vec<u32>, Vec<bool>) {
    let all = &section.schedule;
    let mut early = all.lengths.clone();
    let mut done = vec![0; all.lengths.len()];
    let mut asking = vec![false; all.lengths.len()];
    let alone = all.events.iter().all(|event| event.thread == all.events[0].thread);
    let mut n = 0;
    for edge in section.path.edges(art) {
        let thread = art.thread_of(edge).index();
        let is_event = all.events.get(n).is_some_and(|event| event.transition == edge.transition);
        let asks = if is_event {
            done[thread] += 1;
            n += 1;
            asks_behind(section, n - 1)
        } else {
            art.transition(edge.transition).steps.iter().any(|step| step.kind == StepKind::Nondet)
        };
        // Alone, a thread keeps others waiting with its first input; among others, with its last one: what they do in
        // this section they do meanwhile.
        if asks && done[thread] > 0 && !(alone && asking[thread]) {
            early[thread] = done[thread];
            asking[thread] = true;
        }
    }
    debug_assert_eq!(n, all.events.len(), "every event is an edge of the path");
    (early, asking)
}
