//! From a function of the representation to bytecode.
//!
//! Blocks are laid out in reverse post-order, so that most jumps fall through. Constants become part of instructions
//! where there is room for them and are loaded into a temporary register otherwise. Comparisons become part of branches
//! (`branches.rs`). Phis become copies on the edges that lead to them (`edges.rs`); an edge of a conditional branch
//! that needs copies gets a stub behind the function's code. With a bound on loops, edges into a loop reset its counter
//! and edges back to its start count.
//!
//! A function that cannot be compiled (more registers than an instruction can name) becomes a single instruction that
//! says so when it is reached.

use super::InterpOptions;
use super::code::{AwaitAccess, AwaitSite, CallSite, Debug, Ins, Mode, Pc, Program, Reg, Src, Switch, Target};
use super::flow::Flow;
use super::pure_iteration::{loop_sites, noted_registers, tracked_loops, unnoted};
use super::registers::{self, Registers};
use super::select::{Addresses, Root, Selection};
use rustc_hash::FxHashMap;
use selvedge_ir::{
    AwaitKind, BinaryOp, Block, Callee, CastOp, CmpOp, EntityRef, FuncId, Function, Inst, InstData, InstKind, LocId,
    Operand, Order, Type, Value,
};

/// Registers that values may have; those above are temporaries.
const MAX_REGISTERS: u32 = 60_000;

/// Appends the code of a function with a body to a program.
pub fn compile(program: &mut Program, id: FuncId, function: &Function, addresses: &Addresses, options: &InterpOptions) {
    let unroll = options.unroll;
    let entry = program.code.len() as Pc;
    program.funcs[id].entry = Some(entry);
    let flow = Flow::of(function);
    if !flow.preds[function.entry().index()].is_empty() {
        return refuse(program, id, function, "a function that jumps back to its entry block");
    }
    let selection = Selection::new(function, addresses, &flow.order);
    let registers = registers::allocate(function, &flow, &selection);
    let headers: Vec<Block> = match unroll {
        Some(_) => flow.order.iter().copied().filter(|&block| flow.is_loop_header(block)).collect(),
        None => Vec::new(),
    };
    let tracked = if options.dynamic_purity { tracked_loops(function, &flow, &selection) } else { Vec::new() };
    let noted = registers.count + headers.len() as u32;
    let temporaries = noted + tracked.iter().map(|(_, phis)| noted_registers(phis.len())).sum::<u32>();
    if temporaries > MAX_REGISTERS {
        return refuse(program, id, function, "a function with more than 60000 values alive at once");
    }
    let loops = loop_sites(program, &registers, tracked, noted);
    let unnoted = unnoted(program, &flow, &loops);
    let counters = headers.into_iter().zip(registers.count..).map(|(block, n)| (block, n as Reg)).collect();
    let labels = vec![Pc::MAX; function.blocks.len()];
    let loc = function.loc;
    let mut encoder = Encoder {
        program,
        function,
        flow: &flow,
        selection: &selection,
        registers,
        temporaries,
        next_temporary: temporaries,
        registers_in_use: temporaries,
        labels,
        stubs: Vec::new(),
        counters,
        loops,
        limit: unroll.unwrap_or(u32::MAX),
        publishes: options.atomics_publish,
        about: Debug { loc, path: None, ty: None, volatile: false },
    };
    unnoted.into_iter().for_each(|ins| encoder.emit(ins));
    encoder.body();
    encoder.place_stubs();
    let (labels, in_use) = (encoder.labels, encoder.registers_in_use);
    program.funcs[id].registers = in_use;
    resolve(program, entry, &labels);
}

fn refuse(program: &mut Program, id: FuncId, function: &Function, feature: &str) {
    let message = program.messages.len() as u32;
    program.messages.push(format!("{feature} (`{}`)", function.source_name));
    program.funcs[id].registers = function.params.len() as u32;
    program.code.push(Ins::Unsupported { message });
    program.debug.push(Debug { loc: function.loc, path: None, ty: None, volatile: false });
}

/// An edge that needs code of its own.
struct Stub {
    label: usize,
    from: Block,
    to: Block,
}

pub(super) struct Encoder<'a> {
    pub(super) program: &'a mut Program,
    pub(super) function: &'a Function,
    pub(super) flow: &'a Flow,
    pub(super) selection: &'a Selection<'a>,
    registers: Registers,
    /// The first register for constants that no instruction has room for and for cycles of copies.
    temporaries: u32,
    next_temporary: u32,
    registers_in_use: u32,
    /// Where each block starts, then where each stub starts. Branches name labels until the end.
    labels: Vec<Pc>,
    stubs: Vec<Stub>,
    /// The loop counter of each loop header, if loops are bounded.
    pub(super) counters: FxHashMap<Block, Reg>,
    /// The sites of the loop headers whose iterations are compared.
    pub(super) loops: FxHashMap<Block, u32>,
    pub(super) limit: u32,
    /// Whether atomic accesses publish.
    pub(super) publishes: bool,
    pub(super) about: Debug,
}

impl Encoder<'_> {
    fn body(&mut self) {
        for (n, &block) in self.flow.order.iter().enumerate() {
            self.labels[block.index()] = self.here();
            let next = self.flow.order.get(n + 1).copied();
            let mut ended = false;
            for &inst in &self.function.blocks[block].insts {
                let data = &self.function.insts[inst];
                if matches!(data.kind, InstKind::Phi { .. }) || !self.selection.needed[inst.index()] {
                    continue;
                }
                self.next_temporary = self.temporaries;
                let volatile = is_volatile(&data.kind);
                self.about = Debug { loc: data.loc, path: data.kind.path(), ty: type_of(&data.kind), volatile };
                if data.kind.is_terminator() {
                    self.terminator(block, data, next);
                    ended = true;
                    break;
                }
                self.instruction(inst, data);
            }
            if !ended {
                self.emit(Ins::Unreachable);
            }
        }
    }

    fn here(&self) -> Pc {
        self.program.code.len() as Pc
    }

    pub(super) fn emit(&mut self, ins: Ins) {
        self.program.code.push(ins);
        self.program.debug.push(self.about);
    }

    pub(super) fn register(&self, value: Value) -> Reg {
        self.registers.of(value) as Reg
    }

    /// A register that nothing else uses within the present instruction.
    pub(super) fn temporary(&mut self) -> Reg {
        self.next_temporary += 1;
        self.registers_in_use = self.registers_in_use.max(self.next_temporary);
        debug_assert!(self.registers_in_use <= u32::from(Reg::MAX), "few instructions need many temporaries");
        (self.next_temporary - 1) as Reg
    }

    /// Where the n-th result goes; a temporary if there is none.
    fn result(&mut self, data: &InstData, n: usize) -> Reg {
        match data.results.get(n) {
            Some(&value) => self.register(value),
            None => self.temporary(),
        }
    }

    pub(super) fn source(&mut self, operand: Operand) -> Src {
        let root = self.selection.root(operand);
        self.root_source(root)
    }

    fn root_source(&mut self, root: Root) -> Src {
        match root {
            Root::Value(value) => Src::Reg(self.register(value)),
            Root::Const(bits) => Src::Const(bits),
            Root::ThreadLocal(global, offset) => {
                let dst = self.temporary();
                // Offsets into a global fit: the loader refuses larger ones.
                self.emit(Ins::ThreadLocal { dst, global, offset: offset as i32 });
                Src::Reg(dst)
            }
        }
    }

    pub(super) fn load_constant(&mut self, source: Src) -> Reg {
        match source {
            Src::Reg(register) => register,
            Src::Const(value) => {
                let dst = self.temporary();
                self.emit(Ins::Const { dst, value });
                dst
            }
        }
    }

    fn in_register(&mut self, operand: Operand) -> Reg {
        let source = self.source(operand);
        self.load_constant(source)
    }

    fn instruction(&mut self, inst: Inst, data: &InstData) {
        match &data.kind {
            InstKind::Binary { op, ty, a, b } => self.binary(data, *op, *ty, *a, *b),
            InstKind::FNeg { ty, a } => {
                let a = self.in_register(*a);
                let dst = self.result(data, 0);
                self.emit(Ins::FNeg { ty: *ty, dst, a });
            }
            InstKind::Cmp { op, ty, a, b } => self.compare(data, *op, *ty, *a, *b),
            InstKind::Cast { op, from, to, a } => self.cast(data, *op, *from, *to, *a),
            InstKind::Select { cond, a, b, .. } => {
                let (cond, a, b) = (self.in_register(*cond), self.in_register(*a), self.in_register(*b));
                let dst = self.result(data, 0);
                self.emit(Ins::Select { dst, cond, a, b });
            }
            InstKind::PtrAdd { base, index, scale, offset } => self.ptr_add(data, *base, *index, *scale, *offset),
            InstKind::Alloca { size, name, debug_type, .. } => {
                let size = self.source(*size);
                let dst = self.result(data, 0);
                self.program.locals.insert(self.here(), (name.clone(), *debug_type));
                match size {
                    Src::Const(size) => self.emit(Ins::AllocaK { dst, size }),
                    Src::Reg(size) => self.emit(Ins::Alloca { dst, size }),
                }
            }
            InstKind::Load { .. } => self.load(inst, data),
            InstKind::Store { ty, addr, value, order, .. } => self.store(*ty, *addr, *value, *order),
            InstKind::Rmw { op, ty, addr, value, order, .. } => {
                let (addr, value) = (self.in_register(*addr), self.in_register(*value));
                self.publish(*order, Src::Reg(addr), 0);
                let used = self.is_used(data);
                let dst = self.result(data, 0);
                self.emit(Ins::Rmw { op: *op, order: *order, ty: *ty, used, dst, addr, value });
            }
            InstKind::Cas { ty, addr, expected, new, success, failure, confirms, .. } => {
                let (addr, expected) = (self.in_register(*addr), self.in_register(*expected));
                let new = self.in_register(*new);
                let (old, done) = (self.result(data, 0), self.result(data, 1));
                let (success, failure, confirms, ty) = (*success, *failure, *confirms, *ty);
                self.publish(success, Src::Reg(addr), 0);
                self.emit(Ins::Cas { success, failure, confirms, ty, old, done, addr, expected, new });
            }
            other => self.rare_instruction(data, other),
        }
    }

    fn rare_instruction(&mut self, data: &InstData, kind: &InstKind) {
        match kind {
            InstKind::Await { .. } => self.await_access(data, kind),
            InstKind::Fence { order } => self.emit(Ins::Fence { order: *order }),
            InstKind::MemCopy { dst, src, len, overlap } => {
                let (dst, src, len) = (self.in_register(*dst), self.in_register(*src), self.in_register(*len));
                self.emit(Ins::MemCopy { dst, src, len, overlap: *overlap });
            }
            InstKind::MemSet { dst, byte, len } => {
                let (dst, byte, len) = (self.in_register(*dst), self.in_register(*byte), self.in_register(*len));
                self.emit(Ins::MemSet { dst, byte, len });
            }
            InstKind::Call { callee, args } => self.call(data, *callee, args),
            InstKind::Intrinsic { op, ty, args } => {
                let mut sources = [0; 3];
                for (source, arg) in sources.iter_mut().zip(args) {
                    *source = self.in_register(*arg);
                }
                let [a, b, c] = sources;
                let dst = self.result(data, 0);
                let flag = self.result(data, 1);
                self.emit(Ins::Intrinsic { op: *op, ty: *ty, dst, flag, a, b, c });
            }
            InstKind::VaStart { list } => {
                let list = self.in_register(*list);
                self.emit(Ins::VaStart { list });
            }
            InstKind::VaArg { list, ty } => {
                let list = self.in_register(*list);
                let dst = self.result(data, 0);
                self.emit(Ins::VaArg { ty: *ty, dst, list });
            }
            InstKind::VaCopy { dst, src } => {
                let (dst, src) = (self.in_register(*dst), self.in_register(*src));
                self.emit(Ins::VaCopy { dst, src });
            }
            InstKind::ThreadLocal { global } => {
                let dst = self.result(data, 0);
                self.emit(Ins::ThreadLocal { dst, global: *global, offset: 0 });
            }
            InstKind::Assume { cond, pure } => {
                let cond = self.in_register(*cond);
                let pure = pure.map(|began| self.in_register(began));
                self.emit(Ins::Assume { cond, pure });
            }
            InstKind::Iteration => {
                let dst = self.result(data, 0);
                self.emit(Ins::Iteration { dst });
            }
            InstKind::Unsupported { feature } => {
                let message = self.program.messages.len() as u32;
                self.program.messages.push(feature.clone());
                self.emit(Ins::Unsupported { message });
            }
            _ => unreachable!("common instructions, phis and terminators have been dealt with"),
        }
    }

    fn binary(&mut self, data: &InstData, op: BinaryOp, ty: Type, a: Operand, b: Operand) {
        let (mut a, mut b) = (self.source(a), self.source(b));
        let commutes = matches!(op, BinaryOp::Add | BinaryOp::Mul | BinaryOp::And | BinaryOp::Or | BinaryOp::Xor);
        if commutes && matches!(a, Src::Const(_)) {
            std::mem::swap(&mut a, &mut b);
        }
        let a = self.load_constant(a);
        let dst = self.result(data, 0);
        let ins = match b {
            Src::Const(k) => binary_constant(op, ty, dst, a, k),
            Src::Reg(b) => binary_register(op, ty, dst, a, b),
        };
        self.emit(ins);
    }

    fn compare(&mut self, data: &InstData, op: CmpOp, ty: Type, a: Operand, b: Operand) {
        let a = self.in_register(a);
        let b = self.source(b);
        let dst = self.result(data, 0);
        match b {
            Src::Const(k) => self.emit(Ins::CmpK { op, ty, dst, a, k }),
            Src::Reg(b) => self.emit(Ins::Cmp { op, ty, dst, a, b }),
        }
    }

    fn cast(&mut self, data: &InstData, op: CastOp, from: Type, to: Type, a: Operand) {
        let a = self.in_register(a);
        let dst = self.result(data, 0);
        match op {
            CastOp::Trunc | CastOp::PtrToInt | CastOp::IntToPtr => self.emit(Ins::AndK { dst, a, k: to.mask() }),
            CastOp::ZExt | CastOp::Bitcast => self.emit(Ins::Move { dst, src: a }),
            CastOp::SExt => self.emit(Ins::SExt { bits: from.bits() as u8, dst, a, mask: to.mask() }),
            _ => self.emit(Ins::Cast { op, from, to, dst, a }),
        }
    }

    fn ptr_add(&mut self, data: &InstData, base: Operand, index: Operand, scale: i64, offset: i64) {
        let (root, more) = self.selection.address(base);
        let offset = offset.wrapping_add(more);
        let (base, index) = (self.root_source(root), self.source(index));
        let dst = self.result(data, 0);
        match (base, index) {
            (Src::Reg(a), Src::Const(index)) => {
                let k = index.wrapping_mul(scale as u64).wrapping_add(offset as u64);
                self.emit(Ins::Add64K { dst, a, k });
            }
            (Src::Const(base), Src::Reg(index)) if u16::try_from(scale).is_ok() => {
                self.emit(Ins::PtrAddK { dst, index, scale: scale as u16, base: base.wrapping_add(offset as u64) });
            }
            (base, index) => {
                let (base, index) = (self.load_constant(base), self.load_constant(index));
                match (i32::try_from(scale), i32::try_from(offset)) {
                    (Ok(scale), Ok(offset)) => self.emit(Ins::PtrAdd { dst, base, index, scale, offset }),
                    _ => {
                        let step = self.temporary();
                        self.emit(Ins::Mul64K { dst: step, a: index, k: scale as u64 });
                        self.emit(Ins::Add64 { dst: step, a: step, b: base });
                        self.emit(Ins::Add64K { dst, a: step, k: offset as u64 });
                    }
                }
            }
        }
    }

    /// Objects that are accessed atomically are shared if the options say so. Globals are anyway.
    fn publish(&mut self, order: Order, base: Src, offset: i64) {
        if let Src::Reg(addr) = base
            && order.is_atomic()
            && self.publishes
        {
            self.emit(Ins::Publish { addr, offset: offset as i32 });
        }
    }

    fn load(&mut self, inst: Inst, data: &InstData) {
        let InstKind::Load { ty, addr, order, speculative, .. } = data.kind else {
            unreachable!("the caller has matched a load");
        };
        let (root, offset) = self.selection.address(addr);
        let base = self.root_source(root);
        let raw = self.selection.is_bit_field_update(inst);
        let (mode, bits) = (Mode { size: ty.store_size() as u8, order, raw }, ty.bits() as u8);
        let dst = self.result(data, 0);
        self.publish(order, base, offset);
        match base {
            Src::Const(addr) => {
                let addr = addr.wrapping_add(offset as u64);
                self.emit(Ins::LoadG { mode, speculative, bits, dst, addr });
            }
            // `Selection::address` folds offsets of 32 bits only.
            Src::Reg(addr) => self.emit(Ins::Load { mode, speculative, bits, dst, addr, offset: offset as i32 }),
        }
    }

    fn store(&mut self, ty: Type, addr: Operand, value: Operand, order: Order) {
        let (root, offset) = self.selection.address(addr);
        let (base, value) = (self.root_source(root), self.source(value));
        let mode = Mode { size: ty.store_size() as u8, order, raw: false };
        self.publish(order, base, offset);
        match (base, value) {
            (Src::Const(base), value) => {
                let src = self.load_constant(value);
                self.emit(Ins::StoreG { mode, src, addr: base.wrapping_add(offset as u64) });
            }
            (Src::Reg(addr), Src::Const(k)) if i16::try_from(offset).is_ok() => {
                self.emit(Ins::StoreK { mode, addr, offset: offset as i16, k });
            }
            (Src::Reg(addr), value) => {
                let src = self.load_constant(value);
                self.emit(Ins::Store { mode, src, addr, offset: offset as i32 });
            }
        }
    }

    fn await_access(&mut self, data: &InstData, kind: &InstKind) {
        let InstKind::Await { access, ty, addr, order, until, mask, operand, retry, .. } = kind else {
            unreachable!("the caller has matched an await");
        };
        let (addr, operand) = (self.in_register(*addr), self.in_register(*operand));
        let access = match *access {
            AwaitKind::Load => AwaitAccess::Load,
            AwaitKind::Rmw { op, value } => {
                let value = self.in_register(value);
                AwaitAccess::Rmw { op, value, used: self.is_used(data) }
            }
            AwaitKind::Cas { expected, new, failure, confirms } => {
                let (expected, new) = (self.in_register(expected), self.in_register(new));
                AwaitAccess::Cas { expected, new, failure, confirms }
            }
        };
        let results = [self.result(data, 0), self.result(data, 1)];
        let (ty, order, until, mask) = (*ty, *order, *until, *mask);
        let retry = retry.map(|began| self.in_register(began));
        let site = self.program.awaits.len() as u32;
        let await_site = AwaitSite { kind: access, ty, order, results, addr, until, operand, mask, retry };
        self.program.awaits.push(await_site);
        self.publish(order, Src::Reg(addr), 0);
        self.emit(Ins::Await { site });
    }

    /// Whether any code looks at the first result of an instruction.
    fn is_used(&self, data: &InstData) -> bool {
        data.results.first().is_some_and(|v| self.selection.use_count[v.index()] > 0)
    }

    fn call(&mut self, data: &InstData, callee: Callee, args: &[(Type, Operand)]) {
        let target = match callee {
            Callee::Direct(func) => Target::Direct(func),
            Callee::Indirect(addr) => Target::Indirect(self.source(addr)),
        };
        let sources = args.iter().map(|&(_, arg)| self.source(arg)).collect();
        let mask = |value: Value| self.function.values[value].ty.mask();
        let results = data.results.iter().map(|&value| (self.register(value), mask(value))).collect();
        let site = self.program.calls.len() as u32;
        let types = args.iter().map(|&(ty, _)| ty).collect();
        self.program.calls.push(CallSite { target, args: sources, types, results });
        self.emit(Ins::Call { site });
    }

    fn terminator(&mut self, block: Block, data: &InstData, next: Option<Block>) {
        match &data.kind {
            InstKind::Br { dest } => {
                self.edge_code(block, *dest);
                if next != Some(*dest) {
                    self.emit(Ins::Jump { to: dest.index() as Pc });
                }
            }
            InstKind::CondBr { cond, then_dest, else_dest } => {
                let then = self.edge_label(block, *then_dest);
                let other = self.edge_label(block, *else_dest);
                self.branch(*cond, then, other);
            }
            InstKind::Switch { value, cases, default, .. } => {
                let value = self.in_register(*value);
                let mut cases: Vec<(u64, Pc)> =
                    cases.iter().map(|&(case, to)| (case, self.edge_label(block, to))).collect();
                cases.sort_by_key(|&(case, _)| case);
                let default = self.edge_label(block, *default);
                let table = self.program.switches.len() as u32;
                self.program.switches.push(Switch { cases, default });
                self.emit(Ins::Switch { value, table });
            }
            InstKind::Ret { values } => {
                let sources: Vec<Src> = values.iter().map(|&value| self.source(value)).collect();
                let (first, count) = (self.program.returns.len() as u32, sources.len() as u16);
                self.program.returns.extend(sources);
                self.emit(Ins::Ret { first, count });
            }
            _ => self.emit(Ins::Unreachable),
        }
    }

    /// The label to jump to for an edge of a branch: the block itself, or a stub if the edge needs code.
    fn edge_label(&mut self, from: Block, to: Block) -> Pc {
        if !self.edge_needs_code(from, to) {
            return to.index() as Pc;
        }
        let of_this_branch = self.stubs.iter().rev().take_while(|stub| stub.from == from);
        if let Some(stub) = of_this_branch.into_iter().find(|stub| stub.to == to) {
            return stub.label as Pc;
        }
        let label = self.labels.len();
        self.labels.push(Pc::MAX);
        self.stubs.push(Stub { label, from, to });
        label as Pc
    }

    fn place_stubs(&mut self) {
        for stub in std::mem::take(&mut self.stubs) {
            self.labels[stub.label] = self.here();
            let last = self.function.terminator(stub.from).expect("an edge starts at a terminator");
            self.about = Debug { loc: self.function.insts[last].loc, path: None, ty: None, volatile: false };
            self.next_temporary = self.temporaries;
            self.edge_code(stub.from, stub.to);
            self.emit(Ins::Jump { to: stub.to.index() as Pc });
        }
    }

    /// A source position for a loop: that of the first instruction of its header that has one.
    pub(super) fn loop_position(&self, header: Block) -> LocId {
        let locs = self.function.blocks[header].insts.iter().map(|&inst| self.function.insts[inst].loc);
        let known = |loc: &LocId| self.program.locs[*loc].line > 0;
        locs.into_iter().find(known).unwrap_or(self.about.loc)
    }
}

fn binary_register(op: BinaryOp, ty: Type, dst: Reg, a: Reg, b: Reg) -> Ins {
    match (op, ty.bits()) {
        (BinaryOp::Add, 32) => Ins::Add32 { dst, a, b },
        (BinaryOp::Add, 64) => Ins::Add64 { dst, a, b },
        (BinaryOp::Sub, 32) => Ins::Sub32 { dst, a, b },
        (BinaryOp::Sub, 64) => Ins::Sub64 { dst, a, b },
        (BinaryOp::Mul, 32) => Ins::Mul32 { dst, a, b },
        (BinaryOp::Mul, 64) => Ins::Mul64 { dst, a, b },
        (BinaryOp::And, _) => Ins::And { dst, a, b },
        (BinaryOp::Or, _) => Ins::Or { dst, a, b },
        (BinaryOp::Xor, _) => Ins::Xor { dst, a, b },
        _ => Ins::Binary { op, ty, dst, a, b },
    }
}

fn binary_constant(op: BinaryOp, ty: Type, dst: Reg, a: Reg, k: u64) -> Ins {
    match (op, ty.bits()) {
        (BinaryOp::Add, 32) => Ins::Add32K { dst, a, k: k as u32 },
        (BinaryOp::Add, 64) => Ins::Add64K { dst, a, k },
        (BinaryOp::Sub, 32) => Ins::Add32K { dst, a, k: (k as u32).wrapping_neg() },
        (BinaryOp::Sub, 64) => Ins::Add64K { dst, a, k: k.wrapping_neg() },
        (BinaryOp::Mul, 32) => Ins::Mul32K { dst, a, k: k as u32 },
        (BinaryOp::Mul, 64) => Ins::Mul64K { dst, a, k },
        (BinaryOp::And, _) => Ins::AndK { dst, a, k },
        (BinaryOp::Or, _) => Ins::OrK { dst, a, k },
        (BinaryOp::Xor, _) => Ins::XorK { dst, a, k },
        _ => Ins::BinaryK { op, ty, dst, a, k },
    }
}

fn is_volatile(kind: &InstKind) -> bool {
    matches!(kind, InstKind::Load { volatile: true, .. } | InstKind::Store { volatile: true, .. })
}

fn type_of(kind: &InstKind) -> Option<Type> {
    match kind {
        InstKind::Load { ty, .. }
        | InstKind::Store { ty, .. }
        | InstKind::Rmw { ty, .. }
        | InstKind::Cas { ty, .. }
        | InstKind::Await { ty, .. } => Some(*ty),
        _ => None,
    }
}

/// Puts code addresses where branches name labels.
fn resolve(program: &mut Program, entry: Pc, labels: &[Pc]) {
    let at = |label: &mut Pc| *label = labels[*label as usize];
    for ins in &mut program.code[entry as usize..] {
        match ins {
            Ins::Jump { to } => at(to),
            Ins::Branch { then, other, .. }
            | Ins::BrEq { then, other, .. }
            | Ins::BrEqK { then, other, .. }
            | Ins::BrUlt { then, other, .. }
            | Ins::BrUltK { then, other, .. }
            | Ins::BrUgtK { then, other, .. }
            | Ins::BrSlt32 { then, other, .. }
            | Ins::BrSlt64 { then, other, .. }
            | Ins::BrSlt32K { then, other, .. }
            | Ins::BrSlt64K { then, other, .. }
            | Ins::BrSgt32K { then, other, .. }
            | Ins::BrSgt64K { then, other, .. } => [then, other].into_iter().for_each(at),
            Ins::Switch { table, .. } => {
                let Switch { cases, default } = &mut program.switches[*table as usize];
                cases.iter_mut().for_each(|(_, to)| at(to));
                at(default);
            }
            _ => {}
        }
    }
}
