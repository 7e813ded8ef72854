//! Which transitions are events of section schedules.
//!
//! A transition that executes nothing is no event. If operations of synchronisation are left out (Opt1), those that do
//! nothing else are none either: what they protect is in order without them. And a transition may execute only what no
//! other thread could notice: it takes an input, which may be long in coming, and decides by it where it goes. Nobody has to
//! wait for that: it accesses nothing shared, so that it is independent of every transition of any other thread
//! (Definition 18), and each execution in which it comes late is equivalent to the one in which it comes in its place (Lemma 5).
//! So threads are busy with things of their own at the same time, also beyond the ends of sections. Such a transition is *silent*.
//!
//! There is one reason to keep a silent transition: where the tree branches, others hear of the decision. Which section it is
//! depends on it. The run-time is then called at the instructions of that transition, and since instructions know of no
//! sections, every transition that has one of them is an event.

use crate::{PublishedArt, Step, StepKind, TransitionId};
use selvedge_ir::EntityRef;
use std::collections::HashSet;

/// Which silent transitions are events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Silent {
    /// All of them.
    Kept,
    /// Those with a branch: the run-time sees that it goes as it was verified.
    Branches,
    /// None.
    Omitted,
}

/// For each transition of a tree whether it is an event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Events {
    of: Vec<bool>,
}

impl Events {
    /// The events of a tree; without operations of synchronisation, if they are omitted.
    pub fn new(art: &PublishedArt, omit_synchronisation: bool, silent: Silent) -> Events {
        let executed = |step: &&Step| !(omit_synchronisation && step.kind.is_synchronisation());
        let steps: Vec<Vec<&Step>> =
            art.transitions.iter().map(|transition| transition.steps.iter().filter(executed).collect()).collect();
        let noticed = |step: &&Step| match silent {
            Silent::Kept => true,
            Silent::Branches => step.kind.is_noticed() || matches!(step.kind, StepKind::Branch(_)),
            Silent::Omitted => step.kind.is_noticed(),
        };
        let mut of: Vec<bool> = steps.iter().map(|all| all.iter().any(noticed)).collect();
        for node in art.node_ids().filter(|&node| art.branching(node)) {
            for edge in &art.node(node).edges {
                of[edge.transition.index()] = !steps[edge.transition.index()].is_empty();
            }
        }
        // The instructions of events, and what has one of them, until nothing is added.
        let name = |step: &&Step| (step.site.function.clone(), step.site.inst);
        loop {
            let events = steps.iter().zip(&of).filter(|(_, event)| **event);
            let named: HashSet<(String, u32)> = events.flat_map(|(all, _)| all.iter().map(name)).collect();
            let more: Vec<usize> =
                (0..of.len()).filter(|&n| !of[n] && steps[n].iter().any(|step| named.contains(&name(step)))).collect();
            if more.is_empty() {
                return Events { of };
            }
            more.into_iter().for_each(|n| of[n] = true);
        }
    }

    /// Whether a transition is an event.
    pub fn has(&self, transition: TransitionId) -> bool {
        self.of[transition.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure_3::figure_3;

    /// Figure 3, where T2 takes an input instead of its write, at an instruction of its own.
    fn with_input() -> PublishedArt {
        let mut art = figure_3();
        art.transitions[5].steps[0].kind = StepKind::Nondet;
        art.transitions[5].steps[0].site.inst = 99;
        art
    }

    fn has(art: &PublishedArt, silent: Silent) -> bool {
        Events::new(art, true, silent).has(TransitionId::new(5))
    }

    #[test]
    fn an_input_is_nobody_elses_business() {
        let art = with_input();
        assert!(has(&art, Silent::Kept));
        assert!(!has(&art, Silent::Branches) && !has(&art, Silent::Omitted));
        let mut art = with_input();
        let branch = Step { kind: StepKind::Branch(0), ..art.transitions[5].steps[0].clone() };
        art.transitions[5].steps.push(branch);
        assert!(has(&art, Silent::Branches) && !has(&art, Silent::Omitted));
    }

    #[test]
    fn what_decides_which_section_it_is_stays_an_event() {
        let mut art = with_input();
        let input = art.transitions[5].steps[0].clone();
        // The branch at v3 takes the same input.
        art.transitions[2].steps.push(input.clone());
        assert!(has(&art, Silent::Omitted));
        art.transitions[2].steps.pop();
        // So does a transition with a noticed step.
        art.transitions[0].steps.push(input);
        assert!(has(&art, Silent::Omitted));
    }
}
