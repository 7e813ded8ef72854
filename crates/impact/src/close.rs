//! Close (algorithm 2, lines 9-15, of the paper): covering, with forced covering and the fairness condition.
//!
//! Deviations:
//!
//! 1. A covering that does not hold as the labels are is tried to be *forced*: what the label of the covering node says is
//!    proved along the path from the nearest common ancestor, and the labels on the way are strengthened.
//! 2. Line 14 speaks of threads that are expanded at v; v is mostly looked at before anything is. A thread that would be
//!    expanded at v and is skipped at w is added to I, at w, where it must not be skipped.
//! 3. A node whose path is not feasible covers no other one whose path is: it would lead the exploration astray. It is itself
//!    looked at when everything else is done, and may then be covered by nodes that were made later.
//! 4. A loop of one thread alone is unfair, and without coverings it is unwound without end. When everything is to be looked
//!    at and a safe schedule is there already, such a covering is added all the same, as *unfair*: what can go wrong
//!    behind v can go wrong behind w. No schedule goes over it.
//! 5. Instead of all simple cycles, strongly connected parts without the edges of one thread are looked at, for each
//!    thread: an infinite execution that stays in such a part never schedules that thread (`fairness.rs`).

use crate::art::NodeId;
use crate::interpolant::Interpolant;
use crate::program::ThreadId;
use crate::refine::without_first;
use crate::term::Term;
use crate::verifier::{Halt, Verifier};

/// How many nodes a covering is tried to be forced by.
const FORCED: usize = 6;

impl Verifier {
    /// Function Close(v).
    pub(crate) fn close(&mut self, v: NodeId) -> Result<bool, Halt> {
        let candidates = self.candidates(v);
        let mut unfair = Vec::new();
        // Line 11: φ(v) ⇒ φ(w), as the labels are, and fairness.
        for &w in &candidates {
            if !self.label_implied(v, w) {
                continue;
            }
            if self.covering_is_fair(v, w) {
                self.cover(v, w, false);
                return Ok(true);
            }
            unfair.push(w);
        }
        for &w in candidates.iter().take(FORCED) {
            if !self.covering_is_fair(v, w) {
                unfair.push(w);
            } else if self.force(v, w)? {
                self.cover(v, w, false);
                return Ok(true);
            }
        }
        if self.unfair_coverings {
            for w in unfair {
                if self.label_implied(v, w) || self.force(v, w)? {
                    self.cover(v, w, true);
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Line 10: all uncovered nodes that were made before v, with l(w) = l(v); ancestors first, the nearest first.
    fn candidates(&self, v: NodeId) -> Vec<NodeId> {
        let same = &self.at_locations[&self.art.nodes[v].locations];
        let usable = |&&w: &&NodeId| {
            let data = &self.art.nodes[w];
            let fits = if data.infeasible { w < v && self.art.nodes[v].infeasible } else { w != v };
            let goes_on = data.finding.is_none() && (!data.dead_end || self.unfair_coverings);
            fits && goes_on && !self.is_false(w) && !self.art.is_hidden(w) && self.art.meet(v, w) != v
        };
        let mut found: Vec<NodeId> = same.iter().filter(usable).copied().collect();
        let is_ancestor = |w: NodeId| self.art.meet(v, w) == w;
        found.sort_by_key(|&w| (!is_ancestor(w), std::cmp::Reverse(w)));
        found
    }

    /// Whether the label of v has every conjunct of that of w.
    fn label_implied(&self, v: NodeId, w: NodeId) -> bool {
        self.art.nodes[w].label.is_subset(&self.art.nodes[v].label)
    }

    /// Proves φ(w) at v, if that is possible.
    fn force(&mut self, v: NodeId, w: NodeId) -> Result<bool, Halt> {
        let start = self.art.meet(v, w);
        let path = self.path_from(start, v);
        let goals: Vec<Term> = self.art.nodes[w].label.iter().copied().collect();
        let mut proofs: Vec<Interpolant> = Vec::new();
        for goal in goals {
            if self.implies(v, goal)? {
                continue;
            }
            match self.interpolate(&path, goal) {
                Ok(Some(proof)) => proofs.push(without_first(proof)),
                // Without this covering there is still another way.
                Ok(None) | Err(Halt::Projection) => return Ok(false),
                Err(halt) => return Err(halt),
            }
        }
        for proof in &proofs {
            self.strengthen(&path, proof)?;
        }
        Ok(true)
    }

    /// Lines 12-15: v ▷ w.
    fn cover(&mut self, v: NodeId, w: NodeId, unfairly: bool) {
        self.art.nodes[v].covered_by = Some(w);
        self.art.nodes[v].unfairly = unfairly;
        self.art.nodes[w].covers.push(v);
        // Line 13: what v or a node below it covered is no longer covered.
        for y in self.art.subtree(v) {
            for x in self.art.nodes[y].covers.clone() {
                self.uncover(x);
            }
        }
        // Lines 14-15.
        let threads: Vec<ThreadId> = self.program.threads.keys().collect();
        for thread in threads {
            if self.is_active(w, thread) && self.skip(w, thread) && !self.skip(v, thread) {
                self.not_skipped.insert((w, thread));
            }
        }
    }
}
