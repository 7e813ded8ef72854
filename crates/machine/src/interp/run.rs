//! Running a thread from one Op to the next.
//!
//! A thread alternates between code of the program (`exec.rs`) and models of library functions.
//! [`Interpreter::resume_thread`] completes the instruction or model that waited for an outcome and goes on until the
//! thread has its next Op, ends, blocks or fails.
//!
//! Stack objects die when their function returns. If another thread can reach one, its death is an Op like `free`: the
//! return is then tried again after each such Op, until no such object is left.

use super::Interpreter;
use super::code::{Ins, Src, Target};
use super::exec::{Cpu, Exit, Trap};
use super::thread::{Frame, Thread};
use super::undo::Death;
use crate::memory::ObjectKind;
use crate::models::Step;
use crate::{Addr, Op, Outcome, Status, Stop, ThreadId, main_thread};
use selvedge_ir::{EntityRef, FuncId, Type};
use smallvec::SmallVec;

/// The stack of a thread has at most so many entries: half a gigabyte.
const MAX_STACK: u32 = 1 << 26;

/// What a thread does next.
enum Next {
    /// The code of its current frame.
    Code,
    /// Its current frame is a model, which is given this.
    Model(u64),
    /// Nothing for now.
    Done,
}

impl Interpreter {
    /// Tells a thread the outcome of its Op and runs it on.
    #[inline]
    pub(super) fn resume_thread(&mut self, id: ThreadId, outcome: Outcome) -> Result<(), Stop> {
        let thread = &mut self.threads[id.index()];
        debug_assert!(thread.head.status == Status::Ready, "only a thread that waits can be resumed");
        self.undo.save(id, thread);
        thread.head.ops += 1;
        self.steps = 0;
        match thread.head.pending {
            Op::Spawn { child } => return self.resume_spawn(id, child, outcome),
            Op::Free { addr, .. } => {
                let pc = self.call_pc(id);
                self.undo.deaths.push(Death { addr, pc });
                if self.threads[id.index()].head.exiting {
                    let result = self.threads[id.index()].head.result;
                    return self.exit_thread(id, result);
                }
            }
            _ => {}
        }
        let next = self.complete(id, outcome);
        self.go(id, next)
    }

    fn resume_spawn(&mut self, id: ThreadId, child: ThreadId, outcome: Outcome) -> Result<(), Stop> {
        self.undo.process.threaded = true;
        let started = self.start_child(child);
        self.steps = 0;
        let next = self.complete(id, outcome);
        let resumed = self.go(id, next);
        started.and(resumed)
    }

    fn start_child(&mut self, child: ThreadId) -> Result<(), Stop> {
        self.undo.save(child, &mut self.threads[child.index()]);
        let (func, arg) = self.family.kin[child.index()].start.expect("a child is prepared before it is spawned");
        let next = self.enter(child, func, &[arg], &[Type::Ptr]);
        match next {
            Ok(next) => self.go(child, next),
            Err(stop) => {
                self.threads[child.index()].head.status = Status::Stopped;
                Err(stop)
            }
        }
    }

    /// Runs the main thread to its first Op.
    pub(super) fn start_main(&mut self) -> Result<(), Stop> {
        let id = main_thread();
        self.steps = 0;
        let next = self.enter(id, self.entry, &[], &[])?;
        self.go(id, next)
    }

    /// Gives the outcome of an Op to the instruction that waited for it.
    fn complete(&mut self, id: ThreadId, outcome: Outcome) -> Next {
        let thread = &mut self.threads[id.index()];
        if let Op::Access(access) = thread.head.pending
            && access.written(outcome).is_some_and(|new| crate::truncate(new, access.size) != outcome)
        {
            thread.head.effects += 1;
        }
        let frame = thread.frames.last_mut().expect("a thread that waits has a frame");
        if frame.is_model() {
            return Next::Model(outcome);
        }
        let base = frame.base as usize;
        let mut set = |register: u16, value: u64| thread.stack[base + register as usize] = value;
        match self.program.code[frame.pc as usize] {
            Ins::Load { bits, dst, .. } | Ins::LoadG { bits, dst, .. } => {
                set(dst, outcome & (u64::MAX >> (64 - u32::from(bits))));
            }
            Ins::Rmw { ty, dst, .. } => set(dst, outcome & ty.mask()),
            Ins::Cas { ty, old, done, .. } => {
                let Op::Access(crate::Access { kind: crate::AccessKind::Cas { expected, .. }, .. }) =
                    thread.head.pending
                else {
                    unreachable!("a compare-and-exchange waits with its own access");
                };
                set(old, outcome & ty.mask());
                set(done, u64::from(outcome & ty.mask() == expected));
            }
            Ins::Await { site } => {
                let site = &self.program.awaits[site as usize];
                let Op::Access(access) = thread.head.pending else {
                    unreachable!("an await waits with its own access");
                };
                set(site.results[1], u64::from(super::exec::is_exchanged(&access, outcome & site.ty.mask())));
                set(site.results[0], outcome & site.ty.mask());
            }
            // A stack object has died; the return is tried again.
            Ins::Ret { .. } => return Next::Code,
            _ => {}
        }
        frame.pc += 1;
        Next::Code
    }

    fn go(&mut self, id: ThreadId, next: Next) -> Result<(), Stop> {
        let mut next = next;
        loop {
            let step = match next {
                Next::Code => self.code(id),
                Next::Model(input) => self.model(id, input),
                Next::Done => return Ok(()),
            };
            match step {
                Ok(then) => next = then,
                Err(stop) => {
                    self.threads[id.index()].head.status = Status::Stopped;
                    return Err(stop);
                }
            }
        }
    }

    fn code(&mut self, id: ThreadId) -> Result<Next, Stop> {
        loop {
            let thread = &mut self.threads[id.index()];
            let frame = thread.frames.last_mut().expect("code runs in a frame");
            let base = frame.base as usize;
            let mut cpu = Cpu {
                program: &self.program,
                memory: &mut self.memory,
                pending: &mut thread.head.pending,
                thread: id,
                alone: !self.undo.process.threaded,
                steps: self.steps,
                max_steps: self.options.max_local_steps,
                effects: thread.head.effects,
                ops: thread.head.ops,
            };
            let (pc, exit) = cpu.run(&mut thread.stack[base..], frame.pc);
            self.instructions += cpu.steps - self.steps;
            self.steps = cpu.steps;
            thread.head.effects = cpu.effects;
            frame.pc = pc;
            match exit {
                Exit::Yield => {
                    thread.head.status = Status::Ready;
                    return Ok(Next::Done);
                }
                Exit::Call(site) => {
                    if !self.call_defined(id, site)? {
                        return self.call(id, site);
                    }
                }
                Exit::Return(first, count) => {
                    if let Some(next) = self.return_values(id, first, count)? {
                        return Ok(next);
                    }
                }
                Exit::Slow => {
                    if let Some(next) = self.slow(id)? {
                        return Ok(next);
                    }
                }
                Exit::Trap(Trap::Assume { pure }) => {
                    thread.head.status = Status::AssumeBlocked;
                    thread.head.spins = pure;
                    return Ok(Next::Done);
                }
                // Others may still change what the loop waits for, but not by anything that this iteration did.
                Exit::Trap(Trap::PureIteration) if self.undo.process.threaded => {
                    thread.head.status = Status::AssumeBlocked;
                    thread.head.spins = true;
                    return Ok(Next::Done);
                }
                Exit::Trap(trap) => return Err(self.trap(id, trap)),
            }
        }
    }

    /// Calls a function that is known and defined, and says whether it was one.
    #[inline]
    fn call_defined(&mut self, id: ThreadId, site: u32) -> Result<bool, Stop> {
        let call = &self.program.calls[site as usize];
        let Target::Direct(func) = call.target else { return Ok(false) };
        let callee = &self.program.funcs[func];
        let Some(entry) = callee.entry else { return Ok(false) };
        let thread = &mut self.threads[id.index()];
        if callee.vararg || call.args.len() < callee.params.len() || thread.frames.len() >= self.options.max_depth {
            return Ok(false);
        }
        let caller = *thread.frames.last().expect("a call is made from a frame");
        let (base, end) = (caller.end, caller.end + callee.registers);
        if end > MAX_STACK {
            return Ok(false);
        }
        thread.reserve(end);
        for (n, (arg, ty)) in call.args.iter().zip(&callee.params).enumerate() {
            thread.stack[base as usize + n] = argument(thread, caller, *arg) & ty.mask();
        }
        thread.frames.push(Frame { func, pc: entry, base, end });
        Ok(true)
    }

    /// Calls a function pointer, a variadic function, or a model.
    fn call(&mut self, id: ThreadId, site: u32) -> Result<Next, Stop> {
        let call = &self.program.calls[site as usize];
        let thread = &self.threads[id.index()];
        let caller = *thread.frames.last().expect("a call is made from a frame");
        let func = match call.target {
            Target::Direct(func) => func,
            Target::Indirect(addr) => {
                let addr = Addr(argument(thread, caller, addr));
                self.function_at(addr).ok_or_else(|| self.bad_call(id, addr))?
            }
        };
        let call = &self.program.calls[site as usize];
        let values: SmallVec<[u64; 6]> = call.args.iter().map(|&arg| argument(thread, caller, arg)).collect();
        let types: SmallVec<[Type; 6]> = SmallVec::from_slice(&call.types);
        self.enter(id, func, &values, &types)
    }

    /// The function whose address this is.
    pub(super) fn function_at(&self, addr: Addr) -> Option<FuncId> {
        let object = self.memory.object(self.memory.find(addr)?);
        (object.kind == ObjectKind::Function && object.base == addr).then(|| FuncId::new(object.tag as usize))
    }

    /// Pushes a frame for a function with these arguments.
    fn enter(&mut self, id: ThreadId, func: FuncId, args: &[u64], types: &[Type]) -> Result<Next, Stop> {
        let callee = &self.program.funcs[func];
        let thread = &mut self.threads[id.index()];
        if thread.frames.len() >= self.options.max_depth {
            return Err(self.too_deep(id));
        }
        if args.len() < callee.params.len() {
            return Err(self.too_few_arguments(id, func, args.len()));
        }
        let base = thread.top();
        if let Some(entry) = callee.entry {
            let further = if callee.vararg { &args[callee.params.len()..] } else { &[] };
            let end = base + callee.registers + further.len() as u32;
            if end > MAX_STACK {
                return Err(self.too_deep(id));
            }
            thread.reserve(end);
            for (n, (arg, ty)) in args.iter().zip(&callee.params).enumerate() {
                thread.stack[base as usize + n] = arg & ty.mask();
            }
            thread.stack[(end as usize - further.len())..end as usize].copy_from_slice(further);
            thread.frames.push(Frame { func, pc: entry, base, end });
            return Ok(Next::Code);
        }
        thread.head.effects += 1;
        if callee.model.is_none() {
            return Err(self.no_model(id, func));
        }
        let mut state = self.undo.fresh_state();
        state.args.extend_from_slice(args);
        state.types.extend_from_slice(types);
        let at = thread.models.len() as u32;
        thread.models.push(state);
        thread.frames.push(Frame { func, pc: Frame::MODEL, base: at, end: base });
        Ok(Next::Model(0))
    }

    /// Lets the model of the current frame take a step.
    fn model(&mut self, id: ThreadId, input: u64) -> Result<Next, Stop> {
        let thread = &mut self.threads[id.index()];
        let frame = *thread.frames.last().expect("a model runs in a frame");
        let mut state = thread.models.pop().expect("a model's frame has a state");
        let model = self.program.funcs[frame.func].model.expect("only functions with a model have such frames");
        self.instructions += 1;
        let step = model(&mut super::host::Caller { machine: self, thread: id }, &mut state, input);
        let thread = &mut self.threads[id.index()];
        match step {
            Ok(Step::Return(value)) => {
                thread.frames.pop();
                self.undo.retire(state);
                self.return_from_model(id, [value, 0])
            }
            Ok(Step::ReturnTwo(values)) => {
                thread.frames.pop();
                self.undo.retire(state);
                self.return_from_model(id, values)
            }
            Ok(Step::Yield(op)) => {
                thread.models.push(state);
                thread.head.pending = op;
                thread.head.status = Status::Ready;
                Ok(Next::Done)
            }
            Ok(Step::Call { func, args }) => {
                thread.models.push(state);
                let target = self.function_at(func).ok_or_else(|| self.bad_call(id, func))?;
                let types: SmallVec<[Type; 4]> = args.iter().map(|_| Type::I64).collect();
                self.enter(id, target, &args, &types)
            }
            Ok(Step::ExitThread(result)) => {
                thread.models.push(state);
                self.exit_thread(id, result).map(|()| Next::Done)
            }
            Ok(Step::ExitProcess(status)) => {
                thread.models.push(state);
                self.exit_process(id, status);
                Ok(Next::Done)
            }
            Ok(Step::Block) => {
                thread.models.push(state);
                thread.head.status = Status::AssumeBlocked;
                Ok(Next::Done)
            }
            Err(stop) => {
                thread.models.push(state);
                Err(stop)
            }
        }
    }

    /// Returns from the current frame of a function; none if code of the program goes on.
    #[inline]
    fn return_values(&mut self, id: ThreadId, first: u32, count: u16) -> Result<Option<Next>, Stop> {
        let thread = &mut self.threads[id.index()];
        let frame = *thread.frames.last().expect("a return ends a frame");
        if self.has_stack_objects(id, &frame) && self.end_stack_objects(id, frame) {
            return Ok(Some(Next::Done));
        }
        let thread = &mut self.threads[id.index()];
        let values = &self.program.returns[first as usize..first as usize + count as usize];
        if thread.frames.len() == 1 {
            let value = values.first().map_or(0, |&value| argument(thread, frame, value));
            return self.return_from_thread(id, value).map(Some);
        }
        thread.frames.pop();
        self.undo.save_top(id, thread);
        let caller = thread.frames.last_mut().expect("the caller's frame is below");
        let Ins::Call { site } = self.program.code.get(caller.pc as usize).copied().unwrap_or(Ins::Unreachable) else {
            debug_assert!(caller.is_model(), "code calls by a call instruction");
            let value = values.first().map_or(0, |&value| argument(thread, frame, value));
            return Ok(Some(Next::Model(value)));
        };
        if caller.func == self.entry {
            self.undo.process.main_returned = Some(frame.pc);
        }
        caller.pc += 1;
        let base = caller.base as usize;
        for (n, &(register, mask)) in self.program.calls[site as usize].results.iter().enumerate() {
            let value = values.get(n).map_or(0, |&value| argument(thread, frame, value));
            thread.stack[base + register as usize] = value & mask;
        }
        Ok(None)
    }

    /// Returns from a model to the frame that is current now, with as many of the values as it takes.
    fn return_from_model(&mut self, id: ThreadId, values: [u64; 2]) -> Result<Next, Stop> {
        let value = values[0];
        let thread = &mut self.threads[id.index()];
        self.undo.save_top(id, thread);
        let Some(caller) = thread.frames.last_mut() else {
            return self.exit_thread(id, value).map(|()| Next::Done);
        };
        if caller.is_model() {
            return Ok(Next::Model(value));
        }
        let base = caller.base as usize;
        match self.program.code[caller.pc as usize] {
            Ins::Call { site } => {
                for (&(register, mask), value) in self.program.calls[site as usize].results.iter().zip(values) {
                    thread.stack[base + register as usize] = value & mask;
                }
            }
            // The model that ends a thread does not return; if it does, the thread ends all the same.
            Ins::Ret { .. } => return self.exit_thread(id, value).map(|()| Next::Done),
            _ => {}
        }
        caller.pc += 1;
        Ok(Next::Code)
    }

    /// The first function of a thread has returned.
    fn return_from_thread(&mut self, id: ThreadId, value: u64) -> Result<Next, Stop> {
        let (func, needed) = match id == main_thread() {
            true => (self.builtins.exit, true),
            false => (self.builtins.thread_exit, self.builtins.work_at_thread_end),
        };
        if needed && self.program.funcs[func].model.is_some() {
            return self.enter(id, func, &[value], &[Type::I64]);
        }
        if id == main_thread() {
            self.exit_process(id, value as u32 as i32);
        } else {
            self.exit_thread(id, value)?;
        }
        Ok(Next::Done)
    }

    /// Ends a thread; its frames stay as they are, but their objects die.
    fn exit_thread(&mut self, id: ThreadId, result: u64) -> Result<(), Stop> {
        self.threads[id.index()].head.exiting = true;
        self.threads[id.index()].head.result = result;
        for n in (0..self.threads[id.index()].frames.len()).rev() {
            let frame = self.threads[id.index()].frames[n];
            if !frame.is_model() && self.made_stack_objects(&frame) && self.end_stack_objects_at(id, n, frame) {
                return Ok(());
            }
        }
        self.memory.publish(Addr(result));
        let head = &mut self.threads[id.index()].head;
        head.exiting = false;
        head.result = result;
        head.status = Status::Finished;
        Ok(())
    }

    fn exit_process(&mut self, id: ThreadId, status: i32) {
        self.undo.process.exit = Some(status);
        let head = &mut self.threads[id.index()].head;
        head.status = Status::Finished;
        // Nobody lives to join it.
        head.exiting = true;
    }

    #[inline]
    fn made_stack_objects(&self, frame: &Frame) -> bool {
        let func = &self.program.funcs[frame.func];
        func.vararg || frame.end > frame.base + func.registers
    }

    /// Whether a frame that returns has objects whose life ends. Those of `main` itself stay: the process ends too.
    #[inline]
    fn has_stack_objects(&self, id: ThreadId, frame: &Frame) -> bool {
        let is_main = id == main_thread() && self.threads[id.index()].frames.len() <= 2;
        self.made_stack_objects(frame) && !is_main
    }

    fn end_stack_objects(&mut self, id: ThreadId, frame: Frame) -> bool {
        let at = self.threads[id.index()].frames.len() - 1;
        self.end_stack_objects_at(id, at, frame)
    }

    /// Ends the life of a frame's stack objects, newest first. If one of them is visible to others, its end becomes the
    /// thread's Op, and the answer is true.
    fn end_stack_objects_at(&mut self, id: ThreadId, at: usize, frame: Frame) -> bool {
        let first = self.first_stack_object(id, at);
        let alone = !self.undo.process.threaded;
        for n in (first..frame.end as usize).rev() {
            let addr = Addr(self.threads[id.index()].stack[n]);
            let Some(object) = self.memory.find(addr) else { continue };
            let (alive, shared, size) = {
                let object = self.memory.object(object);
                (object.alive, object.shared, object.size)
            };
            if alive && shared && !alone {
                let head = &mut self.threads[id.index()].head;
                head.pending = Op::Free { addr, size };
                head.status = Status::Ready;
                return true;
            }
            if alive {
                self.memory.kill(object);
            }
        }
        false
    }

    /// Where the addresses of a frame's stack objects start.
    fn first_stack_object(&self, id: ThreadId, at: usize) -> usize {
        let frame = self.threads[id.index()].frames[at];
        (frame.base + self.program.funcs[frame.func].registers) as usize + self.further_arguments(id, at).len()
    }

    /// The types of the variadic arguments of a frame: those of the call that made it.
    pub(super) fn further_arguments(&self, id: ThreadId, at: usize) -> &[Type] {
        let frames = &self.threads[id.index()].frames;
        let func = &self.program.funcs[frames[at].func];
        let Some(caller) = at.checked_sub(1).map(|below| frames[below]).filter(|_| func.vararg) else { return &[] };
        match self.program.code.get(caller.pc as usize) {
            Some(Ins::Call { site }) => {
                self.program.calls[*site as usize].types.get(func.params.len()..).unwrap_or(&[])
            }
            _ => &[],
        }
    }

    /// Carries out an instruction that needs the whole machine; none if code goes on.
    fn slow(&mut self, id: ThreadId) -> Result<Option<Next>, Stop> {
        let thread = &mut self.threads[id.index()];
        let frame = *thread.frames.last().expect("code runs in a frame");
        thread.head.effects += u64::from(!matches!(self.program.code[frame.pc as usize], Ins::ThreadLocal { .. }));
        let reg = |register: u16| thread.stack[frame.base as usize + register as usize];
        match self.program.code[frame.pc as usize] {
            Ins::AllocaK { dst, size } => self.alloca(id, dst, size)?,
            Ins::Alloca { dst, size } => {
                let size = reg(size);
                self.alloca(id, dst, size)?;
            }
            Ins::MemCopy { dst, src, len, overlap } => {
                let (dst, src, len) = (Addr(reg(dst)), Addr(reg(src)), reg(len));
                if !self.copy_unseen(id, dst, src, len)? {
                    let func = if overlap { self.builtins.memmove } else { self.builtins.memcpy };
                    let args = [dst.0, src.0, len];
                    return self.enter(id, func, &args, &[Type::Ptr, Type::Ptr, Type::I64]).map(Some);
                }
            }
            Ins::MemSet { dst, byte, len } => {
                let (dst, byte, len) = (Addr(reg(dst)), reg(byte), reg(len));
                if !self.fill_unseen(id, dst, byte as u8, len)? {
                    let args = [dst.0, byte, len];
                    let types = [Type::Ptr, Type::I32, Type::I64];
                    return self.enter(id, self.builtins.memset, &args, &types).map(Some);
                }
            }
            Ins::VaStart { list } => {
                let list = Addr(reg(list));
                self.va_start(id, list)?;
            }
            Ins::VaArg { ty, dst, list } => {
                let list = Addr(reg(list));
                let value = self.va_arg(id, ty, list)?;
                self.set(id, dst, value);
            }
            Ins::VaCopy { dst, src } => {
                let (dst, src) = (Addr(reg(dst)), Addr(reg(src)));
                self.va_copy(id, dst, src)?;
            }
            Ins::ThreadLocal { dst, global, offset } => {
                let addr = self.thread_local(id, global)?;
                self.set(id, dst, addr.0.wrapping_add(offset as u64));
            }
            Ins::Unsupported { message } => {
                let feature = self.program.messages[message as usize].clone();
                return Err(self.unsupported(id, feature));
            }
            _ => unreachable!("the inner loop deals with all other instructions"),
        }
        self.threads[id.index()].frames.last_mut().expect("the frame is still there").pc += 1;
        Ok(None)
    }

    fn set(&mut self, id: ThreadId, register: u16, value: u64) {
        let thread = &mut self.threads[id.index()];
        let base = thread.frames.last().expect("code runs in a frame").base as usize;
        thread.stack[base + register as usize] = value;
    }

    fn alloca(&mut self, id: ThreadId, dst: u16, size: u64) -> Result<(), Stop> {
        let addr = self.stack_object(id, size)?;
        self.set(id, dst, addr.0);
        Ok(())
    }

    /// Makes an object that dies with the current frame.
    pub(super) fn stack_object(&mut self, id: ThreadId, size: u64) -> Result<Addr, Stop> {
        let thread = &mut self.threads[id.index()];
        let frame = thread.frames.last_mut().expect("code runs in a frame");
        let made = self.memory.alloc(Some(id), ObjectKind::Stack, size, false, frame.pc);
        let end = frame.end;
        let Some(addr) = made else { return Err(self.too_large(id, size)) };
        let thread = &mut self.threads[id.index()];
        thread.reserve(end + 1);
        thread.stack[end as usize] = addr.0;
        thread.frames.last_mut().expect("code runs in a frame").end = end + 1;
        Ok(addr)
    }
}

/// The value of an operand in a frame.
#[inline]
fn argument(thread: &Thread, frame: Frame, source: Src) -> u64 {
    match source {
        Src::Reg(register) => thread.stack[frame.base as usize + register as usize],
        Src::Const(value) => value,
    }
}
