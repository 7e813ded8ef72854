//! Expressions over bit vectors of 1 to 64 bits, each stored once.
//!
//! A formula is a term of one bit. Terms are built by functions that rewrite on the way, so that two expressions with the
//! same meaning are often the same term: sums are kept as linear combinations, equations have everything variable on their
//! left side, comparisons look through extensions. Most questions about a path are decided by that alone.
//!
//! Arrays have no terms of their own. A read of an array in its first state is [`Node::Select`]; an array that was written
//! is an [`ArrayValue`], and a read of it becomes a case distinction over the writes (read over write). Hence the number of
//! cells of an array appears in no term.
//!
//! | file | owns |
//! |---|---|
//! | `term.rs` | terms, symbols, arithmetic |
//! | `term/compare.rs` | equations and comparisons |
//! | `term/logic.rs` | bitwise and logical operators, case distinctions, extensions |
//! | `term/substitute.rs` | states as substitutions |
//! | `term/eval.rs` | the value of a term |
//! | `term/text.rs` | terms for people |

mod compare;
mod eval;
mod logic;
mod substitute;
mod text;

pub use eval::Valuation;
pub use substitute::{ArrayBase, ArrayValue, State};

use rustc_hash::FxHashMap;
use selvedge_ir::{EntityVec, entity};
use std::collections::BTreeMap;

entity! {
    /// An expression.
    Term, "x"
}
entity! {
    /// A variable of the program, an input, or an array.
    Symbol, "s"
}
entity! {
    /// The initial contents of an array.
    Fixed, "a"
}

/// What a symbol stands for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SymbolData {
    /// Its name for people.
    pub name: String,
    /// Width in bits; of an array, that of its elements.
    pub bits: u8,
    /// Whether it is an array, indexed by 64 bits.
    pub array: bool,
    /// Whether it is an input: a value that the environment chooses, in one step of a path.
    pub input: bool,
}

/// An operator with two operands of its own width.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// Product of two variable terms.
    Mul,
    /// Unsigned quotient; all ones if divided by zero.
    UDiv,
    /// Unsigned remainder; the dividend if divided by zero.
    URem,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Shift left; zero if by the width or more.
    Shl,
    /// Logical shift right; zero if by the width or more.
    LShr,
    /// Arithmetic shift right; only signs if by the width or more.
    AShr,
}

/// The structure of a term.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Node {
    /// A number.
    Const(u64),
    /// A variable or input.
    Var(Symbol),
    /// `constant + sum of coefficient * term`: at least one part, none of them a sum or a number; not just `1 * term`.
    Sum(u64, Box<[(u64, Term)]>),
    /// Two operands.
    Binary(Op, Term, Term),
    /// All bits inverted.
    Not(Term),
    /// Equality, one bit.
    Eq(Term, Term),
    /// Unsigned less, one bit.
    Ult(Term, Term),
    /// Signed less, one bit.
    Slt(Term, Term),
    /// `condition ? a : b`.
    Ite(Term, Term, Term),
    /// Extended with zeros.
    ZExt(Term),
    /// Extended with the sign.
    SExt(Term),
    /// The bits from `low` on.
    Extract(u8, Term),
    /// An element of an array that nothing was written to yet.
    Select(Symbol, Term),
}

/// All terms.
#[derive(Default, Debug)]
pub struct Terms {
    nodes: EntityVec<Term, (Node, u8)>,
    known: FxHashMap<(Node, u8), Term>,
    /// Symbols.
    pub symbols: EntityVec<Symbol, SymbolData>,
    /// Initial contents of arrays: width and elements; zeros behind.
    pub fixed: EntityVec<Fixed, (u8, Vec<u64>)>,
    /// Names of addresses, for people: where objects start, and what they are called.
    pub addresses: BTreeMap<u64, String>,
}

/// The low bits.
pub fn mask(bits: u8) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

/// The value as a signed number.
pub fn signed(value: u64, bits: u8) -> i64 {
    let shift = 64 - u32::from(bits);
    ((value << shift) as i64) >> shift
}

impl Terms {
    /// The structure of a term.
    pub fn node(&self, term: Term) -> &Node {
        &self.nodes[term].0
    }

    /// Width of a term.
    pub fn bits(&self, term: Term) -> u8 {
        self.nodes[term].1
    }

    /// How many terms there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is no term.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    fn intern(&mut self, node: Node, bits: u8) -> Term {
        debug_assert!((1..=64).contains(&bits), "a term has 1 to 64 bits");
        if let Some(&term) = self.known.get(&(node.clone(), bits)) {
            return term;
        }
        let term = self.nodes.push((node.clone(), bits));
        self.known.insert((node, bits), term);
        term
    }

    /// A new symbol.
    pub fn symbol(&mut self, name: impl Into<String>, bits: u8, array: bool, input: bool) -> Symbol {
        self.symbols.push(SymbolData { name: name.into(), bits, array, input })
    }

    /// A number.
    pub fn number(&mut self, value: u64, bits: u8) -> Term {
        self.intern(Node::Const(value & mask(bits)), bits)
    }

    /// True or false.
    pub fn bool(&mut self, value: bool) -> Term {
        self.number(u64::from(value), 1)
    }

    /// A variable or input.
    pub fn var(&mut self, symbol: Symbol) -> Term {
        let bits = self.symbols[symbol].bits;
        debug_assert!(!self.symbols[symbol].array, "an array is read by `select`");
        self.intern(Node::Var(symbol), bits)
    }

    /// The number that a term is, if it is one.
    pub fn constant(&self, term: Term) -> Option<u64> {
        match self.node(term) {
            Node::Const(value) => Some(*value),
            _ => None,
        }
    }

    /// Whether it is true whatever the variables are, as far as rewriting sees.
    pub fn is_true(&self, term: Term) -> bool {
        self.constant(term) == Some(1) && self.bits(term) == 1
    }

    /// Whether it is false whatever the variables are, as far as rewriting sees.
    pub fn is_false(&self, term: Term) -> bool {
        self.constant(term) == Some(0) && self.bits(term) == 1
    }

    /// A term as a constant and a sum of other terms.
    pub fn linear(&self, term: Term) -> (u64, Vec<(u64, Term)>) {
        match self.node(term) {
            Node::Const(value) => (*value, Vec::new()),
            Node::Sum(constant, parts) => (*constant, parts.to_vec()),
            _ => (0, vec![(1, term)]),
        }
    }

    /// The sum of a constant and of parts, which may be any terms in any order.
    pub fn sum(&mut self, constant: u64, parts: &[(u64, Term)], bits: u8) -> Term {
        let mut total = constant;
        let mut all: Vec<(u64, Term)> = Vec::with_capacity(parts.len());
        for &(factor, term) in parts {
            let (k, inner) = self.linear(term);
            total = total.wrapping_add(factor.wrapping_mul(k));
            all.extend(inner.into_iter().map(|(f, t)| (factor.wrapping_mul(f), t)));
        }
        all.sort_unstable_by_key(|&(_, term)| term);
        let mut merged: Vec<(u64, Term)> = Vec::with_capacity(all.len());
        for (factor, term) in all {
            match merged.last_mut() {
                Some((f, t)) if *t == term => *f = f.wrapping_add(factor),
                _ => merged.push((factor, term)),
            }
        }
        merged.iter_mut().for_each(|(factor, _)| *factor &= mask(bits));
        merged.retain(|&(factor, _)| factor != 0);
        let total = total & mask(bits);
        match merged.as_slice() {
            [] => self.number(total, bits),
            [(1, term)] if total == 0 => *term,
            _ => self.intern(Node::Sum(total, merged.into_boxed_slice()), bits),
        }
    }

    /// `a + b`.
    pub fn add(&mut self, a: Term, b: Term) -> Term {
        let bits = self.bits(a);
        self.sum(0, &[(1, a), (1, b)], bits)
    }

    /// `a - b`.
    pub fn sub(&mut self, a: Term, b: Term) -> Term {
        let bits = self.bits(a);
        self.sum(0, &[(1, a), (u64::MAX, b)], bits)
    }

    /// `a + constant`.
    pub fn add_constant(&mut self, a: Term, constant: u64) -> Term {
        let bits = self.bits(a);
        self.sum(constant, &[(1, a)], bits)
    }

    /// `a * b`.
    pub fn mul(&mut self, a: Term, b: Term) -> Term {
        let bits = self.bits(a);
        match (self.constant(a), self.constant(b)) {
            (Some(factor), _) => self.sum(0, &[(factor, b)], bits),
            (_, Some(factor)) => self.sum(0, &[(factor, a)], bits),
            _ => self.intern(Node::Binary(Op::Mul, a.min(b), a.max(b)), bits),
        }
    }

    /// Unsigned quotient.
    pub fn udiv(&mut self, a: Term, b: Term) -> Term {
        let bits = self.bits(a);
        match (self.constant(a), self.constant(b)) {
            (Some(a), Some(b)) => self.number(a.checked_div(b).unwrap_or(u64::MAX), bits),
            (_, Some(1)) => a,
            (_, Some(b)) if b.is_power_of_two() => {
                let by = self.number(u64::from(b.trailing_zeros()), bits);
                self.lshr(a, by)
            }
            _ => self.intern(Node::Binary(Op::UDiv, a, b), bits),
        }
    }

    /// Unsigned remainder.
    pub fn urem(&mut self, a: Term, b: Term) -> Term {
        let bits = self.bits(a);
        match (self.constant(a), self.constant(b)) {
            (Some(a), Some(b)) => self.number(a.checked_rem(b).unwrap_or(a), bits),
            (_, Some(b)) if b.is_power_of_two() => {
                let low = self.number(b - 1, bits);
                self.and(a, low)
            }
            _ => self.intern(Node::Binary(Op::URem, a, b), bits),
        }
    }

    /// Signed quotient, rounded towards zero.
    pub fn sdiv(&mut self, a: Term, b: Term) -> Term {
        let (negative_a, abs_a) = self.magnitude(a);
        let (negative_b, abs_b) = self.magnitude(b);
        let quotient = self.udiv(abs_a, abs_b);
        let negative = self.xor(negative_a, negative_b);
        self.negated_if(negative, quotient)
    }

    /// Signed remainder, with the sign of the dividend.
    pub fn srem(&mut self, a: Term, b: Term) -> Term {
        let (negative, abs_a) = self.magnitude(a);
        let (_, abs_b) = self.magnitude(b);
        let remainder = self.urem(abs_a, abs_b);
        self.negated_if(negative, remainder)
    }

    /// Whether a term is negative, and its absolute value.
    fn magnitude(&mut self, a: Term) -> (Term, Term) {
        let zero = self.number(0, self.bits(a));
        let negative = self.slt(a, zero);
        (negative, self.negated_if(negative, a))
    }

    fn negated_if(&mut self, condition: Term, a: Term) -> Term {
        let bits = self.bits(a);
        let minus = self.sum(0, &[(u64::MAX, a)], bits);
        self.ite(condition, minus, a)
    }

    /// The terms that a term is made of.
    pub fn children(&self, term: Term) -> Vec<Term> {
        match self.node(term) {
            Node::Const(_) | Node::Var(_) => Vec::new(),
            Node::Sum(_, parts) => parts.iter().map(|&(_, t)| t).collect(),
            Node::Binary(_, a, b) | Node::Eq(a, b) | Node::Ult(a, b) | Node::Slt(a, b) => vec![*a, *b],
            Node::Not(a) | Node::ZExt(a) | Node::SExt(a) | Node::Extract(_, a) | Node::Select(_, a) => vec![*a],
            Node::Ite(c, a, b) => vec![*c, *a, *b],
        }
    }

    /// Every symbol in a term, arrays too.
    pub fn symbols_of(&self, term: Term) -> Vec<Symbol> {
        let mut seen = rustc_hash::FxHashSet::default();
        let mut symbols = Vec::new();
        let mut todo = vec![term];
        while let Some(term) = todo.pop() {
            if !seen.insert(term) {
                continue;
            }
            if let Node::Var(symbol) | Node::Select(symbol, _) = self.node(term) {
                symbols.push(*symbol);
            }
            todo.extend(self.children(term));
        }
        symbols.sort_unstable();
        symbols.dedup();
        symbols
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_linear_combinations() {
        let mut t = Terms::default();
        let s = t.symbol("x", 32, false, false);
        let x = t.var(s);
        let one = t.number(1, 32);
        let up = t.add(x, one);
        let back = t.sub(up, one);
        assert_eq!(back, x);
        let none = t.sub(up, up);
        assert_eq!(t.constant(none), Some(0));
    }

    #[test]
    fn equal_terms_are_one() {
        let mut t = Terms::default();
        let (a, b) = (t.symbol("a", 8, false, false), t.symbol("b", 8, false, false));
        let (a, b) = (t.var(a), t.var(b));
        assert_eq!(t.add(a, b), t.add(b, a));
        assert_eq!(t.eq(a, b), t.eq(b, a));
        let sum = t.add(a, b);
        let eq1 = t.eq(sum, b);
        let zero = t.number(0, 8);
        assert_eq!(eq1, t.eq(a, zero));
    }
}
