//! Inlining.

use super::*;

const WRAPPER: &str = r#"
func @get(p: ptr, add: i1) -> i32 {
bb0:
  v = load i32 p, acq !"get.h":3:1
  condbr add, bb1, bb2
bb1:
  w = add i32 v, 1
  ret w
bb2:
  ret v
}
"#;

#[test]
fn a_wrapper_in_a_loop_is_inlined_with_positions() {
    let caller = r#"
        func @f(c: i1) -> i32 {
        bb0:
          br loop
        loop:
          r = call @get(ptr @x, i1 c) !"main.c":7:2
          again = cmp eq i32 r, 0
          condbr again, loop, end
        end:
          ret r
        }"#;
    let mut module = module(&format!("{WRAPPER}{caller}"));
    let graph = CallGraph::new(&module);
    let id = f(&module);
    assert!(inline::run(&mut module, id, &graph, &inline::Limits::default()));
    cleanup::run(&mut module.functions[id]);
    same(
        &module,
        r#"func @f(v0 "c": i1) -> i32 {
        bb0:
          br bb1
        bb1 "loop":
          v3 "v": i32 = load i32 @x, acq !loc3
          condbr v0, bb2, bb3 !loc2
        bb2:
          v4 "w": i32 = add i32 v3, 1 !loc2
          br bb3 !loc2
        bb3:
          v1 "r": i32 = phi i32 [bb2: v4], [bb1: v3] !loc2
          v2 "again": i1 = cmp eq i32 v1, 0
          condbr v2, bb1, bb4
        bb4 "end":
          ret v1
        }"#,
    );
    let text = module.to_string();
    assert!(text.contains("loc loc3 = file0 3:1 at loc2"), "{text}");
}

#[test]
fn accesses_through_a_pointer_to_a_global_are_named_after_the_global() {
    let text = r#"
        func @get(p: ptr, q: ptr) -> i32 {
        bb0:
          v = load i32 p "*p"
          w = load i32 q "q->next[1]"
          u = load i32 q "*p2"
          ret v
        }
        func @f() -> i32 {
        bb0:
          r = call @get(ptr @x, ptr @x)
          ret r
        }"#;
    let mut module = module(text);
    let graph = CallGraph::new(&module);
    let id = f(&module);
    assert!(inline::run(&mut module, id, &graph, &inline::Limits::default()));
    let text = function_text(&module, id).to_string();
    for path in ["\"x\"", "\"x.next[1]\"", "\"*p2\""] {
        assert!(text.contains(&format!("load i32 @x {path}")), "{path}: {text}");
    }
}

#[test]
fn a_large_function_is_inlined_if_its_constant_arguments_make_it_small() {
    let stores: String = (0..70).map(|n| format!("  store i32 {n}, @x\n")).collect();
    let large = format!(
        "func @large(order: i32) -> i32 {{\nbb0:\n switch i32 order [5: bb1] else bb2\n\
         bb1:\n v = load i32 @x, sc\n ret v\nbb2:\n{stores} ret 0\n}}\n"
    );
    let caller = |order: &str| {
        format!(
            "{large}func @f(n: i32) {{\nbb0:\n br bb1\nbb1:\n r = call @large(i32 {order})\n \
             c = cmp eq i32 r, 0\n condbr c, bb1, bb2\nbb2:\n ret\n}}"
        )
    };
    for (order, inlined) in [("5", true), ("4", false), ("n", false)] {
        let mut module = module(&caller(order));
        let graph = CallGraph::new(&module);
        let id = f(&module);
        assert_eq!(inline::run(&mut module, id, &graph, &inline::Limits::default()), inlined, "{order}");
        verify_module(&module).expect("inlining keeps the rules");
        cleanup::run(&mut module.functions[id]);
        assert_eq!(function_text(&module, id).to_string().contains("load i32 @x, sc"), inlined, "{order}");
    }
}

#[test]
fn functions_with_objects_recursion_or_a_meaning_are_not_inlined() {
    let call = |name: &str| format!("func @f() {{\nbb0:\n br bb1\nbb1:\n call @{name}()\n br bb1\n}}\n");
    let bodies = [
        ("o", "func @o() {\nbb0:\n p = alloca 4 align 4\n call @take(ptr p)\n ret\n}"),
        ("r", "func @r() {\nbb0:\n call @r()\n ret\n}"),
        ("__VERIFIER_atomic_inc", "func @__VERIFIER_atomic_inc() {\nbb0:\n store i32 1, @x\n ret\n}"),
        ("kept", "func @kept() {\nbb0:\n ret\n}"),
        ("v", "func @v(...) {\nbb0:\n ret\n}"),
    ];
    let mut limits = inline::Limits::default();
    limits.keep.insert("kept".to_owned());
    for (name, body) in bodies {
        let mut module = module(&format!("{body}\n{}", call(name)));
        let graph = CallGraph::new(&module);
        let id = f(&module);
        assert!(!inline::run(&mut module, id, &graph, &limits), "{name}");
    }
}

#[test]
fn a_callee_that_never_returns_leaves_no_way_on() {
    let text = "func @spin() -> i32 {\nbb0:\n br bb1\nbb1:\n v = load i32 @x, sc\n br bb1\n}\n\
                func @f() -> i32 {\nbb0:\n r = call @spin()\n call @use(i32 r)\n ret r\n}";
    let mut module = module(text);
    let graph = CallGraph::new(&module);
    let id = f(&module);
    assert!(inline::run(&mut module, id, &graph, &inline::Limits::default()));
    verify_module(&module).expect("inlining keeps the rules");
    cleanup::run(&mut module.functions[id]);
    same(&module, "func @f() -> i32 {\nbb0:\n br bb1\nbb1:\n v1 \"v\": i32 = load i32 @x, sc\n br bb1\n}");
}
