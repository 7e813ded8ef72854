//! Variadic arguments.
//!
//! Compilers expand `va_arg` into loads through the fields of a `va_list`, so `va_start` has to build what those loads
//! expect (System V ABI, AMD64 supplement, section 3.5.7):
//!
//! | offset | field | meaning |
//! |---|---|---|
//! | 0 | `gp_offset` | bytes of the save area's integer part that are used up, of 48 |
//! | 4 | `fp_offset` | bytes of the save area that are used up, of 176 |
//! | 8 | `overflow_arg_area` | the next argument that found no register |
//! | 16 | `reg_save_area` | six integer registers of 8 bytes, then eight vector registers of 16 |
//!
//! Here no argument is in a register: both offsets say that the save area is used up, and all arguments lie in the
//! overflow area, in slots of 8 bytes, in order. Front ends pass what is larger in several slots. The area is a stack
//! object of the variadic function.

use super::Interpreter;
use crate::{Addr, Stop, ThreadId};
use selvedge_ir::{EntityRef, Type};

const INTEGERS_USED: u64 = 48;
const ALL_USED: u64 = 176;

impl Interpreter {
    /// Makes a `va_list` for the variadic arguments of the current frame.
    pub(super) fn va_start(&mut self, id: ThreadId, list: Addr) -> Result<(), Stop> {
        self.refuse_visible_list(id, list)?;
        let thread = &self.threads[id.index()];
        let at = thread.frames.len() - 1;
        let frame = thread.frames[at];
        let first = (frame.base + self.program.funcs[frame.func].registers) as usize;
        let count = self.further_arguments(id, at).len();
        let values = thread.stack[first..first + count].to_vec();
        let slots = self.stack_object(id, 8 * count as u64)?;
        for (value, n) in values.into_iter().zip(0..) {
            self.put(id, Addr(slots.0 + 8 * n), 8, value)?;
        }
        self.put(id, list, 4, INTEGERS_USED)?;
        self.put(id, Addr(list.0.wrapping_add(4)), 4, ALL_USED)?;
        self.put(id, Addr(list.0.wrapping_add(8)), 8, slots.0)?;
        self.put(id, Addr(list.0.wrapping_add(16)), 8, 0)
    }

    /// Takes the next argument from a `va_list`.
    pub(super) fn va_arg(&mut self, id: ThreadId, ty: Type, list: Addr) -> Result<u64, Stop> {
        self.refuse_visible_list(id, list)?;
        let field = Addr(list.0.wrapping_add(8));
        let at = self.get(id, field, 8)?;
        self.put(id, field, 8, at.wrapping_add(8))?;
        Ok(self.get(id, Addr(at), ty.store_size() as u8)? & ty.mask())
    }

    /// Copies a `va_list`.
    pub(super) fn va_copy(&mut self, id: ThreadId, dst: Addr, src: Addr) -> Result<(), Stop> {
        self.refuse_visible_list(id, dst)?;
        self.refuse_visible_list(id, src)?;
        self.copy_unseen(id, dst, src, 24).map(|_| ())
    }

    fn refuse_visible_list(&self, id: ThreadId, list: Addr) -> Result<(), Stop> {
        if self.visible(id, list, 24, true)? {
            return Err(self.unsupported(id, "a `va_list` that other threads can reach".into()));
        }
        Ok(())
    }

    fn put(&mut self, id: ThreadId, addr: Addr, size: u8, value: u64) -> Result<(), Stop> {
        let stored = self.memory.store(id, addr, size, value);
        stored.map_err(|fault| self.fault_violation(id, addr, u64::from(size), true, fault))
    }

    fn get(&self, id: ThreadId, addr: Addr, size: u8) -> Result<u64, Stop> {
        let loaded = self.memory.load(id, addr, size, false);
        loaded.map_err(|fault| self.fault_violation(id, addr, u64::from(size), false, fault))
    }
}
