//! Every pass on small functions in the text form: what goes in, what comes out.

use selvedge_analysis::{
    CallGraph, Frontiers, LoopForest, Options, cleanup, dce, fold, inline, mem2reg, prepare, sroa,
};
use selvedge_ir::print::function_text;
use selvedge_ir::{Block, Cfg, Dominators, EntityRef, FuncId, Function, Module, parse_module, verify_module};

/// What every test may refer to.
const HEAD: &str = "global @x : 4 align 4\ndeclare @use(i32)\ndeclare @take(ptr)\n";

fn module(functions: &str) -> Module {
    let text = format!("{HEAD}{functions}");
    let module = parse_module(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    verify_module(&module).unwrap_or_else(|errors| panic!("{errors}"));
    module
}

/// The function `@f` of a module.
fn f(module: &Module) -> FuncId {
    module.function_named("f").expect("the test defines `@f`")
}

fn same(module: &Module, expected: &str) {
    verify_module(module).unwrap_or_else(|errors| panic!("{errors}"));
    let found = function_text(module, f(module)).to_string();
    let trim = |text: &str| text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
    assert_eq!(trim(&found), trim(expected), "found:\n{found}");
}

/// Runs a pass over `@f` and compares.
fn becomes(pass: fn(&mut Function) -> bool, text: &str, expected: &str) {
    let mut module = module(text);
    let id = f(&module);
    assert!(pass(&mut module.functions[id]), "the pass says that it changed nothing");
    same(&module, expected);
}

/// Runs a pass over `@f`, which must not change it.
fn stays(pass: fn(&mut Function) -> bool, text: &str) {
    let mut module = module(text);
    let id = f(&module);
    let before = module.to_string();
    assert!(!pass(&mut module.functions[id]), "the pass says that it changed something:\n{module}");
    assert_eq!(module.to_string(), before);
}

fn blocks(numbers: &[usize]) -> Vec<Block> {
    numbers.iter().map(|&n| Block::new(n)).collect()
}

// Control flow.

const NESTED: &str = "func @f(c: i1) {
a:
  br outer
outer:
  br inner
inner:
  condbr c, inner2, next
inner2:
  condbr c, inner, out
next:
  condbr c, outer, out
out:
  ret
}";

#[test]
fn dominators_and_frontiers_of_nested_loops() {
    let module = module(NESTED);
    let cfg = Cfg::new(&module.functions[f(&module)]);
    let dominators = Dominators::new(&cfg);
    let bb = Block::new;
    let immediate: Vec<Option<Block>> = cfg.blocks().map(|block| dominators.immediate(block)).collect();
    assert_eq!(immediate, [None, Some(bb(0)), Some(bb(1)), Some(bb(2)), Some(bb(2)), Some(bb(2))]);
    assert!(dominators.dominates(bb(1), bb(5)) && !dominators.dominates(bb(3), bb(5)));
    assert!(dominators.dominates(bb(2), bb(2)) && !dominators.strictly_dominates(bb(2), bb(2)));
    let frontiers = Frontiers::new(&cfg, &dominators);
    assert_eq!(frontiers.of(bb(3)), blocks(&[2, 5]));
    assert_eq!(frontiers.of(bb(1)), blocks(&[1]));
    assert_eq!(frontiers.iterated([bb(3)]), blocks(&[2, 5, 1]));
}

#[test]
fn nested_loops_are_found_with_latches_exits_and_parents() {
    let module = module(NESTED);
    let forest = LoopForest::of(&module.functions[f(&module)]);
    let loops: Vec<_> = forest.loops.iter().collect();
    assert_eq!(loops.len(), 2);
    let (outer, inner) = (loops[0], loops[1]);
    assert_eq!(
        (outer.1.header, &outer.1.blocks, &outer.1.latches),
        (Block::new(1), &blocks(&[1, 2, 3, 4]), &blocks(&[4]))
    );
    assert_eq!((inner.1.header, &inner.1.blocks, &inner.1.latches), (Block::new(2), &blocks(&[2, 3]), &blocks(&[3])));
    assert_eq!(inner.1.parent, Some(outer.0));
    let (bb2, bb3, bb4, bb5) = (Block::new(2), Block::new(3), Block::new(4), Block::new(5));
    assert_eq!(inner.1.exits, [(bb2, bb4), (bb3, bb5)]);
    assert_eq!(outer.1.exits, [(bb3, bb5), (bb4, bb5)]);
    assert_eq!((forest.depth(bb3), forest.depth(bb4), forest.depth(bb5)), (2, 1, 0));
    assert!(forest.irreducible.is_empty());
}

#[test]
fn a_loop_with_two_entries_is_reported_as_irreducible() {
    let text = "func @f(c: i1) {\ns:\n condbr c, a, b\na:\n br b\nb:\n condbr c, a, end\nend:\n ret\n}";
    let module = module(text);
    let forest = LoopForest::of(&module.functions[f(&module)]);
    assert!(forest.loops.is_empty());
    assert_eq!(forest.irreducible.len(), 1);
}

#[test]
fn the_call_graph_knows_recursion_and_addresses() {
    let module = module(
        "global @table : 8 relocs [0: @c]
        func @a() {
        e:
          call @b()
          call *@d()
          ret
        }
        func @b() {
        e:
          call @a()
          call @c()
          call @take(ptr null)
          ret
        }
        func @c() {
        e:
          ret
        }
        func @d() {
        e:
          call @d()
          ret
        }",
    );
    let id = |name: &str| module.function_named(name).expect("the function exists");
    let (a, b, c, d) = (id("a"), id("b"), id("c"), id("d"));
    let graph = CallGraph::new(&module);
    assert_eq!(graph.callees(b), [a, c, id("take")]);
    assert_eq!([a, b, c, d].map(|id| graph.is_recursive(id)), [true, true, false, true]);
    assert_eq!([a, b, c, d].map(|id| graph.is_address_taken(id)), [false, false, true, true]);
    assert_eq!([a, b, c, d].map(|id| graph.calls_through_pointers(id)), [true, false, false, false]);
    let order: Vec<FuncId> = graph.bottom_up().collect();
    let place = |id| order.iter().position(|&other| other == id).expect("every function is listed");
    assert_eq!(order.len(), module.functions.len());
    assert!(place(c) < place(b) && place(id("take")) < place(b));
}

// SSA construction.

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

// Splitting of objects.

#[test]
fn a_struct_is_split_into_its_members() {
    becomes(
        sroa::run,
        r#"func @f(p: ptr) -> i32 {
        bb0:
          s = alloca 24 align 8 "s"
          memset s, 0, 24
          next = ptradd s, offset 8
          store ptr p, next
          len = ptradd s, 4 * 4
          v = load i32 len
          ret v
        }"#,
        r#"func @f(v0 "p": ptr) -> i32 {
        bb0:
          v5: ptr = alloca 8 align 8 "s+8"
          v6: ptr = alloca 4 align 8 "s+16"
          store ptr null, v5
          store i32 0, v6
          store ptr v0, v5
          v4 "v": i32 = load i32 v6
          ret v4
        }"#,
    );
}

#[test]
fn members_that_overlap_stay_together() {
    becomes(
        sroa::run,
        r#"func @f(p: i32) -> i16 {
        bb0:
          u = alloca 16 align 8 "u"
          store i32 p, u
          high = ptradd u, offset 2
          v = load i16 high
          other = ptradd u, offset 12
          store i8 1, other
          ret v
        }"#,
        r#"func @f(v0 "p": i32) -> i16 {
        bb0:
          v5: ptr = alloca 4 align 8 "u+0"
          v6: ptr = alloca 1 align 4 "u+12"
          store i32 v0, v5
          v7: ptr = ptradd v5, offset 2
          v3 "v": i16 = load i16 v7
          store i8 1, v6
          ret v3
        }"#,
    );
}

#[test]
fn a_fill_that_covers_part_of_a_member_prevents_splitting() {
    let text = "func @f() -> i32 {\nbb0:\n s = alloca 8 align 4\n memset s, 0, 6\n b = ptradd s, offset 4\n \
                v = load i32 b\n ret v\n}";
    stays(sroa::run, text);
}

#[test]
fn a_fill_of_bytes_that_are_read_in_different_ways_prevents_splitting() {
    let text = "func @f() -> i32 {\nbb0:\n s = alloca 8 align 4\n memset s, 0, 8\n v = load i32 s\n w = load i16 s\n \
                b = ptradd s, offset 4\n x = load i32 b\n ret v\n}";
    stays(sroa::run, text);
}

// Folding and dead code.

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

// Clean-up.

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

// Inlining.

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

// All together.

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
