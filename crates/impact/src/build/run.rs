//! Instructions along a path.

use super::block::Source;
use super::objects::{Memory, Place, unsupported};
use super::path::{Ending, Path, Slot};
use super::{Builder, Context, Unsupported};
use crate::program::{ErrorKind, StepKind};
use crate::term::Term;
use selvedge_ir::{Block, Callee, EntityRef, FuncId, GlobalId, Inst, InstKind, LocId, Operand, RmwOp, Type, Value};

/// The instruction that is being executed.
#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    pub(super) func: FuncId,
    pub(super) inst: Inst,
    pub(super) loc: LocId,
}

impl Builder<'_> {
    /// Executes the next instruction of a path. Other ways to go on are added to `todo`.
    pub(super) fn run(&mut self, path: &mut Path, todo: &mut Vec<Path>) -> Result<(), Unsupported> {
        let func_id = self.func_of(path.context);
        let module = self.module;
        let func = &module.functions[func_id];
        let inst = func.blocks[path.block].insts[path.index];
        let data = &func.insts[inst];
        let at = At { func: func_id, inst, loc: data.loc };
        let result = data.results.first().copied();
        match &data.kind {
            InstKind::Phi { .. } => unreachable!("phis take effect on the edge"),
            InstKind::Binary { op, ty, a, b } => {
                let (a, b) = (self.operand(path, *a, *ty), self.operand(path, *b, *ty));
                let value = self.binary(path, todo, at, *op, *ty, a, b)?;
                self.define(path, result, value);
            }
            InstKind::Cmp { op, ty, a, b } => {
                let (a, b) = (self.operand(path, *a, *ty), self.operand(path, *b, *ty));
                let value = self.compare(at, *op, a, b)?;
                self.define(path, result, value);
            }
            InstKind::Cast { op, from, to, a } => {
                let a = self.operand(path, *a, *from);
                let value = self.cast(at, *op, *from, *to, a)?;
                self.define(path, result, value);
            }
            InstKind::Select { ty, cond, a, b } => {
                let cond = self.operand(path, *cond, Type::I1);
                let (a, b) = (self.operand(path, *a, *ty), self.operand(path, *b, *ty));
                let value = self.terms.ite(cond, a, b);
                if *ty == Type::Ptr && value != a && value != b {
                    // A choice between two addresses makes two paths.
                    let mut other = path.clone();
                    let not = self.terms.not(cond);
                    other.guard.push(not);
                    self.define(&mut other, result, b);
                    other.index += 1;
                    todo.push(other);
                    path.guard.push(cond);
                    self.define(path, result, a);
                } else {
                    self.define(path, result, value);
                }
            }
            InstKind::PtrAdd { base, index, scale, offset } => {
                let base = self.operand(path, *base, Type::Ptr);
                let index = self.operand(path, *index, Type::I64);
                let value = self.terms.sum(*offset as u64, &[(1, base), (*scale as u64, index)], 64);
                self.define(path, result, value);
            }
            InstKind::Alloca { size, name, .. } => {
                let size = self.operand(path, *size, Type::I64);
                let Some(size) = self.terms.constant(size) else {
                    return Err(unsupported("an array on the stack with a variable size", at.loc));
                };
                let place = Place::Stack(path.context, inst);
                let base = self.memory.base(place, size);
                let name = if name.is_empty() { inst.to_string() } else { name.clone() };
                self.terms.addresses.entry(base).or_insert_with(|| name.clone());
                self.stack_names.insert(place, name);
                self.renew(path, place);
                let value = self.terms.number(base, 64);
                self.define(path, result, value);
            }
            InstKind::Load { ty, addr, path: words, .. } => {
                let Some(target) = self.access(path, todo, at, *addr, *ty, false, *words)? else { return Ok(()) };
                let value = self.read(path, at, &target, *ty);
                let ways = self.cases(path, &target, *ty, value);
                self.each(path, todo, ways, |builder, way, value| {
                    builder.define(way, result, value);
                    Ok(())
                })?;
            }
            InstKind::Store { ty, addr, value, path: words, .. } => {
                let Some(target) = self.access(path, todo, at, *addr, *ty, true, *words)? else { return Ok(()) };
                let value = self.operand(path, *value, *ty);
                self.write(path, &target, value);
                let text = format!("{} = {}", self.target_name(&target), self.terms.text(value));
                self.say(path, &target, text);
            }
            InstKind::Rmw { op, ty, addr, value, path: words, .. } => {
                let Some(target) = self.access(path, todo, at, *addr, *ty, true, *words)? else { return Ok(()) };
                let old = self.read(path, at, &target, *ty);
                let operand = self.operand(path, *value, *ty);
                let ways = self.cases(path, &target, *ty, old);
                self.each(path, todo, ways, |builder, way, old| {
                    let new = builder.rmw(at, *op, old, operand)?;
                    builder.write(way, &target, new);
                    builder.define(way, result, old);
                    Ok(())
                })?;
            }
            InstKind::Cas { ty, addr, expected, new, path: words, .. } => {
                let Some(target) = self.access(path, todo, at, *addr, *ty, true, *words)? else { return Ok(()) };
                let old = self.read(path, at, &target, *ty);
                let (expected, new) = (self.operand(path, *expected, *ty), self.operand(path, *new, *ty));
                let ways = self.cases(path, &target, *ty, old);
                self.each(path, todo, ways, |builder, way, old| {
                    let same = builder.terms.eq(old, expected);
                    let left = builder.terms.ite(same, new, old);
                    builder.write(way, &target, left);
                    builder.define(way, result, old);
                    builder.define(way, data.results.get(1).copied(), same);
                    Ok(())
                })?;
            }
            InstKind::Fence { .. } => path.step(at.func, at.inst, StepKind::Fence, at.loc),
            InstKind::Assume { cond, .. } => {
                let cond = self.operand(path, *cond, Type::I1);
                self.assume(path, at, cond);
            }
            InstKind::Intrinsic { op, ty, args } => {
                let args: Vec<Term> = args.iter().map(|&a| self.operand(path, a, *ty)).collect();
                let values = self.intrinsic(at, *op, &args)?;
                for (n, value) in values.into_iter().enumerate() {
                    self.define(path, data.results.get(n).copied(), value);
                }
            }
            InstKind::Call { callee, args } => return self.call(path, todo, at, callee, args),
            InstKind::Br { dest } => {
                self.jump(path, *dest);
                return Ok(());
            }
            InstKind::CondBr { cond, then_dest, else_dest } => {
                let cond = self.operand(path, *cond, Type::I1);
                let not = self.terms.not(cond);
                self.branch(path, todo, at, &[(cond, *then_dest), (not, *else_dest)]);
                return Ok(());
            }
            InstKind::Switch { ty, value, cases, default } => {
                let value = self.operand(path, *value, *ty);
                self.switch(path, todo, at, value, cases, *default);
                return Ok(());
            }
            InstKind::Ret { values } => {
                let types = func.results.clone();
                let values = values.iter().zip(types).map(|(&v, ty)| self.operand(path, v, ty)).collect();
                return self.ret(path, at, values);
            }
            InstKind::Unreachable => path.fail(ErrorKind::Abort, "code that must not be reached", at.loc),
            InstKind::Unsupported { feature } => return Err(unsupported(feature, at.loc)),
            InstKind::FNeg { .. } => return Err(unsupported("floating-point arithmetic", at.loc)),
            InstKind::ThreadLocal { .. } => return Err(unsupported("thread-local variables", at.loc)),
            InstKind::MemCopy { dst, src, len, .. } => {
                let (dst, src) = (self.operand(path, *dst, Type::Ptr), self.operand(path, *src, Type::Ptr));
                let len = self.operand(path, *len, Type::I64);
                if !self.block(path, todo, at, dst, Source::Memory(src), len)? {
                    return Ok(());
                }
            }
            InstKind::MemSet { dst, byte, len } => {
                let (dst, byte) = (self.operand(path, *dst, Type::Ptr), self.operand(path, *byte, Type::Int(8)));
                let len = self.operand(path, *len, Type::I64);
                if !self.block(path, todo, at, dst, Source::Byte(byte), len)? {
                    return Ok(());
                }
            }
            InstKind::VaStart { .. } | InstKind::VaArg { .. } | InstKind::VaCopy { .. } => {
                return Err(unsupported("functions with a variable number of arguments", at.loc));
            }
            InstKind::Await { .. } | InstKind::Iteration => return Err(unsupported("an await", at.loc)),
        }
        if path.ending == Ending::Running {
            path.index += 1;
        }
        Ok(())
    }

    /// Goes on along every one of several ways: the last one is the path itself, the others are added to `todo`, behind the
    /// instruction.
    fn each(
        &mut self,
        path: &mut Path,
        todo: &mut Vec<Path>,
        ways: Vec<(Path, Term)>,
        mut go: impl FnMut(&mut Self, &mut Path, Term) -> Result<(), Unsupported>,
    ) -> Result<(), Unsupported> {
        let count = ways.len();
        for (n, (mut way, value)) in ways.into_iter().enumerate() {
            go(self, &mut way, value)?;
            if n + 1 == count {
                *path = way;
            } else {
                way.index += 1;
                todo.push(way);
            }
        }
        Ok(())
    }

    /// The value of an operand.
    pub(super) fn operand(&mut self, path: &Path, operand: Operand, ty: Type) -> Term {
        let bits = ty.bits() as u8;
        match operand {
            Operand::Value(value) => {
                let slot = Slot::Value(path.context, value);
                *path.env.get(&slot).unwrap_or_else(|| panic!("{value} is defined before it is used"))
            }
            Operand::Const(number) => self.terms.number(number, bits),
            Operand::Global(global, offset) => {
                let base = self.global_base(global);
                self.terms.number(base.wrapping_add(offset as u64), bits)
            }
            Operand::Func(func) => {
                let address = Memory::function(func);
                let name = &self.module.functions[func].source_name;
                self.terms.addresses.entry(address).or_insert_with(|| name.clone());
                self.terms.number(address, bits)
            }
            Operand::Undef => self.terms.number(0, bits),
        }
    }

    fn global_base(&mut self, global: GlobalId) -> u64 {
        let data = &self.module.globals[global];
        let base = self.memory.base(Place::Global(global), data.size);
        self.terms.addresses.entry(base).or_insert_with(|| data.source_name.clone());
        base
    }

    pub(super) fn define(&mut self, path: &mut Path, value: Option<Value>, term: Term) {
        if let Some(value) = value {
            path.env.insert(Slot::Value(path.context, value), term);
        }
    }

    /// A new input.
    pub(super) fn input(&mut self, path: &mut Path, name: &str, bits: u8) -> Term {
        let symbol = self.terms.symbol(name, bits, false, true);
        path.inputs.push(symbol);
        self.terms.var(symbol)
    }

    /// If the condition holds, something is wrong; otherwise the path goes on.
    pub(super) fn error_if(
        &mut self,
        path: &mut Path,
        todo: &mut Vec<Path>,
        condition: Term,
        (kind, message): (ErrorKind, &str),
        loc: LocId,
    ) {
        if self.terms.is_false(condition) {
            return;
        }
        if self.terms.is_true(condition) {
            path.fail(kind, message, loc);
            return;
        }
        let mut wrong = path.clone();
        wrong.guard.push(condition);
        wrong.fail(kind, message, loc);
        todo.push(wrong);
        let fine = self.terms.not(condition);
        path.guard.push(fine);
    }

    /// Whether the path may do something visible here; otherwise it ends in front of it.
    pub(super) fn visible(&mut self, path: &mut Path) -> bool {
        if path.visible && path.atomic == 0 {
            self.cut(path, path.phase);
            return false;
        }
        path.visible = true;
        true
    }

    /// Whether the thread may wait or end the process here; otherwise the path ends in front of it. What it has written
    /// before, others may see meanwhile.
    pub(super) fn may_stay(&mut self, path: &mut Path) -> bool {
        let leaves_something = path.spawns.is_some() || path.accesses.iter().any(|access| access.write);
        if leaves_something && path.atomic == 0 {
            self.cut(path, path.phase);
            return false;
        }
        true
    }

    /// The path goes on only if the condition holds: a declared synchronisation constraint (section 5.4).
    pub(super) fn assume(&mut self, path: &mut Path, at: At, condition: Term) {
        if self.terms.is_true(condition) || !self.may_stay(path) {
            return;
        }
        path.guard.push(condition);
        path.may_block = true;
        path.step(at.func, at.inst, StepKind::Assume, at.loc);
        path.words.push(format!("assume {}", self.terms.text(condition)));
    }

    fn branch(&mut self, path: &mut Path, todo: &mut Vec<Path>, at: At, ways: &[(Term, Block)]) {
        let open: Vec<usize> = (0..ways.len()).filter(|&n| !self.terms.is_false(ways[n].0)).collect();
        for (k, &n) in open.iter().enumerate() {
            let (condition, dest) = ways[n];
            let last = k + 1 == open.len();
            let mut way = path.clone();
            way.guard.push(condition);
            way.step(at.func, at.inst, StepKind::Branch(n as u32), at.loc);
            self.jump(&mut way, dest);
            if last {
                *path = way;
            } else {
                todo.push(way);
            }
        }
        debug_assert!(!open.is_empty(), "one of the ways is open");
    }

    fn switch(
        &mut self,
        path: &mut Path,
        todo: &mut Vec<Path>,
        at: At,
        value: Term,
        cases: &[(u64, Block)],
        default: Block,
    ) {
        let bits = self.terms.bits(value);
        let mut ways = Vec::new();
        let mut others = self.terms.bool(true);
        for &(case, dest) in cases {
            let number = self.terms.number(case, bits);
            let same = self.terms.eq(value, number);
            ways.push((same, dest));
            let differs = self.terms.not(same);
            others = self.terms.and(others, differs);
        }
        ways.push((others, default));
        self.branch(path, todo, at, &ways);
    }

    /// Goes to a block: phis take effect, and a loop that does nothing visible ends the path.
    fn jump(&mut self, path: &mut Path, dest: Block) {
        let func_id = self.func_of(path.context);
        let func = &self.module.functions[func_id];
        let from = path.block;
        let mut values = Vec::new();
        for phi in func.phis(dest) {
            if let InstKind::Phi { ty, args } = &func.insts[phi].kind {
                let arg = args.iter().find(|(block, _)| *block == from).map(|(_, arg)| *arg);
                let arg = arg.expect("a phi has an argument for every predecessor");
                values.push((func.result(phi), self.operand(path, arg, *ty)));
            }
        }
        for (value, term) in values {
            self.define(path, Some(value), term);
        }
        let facts = self.function(func_id);
        let header = facts.loops.loops.values().find(|l| l.header == dest);
        if header.is_some_and(|l| l.latches.contains(&from)) {
            path.back_jump = true;
        }
        let again = path.visited.contains(&(path.context, dest));
        path.block = dest;
        path.index = func.phis(dest).count();
        if again {
            if path.atomic > 0 {
                let inst = func.blocks[dest].insts[path.index];
                let loc = func.insts[inst].loc;
                // Reported when the path is looked at again.
                self.refused.get_or_insert(unsupported("a loop in an atomic section", loc));
            }
            self.cut(path, 0);
        } else {
            path.visited.push((path.context, dest));
        }
    }

    fn call(
        &mut self,
        path: &mut Path,
        todo: &mut Vec<Path>,
        at: At,
        callee: &Callee,
        args: &[(Type, Operand)],
    ) -> Result<(), Unsupported> {
        let args: Vec<Term> = args.iter().map(|&(ty, arg)| self.operand(path, arg, ty)).collect();
        let callee = match callee {
            Callee::Direct(func) => *func,
            Callee::Indirect(pointer) => {
                let pointer = self.operand(path, *pointer, Type::Ptr);
                let address = self.terms.constant(pointer);
                let func = address.and_then(|address| Memory::function_at(self.module, address));
                func.ok_or_else(|| unsupported("a call through a pointer that is not known", at.loc))?
            }
        };
        let func = &self.module.functions[callee];
        let name = func.name.clone();
        if func.is_declaration() || super::library::is_modelled(&name) {
            return self.library(path, todo, at, &name, &args);
        }
        let mut outer = Some(path.context);
        while let Some(context) = outer {
            if self.func_of(context) == callee {
                return Err(unsupported(format!("recursion: `{}` calls itself", func.source_name), at.loc));
            }
            outer = self.contexts[context as usize].caller.map(|(context, ..)| context);
        }
        if func.vararg {
            return Err(unsupported("functions with a variable number of arguments", at.loc));
        }
        let atomic = name.starts_with("__VERIFIER_atomic_");
        if atomic && path.atomic == 0 && !self.visible(path) {
            return Ok(());
        }
        if atomic {
            path.atomic += 1;
            path.step(at.func, at.inst, StepKind::AtomicBegin, at.loc);
        }
        let caller = Some((path.context, path.block, path.index));
        let context = self.context(Context { thread: path.thread, func: callee, caller, atomic });
        for (&param, &arg) in func.params.iter().zip(&args) {
            path.env.insert(Slot::Value(context, param), arg);
        }
        path.context = context;
        path.block = func.entry();
        path.index = 0;
        Ok(())
    }

    fn ret(&mut self, path: &mut Path, at: At, values: Vec<Term>) -> Result<(), Unsupported> {
        let context = self.contexts[path.context as usize];
        let ends_all = path.thread.index() == 0 && context.caller.is_none();
        if !ends_all && !self.leave_stack(path, at, &[path.context]) {
            return Ok(());
        }
        let Some((outer, block, index)) = context.caller else {
            let result = values.first().copied();
            self.end_thread(path, at, result);
            return Ok(());
        };
        if context.atomic {
            path.atomic -= 1;
            path.step(at.func, at.inst, StepKind::AtomicEnd, at.loc);
        }
        let gone = path.context;
        path.env.retain(|slot, _| !matches!(slot, Slot::Value(context, _) if *context == gone));
        // Blocks of the function may be entered again by the next call.
        path.visited.retain(|(context, _)| *context != gone);
        (path.context, path.block, path.index) = (outer, block, index);
        let func = &self.module.functions[self.func_of(outer)];
        let call = func.blocks[block].insts[index];
        let results = func.insts[call].results.clone();
        for (&result, value) in results.iter().zip(values) {
            self.define(path, Some(result), value);
        }
        path.index += 1;
        Ok(())
    }

    fn rmw(&mut self, at: At, op: RmwOp, old: Term, operand: Term) -> Result<Term, Unsupported> {
        let t = &mut self.terms;
        Ok(match op {
            RmwOp::Xchg => operand,
            RmwOp::Add => t.add(old, operand),
            RmwOp::Sub => t.sub(old, operand),
            RmwOp::And => t.and(old, operand),
            RmwOp::Nand => {
                let and = t.and(old, operand);
                t.not(and)
            }
            RmwOp::Or => t.or(old, operand),
            RmwOp::Xor => t.xor(old, operand),
            RmwOp::Max | RmwOp::Min => {
                let less = t.slt(old, operand);
                if op == RmwOp::Max { t.ite(less, operand, old) } else { t.ite(less, old, operand) }
            }
            RmwOp::UMax | RmwOp::UMin => {
                let less = t.ult(old, operand);
                if op == RmwOp::UMax { t.ite(less, operand, old) } else { t.ite(less, old, operand) }
            }
            RmwOp::FAdd | RmwOp::FSub => return Err(unsupported("floating-point arithmetic", at.loc)),
        })
    }
}
