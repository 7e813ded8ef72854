//! The value of a term under a valuation of its symbols; written apart from the rewriting, so that tests can compare.

use super::{Node, Op, Symbol, Term, Terms, mask, signed};
use rustc_hash::FxHashMap;

/// Values of symbols; what is not mentioned is 0.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Valuation {
    /// Variables and inputs.
    pub values: FxHashMap<Symbol, u64>,
    /// Elements of arrays.
    pub elements: FxHashMap<(Symbol, u64), u64>,
}

impl Valuation {
    /// The value of a term.
    pub fn eval(&self, terms: &Terms, term: Term) -> u64 {
        self.eval_with(terms, term, &mut FxHashMap::default())
    }

    fn eval_with(&self, terms: &Terms, term: Term, memo: &mut FxHashMap<Term, u64>) -> u64 {
        if let Some(&value) = memo.get(&term) {
            return value;
        }
        let bits = terms.bits(term);
        let mut go = |x: Term| self.eval_with(terms, x, memo);
        let value = match *terms.node(term) {
            Node::Const(value) => value,
            Node::Var(symbol) => self.values.get(&symbol).copied().unwrap_or(0),
            Node::Sum(constant, ref parts) => {
                parts.iter().fold(constant, |sum, &(f, x)| sum.wrapping_add(f.wrapping_mul(go(x))))
            }
            Node::Binary(op, a, b) => binary(op, go(a), go(b), bits),
            Node::Not(a) => !go(a),
            Node::Eq(a, b) => u64::from(go(a) == go(b)),
            Node::Ult(a, b) => u64::from(go(a) < go(b)),
            Node::Slt(a, b) => {
                let width = terms.bits(a);
                u64::from(signed(go(a), width) < signed(go(b), width))
            }
            Node::Ite(c, a, b) => {
                if go(c) == 1 {
                    go(a)
                } else {
                    go(b)
                }
            }
            Node::ZExt(a) => go(a),
            Node::SExt(a) => signed(go(a), terms.bits(a)) as u64,
            Node::Extract(low, a) => go(a) >> low,
            Node::Select(array, index) => self.elements.get(&(array, go(index))).copied().unwrap_or(0),
        };
        let value = value & mask(bits);
        memo.insert(term, value);
        value
    }
}

fn binary(op: Op, a: u64, b: u64, bits: u8) -> u64 {
    let in_range = b < u64::from(bits);
    match op {
        Op::Mul => a.wrapping_mul(b),
        Op::UDiv => a.checked_div(b).unwrap_or(u64::MAX),
        Op::URem => a.checked_rem(b).unwrap_or(a),
        Op::And => a & b,
        Op::Or => a | b,
        Op::Xor => a ^ b,
        Op::Shl => {
            if in_range {
                a << b
            } else {
                0
            }
        }
        Op::LShr => {
            if in_range {
                a >> b
            } else {
                0
            }
        }
        Op::AShr => (signed(a, bits) >> b.min(63)) as u64,
    }
}
