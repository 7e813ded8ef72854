//! Instructions along a path.

use super::objects::{Cell, Memory, Place, Target, gcd, initial_elements, initial_value, unsupported};
use super::path::{Ending, Path, Slot};
use super::{Builder, Context, Unsupported};
use crate::program::{Access, ErrorKind, StepKind};
use crate::term::{ArrayBase, ArrayValue, Term};
use selvedge_ir::{
    Block, Callee, FuncId, GlobalId, Inst, InstKind, LocId, Operand, RmwOp, Type, Value,
};

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
                self.define(path, result, value);
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
                self.stack_names.insert(place, name);
                let value = self.terms.number(base, 64);
                self.define(path, result, value);
            }
            InstKind::Load { ty, addr, path: words, .. } => {
                let Some(target) = self.access(path, todo, at, *addr, *ty, false, *words)? else { return Ok(()) };
                let value = self.read(path, todo, at, &target, *ty);
                self.define(path, result, value);
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
                let old = self.read(path, todo, at, &target, *ty);
                let operand = self.operand(path, *value, *ty);
                let new = self.rmw(at, *op, old, operand)?;
                self.write(path, &target, new);
                self.define(path, result, old);
            }
            InstKind::Cas { ty, addr, expected, new, path: words, .. } => {
                let Some(target) = self.access(path, todo, at, *addr, *ty, true, *words)? else { return Ok(()) };
                let old = self.read(path, todo, at, &target, *ty);
                let (expected, new) = (self.operand(path, *expected, *ty), self.operand(path, *new, *ty));
                let same = self.terms.eq(old, expected);
                let left = self.terms.ite(same, new, old);
                self.write(path, &target, left);
                self.define(path, result, old);
                self.define(path, data.results.get(1).copied(), same);
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
            InstKind::MemCopy { .. } | InstKind::MemSet { .. } => {
                return Err(unsupported("copying or filling memory as a block", at.loc));
            }
            InstKind::VaStart { .. } | InstKind::VaArg { .. } | InstKind::VaCopy { .. } => {
                return Err(unsupported("functions with a variable number of arguments", at.loc));
            }
            InstKind::Await { .. } => return Err(unsupported("an await", at.loc)),
        }
        if path.ending == Ending::Running {
            path.index += 1;
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
            Operand::Func(func) => self.terms.number(Memory::function(func), bits),
            Operand::Undef => self.terms.number(0, bits),
        }
    }

    fn global_base(&mut self, global: GlobalId) -> u64 {
        self.memory.base(Place::Global(global), self.module.globals[global].size)
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

    /// The path goes on only if the condition holds: a declared synchronisation constraint (section 5.4).
    pub(super) fn assume(&mut self, path: &mut Path, at: At, condition: Term) {
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

    /// Finds the cell of an access. None if the path ends here: in front of the access, or with an error.
    #[expect(clippy::too_many_arguments, reason = "an access has that many sides")]
    fn access(
        &mut self,
        path: &mut Path,
        todo: &mut Vec<Path>,
        at: At,
        addr: Operand,
        ty: Type,
        write: bool,
        words: Option<selvedge_ir::PathId>,
    ) -> Result<Option<Target>, Unsupported> {
        let address = self.operand(path, addr, Type::Ptr);
        let words = words.map(|id| self.module.paths[id].clone()).unwrap_or_default();
        let size = u64::from(ty.store_size());
        let Some(target) = self.locate(path, todo, at, address, size, &words)? else { return Ok(None) };
        self.touch(path, &target, write);
        let counts = self.is_visible(&target);
        if counts && !self.visible(path) {
            return Ok(None);
        }
        if let (Cell::Element(_, index), Some(count)) = (target.cell, target.count) {
            let count = self.terms.number(count, 64);
            let inside = self.terms.ult(index, count);
            let outside = self.terms.not(inside);
            let message = format!("`{words}` is outside of its array");
            self.error_if(path, todo, outside, (ErrorKind::OutOfBounds, &message), at.loc);
            if path.ending != Ending::Running {
                return Ok(None);
            }
        }
        if counts {
            let is_rmw = matches!(
                self.module.functions[at.func].insts[at.inst].kind,
                InstKind::Rmw { .. } | InstKind::Cas { .. }
            );
            let kind = if is_rmw { StepKind::Rmw } else if write { StepKind::Store } else { StepKind::Load };
            path.step(at.func, at.inst, kind, at.loc);
            if !write {
                self.say(path, &target, format!("read {}", self.target_name(&target)));
            }
            let name = self.place_name(target.place);
            let object = self.object(&name);
            path.accesses.push(Access { object, bytes: target.bytes, write });
        }
        Ok(Some(target))
    }

    /// Whether another thread could notice an access to a cell.
    pub(super) fn is_visible(&self, target: &Target) -> bool {
        let layouts = &self.memory.layouts;
        layouts.is_shared(target.place) && layouts.is_written(target.place, target.offset)
    }

    /// Notes who touches what.
    pub(super) fn touch(&mut self, path: &Path, target: &Target, write: bool) {
        self.facts.users.entry(target.place).or_default().insert(path.thread);
        if write {
            self.facts.written.insert((target.place, target.offset));
        }
    }

    /// The cell at an address. None if the path ends with an error.
    pub(super) fn locate(
        &mut self,
        path: &mut Path,
        _todo: &mut Vec<Path>,
        at: At,
        address: Term,
        size: u64,
        words: &str,
    ) -> Result<Option<Target>, Unsupported> {
        let Some((place, offset, parts)) = self.memory.find(&self.terms, address) else {
            if self.terms.constant(address).is_some_and(|a| a < 1 << 32) {
                let what = if words.is_empty() { "memory".to_owned() } else { format!("`{words}`") };
                path.fail(ErrorKind::InvalidPointer, format!("{what} is accessed through a null pointer"), at.loc);
                return Ok(None);
            }
            let what = if words.is_empty() { String::new() } else { format!(" in `{words}`") };
            return Err(unsupported(format!("a pointer{what} that cannot be resolved: where it points to is not fixed"), at.loc));
        };
        let total = self.memory.size(place);
        if let Some(stride) = parts.iter().map(|&(f, _)| (f as i64).unsigned_abs()).reduce(gcd) {
            let stride = self.facts.strides.get(&place).map_or(stride, |&old| gcd(old, stride));
            self.facts.strides.insert(place, stride);
        }
        let stride = self.memory.layouts.stride(place);
        if parts.is_empty() && (offset < 0 || offset as u64 + size > total) {
            path.fail(ErrorKind::OutOfBounds, format!("`{words}` is outside of its object"), at.loc);
            return Ok(None);
        }
        let bytes = parts.is_empty().then(|| (offset as u64, offset as u64 + size));
        let Some(stride) = stride else {
            // If it is indexed, that was just noted, and everything is built again.
            let offset = if parts.is_empty() { offset as u64 } else { 0 };
            let symbol = self.scalar(place, offset, size, words, at)?;
            return Ok(Some(Target { place, cell: Cell::Scalar(symbol), offset, bytes, count: None }));
        };
        let field = offset.rem_euclid(stride as i64) as u64;
        if field + size > stride {
            return Err(unsupported("an array that is accessed in parts that do not fit its elements", at.loc));
        }
        let first = offset.div_euclid(stride as i64) as u64;
        let parts: Vec<_> = parts.iter().map(|&(f, t)| ((f as i64 / stride as i64) as u64, t)).collect();
        let index = self.terms.sum(first, &parts, 64);
        let symbol = self.array(place, stride, field, size, at)?;
        let count = Some(total / stride);
        Ok(Some(Target { place, cell: Cell::Element(symbol, index), offset: field, bytes, count }))
    }

    fn scalar(&mut self, place: Place, offset: u64, size: u64, words: &str, at: At) -> Result<crate::term::Symbol, Unsupported> {
        let bits = (size * 8) as u8;
        let fixed_name = matches!(place, Place::Global(g) if self.module.globals[g].size == size);
        let name = if words.is_empty() || fixed_name || words.contains('[') || words.contains('*') {
            if offset == 0 { self.place_name(place) } else { format!("{}+{offset}", self.place_name(place)) }
        } else {
            words.to_owned()
        };
        let terms = &mut self.terms;
        let before = terms.symbols.len();
        let symbol = self.memory.cell((place, offset, size), || terms.symbol(name, bits, false, false));
        let symbol = symbol.map_err(|feature| unsupported(feature, at.loc))?;
        if self.terms.symbols.len() > before {
            let value = self.initial_number(place, offset, size, at)?;
            let value = self.terms.number(value, bits);
            self.initial.values.insert(symbol, value);
        }
        Ok(symbol)
    }

    fn array(&mut self, place: Place, stride: u64, field: u64, size: u64, at: At) -> Result<crate::term::Symbol, Unsupported> {
        let bits = (size * 8) as u8;
        let name = if field == 0 { self.place_name(place) } else { format!("{}.{field}", self.place_name(place)) };
        let terms = &mut self.terms;
        let before = terms.symbols.len();
        let symbol = self.memory.cell((place, field, size), || terms.symbol(name, bits, true, false));
        let symbol = symbol.map_err(|feature| unsupported(feature, at.loc))?;
        if self.terms.symbols.len() > before {
            let elements = match place {
                Place::Stack(..) => Some(Vec::new()),
                Place::Global(global) => {
                    let (module, memory) = (self.module, &mut self.memory);
                    let base = |id: GlobalId| memory.base(Place::Global(id), module.globals[id].size);
                    initial_elements(module, &module.globals[global], stride, field, size, base)
                }
            };
            let elements = elements.ok_or_else(|| unsupported("a large array with initial contents", at.loc))?;
            let fixed = self.terms.fixed.push((bits, elements));
            self.initial.arrays.insert(symbol, ArrayValue { base: ArrayBase::Fixed(fixed), writes: Vec::new() });
        }
        Ok(symbol)
    }

    fn initial_number(&mut self, place: Place, offset: u64, size: u64, at: At) -> Result<u64, Unsupported> {
        let Place::Global(global) = place else { return Ok(0) };
        let data = &self.module.globals[global];
        if data.external {
            return Err(unsupported(format!("`{}`, which is only declared", data.source_name), at.loc));
        }
        let (module, memory) = (self.module, &mut self.memory);
        let base = |id: GlobalId| memory.base(Place::Global(id), module.globals[id].size);
        initial_value(module, data, offset, size, base)
            .ok_or_else(|| unsupported("a part of a pointer", at.loc))
    }

    /// The value of a cell.
    pub(super) fn read(&mut self, path: &mut Path, todo: &mut Vec<Path>, at: At, target: &Target, ty: Type) -> Term {
        let value = self.read_cell(path, todo, at, target);
        let bits = ty.bits() as u8;
        if self.terms.bits(value) == bits { value } else { self.terms.extract(0, bits, value) }
    }

    fn read_cell(&mut self, path: &mut Path, _todo: &mut [Path], at: At, target: &Target) -> Term {
        let layouts = &self.memory.layouts;
        match target.cell {
            Cell::Element(symbol, index) => {
                let value = match layouts.is_written(target.place, target.offset) {
                    true => path.shared.array(symbol),
                    false => self.initial.array(symbol),
                };
                self.terms.read(&value, index)
            }
            Cell::Scalar(symbol) if !layouts.is_written(target.place, target.offset) => {
                let Place::Global(_) = target.place else {
                    path.fail(ErrorKind::UninitialisedRead, "a local variable is read that was never written", at.loc);
                    return self.initial.values[&symbol];
                };
                self.initial.values[&symbol]
            }
            Cell::Scalar(symbol) if layouts.is_shared(target.place) => {
                let current = path.shared.values.get(&symbol).copied();
                current.unwrap_or_else(|| self.terms.var(symbol))
            }
            Cell::Scalar(symbol) => match (path.env.get(&Slot::Cell(symbol)), target.place) {
                (Some(&term), _) => term,
                (None, Place::Global(_)) => self.initial.values[&symbol],
                (None, Place::Stack(..)) => {
                    path.fail(ErrorKind::UninitialisedRead, "a local variable is read before it is written", at.loc);
                    self.initial.values[&symbol]
                }
            },
        }
    }

    /// Changes a cell.
    pub(super) fn write(&mut self, path: &mut Path, target: &Target, value: Term) {
        let value = match target.cell {
            Cell::Scalar(symbol) | Cell::Element(symbol, _) => self.terms.zext(value, self.terms.symbols[symbol].bits),
        };
        match target.cell {
            Cell::Element(symbol, index) => {
                let mut array = path.shared.array(symbol);
                array.writes.push((index, value));
                path.shared.arrays.insert(symbol, array);
            }
            Cell::Scalar(symbol) if self.memory.layouts.is_shared(target.place) => {
                path.shared.values.insert(symbol, value);
            }
            Cell::Scalar(symbol) => {
                path.env.insert(Slot::Cell(symbol), value);
            }
        }
    }

    pub(super) fn place_name(&self, place: Place) -> String {
        match place {
            Place::Global(global) => self.module.globals[global].source_name.clone(),
            Place::Stack(..) => self.stack_names.get(&place).cloned().unwrap_or_default(),
        }
    }

    fn target_name(&self, target: &Target) -> String {
        match target.cell {
            Cell::Scalar(symbol) => self.terms.symbols[symbol].name.clone(),
            Cell::Element(symbol, index) => {
                format!("{}[{}]", self.terms.symbols[symbol].name, self.terms.text(index))
            }
        }
    }

    fn say(&self, path: &mut Path, target: &Target, text: String) {
        if self.is_visible(target) {
            path.words.push(text);
        }
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
