//! Rules that simplify one instruction, looking at most at the definitions of its operands.
//!
//! A rule may only replace a computation by an equal one. Events are never touched. Constants are computed with
//! [`selvedge_ir::eval`], as the machine would; what fails there (a division by zero) is left for the machine to report.
//! `undef` is not a constant here: it is passed on, not computed with.

use selvedge_ir::{BinaryOp, CastOp, CmpOp, Function, InstKind, Intrinsic, Operand, Type, Value, ValueDef, eval};

/// What an instruction can be replaced by.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Simpler {
    /// These operands, one per result.
    Operands(Vec<Operand>),
    /// Another instruction with the same results.
    Inst(InstKind),
}

fn operand(operand: Operand) -> Option<Simpler> {
    Some(Simpler::Operands(vec![operand]))
}

fn constant(bits: u64) -> Option<Simpler> {
    operand(Operand::Const(bits))
}

fn truth(value: bool) -> Option<Simpler> {
    constant(u64::from(value))
}

fn inst(kind: InstKind) -> Option<Simpler> {
    Some(Simpler::Inst(kind))
}

/// The simpler form of an instruction with these results, if a rule knows one.
pub(crate) fn simplify(func: &Function, kind: &InstKind, results: &[Value]) -> Option<Simpler> {
    match *kind {
        InstKind::Phi { ref args, .. } => phi(args, results),
        InstKind::Binary { op, ty, a, b } => binary(func, op, ty, a, b),
        InstKind::FNeg { ty, a: Operand::Const(a) } => constant(eval::fneg(ty, a)),
        InstKind::Cmp { op, ty, a, b } => cmp(func, op, ty, a, b),
        InstKind::Cast { op, from, to, a } => cast(func, op, from, to, a),
        InstKind::Select { ty, cond, a, b } => select(ty, cond, a, b),
        InstKind::PtrAdd { base, index, scale, offset } => ptr_add(func, base, index, scale, offset),
        InstKind::Intrinsic { op, ty, ref args } => intrinsic(op, ty, args),
        InstKind::Assume { cond: Operand::Const(1), .. } => Some(Simpler::Operands(Vec::new())),
        InstKind::CondBr { cond, then_dest, else_dest } => {
            let cond = negated(func, cond)?;
            inst(InstKind::CondBr { cond, then_dest: else_dest, else_dest: then_dest })
        }
        _ => None,
    }
}

/// The instruction that defines an operand, if it is a value and not a parameter.
fn definition(func: &Function, operand: Operand) -> Option<&InstKind> {
    match operand {
        Operand::Value(value) => match func.values[value].def {
            ValueDef::Result(inst, _) => Some(&func.insts[inst].kind),
            ValueDef::Param(_) => None,
        },
        _ => None,
    }
}

/// `c` where the operand is `xor i1 c, true`.
fn negated(func: &Function, operand: Operand) -> Option<Operand> {
    match *definition(func, operand)? {
        InstKind::Binary { op: BinaryOp::Xor, ty: Type::I1, a, b: Operand::Const(1) } => Some(a),
        _ => None,
    }
}

/// A phi of one operand (and possibly itself) is that operand.
fn phi(args: &[(selvedge_ir::Block, Operand)], results: &[Value]) -> Option<Simpler> {
    let own = Operand::Value(*results.first()?);
    let mut others = args.iter().map(|&(_, arg)| arg).filter(|&arg| arg != own);
    let first = others.next()?;
    others.all(|arg| arg == first).then(|| operand(first))?
}

fn binary(func: &Function, op: BinaryOp, ty: Type, a: Operand, b: Operand) -> Option<Simpler> {
    use BinaryOp::{AShr, Add, And, LShr, Mul, Or, SDiv, Shl, Sub, UDiv, Xor};
    if let (Operand::Const(x), Operand::Const(y)) = (a, b) {
        return eval::binary(op, ty, x, y).ok().and_then(constant);
    }
    if ty.is_float() {
        return None;
    }
    if matches!(op, Add | Mul | And | Or | Xor) && matches!(a, Operand::Const(_)) {
        return inst(InstKind::Binary { op, ty, a: b, b: a });
    }
    if a == b && matches!(a, Operand::Value(_)) {
        match op {
            Sub | Xor => return constant(0),
            And | Or => return operand(a),
            _ => {}
        }
    }
    let Operand::Const(c) = b else {
        return None;
    };
    match op {
        Add | Sub | Or | Xor | Shl | LShr | AShr if c == 0 => operand(a),
        Mul | UDiv | SDiv if c == 1 && ty != Type::I1 => operand(a),
        Mul | And if c == 0 => constant(0),
        And if c == ty.mask() => operand(a),
        Or if c == ty.mask() => constant(c),
        Xor if ty == Type::I1 => not(func, a),
        _ => None,
    }
}

/// The negation of a truth value.
fn not(func: &Function, a: Operand) -> Option<Simpler> {
    if let Some(original) = negated(func, a) {
        return operand(original);
    }
    match *definition(func, a)? {
        InstKind::Cmp { op, ty, a, b } => inst(InstKind::Cmp { op: inverse(op), ty, a, b }),
        _ => None,
    }
}

fn cmp(func: &Function, op: CmpOp, ty: Type, a: Operand, b: Operand) -> Option<Simpler> {
    use CmpOp::{Eq, Ne, Sge, Sle, Uge, Ule};
    if let (Operand::Const(x), Operand::Const(y)) = (a, b) {
        return truth(eval::cmp(op, ty, x, y));
    }
    if ty.is_float() {
        return None;
    }
    if matches!(a, Operand::Const(_)) {
        return inst(InstKind::Cmp { op: mirrored(op), ty, a: b, b: a });
    }
    if a == b && matches!(a, Operand::Value(_)) {
        return truth(matches!(op, Eq | Ule | Uge | Sle | Sge));
    }
    let (Eq | Ne, Operand::Const(c)) = (op, b) else {
        return None;
    };
    // `x != 0` of a widened value is the same question of the value itself.
    if let Some(&InstKind::Cast { op: CastOp::ZExt, from, a: narrow, .. }) = definition(func, a) {
        return match c <= from.mask() {
            true => inst(InstKind::Cmp { op, ty: from, a: narrow, b }),
            false => truth(op == Ne),
        };
    }
    match (ty, op, c) {
        (Type::I1, Eq, 1) | (Type::I1, Ne, 0) => operand(a),
        (Type::I1, _, _) => inst(InstKind::Binary { op: BinaryOp::Xor, ty, a, b: Operand::Const(1) }),
        _ => None,
    }
}

/// The comparison that holds exactly where this one does not.
fn inverse(op: CmpOp) -> CmpOp {
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
        FFalse => FTrue,
        FTrue => FFalse,
        FOeq => FUne,
        FUne => FOeq,
        FOgt => FUle,
        FUle => FOgt,
        FOge => FUlt,
        FUlt => FOge,
        FOlt => FUge,
        FUge => FOlt,
        FOle => FUgt,
        FUgt => FOle,
        FOne => FUeq,
        FUeq => FOne,
        FOrd => FUno,
        FUno => FOrd,
    }
}

/// The integer comparison that asks the same with its operands exchanged.
fn mirrored(op: CmpOp) -> CmpOp {
    use CmpOp::{Sge, Sgt, Sle, Slt, Uge, Ugt, Ule, Ult};
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

fn cast(func: &Function, op: CastOp, from: Type, to: Type, a: Operand) -> Option<Simpler> {
    use CastOp::{Bitcast, IntToPtr, PtrToInt, SExt, Trunc, ZExt};
    if let Operand::Const(bits) = a {
        return constant(eval::cast(op, from, to, bits));
    }
    if op == Bitcast && from == to {
        return operand(a);
    }
    let Some(&InstKind::Cast { op: inner, from: source, a: original, .. }) = definition(func, a) else {
        return None;
    };
    let again = |op| inst(InstKind::Cast { op, from: source, to, a: original });
    match (op, inner) {
        (Trunc, ZExt | SExt) if source == to => operand(original),
        (Trunc, ZExt | SExt) if source.bits() > to.bits() => again(Trunc),
        (Trunc, ZExt | SExt) => again(inner),
        (Trunc, Trunc) => again(Trunc),
        (ZExt, ZExt) | (SExt, SExt) => again(op),
        // The widened value is not negative.
        (SExt, ZExt) => again(ZExt),
        (PtrToInt, IntToPtr) if source == Type::I64 && to == Type::I64 => operand(original),
        (IntToPtr, PtrToInt) if from == Type::I64 => operand(original),
        (Bitcast, Bitcast) if source == to => operand(original),
        _ => None,
    }
}

fn select(ty: Type, cond: Operand, a: Operand, b: Operand) -> Option<Simpler> {
    match (cond, a, b) {
        (Operand::Const(bits), ..) => operand(if bits == 0 { b } else { a }),
        _ if a == b => operand(a),
        (_, Operand::Const(1), Operand::Const(0)) if ty == Type::I1 => operand(cond),
        (_, Operand::Const(0), Operand::Const(1)) if ty == Type::I1 => {
            inst(InstKind::Binary { op: BinaryOp::Xor, ty, a: cond, b: Operand::Const(1) })
        }
        _ => None,
    }
}

/// A pointer at a constant distance has index 0, scale 1 and the distance as its offset.
fn ptr_add(func: &Function, base: Operand, index: Operand, scale: i64, offset: i64) -> Option<Simpler> {
    let zero = Operand::Const(0);
    match (base, index) {
        (_, Operand::Const(n)) if n != 0 || scale != 1 => {
            let offset = eval::ptr_add(0, n, scale, offset) as i64;
            return inst(InstKind::PtrAdd { base, index: zero, scale: 1, offset });
        }
        (_, _) if scale == 0 => return inst(InstKind::PtrAdd { base, index: zero, scale: 1, offset }),
        (_, Operand::Const(0)) if offset == 0 => return operand(base),
        (Operand::Const(address), Operand::Const(0)) => return constant(eval::ptr_add(address, 0, 1, offset)),
        (Operand::Global(id, at), Operand::Const(0)) => return operand(Operand::Global(id, at.wrapping_add(offset))),
        _ => {}
    }
    match *definition(func, base)? {
        InstKind::PtrAdd { base, index: Operand::Const(0), offset: inner, .. } => {
            inst(InstKind::PtrAdd { base, index, scale, offset: inner.wrapping_add(offset) })
        }
        _ => None,
    }
}

fn intrinsic(op: Intrinsic, ty: Type, args: &[Operand]) -> Option<Simpler> {
    let mut bits = [0; 3];
    for (place, arg) in bits.iter_mut().zip(args) {
        match arg {
            Operand::Const(value) => *place = *value,
            _ => return None,
        }
    }
    let (value, overflow) = eval::intrinsic(op, ty, bits);
    let both = [Operand::Const(value), Operand::Const(u64::from(overflow))];
    Some(Simpler::Operands(both[..op.result_types(ty).len()].to_vec()))
}
