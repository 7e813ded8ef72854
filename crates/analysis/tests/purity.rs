//! The elimination of pure iterations, on small functions in the text form: what goes in, what comes out.

use selvedge_analysis::purity::{self, LoopReport, Outcome};
use selvedge_analysis::{cleanup, compact, dce, fold};
use selvedge_ir::print::function_text;
use selvedge_ir::{Module, parse_module, verify_module};

const HEAD: &str = "global @x : 4 align 4\nglobal @y : 4 align 4\nglobal @z : 4 align 4\n\
                    declare @use(i32)\ndeclare @sched_yield() -> i32\n";

/// Runs the elimination over `@f`, and the clean-up that follows it.
fn eliminated(text: &str, awaits: bool) -> (Module, Vec<LoopReport>) {
    let text = format!("{HEAD}{text}");
    let mut module = parse_module(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    verify_module(&module).unwrap_or_else(|errors| panic!("{errors}"));
    let id = module.function_named("f").expect("the test defines `@f`");
    let reports = purity::run(&mut module, id, awaits);
    verify_module(&module).unwrap_or_else(|errors| panic!("{errors}\n{module}"));
    let func = &mut module.functions[id];
    fold::run(func);
    dce::run(func);
    cleanup::run(func);
    compact::run(func);
    verify_module(&module).unwrap_or_else(|errors| panic!("{errors}\n{module}"));
    (module, reports)
}

/// What `@f` becomes.
fn becomes(text: &str, awaits: bool, expected: &str) {
    let (module, _) = eliminated(text, awaits);
    let id = module.function_named("f").expect("`@f` is still there");
    let found = function_text(&module, id).to_string();
    let trim = |text: &str| text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
    assert_eq!(trim(&found), trim(expected), "found:\n{found}");
}

/// What becomes of the loops of `@f`, inner loops first.
fn outcomes(text: &str) -> Vec<Outcome> {
    eliminated(text, true).1.into_iter().map(|report| report.outcome).collect()
}

fn left_alone(text: &str, reason: &str) {
    match outcomes(text).as_slice() {
        [Outcome::LeftAlone(reasons)] => assert!(reasons.iter().any(|r| r.contains(reason)), "{reasons:?}"),
        other => panic!("{other:?}"),
    }
}

const SPIN: &str = "func @f() {
a:
  br loop
loop:
  v: i32 = load i32 @x, sc \"x\"
  c: i1 = cmp ne i32 v, 1
  condbr c, loop, out
out:
  ret
}";

/// Fig. 2 of the paper.
#[test]
fn a_spin_loop_becomes_an_assumption_or_an_await() {
    becomes(
        SPIN,
        false,
        "func @f() {
        bb0 \"a\":
          v0: i64 = iteration
          v1 \"v\": i32 = load i32 @x, sc \"x\"
          v2: i1 = cmp eq i32 v1, 1
          assume v2 pure v0
          ret
        }",
    );
    becomes(
        SPIN,
        true,
        "func @f() {
        bb0 \"a\":
          v0 \"v\": i32 = await load i32 @x, sc until eq 1 \"x\"
          ret
        }",
    );
}

/// Fig. 6 of the paper: `a >= 4` goes round, `a == 4` writes on the way.
#[test]
fn only_the_pure_path_is_cut_off() {
    let text = "func @f() {
    s:
      br loop
    loop:
      a: i32 = load i32 @x, sc \"x\"
      b: i32 = load i32 @y, sc \"y\"
      four: i1 = cmp eq i32 a, 4
      condbr four, write, join
    write:
      store i32 b, @z, sc \"z\"
      br join
    join:
      again: i1 = cmp sge i32 a, 4
      condbr again, loop, out
    out:
      ret
    }";
    let (_, reports) = eliminated(text, true);
    assert_eq!(reports[0].outcome, Outcome::Pure("x > 4".to_owned()));
    let (module, _) = eliminated(text, true);
    let id = module.function_named("f").expect("it is there");
    let found = function_text(&module, id).to_string();
    assert!(found.contains("await load i32 @x, sc until sle 4 \"x\""), "{found}");
}

#[test]
fn bounds_are_not_weakened() {
    let text = "func @f() {
    s:
      br loop
    loop:
      v: i32 = load i32 @x, sc \"x\"
      three: i1 = cmp ult i32 v, 3
      condbr three, next, out
    next:
      five: i1 = cmp ult i32 v, 5
      condbr five, loop, out
    out:
      ret
    }";
    assert_eq!(outcomes(text), [Outcome::Pure("x < 3".to_owned())]);
}

#[test]
fn a_counter_makes_an_iteration_impure() {
    let text = "func @f() -> i32 {
    s:
      br loop
    loop:
      n \"n\": i32 = phi i32 [s: 0], [loop: m]
      m: i32 = add i32 n, 1
      v: i32 = load i32 @x, sc \"x\"
      c: i1 = cmp ne i32 v, 1
      condbr c, loop, out
    out:
      ret n
    }";
    left_alone(text, "n changes");
}

#[test]
fn stores_and_calls_make_an_iteration_impure() {
    let with = |line: &str| {
        format!(
            "func @f() {{\ns:\n br loop\nloop:\n v: i32 = load i32 @x, sc\n {line}\n c: i1 = cmp ne i32 v, 1\n \
             condbr c, loop, out\nout:\n ret\n}}"
        )
    };
    left_alone(&with("store i32 1, @y, sc \"y\""), "y is written");
    left_alone(&with("call @use(i32 1)"), "use is called");
    left_alone(&with("w: i32 = rmw add i32 @y, 1, sc \"y\""), "y is changed");
    assert_eq!(outcomes(&with("w: i32 = rmw add i32 @y, 0, sc \"y\"")).len(), 1);
    for pure in ["w: i32 = rmw or i32 @y, 0, sc", "w: i32 = rmw and i32 @y, -1, sc", "w: i32 = call @sched_yield()"] {
        assert!(matches!(outcomes(&with(pure)).as_slice(), [Outcome::Pure(_)]), "{pure}");
    }
}

/// The Michael-Scott queue compares loaded pointers with each other.
#[test]
fn a_variable_that_is_carried_round_adds_a_comparison() {
    let text = "func @f() {
    s:
      first: i32 = load i32 @x, sc \"x\"
      br loop
    loop:
      old \"old\": i32 = phi i32 [s: first], [next: now]
      done: i32 = load i32 @y, sc \"y\"
      stop: i1 = cmp eq i32 done, 1
      condbr stop, out, next
    next:
      now: i32 = load i32 @x, sc \"x\"
      br loop
    out:
      call @use(i32 old)
      ret
    }";
    assert_eq!(outcomes(text), [Outcome::Pure("y != 1 and x == old".to_owned())]);
}

#[test]
fn a_compare_and_exchange_that_carries_what_it_observed_is_never_pure() {
    let text = "func @f() {
    s:
      first: i32 = load i32 @x, sc
      br loop
    loop:
      old \"old\": i32 = phi i32 [s: first], [loop: seen]
      new: i32 = add i32 old, 1
      seen: i32, done: i1 = cas i32 @x, old, new, sc, sc \"x\"
      condbr done, out, loop
    out:
      ret
    }";
    assert!(matches!(outcomes(text).as_slice(), [Outcome::LeftAlone(_)]));
}

#[test]
fn a_lock_taken_by_compare_and_exchange_waits() {
    becomes(
        "func @f() {
        s:
          br loop
        loop:
          old: i32, done: i1 = cas i32 @x, 0, 1, acq, rlx \"x\"
          condbr done, out, loop
        out:
          ret
        }",
        true,
        "func @f() {
        bb0 \"s\":
          v0 \"old\": i32, v1 \"done\": i1 = await cas i32 @x, 0, 1, acq, rlx until eq 0 \"x\"
          ret
        }",
    );
}

#[test]
fn a_lock_taken_by_exchange_waits() {
    becomes(
        "func @f() {
        s:
          br loop
        loop:
          old: i32 = rmw xchg i32 @x, 1, acq \"x\"
          busy: i1 = cmp ne i32 old, 0
          condbr busy, loop, out
        out:
          ret
        }",
        true,
        // An old value of 2 is overwritten: that iteration is not pure, and the loop goes on.
        "func @f() {
        bb0 \"s\":
          br bb1
        bb1 \"loop\":
          v0 \"old\": i32 = await rmw xchg i32 @x, 1, acq until ne 1 \"x\"
          v1 \"busy\": i1 = cmp ne i32 v0, 0
          condbr v1, bb1, bb2
        bb2 \"out\":
          ret
        }",
    );
}

#[test]
fn a_bit_is_waited_for() {
    becomes(
        "func @f() {
        s:
          br loop
        loop:
          v: i32 = load i32 @x, acq
          bit: i32 = and i32 v, 1
          odd: i1 = cmp ne i32 bit, 0
          condbr odd, loop, out
        out:
          ret
        }",
        true,
        "func @f() {
        bb0 \"s\":
          v0 \"v\": i32 = await load i32 @x, acq until eq 0 mask 0x1
          ret
        }",
    );
}

#[test]
fn a_loop_without_end_waits_for_nothing() {
    let text = "func @f() {\ns:\n br loop\nloop:\n br loop\n}";
    let (module, reports) = eliminated(text, false);
    assert!(module.to_string().contains("await load i8 @selvedge.never, sc until ne 0"), "{module}");
    assert!(reports[0].to_string().contains("spins forever"), "{}", reports[0]);
}

/// The pointer might be null, and a race on the plain variable is an error too: both are read before anything is cut off.
#[test]
fn an_iteration_is_not_cut_off_before_an_access_that_may_be_an_error() {
    for access in ["w: i32 = load i32 p, sc", "w: i32 = load i32 @y", "w: i32 = sdiv i32 1, n"] {
        let text = format!(
            "func @f(p: ptr, n: i32) {{\ns:\n br loop\nloop:\n v: i32 = load i32 @x, sc\n {access}\n \
             c: i1 = cmp ne i32 v, 1\n condbr c, loop, out\nout:\n ret\n}}"
        );
        let (module, _) = eliminated(&text, true);
        let text = module.to_string();
        let access = text.find("load i32 v0").or(text.find("load i32 @y")).or(text.find("sdiv"));
        let assume = text.find("assume").expect("an assumption is inserted");
        assert!(access.is_some_and(|access| access < assume), "{text}");
    }
}

#[test]
fn a_wait_after_another_read_is_no_livelock() {
    let text = "func @f() {
    s:
      br loop
    loop:
      v: i32 = load i32 @x, sc
      c: i1 = cmp eq i32 v, 0
      condbr c, second, out
    second:
      w: i32 = load i32 @y, sc
      d: i1 = cmp eq i32 w, 0
      condbr d, loop, out
    out:
      ret
    }";
    let (module, _) = eliminated(text, true);
    assert!(module.to_string().contains("await load i32 @y, sc until ne 0 retry"), "{module}");
}

/// Test-and-test-and-set: the inner loop becomes a wait, so that the outer loop has no inner loop any more.
#[test]
fn nested_loops_are_treated_from_the_inside_out() {
    becomes(
        "func @f() {
        s:
          br outer
        outer:
          br inner
        inner:
          v: i32 = load i32 @x, rlx
          held: i1 = cmp ne i32 v, 0
          condbr held, inner, try
        try:
          old: i32 = rmw xchg i32 @x, 1, acq
          busy: i1 = cmp ne i32 old, 0
          condbr busy, outer, out
        out:
          ret
        }",
        true,
        "func @f() {
        bb0 \"s\":
          br bb1
        bb1 \"outer\":
          v0: i64 = iteration
          v1 \"v\": i32 = await load i32 @x, rlx until eq 0
          v2 \"old\": i32 = await rmw xchg i32 @x, 1, acq until ne 1 retry v0
          v3 \"busy\": i1 = cmp ne i32 v2, 0
          condbr v3, bb1, bb2
        bb2 \"out\":
          ret
        }",
    );
}

/// The inner loop counts, so it stays; the outer iteration is pure only if the inner loop did not go round.
#[test]
fn an_inner_loop_that_stays_is_watched() {
    let text = "func @f() {
    s:
      br outer
    outer:
      br inner
    inner:
      n: i32 = phi i32 [outer: 0], [inner: m]
      m: i32 = add i32 n, 1
      v: i32 = load i32 @y, sc
      more: i1 = cmp eq i32 v, m
      condbr more, inner, test
    test:
      w: i32 = load i32 @x, sc
      again: i1 = cmp eq i32 w, 0
      condbr again, outer, out
    out:
      ret
    }";
    for awaits in [false, true] {
        let (module, reports) = eliminated(text, awaits);
        assert!(reports[1].insertions[0].until.contains("an inner loop went round"), "{:?}", reports[1]);
        let text = module.to_string();
        assert!(text.contains("phi i1"), "the register that tells whether it went round:\n{text}");
        assert_eq!(text.contains("await load i32 @x, sc until ne 0 retry"), awaits, "{text}");
        assert!(!awaits || text.contains("= load i32 @x, sc"), "the access stands beside the await:\n{text}");
    }
}

#[test]
fn conditions_that_grow_too_large_leave_the_loop_alone() {
    use std::fmt::Write;
    let mut text = "func @f() {\ns:\n br b0\n".to_owned();
    for n in 0..30 {
        let m = n + 1;
        write!(
            text,
            "b{n}:\n p{n}: i32 = load i32 @x, sc\n q{n}: i32 = load i32 @y, sc\n c{n}: i1 = cmp ult i32 p{n}, q{n}\n \
             condbr c{n}, d{n}, e{n}\nd{n}:\n r{n}: i32 = load i32 @z, sc\n g{n}: i1 = cmp ugt i32 r{n}, q{n}\n \
             condbr g{n}, b{m}, out\ne{n}:\n t{n}: i32 = load i32 @z, sc\n h{n}: i1 = cmp ult i32 t{n}, p{n}\n \
             condbr h{n}, b{m}, out\n"
        )
        .expect("writing to a string succeeds");
    }
    text.push_str("b30:\n br b0\nout:\n ret\n}");
    left_alone(&text, "too large");
}

/// A push: `before` stands in front of the loop, `attempt` in front of the store to the node, `behind` behind the loop.
fn push(before: &str, attempt: &str, success: &str, behind: &str) -> String {
    format!(
        "global @top : 8 align 8
    declare @malloc(i64) -> ptr
    func @f() {{
    s:
      node: ptr = call @malloc(i64 16)
      {before}
      br loop
    loop:
      old: ptr = load ptr @top, acq \"top\"
      {attempt}
      store ptr old, node \"node->next\"
      seen: ptr, done: i1 = cas ptr @top, old, node, acqrel, rlx \"top\"
      condbr done, {success}, loop
    out:
      {behind}
      ret
    }}"
    )
}

#[test]
fn a_store_to_a_node_that_is_still_private_leaves_nothing_behind() {
    let pure = [Outcome::Pure("the compare-and-exchange of top fails".to_owned())];
    assert_eq!(outcomes(&push("", "", "out", "")), pure);
    // Other stores to the node, and reading it again when the link has been written, are all right.
    let initialised = "value: ptr = ptradd node, offset 8\nstore i32 7, value \"node->value\"";
    let read = "again: ptr = load ptr node, acq \"node->next\"";
    assert_eq!(outcomes(&push(initialised, "", "out", read)), pure);
}

#[test]
fn a_store_to_a_node_that_others_may_know_is_an_effect() {
    let written = "node->next is written";
    left_alone(&push("store ptr node, @y, rel", "", "out", ""), written);
    left_alone(&push("", "store ptr node, @y, rel", "out", ""), written);
    // The loop goes on when the node has been published.
    left_alone(&push("", "", "loop", "").replace("condbr done, loop, loop", "condbr done, more, loop\nmore:\n  m: i32 = load i32 @x, sc\n  c: i1 = cmp eq i32 m, 0\n  condbr c, loop, out"), written);
}

#[test]
fn a_store_that_is_read_in_the_next_iteration_is_an_effect() {
    left_alone(&push("", "link: ptr = load ptr node \"node->next\"", "out", ""), "node->next is written");
}
