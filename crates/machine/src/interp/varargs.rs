//! Variadic arguments as the x86-64 ABI lays them out.
//!
//! Compilers expand `va_arg` into loads through the fields of a `va_list`, so `va_start` has to build what those loads
//! expect (System V ABI, AMD64 supplement, section 3.5.7):
//!
//! | offset | field | meaning |
//! |---|---|---|
//! | 0 | `gp_offset` | bytes of the save area's integer part that are used up |
//! | 4 | `fp_offset` | the same for its floating-point part |
//! | 8 | `overflow_arg_area` | arguments that found no register |
//! | 16 | `reg_save_area` | six integer registers of 8 bytes, then eight vector registers of 16 |
//!
//! Here every variadic argument goes to the overflow area, and the registers count as used up. Which register an argument
//! would take depends on its type in the source (a struct is in registers as a whole or not at all, a large one is in
//! memory even if registers are free), which is no longer known; in the overflow area all of them lie in order, and the
//! code that compilers make for `va_arg` finds them there. Both areas are stack objects of the variadic function.

use super::Interpreter;
use crate::{Addr, Stop, ThreadId};
use selvedge_ir::{EntityRef, Type};

const INTEGER_END: u64 = 48;
const SAVE_AREA: u64 = 176;

/// Registers that are used up.
#[derive(Clone, Copy)]
struct Used {
    integer: u64,
    float: u64,
}

impl Used {
    /// The place of the next argument in the save area; none if it goes to the overflow area.
    fn take(&mut self, ty: Type) -> Option<u64> {
        if ty.is_float() {
            let at = self.float;
            (at < SAVE_AREA).then(|| self.float += 16).map(|()| at)
        } else {
            let at = self.integer;
            (at < INTEGER_END).then(|| self.integer += 8).map(|()| at)
        }
    }
}

impl Interpreter {
    /// Makes a `va_list` for the variadic arguments of the current frame.
    pub(super) fn va_start(&mut self, id: ThreadId, list: Addr) -> Result<(), Stop> {
        self.refuse_visible_list(id, list)?;
        let thread = &self.threads[id.index()];
        let at = thread.frames.len() - 1;
        let frame = thread.frames[at];
        let func = &self.program.funcs[frame.func];
        let types = self.further_arguments(id, at).to_vec();
        let first = (frame.base + func.registers) as usize;
        let values = thread.stack[first..first + types.len()].to_vec();
        let mut used = Used { integer: INTEGER_END, float: SAVE_AREA };
        let fixed = used;
        let mut places = Vec::with_capacity(values.len());
        let mut overflow = 0;
        for &ty in &types {
            places.push(used.take(ty).ok_or(overflow));
            if places.last().is_some_and(Result::is_err) {
                overflow += 8;
            }
        }
        let save = self.stack_object(id, SAVE_AREA)?;
        let rest = self.stack_object(id, overflow)?;
        for (value, place) in values.into_iter().zip(places) {
            let to = place.map_or_else(|at| rest.0 + at, |at| save.0 + at);
            self.put(id, Addr(to), 8, value)?;
        }
        self.put(id, list, 4, fixed.integer)?;
        self.put(id, Addr(list.0.wrapping_add(4)), 4, fixed.float)?;
        self.put(id, Addr(list.0.wrapping_add(8)), 8, rest.0)?;
        self.put(id, Addr(list.0.wrapping_add(16)), 8, save.0)
    }

    /// Takes the next argument from a `va_list`.
    pub(super) fn va_arg(&mut self, id: ThreadId, ty: Type, list: Addr) -> Result<u64, Stop> {
        self.refuse_visible_list(id, list)?;
        let (field, limit, step) = if ty.is_float() { (4, SAVE_AREA, 16) } else { (0, INTEGER_END, 8) };
        let field = Addr(list.0.wrapping_add(field));
        let used = self.get(id, field, 4)?;
        let size = ty.store_size() as u8;
        if used < limit {
            self.put(id, field, 4, used + step)?;
            let save = self.get(id, Addr(list.0.wrapping_add(16)), 8)?;
            return Ok(self.get(id, Addr(save.wrapping_add(used)), size)? & ty.mask());
        }
        let overflow = Addr(list.0.wrapping_add(8));
        let at = self.get(id, overflow, 8)?;
        self.put(id, overflow, 8, at.wrapping_add(8))?;
        Ok(self.get(id, Addr(at), size)? & ty.mask())
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
