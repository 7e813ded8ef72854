//! Iterative Impact for concurrent programs (algorithm 1 of the paper): Main, Iteration, New_Schedule_Start.
//!
//! Each iteration explores one more schedule. It ends with a safe result (a part of the tree under which every execution,
//! for every input, is safe, free of deadlocks and fair), or with a counterexample. When nothing is left to be explored,
//! the program is safe, partially safe or unsafe.
//!
//! Deviations:
//!
//! 1. An iteration that was cut short by a counterexample leaves nodes unexplored; the next one starts with them.
//! 2. Enabledness is checked before a covering is looked for: definition 28 asks for it behind covered nodes as well.
//! 3. With unfair coverings (`close.rs`), that no schedule is left does not mean that there is none; nor with coverings by
//!    nodes that lead nowhere. They are then taken back, and the search goes on. In the end nothing is skipped any more:
//!    partial-order reduction keeps one order of independent steps, but a scheduler may want another after it has seen
//!    an input.
//! 4. When every schedule is known to go wrong, no further ones are looked at: in a loop there might be no end of them.
//! 5. A result is yielded only if it permits more than the one before.
//! 6. When everything is to be looked at, an iteration takes up more than one choice once the tree is large: looking
//!    for the next choice takes as long as the tree is large.
//! 7. A thread that is disabled on the path to a node is not expanded there if the label can say so (`enabledness.rs`).

use crate::art::{Finding, NodeId};
use crate::enabledness::Step;
use crate::program::{ErrorData, ThreadId};
use crate::refine::Proof;
use crate::remove_error_paths::Ivr;
use crate::term::Valuation;
use crate::verifier::{Halt, Verifier};

/// When everything is to be looked at, one choice is taken up at once for so many nodes of the tree.
const CHOICES: usize = 16;
/// So many nodes that no feasible path leads to are explored like others, and two more for each one that a path leads to.
const IN_VAIN: usize = 64;

/// What the verifier says at the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Every execution is safe, under every scheduler.
    Safe,
    /// There are unsafe executions, and a scheduler that avoids them.
    PartiallySafe,
    /// No scheduler avoids all unsafe executions.
    Unsafe,
}

/// A path that goes wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counterexample {
    /// The node at its end.
    pub node: NodeId,
    /// What is wrong; none if it is a deadlock.
    pub error: Option<ErrorData>,
    /// Inputs that lead there.
    pub inputs: Valuation,
}

/// What the verifier yields, one after the other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Yield {
    /// A safe result that permits more than the last one.
    Safe(Ivr),
    /// A counterexample.
    Unsafe(Counterexample),
    /// Nothing is left.
    Done(Verdict),
}

/// How an iteration ends.
enum Status {
    NoProgress,
    Progress,
    Counterexample(Counterexample),
}

impl Verifier {
    /// Function Main, up to the next thing that is yielded. `last` is the last safe result.
    /// If everything is to be looked at (`complete`), loops of one thread alone are not unwound any more once there is a
    /// safe result.
    pub fn next(&mut self, last: Option<&Ivr>, complete: bool) -> Result<Yield, Halt> {
        self.unfair_coverings = complete && last.is_some();
        loop {
            if last.is_none() && self.is_lost() {
                return Ok(Yield::Done(Verdict::Unsafe));
            }
            // Alg. 1, l. 3.
            match self.iteration()? {
                // Lines 4-5 and 11-16.
                Status::NoProgress => match self.verdict(last.is_some()) {
                    None | Some(Verdict::Unsafe) if self.take_back_coverings() => self.unfair_coverings = false,
                    None | Some(Verdict::Unsafe) if self.skipping => self.skipping = false,
                    Some(verdict) => return Ok(Yield::Done(verdict)),
                    None => return Err(Halt::Stuck),
                },
                // Lines 6-7.
                Status::Counterexample(counterexample) => return Ok(Yield::Unsafe(counterexample)),
                // Lines 8-10.
                Status::Progress => {
                    if let Some(ivr) = self.remove_error_paths()
                        && last.is_none_or(|last| permits_more(&ivr, last))
                    {
                        return Ok(Yield::Safe(ivr));
                    }
                }
            }
        }
    }

    /// Whether something goes wrong under every schedule, whatever is found out later.
    fn is_lost(&self) -> bool {
        self.something_is_wrong() && self.doomed()[self.art.root()]
    }

    fn something_is_wrong(&self) -> bool {
        self.art.nodes.values().any(|node| node.finding.is_some())
    }

    /// Takes back coverings that no schedule goes over. Whether there were any.
    fn take_back_coverings(&mut self) -> bool {
        let doomed = self.doomed();
        doomed.iter().filter(|&(_, &doomed)| doomed).for_each(|(v, _)| self.art.nodes[v].dead_end = true);
        let useless = |&v: &NodeId| {
            let data = &self.art.nodes[v];
            data.covered_by.is_some_and(|by| data.unfairly || doomed[by])
        };
        let useless: Vec<NodeId> = self.art.nodes.keys().filter(useless).collect();
        useless.iter().for_each(|&v| self.uncover(v));
        !useless.is_empty()
    }

    /// Lines 11-16. None if nothing is left of the tree although nothing goes wrong: where an assumption never holds,
    /// threads wait forever, and `check` does not call that an error. It is not to be called unsafe, then, nor safe.
    fn verdict(&self, has_schedule: bool) -> Option<Verdict> {
        match (self.something_is_wrong(), has_schedule || self.remove_error_paths().is_some()) {
            (false, true) => Some(Verdict::Safe),
            (true, true) => Some(Verdict::PartiallySafe),
            (true, false) => Some(Verdict::Unsafe),
            (false, false) => None,
        }
    }

    /// Function Iteration.
    fn iteration(&mut self) -> Result<Status, Halt> {
        // Line 18.
        self.new_schedule_start()?;
        if self.work.is_empty() {
            return Ok(Status::NoProgress);
        }
        // Lines 21-30.
        while let Some(v) = self.next_work() {
            self.poll()?;
            if self.is_done(v) {
                continue;
            }
            match self.check_enabledness(v)? {
                Step::Goes => {}
                Step::Stuck => continue,
                Step::Deadlock(node, inputs) => {
                    return Ok(Status::Counterexample(Counterexample { node, error: None, inputs }));
                }
            }
            if self.is_behind_unsure(v) {
                // Another schedule was taken up; this one is looked at later.
                continue;
            }
            if !self.is_error(v) && self.close(v)? {
                continue;
            }
            if let Proof::Fails(inputs) = self.refine(v)? {
                self.art.nodes[v].finding = Some(Finding::Error);
                return Ok(Status::Counterexample(self.error_at(v, inputs)));
            }
            if self.is_false(v) || self.is_terminal(v) || !self.art.nodes[v].expanded.is_empty() {
                continue;
            }
            if self.art.nodes[v].infeasible && !self.may_be_unwound(v)? {
                continue;
            }
            if !self.expand(v)
                && let Some(inputs) = self.deadlock_at(v)?
            {
                return Ok(Status::Counterexample(Counterexample { node: v, error: None, inputs }));
            }
        }
        Ok(Status::Progress)
    }

    /// Line 22: select and remove v from W. What no feasible path leads to comes last.
    fn next_work(&mut self) -> Option<NodeId> {
        while let Some(v) = self.work.pop() {
            if !self.art.nodes[v].infeasible {
                return Some(v);
            }
            self.infeasible_work.push(v);
        }
        self.infeasible_work.pop()
    }

    /// Whether a node that no feasible path leads to is to be explored like others. That often needs weaker labels than
    /// proving at once that it is not reached: in a loop that counts, `count > 3` would be said where `count >= 0` will
    /// do, and every round would be another. But it must not go on for ever.
    fn may_be_unwound(&mut self, v: NodeId) -> Result<bool, Halt> {
        self.unwound_in_vain += 1;
        if self.unwound_in_vain <= IN_VAIN + 2 * self.feasible {
            return Ok(true);
        }
        let never = self.program.terms.bool(false);
        let proof = self.prove_at(v, never)?;
        debug_assert_eq!(proof, Proof::Proved, "rewriting has shown that the path is not feasible");
        Ok(false)
    }

    /// Whether nothing is to be done at a node.
    fn is_done(&self, v: NodeId) -> bool {
        self.is_false(v) || self.art.nodes[v].finding.is_some() || self.art.is_hidden(v)
    }

    /// Whether the step to a node may be disabled, and this has come up just now.
    fn is_behind_unsure(&self, v: NodeId) -> bool {
        let edge = self.art.nodes[v].parent;
        edge.is_some_and(|edge| self.art.nodes[edge.from].unsure.has(edge.thread) && self.work_is_elsewhere(v))
    }

    fn work_is_elsewhere(&self, v: NodeId) -> bool {
        !self.late.contains(&v)
    }

    fn error_at(&self, node: NodeId, inputs: Valuation) -> Counterexample {
        let edge = self.art.nodes[node].parent.expect("the root is no error");
        let error = self.program.transitions[edge.transition].error.clone();
        Counterexample { node, error, inputs }
    }

    /// Function New_Schedule_Start: what was left over, or the first node in breadth-first order that is not fully expanded.
    fn new_schedule_start(&mut self) -> Result<(), Halt> {
        self.work.clear();
        self.infeasible_work.clear();
        let hidden = self.art.hidden();
        debug_assert!(hidden.iter().all(|(v, &hidden)| hidden == self.art.is_hidden(v)), "parents come first");
        let is_done = |v: NodeId| self.is_false(v) || self.art.nodes[v].finding.is_some() || hidden[v];
        let is_open = |&v: &NodeId| !is_done(v) && (self.is_error(v) || !self.is_terminal(v));
        let mut order: Vec<NodeId> = self.art.nodes.keys().filter(is_open).collect();
        order.sort_by_key(|&v| (self.art.nodes[v].depth, v));
        let is_left =
            |v: &NodeId| self.art.nodes[*v].expanded.is_empty() && (self.is_error(*v) || !self.nobody_is_active(*v));
        let left: Vec<NodeId> = order.iter().copied().filter(is_left).collect();
        if !left.is_empty() {
            self.late.extend(&left);
            self.work = left;
            self.work.reverse();
            return Ok(());
        }
        let most = self.choices();
        let mut chosen: Vec<(NodeId, ThreadId)> = Vec::new();
        'nodes: for v in order {
            let threads: Vec<ThreadId> = self.program.threads.keys().collect();
            for thread in threads {
                let open = self.is_active(v, thread) && !self.art.nodes[v].expanded.has(thread);
                if !open || self.skip(v, thread) || self.surely_disabled(v, thread)? {
                    continue;
                }
                chosen.push((v, thread));
                if chosen.len() >= most {
                    break 'nodes;
                }
            }
        }
        // The work list is taken from its end.
        chosen.into_iter().rev().for_each(|(v, thread)| self.expand_thread(thread, v));
        Ok(())
    }

    /// How many choices an iteration takes up.
    fn choices(&self) -> usize {
        if self.unfair_coverings { (self.art.nodes.len() / CHOICES).max(1) } else { 1 }
    }
}

/// Whether a result permits a step that another one does not.
fn permits_more(ivr: &Ivr, last: &Ivr) -> bool {
    ivr.permitted.iter().any(|(node, threads)| {
        let before = last.permitted.get(node).copied().unwrap_or_default();
        threads.iter().any(|thread| !before.has(thread))
    })
}
