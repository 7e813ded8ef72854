//! States as substitutions: what every variable is, in terms of the variables of an earlier state.
//!
//! Running a path forwards and computing a weakest precondition backwards are the same operation: replacing variables by
//! terms. An array is replaced by another array with writes on top of it.

use super::{Fixed, Node, Op, Symbol, Term, Terms};
use rustc_hash::FxHashMap;

/// What an array was before it was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArrayBase {
    /// Whatever an array is in the earlier state.
    Symbol(Symbol),
    /// Known contents.
    Fixed(Fixed),
}

/// An array with writes on top, oldest first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ArrayValue {
    /// What is below.
    pub base: ArrayBase,
    /// Index and value.
    pub writes: Vec<(Term, Term)>,
}

/// What variables are, in terms of an earlier state. A variable that is not mentioned is what it was.
#[derive(Clone, Default, Debug)]
pub struct State {
    /// Variables and inputs.
    pub values: FxHashMap<Symbol, Term>,
    /// Arrays.
    pub arrays: FxHashMap<Symbol, ArrayValue>,
}

impl State {
    /// What an array is.
    pub fn array(&self, symbol: Symbol) -> ArrayValue {
        let unchanged = || ArrayValue { base: ArrayBase::Symbol(symbol), writes: Vec::new() };
        self.arrays.get(&symbol).cloned().unwrap_or_else(unchanged)
    }

    /// A term over the variables of this state, in terms of the earlier one.
    pub fn apply(&self, terms: &mut Terms, term: Term) -> Term {
        self.apply_with(terms, term, &mut FxHashMap::default())
    }

    /// As [`State::apply`], with a memory of what was replaced before in the same state.
    pub fn apply_with(&self, terms: &mut Terms, term: Term, memo: &mut FxHashMap<Term, Term>) -> Term {
        if let Some(&done) = memo.get(&term) {
            return done;
        }
        let result = match terms.node(term).clone() {
            Node::Const(_) => term,
            Node::Var(symbol) => self.values.get(&symbol).copied().unwrap_or(term),
            Node::Select(array, index) => {
                let index = self.apply_with(terms, index, memo);
                let value = self.array(array);
                terms.read(&value, index)
            }
            node => self.rebuild(terms, &node, terms.bits(term), memo),
        };
        memo.insert(term, result);
        result
    }

    fn rebuild(&self, t: &mut Terms, node: &Node, bits: u8, memo: &mut FxHashMap<Term, Term>) -> Term {
        let mut go = |t: &mut Terms, x: Term| self.apply_with(t, x, memo);
        match *node {
            Node::Const(_) | Node::Var(_) | Node::Select(..) => unreachable!("treated by the caller"),
            Node::Sum(constant, ref parts) => {
                let parts: Vec<_> = parts.iter().map(|&(f, x)| (f, go(t, x))).collect();
                t.sum(constant, &parts, bits)
            }
            Node::Binary(op, a, b) => {
                let (a, b) = (go(t, a), go(t, b));
                t.binary(op, a, b)
            }
            Node::Not(a) => {
                let a = go(t, a);
                t.not(a)
            }
            Node::Eq(a, b) => {
                let (a, b) = (go(t, a), go(t, b));
                t.eq(a, b)
            }
            Node::Ult(a, b) => {
                let (a, b) = (go(t, a), go(t, b));
                t.ult(a, b)
            }
            Node::Slt(a, b) => {
                let (a, b) = (go(t, a), go(t, b));
                t.slt(a, b)
            }
            Node::Ite(c, a, b) => {
                let c = go(t, c);
                let (a, b) = (go(t, a), go(t, b));
                t.ite(c, a, b)
            }
            Node::ZExt(a) => {
                let a = go(t, a);
                t.zext(a, bits)
            }
            Node::SExt(a) => {
                let a = go(t, a);
                t.sext(a, bits)
            }
            Node::Extract(low, a) => {
                let a = go(t, a);
                t.extract(low, bits, a)
            }
        }
    }
}

impl Terms {
    /// A binary operator by name.
    pub fn binary(&mut self, op: Op, a: Term, b: Term) -> Term {
        match op {
            Op::Mul => self.mul(a, b),
            Op::UDiv => self.udiv(a, b),
            Op::URem => self.urem(a, b),
            Op::And => self.and(a, b),
            Op::Or => self.or(a, b),
            Op::Xor => self.xor(a, b),
            Op::Shl => self.shl(a, b),
            Op::LShr => self.lshr(a, b),
            Op::AShr => self.ashr(a, b),
        }
    }

    /// An element of an array: the newest write to this index, or what is below.
    pub fn read(&mut self, array: &ArrayValue, index: Term) -> Term {
        // Oldest first, so that the newest ends up outside; nothing below a write to just this index matters.
        let known = array.writes.iter().rposition(|&(at, _)| at == index);
        let (mut value, from) = match known {
            Some(n) => (array.writes[n].1, n + 1),
            None => (self.read_base(array.base, index), 0),
        };
        for &(at, written) in &array.writes[from..] {
            let same = self.eq(at, index);
            value = self.ite(same, written, value);
        }
        value
    }

    fn read_base(&mut self, base: ArrayBase, index: Term) -> Term {
        let fixed = match base {
            ArrayBase::Symbol(symbol) => {
                let bits = self.symbols[symbol].bits;
                return self.intern(Node::Select(symbol, index), bits);
            }
            ArrayBase::Fixed(fixed) => fixed,
        };
        let (bits, elements) = self.fixed[fixed].clone();
        if let Some(n) = self.constant(index) {
            let element = usize::try_from(n).ok().and_then(|n| elements.get(n)).copied().unwrap_or(0);
            return self.number(element, bits);
        }
        let mut value = self.number(0, bits);
        for (n, &element) in elements.iter().enumerate().filter(|(_, e)| **e != 0) {
            let at = self.number(n as u64, 64);
            let same = self.eq(index, at);
            let element = self.number(element, bits);
            value = self.ite(same, element, value);
        }
        value
    }
}
