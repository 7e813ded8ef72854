//! Generic access to the parts of an instruction: operands, jump targets, result types, effects.
//!
//! Passes that only move or rename things never match on [`InstKind`] themselves; they go through the visitors here,
//! so that a new kind of instruction has to be described in one place only.

use crate::{AwaitKind, Block, Callee, Function, Inst, InstKind, Operand, PathId, Type, Value};
use smallvec::{SmallVec, smallvec};

/// Calls `$f(operand, type)` for every operand in order. Works on `&InstKind` and `&mut InstKind` alike: the
/// bindings of the patterns are references of the same kind. The type is none where it depends on the function.
macro_rules! visit_operands {
    ($kind:expr, $f:expr) => {
        match $kind {
            InstKind::Phi { ty, args } => {
                for (_, a) in args {
                    $f(a, Some(*ty));
                }
            }
            InstKind::Binary { ty, a, b, .. } | InstKind::Cmp { ty, a, b, .. } => {
                $f(a, Some(*ty));
                $f(b, Some(*ty));
            }
            InstKind::FNeg { ty, a } => $f(a, Some(*ty)),
            InstKind::Cast { from, a, .. } => $f(a, Some(*from)),
            InstKind::Select { ty, cond, a, b } => {
                $f(cond, Some(Type::I1));
                $f(a, Some(*ty));
                $f(b, Some(*ty));
            }
            InstKind::PtrAdd { base, index, .. } => {
                $f(base, Some(Type::Ptr));
                $f(index, Some(Type::I64));
            }
            InstKind::Alloca { size, .. } => $f(size, Some(Type::I64)),
            InstKind::Load { addr, .. } => $f(addr, Some(Type::Ptr)),
            InstKind::Store { ty, addr, value, .. } => {
                $f(value, Some(*ty));
                $f(addr, Some(Type::Ptr));
            }
            InstKind::Rmw { ty, addr, value, .. } => {
                $f(addr, Some(Type::Ptr));
                $f(value, Some(*ty));
            }
            InstKind::Cas { ty, addr, expected, new, .. } => {
                $f(addr, Some(Type::Ptr));
                $f(expected, Some(*ty));
                $f(new, Some(*ty));
            }
            InstKind::Await { access, ty, addr, operand, retry, .. } => {
                $f(addr, Some(Type::Ptr));
                match access {
                    AwaitKind::Load => {}
                    AwaitKind::Rmw { value, .. } => $f(value, Some(*ty)),
                    AwaitKind::Cas { expected, new, .. } => {
                        $f(expected, Some(*ty));
                        $f(new, Some(*ty));
                    }
                }
                $f(operand, Some(*ty));
                if let Some(began) = retry {
                    $f(began, Some(Type::I64));
                }
            }
            InstKind::MemCopy { dst, src, len, .. } => {
                $f(dst, Some(Type::Ptr));
                $f(src, Some(Type::Ptr));
                $f(len, Some(Type::I64));
            }
            InstKind::MemSet { dst, byte, len } => {
                $f(dst, Some(Type::Ptr));
                $f(byte, Some(Type::I8));
                $f(len, Some(Type::I64));
            }
            InstKind::Call { callee, args } => {
                if let Callee::Indirect(target) = callee {
                    $f(target, Some(Type::Ptr));
                }
                for (ty, a) in args {
                    $f(a, Some(*ty));
                }
            }
            InstKind::Intrinsic { op, ty, args } => {
                let (op, ty) = (*op, *ty);
                for (n, a) in args.into_iter().enumerate() {
                    $f(a, Some(op.operand_type(ty, n)));
                }
            }
            InstKind::VaStart { list } | InstKind::VaArg { list, .. } => $f(list, Some(Type::Ptr)),
            InstKind::VaCopy { dst, src } => {
                $f(dst, Some(Type::Ptr));
                $f(src, Some(Type::Ptr));
            }
            InstKind::Assume { cond, pure } => {
                $f(cond, Some(Type::I1));
                if let Some(began) = pure {
                    $f(began, Some(Type::I64));
                }
            }
            InstKind::CondBr { cond, .. } => $f(cond, Some(Type::I1)),
            InstKind::Switch { ty, value, .. } => $f(value, Some(*ty)),
            InstKind::Ret { values } => {
                for a in values {
                    $f(a, None);
                }
            }
            InstKind::Fence { .. }
            | InstKind::ThreadLocal { .. }
            | InstKind::Iteration
            | InstKind::Unsupported { .. }
            | InstKind::Br { .. }
            | InstKind::Unreachable => {}
        }
    };
}

impl InstKind {
    /// Visits every operand in order with the type that it must have; none for the operands of `ret`, whose types
    /// are the results of the function.
    pub fn visit_operands(&self, mut visit: impl FnMut(Operand, Option<Type>)) {
        visit_operands!(self, |operand: &Operand, ty| visit(*operand, ty));
    }

    /// All operands in order.
    pub fn operands(&self) -> SmallVec<[Operand; 4]> {
        let mut operands = SmallVec::new();
        self.visit_operands(|operand, _| operands.push(operand));
        operands
    }

    /// The SSA values among the operands, in order.
    pub fn used_values(&self) -> SmallVec<[Value; 4]> {
        let mut values = SmallVec::new();
        self.visit_operands(|operand, _| {
            if let Operand::Value(value) = operand {
                values.push(value);
            }
        });
        values
    }

    /// Replaces every operand.
    pub fn map_operands(&mut self, mut map: impl FnMut(Operand) -> Operand) {
        visit_operands!(self, |operand: &mut Operand, _: Option<Type>| *operand = map(*operand));
    }

    /// Replaces every jump target of a terminator. Phis are not touched: see [`InstKind::map_phi_blocks`].
    pub fn map_successors(&mut self, mut map: impl FnMut(Block) -> Block) {
        match self {
            InstKind::Br { dest } => *dest = map(*dest),
            InstKind::CondBr { then_dest, else_dest, .. } => {
                *then_dest = map(*then_dest);
                *else_dest = map(*else_dest);
            }
            InstKind::Switch { cases, default, .. } => {
                for (_, dest) in cases {
                    *dest = map(*dest);
                }
                *default = map(*default);
            }
            _ => {}
        }
    }

    /// Replaces the predecessor that each argument of a phi belongs to.
    pub fn map_phi_blocks(&mut self, mut map: impl FnMut(Block) -> Block) {
        if let InstKind::Phi { args, .. } = self {
            for (block, _) in args {
                *block = map(*block);
            }
        }
    }

    /// The types of the results; none for calls and `unsupported`, which do not say it themselves.
    pub fn result_types(&self) -> Option<SmallVec<[Type; 2]>> {
        Some(match self {
            InstKind::Phi { ty, .. }
            | InstKind::Binary { ty, .. }
            | InstKind::FNeg { ty, .. }
            | InstKind::Select { ty, .. }
            | InstKind::Load { ty, .. }
            | InstKind::Rmw { ty, .. }
            | InstKind::VaArg { ty, .. } => smallvec![*ty],
            InstKind::Cast { to, .. } => smallvec![*to],
            InstKind::Cmp { .. } => smallvec![Type::I1],
            InstKind::PtrAdd { .. } | InstKind::Alloca { .. } | InstKind::ThreadLocal { .. } => smallvec![Type::Ptr],
            InstKind::Cas { ty, .. } | InstKind::Await { access: AwaitKind::Cas { .. }, ty, .. } => {
                smallvec![*ty, Type::I1]
            }
            InstKind::Await { ty, .. } => smallvec![*ty],
            InstKind::Iteration => smallvec![Type::I64],
            InstKind::Intrinsic { op, ty, .. } => op.result_types(*ty),
            InstKind::Call { .. } | InstKind::Unsupported { .. } => return None,
            InstKind::Store { .. }
            | InstKind::Fence { .. }
            | InstKind::MemCopy { .. }
            | InstKind::MemSet { .. }
            | InstKind::VaStart { .. }
            | InstKind::VaCopy { .. }
            | InstKind::Assume { .. }
            | InstKind::Br { .. }
            | InstKind::CondBr { .. }
            | InstKind::Switch { .. }
            | InstKind::Ret { .. }
            | InstKind::Unreachable => SmallVec::new(),
        })
    }

    /// Whether the instruction only computes its results from its operands: nobody notices if it is not executed.
    ///
    /// Integer division is not among them: it is an error for some operands.
    pub fn is_pure(&self) -> bool {
        use crate::BinaryOp::{SDiv, SRem, UDiv, URem};
        match self {
            InstKind::Binary { op, .. } => !matches!(op, UDiv | SDiv | URem | SRem),
            InstKind::Phi { .. }
            | InstKind::FNeg { .. }
            | InstKind::Cmp { .. }
            | InstKind::Cast { .. }
            | InstKind::Select { .. }
            | InstKind::PtrAdd { .. }
            | InstKind::Intrinsic { .. }
            | InstKind::ThreadLocal { .. }
            | InstKind::Iteration => true,
            _ => false,
        }
    }

    /// Whether the instruction is a phi.
    pub fn is_phi(&self) -> bool {
        matches!(self, InstKind::Phi { .. })
    }

    /// Replaces the name of what an access touches, if it has one.
    pub fn map_path(&mut self, map: impl FnOnce(PathId) -> PathId) {
        if let InstKind::Load { path: Some(path), .. }
        | InstKind::Store { path: Some(path), .. }
        | InstKind::Rmw { path: Some(path), .. }
        | InstKind::Cas { path: Some(path), .. } = self
        {
            *path = map(*path);
        }
    }

    /// The name of what an access touches, if it has one.
    pub fn path(&self) -> Option<PathId> {
        match self {
            InstKind::Load { path, .. }
            | InstKind::Store { path, .. }
            | InstKind::Rmw { path, .. }
            | InstKind::Cas { path, .. }
            | InstKind::Await { path, .. } => *path,
            _ => None,
        }
    }
}

impl Function {
    /// The phis of a block, which stand first in it.
    pub fn phis(&self, block: Block) -> impl Iterator<Item = Inst> + '_ {
        self.blocks[block].insts.iter().copied().take_while(|&inst| self.insts[inst].kind.is_phi())
    }

    /// The instructions that are in use, with their blocks, in order.
    pub fn placed_insts(&self) -> impl Iterator<Item = (Block, Inst)> + '_ {
        self.blocks.iter().flat_map(|(block, data)| data.insts.iter().map(move |&inst| (block, inst)))
    }

    /// The type of an operand, if it has one of its own (constants and `undef` take the type that is asked for).
    pub fn operand_type(&self, operand: Operand) -> Option<Type> {
        match operand {
            Operand::Value(value) => self.values.get(value).map(|data| data.ty),
            Operand::Global(..) | Operand::Func(_) => Some(Type::Ptr),
            Operand::Const(_) | Operand::Undef => None,
        }
    }
}
