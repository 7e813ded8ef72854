//! Bitwise and logical operators, shifts, case distinctions, extensions.

use super::{Node, Op, Term, Terms, mask, signed};

impl Terms {
    /// All bits inverted.
    pub fn not(&mut self, a: Term) -> Term {
        let bits = self.bits(a);
        match *self.node(a) {
            Node::Const(value) => self.number(!value, bits),
            Node::Not(inner) => inner,
            Node::Ite(c, x, y) if bits == 1 => {
                let (x, y) = (self.not(x), self.not(y));
                self.ite(c, x, y)
            }
            // Minus one minus a: linear.
            _ if bits > 1 => self.sum(u64::MAX, &[(u64::MAX, a)], bits),
            _ => self.intern(Node::Not(a), bits),
        }
    }

    /// Whether one is the logical negation of the other.
    fn complementary(&self, a: Term, b: Term) -> bool {
        matches!(*self.node(a), Node::Not(x) if x == b) || matches!(*self.node(b), Node::Not(x) if x == a)
    }

    /// `a & b`.
    pub fn and(&mut self, a: Term, b: Term) -> Term {
        let bits = self.bits(a);
        match (self.constant(a), self.constant(b)) {
            (Some(x), Some(y)) => return self.number(x & y, bits),
            (Some(x), _) if x == mask(bits) => return b,
            (_, Some(y)) if y == mask(bits) => return a,
            (Some(0), _) | (_, Some(0)) => return self.number(0, bits),
            _ => {}
        }
        if a == b {
            return a;
        }
        if self.complementary(a, b) {
            return self.number(0, bits);
        }
        self.intern(Node::Binary(Op::And, a.min(b), a.max(b)), bits)
    }

    /// `a | b`.
    pub fn or(&mut self, a: Term, b: Term) -> Term {
        let bits = self.bits(a);
        if bits == 1 {
            // One form for both: not (not a and not b).
            let (a, b) = (self.not(a), self.not(b));
            let neither = self.and(a, b);
            return self.not(neither);
        }
        match (self.constant(a), self.constant(b)) {
            (Some(x), Some(y)) => return self.number(x | y, bits),
            (Some(0), _) => return b,
            (_, Some(0)) => return a,
            (Some(x), _) | (_, Some(x)) if x == mask(bits) => return self.number(x, bits),
            _ => {}
        }
        if a == b {
            return a;
        }
        self.intern(Node::Binary(Op::Or, a.min(b), a.max(b)), bits)
    }

    /// `a ^ b`.
    pub fn xor(&mut self, a: Term, b: Term) -> Term {
        let bits = self.bits(a);
        match (self.constant(a), self.constant(b)) {
            (Some(x), Some(y)) => return self.number(x ^ y, bits),
            (Some(0), _) => return b,
            (_, Some(0)) => return a,
            (Some(x), _) if x == mask(bits) => return self.not(b),
            (_, Some(y)) if y == mask(bits) => return self.not(a),
            _ => {}
        }
        if a == b {
            return self.number(0, bits);
        }
        if bits == 1 {
            // Negations go to the outside.
            let (a, x) = self.without_negation(a);
            let (b, y) = self.without_negation(b);
            let inner =
                if a == b { self.bool(false) } else { self.intern(Node::Binary(Op::Xor, a.min(b), a.max(b)), 1) };
            return if x != y { self.not(inner) } else { inner };
        }
        self.intern(Node::Binary(Op::Xor, a.min(b), a.max(b)), bits)
    }

    fn without_negation(&self, a: Term) -> (Term, bool) {
        match *self.node(a) {
            Node::Not(inner) => (inner, true),
            _ => (a, false),
        }
    }

    /// All of them.
    pub fn all(&mut self, terms: &[Term]) -> Term {
        let mut result = self.bool(true);
        for &term in terms {
            result = self.and(result, term);
        }
        result
    }

    /// One of them at least.
    pub fn any(&mut self, terms: &[Term]) -> Term {
        let mut result = self.bool(false);
        for &term in terms {
            result = self.or(result, term);
        }
        result
    }

    /// `a << b`.
    pub fn shl(&mut self, a: Term, b: Term) -> Term {
        let bits = self.bits(a);
        match self.constant(b) {
            Some(by) if by >= u64::from(bits) => self.number(0, bits),
            Some(by) => self.sum(0, &[(1 << by, a)], bits),
            None => self.intern(Node::Binary(Op::Shl, a, b), bits),
        }
    }

    /// `a >> b`, with zeros.
    pub fn lshr(&mut self, a: Term, b: Term) -> Term {
        let bits = self.bits(a);
        match (self.constant(a), self.constant(b)) {
            (_, Some(0)) => a,
            (_, Some(by)) if by >= u64::from(bits) => self.number(0, bits),
            (Some(a), Some(by)) => self.number(a >> by, bits),
            _ => self.intern(Node::Binary(Op::LShr, a, b), bits),
        }
    }

    /// `a >> b`, with the sign.
    pub fn ashr(&mut self, a: Term, b: Term) -> Term {
        let bits = self.bits(a);
        match (self.constant(a), self.constant(b)) {
            (_, Some(0)) => a,
            (Some(a), Some(by)) => self.number((signed(a, bits) >> by.min(63)) as u64, bits),
            _ => self.intern(Node::Binary(Op::AShr, a, b), bits),
        }
    }

    /// `condition ? a : b`.
    pub fn ite(&mut self, condition: Term, a: Term, b: Term) -> Term {
        debug_assert_eq!(self.bits(condition), 1, "a condition is one bit");
        if a == b || self.is_true(condition) {
            return a;
        }
        if self.is_false(condition) {
            return b;
        }
        if let Node::Not(inner) = *self.node(condition) {
            return self.ite(inner, b, a);
        }
        let bits = self.bits(a);
        if bits == 1 {
            match (self.constant(a), self.constant(b)) {
                (Some(1), Some(_)) => return condition,
                (Some(_), Some(_)) => return self.not(condition),
                (Some(1), None) => return self.or(condition, b),
                (Some(_), None) => {
                    let not = self.not(condition);
                    return self.and(not, b);
                }
                (None, Some(0)) => return self.and(condition, a),
                (None, Some(_)) => {
                    let not = self.not(condition);
                    return self.or(not, a);
                }
                (None, None) => {}
            }
        }
        // The same distinction again inside is decided.
        let a = if let Node::Ite(c, x, _) = *self.node(a) { if c == condition { x } else { a } } else { a };
        let b = if let Node::Ite(c, _, y) = *self.node(b) { if c == condition { y } else { b } } else { b };
        if a == b { a } else { self.intern(Node::Ite(condition, a, b), bits) }
    }

    /// Extended with zeros to a width.
    pub fn zext(&mut self, a: Term, bits: u8) -> Term {
        match *self.node(a) {
            _ if self.bits(a) == bits => a,
            Node::Const(value) => self.number(value, bits),
            Node::ZExt(inner) => self.zext(inner, bits),
            _ => self.intern(Node::ZExt(a), bits),
        }
    }

    /// Extended with the sign to a width.
    pub fn sext(&mut self, a: Term, bits: u8) -> Term {
        let low = self.bits(a);
        match *self.node(a) {
            _ if low == bits => a,
            Node::Const(value) => self.number(signed(value, low) as u64, bits),
            Node::SExt(inner) => self.sext(inner, bits),
            Node::ZExt(inner) => self.zext(inner, bits),
            _ => self.intern(Node::SExt(a), bits),
        }
    }

    /// `bits` bits from `low` on.
    pub fn extract(&mut self, low: u8, bits: u8, a: Term) -> Term {
        let width = self.bits(a);
        debug_assert!(low + bits <= width, "an extract stays within its term");
        if bits == width {
            return a;
        }
        match self.node(a).clone() {
            Node::Const(value) => self.number(value >> low, bits),
            Node::ZExt(inner) | Node::SExt(inner) if low + bits <= self.bits(inner) => self.extract(low, bits, inner),
            Node::ZExt(inner) if low == 0 => self.zext(inner, bits),
            Node::SExt(inner) if low == 0 => self.sext(inner, bits),
            Node::Extract(more, inner) => self.extract(low + more, bits, inner),
            Node::Sum(constant, parts) if low == 0 => {
                let parts: Vec<_> = parts.iter().map(|&(f, t)| (f, self.extract(0, bits, t))).collect();
                self.sum(constant, &parts, bits)
            }
            Node::Ite(c, x, y) if self.constant(x).is_some() || self.constant(y).is_some() => {
                let (x, y) = (self.extract(low, bits, x), self.extract(low, bits, y));
                self.ite(c, x, y)
            }
            _ => self.intern(Node::Extract(low, a), bits),
        }
    }
}
