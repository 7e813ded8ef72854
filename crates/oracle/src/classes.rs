//! Every class of executions of a program that has too many interleavings to look at each.
//!
//! Two executions that are equivalent can be continued in the same ways, and stay equivalent if they are. So the search
//! of `enumerate.rs` need not go on where it has met an equivalent execution before: it keeps the classes of all
//! executions, maximal or not, and looks at one of each. That is right as long as the dependence relation is, which the
//! full enumeration watches over on smaller programs; in return, programs can be larger by a good deal.

use crate::dependence::{ClassKey, MAX_STEPS};
use crate::enumerate::{Class, Enumeration, FinalState, Run, TooLarge, only};
use crate::race::find_race;
use selvedge_machine::ThreadId;
use std::collections::HashSet;

/// All classes of maximal executions, with one execution of each, unless more than `max_prefixes` classes of executions
/// have to be looked at.
pub fn enumerate_classes<M: FinalState>(machine: M, max_prefixes: usize) -> Result<Enumeration, TooLarge> {
    let run = match Run::start(machine) {
        Ok(run) => run,
        Err(ending) => return Ok(only(*ending)),
    };
    let mut search = Search { run, max_prefixes, met: HashSet::new(), found: Enumeration::default() };
    search.explore()?;
    Ok(search.found)
}

struct Search<M> {
    run: Run<M>,
    max_prefixes: usize,
    met: HashSet<ClassKey>,
    found: Enumeration,
}

impl<M: FinalState> Search<M> {
    fn explore(&mut self) -> Result<(), TooLarge> {
        let key = self.run.trace.key();
        if self.met.contains(&key) {
            return Ok(());
        }
        let enabled: Vec<ThreadId> = self.run.sc.threads().filter(|&thread| self.run.sc.enabled(thread)).collect();
        if enabled.is_empty() {
            self.end(&key);
        }
        self.met.insert(key);
        if self.met.len() > self.max_prefixes {
            return Err(TooLarge::Executions);
        }
        if self.run.trace.events.len() == MAX_STEPS && !enabled.is_empty() {
            return Err(TooLarge::Steps);
        }
        for thread in enabled {
            for choice in 0..self.run.sc.alternatives(thread) {
                self.run.step(thread, choice);
                self.explore()?;
                self.run.undo();
            }
        }
        Ok(())
    }

    fn end(&mut self, key: &ClassKey) {
        self.found.executions += 1;
        self.found.longest = self.found.longest.max(self.run.trace.events.len());
        let class = Class {
            ending: self.run.ending(),
            race: find_race(&self.run.trace).is_some(),
            executions: 1,
            schedule: self.run.schedule(),
        };
        self.found.classes.insert(key.clone(), class);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LitmusMachine;
    use crate::enumerate::enumerate;
    use crate::generate::{PROFILES, generate};

    #[test]
    fn the_classes_are_those_of_all_interleavings() {
        for profile in PROFILES {
            for seed in 0..20 {
                let (program, _) = generate(profile, seed, 300);
                let machine = || LitmusMachine::new(program.clone()).unwrap();
                let (all, classes) =
                    (enumerate(machine(), 300).unwrap(), enumerate_classes(machine(), 100_000).unwrap());
                assert_eq!(all.classes.len(), classes.classes.len());
                for (key, class) in &classes.classes {
                    assert_eq!((&all.classes[key].ending, all.classes[key].race), (&class.ending, class.race));
                }
            }
        }
    }

    #[test]
    fn programs_that_are_too_large_are_given_up() {
        let (program, _) = generate(&PROFILES[0], 5, 300);
        assert_eq!(enumerate_classes(LitmusMachine::new(program).unwrap(), 3).unwrap_err(), TooLarge::Executions);
    }
}
