//! Clean-up.

use super::*;

#[test]
fn decided_branches_and_straight_lines_disappear() {
    becomes(
        cleanup::run,
        "func @f(v0: i32) -> i32 {
        bb0:
          condbr true, bb1, bb2
        bb1:
          switch i32 3 [1: bb2, 3: bb3] else bb4
        bb2:
          br bb5
        bb3:
          call @use(i32 1)
          br bb5
        bb4:
          unreachable
        bb5:
          v1 = phi i32 [bb2: 1], [bb3: v0]
          ret v1
        }",
        "func @f(v0: i32) -> i32 {
        bb0:
          call @use(i32 1)
          ret v0
        }",
    );
}

#[test]
fn a_short_circuit_becomes_direct_branches() {
    becomes(
        cleanup::run,
        "func @f(a: i1, b: i1) {
        bb0:
          br head
        head:
          condbr a, rhs, end
        rhs:
          t = load i32 @x
          d = cmp eq i32 t, 0
          br end
        end:
          c = phi i1 [head: false], [rhs: d]
          condbr c, body, exit
        body:
          call @use(i32 1)
          br head
        exit:
          ret
        }",
        r#"func @f(v0 "a": i1, v1 "b": i1) {
        bb0:
          br bb1
        bb1 "head":
          condbr v0, bb2, bb4
        bb2 "rhs":
          v2 "t": i32 = load i32 @x
          v3 "d": i1 = cmp eq i32 v2, 0
          condbr v3, bb3, bb4
        bb3 "body":
          call @use(i32 1)
          br bb1
        bb4 "exit":
          ret
        }"#,
    );
}

#[test]
fn the_two_branches_of_a_compare_and_exchange_become_one() {
    becomes(
        cleanup::run,
        "func @f() -> i32 {
        bb0:
          first = load i32 @x, rlx
          br loop
        loop:
          old = phi i32 [bb0: first], [join: next]
          new = add i32 old, 1
          found, ok = cas i32 @x, old, new, sc, rlx
          condbr ok, join, fail
        fail:
          call @use(i32 1)
          br join
        join:
          next = phi i32 [loop: old], [fail: found]
          condbr ok, end, loop
        end:
          ret next
        }",
        r#"func @f() -> i32 {
        bb0:
          v0 "first": i32 = load i32 @x, rlx
          br bb1
        bb1 "loop":
          v1 "old": i32 = phi i32 [bb0: v0], [bb3: v3]
          v2 "new": i32 = add i32 v1, 1
          v3 "found": i32, v4 "ok": i1 = cas i32 @x, v1, v2, sc, rlx
          condbr v4, bb2, bb3
        bb2 "end":
          ret v1
        bb3 "fail":
          call @use(i32 1)
          br bb1
        }"#,
    );
}

#[test]
fn a_join_stays_if_what_it_joins_is_used_behind_both_branches() {
    stays(
        cleanup::run,
        "func @f(v0: i1) -> i32 {
        bb0:
          condbr v0, bb1, bb2
        bb1:
          call @use(i32 1)
          br bb3
        bb2:
          call @use(i32 2)
          br bb3
        bb3:
          v1 = phi i32 [bb1: 1], [bb2: 2]
          condbr v0, bb4, bb5
        bb4:
          call @use(i32 3)
          br bb6
        bb5:
          call @use(i32 4)
          br bb6
        bb6:
          ret v1
        }",
    );
}

#[test]
fn phis_keep_two_ways_apart() {
    becomes(
        cleanup::run,
        "func @f(c: i1) -> i32 {
        bb0:
          condbr c, bb1, bb2
        bb1:
          br bb3
        bb2:
          br bb3
        bb3:
          v = phi i32 [bb1: 1], [bb2: 2]
          ret v
        }",
        r#"func @f(v0 "c": i1) -> i32 {
        bb0:
          condbr v0, bb2, bb1
        bb1:
          br bb2
        bb2:
          v1 "v": i32 = phi i32 [bb1: 2], [bb0: 1]
          ret v1
        }"#,
    );
}

#[test]
fn a_latch_for_several_continues_stays_and_so_does_an_outer_header() {
    stays(
        cleanup::run,
        "func @f(v0: i1, v1: i1) {
        bb0:
          br bb1
        bb1:
          condbr v0, bb2, bb4
        bb2:
          call @use(i32 1)
          condbr v1, bb5, bb3
        bb3:
          ret
        bb4:
          call @use(i32 2)
          br bb5
        bb5:
          br bb1
        }",
    );
    stays(
        cleanup::run,
        "func @f(v0: i1, v1: i1) {
        bb0:
          br bb1
        bb1:
          br bb2
        bb2:
          call @use(i32 1)
          condbr v0, bb2, bb3
        bb3:
          condbr v1, bb1, bb4
        bb4:
          ret
        }",
    );
}

#[test]
fn an_endless_loop_without_work_stays_endless() {
    becomes(
        cleanup::run,
        "func @f() {\nbb0:\n br bb1\nbb1:\n br bb2\nbb2:\n br bb1\n}",
        "func @f() {\nbb0:\n br bb1\nbb1:\n br bb1\n}",
    );
}
