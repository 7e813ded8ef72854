//! Threads: creating, joining, detaching, ending. POSIX, C11 and the C++ library.
//!
//! A handle is the thread's number plus 1, so that 0 is no thread. It is stored before the thread starts, as the GNU C
//! library does; a new thread may look at it.
//!
//! What may still be done with a thread is a process-wide fact: a set of the bits below. Whoever joins or detaches a
//! thread that was joined or detached already has made a mistake in any order of the two, so the fact needs no Op.
//!
//! When a thread ends, it deletes the state object that a C++ thread runs, calls the destructors of its thread-local
//! C++ objects, newest first, and then those of its thread-specific data (`keys.rs`). The machine calls `pthread_exit`
//! when a start routine returns.

use super::call::{Answer, Call, Pause, int, models};
use super::errno::thrd_status;
use super::facts::{LOCAL_ARGUMENT, LOCAL_DESTRUCTOR, LOCAL_DESTRUCTORS, THREAD, THREAD_STATE};
use super::{Step, attributes, keys};
use crate::{Addr, Op, ThreadId, ViolationKind};
use selvedge_ir::EntityRef;

models! {
    "pthread_create" | "__pthread_create" / 4 => pthread_create,
    "pthread_join" / 2 => pthread_join,
    "pthread_detach" / 1 => |c| detach(c, c.arg(0)),
    "pthread_exit" / 1 => |c| exit(c, c.arg(0)),
    "pthread_self" | "thrd_current" / 0 => |c| Ok(c.thread_index() + 1),
    "pthread_equal" | "thrd_equal" / 2 => |c| Ok(u64::from(c.arg(0) == c.arg(1))),
    "pthread_cancel" / 1 => |c| c.unsupported("cancelling a thread"),
    "pthread_kill" / 2 => |c| c.unsupported("signals"),
    "pthread_tryjoin_np" | "pthread_timedjoin_np" | "pthread_clockjoin_np" / 2 => |c| c.unsupported("joining a thread without waiting for it"),
    "pthread_setcancelstate" | "pthread_setcanceltype" / 2 => set_cancelling,
    "pthread_testcancel" / 0 => |_| Ok(0),
    "__pthread_register_cancel" | "__pthread_unregister_cancel" | "_pthread_cleanup_push" | "_pthread_cleanup_pop" | "__pthread_unwind_next" / 1 => |c| c.unsupported("clean-up handlers of threads"),
    "pthread_atfork" / 3 => |c| c.unsupported("fork"),
    "thrd_create" / 3 => thrd_create,
    "thrd_join" / 2 => thrd_join,
    "thrd_detach" / 1 => |c| detach(c, c.arg(0)).map(thrd_status),
    "thrd_exit" / 1 => |c| exit(c, c.arg(0)),
    "__cxa_thread_atexit" | "__cxa_thread_atexit_impl" / 2 => local_destructor,
    "_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE" / 2 => start_state,
    "_ZNSt6thread4joinEv" / 1 => cxx_join,
    "_ZNSt6thread6detachEv" / 1 => cxx_detach,
    "_ZNSt6thread20hardware_concurrencyEv" / 0 => |_| Ok(2),
    "_ZNSt6thread6_StateD0Ev" | "_ZNSt6thread6_StateD1Ev" | "_ZNSt6thread6_StateD2Ev" / 1 => |_| Ok(0),
}

const EXISTS: u64 = 1;
const DETACHED: u64 = 2;
const JOINED: u64 = 4;

/// Makes a thread and stores its handle.
fn create(call: &mut Call<'_>, handle: Addr, start: Addr, arg: u64, detached: bool) -> Answer {
    let child = call.effect(|host| host.prepare_child(start, arg).map(|child| child.index() as u64))?;
    call.set_shared_fact(THREAD, child, if detached { EXISTS | DETACHED } else { EXISTS })?;
    call.store(handle, 8, child + 1)?;
    call.op(Op::Spawn { child: ThreadId::new(child as usize) })?;
    Ok(child)
}

fn pthread_create(call: &mut Call<'_>) -> Answer {
    let attr = call.ptr(1);
    let detached = attr.0 != 0 && attributes::is_detached(call, attr)?;
    create(call, call.ptr(0), call.ptr(2), call.arg(3), detached)?;
    Ok(0)
}

fn thrd_create(call: &mut Call<'_>) -> Answer {
    create(call, call.ptr(0), call.ptr(1), call.arg(2), false)?;
    Ok(0)
}

/// The number and the state of the thread that a handle means; `what` says what is being done with it.
fn thread_of(call: &mut Call<'_>, handle: u64, what: &str) -> Answer<(u64, u64)> {
    let index = handle.wrapping_sub(1);
    let mut state = call.shared_fact(THREAD, index)?;
    if index == 0 {
        state |= EXISTS; // Nobody has created the main thread.
    }
    let wrong = |why: &str| call.violation(ViolationKind::LockMisuse, format!("a thread is {what}, but {why}"));
    if state & EXISTS == 0 {
        return wrong("the handle means no thread");
    }
    if state & JOINED != 0 {
        return wrong("it has been joined already");
    }
    if state & DETACHED != 0 {
        return wrong("it is detached");
    }
    Ok((index, state))
}

/// Waits for the end of a thread and gives its result.
fn join(call: &mut Call<'_>, handle: u64) -> Answer {
    let (index, _) = thread_of(call, handle, "joined")?;
    if index == call.thread_index() {
        return call.violation(ViolationKind::LockMisuse, "a thread joins itself");
    }
    let thread = ThreadId::new(index as usize);
    call.op(Op::Join { thread })?;
    // Another thread may have joined or detached it meanwhile.
    let (_, state) = thread_of(call, handle, "joined")?;
    call.set_shared_fact(THREAD, index, state | JOINED)?;
    call.effect(|host| Ok(host.thread_result(thread).unwrap_or(0)))
}

fn pthread_join(call: &mut Call<'_>) -> Answer {
    let result = join(call, call.arg(0))?;
    let to = call.ptr(1);
    if to.0 != 0 {
        call.store(to, 8, result)?;
    }
    Ok(0)
}

fn thrd_join(call: &mut Call<'_>) -> Answer {
    let result = join(call, call.arg(0))?;
    let to = call.ptr(1);
    if to.0 != 0 {
        call.store(to, 4, result)?;
    }
    Ok(0)
}

fn detach(call: &mut Call<'_>, handle: u64) -> Answer {
    let (index, state) = thread_of(call, handle, "detached")?;
    call.set_shared_fact(THREAD, index, state | DETACHED)?;
    Ok(0)
}

/// Ends the calling thread.
fn exit(call: &mut Call<'_>, result: u64) -> Answer {
    let me = call.thread_index();
    let state = call.shared_fact(THREAD_STATE, me)?;
    if state != 0 {
        let delete = virtual_function(call, Addr(state), 1)?;
        call.call(delete, &[state])?;
    }
    destroy_locals(call)?;
    keys::destroy_values(call)?;
    Err(Pause::Step(Step::ExitThread(result)))
}

/// Calls the destructors of the thread's C++ objects, newest first; a destructor may register more.
pub(super) fn destroy_locals(call: &mut Call<'_>) -> Answer<()> {
    let (kind, key) = LOCAL_DESTRUCTORS;
    loop {
        let count = call.fact(kind, key)?;
        if count == 0 {
            return Ok(());
        }
        call.set_fact(kind, key, count - 1)?;
        let function = call.fact(LOCAL_DESTRUCTOR, count)?;
        let argument = call.fact(LOCAL_ARGUMENT, count)?;
        call.call(Addr(function), &[argument])?;
    }
}

fn local_destructor(call: &mut Call<'_>) -> Answer {
    let (kind, key) = LOCAL_DESTRUCTORS;
    let count = call.fact(kind, key)? + 1;
    call.set_fact(kind, key, count)?;
    call.set_fact(LOCAL_DESTRUCTOR, count, call.arg(0))?;
    call.set_fact(LOCAL_ARGUMENT, count, call.arg(1))?;
    Ok(0)
}

/// Nobody cancels threads, so it does not matter whether a thread allows it; the old setting is always the default 0.
fn set_cancelling(call: &mut Call<'_>) -> Answer {
    let old = call.ptr(1);
    if old.0 != 0 {
        call.store(old, 4, 0)?;
    }
    Ok(0)
}

/// The n-th virtual function of a C++ object.
fn virtual_function(call: &mut Call<'_>, object: Addr, n: u64) -> Answer<Addr> {
    let table = call.load(object, 8)?;
    call.load(Addr(table).plus(8 * n), 8).map(Addr)
}

/// `std::thread::_M_start_thread(unique_ptr<_State> state, void (*)())`: the new thread runs `state->_M_run()`, the third
/// virtual function behind the two destructors, and deletes the state when it ends.
fn start_state(call: &mut Call<'_>) -> Answer {
    let (thread, owner) = (call.ptr(0), call.ptr(1));
    let state = call.load(owner, 8)?;
    let run = virtual_function(call, Addr(state), 2)?;
    call.store(owner, 8, 0)?;
    let child = call.effect(|host| host.prepare_child(run, state).map(|child| child.index() as u64))?;
    call.set_shared_fact(THREAD, child, EXISTS)?;
    call.set_shared_fact(THREAD_STATE, child, state)?;
    call.store(thread, 8, child + 1)?;
    call.op(Op::Spawn { child: ThreadId::new(child as usize) })?;
    Ok(0)
}

/// The handle in a `std::thread`, which must be joinable.
fn joinable(call: &mut Call<'_>, what: &str) -> Answer {
    match call.load(call.ptr(0), 8)? {
        0 => {
            let message = format!("`std::thread::{what}` throws `std::system_error`: the thread is not joinable");
            call.violation(ViolationKind::Abort, message)
        }
        handle => Ok(handle),
    }
}

fn cxx_join(call: &mut Call<'_>) -> Answer {
    let handle = joinable(call, "join")?;
    join(call, handle)?;
    call.store(call.ptr(0), 8, 0)?;
    Ok(0)
}

fn cxx_detach(call: &mut Call<'_>) -> Answer {
    let handle = joinable(call, "detach")?;
    detach(call, handle)?;
    call.store(call.ptr(0), 8, 0)?;
    Ok(int(0))
}

#[cfg(test)]
mod tests {
    use crate::models::Step;
    use crate::models::testing::Fake;
    use crate::{Addr, Op, ThreadId, ViolationKind};
    use selvedge_ir::EntityRef;

    fn created(host: &mut Fake, attr: u64) -> u64 {
        let handle = host.heap(8);
        assert_eq!(host.call("pthread_create", &[handle.0, attr, 0x7000, 0]), 0);
        host.load(handle, 8)
    }

    #[test]
    fn a_thread_is_created_and_joined_with_its_result() {
        let mut host = Fake::new();
        let handle = created(&mut host, 0);
        let child = ThreadId::new(1);
        host.results.insert(1, 42);
        let result = host.heap(8);
        assert_eq!(host.call("pthread_join", &[handle, result.0]), 0);
        assert_eq!(host.load(result, 8), 42);
        assert_eq!(host.ops, [Op::Spawn { child }, Op::Join { thread: child }]);
        assert_ne!(handle, host.call("pthread_self", &[]));
    }

    #[test]
    fn a_thread_is_joined_or_detached_once() {
        for (first, second) in [("join", "join"), ("join", "detach"), ("detach", "join"), ("detach", "detach")] {
            let mut host = Fake::new();
            let handle = created(&mut host, 0);
            assert_eq!(host.call(&format!("pthread_{first}"), &[handle, 0]), 0);
            let (kind, message) = host.violation(&format!("pthread_{second}"), &[handle, 0]);
            assert_eq!(kind, ViolationKind::LockMisuse, "{message}");
        }
    }

    #[test]
    fn wrong_handles_are_noticed() {
        let mut host = Fake::new();
        let me = host.call("pthread_self", &[]);
        for handle in [0, 77, me] {
            assert_eq!(host.violation("pthread_join", &[handle, 0]).0, ViolationKind::LockMisuse);
        }
        let attr = host.heap(56);
        host.call("pthread_attr_init", &[attr.0]);
        host.call("pthread_attr_setdetachstate", &[attr.0, 1]);
        let detached = created(&mut host, attr.0);
        assert_eq!(host.violation("pthread_join", &[detached, 0]).0, ViolationKind::LockMisuse);
    }

    #[test]
    fn a_cxx_thread_runs_its_state_and_deletes_it() {
        let mut host = Fake::new();
        let (table, state, owner, thread) = (host.heap(24), host.heap(16), host.heap(8), host.heap(8));
        for n in 0..3 {
            host.store(Addr(table.0 + 8 * n), 8, 0x9000 + n);
        }
        host.store(state, 8, table.0);
        host.store(owner, 8, state.0);
        let start = "_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE";
        host.call(start, &[thread.0, owner.0, 0]);
        assert_eq!(host.load(owner, 8), 0, "the new thread owns the state now");
        assert!(host.memory.is_shared(host.memory.find(state).unwrap()));
        let me = host.thread;
        host.thread = ThreadId::new(1);
        assert!(matches!(host.run("pthread_exit", &[0]), Ok(Step::ExitThread(0))));
        assert_eq!(host.calls, [(Addr(0x9001), vec![state.0])]);
        host.thread = me;
        host.call("_ZNSt6thread4joinEv", &[thread.0]);
        assert_eq!(host.violation("_ZNSt6thread4joinEv", &[thread.0]).0, ViolationKind::Abort);
    }

    #[test]
    fn cancelling_is_refused_clearly() {
        let mut host = Fake::new();
        assert!(host.unsupported("pthread_cancel", &[1]).contains("cancel"));
        assert!(host.unsupported("pthread_create", &[1]).contains("1 arguments"));
    }
}
