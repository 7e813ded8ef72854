//! Schedules: one execution, written down so that it can be run again.
//!
//! The text form is a list of steps: `0` is a step of the first process, `0.2` of its third child, `0.2>0` delivers from
//! the one to the other, `0#3` fires the timer with the fourth reference of the first process; `/2` behind it takes the
//! third alternative. In front, behind `@`, come all processes in the order of their numbers, so that a program which
//! compares processes does the same again. `!` in front of all says that ends of processes are steps of their own
//! ([`System::quiet`]).

use crate::roster::{Path, Role, Roster};
use crate::system::MAX_PROCESSES;
use crate::{Machine, Pid, Ref, Sender, System};
use selvedge_ir::EntityRef;
use std::fmt;

/// Who makes a step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Who {
    /// A process.
    Process(Path),
    /// A channel from a process or timer to a process.
    Channel(Box<Who>, Path),
    /// A timer.
    Timer(Path, u32),
}

/// One step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScheduleStep {
    /// Who.
    pub who: Who,
    /// Which alternative it takes, 0 if there is one only.
    pub choice: u32,
}

/// One execution.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Schedule {
    /// Whether the ends of processes are no steps of their own.
    pub quiet: bool,
    /// All processes but the first, in the order of their numbers.
    pub processes: Vec<Path>,
    /// The steps.
    pub steps: Vec<ScheduleStep>,
}

impl Who {
    /// An actor by its ancestry.
    pub fn of(roster: &Roster, role: Role) -> Who {
        let path = |pid| roster.path(pid).clone();
        match role {
            Role::Process(pid) => Who::Process(path(pid)),
            Role::Channel(from, to) => {
                let from = match from {
                    Sender::Process(pid) => Role::Process(pid),
                    Sender::Timer(timer) => Role::Timer(timer),
                };
                Who::Channel(Box::new(Who::of(roster, from)), path(to))
            }
            Role::Timer(timer) => Who::Timer(path(timer.owner), timer.n),
        }
    }

    /// The role that this actor has.
    pub fn role(&self, roster: &mut Roster) -> Role {
        match self {
            Who::Process(path) => Role::Process(roster.at(path)),
            Who::Channel(from, to) => {
                let from = match from.role(roster) {
                    Role::Process(pid) | Role::Channel(_, pid) => Sender::Process(pid),
                    Role::Timer(timer) => Sender::Timer(timer),
                };
                Role::Channel(from, roster.at(to))
            }
            Who::Timer(owner, n) => Role::Timer(Ref { owner: roster.at(owner), n: *n }),
        }
    }
}

impl Schedule {
    /// The schedule of these steps.
    pub fn record(roster: &Roster, quiet: bool, steps: impl Iterator<Item = (Role, u32)>) -> Schedule {
        let steps = steps.map(|(role, choice)| ScheduleStep { who: Who::of(roster, role), choice });
        let processes = (1..roster.processes()).map(|n| roster.path(Pid::new(n)).clone()).collect();
        Schedule { quiet, processes, steps: steps.collect() }
    }

    /// The schedule without steps.
    pub fn empty(quiet: bool) -> Schedule {
        Schedule { quiet, ..Schedule::default() }
    }

    /// Reads what `Display` writes.
    pub fn parse(text: &str) -> Result<Schedule, String> {
        let mut schedule = Schedule::empty(true);
        for word in text.split_whitespace() {
            if word == "!" {
                schedule.quiet = false;
            } else if let Some(paths) = word.strip_prefix('@') {
                let path = |path| Path::parse(path).ok_or_else(|| format!("`{path}` is no process"));
                schedule.processes = paths.split(',').map(path).collect::<Result<_, _>>()?;
            } else {
                let step = parse_step(word).ok_or_else(|| format!("`{word}` is no step of a schedule"))?;
                schedule.steps.push(step);
            }
        }
        Ok(schedule)
    }

    /// Numbers the processes as they were when the schedule was written down. Before the program is started.
    pub fn number(&self, roster: &mut Roster) {
        for path in self.processes.iter().take(MAX_PROCESSES) {
            roster.at(path);
        }
    }

    /// Runs the schedule on a system that has been started. `step` is called before each step. If a step is not possible,
    /// says which and why.
    pub fn run<M: Machine>(
        &self,
        system: &mut System<M>,
        mut step: impl FnMut(&mut System<M>, Role, u32),
    ) -> Result<(), String> {
        for (n, planned) in self.steps.iter().enumerate() {
            let role = planned.who.role(&mut system.roster);
            let actor = system.roster.actor(role);
            if !system.enabled(actor) || planned.choice >= system.alternatives(actor) {
                let n = n + 1;
                return Err(format!(
                    "step {n} of the schedule, `{planned}`, is not possible: is it a schedule of another program?"
                ));
            }
            step(system, role, planned.choice);
        }
        Ok(())
    }
}

fn parse_step(word: &str) -> Option<ScheduleStep> {
    let (who, choice) = match word.split_once('/') {
        Some((who, choice)) => (who, choice.parse().ok()?),
        None => (word, 0),
    };
    let who = match who.split_once('>') {
        Some((from, to)) => Who::Channel(Box::new(parse_sender(from)?), Path::parse(to)?),
        None => parse_sender(who)?,
    };
    Some(ScheduleStep { who, choice })
}

fn parse_sender(who: &str) -> Option<Who> {
    Some(match who.split_once('#') {
        Some((owner, n)) => Who::Timer(Path::parse(owner)?, n.parse().ok()?),
        None => Who::Process(Path::parse(who)?),
    })
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Who::Process(path) => write!(f, "{path}"),
            Who::Channel(from, to) => write!(f, "{from}>{to}"),
            Who::Timer(owner, n) => write!(f, "{owner}#{n}"),
        }
    }
}

impl fmt::Display for ScheduleStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.who)?;
        if self.choice == 0 { Ok(()) } else { write!(f, "/{}", self.choice) }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words: Vec<String> = Vec::new();
        if !self.quiet {
            words.push("!".to_owned());
        }
        let paths: Vec<String> = self.processes.iter().map(Path::to_string).collect();
        if !paths.is_empty() {
            words.push(format!("@{}", paths.join(",")));
        }
        words.extend(self.steps.iter().map(ScheduleStep::to_string));
        f.write_str(&words.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_can_be_read() {
        let text = "! @0.0,0.0.1,0.1 0 0.1/2 0.1>0 0.3#4 0.3#4>0.1";
        assert_eq!(Schedule::parse(text).map(|schedule| schedule.to_string()), Ok(text.to_owned()));
        assert!(Schedule::parse("0 1").is_err());
        assert!(Schedule::parse("0 0.x").is_err());
        assert!(Schedule::parse("0/").is_err());
    }
}
