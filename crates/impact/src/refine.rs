//! Refine (algorithm 5 of the paper): what a label has to say so that an error is not reached.
//!
//! Deviations:
//!
//! 1. Only the part of the path whose labels do not say it yet is changed: going back from the error, a label that
//!    implies the interpolant ends the change, since everything before leads there anyway.
//! 2. A node that is covered stays so if its label still implies that of the covering node; the paper uncovers all.
//! 3. The nodes on the path are not closed again one by one; those that lose their cover go back to the work list.

use crate::art::NodeId;
use crate::interpolant::{Interpolant, PathFormula};
use crate::solver::Answer;
use crate::term::{Term, Valuation};
use crate::verifier::{Halt, Verifier};
use std::rc::Rc;

/// What became of an attempt to prove something at a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Proof {
    /// The labels say it now.
    Proved,
    /// It does not hold, for instance for these inputs.
    Fails(Valuation),
}

impl Verifier {
    /// Function Refine(v).
    pub(crate) fn refine(&mut self, v: NodeId) -> Result<Proof, Halt> {
        // Alg. 5: if l(v) is not the error location or φ(v) is false, return.
        if !self.is_error(v) || self.is_false(v) {
            return Ok(Proof::Proved);
        }
        let never = self.program.terms.bool(false);
        self.prove_at(v, never)
    }

    /// Strengthens the labels along the path to a node until that of the node implies a goal.
    pub(crate) fn prove_at(&mut self, v: NodeId, goal: Term) -> Result<Proof, Halt> {
        // Alg. 5: if the path formula has an interpolant A_0, ..., A_n.
        let whole = self.path_from_root(v);
        if let Some(valuation) = self.holds_behind_root(&whole, goal)? {
            return Ok(Proof::Fails(valuation));
        }
        if let Some((path, interpolant)) = self.shortest_reason(v, goal)? {
            self.strengthen(&path, &interpolant)?;
        } else if let Some(interpolant) = self.interpolate(&whole, goal)? {
            self.strengthen(&whole, &interpolant)?;
        } else {
            return Err(Halt::Solver);
        }
        Ok(Proof::Proved)
    }

    /// The last part of the path that is reason enough, given only the label of the node where it starts. If a part is,
    /// then so is every longer one, since labels are preserved along the path.
    fn shortest_reason(&mut self, v: NodeId, goal: Term) -> Result<Option<(PathFormula, Interpolant)>, Halt> {
        let nodes = self.art.path(v);
        let (mut fails, mut best) = (nodes.len(), None);
        // Steps of doubling length backwards, then halving.
        let (mut low, mut step) = (nodes.len() - 1, 1);
        loop {
            match self.reason_from(nodes[low], v, goal)? {
                Some(found) => {
                    best = Some((low, found));
                    break;
                }
                None if low == 0 => break,
                None => {
                    fails = low;
                    low = low.saturating_sub(step);
                    step *= 2;
                }
            }
        }
        let Some((mut holds, mut found)) = best else { return Ok(None) };
        while fails > holds + 1 {
            let middle = (holds + fails) / 2;
            match self.reason_from(nodes[middle], v, goal)? {
                Some(better) => (holds, found) = (middle, better),
                None => fails = middle,
            }
        }
        Ok(Some(found))
    }

    fn reason_from(
        &mut self,
        start: NodeId,
        v: NodeId,
        goal: Term,
    ) -> Result<Option<(PathFormula, Interpolant)>, Halt> {
        let path = self.path_from(start, v);
        match self.interpolate(&path, goal) {
            Ok(Some(interpolant)) => Ok(Some((path, without_first(interpolant)))),
            Ok(None) | Err(Halt::Projection) => Ok(None),
            Err(halt) => Err(halt),
        }
    }

    /// Alg. 5: for i = 0 ... n: φ(v_i) := φ(v_i) ∧ A_i, from the last to the first.
    pub(crate) fn strengthen(&mut self, path: &PathFormula, interpolant: &Interpolant) -> Result<(), Halt> {
        for (k, &formula) in interpolant.formulas.iter().enumerate().rev() {
            let node = path.nodes[interpolant.from + k];
            // Alg. 5: if φ(v_i) does not imply A_i.
            if self.implies(node, formula)? {
                return Ok(());
            }
            self.add_to_label(node, formula)?;
        }
        Ok(())
    }

    /// Whether φ(v) implies a formula.
    pub(crate) fn implies(&mut self, v: NodeId, formula: Term) -> Result<bool, Halt> {
        let label = &self.art.nodes[v].label;
        if label.contains(&formula) || self.program.terms.is_true(formula) || self.is_false(v) {
            return Ok(true);
        }
        let mut conjuncts = vec![self.program.terms.not(formula)];
        if self.art.nodes[v].label.is_empty() {
            return Ok(self.program.terms.is_false(conjuncts[0]));
        }
        conjuncts.extend(self.art.nodes[v].label.iter());
        Ok(matches!(self.ask(&conjuncts)?, Answer::Unsat(_)))
    }

    /// φ(v) := φ(v) ∧ formula; nodes that v covers no longer are uncovered and looked at again.
    pub(crate) fn add_to_label(&mut self, v: NodeId, formula: Term) -> Result<(), Halt> {
        let label = Rc::make_mut(&mut self.art.nodes[v].label);
        if self.program.terms.is_false(formula) {
            label.clear();
        }
        label.insert(formula);
        if self.art.nodes[v].covers.is_empty() {
            return Ok(());
        }
        for w in self.art.nodes[v].covers.clone() {
            if !self.implies(w, formula)? {
                // Alg. 5: W := W ∪ {w : w ▷ v_i}; ▷ := ▷ \ {(w, v_i)}.
                self.uncover(w);
            }
        }
        Ok(())
    }

    /// Takes a covering edge away; the node is looked at again.
    pub(crate) fn uncover(&mut self, w: NodeId) {
        if let Some(by) = self.art.nodes[w].covered_by.take() {
            self.art.nodes[by].covers.retain(|&x| x != w);
            self.art.nodes[w].unfairly = false;
            self.work.push(w);
            self.reveal(w);
        }
    }

    /// What is below a node that is covered no longer counts again. The coverings there were added before those that were
    /// added while they did not count, and fairness was asked for without them; so it is asked for anew.
    fn reveal(&mut self, w: NodeId) {
        let below = self.art.subtree(w);
        let fair: Vec<(NodeId, NodeId)> = below
            .into_iter()
            .filter(|&x| !self.art.nodes[x].unfairly)
            .filter_map(|x| Some((x, self.art.nodes[x].covered_by?)))
            .collect();
        for &(x, _) in &fair {
            self.art.nodes[x].unfairly = true;
        }
        for (x, by) in fair {
            if self.covering_is_fair(x, by) {
                self.art.nodes[x].unfairly = false;
            } else {
                self.uncover(x);
            }
        }
    }
}

/// The label of the first node implies what is needed of it.
pub(crate) fn without_first(interpolant: Interpolant) -> Interpolant {
    let skip = usize::from(interpolant.from == 0).min(interpolant.formulas.len());
    Interpolant { from: interpolant.from + skip, formulas: interpolant.formulas[skip..].to_vec() }
}
