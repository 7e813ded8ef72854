//! Folding and dead code.

use super::*;

#[test]
fn constants_and_identities_are_folded() {
    becomes(
        fold::run,
        "func @f(v0: i32, v1: ptr) -> i32 {
        bb0:
          v2 = add i32 2, 3
          v3 = mul i32 v0, 1
          v4 = sub i32 v3, v3
          v5 = cmp slt i32 7, v0
          v6 = zext i1 v5 to i32
          v7 = cmp ne i32 v6, 0
          v8 = zext i1 v7 to i8
          v9 = trunc i8 v8 to i1
          v10 = xor i1 v9, true
          v11 = ptradd v1, 2 * 8 + 4
          v12 = ptradd v11, offset -20
          v13 = ptradd @x, 3 * 4
          store i32 v2, v13
          v14, v15 = sadd_overflow i32 2147483647, 1
          v16 = select i32 v15, v14, v4
          store i32 v16, v12
          assume true
          condbr v10, bb1, bb2
        bb1:
          ret v2
        bb2:
          ret v0
        }",
        "func @f(v0: i32, v1: ptr) -> i32 {
        bb0:
          v5: i1 = cmp sgt i32 v0, 7
          v6: i32 = zext i1 v5 to i32
          v8: i8 = zext i1 v5 to i8
          v10: i1 = cmp sle i32 v0, 7
          v11: ptr = ptradd v1, offset 20
          store i32 5, @x+12
          store i32 -2147483648, v1
          condbr v10, bb1, bb2
        bb1:
          ret 5
        bb2:
          ret v0
        }",
    );
}

#[test]
fn a_division_that_fails_is_left_to_the_machine() {
    stays(fold::run, "func @f() -> i32 {\nbb0:\n v0 = sdiv i32 1, 0\n ret v0\n}");
    stays(dce::run, "func @f(v0: i32) {\nbb0:\n v1 = sdiv i32 1, v0\n v2 = srem i32 v0, -1\n ret\n}");
}

#[test]
fn dead_computations_go_and_events_stay() {
    becomes(
        dce::run,
        "func @f(v0: i32) {
        bb0:
          v1 = alloca 4 align 4
          v2 = alloca 5000000 align 4
          v3 = load i32 @x
          v4 = add i32 v3, 1
          v5 = udiv i32 v4, 3
          rmw add i32 @x, 1, sc
          br bb1
        bb1:
          v7 = phi i32 [bb0: 1], [bb1: v8]
          v8 = add i32 v7, 1
          v9 = cmp eq i32 v0, 0
          condbr v9, bb1, bb2
        bb2:
          ret
        }",
        "func @f(v0: i32) {
        bb0:
          v2: ptr = alloca 5000000 align 4
          v3: i32 = load i32 @x
          v6: i32 = rmw add i32 @x, 1, sc
          br bb1
        bb1:
          v9: i1 = cmp eq i32 v0, 0
          condbr v9, bb1, bb2
        bb2:
          ret
        }",
    );
}
