//! Equations and comparisons.
//!
//! An equation has everything variable on its left and a number on its right, with the first factor positive; a
//! comparison of extended terms becomes one of the terms themselves.

use super::{Node, Term, Terms, mask, signed};

/// A comparison that keeps its meaning when both sides are extended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Less {
    Unsigned,
    Signed,
}

impl Terms {
    /// `a == b`.
    pub fn eq(&mut self, a: Term, b: Term) -> Term {
        debug_assert_eq!(self.bits(a), self.bits(b), "both sides of an equation have one width");
        let bits = self.bits(a);
        if a == b {
            return self.bool(true);
        }
        if bits == 1 {
            let differ = self.xor(a, b);
            return self.not(differ);
        }
        let difference = self.sub(a, b);
        let (constant, mut parts) = self.linear(difference);
        let mut right = constant.wrapping_neg() & mask(bits);
        match parts.as_mut_slice() {
            [] => self.bool(right == 0),
            [(factor, term)] if *factor & 1 == 1 => {
                let value = right.wrapping_mul(inverse(*factor)) & mask(bits);
                let term = *term;
                self.eq_number(term, value)
            }
            [(first, _), ..] => {
                if signed(*first, bits) < 0 {
                    parts.iter_mut().for_each(|(factor, _)| *factor = factor.wrapping_neg() & mask(bits));
                    right = right.wrapping_neg() & mask(bits);
                }
                let left = self.sum(0, &parts, bits);
                let right = self.number(right, bits);
                self.intern(Node::Eq(left, right), 1)
            }
        }
    }

    /// `term == value`, for a term that is neither a number nor a sum.
    fn eq_number(&mut self, term: Term, value: u64) -> Term {
        match *self.node(term) {
            Node::ZExt(inner) | Node::SExt(inner) => {
                let low = self.bits(inner);
                let is_signed = matches!(self.node(term), Node::SExt(_));
                let back = if is_signed { signed(value & mask(low), low) as u64 } else { value & mask(low) };
                if back & mask(self.bits(term)) != value {
                    return self.bool(false);
                }
                let value = self.number(value, low);
                self.eq(inner, value)
            }
            Node::Ite(condition, a, b) if self.constant(a).is_some() || self.constant(b).is_some() => {
                let right = self.number(value, self.bits(term));
                let (a, b) = (self.eq(a, right), self.eq(b, right));
                self.ite(condition, a, b)
            }
            _ => {
                let right = self.number(value, self.bits(term));
                self.intern(Node::Eq(term, right), 1)
            }
        }
    }

    /// `a != b`.
    pub fn ne(&mut self, a: Term, b: Term) -> Term {
        let equal = self.eq(a, b);
        self.not(equal)
    }

    /// `a < b`, unsigned.
    pub fn ult(&mut self, a: Term, b: Term) -> Term {
        let bits = self.bits(a);
        let known = match (self.constant(a), self.constant(b)) {
            (Some(a), Some(b)) => Some(a < b),
            (_, Some(0)) => Some(false),
            (Some(max), _) if max == mask(bits) => Some(false),
            _ if a == b => Some(false),
            _ => None,
        };
        if let Some(known) = known {
            return self.bool(known);
        }
        if self.constant(b) == Some(1) {
            let zero = self.number(0, bits);
            return self.eq(a, zero);
        }
        if self.constant(a) == Some(0) {
            return self.ne(b, a);
        }
        match self.narrowed(a, b, Less::Unsigned) {
            Some(term) => term,
            None => self.intern(Node::Ult(a, b), 1),
        }
    }

    /// `a < b`, signed.
    pub fn slt(&mut self, a: Term, b: Term) -> Term {
        let bits = self.bits(a);
        let min = 1u64 << (bits - 1);
        let known = match (self.constant(a), self.constant(b)) {
            (Some(a), Some(b)) => Some(signed(a, bits) < signed(b, bits)),
            (_, Some(b)) if b == min => Some(false),
            (Some(a), _) if a == min - 1 => Some(false),
            _ if a == b => Some(false),
            _ => None,
        };
        if let Some(known) = known {
            return self.bool(known);
        }
        match self.narrowed(a, b, Less::Signed) {
            Some(term) => term,
            None => self.intern(Node::Slt(a, b), 1),
        }
    }

    /// `a <= b`, unsigned.
    pub fn ule(&mut self, a: Term, b: Term) -> Term {
        let greater = self.ult(b, a);
        self.not(greater)
    }

    /// `a <= b`, signed.
    pub fn sle(&mut self, a: Term, b: Term) -> Term {
        let greater = self.slt(b, a);
        self.not(greater)
    }

    /// A comparison of extended terms, without the extension. One side may be a number that an extended term could be.
    fn narrowed(&mut self, a: Term, b: Term, less: Less) -> Option<Term> {
        let (inner, sign) = match (self.node(a), self.node(b)) {
            (Node::ZExt(x), _) | (_, Node::ZExt(x)) => (*x, false),
            (Node::SExt(x), _) | (_, Node::SExt(x)) => (*x, true),
            _ => return None,
        };
        let low = self.bits(inner);
        let a = self.before_extension(a, low, sign)?;
        let b = self.before_extension(b, low, sign)?;
        // Numbers that were extended with zeros are not negative: they compare alike either way.
        Some(if sign && less == Less::Signed { self.slt(a, b) } else { self.ult(a, b) })
    }

    fn before_extension(&mut self, term: Term, low: u8, sign: bool) -> Option<Term> {
        let bits = self.bits(term);
        match *self.node(term) {
            Node::ZExt(x) if !sign && self.bits(x) == low => Some(x),
            Node::SExt(x) if sign && self.bits(x) == low => Some(x),
            Node::Const(value) => {
                let cut = value & mask(low);
                let back = if sign { signed(cut, low) as u64 & mask(bits) } else { cut };
                (back == value).then(|| self.number(cut, low))
            }
            _ => None,
        }
    }
}

/// The number that gives 1 when it is multiplied with an odd one.
fn inverse(odd: u64) -> u64 {
    let mut result = odd;
    // Each round doubles the number of right bits, from three.
    for _ in 0..5 {
        result = result.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(result)));
    }
    result
}
