//! Which instructions of a function need code, and what they really use.
//!
//! Before registers are given out, four things are decided for a function:
//!
//! 1. *Aliases.* A conversion that does not change the bits of a register (zero extension, pointer to integer, a
//!    comparison of a truth value with 0) is no instruction: its result is its operand.
//! 2. *Addresses.* A pointer plus a constant that only serves as an address is folded into the access.
//! 3. *Fusion.* A comparison whose only use is the branch at the end of a block becomes part of the branch.
//! 4. *Need.* What has no effect and no use gets no code. A load is an effect: it can fail, and others can see it.
//!
//! [`Selection::uses`] lists the values that an instruction's code will read, after all of this; the register allocator
//! and the encoder both go by it.

use selvedge_ir::{
    AwaitKind, BinaryOp, Block, Callee, CastOp, CmpOp, EntityRef, EntityVec, FuncId, Function, GlobalId, Inst,
    InstKind, Operand, Type, Value, ValueDef,
};

/// Addresses that are known when a program is loaded.
pub struct Addresses {
    /// Of globals; none where each thread has its own instance.
    pub globals: EntityVec<GlobalId, Option<u64>>,
    /// Of functions.
    pub funcs: EntityVec<FuncId, u64>,
}

/// What an operand comes down to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Root {
    /// The result of an instruction, or a parameter.
    Value(Value),
    /// A constant.
    Const(u64),
    /// The address of the thread's instance of a global, plus an offset.
    ThreadLocal(GlobalId, i64),
}

/// The decisions for one function.
pub struct Selection<'a> {
    function: &'a Function,
    addresses: &'a Addresses,
    /// Which instructions get code.
    pub needed: Vec<bool>,
    /// How often each value is used by code.
    pub use_count: Vec<u32>,
    /// Some instruction that uses each value.
    user: Vec<Option<Inst>>,
    fused: Vec<bool>,
}

impl<'a> Selection<'a> {
    /// Decides for a function, given its reachable blocks.
    pub fn new(function: &'a Function, addresses: &'a Addresses, order: &[Block]) -> Selection<'a> {
        let mut this = Selection {
            function,
            addresses,
            needed: vec![false; function.insts.len()],
            use_count: vec![0; function.values.len()],
            user: vec![None; function.values.len()],
            fused: vec![false; function.insts.len()],
        };
        this.mark_needed(order);
        this.fuse_comparisons(order);
        this
    }

    fn mark_needed(&mut self, order: &[Block]) {
        let mut work = Vec::new();
        for &block in order {
            for &inst in &self.function.blocks[block].insts {
                if has_effect(&self.function.insts[inst].kind) {
                    self.needed[inst.index()] = true;
                    work.push(inst);
                }
            }
        }
        let mut used = Vec::new();
        while let Some(inst) = work.pop() {
            used.clear();
            self.uses(inst, &mut |value| used.push(value));
            for &value in &used {
                self.use_count[value.index()] += 1;
                self.user[value.index()] = Some(inst);
                if let ValueDef::Result(def, _) = self.function.values[value].def
                    && !self.needed[def.index()]
                {
                    self.needed[def.index()] = true;
                    work.push(def);
                }
            }
        }
    }

    fn fuse_comparisons(&mut self, order: &[Block]) {
        for &block in order {
            let Some(last) = self.function.terminator(block) else { continue };
            let InstKind::CondBr { cond, .. } = self.function.insts[last].kind else { continue };
            let Root::Value(value) = self.root(cond) else { continue };
            if let Some((inst, InstKind::Cmp { op, ty, .. })) = self.definition(value)
                && self.use_count[value.index()] == 1
                && is_fusible(*op, *ty)
            {
                self.fused[inst.index()] = true;
                self.needed[inst.index()] = false;
            }
        }
    }

    /// Whether a comparison is part of a branch.
    pub fn is_fused(&self, inst: Inst) -> bool {
        self.fused[inst.index()]
    }

    /// The instruction that defines a value.
    pub fn definition(&self, value: Value) -> Option<(Inst, &'a InstKind)> {
        match self.function.values[value].def {
            ValueDef::Param(_) => None,
            ValueDef::Result(inst, _) => Some((inst, &self.function.insts[inst].kind)),
        }
    }

    /// What an operand comes down to once aliases are followed.
    pub fn root(&self, operand: Operand) -> Root {
        let mut operand = operand;
        loop {
            let value = match operand {
                Operand::Value(value) => value,
                Operand::Const(bits) => return Root::Const(bits),
                Operand::Undef => return Root::Const(0),
                Operand::Func(func) => return Root::Const(self.addresses.funcs[func]),
                Operand::Global(global, offset) => {
                    return match self.addresses.globals[global] {
                        Some(base) => Root::Const(base.wrapping_add(offset as u64)),
                        None => Root::ThreadLocal(global, offset),
                    };
                }
            };
            match self.definition(value) {
                Some((_, &InstKind::Cast { op, from, to, a })) if keeps_bits(op, from, to) => operand = a,
                Some((_, &InstKind::Cmp { op: CmpOp::Ne, ty, a, b: Operand::Const(0) })) if self.is_truth(ty, a) => {
                    operand = a;
                }
                Some((_, InstKind::PtrAdd { .. })) => {
                    return match self.address(operand) {
                        (Root::Const(base), offset) => Root::Const(base.wrapping_add(offset as u64)),
                        _ => Root::Value(value),
                    };
                }
                _ => return Root::Value(value),
            }
        }
    }

    /// Whether an operand of an integer type can only be 0 or 1 because it is a truth value, possibly extended.
    fn is_truth(&self, ty: Type, operand: Operand) -> bool {
        let mut operand = operand;
        loop {
            let Operand::Value(value) = operand else { return false };
            match self.definition(value) {
                Some((_, &InstKind::Cast { op: CastOp::ZExt, a, .. })) => operand = a,
                _ => return matches!(ty, Type::Int(_)) && self.function.values[value].ty == Type::I1,
            }
        }
    }

    /// What an address comes down to: a root that is no pointer plus constant, and that constant.
    pub fn address(&self, operand: Operand) -> (Root, i64) {
        let mut operand = operand;
        let mut total = 0i64;
        loop {
            let step = match operand {
                Operand::Value(value) => self.definition(value).map(|(_, kind)| kind),
                _ => None,
            };
            match step {
                Some(&InstKind::Cast { op, from, to, a }) if keeps_bits(op, from, to) => operand = a,
                Some(&InstKind::PtrAdd { base, index, scale, offset }) => {
                    let Some(index) = self.constant(index) else { break };
                    let here = (index as i64).wrapping_mul(scale).wrapping_add(offset);
                    let Some(sum) = total.checked_add(here).filter(|&sum| i32::try_from(sum).is_ok()) else { break };
                    total = sum;
                    operand = base;
                }
                _ => break,
            }
        }
        let root = match operand {
            Operand::Value(value) if matches!(self.definition(value), Some((_, InstKind::PtrAdd { .. }))) => {
                Root::Value(value)
            }
            _ => self.root(operand),
        };
        match root {
            Root::Const(base) => (Root::Const(base.wrapping_add(total as u64)), 0),
            other => (other, total),
        }
    }

    fn constant(&self, operand: Operand) -> Option<u64> {
        match self.root(operand) {
            Root::Const(bits) => Some(bits),
            _ => None,
        }
    }

    /// The values that the code of an instruction reads. Phis read theirs on the edges: they list none here.
    pub fn uses(&self, inst: Inst, f: &mut dyn FnMut(Value)) {
        match &self.function.insts[inst].kind {
            InstKind::Phi { args, .. } => {
                // Counted as uses, so that arguments are computed; their place is the edge.
                args.iter().for_each(|&(_, arg)| self.plain(arg, f));
            }
            InstKind::Load { addr, .. } => self.folded(*addr, f),
            InstKind::Store { addr, value, .. } => {
                self.folded(*addr, f);
                self.plain(*value, f);
            }
            InstKind::PtrAdd { base, index, .. } => {
                self.folded(*base, f);
                self.plain(*index, f);
            }
            InstKind::CondBr { cond, .. } => {
                if let Root::Value(value) = self.root(*cond)
                    && let Some((def, &InstKind::Cmp { a, b, .. })) = self.definition(value)
                    && self.fused[def.index()]
                {
                    self.plain(a, f);
                    self.plain(b, f);
                } else {
                    self.plain(*cond, f);
                }
            }
            other => each_operand(other, &mut |operand| self.plain(operand, f)),
        }
    }

    fn plain(&self, operand: Operand, f: &mut dyn FnMut(Value)) {
        if let Root::Value(value) = self.root(operand) {
            f(value);
        }
    }

    fn folded(&self, operand: Operand, f: &mut dyn FnMut(Value)) {
        if let (Root::Value(value), _) = self.address(operand) {
            f(value);
        }
    }

    /// Whether a load only serves to put a bit-field into its place: the other bits need not have been written.
    pub fn is_bit_field_update(&self, inst: Inst) -> bool {
        let data = &self.function.insts[inst];
        let InstKind::Load { addr, .. } = data.kind else { return false };
        let kind = |user: Inst| &self.function.insts[user].kind;
        let is_store = |user: Inst| matches!(kind(user), InstKind::Store { addr: to, .. } if *to == addr);
        let is = |user: Inst, wanted| matches!(kind(user), InstKind::Binary { op, .. } if *op == wanted);
        let Some(masked) = self.only_user(inst).filter(|&user| is(user, BinaryOp::And)) else { return false };
        match self.only_user(masked) {
            Some(user) if is(user, BinaryOp::Or) => self.only_user(user).is_some_and(is_store),
            Some(user) => is_store(user),
            None => false,
        }
    }

    /// The one instruction that uses the result of another.
    fn only_user(&self, inst: Inst) -> Option<Inst> {
        let value = *self.function.insts[inst].results.first()?;
        if self.use_count[value.index()] == 1 { self.user[value.index()] } else { None }
    }
}

/// Every operand of an instruction that is no phi.
fn each_operand(kind: &InstKind, f: &mut dyn FnMut(Operand)) {
    match kind {
        InstKind::Phi { .. }
        | InstKind::Fence { .. }
        | InstKind::ThreadLocal { .. }
        | InstKind::Iteration
        | InstKind::Unsupported { .. }
        | InstKind::Br { .. }
        | InstKind::Unreachable => {}
        InstKind::Binary { a, b, .. } | InstKind::Cmp { a, b, .. } => [a, b].into_iter().for_each(|&o| f(o)),
        InstKind::FNeg { a, .. } | InstKind::Cast { a, .. } => f(*a),
        InstKind::Select { cond, a, b, .. } => [cond, a, b].into_iter().for_each(|&o| f(o)),
        InstKind::PtrAdd { base, index, .. } => [base, index].into_iter().for_each(|&o| f(o)),
        InstKind::Alloca { size, .. } => f(*size),
        InstKind::Load { addr, .. } => f(*addr),
        InstKind::Store { addr, value, .. } | InstKind::Rmw { addr, value, .. } => {
            [addr, value].into_iter().for_each(|&o| f(o));
        }
        InstKind::Cas { addr, expected, new, .. } => [addr, expected, new].into_iter().for_each(|&o| f(o)),
        InstKind::Await { access, addr, operand, retry, .. } => {
            [addr, operand].into_iter().chain(retry).for_each(|&o| f(o));
            match access {
                AwaitKind::Load => {}
                AwaitKind::Rmw { value, .. } => f(*value),
                AwaitKind::Cas { expected, new, .. } => [expected, new].into_iter().for_each(|&o| f(o)),
            }
        }
        InstKind::MemCopy { dst, src, len, .. } => [dst, src, len].into_iter().for_each(|&o| f(o)),
        InstKind::MemSet { dst, byte, len } => [dst, byte, len].into_iter().for_each(|&o| f(o)),
        InstKind::Call { callee, args } => {
            if let Callee::Indirect(target) = callee {
                f(*target);
            }
            args.iter().for_each(|&(_, arg)| f(arg));
        }
        InstKind::Intrinsic { args, .. } => args.iter().for_each(|&arg| f(arg)),
        InstKind::VaStart { list } | InstKind::VaArg { list, .. } => f(*list),
        InstKind::VaCopy { dst, src } => [dst, src].into_iter().for_each(|&o| f(o)),
        InstKind::Assume { cond, pure } => [cond].into_iter().chain(pure).for_each(|&o| f(o)),
        InstKind::CondBr { cond, .. } => f(*cond),
        InstKind::Switch { value, .. } => f(*value),
        InstKind::Ret { values } => values.iter().for_each(|&value| f(value)),
    }
}

/// Whether an instruction does something besides computing its results.
fn has_effect(kind: &InstKind) -> bool {
    match kind {
        InstKind::Binary { op, .. } => {
            matches!(op, BinaryOp::UDiv | BinaryOp::SDiv | BinaryOp::URem | BinaryOp::SRem)
        }
        InstKind::Phi { .. }
        | InstKind::FNeg { .. }
        | InstKind::Cmp { .. }
        | InstKind::Cast { .. }
        | InstKind::Select { .. }
        | InstKind::PtrAdd { .. }
        | InstKind::Alloca { .. }
        | InstKind::Intrinsic { .. }
        | InstKind::ThreadLocal { .. }
        | InstKind::Iteration => false,
        _ => true,
    }
}

/// Whether a conversion leaves the register as it is.
fn keeps_bits(op: CastOp, from: Type, to: Type) -> bool {
    match op {
        CastOp::ZExt | CastOp::Bitcast => true,
        CastOp::PtrToInt | CastOp::IntToPtr => to.bits() >= from.bits(),
        _ => false,
    }
}

/// Whether there is a branch instruction for this comparison.
fn is_fusible(op: CmpOp, ty: Type) -> bool {
    match op {
        CmpOp::Eq | CmpOp::Ne | CmpOp::Ult | CmpOp::Ule | CmpOp::Ugt | CmpOp::Uge => true,
        CmpOp::Slt | CmpOp::Sle | CmpOp::Sgt | CmpOp::Sge => matches!(ty.bits(), 32 | 64),
        _ => false,
    }
}
