//! Formulas whose variables are only compared with numbers: one number of each range stands for all.
//!
//! Most of what labels say is `count < 6` or `mutex == 0`, and most questions are about a few of them. A comparison of
//! `x + c` with a number changes its value at two places of the circle of all numbers; between two neighbouring places
//! of all comparisons, every number does the same. So the first number behind each place is tried, variable by variable.
//! Variables that no conjunct has together are looked at by themselves. What is not of this form, or would take many
//! attempts, is left to the SAT solver.

use super::Answer;
use crate::term::{Node, Op, Symbol, Term, Terms, Valuation, mask, signed};
use rustc_hash::{FxHashMap, FxHashSet};

/// The most parts of all conjuncts together.
const PARTS: usize = 300;
/// The most attempts.
const ATTEMPTS: u32 = 3_000;

/// Whether conjuncts can hold together, if they are of this form. `open` are the positions of those that count.
pub(super) fn decide(terms: &Terms, conjuncts: &[Term], open: &[usize]) -> Option<Answer> {
    let formulas: Vec<Term> = open.iter().map(|&n| conjuncts[n]).collect();
    let mut ranges = Ranges::of(terms, &formulas)?;
    let mut valuation = Valuation::default();
    for part in ranges.parts() {
        if !ranges.can_hold(&part)? {
            let core = ranges.core(part)?;
            return Some(Answer::Unsat(core.into_iter().map(|n| open[n]).collect()));
        }
        valuation.values.extend(ranges.values.drain());
    }
    Some(Answer::Sat(valuation))
}

struct Ranges<'a> {
    terms: &'a Terms,
    formulas: &'a [Term],
    /// The variables of each formula.
    variables: Vec<Vec<Symbol>>,
    /// The first number of each range of a variable.
    firsts: FxHashMap<Symbol, Vec<u64>>,
    /// What is tried.
    values: FxHashMap<Symbol, u64>,
    attempts: u32,
}

impl<'a> Ranges<'a> {
    fn of(terms: &'a Terms, formulas: &'a [Term]) -> Option<Ranges<'a>> {
        let mut firsts: FxHashMap<Symbol, Vec<u64>> = FxHashMap::default();
        let mut variables = Vec::new();
        let mut parts = 0;
        for &formula in formulas {
            let mut seen = FxHashSet::default();
            let mut own: Vec<Symbol> = Vec::new();
            let mut todo = vec![formula];
            while let Some(term) = todo.pop() {
                if !seen.insert(term) {
                    continue;
                }
                parts += 1;
                if parts > PARTS {
                    return None;
                }
                match terms.node(term) {
                    Node::Const(_) => {}
                    Node::Var(symbol) => {
                        firsts.entry(*symbol).or_default().extend([0, 1]);
                        own.push(*symbol);
                    }
                    Node::Not(_) | Node::Ite(..) | Node::Binary(Op::And | Op::Or | Op::Xor, ..) => {
                        todo.extend(terms.children(term));
                    }
                    Node::Eq(..) | Node::Ult(..) | Node::Slt(..) => {
                        let (symbol, places) = places(terms, term)?;
                        firsts.entry(symbol).or_default().extend(places);
                        own.push(symbol);
                    }
                    _ => return None,
                }
            }
            own.sort_unstable();
            own.dedup();
            variables.push(own);
        }
        for numbers in firsts.values_mut() {
            numbers.sort_unstable();
            numbers.dedup();
        }
        Some(Ranges { terms, formulas, variables, firsts, values: FxHashMap::default(), attempts: 0 })
    }

    /// The formulas in parts that have no variable in common.
    fn parts(&self) -> Vec<Vec<usize>> {
        let mut parts: Vec<(Vec<usize>, Vec<Symbol>)> = Vec::new();
        for (n, own) in self.variables.iter().enumerate() {
            let (mut all, mut symbols) = (vec![n], own.clone());
            parts.retain_mut(|(others, of_others)| {
                let apart = !of_others.iter().any(|symbol| symbols.contains(symbol));
                if !apart {
                    all.append(others);
                    symbols.append(of_others);
                }
                apart
            });
            all.sort_unstable();
            parts.push((all, symbols));
        }
        parts.into_iter().map(|(all, _)| all).collect()
    }

    /// Whether some formulas can hold together; then `values` says how. None if that takes too many attempts.
    fn can_hold(&mut self, part: &[usize]) -> Option<bool> {
        let mut symbols: Vec<Symbol> = part.iter().flat_map(|&n| self.variables[n].iter().copied()).collect();
        symbols.sort_unstable();
        symbols.dedup();
        // What has few ranges and is in many formulas, first.
        symbols.sort_by_key(|symbol| self.firsts[symbol].len());
        // Each formula is looked at when its last variable has a value.
        let last =
            |n: usize| symbols.iter().rposition(|symbol| self.variables[n].contains(symbol)).map_or(0, |k| k + 1);
        let mut decided: Vec<Vec<usize>> = vec![Vec::new(); symbols.len() + 1];
        part.iter().for_each(|&n| decided[last(n)].push(n));
        self.values.clear();
        self.attempts += 1;
        if !decided[0].iter().all(|&n| self.holds(self.formulas[n])) {
            return Some(false);
        }
        self.try_from(0, &symbols, &decided)
    }

    fn try_from(&mut self, k: usize, symbols: &[Symbol], decided: &[Vec<usize>]) -> Option<bool> {
        let Some(&symbol) = symbols.get(k) else { return Some(true) };
        for n in 0..self.firsts[&symbol].len() {
            self.attempts += 1;
            if self.attempts > ATTEMPTS {
                return None;
            }
            self.values.insert(symbol, self.firsts[&symbol][n]);
            if decided[k + 1].iter().all(|&n| self.holds(self.formulas[n])) && self.try_from(k + 1, symbols, decided)? {
                return Some(true);
            }
        }
        self.values.remove(&symbol);
        Some(false)
    }

    /// Formulas that contradict each other, of which none can be left out; the first are left out first.
    fn core(&mut self, mut part: Vec<usize>) -> Option<Vec<usize>> {
        let mut n = 0;
        while n < part.len() && part.len() > 1 {
            let mut rest = part.clone();
            rest.remove(n);
            if self.can_hold(&rest)? {
                n += 1;
            } else {
                part = rest;
            }
        }
        Some(part)
    }

    /// Whether a formula holds for the values that are tried.
    fn holds(&self, term: Term) -> bool {
        let terms = self.terms;
        match *terms.node(term) {
            Node::Const(value) => value == 1,
            Node::Not(a) => !self.holds(a),
            Node::Binary(Op::And, a, b) => self.holds(a) && self.holds(b),
            Node::Binary(Op::Or, a, b) => self.holds(a) || self.holds(b),
            Node::Binary(_, a, b) => self.holds(a) != self.holds(b),
            Node::Ite(c, a, b) => self.holds(if self.holds(c) { a } else { b }),
            Node::Eq(a, b) => self.number(a) == self.number(b),
            Node::Ult(a, b) => self.number(a) < self.number(b),
            Node::Slt(a, b) => {
                let bits = terms.bits(a);
                signed(self.number(a), bits) < signed(self.number(b), bits)
            }
            _ => self.number(term) == 1,
        }
    }

    fn number(&self, term: Term) -> u64 {
        match self.terms.node(term) {
            Node::Const(value) => *value,
            Node::Var(symbol) => self.values[symbol],
            Node::Sum(constant, parts) => {
                let value = parts.iter().fold(*constant, |sum, &(_, part)| sum.wrapping_add(self.number(part)));
                value & mask(self.terms.bits(term))
            }
            _ => unreachable!("`places` knows no other"),
        }
    }
}

/// The variable of a comparison, and where on the circle of its numbers the comparison changes; none if it is not one of
/// `x + c` with a number.
fn places(terms: &Terms, comparison: Term) -> Option<(Symbol, [u64; 2])> {
    let (Node::Eq(a, b) | Node::Ult(a, b) | Node::Slt(a, b)) = *terms.node(comparison) else { return None };
    let (side, number, number_first) = match (terms.constant(a), terms.constant(b)) {
        (None, Some(number)) => (a, number, false),
        (Some(number), None) => (b, number, true),
        _ => return None,
    };
    let (symbol, constant) = match terms.node(side) {
        Node::Var(symbol) => (*symbol, 0),
        Node::Sum(constant, parts) => match **parts {
            [(1, part)] => match terms.node(part) {
                Node::Var(symbol) => (*symbol, *constant),
                _ => return None,
            },
            _ => return None,
        },
        _ => return None,
    };
    let bits = terms.bits(side);
    let least = match terms.node(comparison) {
        Node::Eq(..) => number.wrapping_add(1),
        Node::Slt(..) => 1 << (bits - 1),
        _ => 0,
    };
    // `number < x + c` changes behind the number, `x + c < number` at it.
    let behind = number_first && !matches!(terms.node(comparison), Node::Eq(..));
    let first = number.wrapping_add(u64::from(behind));
    Some((symbol, [first, least].map(|place| place.wrapping_sub(constant) & mask(bits))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sequence of numbers that look random.
    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, most: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % most
        }
    }

    fn formula(numbers: &mut Numbers, t: &mut Terms, symbols: &[Symbol], depth: u32) -> Term {
        if depth > 0 && numbers.below(2) == 0 {
            let a = formula(numbers, t, symbols, depth - 1);
            let b = formula(numbers, t, symbols, depth - 1);
            return match numbers.below(4) {
                0 => t.and(a, b),
                1 => t.or(a, b),
                2 => t.xor(a, b),
                _ => t.not(a),
            };
        }
        let x = t.var(symbols[numbers.below(symbols.len() as u64) as usize]);
        let x = t.add_constant(x, numbers.below(16));
        let number = t.number(numbers.below(16), 4);
        match numbers.below(5) {
            0 => t.eq(x, number),
            1 => t.ult(x, number),
            2 => t.ult(number, x),
            3 => t.slt(x, number),
            _ => t.slt(number, x),
        }
    }

    /// Against every number of four bits.
    #[test]
    fn one_number_of_each_range_is_enough() {
        let mut numbers = Numbers(1);
        let (mut sat, mut unsat) = (0, 0);
        for _ in 0..3_000 {
            let mut t = Terms::default();
            let symbols: Vec<Symbol> = ["x", "y"].iter().map(|name| t.symbol(*name, 4, false, false)).collect();
            let count = 1 + numbers.below(6);
            let formulas: Vec<Term> = (0..count).map(|_| formula(&mut numbers, &mut t, &symbols, 2)).collect();
            let can = |t: &Terms, some: &[usize]| {
                (0..256u64).any(|n| {
                    let values = symbols.iter().copied().zip([n & 15, n >> 4]).collect();
                    let valuation = Valuation { values, elements: Default::default() };
                    some.iter().all(|&k| valuation.eval(t, formulas[k]) == 1)
                })
            };
            let open: Vec<usize> = (0..formulas.len()).collect();
            match decide(&t, &formulas, &open) {
                Some(Answer::Sat(valuation)) => {
                    sat += 1;
                    assert!(formulas.iter().all(|&f| valuation.eval(&t, f) == 1), "the values say so");
                }
                Some(Answer::Unsat(core)) => {
                    unsat += 1;
                    assert!(!can(&t, &core), "they contradict each other");
                    for left_out in &core {
                        let rest: Vec<usize> = core.iter().copied().filter(|k| k != left_out).collect();
                        assert!(can(&t, &rest), "none can be left out");
                    }
                }
                Some(Answer::Unknown) => panic!("it is known or left to others"),
                None => assert!(count > 4, "small ones are of this form and take few attempts"),
            }
        }
        assert!(sat > 300 && unsat > 300, "{sat} and {unsat}");
    }
}
