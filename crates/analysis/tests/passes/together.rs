//! All together.

use super::*;

#[test]
fn what_a_compiler_makes_of_a_spin_loop_becomes_a_spin_loop() {
    // int r; do { r = atomic_load(&x); } while (r != 1 && !stop(&local)); return r;
    let mut module = module(
        r#"
        func @stop(p: ptr) -> i8 {
        bb0:
          p.addr = alloca 8 align 8 "p"
          store ptr p, p.addr
          q = load ptr p.addr
          v = load i32 q
          c = cmp sgt i32 v, 3
          z = zext i1 c to i8
          ret z
        }
        func @f() -> i32 {
        entry:
          r = alloca 4 align 4 "r"
          local = alloca 4 align 4 "local"
          store i32 0, local
          br body
        body:
          l = load i32 @x, sc
          store i32 l, r
          n = load i32 local
          n1 = add i32 n, 1
          store i32 n1, local
          br cond
        cond:
          v = load i32 r
          ne = cmp ne i32 v, 1
          condbr ne, rhs, end
        rhs:
          s = call @stop(ptr local)
          t = trunc i8 s to i1
          not = xor i1 t, true
          br end
        end:
          both = phi i1 [cond: false], [rhs: not]
          condbr both, body, done
        done:
          res = load i32 r
          ret res
        }"#,
    );
    prepare(&mut module, &Options { verify: true, ..Options::default() }).expect("the passes keep the rules");
    same(
        &module,
        r#"func @f() -> i32 {
        bb0 "entry":
          br bb1
        bb1 "body":
          v0 "local": i32 = phi i32 [bb0: 0], [bb2: v2]
          v1 "l": i32 = load i32 @x, sc
          v2 "n1": i32 = add i32 v0, 1
          v3 "ne": i1 = cmp ne i32 v1, 1
          condbr v3, bb2, bb3
        bb2 "rhs":
          v4 "c": i1 = cmp sgt i32 v2, 3
          condbr v4, bb3, bb1
        bb3 "done":
          ret v1
        }"#,
    );
}

#[test]
fn a_broken_module_is_refused_before_any_pass() {
    let mut module = parse_module("func @f() -> i32 {\nbb0:\n ret\n}").expect("the text is right");
    let error = prepare(&mut module, &Options::default()).expect_err("`ret` needs a value");
    assert_eq!(
        error.to_string(),
        "the program is not well-formed: @f, bb0, `ret`: 0 values are returned where 1 are needed"
    );
}
