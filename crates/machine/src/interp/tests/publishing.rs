//! Atomic accesses that make their object one that others can reach, and when a private object was written last.

use super::*;
use crate::Sc;
use crate::memory::Object;

const HEAD: &str = "
    global @x : 8 align 8
    declare @pthread_create(ptr, ptr, ptr, ptr) -> i32
    declare @malloc(i64) -> ptr
    declare @pthread_mutex_lock(ptr) -> i32
    func @idle(a: ptr) -> ptr {
    e:
      ret null
    }
";

/// Runs `main` to its first Op that is no creation of a thread, or to its end.
fn run(body: &str, atomics_publish: bool) -> Sc<Interpreter> {
    let text = format!(
        "{HEAD}func @main() -> i32 {{\ne:\n h = alloca 8 align 8\n n = call @malloc(i64 16)\n store i64 0, n\n \
         m = ptradd n, offset 8\n store ptr n, m\n \
         c = call @pthread_create(ptr h, ptr null, ptr @idle, ptr null)\n{body}\n ret 0\n}}"
    );
    let options = InterpOptions { atomics_publish, ..InterpOptions::default() };
    let mut sc = Sc::start(load_with(&text, options)).map_err(|(stop, _)| stop).unwrap();
    while sc.machine.status(main_thread()) == Status::Ready
        && matches!(sc.machine.pending(main_thread()), Op::Spawn { .. })
    {
        sc.step(main_thread(), 0).map_err(|(_, stop)| stop).unwrap();
    }
    sc
}

/// The access that is pending, if main has not run to its end.
fn pending(sc: &Sc<Interpreter>) -> Option<Access> {
    match (sc.machine.status(main_thread()), sc.machine.pending(main_thread())) {
        (Status::Ready, Op::Access(access)) => Some(*access),
        _ => None,
    }
}

#[test]
fn an_atomic_access_to_a_private_object_is_an_op_if_asked_for() {
    for body in [
        "store i32 1, n, rlx",
        "v = load i32 n, acq",
        "v = load i64 m, sc",
        "v = rmw add i32 n, 1, rlx",
        "o, d = cas i32 n, 0, 1, sc, sc",
        "v = await load i32 n, acq until eq 0",
        "v = call @pthread_mutex_lock(ptr n)",
    ] {
        assert!(pending(&run(body, true)).is_some(), "{body}");
        assert!(pending(&run(body, false)).is_none(), "{body}");
    }
}

#[test]
fn a_plain_access_to_a_private_object_is_nobody_elses_business() {
    assert!(pending(&run("store i32 1, n\n v = load i32 n", true)).is_none());
}

#[test]
fn what_a_published_object_points_to_is_published_too() {
    let body = "k = call @malloc(i64 16)\n store ptr k, m\n v = load i32 n, rlx\n store i32 1, k";
    let mut sc = run(body, true);
    assert!(pending(&sc).is_some());
    sc.step(main_thread(), 0).map_err(|(_, stop)| stop).unwrap();
    let access = pending(&sc).expect("the store to the second object is an Op");
    assert!(!access.order.is_atomic());
}

#[test]
fn publishing_is_undone() {
    let mut sc = run("store i32 1, @x, rlx\n store i32 1, n, rlx", true);
    let heap = |sc: &Sc<Interpreter>| {
        let memory = sc.machine.memory();
        let id = memory.live_objects(crate::memory::ObjectKind::Heap).next().expect("one object was made");
        memory.is_shared(id)
    };
    assert!(!heap(&sc));
    sc.machine.mark();
    sc.machine.resume(main_thread(), 0).unwrap();
    assert!(heap(&sc));
    sc.machine.undo();
    assert!(!heap(&sc));
}

#[test]
fn the_time_of_the_last_private_write_is_kept_and_undone() {
    let object = |sc: &Sc<Interpreter>| -> Object {
        let memory = sc.machine.memory();
        let id = memory.live_objects(crate::memory::ObjectKind::Heap).next().expect("one object was made");
        memory.object(id).clone()
    };
    let body =
        "store i32 1, @x\n store i32 2, n\n store i32 3, @x\n store ptr n, @x\n store i32 4, n\n store i32 5, @x";
    let mut sc = run(body, false);
    assert_eq!(object(&sc).touched, 0);
    sc.machine.mark();
    sc.machine.memory_mut().set_now(7);
    sc.machine.resume(main_thread(), 0).unwrap();
    assert_eq!(object(&sc).touched, 7, "the private write is noted");
    sc.machine.mark();
    sc.machine.memory_mut().set_now(8);
    sc.machine.resume(main_thread(), 0).unwrap();
    assert_eq!(object(&sc).touched, 7, "nothing was written to it");
    sc.machine.memory_mut().set_now(9);
    let address = object(&sc).base;
    sc.machine.memory_mut().publish(address);
    sc.machine.resume(main_thread(), 0).unwrap();
    let access = pending(&sc).expect("the object is shared by now");
    assert_eq!(access.addr, address);
    assert_eq!(object(&sc).touched, 7, "visible writes are the engine's to note");
    sc.machine.undo();
    assert_eq!(object(&sc).touched, 7);
    sc.machine.undo();
    assert_eq!(object(&sc).touched, 0);
}
