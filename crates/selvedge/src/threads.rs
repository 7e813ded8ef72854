//! The numbers and names of threads.
//!
//! A thread is known by its path: which child it is of which thread. It keeps its number over all executions.

use crate::text::Text;
use selvedge_ir::EntityRef;
use selvedge_machine::{ThreadId, main_thread};

/// All threads that have been met.
pub(crate) struct Threads {
    paths: Vec<Vec<u32>>,
    children: Vec<Vec<ThreadId>>,
    names: Vec<Option<String>>,
}

impl Threads {
    /// The main thread alone.
    pub fn new() -> Threads {
        Threads { paths: vec![Vec::new()], children: vec![Vec::new()], names: vec![Some("main".to_owned())] }
    }

    /// Another model starts: the main thread alone.
    pub fn new_model(&mut self) {
        self.paths.truncate(1);
        self.children.truncate(1);
        self.children[0].clear();
        self.names.truncate(1);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.paths.len()
    }

    /// A thread's path.
    pub fn path(&self, thread: ThreadId) -> &[u32] {
        &self.paths[thread.index()]
    }

    /// The thread with this path.
    pub fn at(&mut self, path: &[u32]) -> ThreadId {
        // It is asked for once per thread, and there are few.
        if let Some(known) = self.paths.iter().position(|known| known == path) {
            return ThreadId::new(known);
        }
        let thread = ThreadId::new(self.paths.len());
        self.paths.push(path.to_vec());
        self.children.push(Vec::new());
        self.names.push(None);
        thread
    }

    /// The n-th child of a thread.
    pub fn child(&mut self, parent: ThreadId, n: u32) -> ThreadId {
        while self.children[parent.index()].len() <= n as usize {
            let mut path = self.paths[parent.index()].clone();
            path.push(self.children[parent.index()].len() as u32);
            let child = self.at(&path);
            self.children[parent.index()].push(child);
        }
        self.children[parent.index()][n as usize]
    }

    /// Names a thread.
    pub fn set_name(&mut self, thread: ThreadId, name: &str) {
        if self.names[thread.index()].as_deref() != Some(name) {
            self.names[thread.index()] = Some(name.to_owned());
        }
    }

    /// The name that a thread was given. The main thread has one for people only: as in loom, nobody has given it any.
    pub fn given_name(&self, thread: ThreadId) -> Option<String> {
        self.names[thread.index()].clone().filter(|_| thread != main_thread())
    }

    /// A thread's name for people.
    pub fn name(&self, thread: ThreadId) -> String {
        let mut name = String::new();
        self.add_name(thread, &mut name);
        name
    }

    /// Adds it to a text.
    pub fn add_name(&self, thread: ThreadId, text: &mut String) {
        match self.names.get(thread.index()) {
            Some(Some(name)) => text.push_str(name),
            _ => {
                text.add("thread ").number(thread.index() as u64);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_one_number_whoever_asks_first() {
        let mut threads = Threads::new();
        let late = threads.at(&[1]);
        assert_eq!(threads.child(main_thread(), 1), late);
        let first = threads.at(&[0]);
        assert_eq!(threads.child(main_thread(), 0), first);
        assert_eq!(threads.path(first), [0]);
        assert_eq!(threads.len(), 3);
    }
}
