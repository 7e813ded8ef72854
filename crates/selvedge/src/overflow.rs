//! Stack overflows in a model's threads.
//!
//! The lowest page of a stack must not be touched. If a thread of a model comes there, the system sends a signal. Its
//! handler runs on a stack of its own, which `std` has set up, and makes the thread return to the machine with a message,
//! as if it had panicked. All other signals go to whoever wanted them before. On systems other than Linux on x86-64 and
//! AArch64 there is no such handler, and an overflow ends the process, as `std` has it.

// A signal handler.
#![allow(unsafe_code)]

use corosensei::trap::CoroutineTrapHandler;
use std::cell::Cell;

/// How a thread ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ended {
    /// It came to its end.
    Well,
    /// With a panic, which was noted.
    Panicked,
    /// It has used up its stack.
    Overflowed,
}

/// The thread that runs, and the lowest addresses of its stack.
#[derive(Clone, Copy)]
pub(crate) struct Guarded {
    pub handler: CoroutineTrapHandler<Ended>,
    pub limit: usize,
}

thread_local! {
    static GUARDED: Cell<Option<Guarded>> = const { Cell::new(None) };
}

/// Says which thread runs.
#[inline]
pub(crate) fn guard(guarded: Option<Guarded>) {
    GUARDED.set(guarded);
}

/// What is said about it.
pub(crate) const MESSAGE: &str = "stack overflow: a thread of the model has used up its stack of 1 MiB";

/// How much of a stack has to be left for an operation.
pub(crate) const RESERVE: usize = 1 << 15;

/// Whether less than that is left.
#[inline]
pub(crate) fn is_near() -> bool {
    let marker = 0u8;
    let here = std::ptr::from_ref(std::hint::black_box(&marker)).addr();
    GUARDED.get().is_some_and(|guarded| here < guarded.limit + RESERVE)
}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
pub(crate) fn install() {}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) use linux::install;

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod linux {
    use super::{Ended, GUARDED, RESERVE};
    use corosensei::trap::TrapHandlerRegs;
    use std::sync::{Once, OnceLock};

    /// Who handled the signal before.
    static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

    /// Handles overflows from now on.
    pub(crate) fn install() {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            // SAFETY: the handler has the signature that `SA_SIGINFO` asks for and touches nothing that a signal may not.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                let mut before: libc::sigaction = std::mem::zeroed();
                libc::sigaction(libc::SIGSEGV, std::ptr::null(), &mut before);
                // Known before the first signal can come.
                let _ = BEFORE.set(before);
                action.sa_sigaction = handle as *const () as usize;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
                libc::sigaction(libc::SIGSEGV, &action, std::ptr::null_mut());
            }
        });
    }

    extern "C" fn handle(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
        let guarded = GUARDED.try_with(std::cell::Cell::get).unwrap_or(None);
        // SAFETY: the system passes pointers to what it says.
        let (fault, context_of) = unsafe { ((*info).si_addr() as usize, &mut *context.cast::<libc::ucontext_t>()) };
        let near = |guarded: &super::Guarded| {
            let limit = guarded.limit;
            (limit.saturating_sub(RESERVE)..limit + RESERVE).contains(&fault)
                && guarded.handler.stack_ptr_in_bounds(stack_pointer(context_of))
        };
        match guarded.filter(near) {
            Some(guarded) => {
                // SAFETY: the stack pointer is on this coroutine's stack. What the thread was doing is abandoned with
                // all that it owns, like the threads of any execution that is abandoned.
                let regs = unsafe { guarded.handler.setup_trap_handler(|| Ended::Overflowed) };
                go_on_at(context_of, regs);
            }
            None => pass_on(signal, info, context),
        }
    }

    fn pass_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
        let Some(before) = BEFORE.get() else { return };
        // SAFETY: it is called as the one who installed it has asked for; or the signal is left to the system, which
        // sends it again when this returns.
        unsafe {
            match before.sa_sigaction {
                libc::SIG_DFL | libc::SIG_IGN => {
                    libc::sigaction(signal, before, std::ptr::null_mut());
                }
                handler if before.sa_flags & libc::SA_SIGINFO != 0 => {
                    type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
                    std::mem::transmute::<usize, Handler>(handler)(signal, info, context);
                }
                handler => std::mem::transmute::<usize, extern "C" fn(libc::c_int)>(handler)(signal),
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    fn stack_pointer(context: &libc::ucontext_t) -> usize {
        context.uc_mcontext.gregs[libc::REG_RSP as usize] as usize
    }

    #[cfg(target_arch = "aarch64")]
    fn stack_pointer(context: &libc::ucontext_t) -> usize {
        context.uc_mcontext.sp as usize
    }

    #[cfg(target_arch = "x86_64")]
    fn go_on_at(context: &mut libc::ucontext_t, regs: TrapHandlerRegs) {
        let TrapHandlerRegs { rip, rsp, rbp, rdi, rsi } = regs;
        let registers = &mut context.uc_mcontext.gregs;
        registers[libc::REG_RIP as usize] = rip as i64;
        registers[libc::REG_RSP as usize] = rsp as i64;
        registers[libc::REG_RBP as usize] = rbp as i64;
        registers[libc::REG_RDI as usize] = rdi as i64;
        registers[libc::REG_RSI as usize] = rsi as i64;
    }

    #[cfg(target_arch = "aarch64")]
    fn go_on_at(context: &mut libc::ucontext_t, regs: TrapHandlerRegs) {
        let TrapHandlerRegs { pc, sp, x0, x1, x29, lr } = regs;
        let machine = &mut context.uc_mcontext;
        machine.pc = pc;
        machine.sp = sp;
        machine.regs[0] = x0;
        machine.regs[1] = x1;
        machine.regs[29] = x29;
        machine.regs[30] = lr;
    }
}
