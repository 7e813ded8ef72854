//! The inner loop: runs the instructions of one frame until something needs more than its registers and memory.
//!
//! The loop holds the current frame's registers as one slice and knows nothing of other frames, of models or of names.
//! What it cannot do by itself it hands back as an [`Exit`]: calls and returns, an access that another thread could
//! notice (the thread's next Op), an instruction that is too rare to be here, or a trap. Instructions are counted, and
//! the count is compared with the limit on every jump, so that no cycle escapes it.

use super::code::{AwaitAccess, AwaitSite, Ins, Mode, Pc, Program, Reg};
use super::pure_iteration::{is_same_state, note_state};
use crate::op::{Access, AccessKind, Cond};
use crate::{Addr, Fault, Memory, Op, ThreadId};
use selvedge_ir::{EvalError, eval};

/// Why the inner loop came to a halt at an instruction.
pub enum Exit {
    /// It is a call, by this site.
    Call(u32),
    /// It is a return of so many values.
    Return(u32, u16),
    /// It is an Op that others can notice.
    Yield,
    /// It needs the whole machine.
    Slow,
    /// It cannot be performed.
    Trap(Trap),
}

/// Why an instruction cannot be performed.
pub enum Trap {
    /// A memory access fails.
    Fault(Addr, u64, bool, Fault),
    /// A division fails.
    Arithmetic(EvalError),
    /// An assumption does not hold; if it is pure, the iteration of a loop that it stands in changes nothing.
    Assume { pure: bool },
    /// An await whose condition does not hold, on memory that no other thread can change.
    Spin(Addr, u64),
    /// The program said that this cannot be reached.
    Unreachable,
    /// An iteration of a loop has changed nothing.
    PureIteration,
    /// A loop has been run as often as allowed.
    LoopBound(u32),
    /// Too many instructions without an Op.
    StepBound,
}

/// What the inner loop works on.
pub struct Cpu<'a> {
    /// The program.
    pub program: &'a Program,
    /// Memory.
    pub memory: &'a mut Memory,
    /// Where an Op goes.
    pub pending: &'a mut Op,
    /// Who runs.
    pub thread: ThreadId,
    /// Whether there has been only one thread so far.
    pub alone: bool,
    /// Instructions executed since the last Op.
    pub steps: u64,
    /// How many there may be.
    pub max_steps: u64,
    /// How often the thread has changed something besides its registers.
    pub effects: u64,
    /// How many Ops it has behind it.
    pub ops: u32,
}

/// The low `bits` of a register.
#[inline]
fn low(value: u64, bits: u8) -> u64 {
    value & (u64::MAX >> (64 - u32::from(bits)))
}

/// The access that an await waits with.
fn await_access(site: &AwaitSite, regs: &[u64]) -> Access {
    let reg = |register: Reg| regs[register as usize];
    let kind = match site.kind {
        AwaitAccess::Load => AccessKind::Load,
        AwaitAccess::Rmw { op, value, used } => AccessKind::Rmw { op, operand: reg(value), used },
        AwaitAccess::Cas { expected, new, failure, .. } => {
            AccessKind::Cas { expected: reg(expected), new: reg(new), failure }
        }
    };
    let confirms = matches!(site.kind, AwaitAccess::Cas { confirms: true, .. });
    let until = Cond { op: site.until, operand: reg(site.operand), mask: site.mask, retry: site.retry.is_some() };
    let access = Access::new(Addr(reg(site.addr)), site.ty.store_size() as u8, site.order, kind);
    Access { until: Some(until), confirms, ..access }
}

/// Whether a compare-and-exchange that finds this value succeeds; false for other accesses.
pub fn is_exchanged(access: &Access, found: u64) -> bool {
    matches!(access.kind, AccessKind::Cas { expected, .. } if expected == found)
}

impl Cpu<'_> {
    /// Runs from an instruction on, with the registers of the current frame; returns the instruction that it stopped
    /// at.
    pub fn run(&mut self, regs: &mut [u64], start: Pc) -> (Pc, Exit) {
        let mut pc = start as usize;
        let mut steps = self.steps;
        let max_steps = self.max_steps;
        let program = self.program;
        let code = &program.code[..];
        macro_rules! r {
            ($reg:expr) => {
                regs[$reg as usize]
            };
        }
        macro_rules! stop {
            ($exit:expr) => {{
                self.steps = steps;
                return (pc as Pc, $exit);
            }};
        }
        macro_rules! jump {
            ($to:expr) => {{
                if steps > max_steps {
                    stop!(Exit::Trap(Trap::StepBound));
                }
                pc = $to as usize;
                continue;
            }};
        }
        macro_rules! branch {
            ($cond:expr, $then:expr, $other:expr) => {
                jump!(if $cond { $then } else { $other })
            };
        }
        macro_rules! try_access {
            ($result:expr, $addr:expr, $size:expr, $write:expr) => {
                match $result {
                    Ok(result) => result,
                    Err(fault) => stop!(Exit::Trap(Trap::Fault($addr, u64::from($size), $write, fault))),
                }
            };
        }
        loop {
            steps += 1;
            match code[pc] {
                Ins::Const { dst, value } => r!(dst) = value,
                Ins::Move { dst, src } => r!(dst) = r!(src),
                Ins::Add32 { dst, a, b } => r!(dst) = u64::from((r!(a) as u32).wrapping_add(r!(b) as u32)),
                Ins::Add64 { dst, a, b } => r!(dst) = r!(a).wrapping_add(r!(b)),
                Ins::Sub32 { dst, a, b } => r!(dst) = u64::from((r!(a) as u32).wrapping_sub(r!(b) as u32)),
                Ins::Sub64 { dst, a, b } => r!(dst) = r!(a).wrapping_sub(r!(b)),
                Ins::Mul32 { dst, a, b } => r!(dst) = u64::from((r!(a) as u32).wrapping_mul(r!(b) as u32)),
                Ins::Mul64 { dst, a, b } => r!(dst) = r!(a).wrapping_mul(r!(b)),
                Ins::Add32K { dst, a, k } => r!(dst) = u64::from((r!(a) as u32).wrapping_add(k)),
                Ins::Add64K { dst, a, k } => r!(dst) = r!(a).wrapping_add(k),
                Ins::Mul32K { dst, a, k } => r!(dst) = u64::from((r!(a) as u32).wrapping_mul(k)),
                Ins::Mul64K { dst, a, k } => r!(dst) = r!(a).wrapping_mul(k),
                Ins::And { dst, a, b } => r!(dst) = r!(a) & r!(b),
                Ins::Or { dst, a, b } => r!(dst) = r!(a) | r!(b),
                Ins::Xor { dst, a, b } => r!(dst) = r!(a) ^ r!(b),
                Ins::AndK { dst, a, k } => r!(dst) = r!(a) & k,
                Ins::OrK { dst, a, k } => r!(dst) = r!(a) | k,
                Ins::XorK { dst, a, k } => r!(dst) = r!(a) ^ k,
                Ins::Binary { op, ty, dst, a, b } => match eval::binary(op, ty, r!(a), r!(b)) {
                    Ok(value) => r!(dst) = value,
                    Err(error) => stop!(Exit::Trap(Trap::Arithmetic(error))),
                },
                Ins::BinaryK { op, ty, dst, a, k } => match eval::binary(op, ty, r!(a), k) {
                    Ok(value) => r!(dst) = value,
                    Err(error) => stop!(Exit::Trap(Trap::Arithmetic(error))),
                },
                Ins::FNeg { ty, dst, a } => r!(dst) = eval::fneg(ty, r!(a)),
                Ins::Cmp { op, ty, dst, a, b } => r!(dst) = u64::from(eval::cmp(op, ty, r!(a), r!(b))),
                Ins::CmpK { op, ty, dst, a, k } => r!(dst) = u64::from(eval::cmp(op, ty, r!(a), k)),
                Ins::SExt { bits, dst, a, mask } => {
                    let shift = 64 - u32::from(bits);
                    r!(dst) = (((r!(a) << shift) as i64) >> shift) as u64 & mask;
                }
                Ins::Cast { op, from, to, dst, a } => r!(dst) = eval::cast(op, from, to, r!(a)),
                Ins::Select { dst, cond, a, b } => r!(dst) = if r!(cond) != 0 { r!(a) } else { r!(b) },
                Ins::PtrAdd { dst, base, index, scale, offset } => {
                    r!(dst) = eval::ptr_add(r!(base), r!(index), i64::from(scale), i64::from(offset));
                }
                Ins::PtrAddK { dst, index, scale, base } => {
                    r!(dst) = base.wrapping_add(r!(index).wrapping_mul(u64::from(scale)));
                }
                Ins::Intrinsic { op, ty, dst, flag, a, b, c } => {
                    let (value, overflow) = eval::intrinsic(op, ty, [r!(a), r!(b), r!(c)]);
                    r!(flag) = u64::from(overflow);
                    r!(dst) = value;
                }
                Ins::Publish { addr, offset } => {
                    if !self.alone {
                        let addr = Addr(r!(addr).wrapping_add(offset as u64));
                        self.effects += u64::from(self.memory.publish_own(self.thread, addr));
                    }
                }
                Ins::Load { mode, speculative, bits, dst, addr, offset } => {
                    let addr = Addr(r!(addr).wrapping_add(offset as u64));
                    let Mode { size, order, raw } = mode;
                    let loaded = self.memory.load_unseen(self.thread, addr, size, raw, self.alone);
                    match try_access!(loaded, addr, size, false) {
                        Some(value) => r!(dst) = low(value, bits),
                        None => {
                            let access = Access::new(addr, size, order, AccessKind::Load);
                            stop!(self.wait_with(Access { raw, speculative, ..access }));
                        }
                    }
                }
                Ins::LoadG { mode, speculative, bits, dst, addr } => {
                    let Mode { size, order, raw } = mode;
                    let loaded = self.memory.load_unseen(self.thread, Addr(addr), size, raw, self.alone);
                    match try_access!(loaded, Addr(addr), size, false) {
                        Some(value) => r!(dst) = low(value, bits),
                        None => {
                            let access = Access::new(Addr(addr), size, order, AccessKind::Load);
                            stop!(self.wait_with(Access { raw, speculative, ..access }));
                        }
                    }
                }
                Ins::Store { mode, src, addr, offset } => {
                    let (addr, value) = (Addr(r!(addr).wrapping_add(offset as u64)), r!(src));
                    if !try_access!(self.store(mode, addr, value), addr, mode.size, true) {
                        stop!(self.wait_with(Access::new(addr, mode.size, mode.order, AccessKind::Store { value })));
                    }
                }
                Ins::StoreG { mode, src, addr } => {
                    let (addr, value) = (Addr(addr), r!(src));
                    if !try_access!(self.store(mode, addr, value), addr, mode.size, true) {
                        stop!(self.wait_with(Access::new(addr, mode.size, mode.order, AccessKind::Store { value })));
                    }
                }
                Ins::StoreK { mode, addr, offset, k: value } => {
                    let addr = Addr(r!(addr).wrapping_add(offset as u64));
                    if !try_access!(self.store(mode, addr, value), addr, mode.size, true) {
                        stop!(self.wait_with(Access::new(addr, mode.size, mode.order, AccessKind::Store { value })));
                    }
                }
                Ins::Rmw { op, order, ty, used, dst, addr, value } => {
                    let (addr, value, size) = (Addr(r!(addr)), r!(value), ty.store_size() as u8);
                    let loaded = self.memory.load_unseen(self.thread, addr, size, false, self.alone);
                    let Some(old) = try_access!(loaded, addr, size, true) else {
                        let kind = AccessKind::Rmw { op, operand: value, used };
                        stop!(self.wait_with(Access::new(addr, size, order, kind)));
                    };
                    let new = eval::rmw(op, ty, low(old, ty.bits() as u8), value);
                    self.effects += u64::from(new != old);
                    try_access!(self.memory.store(self.thread, addr, size, new), addr, size, true);
                    r!(dst) = low(old, ty.bits() as u8);
                }
                Ins::Cas { success, failure, confirms, ty, old, done, addr, expected, new } => {
                    let (addr, size) = (Addr(r!(addr)), ty.store_size() as u8);
                    let (wanted, new) = (r!(expected), r!(new));
                    let loaded = self.memory.load_unseen(self.thread, addr, size, false, self.alone);
                    let Some(found) = try_access!(loaded, addr, size, true) else {
                        let kind = AccessKind::Cas { expected: wanted, new, failure };
                        stop!(self.wait_with(Access { confirms, ..Access::new(addr, size, success, kind) }));
                    };
                    if found == wanted {
                        self.effects += u64::from(new != found);
                        try_access!(self.memory.store(self.thread, addr, size, new), addr, size, true);
                    }
                    r!(old) = found;
                    r!(done) = u64::from(found == wanted);
                }
                Ins::Await { site } => {
                    let site = &program.awaits[site as usize];
                    let access = await_access(site, regs);
                    let Access { addr, size, .. } = access;
                    let writes = !matches!(access.kind, AccessKind::Load);
                    let loaded = self.memory.load_unseen(self.thread, addr, size, false, self.alone);
                    let Some(found) = try_access!(loaded, addr, size, writes) else {
                        stop!(self.wait_with(access));
                    };
                    if access.until.is_some_and(|until| !until.holds(found, size)) {
                        // Nobody else can change this, but what was read before it in the iteration.
                        if site.retry.is_some() && !self.alone {
                            stop!(Exit::Trap(Trap::Assume { pure: true }));
                        }
                        stop!(Exit::Trap(Trap::Spin(addr, u64::from(size))));
                    }
                    if let Some(new) = access.written(found) {
                        self.effects += u64::from(new != found);
                        try_access!(self.memory.store(self.thread, addr, size, new), addr, size, true);
                    }
                    let [old, done] = site.results;
                    r!(done) = u64::from(is_exchanged(&access, found));
                    r!(old) = low(found, site.ty.bits() as u8);
                }
                Ins::Fence { order } => {
                    if !self.alone {
                        *self.pending = Op::Fence { order };
                        stop!(Exit::Yield);
                    }
                }
                Ins::Call { site } => {
                    // Recursion is a cycle without a jump.
                    if steps > max_steps {
                        stop!(Exit::Trap(Trap::StepBound));
                    }
                    stop!(Exit::Call(site))
                }
                Ins::Ret { first, count } => stop!(Exit::Return(first, count)),
                Ins::Alloca { .. }
                | Ins::AllocaK { .. }
                | Ins::MemCopy { .. }
                | Ins::MemSet { .. }
                | Ins::VaStart { .. }
                | Ins::VaArg { .. }
                | Ins::VaCopy { .. }
                | Ins::ThreadLocal { .. }
                | Ins::Unsupported { .. } => stop!(Exit::Slow),
                Ins::Assume { cond, pure } => {
                    if r!(cond) == 0 {
                        stop!(Exit::Trap(Trap::Assume { pure: pure.is_some() }));
                    }
                }
                Ins::Iteration { dst } => r!(dst) = u64::from(self.ops),
                Ins::Unreachable => stop!(Exit::Trap(Trap::Unreachable)),
                Ins::LoopReset { counter } => r!(counter) = 0,
                Ins::LoopCheck { counter, limit } => {
                    r!(counter) += 1;
                    if r!(counter) > u64::from(limit) {
                        stop!(Exit::Trap(Trap::LoopBound(limit)));
                    }
                }
                Ins::LoopEnter { site } => note_state(&program.loops[site as usize], regs, self.ops, self.effects),
                Ins::LoopAgain { site } => {
                    let site = &program.loops[site as usize];
                    if is_same_state(site, regs, self.effects) {
                        stop!(Exit::Trap(Trap::PureIteration));
                    }
                    note_state(site, regs, self.ops, self.effects);
                }
                Ins::Jump { to } => jump!(to),
                Ins::Branch { cond, then, other } => branch!(r!(cond) != 0, then, other),
                Ins::BrEq { a, b, then, other } => branch!(r!(a) == r!(b), then, other),
                Ins::BrEqK { a, k, then, other } => branch!(r!(a) == u64::from(k), then, other),
                Ins::BrUlt { a, b, then, other } => branch!(r!(a) < r!(b), then, other),
                Ins::BrUltK { a, k, then, other } => branch!(r!(a) < u64::from(k), then, other),
                Ins::BrUgtK { a, k, then, other } => branch!(r!(a) > u64::from(k), then, other),
                Ins::BrSlt32 { a, b, then, other } => branch!((r!(a) as i32) < r!(b) as i32, then, other),
                Ins::BrSlt64 { a, b, then, other } => branch!((r!(a) as i64) < r!(b) as i64, then, other),
                Ins::BrSlt32K { a, k, then, other } => branch!((r!(a) as i32) < i32::from(k), then, other),
                Ins::BrSlt64K { a, k, then, other } => branch!((r!(a) as i64) < i64::from(k), then, other),
                Ins::BrSgt32K { a, k, then, other } => branch!(r!(a) as i32 > i32::from(k), then, other),
                Ins::BrSgt64K { a, k, then, other } => branch!(r!(a) as i64 > i64::from(k), then, other),
                Ins::Switch { value, table } => {
                    let table = &program.switches[table as usize];
                    let value = r!(value);
                    let found = table.cases.binary_search_by_key(&value, |&(case, _)| case);
                    jump!(found.map_or(table.default, |at| table.cases[at].1))
                }
            }
            pc += 1;
        }
    }

    #[inline]
    fn store(&mut self, mode: Mode, addr: Addr, value: u64) -> Result<bool, Fault> {
        self.effects += 1;
        self.memory.store_unseen(self.thread, addr, mode.size, value, self.alone)
    }

    #[inline]
    fn wait_with(&mut self, access: Access) -> Exit {
        *self.pending = Op::Access(access);
        Exit::Yield
    }
}
