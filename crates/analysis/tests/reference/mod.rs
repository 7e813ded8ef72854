//! A small interpreter of the representation for tests: one thread, slow, obviously right.
//!
//! It records what a pass must preserve: every access to a global, every call of a declared function with what it was
//! given, and how the program ends.

use selvedge_ir::{
    Block, Callee, EntityRef, EntityVec, FuncId, Function, InstKind, Module, Operand, Type, Value, eval,
};

/// Something that others could notice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    Load {
        global: usize,
        offset: i64,
        ty: Type,
        value: u64,
    },
    Store {
        global: usize,
        offset: i64,
        ty: Type,
        value: u64,
    },
    Fence,
    /// A call of a declared function: arguments that are numbers, and the bytes behind those that are pointers (none
    /// where a byte is not initialised).
    Call {
        name: String,
        numbers: Vec<u64>,
        bytes: Vec<Option<u8>>,
    },
}

/// How a program ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    Returned(Vec<u64>),
    Uninitialised,
    OutOfBounds,
    Arithmetic(eval::EvalError),
    Unreachable,
    Blocked,
    /// More steps than the test allows.
    TooLong,
}

/// What a run of a program shows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    pub events: Vec<Event>,
    pub end: End,
}

/// Runs a function without parameters.
pub fn run(module: &Module, func: FuncId, steps: usize) -> Outcome {
    let mut machine = Machine { module, objects: Vec::new(), events: Vec::new(), steps };
    for global in module.globals.values() {
        let mut bytes: Vec<Option<u8>> = global.data.iter().map(|&byte| Some(byte)).collect();
        bytes.resize(global.size as usize, Some(0));
        machine.objects.push(bytes);
    }
    let end = match machine.call(func, Vec::new()) {
        Ok(values) => End::Returned(values),
        Err(end) => end,
    };
    Outcome { events: machine.events, end }
}

struct Machine<'m> {
    module: &'m Module,
    /// The bytes of all objects, none where not initialised; globals first. Objects never die here.
    objects: Vec<Vec<Option<u8>>>,
    events: Vec<Event>,
    steps: usize,
}

/// Objects lie 4 GiB apart, each in the middle of its range.
fn address(object: usize) -> u64 {
    (object as u64 + 1) << 32
}

fn place(address: u64) -> (usize, i64) {
    let object = (address.wrapping_add(1 << 31) >> 32).wrapping_sub(1);
    (object as usize, address.wrapping_sub((object.wrapping_add(1)) << 32) as i64)
}

struct Frame<'m> {
    func: &'m Function,
    values: EntityVec<Value, u64>,
}

impl Frame<'_> {
    fn get(&self, operand: Operand) -> u64 {
        match operand {
            Operand::Value(value) => self.values[value],
            Operand::Const(bits) => bits,
            Operand::Global(id, offset) => address(id.index()).wrapping_add(offset as u64),
            Operand::Func(_) => panic!("the generator makes no function pointers"),
            Operand::Undef => 0,
        }
    }
}

impl<'m> Machine<'m> {
    fn call(&mut self, id: FuncId, args: Vec<u64>) -> Result<Vec<u64>, End> {
        let func = &self.module.functions[id];
        let mut frame = Frame { func, values: func.values.keys().map(|_| 0).collect() };
        for (&param, arg) in func.params.iter().zip(args) {
            frame.values[param] = arg;
        }
        let (mut previous, mut block) = (None, func.entry());
        loop {
            self.enter(&mut frame, previous, block);
            match self.block(&mut frame, block)? {
                Next::Block(next) => (previous, block) = (Some(block), next),
                Next::Return(values) => return Ok(values),
            }
        }
    }

    /// All phis take effect together.
    fn enter(&self, frame: &mut Frame<'m>, previous: Option<Block>, block: Block) {
        let mut updates = Vec::new();
        for phi in frame.func.phis(block) {
            if let InstKind::Phi { args, .. } = &frame.func.insts[phi].kind {
                let (_, arg) = args.iter().find(|&&(from, _)| Some(from) == previous).expect("verified");
                updates.push((frame.func.result(phi), frame.get(*arg)));
            }
        }
        for (value, bits) in updates {
            frame.values[value] = bits;
        }
    }

    fn block(&mut self, frame: &mut Frame<'m>, block: Block) -> Result<Next, End> {
        let func = frame.func;
        for &inst in &func.blocks[block].insts {
            self.steps = self.steps.checked_sub(1).ok_or(End::TooLong)?;
            let data = &func.insts[inst];
            match &data.kind {
                InstKind::Phi { .. } => {}
                InstKind::Br { dest } => return Ok(Next::Block(*dest)),
                InstKind::CondBr { cond, then_dest, else_dest } => {
                    return Ok(Next::Block(if frame.get(*cond) == 1 { *then_dest } else { *else_dest }));
                }
                InstKind::Switch { value, cases, default, .. } => {
                    let bits = frame.get(*value);
                    let found = cases.iter().find(|(case, _)| *case == bits);
                    return Ok(Next::Block(found.map_or(*default, |&(_, dest)| dest)));
                }
                InstKind::Ret { values } => {
                    return Ok(Next::Return(values.iter().map(|&value| frame.get(value)).collect()));
                }
                InstKind::Unreachable => return Err(End::Unreachable),
                kind => {
                    let results = self.step(frame, kind)?;
                    assert_eq!(results.len(), data.results.len());
                    for (&value, bits) in data.results.iter().zip(results) {
                        assert!(bits <= func.values[value].ty.mask(), "stray high bits");
                        frame.values[value] = bits;
                    }
                }
            }
        }
        unreachable!("blocks end with a terminator")
    }

    fn step(&mut self, frame: &mut Frame<'m>, kind: &InstKind) -> Result<Vec<u64>, End> {
        let get = |operand: Operand| frame.get(operand);
        Ok(match *kind {
            InstKind::Binary { op, ty, a, b } => {
                vec![eval::binary(op, ty, get(a), get(b)).map_err(End::Arithmetic)?]
            }
            InstKind::FNeg { ty, a } => vec![eval::fneg(ty, get(a))],
            InstKind::Cmp { op, ty, a, b } => vec![u64::from(eval::cmp(op, ty, get(a), get(b)))],
            InstKind::Cast { op, from, to, a } => vec![eval::cast(op, from, to, get(a))],
            InstKind::Select { cond, a, b, .. } => vec![if get(cond) == 1 { get(a) } else { get(b) }],
            InstKind::PtrAdd { base, index, scale, offset } => {
                vec![eval::ptr_add(get(base), get(index), scale, offset)]
            }
            InstKind::Alloca { size, .. } => {
                self.objects.push(vec![None; get(size) as usize]);
                vec![address(self.objects.len() - 1)]
            }
            InstKind::Load { ty, addr, .. } => vec![self.load(get(addr), ty)?],
            InstKind::Store { ty, addr, value, .. } => {
                self.store(get(addr), ty, get(value))?;
                vec![]
            }
            InstKind::Rmw { op, ty, addr, value, .. } => {
                let old = self.load(get(addr), ty)?;
                self.store(get(addr), ty, eval::rmw(op, ty, old, get(value)))?;
                vec![old]
            }
            InstKind::Cas { ty, addr, expected, new, .. } => {
                let old = self.load(get(addr), ty)?;
                if old == get(expected) {
                    self.store(get(addr), ty, get(new))?;
                }
                vec![old, u64::from(old == get(expected))]
            }
            InstKind::Fence { .. } => {
                self.events.push(Event::Fence);
                vec![]
            }
            InstKind::MemSet { dst, byte, len } => {
                let fill = vec![Some(get(byte) as u8); get(len) as usize];
                self.bytes(get(dst), fill.len())?.copy_from_slice(&fill);
                vec![]
            }
            InstKind::MemCopy { dst, src, len, .. } => {
                let bytes = self.bytes(get(src), get(len) as usize)?.to_vec();
                self.bytes(get(dst), bytes.len())?.copy_from_slice(&bytes);
                vec![]
            }
            InstKind::Intrinsic { op, ty, ref args } => {
                let mut bits = [0; 3];
                bits.iter_mut().zip(args).for_each(|(bits, &arg)| *bits = get(arg));
                let (value, overflow) = eval::intrinsic(op, ty, bits);
                [value, u64::from(overflow)][..op.result_types(ty).len()].to_vec()
            }
            InstKind::Assume { cond, .. } => match get(cond) {
                1 => vec![],
                _ => return Err(End::Blocked),
            },
            InstKind::Call { callee: Callee::Direct(id), ref args } => {
                let args: Vec<(Type, u64)> = args.iter().map(|&(ty, arg)| (ty, get(arg))).collect();
                match self.module.functions[id].is_declaration() {
                    true => self.outside(id, &args)?,
                    false => self.call(id, args.into_iter().map(|(_, bits)| bits).collect())?,
                }
            }
            _ => panic!("the generator does not make this: {kind:?}"),
        })
    }

    /// A declared function sees the four bytes behind each pointer and changes them, initialised or not.
    fn outside(&mut self, id: FuncId, args: &[(Type, u64)]) -> Result<Vec<u64>, End> {
        let (mut numbers, mut seen) = (Vec::new(), Vec::new());
        let salt = self.events.len() as u8;
        for &(ty, bits) in args {
            if ty != Type::Ptr {
                numbers.push(bits);
                continue;
            }
            let bytes = self.bytes(bits, 4)?;
            seen.extend_from_slice(bytes);
            for byte in bytes {
                *byte = Some(byte.unwrap_or(7).wrapping_mul(3).wrapping_add(salt));
            }
        }
        let func = &self.module.functions[id];
        self.events.push(Event::Call { name: func.name.clone(), numbers, bytes: seen });
        Ok(func.results.iter().map(|ty| u64::from(salt) & ty.mask()).collect())
    }

    fn bytes(&mut self, address: u64, len: usize) -> Result<&mut [Option<u8>], End> {
        let (object, offset) = place(address);
        let start = usize::try_from(offset).map_err(|_| End::OutOfBounds)?;
        let object = self.objects.get_mut(object).ok_or(End::OutOfBounds)?;
        object.get_mut(start..start + len).ok_or(End::OutOfBounds)
    }

    fn load(&mut self, address: u64, ty: Type) -> Result<u64, End> {
        let mut bits = [0; 8];
        for (place, byte) in bits.iter_mut().zip(self.bytes(address, ty.store_size() as usize)?) {
            *place = byte.ok_or(End::Uninitialised)?;
        }
        let value = u64::from_le_bytes(bits) & ty.mask();
        let (global, offset) = place(address);
        if global < self.module.globals.len() {
            self.events.push(Event::Load { global, offset, ty, value });
        }
        Ok(value)
    }

    fn store(&mut self, address: u64, ty: Type, value: u64) -> Result<(), End> {
        let bytes = self.bytes(address, ty.store_size() as usize)?;
        for (byte, new) in bytes.iter_mut().zip(value.to_le_bytes()) {
            *byte = Some(new);
        }
        let (global, offset) = place(address);
        if global < self.module.globals.len() {
            self.events.push(Event::Store { global, offset, ty, value });
        }
        Ok(())
    }
}

enum Next {
    Block(Block),
    Return(Vec<u64>),
}
