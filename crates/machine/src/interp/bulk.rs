//! Copies and fills of memory that no other thread can see, and thread-local variables.
//!
//! A copy keeps for each byte whether it was ever written, so that a struct with padding can be copied. It goes in
//! pieces of eight bytes that start at aligned source addresses, so that a pointer within the bytes is moved as a whole
//! and what it points to is published where necessary.

use super::Interpreter;
use crate::memory::ObjectKind;
use crate::{Addr, Fault, Stop, ThreadId};
use selvedge_ir::{EntityRef, GlobalId};

impl Interpreter {
    /// Copies bytes, whether or not the ranges overlap; false if another thread could notice.
    pub(super) fn copy_unseen(&mut self, id: ThreadId, dst: Addr, src: Addr, len: u64) -> Result<bool, Stop> {
        if len == 0 {
            return Ok(true);
        }
        let visible = self.visible(id, src, len, false)? | self.visible(id, dst, len, true)?;
        if visible {
            return Ok(false);
        }
        self.steps += len / 8;
        // Where the ranges overlap, no piece may be overwritten before it is read.
        let backwards = dst.0 > src.0 && dst.0 - src.0 < len;
        let mut done = 0;
        while done < len {
            let piece = if backwards { last_piece(src.0, len - done) } else { first_piece(src.0 + done, len - done) };
            let at = if backwards { len - done - u64::from(piece) } else { done };
            let (from, to) = (Addr(src.0 + at), Addr(dst.0 + at));
            let value =
                self.memory.load(id, from, piece, true).map_err(|f| self.bulk_fault(id, from, piece, false, f))?;
            let written = self.memory.written_bytes(from, piece);
            let all = u8::MAX >> (8 - piece);
            let written = if written == all { u8::MAX } else { written };
            let stored = self.memory.store_masked(id, to, piece, value, written);
            stored.map_err(|fault| self.bulk_fault(id, to, piece, true, fault))?;
            done += u64::from(piece);
        }
        Ok(true)
    }

    /// Fills bytes; false if another thread could notice.
    pub(super) fn fill_unseen(&mut self, id: ThreadId, dst: Addr, byte: u8, len: u64) -> Result<bool, Stop> {
        if len == 0 {
            return Ok(true);
        }
        if self.visible(id, dst, len, true)? {
            return Ok(false);
        }
        // So that the bound on a thread's own computation covers what a single instruction does.
        self.steps += len / 8;
        let value = u64::from_ne_bytes([byte; 8]);
        let mut done = 0;
        while done < len {
            let piece = (len - done).min(8) as u8;
            let to = Addr(dst.0 + done);
            let stored = self.memory.store(id, to, piece, crate::truncate(value, piece));
            stored.map_err(|fault| self.bulk_fault(id, to, piece, true, fault))?;
            done += u64::from(piece);
        }
        Ok(true)
    }

    /// Whether another thread could notice an access.
    pub(super) fn visible(&self, id: ThreadId, addr: Addr, len: u64, write: bool) -> Result<bool, Stop> {
        let alone = !self.undo.process.threaded;
        self.memory.is_visible(id, addr, len, alone).map_err(|fault| self.fault_violation(id, addr, len, write, fault))
    }

    fn bulk_fault(&self, id: ThreadId, addr: Addr, size: u8, write: bool, fault: Fault) -> Stop {
        self.fault_violation(id, addr, u64::from(size), write, fault)
    }

    /// A thread's instance of a thread-local variable, made when it is first needed.
    pub(super) fn thread_local(&mut self, id: ThreadId, global: GlobalId) -> Result<Addr, Stop> {
        let info = &self.program.globals[global];
        if info.external {
            return Err(self.undefined_global(id, global));
        }
        let thread = &mut self.threads[id.index()];
        if thread.locals.len() <= global.index() {
            thread.locals.resize(self.program.globals.len(), 0);
        }
        if thread.locals[global.index()] != 0 {
            return Ok(Addr(thread.locals[global.index()]));
        }
        let made = self.memory.alloc(Some(id), ObjectKind::ThreadLocal, info.size, true, global.index() as u32);
        let Some(addr) = made else { return Err(self.too_large(id, self.program.globals[global].size)) };
        self.memory.initialise(addr, &info.image);
        thread.locals[global.index()] = addr.0;
        self.undo.made_local(id, global.index() as u32);
        Ok(addr)
    }
}

/// Bytes up to the next aligned address.
fn first_piece(at: u64, left: u64) -> u8 {
    (8 - at % 8).min(left) as u8
}

/// Bytes down to the last aligned address.
fn last_piece(src: u64, left: u64) -> u8 {
    let end = (src + left) % 8;
    (if end == 0 { 8 } else { end }).min(left) as u8
}
