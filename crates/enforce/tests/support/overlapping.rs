//! Whether a recorded run whose sections overlap is equivalent to one that follows the schedule: each event comes behind all
//! that stand before it on the path of the sections and that it depends on. Nothing is known here of tails: any event
//! may be late, if only that order is kept.

use selvedge_ir::EntityRef;
use selvedge_schedule::independence::dependent;
use selvedge_schedule::{
    Edge, Precision, ProgramSchedule, PublishedArt, ScheduleNodeId, Section, StepKind, ThreadId, TransitionId,
};

/// A section of which something is still to be done.
struct Open<'a> {
    section: &'a Section,
    edges: Vec<&'a Edge>,
    done: Vec<bool>,
}

/// Where a run is.
pub struct Run<'a> {
    art: &'a PublishedArt,
    schedule: &'a ProgramSchedule,
    /// The oldest first. The last one stays until the next one begins.
    open: Vec<Open<'a>>,
    node: ScheduleNodeId,
    /// How many events came when a section behind theirs had begun.
    pub late: usize,
}

impl<'a> Run<'a> {
    pub fn new(art: &'a PublishedArt, schedule: &'a ProgramSchedule) -> Run<'a> {
        Run { art, schedule, open: Vec::new(), node: ScheduleNodeId::new(0), late: 0 }
    }

    /// A thread makes an event that fits; which one that is.
    pub fn execute(&mut self, thread: ThreadId, fits: impl Fn(TransitionId) -> bool) -> Result<TransitionId, String> {
        loop {
            for at in 0..self.open.len() {
                let events = &self.open[at].section.schedule.events;
                let next = (0..events.len()).find(|&n| events[n].thread == thread && !self.open[at].done[n]);
                if let Some(n) = next {
                    return self.execute_at(at, n, fits);
                }
            }
            self.begin(thread, &fits)?;
        }
    }

    fn execute_at(&mut self, at: usize, n: usize, fits: impl Fn(TransitionId) -> bool) -> Result<TransitionId, String> {
        let edge = self.open[at].edges[n];
        if !fits(edge.transition) {
            return Err(format!("`{}` was expected", self.art.transition(edge.transition).text));
        }
        for (k, open) in self.open[..=at].iter().enumerate() {
            let before = if k == at { n } else { open.edges.len() };
            let missing = (0..before).find(|&m| !open.done[m] && self.depends(open.edges[m], edge));
            if let Some(m) = missing {
                let text = |edge: &Edge| &self.art.transition(edge.transition).text;
                return Err(format!("`{}` comes before `{}`", text(edge), text(open.edges[m])));
            }
        }
        self.late += usize::from(at + 1 < self.open.len());
        self.open[at].done[n] = true;
        let last = self.open.len() - 1;
        if at < last && self.open[at].done.iter().all(|&done| done) {
            self.open.remove(at);
        }
        Ok(edge.transition)
    }

    fn depends(&self, earlier: &Edge, edge: &Edge) -> bool {
        let ends = self.art.transition(edge.transition).steps.iter().any(|step| step.kind == StepKind::Exit);
        let (a, b) = (self.art.accesses(earlier), self.art.accesses(edge));
        ends || self.art.thread_of(earlier) == self.art.thread_of(edge) || dependent(a, b, Precision::Bytes)
    }

    /// The next section begins: all threads with a part in the last one have begun it.
    fn begin(&mut self, thread: ThreadId, fits: &impl Fn(TransitionId) -> bool) -> Result<(), String> {
        if let Some(last) = self.open.last() {
            let events = &last.section.schedule.events;
            if (0..events.len()).any(|n| events[n].k == 0 && !last.done[n]) {
                return Err(format!("{thread} goes on, although the section before has not begun everywhere"));
            }
            self.node = last.section.to;
            if last.done.iter().all(|&done| done) {
                self.open.pop();
            }
        }
        let all: Vec<&'a Section> = self.schedule.nodes[self.node.index()].sections().collect();
        let section = match all[..] {
            [only] => only,
            _ => {
                let first = |section: &&&Section| {
                    let event = &section.schedule.events[0];
                    event.thread == thread && fits(event.transition)
                };
                all.iter().find(first).copied().ok_or_else(|| format!("{thread} has no section there"))?
            }
        };
        let is_event = |edge: &&Edge| section.schedule.events.iter().any(|event| event.transition == edge.transition);
        let edges: Vec<&Edge> = section.path.edges(self.art).filter(is_event).collect();
        self.open.push(Open { section, done: vec![false; edges.len()], edges });
        Ok(())
    }
}
