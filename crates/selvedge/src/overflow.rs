//! What would end the process in a model's thread: stack overflows, wild pointers, and panics during a panic.
//!
//! The lowest page of a stack must not be touched. If a thread of a model comes there, the system sends a signal. Its
//! handler runs on a stack of its own, which `std` has set up, and makes the thread return to the machine with a message,
//! as if it had panicked. A pointer to memory that is not there ends in the same signal, and so in a failure like others, unless it
//! is the library or an allocator that follows it: what these were about to do would be left half done. A destructor
//! that panics while a panic unwinds ends in a call of `abort`, and that in a signal too. So do `std::process::abort` and memory
//! that is not to be had, unless the library or an allocator is at work: then memory may be in disorder. All other signals go to
//! whoever wanted them before. On systems other than Linux on x86-64 and AArch64 there are no such handlers, and the process ends, as `std` has
//! it.

// A signal handler.
#![allow(unsafe_code)]

use crate::blocks;
use crate::coroutine::STACK;
use crate::report;
use crate::runtime::{self, At};
use corosensei::trap::CoroutineTrapHandler;
use selvedge_machine::ThreadId;
use std::cell::Cell;

/// How a thread ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ended {
    /// It came to its end.
    Well,
    /// With a panic, or with several, which were noted.
    Panicked,
    /// It has called `abort`: because of a panic, as a destructor may do that is not to be left by one, or since something has gone
    /// wrong that it cannot say otherwise.
    Aborted,
    /// It has used up its stack.
    Overflowed,
    /// It has followed a pointer to memory that is not there. What it points to if that is not far from null.
    Faulted(Option<usize>),
}

/// The thread that runs, and the lowest addresses of its stack.
#[derive(Clone, Copy)]
pub(crate) struct Guarded {
    pub handler: CoroutineTrapHandler<Ended>,
    pub limit: usize,
}

thread_local! {
    /// Whether the thread that runs is about to call `abort` because of a panic.
    static ABORTS: Cell<bool> = const { Cell::new(false) };
    /// The thread that runs; null if none does.
    static GUARDED: Cell<*const Guarded> = const { Cell::new(std::ptr::null()) };
}

/// Says which thread runs; null if none does. The pointer is good until the next call.
#[inline]
pub(crate) fn guard(guarded: *const Guarded) {
    GUARDED.set(guarded);
}

/// The thread that runs.
#[inline]
fn guarded() -> Option<Guarded> {
    // SAFETY: the machine sets the pointer to what it keeps of a thread while it runs that, and to null when it is back.
    unsafe { GUARDED.get().as_ref() }.copied()
}

/// The thread that runs is about to call `abort` because of a panic. Says whether that will be caught.
pub(crate) fn aborts() -> bool {
    ABORTS.set(CAUGHT);
    CAUGHT
}

const CAUGHT: bool = cfg!(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")));

/// What is said about a thread that has used up its stack.
pub(crate) fn message(thread: ThreadId) -> String {
    let size = STACK >> 20;
    format!(
        "stack overflow: {} has used up its stack of {size} MiB, the size of all stacks of models",
        report::name(thread)
    )
}

/// What is said about a thread that has ended in such a way. Addresses are not told: they are others in every run.
pub(crate) fn message_of(thread: ThreadId, ended: Ended) -> String {
    let name = report::name(thread);
    match ended {
        Ended::Aborted => format!("{name} aborts the process"),
        Ended::Faulted(Some(0)) => format!("{name} has followed a null pointer"),
        Ended::Faulted(Some(offset)) => format!("{name} has followed a null pointer, plus {offset}"),
        Ended::Faulted(None) => format!("{name} has followed a pointer to memory that is not there"),
        _ => message(thread),
    }
}

/// The same if the thread was not about to perform an operation: there is no telling where it was, but where it came from.
pub(crate) fn after(message: &str, last: Option<At>) -> String {
    match last {
        Some(at) => format!("{message}; its last operation was that at {at}"),
        None => format!("{message}; it has performed no operation"),
    }
}

/// Pointers to something that is null are not farther away from it.
const NEAR_NULL: usize = 1 << 12;

/// Whether a thread that has followed a wild pointer can be abandoned, with all that it owns: neither the library nor an
/// allocator is at work.
fn is_abandonable() -> bool {
    !runtime::is_busy() && !blocks::is_at_work()
}

/// How much of a stack has to be left for an operation. What is below the limit of a [`Strand`](crate::coroutine::Strand) is
/// not looked at when stacks are compared, so no thread may be suspended there.
pub(crate) const RESERVE: usize = crate::coroutine::GUARD + (1 << 15);

/// Whether less than that is left.
#[inline]
pub(crate) fn is_near() -> bool {
    let marker = 0u8;
    let here = std::ptr::from_ref(std::hint::black_box(&marker)).addr();
    guarded().is_some_and(|guarded| here < guarded.limit + RESERVE)
}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
pub(crate) fn install() {}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) use linux::install;

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod linux {
    use super::{ABORTS, Ended, NEAR_NULL, RESERVE, is_abandonable};
    use corosensei::trap::TrapHandlerRegs;
    use std::cell::Cell;
    use std::sync::{Once, OnceLock};

    /// Who handled the signals before.
    static BEFORE: [OnceLock<libc::sigaction>; 4] = [const { OnceLock::new() }; 4];
    const SIGNALS: [libc::c_int; 4] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGABRT, libc::SIGILL];

    /// Handles them from now on.
    pub(crate) fn install() {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            for (signal, before) in SIGNALS.into_iter().zip(&BEFORE) {
                // SAFETY: the handler has the signature that `SA_SIGINFO` asks for and touches nothing that a signal may
                // not.
                unsafe {
                    let mut old: libc::sigaction = std::mem::zeroed();
                    libc::sigaction(signal, std::ptr::null(), &raw mut old);
                    // Known before the first signal can come.
                    let _ = before.set(old);
                    let mut action: libc::sigaction = std::mem::zeroed();
                    action.sa_sigaction = handle as *const () as usize;
                    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
                    libc::sigaction(signal, &raw const action, std::ptr::null_mut());
                }
            }
        });
    }

    extern "C" fn handle(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
        let guarded = super::guarded();
        // SAFETY: the system passes pointers to what it says.
        let context_of = unsafe { &mut *context.cast::<libc::ucontext_t>() };
        let guarded = guarded.filter(|guarded| guarded.handler.stack_ptr_in_bounds(stack_pointer(context_of)));
        let ended = match guarded {
            Some(_) if signal == libc::SIGABRT => {
                let is_announced = ABORTS.try_with(Cell::take).unwrap_or(false);
                // SAFETY: the system passes a pointer to what it says. Who aborts sends himself a signal.
                let is_own = unsafe { &*info }.si_code != SENT;
                let ended = || std::thread::panicking() || is_own && is_abandonable();
                if is_announced { Some(Ended::Panicked) } else { ended().then_some(Ended::Aborted) }
            }
            // `std` aborts so where it counts references.
            Some(_) if signal == libc::SIGILL => is_abandonable().then_some(Ended::Aborted),
            // SAFETY: the system passes a pointer to what it says.
            Some(guarded) => fault(unsafe { &*info }, guarded.limit),
            None => None,
        };
        match (guarded, ended) {
            (Some(guarded), Some(ended)) => {
                // SAFETY: the stack pointer is on this coroutine's stack. What the thread was doing is abandoned with
                // all that it owns, like the threads of any execution that is abandoned.
                let regs = unsafe { guarded.handler.setup_trap_handler(move || ended) };
                go_on_at(context_of, regs);
                unblock(context_of, signal);
            }
            _ => pass_on(signal, info, context),
        }
    }

    /// How a thread ends that has touched memory which is not there.
    fn fault(info: &libc::siginfo_t, limit: usize) -> Option<Ended> {
        if info.si_code <= SENT {
            return None;
        }
        // The system does not say where if no memory could be there at all.
        let is_known = info.si_code != SI_KERNEL;
        // SAFETY: these signals have an address.
        let address = unsafe { info.si_addr() } as usize;
        if is_known && (limit.saturating_sub(RESERVE)..limit + RESERVE).contains(&address) {
            return Some(Ended::Overflowed);
        }
        is_abandonable().then(|| Ended::Faulted(Some(address).filter(|&address| is_known && address < NEAR_NULL)))
    }

    /// The code of a signal whose address is not known. Those that somebody has sent have such codes, or lower ones.
    const SI_KERNEL: libc::c_int = 128;
    const SENT: libc::c_int = libc::SI_USER;

    /// `abort` has blocked nothing, but the signal itself is blocked while it is handled; that ends with the handler.
    fn unblock(context: &mut libc::ucontext_t, signal: libc::c_int) {
        // SAFETY: the mask is part of the context.
        unsafe { libc::sigdelset(&raw mut context.uc_sigmask, signal) };
    }

    fn pass_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
        let Some(before) = SIGNALS.iter().position(|&n| n == signal).and_then(|n| BEFORE[n].get()) else { return };
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
