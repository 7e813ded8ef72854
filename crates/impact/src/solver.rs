//! Whether formulas can hold together, and which of them contradict each other.
//!
//! The solver in this process ([`Embedded`]) needs no other program: what neither rewriting nor a look at the ranges of
//! variables (`ranges.rs`) decides is taken apart into bits and given to a SAT solver, with one assumption per formula, so that a contradiction names the formulas that it
//! needs. An array is read at few places; that equal indices give equal elements is said for each pair of them
//! (Ackermann), whatever the size of the array. [`Z3`] asks another program, for a second opinion.

mod blast;
mod ranges;
mod z3;

pub use z3::Z3;

use crate::term::{Node, Term, Terms, Valuation};
use batsat::{Callbacks, Lit, Solver as Sat, SolverInterface, SolverOpts, lbool};
use blast::Blaster;
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What a solver says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// They can hold together, for instance so.
    Sat(Valuation),
    /// Those at these positions contradict each other; none of them can be left out, if the solver had the time to try.
    Unsat(Vec<usize>),
    /// It was not found out in time.
    Unknown,
}

/// Something that decides formulas.
pub trait Solver {
    /// Whether all conjuncts can hold together.
    fn check(&mut self, terms: &mut Terms, conjuncts: &[Term]) -> Answer;

    /// Counts of what was asked.
    fn statistics(&self) -> Statistics;
}

/// How many questions were asked, and how they were answered.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Statistics {
    /// All.
    pub queries: u64,
    /// Decided by rewriting alone.
    pub rewritten: u64,
    /// Decided by trying a number of each range of their variables.
    pub ranged: u64,
    /// Time for the others.
    pub time: Duration,
}

/// The solver in this process.
#[derive(Debug)]
pub struct Embedded {
    /// How long one question may take.
    pub limit: Duration,
    /// Becomes true when nobody waits for an answer any more.
    pub interrupt: Option<Arc<AtomicBool>>,
    statistics: Statistics,
}

impl Embedded {
    /// A solver that gives up after a while, or when it is interrupted.
    pub fn new(limit: Duration, interrupt: Option<Arc<AtomicBool>>) -> Embedded {
        Embedded { limit, interrupt, statistics: Statistics::default() }
    }
}

impl Solver for Embedded {
    fn check(&mut self, terms: &mut Terms, conjuncts: &[Term]) -> Answer {
        self.statistics.queries += 1;
        if let Some(core) = contradiction(terms, conjuncts) {
            self.statistics.rewritten += 1;
            return Answer::Unsat(core);
        }
        let open: Vec<usize> = (0..conjuncts.len()).filter(|&n| !terms.is_true(conjuncts[n])).collect();
        if open.is_empty() {
            self.statistics.rewritten += 1;
            return Answer::Sat(Valuation::default());
        }
        if let Some(answer) = ranges::decide(terms, conjuncts, &open) {
            self.statistics.ranged += 1;
            return answer;
        }
        let start = Instant::now();
        let until = Until { deadline: start + self.limit, interrupt: self.interrupt.clone() };
        let answer = solve(terms, conjuncts, &open, until);
        self.statistics.time += start.elapsed();
        answer
    }

    fn statistics(&self) -> Statistics {
        self.statistics
    }
}

/// A conjunct that is false, or two that contradict each other on sight.
fn contradiction(terms: &Terms, conjuncts: &[Term]) -> Option<Vec<usize>> {
    let mut seen: FxHashMap<Term, usize> = FxHashMap::default();
    for (n, &term) in conjuncts.iter().enumerate() {
        if terms.is_false(term) {
            return Some(vec![n]);
        }
        seen.entry(term).or_insert(n);
    }
    for (n, &term) in conjuncts.iter().enumerate() {
        if let Node::Not(inner) = *terms.node(term)
            && let Some(&other) = seen.get(&inner)
        {
            return Some(vec![other.min(n), other.max(n)]);
        }
    }
    None
}

/// When the SAT solver has to stop.
struct Until {
    deadline: Instant,
    interrupt: Option<Arc<AtomicBool>>,
}

impl Callbacks for Until {
    fn stop(&self) -> bool {
        self.interrupt.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) || Instant::now() >= self.deadline
    }
}

/// Bits, clauses, and a core that was tried to be made smaller.
fn solve(terms: &Terms, conjuncts: &[Term], open: &[usize], until: Until) -> Answer {
    let mut blaster = Blaster::new(Sat::new(SolverOpts::default(), until));
    let assumptions: Vec<Lit> = open.iter().map(|&n| blaster.literal(terms, conjuncts[n])).collect();
    blaster.relate_elements();
    let result = blaster.sat.solve_limited(&assumptions);
    if result == lbool::TRUE {
        return Answer::Sat(blaster.valuation());
    }
    if result != lbool::FALSE {
        return Answer::Unknown;
    }
    // The assumptions that were refuted, by position; several conjuncts may have one literal.
    let core = refuted(&blaster, &assumptions);
    Answer::Unsat(minimised(&mut blaster, &assumptions, core).into_iter().map(|n| open[n]).collect())
}

fn refuted(blaster: &Blaster<Until>, assumptions: &[Lit]) -> Vec<usize> {
    let mut taken: Vec<Lit> = Vec::new();
    let mut core = Vec::new();
    for (n, &lit) in assumptions.iter().enumerate() {
        let in_core = blaster.sat.unsat_core_contains_lit(!lit) || blaster.sat.unsat_core_contains_lit(lit);
        if in_core && !taken.contains(&lit) {
            taken.push(lit);
            core.push(n);
        }
    }
    core
}

/// Leaves out one assumption after the other, as long as the rest is still contradictory.
fn minimised(blaster: &mut Blaster<Until>, assumptions: &[Lit], mut core: Vec<usize>) -> Vec<usize> {
    let mut n = 0;
    while n < core.len() && core.len() > 1 {
        let rest: Vec<Lit> = core.iter().filter(|&&m| m != core[n]).map(|&m| assumptions[m]).collect();
        if blaster.sat.solve_limited(&rest) == lbool::FALSE {
            core.remove(n);
        } else {
            n += 1;
        }
    }
    core
}

#[cfg(test)]
mod tests {
    use super::*;

    fn solver() -> Embedded {
        Embedded::new(Duration::from_secs(10), None)
    }

    #[test]
    fn a_core_names_what_contradicts() {
        let mut t = Terms::default();
        let (x, y) = (t.symbol("x", 32, false, false), t.symbol("y", 32, false, false));
        let (x, y) = (t.var(x), t.var(y));
        let (five, nine) = (t.number(5, 32), t.number(9, 32));
        let unrelated = t.slt(y, nine);
        let below = t.slt(x, five);
        let above = t.slt(nine, x);
        assert_eq!(solver().check(&mut t, &[unrelated, below, above]), Answer::Unsat(vec![1, 2]));
        assert!(matches!(solver().check(&mut t, &[unrelated, below]), Answer::Sat(_)));
    }

    #[test]
    fn elements_at_equal_indices_are_equal() {
        use crate::term::State;
        let mut t = Terms::default();
        let a = t.symbol("a", 32, true, false);
        let (i, j) = (t.symbol("i", 64, false, false), t.symbol("j", 64, false, false));
        let (i, j) = (t.var(i), t.var(j));
        let array = State::default().array(a);
        let (at_i, at_j) = (t.read(&array, i), t.read(&array, j));
        let (same, differ) = (t.eq(i, j), t.ne(at_i, at_j));
        assert_eq!(solver().check(&mut t, &[same, differ]), Answer::Unsat(vec![0, 1]));
        let Answer::Sat(valuation) = solver().check(&mut t, &[differ]) else { panic!("elsewhere they may differ") };
        assert_eq!(valuation.eval(&t, differ), 1, "the valuation says so");
    }
}
