//! SSA construction.

use super::*;

#[test]
fn a_variable_of_a_loop_becomes_a_phi() {
    becomes(
        mem2reg::run,
        r#"func @f(n: i32) -> i32 {
        bb0:
          i = alloca 4 align 4 "i"
          store i32 0, i
          br bb1
        bb1:
          v = load i32 i
          c = cmp slt i32 v, n
          condbr c, bb2, bb3
        bb2:
          w = load i32 i
          w1 = add i32 w, 1
          store i32 w1, i
          br bb1
        bb3:
          r = load i32 i
          ret r
        }"#,
        r#"func @f(v0 "n": i32) -> i32 {
        bb0:
          br bb1
        bb1:
          v7 "i": i32 = phi i32 [bb0: 0], [bb2: v5]
          v3 "c": i1 = cmp slt i32 v7, v0
          condbr v3, bb2, bb3
        bb2:
          v5 "w1": i32 = add i32 v7, 1
          br bb1
        bb3:
          ret v7
        }"#,
    );
}

#[test]
fn no_phi_stands_where_the_variable_is_dead() {
    becomes(
        mem2reg::run,
        "func @f(c: i1) {
        bb0:
          t = alloca 4 align 4
          condbr c, bb1, bb2
        bb1:
          store i32 1, t
          v = load i32 t
          call @use(i32 v)
          br bb3
        bb2:
          store i32 2, t
          br bb3
        bb3:
          ret
        }",
        r#"func @f(v0 "c": i1) {
        bb0:
          condbr v0, bb1, bb2
        bb1:
          call @use(i32 1)
          br bb3
        bb2:
          br bb3
        bb3:
          ret
        }"#,
    );
}

#[test]
fn a_variable_that_may_be_read_uninitialised_stays_in_memory() {
    // On the path through `skip`.
    stays(
        mem2reg::run,
        "func @f(c: i1) -> i32 {
        bb0:
          t = alloca 4 align 4
          condbr c, set, skip
        set:
          store i32 1, t
          br skip
        skip:
          v = load i32 t
          ret v
        }",
    );
    // In the first iteration only.
    stays(
        mem2reg::run,
        "func @f(c: i1) -> i32 {
        bb0:
          t = alloca 4 align 4
          br loop
        loop:
          v = load i32 t
          store i32 1, t
          condbr c, loop, end
        end:
          ret v
        }",
    );
}

#[test]
fn an_alloca_in_a_loop_makes_a_new_variable_each_time() {
    // The second iteration would read what the first one stored, but that was another object.
    stays(
        mem2reg::run,
        "func @f(c: i1) -> i32 {
        bb0:
          br loop
        loop:
          t = alloca 4 align 4
          condbr c, read, write
        read:
          v = load i32 t
          ret v
        write:
          store i32 1, t
          br loop
        }",
    );
    becomes(
        mem2reg::run,
        "func @f(c: i1) {
        bb0:
          br loop
        loop:
          t = alloca 4 align 4
          v = load i32 @x
          store i32 v, t
          condbr c, loop, end
        end:
          w = load i32 t
          call @use(i32 w)
          ret
        }",
        r#"func @f(v0 "c": i1) {
        bb0:
          br bb1
        bb1 "loop":
          v2 "v": i32 = load i32 @x
          condbr v0, bb1, bb2
        bb2 "end":
          call @use(i32 v2)
          ret
        }"#,
    );
}

#[test]
fn objects_that_others_may_see_stay_in_memory() {
    let with = |line: &str| {
        format!(
            "func @f(n: i64, c: i1) {{\nbb0:\n t = alloca 4 align 4\n store i32 1, t\n {line}\n v = load i32 t\n \
             call @use(i32 v)\n ret\n}}"
        )
    };
    let reasons = [
        "call @take(ptr t)",
        "store ptr t, @x",
        "store ptr t, t",
        "w = load i32 t volatile",
        "w = load i32 t, rlx",
        "w = load i64 t",
        "w = load i16 t",
        "rmw add i32 t, 1, sc",
        "q = ptradd t, n * 4",
        "q = ptradd t, offset 8",
        "q = select ptr c, t, @x",
        "q = cmp eq ptr t, @x",
        "q = ptrtoint ptr t to i64",
        "memcpy t, @x, 4",
        "memset t, 0, 8",
        "memset t, 0, n",
    ];
    for reason in reasons {
        stays(mem2reg::run, &with(reason));
        stays(sroa::run, &with(reason));
    }
}

#[test]
fn a_stored_value_that_was_itself_loaded_is_followed() {
    becomes(
        mem2reg::run,
        "func @f(p: i32) -> i32 {
        bb0:
          a = alloca 4 align 4
          b = alloca 4 align 4
          store i32 p, a
          v = load i32 a
          store i32 v, b
          w = load i32 b
          store i32 w, a
          r = load i32 a
          ret r
        }",
        "func @f(v0 \"p\": i32) -> i32 {\nbb0:\nret v0\n}",
    );
}

#[test]
fn a_pointer_that_is_moved_as_an_integer_stays_a_pointer() {
    becomes(
        mem2reg::run,
        "func @f(c: i1) -> ptr {
        bb0:
          t = alloca 8 align 8
          store ptr @x, t
          br loop
        loop:
          p = load ptr t
          call @take(ptr p)
          i = load i64 t
          store i64 i, t
          condbr c, loop, end
        end:
          d = load f64 t
          r = load ptr t
          ret r
        }",
        r#"func @f(v0 "c": i1) -> ptr {
        bb0:
          br bb1
        bb1 "loop":
          v9: ptr = phi ptr [bb0: @x], [bb1: v7]
          call @take(ptr v9)
          v3 "i": i64 = ptrtoint ptr v9 to i64
          v7: ptr = inttoptr i64 v3 to ptr
          condbr v0, bb1, bb2
        bb2 "end":
          v4 "d": f64 = bitcast ptr v7 to f64
          ret v7
        }"#,
    );
}

#[test]
fn swapping_in_a_loop_keeps_both_values_apart() {
    becomes(
        mem2reg::run,
        "func @f(c: i1) -> i32 {
        bb0:
          a = alloca 4 align 4
          b = alloca 4 align 4
          store i32 1, a
          store i32 2, b
          br loop
        loop:
          u = load i32 a
          v = load i32 b
          store i32 v, a
          store i32 u, b
          condbr c, loop, end
        end:
          r = load i32 a
          ret r
        }",
        r#"func @f(v0 "c": i1) -> i32 {
        bb0:
          br bb1
        bb1 "loop":
          v6: i32 = phi i32 [bb0: 1], [bb1: v7]
          v7: i32 = phi i32 [bb0: 2], [bb1: v6]
          condbr v0, bb1, bb2
        bb2 "end":
          ret v7
        }"#,
    );
}
