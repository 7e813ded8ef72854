//! Awaits, and read-modify-writes whose old value nobody looks at.

use super::*;
use crate::{AccessKind, Cond, Sc};
use selvedge_ir::CmpOp;

const HEAD: &str = "
    global @x : 4 align 4
    declare @pthread_create(ptr, ptr, ptr, ptr) -> i32
    func @idle(a: ptr) -> ptr {
    e:
      ret null
    }
";

/// The first Op of `main` behind the creation of a thread.
pub(super) fn first_op(body: &str) -> Op {
    let text = format!(
        "{HEAD}func @main() -> i32 {{\ne:\n h = alloca 8 align 8\n \
         c = call @pthread_create(ptr h, ptr null, ptr @idle, ptr null)\n{body}\n ret 0\n}}"
    );
    let mut sc = Sc::start(load(&text)).map_err(|(stop, _)| stop).unwrap();
    while matches!(sc.machine.pending(main_thread()), Op::Spawn { .. }) {
        sc.step(main_thread(), 0).map_err(|(_, stop)| stop).unwrap();
    }
    *sc.machine.pending(main_thread())
}

fn alone(body: &str) -> String {
    format!("{HEAD}func @main() -> i32 {{\ne:\n{body}\n}}")
}

#[test]
fn an_await_is_an_access_with_a_condition() {
    let Op::Access(access) = first_op("v = await rmw xchg i32 @x, 7, acq until eq 2 mask 0x3 retry 0") else {
        panic!("it is an access");
    };
    assert_eq!(access.until, Some(Cond { mask: 3, retry: true, ..Cond::new(CmpOp::Eq, 2) }));
    assert_eq!(access.kind, AccessKind::Rmw { op: selvedge_ir::RmwOp::Xchg, operand: 7, used: false });
}

#[test]
fn an_await_whose_condition_holds_is_performed_at_once_by_a_single_thread() {
    let body = " store i32 5, @x
      o, d = await cas i32 @x, 5, 9, sc, sc until eq 5
      v = await load i32 @x, acq until ugt 8
      w = await rmw add i32 @x, 1, sc until ne 0 mask 0x1
      n = load i32 @x
      a = mul i32 o, 100
      b = mul i32 n, 10
      c = add i32 a, b
      z = zext i1 d to i32
      r = add i32 c, z
      ret r";
    assert_eq!(status(&alone(body)), 5 * 100 + 10 * 10 + 1);
}

#[test]
fn a_single_thread_that_waits_spins_forever() {
    let (kind, message) = violation(&alone(" v = await load i32 @x, sc until eq 1 \"x\"\n ret v"));
    assert_eq!(kind, ViolationKind::Livelock);
    assert!(message.contains("`x`"), "{message}");
}

#[test]
fn an_iteration_that_changes_nothing_is_noticed() {
    let text = alone(
        " br l
        l:
          v = load i32 @x, sc
          c = cmp eq i32 v, 0
          condbr c, l, o
        o:
          ret 0",
    );
    let options = InterpOptions { dynamic_purity: true, ..InterpOptions::default() };
    match load_with(&text, options).start() {
        Err(Stop::Violation(violation)) => assert_eq!(violation.kind, ViolationKind::Livelock),
        other => panic!("{other:?}"),
    }
}

/// A cycle that is entered behind its header is not compared with what an earlier call has left.
#[test]
fn an_iteration_that_was_not_noted_is_not_compared() {
    let text = format!(
        "{HEAD}func @cycle(k: i32, n: i32) -> i32 {{
        e:
          c = cmp eq i32 k, 0
          condbr c, head, middle
        head:
          v = load i32 @x, sc
          d = cmp eq i32 v, 0
          condbr d, middle, o
        middle:
          f = cmp eq i32 n, 0
          condbr f, head, o
        o:
          ret k
        }}
        func @main() -> i32 {{
        e:
          store i32 1, @x, sc
          a = call @cycle(i32 0, i32 1)
          b = call @cycle(i32 1, i32 0)
          ret b
        }}"
    );
    let options = InterpOptions { dynamic_purity: true, ..InterpOptions::default() };
    let mut machine = load_with(&text, options);
    machine.start().expect("both calls come to an end");
}

#[test]
fn an_iteration_that_changes_something_is_none_of_that() {
    for change in ["store i32 1, p", "w = rmw add i32 p, 1, sc", "o, d = cas i32 p, 0, 1, sc, sc"] {
        let text = alone(&format!(
            " p = alloca 4 align 4
              store i32 0, p
              br l
            l:
              v = load i32 p
              {change}
              c = cmp eq i32 v, 0
              condbr c, l, o
            o:
              ret v"
        ));
        let options = InterpOptions { dynamic_purity: true, ..InterpOptions::default() };
        let mut machine = load_with(&text, options);
        machine.start().unwrap();
        assert_eq!(machine.exit_status(), Some(1), "{change}");
    }
}

#[test]
fn the_old_value_of_an_update_is_used_if_any_code_needs_it() {
    let used = |body: &str| match first_op(body) {
        Op::Access(access) => matches!(access.kind, AccessKind::Rmw { used: true, .. }),
        other => panic!("{other:?}"),
    };
    assert!(!used("v = rmw add i32 @x, 1, sc"));
    // Computed with, but the result goes nowhere.
    assert!(!used("v = rmw add i32 @x, 1, sc\n w = add i32 v, 1"));
    assert!(used("v = rmw add i32 @x, 1, sc\n w = add i32 v, 1\n store i32 w, @x"));
    assert!(used("v = rmw add i32 @x, 1, sc\n d = cmp eq i32 v, 0\n assume d"));
}
