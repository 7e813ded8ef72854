//! Purity conditions: boolean combinations of comparisons, in disjunctive normal form.
//!
//! The conditions of "Awaiting for Godot" (B. Jonsson, M. Lång, K. Sagonas, FMCAD 2022), Definition 1, are expressions in
//! disjunctive normal form over registers. The paper's implementation restricts comparisons to a register and a constant,
//! and so loses loops that compare two loaded pointers. Here an [`Atom`] compares any two operands, of which the first may
//! be masked (`x & 1 != 0`), and conditions are capped in size: what does not fit is [`TooLarge`], and its loop is left
//! alone.
//!
//! A conjunct must never be weakened: `v < 3 and v < 5` is `v < 3`. Atoms over the same value are related by
//! [`Atom::implies`], which knows equal operands and ranges of constants; of two atoms one of which implies the other, the
//! stronger stays in a conjunction, and of two disjuncts the weaker stays.
//!
//! Each disjunct carries the paper's "earliest insertion point": the last access on its path that may fault or race, in
//! front of which the path must not be cut off.

use selvedge_ir::{CmpOp, Inst, Operand, Type, eval};

/// The most disjuncts that a condition may have.
pub const MAX_DISJUNCTS: usize = 24;
/// The most atoms that a disjunct may have.
pub const MAX_ATOMS: usize = 24;

/// A condition became too large.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLarge;

/// A comparison `a & mask op b` of integers or pointers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Atom {
    /// Left side; not a constant.
    pub a: Operand,
    /// The bits of the left side that count.
    pub mask: u64,
    /// The comparison, not one of floating-point numbers.
    pub op: CmpOp,
    /// Right side.
    pub b: Operand,
    /// Type of both sides.
    pub ty: Type,
}

/// A comparison that may be decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Literal {
    /// It always holds, or never.
    Known(bool),
    /// It depends.
    Atom(Atom),
}

/// A conjunction of atoms.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Conjunction {
    /// All of these hold; none implies another.
    pub atoms: Vec<Atom>,
    /// The access that must not be cut off: the conjunction may be tested only behind it.
    pub after: Option<Inst>,
}

/// A disjunction of conjunctions. Without disjuncts it never holds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Condition {
    /// The ways in which it can hold.
    pub disjuncts: Vec<Conjunction>,
}

/// The comparison that holds exactly where this one does not.
pub fn inverse(op: CmpOp) -> CmpOp {
    use CmpOp::*;
    match op {
        Eq => Ne,
        Ne => Eq,
        Ult => Uge,
        Ule => Ugt,
        Ugt => Ule,
        Uge => Ult,
        Slt => Sge,
        Sle => Sgt,
        Sgt => Sle,
        Sge => Slt,
        float => float,
    }
}

/// The comparison that asks the same with its sides exchanged.
pub fn mirrored(op: CmpOp) -> CmpOp {
    use CmpOp::*;
    match op {
        Ult => Ugt,
        Ule => Uge,
        Ugt => Ult,
        Uge => Ule,
        Slt => Sgt,
        Sle => Sge,
        Sgt => Slt,
        Sge => Sle,
        symmetric => symmetric,
    }
}

/// The comparison of a value with a constant: always, never, or in its simplest form.
fn against_constant(op: CmpOp, ty: Type, k: u64) -> Result<(CmpOp, u64), bool> {
    use CmpOp::*;
    let (least, most) = (1 << (ty.bits() - 1), ty.mask() >> 1);
    match op {
        Ult | Uge if k == 0 => Err(op == Uge),
        Ule | Ugt if k == ty.mask() => Err(op == Ule),
        Slt | Sge if k == least => Err(op == Sge),
        Sle | Sgt if k == most => Err(op == Sle),
        Ult if k == 1 => Ok((Eq, 0)),
        Uge if k == 1 => Ok((Ne, 0)),
        Ule if k == 0 => Ok((Eq, 0)),
        Ugt if k == 0 => Ok((Ne, 0)),
        _ => Ok((op, k)),
    }
}

impl Literal {
    /// `a & mask op b`, simplified.
    pub fn new(ty: Type, a: Operand, mask: u64, op: CmpOp, b: Operand) -> Literal {
        let mask = mask & ty.mask();
        let defined = |operand| if operand == Operand::Undef { Operand::Const(0) } else { operand };
        let (a, b) = (defined(a), defined(b));
        match (a, b) {
            (Operand::Const(x), Operand::Const(y)) => Literal::Known(eval::cmp(op, ty, x & mask, y)),
            (Operand::Const(x), other) => Literal::plain(ty, other, mirrored(op), Operand::Const(x & mask)),
            (_, Operand::Const(y)) if mask != ty.mask() => match y & !mask {
                // A single bit is set or not.
                0 if mask.is_power_of_two() && op == CmpOp::Ne => {
                    Literal::Atom(Atom { a, mask, op: CmpOp::Eq, b: Operand::Const(y ^ mask), ty })
                }
                0 => Literal::Atom(Atom { a, mask, op, b, ty }),
                _ if op == CmpOp::Eq => Literal::Known(false),
                _ if op == CmpOp::Ne => Literal::Known(true),
                _ => Literal::Atom(Atom { a, mask, op, b, ty }),
            },
            _ if mask != ty.mask() => Literal::Atom(Atom { a, mask, op, b, ty }),
            _ => Literal::plain(ty, a, op, b),
        }
    }

    /// `a op b`, where `a` is no constant.
    fn plain(ty: Type, a: Operand, op: CmpOp, b: Operand) -> Literal {
        use CmpOp::{Eq, Sge, Sle, Uge, Ule};
        let mask = ty.mask();
        match (a, b) {
            (_, Operand::Const(k)) => match against_constant(op, ty, k) {
                Ok((op, k)) => Literal::Atom(Atom { a, mask, op, b: Operand::Const(k), ty }),
                Err(known) => Literal::Known(known),
            },
            _ if a == b => Literal::Known(matches!(op, Eq | Ule | Uge | Sle | Sge)),
            // The younger value stands on the left, so that equal questions look equal.
            (Operand::Value(x), Operand::Value(y)) if x < y => {
                Literal::Atom(Atom { a: b, mask, op: mirrored(op), b: a, ty })
            }
            (Operand::Value(_), _) => Literal::Atom(Atom { a, mask, op, b, ty }),
            _ => Literal::Atom(Atom { a: b, mask, op: mirrored(op), b: a, ty }),
        }
    }

    /// The literal that holds exactly where this one does not.
    pub fn negated(self) -> Literal {
        match self {
            Literal::Known(known) => Literal::Known(!known),
            Literal::Atom(atom) => Literal::new(atom.ty, atom.a, atom.mask, inverse(atom.op), atom.b),
        }
    }
}

/// The values that satisfy a comparison with a constant, as a range of signed or of unsigned numbers.
fn range(op: CmpOp, ty: Type, k: u64) -> Option<(bool, i128, i128)> {
    use CmpOp::*;
    let unsigned = i128::from(k);
    let signed = i128::from(eval::sign_extend(ty, k));
    let (umax, smax) = (i128::from(ty.mask()), i128::from(ty.mask() >> 1));
    let smin = -smax - 1;
    Some(match op {
        Ult => (false, 0, unsigned - 1),
        Ule => (false, 0, unsigned),
        Ugt => (false, unsigned + 1, umax),
        Uge => (false, unsigned, umax),
        Slt => (true, smin, signed - 1),
        Sle => (true, smin, signed),
        Sgt => (true, signed + 1, smax),
        Sge => (true, signed, smax),
        _ => return None,
    })
}

impl Atom {
    fn same_value(&self, other: &Atom) -> bool {
        self.a == other.a && self.mask == other.mask && self.ty == other.ty
    }

    /// Whether the other atom holds wherever this one does, as far as can be seen.
    pub fn implies(&self, other: &Atom) -> bool {
        if let (CmpOp::Eq, Operand::Const(k), Operand::Const(l)) = (self.op, self.b, other.b)
            && self.a == other.a
            && self.ty == other.ty
            && other.mask & !self.mask == 0
        {
            // The bits are known, and so are fewer of them: of a flag that is 1, the lowest bit is not 0.
            return eval::cmp(other.op, self.ty, k & other.mask, l);
        }
        if !self.same_value(other) {
            return false;
        }
        if self.b == other.b && implies_op(self.op, other.op) {
            return true;
        }
        let (Operand::Const(k), Operand::Const(l)) = (self.b, other.b) else { return false };
        let Some((signed, low, high)) = range(self.op, self.ty, k) else { return false };
        let number = if signed { i128::from(eval::sign_extend(self.ty, l)) } else { i128::from(l) };
        match (other.op, range(other.op, self.ty, l)) {
            (CmpOp::Ne, _) => number < low || number > high,
            (CmpOp::Eq, _) => low == number && high == number,
            (_, Some((other_signed, from, to))) => other_signed == signed && from <= low && high <= to,
            _ => false,
        }
    }

    /// Whether the two cannot both hold, as far as can be seen.
    pub fn contradicts(&self, other: &Atom) -> bool {
        match Literal::Atom(*other).negated() {
            Literal::Known(known) => known,
            Literal::Atom(negated) => self.implies(&negated),
        }
    }

    /// One atom for two, where `>=` and `!=` of the same constant meet.
    fn tightened(&self, other: &Atom) -> Option<Atom> {
        use CmpOp::*;
        if !self.same_value(other) || self.b != other.b || other.op != Ne {
            return None;
        }
        let op = match self.op {
            Ule => Ult,
            Uge => Ugt,
            Sle => Slt,
            Sge => Sgt,
            _ => return None,
        };
        match Literal::new(self.ty, self.a, self.mask, op, self.b) {
            Literal::Atom(atom) => Some(atom),
            Literal::Known(_) => None,
        }
    }
}

fn implies_op(this: CmpOp, other: CmpOp) -> bool {
    use CmpOp::*;
    this == other
        || match this {
            Eq => matches!(other, Ule | Uge | Sle | Sge),
            Ult => matches!(other, Ule | Ne),
            Ugt => matches!(other, Uge | Ne),
            Slt => matches!(other, Sle | Ne),
            Sgt => matches!(other, Sge | Ne),
            _ => false,
        }
}

impl Conjunction {
    /// Adds an atom; whether the conjunction can still hold.
    pub fn add(&mut self, atom: Atom) -> bool {
        if self.contradicts(&atom) {
            return false;
        }
        if self.implies(&atom) {
            return true;
        }
        let tighter = self.atoms.iter().find_map(|old| old.tightened(&atom).or_else(|| atom.tightened(old)));
        let atom = tighter.unwrap_or(atom);
        self.atoms.retain(|old| !atom.implies(old));
        self.atoms.push(atom);
        true
    }

    /// Whether some atom implies this one.
    pub fn implies(&self, atom: &Atom) -> bool {
        self.atoms.iter().any(|own| own.implies(atom))
    }

    /// Whether some atom contradicts this one.
    pub fn contradicts(&self, atom: &Atom) -> bool {
        self.atoms.iter().any(|own| own.contradicts(atom) || atom.contradicts(own))
    }

    /// Whether the other conjunction holds wherever this one does.
    fn implies_all(&self, other: &Conjunction) -> bool {
        other.atoms.iter().all(|atom| self.implies(atom))
    }

    /// Both; none if they cannot hold together.
    pub fn and(&self, other: &Conjunction) -> Option<Conjunction> {
        let mut both = self.clone();
        both.after = self.after.or(other.after);
        other.atoms.iter().all(|&atom| both.add(atom)).then_some(both)
    }

    /// `a` for `a and p` and `a and not p`, if they may be tested at the same place.
    fn merged(&self, other: &Conjunction) -> Option<Conjunction> {
        if self.after != other.after || self.atoms.len() != other.atoms.len() {
            return None;
        }
        let mut own = self.atoms.iter().filter(|atom| !other.atoms.contains(atom));
        let mut others = other.atoms.iter().filter(|atom| !self.atoms.contains(atom));
        let (p, q) = (own.next()?, others.next()?);
        if own.next().is_some() || others.next().is_some() || Literal::Atom(*p).negated() != Literal::Atom(*q) {
            return None;
        }
        let atoms = self.atoms.iter().copied().filter(|atom| atom != p).collect();
        Some(Conjunction { atoms, after: self.after })
    }
}

impl Condition {
    /// A condition that never holds.
    pub fn never() -> Condition {
        Condition::default()
    }

    /// A condition that always holds.
    pub fn always() -> Condition {
        Condition { disjuncts: vec![Conjunction::default()] }
    }

    /// The condition that a literal holds.
    pub fn literal(literal: Literal) -> Condition {
        match literal {
            Literal::Known(true) => Condition::always(),
            Literal::Known(false) => Condition::never(),
            Literal::Atom(atom) => Condition { disjuncts: vec![Conjunction { atoms: vec![atom], after: None }] },
        }
    }

    /// Whether it never holds.
    pub fn is_never(&self) -> bool {
        self.disjuncts.is_empty()
    }

    /// The only way in which it can hold, if there is just one.
    pub fn single(&self) -> Option<&Conjunction> {
        if let [one] = self.disjuncts.as_slice() { Some(one) } else { None }
    }

    /// Adds a way to hold. What implies another way goes, and `a and p`, `a and not p` become `a`.
    pub fn add(&mut self, new: Conjunction) -> Result<(), TooLarge> {
        if new.atoms.len() > MAX_ATOMS {
            return Err(TooLarge);
        }
        if self.disjuncts.iter().any(|old| new.implies_all(old)) {
            return Ok(());
        }
        self.disjuncts.retain(|old| !old.implies_all(&new));
        let merged = self.disjuncts.iter().enumerate().find_map(|(n, old)| Some((n, old.merged(&new)?)));
        if let Some((n, merged)) = merged {
            self.disjuncts.remove(n);
            return self.add(merged);
        }
        if self.disjuncts.len() >= MAX_DISJUNCTS {
            return Err(TooLarge);
        }
        self.disjuncts.push(new);
        Ok(())
    }

    /// Either of the two.
    pub fn or(mut self, other: Condition) -> Result<Condition, TooLarge> {
        for conjunction in other.disjuncts {
            self.add(conjunction)?;
        }
        Ok(self)
    }

    /// Both.
    pub fn and(&self, other: &Condition) -> Result<Condition, TooLarge> {
        let mut both = Condition::never();
        for a in &self.disjuncts {
            for b in &other.disjuncts {
                if let Some(conjunction) = a.and(b) {
                    both.add(conjunction)?;
                }
            }
        }
        Ok(both)
    }

    /// No way of holding may be tested in front of this access, unless it must not be tested before a later one anyway.
    pub fn only_after(&mut self, access: Inst) {
        for conjunction in &mut self.disjuncts {
            conjunction.after.get_or_insert(access);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use selvedge_ir::{EntityRef, Value};

    const TY: Type = Type::I32;

    fn atom(op: CmpOp, k: u64) -> Atom {
        match Literal::new(TY, Operand::Value(Value::new(0)), u64::MAX, op, Operand::Const(k)) {
            Literal::Atom(atom) => atom,
            Literal::Known(known) => panic!("the comparison is always {known}"),
        }
    }

    fn all(atoms: &[Atom]) -> Option<Conjunction> {
        let mut conjunction = Conjunction::default();
        atoms.iter().all(|&atom| conjunction.add(atom)).then_some(conjunction)
    }

    #[test]
    fn of_two_bounds_the_stronger_stays() {
        use CmpOp::{Slt, Ult};
        assert_eq!(all(&[atom(Ult, 3), atom(Ult, 5)]).map(|c| c.atoms), Some(vec![atom(Ult, 3)]));
        assert_eq!(all(&[atom(Slt, 5), atom(Slt, 3)]).map(|c| c.atoms), Some(vec![atom(Slt, 3)]));
        // Neither implies the other: both stay.
        assert_eq!(all(&[atom(Slt, 3), atom(Ult, 5)]).map(|c| c.atoms.len()), Some(2));
    }

    #[test]
    fn at_least_and_not_equal_is_greater() {
        use CmpOp::{Ne, Sge, Sgt};
        assert_eq!(all(&[atom(Sge, 4), atom(Ne, 4)]).map(|c| c.atoms), Some(vec![atom(Sgt, 4)]));
        assert_eq!(all(&[atom(Ne, 4), atom(Sge, 4)]).map(|c| c.atoms), Some(vec![atom(Sgt, 4)]));
    }

    #[test]
    fn contradictions_never_hold() {
        use CmpOp::{Eq, Ne, Slt, Ugt, Ult};
        for pair in [(atom(Eq, 1), atom(Eq, 2)), (atom(Ult, 3), atom(Ugt, 7)), (atom(Eq, 5), atom(Ne, 5))] {
            assert_eq!(all(&[pair.0, pair.1]), None);
        }
        assert!(all(&[atom(Slt, 0), atom(Ugt, 7)]).is_some(), "negative numbers are large");
    }

    /// Implication against its definition, on all bytes.
    #[test]
    fn implication_is_true_only_where_it_holds() {
        let ty = Type::I8;
        let x = Operand::Value(Value::new(0));
        let holds = |literal: Literal, value: u64| match literal {
            Literal::Known(known) => known,
            Literal::Atom(Atom { mask, op, b: Operand::Const(k), .. }) => eval::cmp(op, ty, value & mask, k),
            Literal::Atom(_) => unreachable!("all right sides are constants"),
        };
        let ops = [
            CmpOp::Eq,
            CmpOp::Ne,
            CmpOp::Ult,
            CmpOp::Ule,
            CmpOp::Ugt,
            CmpOp::Uge,
            CmpOp::Slt,
            CmpOp::Sle,
            CmpOp::Sgt,
            CmpOp::Sge,
        ];
        let constants = [0, 1, 2, 5, 126, 127, 128, 129, 254, 255];
        let masks = [0xff, 1, 0x80, 5];
        let mut literals = Vec::new();
        for (mask, op) in masks.into_iter().flat_map(|mask| ops.map(|op| (mask, op))) {
            literals.extend(constants.map(|k| (mask, op, k, Literal::new(ty, x, mask, op, Operand::Const(k)))));
        }
        for &(mask, op, k, one) in &literals {
            for value in 0..256 {
                assert_eq!(holds(one, value), eval::cmp(op, ty, value & mask, k), "simplification keeps the meaning");
                assert_ne!(holds(one, value), holds(one.negated(), value));
            }
            for &(_, _, _, two) in &literals {
                let (Literal::Atom(a), Literal::Atom(b)) = (one, two) else { continue };
                let both: Vec<u64> = (0..256).filter(|&v| holds(one, v) && holds(two, v)).collect();
                if a.implies(&b) {
                    assert!((0..256).all(|v| !holds(one, v) || holds(two, v)), "{a:?} {b:?}");
                }
                match all(&[a, b]) {
                    None => assert!(both.is_empty(), "{a:?} {b:?}"),
                    Some(c) => {
                        let meet = |v: u64| c.atoms.iter().all(|&atom| holds(Literal::Atom(atom), v));
                        assert!((0..256).all(|v| meet(v) == both.contains(&v)), "{a:?} and {b:?} became {c:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_condition_that_does_not_matter_goes() {
        let mut condition = Condition::never();
        let (p, q) = (atom(CmpOp::Eq, 1), atom(CmpOp::Ne, 1));
        let mut other = atom(CmpOp::Eq, 0);
        other.a = Operand::Value(Value::new(1));
        for choice in [p, q] {
            let conjunction = all(&[other, choice]).expect("they do not contradict each other");
            condition.add(conjunction).expect("it is small");
        }
        assert_eq!(condition.disjuncts, vec![Conjunction { atoms: vec![other], after: None }]);
    }

    #[test]
    fn large_conditions_are_refused() {
        let mut condition = Condition::never();
        let mut result = Ok(());
        for n in 0..=MAX_DISJUNCTS {
            let mut one = atom(CmpOp::Eq, 5);
            one.a = Operand::Value(Value::new(n));
            result = condition.add(Conjunction { atoms: vec![one], after: None });
        }
        assert_eq!(result, Err(TooLarge));
    }
}
