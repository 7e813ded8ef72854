//! A small host for tests of models: one thread, real memory, facts in a map, and a script for everything else.

use super::{Host, ModelOptions, ModelState, Step, find};
use crate::memory::ObjectKind;
use crate::{Access, Addr, Fault, Memory, Op, SourceSpan, Stop, ThreadId, Unsupported, Violation, ViolationKind};
use rustc_hash::FxHashMap;
use selvedge_ir::{EntityRef, Type};

/// What the program's functions do when a model calls them.
pub(super) type Callback = Box<dyn FnMut(&mut Memory, Addr, &[u64]) -> u64>;

/// A host with one thread.
pub(super) struct Fake {
    pub memory: Memory,
    pub thread: ThreadId,
    /// Whether shared objects are visible.
    pub many_threads: bool,
    pub options: ModelOptions,
    pub output: String,
    /// Every Op that was yielded.
    pub ops: Vec<Op>,
    /// The outcomes of Ops other than accesses, in order; 0 when they are used up.
    pub outcomes: Vec<u64>,
    /// The calls of the program's functions: address and arguments.
    pub calls: Vec<(Addr, Vec<u64>)>,
    pub callback: Callback,
    /// The results of threads that have ended.
    pub results: FxHashMap<u64, u64>,
    facts: FxHashMap<(u32, u64), u64>,
    shared_facts: FxHashMap<(u32, u64), u64>,
    children: u64,
}

impl Fake {
    pub fn new() -> Fake {
        Fake {
            memory: Memory::new(),
            thread: ThreadId::new(0),
            many_threads: false,
            options: ModelOptions::default(),
            output: String::new(),
            ops: Vec::new(),
            outcomes: Vec::new(),
            calls: Vec::new(),
            callback: Box::new(|_, _, _| 0),
            results: FxHashMap::default(),
            facts: FxHashMap::default(),
            shared_facts: FxHashMap::default(),
            children: 0,
        }
    }

    /// A host in which globals are visible to other threads.
    pub fn with_threads() -> Fake {
        Fake { many_threads: true, ..Fake::new() }
    }

    /// A global with zeros.
    pub fn global(&mut self, size: u64) -> Addr {
        self.memory.alloc(None, ObjectKind::Global, size, true, 0).unwrap()
    }

    /// A private object that was never written.
    pub fn heap(&mut self, size: u64) -> Addr {
        self.memory.alloc(Some(self.thread), ObjectKind::Heap, size, false, 0).unwrap()
    }

    /// A constant string.
    pub fn string(&mut self, text: &str) -> u64 {
        let addr = self.memory.alloc(None, ObjectKind::Constant, text.len() as u64 + 1, true, 0).unwrap();
        self.memory.initialise(addr, text.as_bytes());
        addr.0
    }

    /// The string at an address.
    pub fn text_at(&self, addr: u64) -> String {
        let byte = |at| self.memory.load(self.thread, Addr(addr + at), 1, false).unwrap() as u8;
        String::from_utf8((0..).map(byte).take_while(|&byte| byte != 0).collect()).unwrap()
    }

    /// The bytes at an address.
    pub fn load(&self, addr: Addr, size: u8) -> u64 {
        self.memory.load(self.thread, addr, size, false).unwrap()
    }

    pub fn store(&mut self, addr: Addr, size: u8, value: u64) {
        self.memory.store(self.thread, addr, size, value).unwrap();
    }

    /// Calls a function with integer arguments; its result.
    pub fn call(&mut self, name: &str, args: &[u64]) -> u64 {
        match self.run(name, args) {
            Ok(Step::Return(value)) => value,
            other => panic!("{name}: {other:?}"),
        }
    }

    /// As `call`, for a result of type `int`.
    pub fn int(&mut self, name: &str, args: &[u64]) -> i32 {
        self.call(name, args) as i32
    }

    /// Calls a function; the kind and the message of its violation.
    pub fn violation(&mut self, name: &str, args: &[u64]) -> (ViolationKind, String) {
        match self.run(name, args) {
            Err(Stop::Violation(violation)) => (violation.kind, violation.message),
            other => panic!("{name}: {other:?}"),
        }
    }

    /// Calls a function that is not supported.
    pub fn unsupported(&mut self, name: &str, args: &[u64]) -> String {
        match self.run(name, args) {
            Err(Stop::Unsupported(unsupported)) => unsupported.feature,
            other => panic!("{name}: {other:?}"),
        }
    }

    /// Runs a model to its end, or to an access that has to wait.
    pub fn run(&mut self, name: &str, args: &[u64]) -> Result<Step, Stop> {
        let types = args.iter().map(|_| Type::I64).collect();
        self.run_typed(name, args, types)
    }

    pub fn run_typed(&mut self, name: &str, args: &[u64], types: Vec<Type>) -> Result<Step, Stop> {
        let model = find(name).unwrap_or_else(|| panic!("{name} has a model"));
        let mut state = ModelState { args: args.into(), types: types.into(), ..ModelState::default() };
        let mut input = 0;
        loop {
            // A model's state is saved and restored with its thread: a copy has to do as well as the original.
            let mut copy = state.clone();
            let step = model(self, &mut copy, input)?;
            state = copy;
            match step {
                Step::Yield(op) => match self.perform(op) {
                    Some(outcome) => input = outcome,
                    None => return Ok(step),
                },
                Step::Call { func, ref args } => {
                    self.calls.push((func, args.to_vec()));
                    input = (self.callback)(&mut self.memory, func, args);
                }
                _ => return Ok(step),
            }
        }
    }

    fn perform(&mut self, op: Op) -> Option<u64> {
        self.ops.push(op);
        let Op::Access(access) = op else {
            return Some(if self.outcomes.is_empty() { 0 } else { self.outcomes.remove(0) });
        };
        let Access { addr, size, .. } = access;
        let raw = access.raw || !access.reads();
        let old = self.memory.load(self.thread, addr, size, raw).unwrap();
        if access.until.is_some_and(|until| !until.holds(old, size)) {
            return None;
        }
        if let Some(new) = access.written(old) {
            self.memory.store(self.thread, addr, size, new).unwrap();
        }
        Some(old)
    }

    fn fault(&self, fault: Fault) -> Stop {
        let kind = match fault {
            Fault::Null | Fault::Wild | Fault::Constant(_) | Fault::Code(_) | Fault::Disguised(_) => {
                ViolationKind::InvalidPointer
            }
            Fault::Dead(_) => ViolationKind::UseAfterFree,
            Fault::OutOfBounds(_) => ViolationKind::OutOfBounds,
            Fault::Uninitialised(_) => ViolationKind::UninitialisedRead,
        };
        self.stop(kind, format!("{fault:?}"))
    }

    fn stop(&self, kind: ViolationKind, message: String) -> Stop {
        Stop::Violation(Box::new(Violation { kind, message, places: Vec::new() }))
    }
}

impl Host for Fake {
    fn thread(&self) -> ThreadId {
        self.thread
    }

    fn memory(&mut self) -> &mut Memory {
        &mut self.memory
    }

    fn is_visible(&mut self, addr: Addr, size: u64) -> Result<bool, Stop> {
        match self.memory.check(self.thread, addr, size) {
            Ok(id) => Ok(self.many_threads && self.memory.is_shared(id)),
            Err(fault) => Err(self.fault(fault)),
        }
    }

    fn before_atomic(&mut self, _addr: Addr) {}

    fn load_private(&mut self, addr: Addr, size: u8) -> Result<u64, Stop> {
        self.memory.load(self.thread, addr, size, false).map_err(|fault| self.fault(fault))
    }

    fn store_private(&mut self, addr: Addr, size: u8, value: u64) -> Result<(), Stop> {
        self.memory.store(self.thread, addr, size, value).map_err(|fault| self.fault(fault))
    }

    fn allocate(&mut self, size: u64, zeroed: bool) -> Result<Addr, Stop> {
        let made = self.memory.alloc(Some(self.thread), ObjectKind::Heap, size, zeroed, 0);
        made.ok_or_else(|| Host::unsupported(self, format!("{size} bytes")))
    }

    fn prepare_child(&mut self, _start: Addr, arg: u64) -> Result<ThreadId, Stop> {
        self.children += 1;
        self.memory.publish(Addr(arg));
        Ok(ThreadId::new(self.children as usize))
    }

    fn thread_result(&self, thread: ThreadId) -> Option<u64> {
        self.results.get(&(thread.index() as u64)).copied()
    }

    fn release(&mut self, addr: Addr) {
        let id = self.memory.find(addr).unwrap();
        self.memory.kill(id);
    }

    fn library_object(&mut self, _name: &'static str, kind: ObjectKind, size: u64) -> Result<Addr, Stop> {
        Ok(self.memory.alloc(Some(self.thread), kind, size, true, 0).unwrap())
    }

    fn thread_local(&mut self, _name: &str) -> Option<Addr> {
        None
    }

    fn fact(&self, key: (u32, u64)) -> u64 {
        self.facts.get(&key).copied().unwrap_or(0)
    }

    fn set_fact(&mut self, key: (u32, u64), value: u64) {
        self.facts.insert(key, value);
    }

    fn shared_fact(&self, key: (u32, u64)) -> u64 {
        self.shared_facts.get(&key).copied().unwrap_or(0)
    }

    fn set_shared_fact(&mut self, key: (u32, u64), value: u64) {
        self.shared_facts.insert(key, value);
    }

    fn violation(&self, kind: ViolationKind, message: String) -> Stop {
        self.stop(kind, message)
    }

    fn unsupported(&self, feature: String) -> Stop {
        Stop::Unsupported(Box::new(Unsupported { feature, place: SourceSpan::default() }))
    }

    fn place(&self) -> SourceSpan {
        SourceSpan::default()
    }

    fn name_of(&self, _addr: Addr) -> String {
        "`m`".to_owned()
    }

    fn double_free(&self, _addr: Addr) -> Stop {
        self.violation(ViolationKind::DoubleFree, "an object is freed twice".into())
    }

    fn print(&mut self, text: &str) {
        self.output.push_str(text);
    }

    fn options(&self) -> &ModelOptions {
        &self.options
    }
}
