//! Who can make a step, and their numbers.
//!
//! An actor is a process, a channel (what is on its way from one process to another, if delivery is a step of its own) or a
//! timer. Numbers are given out once for all executions: the n-th child of a process is the same process in all of them.

use crate::{Pid, Ref, Sender, first_process};
use rustc_hash::FxHashMap;
use selvedge_ir::{EntityRef, entity};
use std::fmt;

entity! {
    /// Someone who can make a step.
    Actor, "a"
}

/// What an actor is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Role {
    /// A process.
    Process(Pid),
    /// What is on its way from a process (or timer) to another process, in the order in which it was sent.
    Channel(Sender, Pid),
    /// A timer.
    Timer(Ref),
}

/// A process by its ancestry: which child it is of which child of the first process. Stable over runs.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Path(pub Vec<u32>);

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("0")?;
        self.0.iter().try_for_each(|n| write!(f, ".{n}"))
    }
}

impl Path {
    /// Reads what `Display` writes.
    pub fn parse(text: &str) -> Option<Path> {
        let mut numbers = text.split('.').map(|n| n.parse::<u32>().ok());
        (numbers.next()?? == 0).then_some(())?;
        let path = Path(numbers.collect::<Option<Vec<u32>>>()?);
        // Nobody has more children than that.
        path.0.iter().all(|&n| (n as usize) < crate::system::MAX_PROCESSES).then_some(path)
    }
}

/// All actors that have been met.
pub struct Roster {
    roles: Vec<Role>,
    by_role: FxHashMap<Role, Actor>,
    processes: Vec<Actor>,
    paths: Vec<Path>,
    children: Vec<Vec<Pid>>,
}

impl Default for Roster {
    fn default() -> Roster {
        let mut roster = Roster {
            roles: Vec::new(),
            by_role: FxHashMap::default(),
            processes: Vec::new(),
            paths: Vec::new(),
            children: Vec::new(),
        };
        roster.add(Path::default());
        roster
    }
}

impl Roster {
    fn add(&mut self, path: Path) -> Pid {
        let pid = Pid::new(self.processes.len());
        let actor = self.actor(Role::Process(pid));
        self.processes.push(actor);
        self.paths.push(path);
        self.children.push(Vec::new());
        pid
    }

    /// How many processes there are.
    pub fn processes(&self) -> usize {
        self.processes.len()
    }

    /// How many actors there are.
    pub fn len(&self) -> usize {
        self.roles.len()
    }

    /// There is always the first process.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// What an actor is.
    #[inline]
    pub fn role(&self, actor: Actor) -> Role {
        self.roles[actor.index()]
    }

    /// The actor that a process is.
    #[inline]
    pub fn of(&self, pid: Pid) -> Actor {
        self.processes[pid.index()]
    }

    /// The actor with this role.
    pub fn actor(&mut self, role: Role) -> Actor {
        let next = Actor::new(self.roles.len());
        let actor = *self.by_role.entry(role).or_insert(next);
        if actor == next {
            self.roles.push(role);
        }
        actor
    }

    /// The actor with this role, if it was met.
    pub fn find(&self, role: Role) -> Option<Actor> {
        self.by_role.get(&role).copied()
    }

    /// The n-th child of a process.
    pub fn child(&mut self, parent: Pid, n: u32) -> Pid {
        while self.children[parent.index()].len() <= n as usize {
            let mut path = self.paths[parent.index()].clone();
            path.0.push(self.children[parent.index()].len() as u32);
            let child = self.add(path);
            self.children[parent.index()].push(child);
        }
        self.children[parent.index()][n as usize]
    }

    /// A process by its ancestry.
    pub fn path(&self, pid: Pid) -> &Path {
        &self.paths[pid.index()]
    }

    /// The process with this ancestry.
    pub fn at(&mut self, path: &Path) -> Pid {
        path.0.iter().fold(first_process(), |pid, &n| self.child(pid, n))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_one_number_whoever_asks_first() {
        let mut roster = Roster::default();
        let late = roster.at(&Path(vec![1, 0]));
        let parent = roster.child(first_process(), 1);
        assert_eq!(roster.child(parent, 0), late);
        assert_eq!(Path::parse(&roster.path(late).to_string()), Some(Path(vec![1, 0])));
        assert_eq!(Path::parse("1.2"), None);
    }
}
