//! Who may go on under a program schedule: Algorithm 3.
//!
//! The scheduler as the paper writes it, for one thread after the other and with all of the state in one place: what a program
//! schedule means, to be read next to the paper. The run-time of `enforce` has the same meaning, spread over the threads.

use crate::program_schedule::{ProgramSchedule, Section};
use crate::{PublishedArt, ThreadId, TransitionId};
use selvedge_ir::EntityRef;

/// The state of Algorithm 3: the current section and what has been executed of it.
pub struct Ivr<'a> {
    art: &'a PublishedArt,
    schedule: &'a ProgramSchedule,
    /// v.
    node: usize,
    /// σ; none while it is still to be chosen.
    section: Option<&'a Section>,
    /// How many events of each thread have been executed of σ.
    executed: Vec<u32>,
}

impl<'a> Ivr<'a> {
    /// At the root.
    pub fn new(art: &'a PublishedArt, schedule: &'a ProgramSchedule) -> Ivr<'a> {
        let section = only(schedule, 0);
        Ivr { art, schedule, node: 0, section, executed: vec![0; art.threads.len()] }
    }

    /// *R*: the transitions that may be executed now; several of one thread where it depends on the state which one is
    /// enabled.
    pub fn permitted(&self) -> Vec<TransitionId> {
        match self.section {
            None => {
                let first = |section: &Section| section.schedule.events[0].transition;
                self.schedule.nodes[self.node].sections().map(first).collect()
            }
            Some(section) => {
                let schedule = &section.schedule;
                let next = |n: &usize| {
                    let event = &schedule.events[*n];
                    event.k == self.executed[event.thread.index()]
                        && schedule.clocks[*n].iter().zip(&self.executed).all(|(needed, done)| needed <= done)
                };
                (0..schedule.events.len()).filter(next).map(|n| schedule.events[n].transition).collect()
            }
        }
    }

    /// Executes a transition; whether it was permitted.
    pub fn execute(&mut self, transition: TransitionId) -> bool {
        if !self.permitted().contains(&transition) {
            return false;
        }
        let section = self.section.unwrap_or_else(|| {
            let chosen = self.schedule.nodes[self.node]
                .sections()
                .find(|section| section.schedule.events[0].transition == transition);
            chosen.expect("a permitted transition starts a section")
        });
        let thread: ThreadId = self.art.transition(transition).thread;
        self.executed[thread.index()] += 1;
        self.section = Some(section);
        if self.executed == section.schedule.lengths {
            self.node = section.to.index();
            self.section = only(self.schedule, self.node);
            self.executed.fill(0);
        }
        true
    }
}

/// The section that starts at a node, if there is only one: it need not be chosen.
fn only(schedule: &ProgramSchedule, node: usize) -> Option<&Section> {
    let mut sections = schedule.nodes[node].sections();
    sections.next().filter(|_| sections.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::Silent;
    use crate::figure_3::figure_3;
    use crate::independence::Precision;
    use crate::program_schedule::{Options, program_schedule};

    #[test]
    fn independent_events_may_come_in_any_order_and_sections_in_theirs() {
        let art = figure_3();
        let schedule = program_schedule(
            &art,
            Options { precision: Precision::Objects, replicate: 1, omit_synchronisation: false, silent: Silent::Kept },
        )
        .expect("one thread at each node");
        let mut ivr = Ivr::new(&art, &schedule);
        let r = TransitionId::new;
        assert_eq!(ivr.permitted(), [r(0)]);
        assert!(ivr.execute(r(0)));
        // x := 0 of T2 and the read of y by T1.
        assert_eq!(ivr.permitted(), [r(5), r(1)]);
        assert!(ivr.execute(r(1)));
        assert!(!ivr.execute(r(2)), "T2 has to come first");
        assert!(ivr.execute(r(5)));
        assert_eq!(ivr.permitted(), [r(2), r(3)]);
        assert!(ivr.execute(r(3)));
        assert_eq!(ivr.permitted(), [r(0)]);
    }
}
