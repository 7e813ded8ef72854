//! What models may ask of the machine: the [`Host`] of one call.

use super::Interpreter;
use super::naming::{LIBRARY, quoted};
use super::undo::Death;
use crate::memory::ObjectKind;
use crate::models::{Host, ModelOptions};
use crate::{Addr, Memory, SourceSpan, Status, Stop, ThreadId, ViolationKind};
use selvedge_ir::EntityRef;

/// A thread that has called a library function.
pub struct Caller<'a> {
    /// The machine.
    pub machine: &'a mut Interpreter,
    /// The calling thread.
    pub thread: ThreadId,
}

impl Host for Caller<'_> {
    fn thread(&self) -> ThreadId {
        self.thread
    }

    fn memory(&mut self) -> &mut Memory {
        &mut self.machine.memory
    }

    fn is_visible(&mut self, addr: Addr, size: u64) -> Result<bool, Stop> {
        self.machine.visible(self.thread, addr, size, false)
    }

    fn before_atomic(&mut self, addr: Addr) {
        if self.machine.options.atomics_publish && self.machine.undo.process.threaded {
            self.machine.memory.publish_own(self.thread, addr);
        }
    }

    fn load_private(&mut self, addr: Addr, size: u8) -> Result<u64, Stop> {
        let loaded = self.machine.memory.load(self.thread, addr, size, false);
        loaded.map_err(|fault| self.machine.fault_violation(self.thread, addr, u64::from(size), false, fault))
    }

    fn store_private(&mut self, addr: Addr, size: u8, value: u64) -> Result<(), Stop> {
        let stored = self.machine.memory.store(self.thread, addr, size, value);
        stored.map_err(|fault| self.machine.fault_violation(self.thread, addr, u64::from(size), true, fault))
    }

    fn allocate(&mut self, size: u64, zeroed: bool) -> Result<Addr, Stop> {
        let site = self.machine.call_pc(self.thread).unwrap_or(u32::MAX >> 1);
        let made = self.machine.memory.alloc(Some(self.thread), ObjectKind::Heap, size, zeroed, site);
        made.ok_or_else(|| self.machine.too_large(self.thread, size))
    }

    fn prepare_child(&mut self, start: Addr, arg: u64) -> Result<ThreadId, Stop> {
        let Some(func) = self.machine.function_at(start) else {
            return Err(self.machine.bad_call(self.thread, start));
        };
        let nth = self.machine.threads[self.thread.index()].head.children;
        let Some(child) = self.machine.intern_child(self.thread, nth) else {
            return Err(self.machine.too_many_threads(self.thread));
        };
        self.machine.threads[self.thread.index()].head.children += 1;
        let body = self.machine.body_of_start(func, Addr(arg));
        let kin = &mut self.machine.family.kin[child.index()];
        (kin.start, kin.body) = (Some((func, arg)), body);
        self.machine.memory.publish(Addr(arg));
        Ok(child)
    }

    fn thread_result(&self, thread: ThreadId) -> Option<u64> {
        let head = &self.machine.threads.get(thread.index())?.head;
        (head.status == Status::Finished).then_some(head.result)
    }

    fn release(&mut self, addr: Addr) {
        let id = self.machine.memory.find(addr).expect("the model has checked the address");
        self.machine.memory.kill(id);
        let pc = self.machine.call_pc(self.thread);
        self.machine.undo.deaths.push(Death { addr, pc });
    }

    fn library_object(&mut self, name: &'static str, kind: ObjectKind, size: u64) -> Result<Addr, Stop> {
        let library = &mut self.machine.library;
        let known = library.iter().position(|&other| other == name);
        let number = known.unwrap_or_else(|| {
            library.push(name);
            library.len() - 1
        });
        let made = self.machine.memory.alloc(Some(self.thread), kind, size, true, LIBRARY | number as u32);
        made.ok_or_else(|| self.machine.too_large(self.thread, size))
    }

    fn thread_local(&mut self, name: &str) -> Option<Addr> {
        let found = self.machine.program.globals.iter().find(|(_, global)| global.linkage == name && global.addr == 0);
        let (global, _) = found?;
        self.machine.thread_local(self.thread, global).ok()
    }

    fn fact(&self, key: (u32, u64)) -> u64 {
        self.machine.undo.facts.get(&(Some(self.thread), key.0, key.1)).copied().unwrap_or(0)
    }

    fn set_fact(&mut self, key: (u32, u64), value: u64) {
        self.machine.undo.set_fact((Some(self.thread), key.0, key.1), value);
    }

    fn shared_fact(&self, key: (u32, u64)) -> u64 {
        self.machine.undo.facts.get(&(None, key.0, key.1)).copied().unwrap_or(0)
    }

    fn set_shared_fact(&mut self, key: (u32, u64), value: u64) {
        self.machine.undo.set_fact((None, key.0, key.1), value);
    }

    fn violation(&self, kind: ViolationKind, message: String) -> Stop {
        self.machine.violation(self.thread, kind, message)
    }

    fn unsupported(&self, feature: String) -> Stop {
        self.machine.unsupported(self.thread, feature)
    }

    fn place(&self) -> SourceSpan {
        self.machine.place(self.thread)
    }

    fn double_free(&self, addr: Addr) -> Stop {
        self.machine.double_free(self.thread, addr)
    }

    fn name_of(&self, addr: Addr) -> String {
        quoted(&self.machine.name_of_address(addr))
    }

    fn print(&mut self, text: &str) {
        if self.machine.options.keep_output {
            self.machine.undo.output.push_str(text);
        }
    }

    fn options(&self) -> &ModelOptions {
        &self.machine.options.models
    }
}
