//! Check_Enabledness and Backtrack (algorithm 2, lines 1-8 and 16-27, of the paper).
//!
//! Deviations:
//!
//! 1. Definition 28 asks that the label of the node *before* the step implies the guard; so that is what is proved, where
//!    line 6 strengthens the label behind it.
//! 2. Backtrack prunes nothing and sets no label to false. A thread that may be disabled is noted as *unsure* at its node,
//!    and a node at which no thread is left leads nowhere: `Remove_Error_Paths` leaves both out of the result. They stay
//!    in the tree because a complete verification has to look behind them.
//! 3. A node at which no thread is surely enabled may be a deadlock; if a feasible path shows one, it is a counterexample.
//!    If none does, its label is strengthened until it says that some thread is enabled: other nodes may be covered by
//!    this one, and a deadlock of theirs would go unnoticed.
//! 4. A thread that is disabled on the path to a node (somebody else holds the mutex) would be expanded to nodes that no
//!    execution comes to. If no execution is known to come to such places, the label is strengthened until it says that
//!    the thread is disabled, and the thread counts as expanded: it has no steps there.

use crate::art::{Finding, NodeId};
use crate::program::{ThreadId, TransitionId};
use crate::refine::Proof;
use crate::term::{Term, Valuation};
use crate::verifier::{Halt, Verifier};
use selvedge_ir::EntityRef;
use std::rc::Rc;

/// What a step of an iteration comes to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// It goes on.
    Goes,
    /// There is no other thread anywhere on the path.
    Stuck,
    /// A deadlock was found at this node, with these inputs.
    Deadlock(NodeId, Valuation),
}

impl Verifier {
    /// Function Check_Enabledness(v): whether the last step to v is possible in all states before it.
    pub(crate) fn check_enabledness(&mut self, v: NodeId) -> Result<Step, Halt> {
        let Some(edge) = self.art.nodes[v].parent else { return Ok(Step::Goes) };
        let (before, thread) = (edge.from, edge.thread);
        let location = self.art.nodes[before].locations[thread.index()];
        // Line 3: if not may-block.
        if self.art.nodes[before].sure.has(thread) || self.art.nodes[before].unsure.has(thread) {
            return Ok(Step::Goes);
        }
        if !self.may_block(location) {
            self.art.nodes[before].sure.add(thread);
            return Ok(Step::Goes);
        }
        // Line 5: if R_1 ∧ ... ∧ R_(n-1) ∧ ¬Guard(R_n) is unsatisfiable.
        let enabled = self.enabled(location);
        match self.prove_at(before, enabled)? {
            Proof::Proved => {
                self.art.nodes[before].sure.add(thread);
                Ok(Step::Goes)
            }
            Proof::Fails(_) => {
                self.art.nodes[before].unsure.add(thread);
                self.backtrack(before)
            }
        }
    }

    /// Whether rewriting shows that a thread is disabled behind the path to a node.
    pub(crate) fn is_disabled_on_path(&mut self, v: NodeId, thread: ThreadId) -> bool {
        let location = self.art.nodes[v].locations[thread.index()];
        if !self.may_block(location) {
            return false;
        }
        let enabled = self.enabled(location);
        let state = Rc::clone(&self.art.nodes[v].state);
        let now = state.apply(&mut self.program.terms, enabled);
        self.program.terms.is_false(now)
    }

    /// Whether φ(v) says, or can be made to say, that a thread is disabled; then it has no steps at v. Another thread
    /// must be known to go on, so that v is no deadlock.
    pub(crate) fn surely_disabled(&mut self, v: NodeId, thread: ThreadId) -> Result<bool, Halt> {
        let data = &self.art.nodes[v];
        if !data.expanded.iter().any(|other| data.sure.has(other)) || !self.is_disabled_on_path(v, thread) {
            return Ok(false);
        }
        let comes_to = |r: &TransitionId| {
            let mut locations = self.art.nodes[v].locations.clone();
            locations[thread.index()] = self.program.transitions[*r].to;
            let there = self.at_locations.get(&locations);
            there.is_some_and(|there| there.iter().any(|&w| !self.art.nodes[w].infeasible))
        };
        if self.transitions(v, thread).iter().any(comes_to) {
            return Ok(false);
        }
        let enabled = self.enabled(self.art.nodes[v].locations[thread.index()]);
        let disabled = self.program.terms.not(enabled);
        match self.prove_at(v, disabled) {
            Ok(Proof::Proved) => {
                self.art.nodes[v].expanded.add(thread);
                self.art.nodes[v].unsure.add(thread);
                Ok(true)
            }
            Ok(Proof::Fails(_)) | Err(Halt::Projection) => Ok(false),
            Err(halt) => Err(halt),
        }
    }

    /// Function Backtrack(v): another thread at v or at the last node before it where there is one.
    pub(crate) fn backtrack(&mut self, v: NodeId) -> Result<Step, Halt> {
        let mut deadlock = None;
        // Lines 18-26: i := n - 1, ..., 0.
        for node in self.art.upwards(v).collect::<Vec<_>>() {
            // Line 20: a thread that is not expanded yet.
            if self.expand(node) {
                return Ok(deadlock.unwrap_or(Step::Goes));
            }
            // Another thread that was expanded before leads on.
            let data = &self.art.nodes[node];
            let others = data.expanded.iter().any(|t| !data.unsure.has(t) && !self.leads_nowhere(node, t));
            if others {
                return Ok(deadlock.unwrap_or(Step::Goes));
            }
            self.abandon(node);
            if deadlock.is_none()
                && let Some(inputs) = self.deadlock_at(node)?
            {
                deadlock = Some(Step::Deadlock(node, inputs));
            }
        }
        Ok(deadlock.unwrap_or(Step::Stuck))
    }

    /// Line 24: φ(v_(i+1)) := false. Nothing is covered by a node that leads nowhere: what has the same locations and a
    /// stronger label may still lead on. If everything is looked at, it may wait until a schedule is wanted.
    pub(crate) fn abandon(&mut self, v: NodeId) {
        self.art.nodes[v].dead_end = true;
        if !self.unfair_coverings {
            self.art.nodes[v].covers.clone().into_iter().for_each(|x| self.uncover(x));
        }
    }

    /// Whether some child by a thread is a dead end.
    fn leads_nowhere(&self, v: NodeId, thread: ThreadId) -> bool {
        self.art.by(v, thread).any(|child| {
            let data = &self.art.nodes[child];
            data.finding.is_some() || (data.dead_end && !self.is_false(child))
        })
    }

    /// Whether every thread has ended, was not created, or waits for the end of another.
    pub(crate) fn nobody_is_active(&self, v: NodeId) -> bool {
        !self.program.threads.keys().any(|t| self.is_active(v, t))
    }

    /// Inputs for which no thread can go on at a node, if there are any; notes it.
    pub(crate) fn deadlock_at(&mut self, v: NodeId) -> Result<Option<Valuation>, Halt> {
        if self.art.nodes[v].finding.is_some() || self.is_terminal(v) || self.is_false(v) {
            return Ok(None);
        }
        let threads: Vec<ThreadId> = self.program.threads.keys().filter(|&t| self.is_active(v, t)).collect();
        let enabled: Vec<Term> = threads.iter().map(|t| self.enabled(self.art.nodes[v].locations[t.index()])).collect();
        let somebody = self.program.terms.any(&enabled);
        match self.prove_at(v, somebody)? {
            Proof::Proved => Ok(None),
            Proof::Fails(valuation) => {
                self.art.nodes[v].finding = Some(Finding::Deadlock);
                self.abandon(v);
                Ok(Some(valuation))
            }
        }
    }
}
