//! Random modules for the round trip. They need not make sense, only be expressible: every kind of instruction, odd
//! names, constants of all widths, references in all directions.

use selvedge_ir::{
    AwaitKind, BinaryOp, Block, Callee, CastOp, CmpOp, DebugType, EntityRef, Field, FileId, FuncId, Function, Global,
    GlobalId, Inst, InstKind, Intrinsic, LocId, Module, Operand, Order, PathId, Reloc, RelocTarget, RmwOp, SourceFile,
    SourceLoc, Speculation, Type, TypeId, Value,
};

/// A small generator of numbers (xorshift).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.bits() >> 11) as usize % limit
    }

    fn coin(&mut self) -> bool {
        self.below(2) == 0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    fn maybe<T>(&mut self, make: impl FnOnce(&mut Random) -> T) -> Option<T> {
        if self.coin() { Some(make(self)) } else { None }
    }

    fn key<K: EntityRef>(&mut self, count: usize) -> K {
        K::new(self.below(count))
    }

    fn ty(&mut self) -> Type {
        match self.below(6) {
            0 => Type::Ptr,
            1 => Type::F32,
            2 => Type::F64,
            3 => Type::I1,
            4 => Type::I32,
            _ => Type::Int(self.below(64) as u8 + 1),
        }
    }

    fn signed(&mut self) -> i64 {
        match self.below(4) {
            0 => 0,
            1 => i64::MIN,
            2 => self.below(40) as i64 - 20,
            _ => self.bits() as i64,
        }
    }

    fn name(&mut self) -> String {
        let odd =
            ["", "x", "a b", "quo\"te", "back\\slash", "line\nend", "nul\0", "ünï", "v3", "\u{1}", "x.addr", "!;"];
        self.pick(&odd).to_owned()
    }
}

const FUNCTIONS: usize = 3;
const GLOBALS: usize = 4;
const LOCS: usize = 6;
const FILES: usize = 2;
const TYPES: usize = 7;
const PATHS: usize = 3;

pub fn module(seed: u64) -> Module {
    let r = &mut Random::new(seed);
    let mut module = Module::new(r.name());
    for n in 0..GLOBALS {
        module.globals.push(global(r, n));
    }
    for n in 0..FUNCTIONS {
        module.functions.push(function(r, n));
    }
    module.constructors = (0..r.below(3)).map(|_| r.key(FUNCTIONS)).collect();
    for _ in 0..FILES {
        module.files.push(SourceFile { name: r.name(), directory: r.name() });
    }
    for _ in 1..LOCS {
        let (file, inlined_at) = (r.maybe(|r| r.key::<FileId>(FILES)), r.maybe(|r| r.key::<LocId>(LOCS)));
        let (line, column) = (r.bits() as u32, r.below(100) as u32);
        module.locs.push(SourceLoc { file, line, column, function: r.name(), inlined_at });
    }
    for _ in 0..TYPES {
        module.types.push(debug_type(r));
    }
    for n in 0..PATHS {
        module.paths.push(format!("p->{n}{}", r.name()));
    }
    module
}

fn global(r: &mut Random, n: usize) -> Global {
    let target = |r: &mut Random| match r.coin() {
        true => RelocTarget::Global(r.key(GLOBALS)),
        false => RelocTarget::Func(r.key(FUNCTIONS)),
    };
    let data = match r.below(3) {
        0 => Vec::new(),
        1 => b"text\0".to_vec(),
        _ => (0..r.below(9)).map(|_| r.bits() as u8).collect(),
    };
    let relocs = (0..r.below(3)).map(|_| Reloc { offset: r.bits(), target: target(r), addend: r.signed() }).collect();
    let name = format!("g{n}{}", r.name());
    Global {
        source_name: if r.coin() { name.clone() } else { r.name() },
        name,
        size: r.bits(),
        align: 1 << r.below(6),
        data,
        relocs,
        constant: r.coin(),
        thread_local: r.coin(),
        external: r.coin(),
        debug_type: r.maybe(|r| r.key::<TypeId>(TYPES)),
        loc: r.key(LOCS),
    }
}

fn function(r: &mut Random, n: usize) -> Function {
    let mut func = Function::new(format!("f{n}{}", r.name()), r.key(LOCS));
    if r.coin() {
        func.source_name = r.name();
    }
    for _ in 0..r.below(4) {
        let (ty, name) = (r.ty(), r.name());
        func.add_param(ty, name);
    }
    func.results = (0..r.below(3)).map(|_| r.ty()).collect();
    func.vararg = r.coin();
    if r.below(4) == 0 {
        return func;
    }
    let blocks = 1 + r.below(4);
    for _ in 0..blocks {
        let name = r.name();
        func.add_block(name);
    }
    for block in func.blocks.keys() {
        for _ in 0..r.below(8) {
            add_inst(r, &mut func, block, blocks);
        }
    }
    use_values(r, &mut func);
    func
}

/// Lets operands name any value that a parameter or an instruction in some block defines.
fn use_values(r: &mut Random, func: &mut Function) {
    let placed: Vec<Inst> = func.placed_insts().map(|(_, inst)| inst).collect();
    let results = placed.iter().flat_map(|&inst| func.insts[inst].results.iter());
    let values: Vec<Value> = func.params.iter().chain(results).copied().collect();
    for inst in placed {
        func.insts[inst].kind.map_operands(|operand| match values.is_empty() || r.coin() {
            true => operand,
            false => Operand::Value(r.pick(&values)),
        });
    }
}

fn add_inst(r: &mut Random, func: &mut Function, block: Block, blocks: usize) {
    let kind = inst(r, &func.results, blocks);
    let types = match kind.result_types() {
        Some(types) => types.to_vec(),
        // A direct call yields what the callee does, which is not known yet: leave those to indirect calls.
        None => (0..r.below(3)).map(|_| r.ty()).collect(),
    };
    let loc = r.key(LOCS);
    let inst = func.make_inst(kind, &types, loc);
    // Now and then, an instruction is made and not placed: its numbers stay unused.
    if r.below(8) > 0 {
        func.blocks[block].insts.push(inst);
    }
    for &value in &func.insts[inst].results.clone() {
        func.values[value].name = r.name();
    }
}

fn operand(r: &mut Random, ty: Type) -> Operand {
    match r.below(6) {
        0 => Operand::Const(r.bits() & ty.mask()),
        1 => Operand::Const(r.below(3) as u64 & ty.mask()),
        2 => Operand::Const(ty.mask()),
        3 => Operand::Global(r.key::<GlobalId>(GLOBALS), r.signed()),
        4 => Operand::Func(r.key::<FuncId>(FUNCTIONS)),
        _ => Operand::Undef,
    }
}

fn inst(r: &mut Random, results: &[Type], blocks: usize) -> InstKind {
    let (ty, to) = (r.ty(), r.ty());
    let order = |r: &mut Random| r.pick(Order::ALL);
    let path = |r: &mut Random| r.maybe(|r| r.key::<PathId>(PATHS));
    let op = operand;
    match r.below(30) {
        0 => InstKind::Phi { ty, args: (0..r.below(3)).map(|_| (r.key(blocks), op(r, ty))).collect() },
        1 => InstKind::Binary { op: r.pick(BinaryOp::ALL), ty, a: op(r, ty), b: op(r, ty) },
        2 => InstKind::FNeg { ty, a: op(r, ty) },
        3 => InstKind::Cmp { op: r.pick(CmpOp::ALL), ty, a: op(r, ty), b: op(r, ty) },
        4 => InstKind::Cast { op: r.pick(CastOp::ALL), from: ty, to, a: op(r, ty) },
        5 => InstKind::Select { ty, cond: op(r, Type::I1), a: op(r, ty), b: op(r, ty) },
        6 => {
            InstKind::PtrAdd { base: op(r, Type::Ptr), index: op(r, Type::I64), scale: r.signed(), offset: r.signed() }
        }
        7 => InstKind::PtrAdd { base: op(r, Type::Ptr), index: Operand::Const(0), scale: 1, offset: r.signed() },
        8 => {
            let debug_type = r.maybe(|r| r.key::<TypeId>(TYPES));
            InstKind::Alloca { size: op(r, Type::I64), align: 1 << r.below(5), name: r.name(), debug_type }
        }
        9 => {
            let (addr, order, volatile, path) = (op(r, Type::Ptr), order(r), r.coin(), path(r));
            let speculative = r.maybe(|r| r.pick(Speculation::ALL));
            InstKind::Load { ty, addr, order, volatile, speculative, path }
        }
        10 => {
            let (addr, value, order) = (op(r, Type::Ptr), op(r, ty), order(r));
            InstKind::Store { ty, addr, value, order, volatile: r.coin(), path: path(r) }
        }
        11 => {
            let (addr, value, order, path) = (op(r, Type::Ptr), op(r, ty), order(r), path(r));
            InstKind::Rmw { op: r.pick(RmwOp::ALL), ty, addr, value, order, path }
        }
        12 => {
            let (addr, expected, new) = (op(r, Type::Ptr), op(r, ty), op(r, ty));
            let (success, failure, weak, path) = (order(r), order(r), r.coin(), path(r));
            let confirms = r.coin();
            InstKind::Cas { ty, addr, expected, new, success, failure, weak, confirms, path }
        }
        28 => {
            let (addr, operand, order, path) = (op(r, Type::Ptr), op(r, ty), order(r), path(r));
            let access = match r.below(3) {
                0 => AwaitKind::Load,
                1 => AwaitKind::Rmw { op: r.pick(RmwOp::ALL), value: op(r, ty) },
                _ => {
                    let (expected, new, failure) = (op(r, ty), op(r, ty), r.pick(Order::ALL));
                    AwaitKind::Cas { expected, new, failure, confirms: r.coin() }
                }
            };
            let (until, mask) = (r.pick(CmpOp::ALL), r.bits() & ty.mask());
            let retry = r.coin().then(|| op(r, Type::I64));
            InstKind::Await { access, ty, addr, order, until, mask, operand, retry, path }
        }
        13 => InstKind::Fence { order: order(r) },
        14 => {
            let (dst, src, len) = (op(r, Type::Ptr), op(r, Type::Ptr), op(r, Type::I64));
            InstKind::MemCopy { dst, src, len, overlap: r.coin() }
        }
        15 => InstKind::MemSet { dst: op(r, Type::Ptr), byte: op(r, Type::I8), len: op(r, Type::I64) },
        16 => {
            let args = (0..r.below(3)).map(|_| (ty, op(r, ty))).collect();
            InstKind::Call { callee: Callee::Indirect(op(r, Type::Ptr)), args }
        }
        17 => {
            let op_name = r.pick(Intrinsic::ALL);
            let args = (0..op_name.arity().1).map(|n| op(r, op_name.operand_type(ty, n))).collect();
            InstKind::Intrinsic { op: op_name, ty, args }
        }
        18 => InstKind::VaStart { list: op(r, Type::Ptr) },
        19 => InstKind::VaArg { list: op(r, Type::Ptr), ty },
        20 => InstKind::VaCopy { dst: op(r, Type::Ptr), src: op(r, Type::Ptr) },
        21 => InstKind::ThreadLocal { global: r.key(GLOBALS) },
        22 => {
            let cond = op(r, Type::I1);
            InstKind::Assume { cond, pure: r.coin().then(|| op(r, Type::I64)) }
        }
        29 => InstKind::Iteration,
        23 => InstKind::Unsupported { feature: r.name() },
        24 => InstKind::Br { dest: r.key(blocks) },
        25 => InstKind::CondBr { cond: op(r, Type::I1), then_dest: r.key(blocks), else_dest: r.key(blocks) },
        26 => {
            let cases = (0..r.below(4)).map(|_| (r.bits() & ty.mask(), r.key(blocks))).collect();
            InstKind::Switch { ty, value: op(r, ty), cases, default: r.key(blocks) }
        }
        27 => InstKind::Ret { values: results.iter().map(|&ty| op(r, ty)).collect() },
        _ => InstKind::Unreachable,
    }
}

fn debug_type(r: &mut Random) -> DebugType {
    let ty = |r: &mut Random| r.key::<TypeId>(TYPES);
    match r.below(6) {
        0 => DebugType::Base { name: r.name(), size: r.bits(), signed: r.coin(), float: r.coin() },
        1 => DebugType::Pointer { to: r.maybe(ty) },
        2 => {
            let field = |r: &mut Random| Field { name: r.name(), offset: r.bits(), ty: ty(r), size: r.bits() };
            let fields = (0..r.below(3)).map(|_| field(r)).collect();
            DebugType::Record { name: r.name(), size: r.bits(), fields, union: r.coin() }
        }
        3 => DebugType::Array { element: ty(r), element_size: r.bits(), count: r.maybe(Random::bits) },
        4 => {
            let variants = (0..r.below(3)).map(|_| (r.signed(), r.name())).collect();
            DebugType::Enum { name: r.name(), size: r.bits(), variants }
        }
        _ => DebugType::Opaque { name: r.name() },
    }
}
