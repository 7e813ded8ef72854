//! Terms as bits: every operator becomes clauses over SAT variables (Tseitin).

use crate::term::{Node, Op, Symbol, Term, Terms, Valuation};
use batsat::{Callbacks, Lit, Solver as Sat, SolverInterface, lbool};
use rustc_hash::FxHashMap;

/// Lowest bit first.
type Bits = Vec<Lit>;

/// Clauses for terms.
pub(super) struct Blaster<C: Callbacks> {
    pub(super) sat: Sat<C>,
    top: Lit,
    done: FxHashMap<Term, Bits>,
    symbols: FxHashMap<Symbol, Bits>,
    /// Reads of each array: index and element.
    reads: FxHashMap<Symbol, Vec<(Bits, Bits)>>,
    gates: FxHashMap<(bool, Lit, Lit), Lit>,
}

impl<C: Callbacks> Blaster<C> {
    pub(super) fn new(mut sat: Sat<C>) -> Blaster<C> {
        let top = Lit::new(sat.new_var_default(), true);
        sat.add_clause_reuse(&mut vec![top]);
        let (done, symbols, reads, gates) = Default::default();
        Blaster { sat, top, done, symbols, reads, gates }
    }

    /// The literal of a formula.
    pub(super) fn literal(&mut self, terms: &Terms, term: Term) -> Lit {
        self.bits(terms, term)[0]
    }

    /// Says for each array that equal indices have equal elements.
    pub(super) fn relate_elements(&mut self) {
        let reads: Vec<Vec<(Bits, Bits)>> = self.reads.values().cloned().collect();
        for of_array in reads {
            for (n, (index, element)) in of_array.iter().enumerate() {
                for (other_index, other) in &of_array[n + 1..] {
                    let same = self.equal(index, other_index);
                    for (&a, &b) in element.iter().zip(other) {
                        self.clause(&[!same, !a, b]);
                        self.clause(&[!same, a, !b]);
                    }
                }
            }
        }
    }

    /// What the symbols are in the model that was found.
    pub(super) fn valuation(&self) -> Valuation {
        let number = |bits: &Bits| {
            let is_set = |lit: &Lit| self.sat.value_lit(*lit) == lbool::TRUE;
            bits.iter().enumerate().fold(0, |sum, (n, lit)| sum | (u64::from(is_set(lit)) << n))
        };
        let values = self.symbols.iter().map(|(&symbol, bits)| (symbol, number(bits))).collect();
        let elements = self.reads.iter().flat_map(|(&array, reads)| {
            reads.iter().map(move |(index, element)| ((array, number(index)), number(element)))
        });
        Valuation { values, elements: elements.collect() }
    }

    fn clause(&mut self, lits: &[Lit]) {
        self.sat.add_clause_reuse(&mut lits.to_vec());
    }

    fn fresh(&mut self) -> Lit {
        Lit::new(self.sat.new_var_default(), true)
    }

    fn fresh_bits(&mut self, bits: u8) -> Bits {
        (0..bits).map(|_| self.fresh()).collect()
    }

    fn constant(&self, value: u64, bits: u8) -> Bits {
        (0..bits).map(|n| if value >> n & 1 == 1 { self.top } else { !self.top }).collect()
    }

    fn bits(&mut self, terms: &Terms, term: Term) -> Bits {
        if let Some(bits) = self.done.get(&term) {
            return bits.clone();
        }
        let width = terms.bits(term);
        let result = match *terms.node(term) {
            Node::Const(value) => self.constant(value, width),
            Node::Var(symbol) => self.symbol(symbol, width),
            Node::Sum(constant, ref parts) => {
                let parts = parts.clone();
                let mut total = self.constant(constant, width);
                for &(factor, part) in &parts {
                    let part = self.bits(terms, part);
                    total = self.add_scaled(total, &part, factor);
                }
                total
            }
            Node::Binary(op, a, b) => {
                let (a, b) = (self.bits(terms, a), self.bits(terms, b));
                self.binary(op, &a, &b)
            }
            Node::Not(a) => self.bits(terms, a).into_iter().map(|lit| !lit).collect(),
            Node::Eq(a, b) => {
                let (a, b) = (self.bits(terms, a), self.bits(terms, b));
                vec![self.equal(&a, &b)]
            }
            Node::Ult(a, b) => {
                let (a, b) = (self.bits(terms, a), self.bits(terms, b));
                vec![self.less(&a, &b)]
            }
            Node::Slt(a, b) => {
                let (mut a, mut b) = (self.bits(terms, a), self.bits(terms, b));
                // With the sign bits inverted, signed order is unsigned order.
                for bits in [&mut a, &mut b] {
                    let sign = bits.last_mut().expect("a term has a bit");
                    *sign = !*sign;
                }
                vec![self.less(&a, &b)]
            }
            Node::Ite(c, a, b) => {
                let c = self.literal(terms, c);
                let (a, b) = (self.bits(terms, a), self.bits(terms, b));
                self.choose_bits(c, &a, &b)
            }
            Node::ZExt(a) => {
                let mut bits = self.bits(terms, a);
                bits.resize(usize::from(width), !self.top);
                bits
            }
            Node::SExt(a) => {
                let mut bits = self.bits(terms, a);
                let sign = *bits.last().expect("a term has a bit");
                bits.resize(usize::from(width), sign);
                bits
            }
            Node::Extract(low, a) => {
                let bits = self.bits(terms, a);
                bits[usize::from(low)..usize::from(low + width)].to_vec()
            }
            Node::Select(array, index) => {
                let index = self.bits(terms, index);
                let element = self.fresh_bits(width);
                self.reads.entry(array).or_default().push((index, element.clone()));
                element
            }
        };
        self.done.insert(term, result.clone());
        result
    }

    fn symbol(&mut self, symbol: Symbol, width: u8) -> Bits {
        if let Some(bits) = self.symbols.get(&symbol) {
            return bits.clone();
        }
        let bits = self.fresh_bits(width);
        self.symbols.insert(symbol, bits.clone());
        bits
    }

    fn and(&mut self, a: Lit, b: Lit) -> Lit {
        if a == !self.top || b == !self.top || a == !b {
            return !self.top;
        }
        if a == self.top || a == b {
            return b;
        }
        if b == self.top {
            return a;
        }
        let key = (false, a.min(b), a.max(b));
        if let Some(&gate) = self.gates.get(&key) {
            return gate;
        }
        let gate = self.fresh();
        self.clause(&[!gate, a]);
        self.clause(&[!gate, b]);
        self.clause(&[gate, !a, !b]);
        self.gates.insert(key, gate);
        gate
    }

    fn or(&mut self, a: Lit, b: Lit) -> Lit {
        !self.and(!a, !b)
    }

    fn xor(&mut self, a: Lit, b: Lit) -> Lit {
        if a == self.top {
            return !b;
        }
        if b == self.top {
            return !a;
        }
        if a == !self.top || b == !self.top {
            return if a == !self.top { b } else { a };
        }
        if a == b || a == !b {
            return if a == b { !self.top } else { self.top };
        }
        let key = (true, a.min(b), a.max(b));
        if let Some(&gate) = self.gates.get(&key) {
            return gate;
        }
        let gate = self.fresh();
        self.clause(&[!gate, a, b]);
        self.clause(&[!gate, !a, !b]);
        self.clause(&[gate, !a, b]);
        self.clause(&[gate, a, !b]);
        self.gates.insert(key, gate);
        gate
    }

    fn choose(&mut self, c: Lit, a: Lit, b: Lit) -> Lit {
        if a == b || c == self.top {
            return a;
        }
        if c == !self.top {
            return b;
        }
        let (yes, no) = (self.and(c, a), self.and(!c, b));
        self.or(yes, no)
    }

    fn choose_bits(&mut self, c: Lit, a: &[Lit], b: &[Lit]) -> Bits {
        a.iter().zip(b).map(|(&a, &b)| self.choose(c, a, b)).collect()
    }

    fn equal(&mut self, a: &[Lit], b: &[Lit]) -> Lit {
        let mut all = self.top;
        for (&a, &b) in a.iter().zip(b) {
            let differ = self.xor(a, b);
            all = self.and(all, !differ);
        }
        all
    }

    fn less(&mut self, a: &[Lit], b: &[Lit]) -> Lit {
        let mut less = !self.top;
        for (&a, &b) in a.iter().zip(b) {
            let differ = self.xor(a, b);
            less = self.choose(differ, b, less);
        }
        less
    }

    fn add(&mut self, a: &[Lit], b: &[Lit], carry: Lit) -> Bits {
        let mut carry = carry;
        let mut sum = Vec::with_capacity(a.len());
        for (&a, &b) in a.iter().zip(b) {
            let half = self.xor(a, b);
            sum.push(self.xor(half, carry));
            let (both, through) = (self.and(a, b), self.and(half, carry));
            carry = self.or(both, through);
        }
        sum
    }

    fn shifted(&self, a: &[Lit], by: usize) -> Bits {
        let zeros = std::iter::repeat_n(!self.top, by.min(a.len()));
        zeros.chain(a.iter().copied()).take(a.len()).collect()
    }

    /// `total + factor * part`, by the ones of the factor or those of its negation, whichever are fewer.
    fn add_scaled(&mut self, mut total: Bits, part: &[Lit], factor: u64) -> Bits {
        let width = total.len();
        let cut = crate::term::mask(width as u8);
        let minus = factor.wrapping_neg() & cut;
        let subtract = minus.count_ones() < (factor & cut).count_ones();
        let ones = if subtract { minus } else { factor & cut };
        for n in (0..width).filter(|n| ones >> n & 1 == 1) {
            let mut addend = self.shifted(part, n);
            if subtract {
                addend.iter_mut().for_each(|lit| *lit = !*lit);
            }
            let carry = if subtract { self.top } else { !self.top };
            total = self.add(&total, &addend, carry);
        }
        total
    }

    fn binary(&mut self, op: Op, a: &[Lit], b: &[Lit]) -> Bits {
        match op {
            Op::And => a.iter().zip(b).map(|(&a, &b)| self.and(a, b)).collect(),
            Op::Or => a.iter().zip(b).map(|(&a, &b)| self.or(a, b)).collect(),
            Op::Xor => a.iter().zip(b).map(|(&a, &b)| self.xor(a, b)).collect(),
            Op::Mul => self.multiply(a, b),
            Op::UDiv => self.divide(a, b).0,
            Op::URem => self.divide(a, b).1,
            Op::Shl => self.shift(a, b, false, !self.top),
            Op::LShr => self.shift(a, b, true, !self.top),
            Op::AShr => self.shift(a, b, true, *a.last().expect("a term has a bit")),
        }
    }

    fn multiply(&mut self, a: &[Lit], b: &[Lit]) -> Bits {
        let mut total = self.constant(0, a.len() as u8);
        for (n, &bit) in b.iter().enumerate() {
            let addend: Bits = self.shifted(a, n).into_iter().map(|lit| self.and(lit, bit)).collect();
            total = self.add(&total, &addend, !self.top);
        }
        total
    }

    /// Long division: quotient and remainder. Dividing by zero gives all ones and the dividend, as it comes out.
    fn divide(&mut self, a: &[Lit], b: &[Lit]) -> (Bits, Bits) {
        let width = a.len();
        // One bit more, so that the shifted remainder fits.
        let mut divisor = b.to_vec();
        divisor.push(!self.top);
        let mut remainder = vec![!self.top; width + 1];
        let mut quotient = vec![!self.top; width];
        for n in (0..width).rev() {
            remainder.rotate_right(1);
            remainder[0] = a[n];
            let smaller = self.less(&remainder, &divisor);
            let inverted: Bits = divisor.iter().map(|&lit| !lit).collect();
            let difference = self.add(&remainder, &inverted, self.top);
            remainder = self.choose_bits(smaller, &remainder, &difference);
            quotient[n] = !smaller;
        }
        remainder.truncate(width);
        (quotient, remainder)
    }

    /// A shift in stages, one for each bit of the distance.
    fn shift(&mut self, a: &[Lit], by: &[Lit], right: bool, fill: Lit) -> Bits {
        let width = a.len();
        let mut result = a.to_vec();
        let mut too_far = !self.top;
        for (stage, &bit) in by.iter().enumerate() {
            let distance = 1usize.checked_shl(stage as u32).filter(|&d| d < width);
            let Some(distance) = distance else {
                too_far = self.or(too_far, bit);
                continue;
            };
            let moved: Bits = (0..width)
                .map(|n| {
                    let from = if right { n.checked_add(distance) } else { n.checked_sub(distance) };
                    from.and_then(|from| result.get(from)).copied().unwrap_or(fill)
                })
                .collect();
            result = self.choose_bits(bit, &moved, &result);
        }
        let filled = vec![fill; width];
        self.choose_bits(too_far, &filled, &result)
    }
}
