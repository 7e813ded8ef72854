//! Rule 5: types of operands and results, memory orders, constants within their width.

use super::Checker;
use crate::{AwaitKind, BinaryOp, Callee, CastOp, CmpOp, InstKind, Operand, Order, RmwOp, Type};
use std::collections::HashSet;

impl Checker<'_> {
    pub(super) fn types(&mut self) {
        for (block, data) in self.func.blocks.iter() {
            self.block = Some(block);
            for &inst in &data.insts {
                self.inst = Some(inst);
                let kind = &self.func.insts[inst].kind;
                self.operand_types(kind);
                self.result_types(kind, inst);
                self.rules_of(kind);
            }
        }
        (self.block, self.inst) = (None, None);
    }

    /// Whether a type is one of those that exist.
    pub(super) fn scalar(&mut self, ty: Type) {
        if matches!(ty, Type::Int(bits) if !(1..=64).contains(&bits)) {
            self.error(format!("{ty} is not a type: integers have 1 to 64 bits"));
        }
    }

    fn operand_types(&mut self, kind: &InstKind) {
        let mut wanted: Vec<(Operand, Type)> = Vec::new();
        let mut returned = 0;
        kind.visit_operands(|operand, ty| {
            let ty = ty.or_else(|| {
                returned += 1;
                self.func.results.get(returned - 1).copied()
            });
            wanted.extend(ty.map(|ty| (operand, ty)));
        });
        for (operand, ty) in wanted {
            self.scalar(ty);
            match (self.func.operand_type(operand), operand) {
                (Some(found), _) if found != ty => {
                    self.error(format!("an operand is of type {found} where {ty} is needed"));
                }
                (None, Operand::Const(bits)) if matches!(ty, Type::Int(0..=63) | Type::F32) && bits > ty.mask() => {
                    self.error(format!("the constant {bits:#x} does not fit in {ty}"));
                }
                (_, Operand::Global(id, _)) if self.module.globals[id].thread_local => {
                    self.error("the address of a thread-local global comes from `thread_local` only");
                }
                _ => {}
            }
        }
    }

    fn result_types(&mut self, kind: &InstKind, inst: crate::Inst) {
        let types = self.func.insts[inst].results.iter().map(|&value| self.func.values[value].ty);
        let found: Vec<Type> = types.collect();
        for &ty in &found {
            self.scalar(ty);
        }
        let wanted = match kind {
            InstKind::Call { callee: Callee::Direct(callee), .. } => {
                Some(self.module.functions[*callee].results.clone())
            }
            _ => kind.result_types().map(|types| types.to_vec()),
        };
        if wanted.as_ref().is_some_and(|wanted| *wanted != found) {
            let wanted = wanted.unwrap_or_default();
            self.error(format!("the results are of types {} where {} are needed", list(&found), list(&wanted)));
        }
    }

    fn rules_of(&mut self, kind: &InstKind) {
        match kind {
            InstKind::Binary { op, ty, .. } => {
                use BinaryOp::{FAdd, FDiv, FMul, FRem, FSub};
                let float = matches!(op, FAdd | FSub | FMul | FDiv | FRem);
                self.need_type(if float { ty.is_float() } else { is_int(*ty) }, op.name(), *ty);
            }
            InstKind::FNeg { ty, .. } => self.need_type(ty.is_float(), "fneg", *ty),
            InstKind::Cmp { op, ty, .. } => {
                self.need_type(is_float_cmp(*op) == ty.is_float(), op.name(), *ty);
            }
            InstKind::Cast { op, from, to, .. } if !cast_is_valid(*op, *from, *to) => {
                self.error(format!("`{op}` cannot convert {from} to {to}"));
            }
            InstKind::Alloca { align, .. } if !align.is_power_of_two() => {
                self.error(format!("the alignment {align} is not a power of two"));
            }
            InstKind::Load { order, .. } => self.need_order(!releases_only(*order), *order),
            InstKind::Store { order, .. } => {
                self.need_order(!matches!(order, Order::Acquire | Order::AcqRel), *order);
            }
            InstKind::Rmw { op, ty, order, .. } => {
                let fits = match op {
                    RmwOp::Xchg => true,
                    RmwOp::FAdd | RmwOp::FSub => ty.is_float(),
                    _ => is_int(*ty),
                };
                self.need_type(fits, op.name(), *ty);
                self.need_order(order.is_atomic(), *order);
            }
            InstKind::Cas { ty, success, failure, .. } => {
                self.need_type(!ty.is_float(), "cas", *ty);
                self.need_order(success.is_atomic(), *success);
                self.need_order(failure.is_atomic() && !releases_only(*failure), *failure);
            }
            InstKind::Await { access, ty, order, until, mask, .. } => {
                self.await_rules(access, *ty, *order, *until, *mask);
            }
            InstKind::Fence { order } => {
                self.need_order(order.is_atomic() && *order != Order::Relaxed, *order);
            }
            InstKind::Call { callee: Callee::Direct(callee), args } => self.call(*callee, args),
            InstKind::Intrinsic { op, ty, args } => {
                self.need_type(op.works_on(*ty), op.name(), *ty);
                let (least, most) = op.arity();
                if !(least..=most).contains(&args.len()) {
                    self.error(format!("`{op}` does not take {} operands", args.len()));
                }
            }
            InstKind::ThreadLocal { global } if !self.module.globals[*global].thread_local => {
                self.error("the global is not thread-local");
            }
            InstKind::Switch { ty, cases, .. } => self.switch(*ty, cases),
            InstKind::Ret { values } if values.len() != self.func.results.len() => {
                let needed = self.func.results.len();
                self.error(format!("{} values are returned where {needed} are needed", values.len()));
            }
            InstKind::Phi { ty, .. } | InstKind::Select { ty, .. } | InstKind::VaArg { ty, .. } => self.scalar(*ty),
            _ => {}
        }
    }

    fn await_rules(&mut self, access: &AwaitKind, ty: Type, order: Order, until: CmpOp, mask: u64) {
        self.need_type(!ty.is_float() && !is_float_cmp(until), "await", ty);
        if ty.bits() <= 64 && mask & !ty.mask() != 0 {
            self.error(format!("the mask {mask:#x} does not fit in {ty}"));
        }
        match access {
            AwaitKind::Load => self.need_order(!releases_only(order), order),
            AwaitKind::Rmw { op, .. } => {
                self.need_type(*op == RmwOp::Xchg || is_int(ty), op.name(), ty);
                self.need_order(order.is_atomic(), order);
            }
            AwaitKind::Cas { failure, .. } => {
                self.need_order(order.is_atomic(), order);
                self.need_order(failure.is_atomic() && !releases_only(*failure), *failure);
            }
        }
    }

    fn need_type(&mut self, fits: bool, op: &str, ty: Type) {
        if !fits {
            self.error(format!("`{op}` does not work on {ty}"));
        }
    }

    fn need_order(&mut self, fits: bool, order: Order) {
        if !fits {
            self.error(format!("the memory order `{order}` is not possible here"));
        }
    }

    fn call(&mut self, callee: crate::FuncId, args: &[(Type, Operand)]) {
        let callee = &self.module.functions[callee];
        let enough = if callee.vararg { args.len() >= callee.params.len() } else { args.len() == callee.params.len() };
        if !enough {
            self.error(format!("{} arguments are passed where {} are needed", args.len(), callee.params.len()));
        }
        for (n, (&param, &(ty, _))) in callee.params.iter().zip(args).enumerate() {
            let wanted = callee.values.get(param).map(|data| data.ty);
            if wanted.is_some_and(|wanted| wanted != ty) {
                self.error(format!("argument {n} is of another type than the parameter"));
            }
        }
    }

    fn switch(&mut self, ty: Type, cases: &[(u64, crate::Block)]) {
        self.need_type(is_int(ty), "switch", ty);
        let mut seen = HashSet::new();
        for &(bits, _) in cases {
            if is_int(ty) && ty.bits() <= 64 && bits > ty.mask() {
                self.error(format!("the case {bits:#x} does not fit in {ty}"));
            }
            if !seen.insert(bits) {
                self.error(format!("the case {bits:#x} stands there twice"));
            }
        }
    }
}

fn list(types: &[Type]) -> String {
    let names: Vec<String> = types.iter().map(Type::to_string).collect();
    format!("({})", names.join(", "))
}

fn is_int(ty: Type) -> bool {
    matches!(ty, Type::Int(_))
}

fn releases_only(order: Order) -> bool {
    matches!(order, Order::Release | Order::AcqRel)
}

fn is_float_cmp(op: CmpOp) -> bool {
    use CmpOp::{Eq, Ne, Sge, Sgt, Sle, Slt, Uge, Ugt, Ule, Ult};
    !matches!(op, Eq | Ne | Ult | Ule | Ugt | Uge | Slt | Sle | Sgt | Sge)
}

fn cast_is_valid(op: CastOp, from: Type, to: Type) -> bool {
    match op {
        CastOp::Trunc => is_int(from) && is_int(to) && from.bits() > to.bits(),
        CastOp::ZExt | CastOp::SExt => is_int(from) && is_int(to) && from.bits() < to.bits(),
        CastOp::FpTrunc => from == Type::F64 && to == Type::F32,
        CastOp::FpExt => from == Type::F32 && to == Type::F64,
        CastOp::FpToUi | CastOp::FpToSi => from.is_float() && is_int(to),
        CastOp::UiToFp | CastOp::SiToFp => is_int(from) && to.is_float(),
        CastOp::PtrToInt => from == Type::Ptr && is_int(to),
        CastOp::IntToPtr => is_int(from) && to == Type::Ptr,
        CastOp::Bitcast => from.bits() == to.bits(),
    }
}
