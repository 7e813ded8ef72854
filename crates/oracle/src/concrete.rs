//! States of the verifier's automata, and what terms mean in them.
//!
//! The value of a term is computed here once more, by other code than the verifier's.

use selvedge_impact::program::{Program, TransitionId};
use selvedge_impact::term::{ArrayBase, Node, Op, Symbol, Term, Terms};
use std::collections::BTreeMap;

/// A state: what every variable and every element is that is not 0.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Concrete {
    values: BTreeMap<Symbol, u64>,
    elements: BTreeMap<(Symbol, u64), u64>,
}

impl Concrete {
    /// The state in which a program starts.
    pub fn initial(program: &Program) -> Concrete {
        let mut state = Concrete::default();
        for (&symbol, &term) in &program.initial.values {
            if let Node::Const(value) = *program.terms.node(term) {
                state.set(&program.terms, symbol, value);
            }
        }
        for (&symbol, array) in &program.initial.arrays {
            if let ArrayBase::Fixed(fixed) = array.base {
                let elements = program.terms.fixed[fixed].1.iter().enumerate();
                elements.for_each(|(n, &value)| state.set_element(symbol, n as u64, value));
            }
        }
        state
    }

    /// Gives a variable a value.
    pub fn set(&mut self, terms: &Terms, symbol: Symbol, value: u64) {
        match value & ones(terms.symbols[symbol].bits) {
            0 => self.values.remove(&symbol),
            value => self.values.insert(symbol, value),
        };
    }

    fn set_element(&mut self, array: Symbol, index: u64, value: u64) {
        match value {
            0 => self.elements.remove(&(array, index)),
            value => self.elements.insert((array, index), value),
        };
    }

    /// The value of a term, step by step as it is written.
    pub fn value(&self, terms: &Terms, term: Term) -> u64 {
        value(terms, self, term)
    }

    /// The state behind a transition for some inputs, if it is enabled.
    pub fn after(&self, program: &Program, r: TransitionId, input: impl Fn(Symbol) -> u64) -> Option<Concrete> {
        let (terms, data) = (&program.terms, &program.transitions[r]);
        let mut with = self.clone();
        data.inputs.iter().for_each(|&symbol| with.set(terms, symbol, input(symbol)));
        if data.guard.iter().any(|&term| with.value(terms, term) != 1) {
            return None;
        }
        let mut after = self.clone();
        for &(symbol, term) in &data.updates {
            after.set(terms, symbol, with.value(terms, term));
        }
        for (array, writes) in &data.writes {
            for &(index, element) in writes {
                after.set_element(*array, with.value(terms, index), with.value(terms, element));
            }
        }
        Some(after)
    }
}

fn ones(bits: u8) -> u64 {
    u64::MAX >> (64 - u32::from(bits))
}

fn as_signed(value: u64, bits: u8) -> i128 {
    let value = i128::from(value);
    if value >> (bits - 1) & 1 == 1 { value - (1 << bits) } else { value }
}

/// The value of a term, step by step as it is written.
fn value(terms: &Terms, state: &Concrete, term: Term) -> u64 {
    let bits = terms.bits(term);
    let of = |inner: Term| value(terms, state, inner);
    let raw: u64 = match terms.node(term) {
        Node::Const(number) => *number,
        Node::Var(symbol) => state.values.get(symbol).copied().unwrap_or(0),
        Node::Select(array, index) => state.elements.get(&(*array, of(*index))).copied().unwrap_or(0),
        Node::Sum(constant, parts) => {
            let total = parts.iter().fold(u128::from(*constant), |sum, &(factor, part)| {
                sum.wrapping_add(u128::from(factor).wrapping_mul(u128::from(of(part))))
            });
            total as u64
        }
        Node::Binary(op, a, b) => operator(*op, of(*a), of(*b), bits),
        Node::Not(a) => ones(bits) - of(*a),
        Node::Eq(a, b) => u64::from(of(*a) == of(*b)),
        Node::Ult(a, b) => u64::from(of(*a) < of(*b)),
        Node::Slt(a, b) => {
            let width = terms.bits(*a);
            u64::from(as_signed(of(*a), width) < as_signed(of(*b), width))
        }
        Node::Ite(condition, a, b) => of(if of(*condition) == 1 { *a } else { *b }),
        Node::ZExt(a) => of(*a),
        Node::SExt(a) => as_signed(of(*a), terms.bits(*a)) as u64,
        Node::Extract(low, a) => of(*a) >> low,
    };
    raw & ones(bits)
}

fn operator(op: Op, a: u64, b: u64, bits: u8) -> u64 {
    let far = b >= u64::from(bits);
    match op {
        Op::Mul => a.wrapping_mul(b),
        Op::UDiv if b == 0 => ones(bits),
        Op::UDiv => a / b,
        Op::URem if b == 0 => a,
        Op::URem => a % b,
        Op::And => a & b,
        Op::Or => a | b,
        Op::Xor => a ^ b,
        Op::Shl => {
            if far {
                0
            } else {
                a << b
            }
        }
        Op::LShr => {
            if far {
                0
            } else {
                a >> b
            }
        }
        Op::AShr => (as_signed(a, bits) >> b.min(64)) as u64,
    }
}
