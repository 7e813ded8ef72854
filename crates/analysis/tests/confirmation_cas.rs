//! Confirmation-CAS loops, on small functions in the text form: what they become, and why others are declined.

use selvedge_analysis::confirmation_cas::{self, Options};
use selvedge_analysis::purity::{LoopReport, Outcome};
use selvedge_analysis::{Options as Passes, cleanup, compact, dce, fold, prepare_and_report};
use selvedge_ir::print::function_text;
use selvedge_ir::{Module, parse_module, verify_module};

const HEAD: &str = "global @x : 4 align 4\nglobal @y : 4 align 4\nglobal @top : 8 align 8\nglobal @first : 16 align 8\n\
                    declare @malloc(i64) -> ptr\ndeclare @sched_yield() -> i32\n";

const MARK: Options = Options { transform: true, exits: false };
const MARK_EXITS: Options = Options { transform: true, exits: true };

fn parsed(text: &str) -> Module {
    let text = format!("{HEAD}{text}");
    let module = parse_module(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    verify_module(&module).unwrap_or_else(|errors| panic!("{errors}"));
    module
}

/// Runs the pass over `@f`, and the clean-up that follows it.
fn treated(text: &str, options: Options) -> (Module, Vec<LoopReport>) {
    let mut module = parsed(text);
    let id = module.function_named("f").expect("the test defines `@f`");
    let (reports, _) = confirmation_cas::run(&mut module, id, options);
    verify_module(&module).unwrap_or_else(|errors| panic!("{errors}\n{module}"));
    let func = &mut module.functions[id];
    fold::run(func);
    dce::run(func);
    cleanup::run(func);
    compact::run(func);
    verify_module(&module).unwrap_or_else(|errors| panic!("{errors}\n{module}"));
    (module, reports)
}

fn text_of(module: &Module) -> String {
    let id = module.function_named("f").expect("`@f` is still there");
    let text = function_text(module, id).to_string();
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

/// What `@f` becomes.
fn becomes(text: &str, options: Options, expected: &str) {
    let (module, reports) = treated(text, options);
    let expected: Vec<&str> = expected.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(text_of(&module), expected.join("\n"));
    assert!(reports.iter().all(|report| report.outcome == Outcome::Confirmed), "{reports:?}");
    assert_eq!(reports.len(), 1);
}

/// What is said about the only candidate of `@f`, and that nothing was changed unless it says `confirmation`.
fn said(text: &str) -> String {
    let mut module = parsed(text);
    let passes = Passes { purity: true, await_: true, verify: true, inline: None, ..Passes::default() };
    let reports = prepare_and_report(&mut module, &passes).unwrap_or_else(|error| panic!("{error}"));
    let mut all: Vec<String> = reports.into_iter().flat_map(|report| report.confirmations).collect();
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

/// The loop of `@f` is not cut off, for this reason.
fn declined(text: &str, reason: &str) {
    let said = said(text);
    assert!(said.starts_with("no confirmation of ") && said.contains(reason), "{said}");
    let untouched = text_of(&treated(text, Options::default()).0);
    assert_eq!(text_of(&treated(text, MARK).0), untouched);
}

/// The loop of `@f` is cut off, but not marked, for this reason.
fn unmarked(text: &str, reason: &str) {
    let said = said(text);
    assert!(said.starts_with("confirmation") && said.contains("; not used") && said.contains(reason), "{said}");
    let found = text_of(&treated(text, MARK).0);
    assert!(found.contains("await cas"), "{found}");
    assert!(!found.contains("spec") && !found.contains("confirm"), "{found}");
}

const CONF_LOOP: &str = "func @f() {
a:
  br loop
loop:
  v: i32 = load i32 @x, acq \"x\"
  n: i32 = add i32 v, 1
  o: i32, d: i1 = cas i32 @x, v, n, acqrel, rlx \"x\"
  condbr d, out, loop
out:
  ret
}";

/// The loop of section 1 of the paper.
#[test]
fn load_and_exchange_are_marked_and_the_exchange_waits() {
    becomes(
        CONF_LOOP,
        MARK,
        "func @f() {
        bb0 \"a\":
          v0: i64 = iteration
          v1 \"v\": i32 = load i32 @x, acq spec \"x\"
          v2 \"n\": i32 = add i32 v1, 1
          v3 \"o\": i32, v4 \"d\": i1 = await cas i32 @x, v1, v2, acqrel, rlx confirm until eq v1 retry v0 \"x\"
          ret
        }",
    );
    assert_eq!(said(CONF_LOOP), "confirmation: x is read (line 0) and exchanged (line 0)");
}

#[test]
fn a_program_that_is_only_looked_at_stays_as_it_is() {
    let (module, reports) = treated(CONF_LOOP, Options::default());
    assert!(reports.is_empty());
    assert!(text_of(&module).contains("= cas i32 @x, v0, v1, acqrel, rlx \"x\""));
}

#[test]
fn a_value_that_is_carried_is_read_in_every_attempt() {
    becomes(
        "func @f() -> i32 {
        a:
          w: i32 = load i32 @x, rlx \"x\"
          br loop
        loop:
          v: i32 = phi i32 [a: w], [loop: o]
          n: i32 = add i32 v, 1
          o: i32, d: i1 = cas weak i32 @x, v, n, acqrel, acq \"x\"
          condbr d, out, loop
        out:
          ret v
        }",
        MARK,
        "func @f() -> i32 {
        bb0 \"a\":
          v0: i64 = iteration
          v1 \"w\": i32 = load i32 @x, rlx spec \"x\"
          v2 \"n\": i32 = add i32 v1, 1
          v3 \"o\": i32, v4 \"d\": i1 = await cas i32 @x, v1, v2, acqrel, acq confirm until eq v1 retry v0 \"x\"
          ret v1
        }",
    );
}

fn reloading(second: &str) -> String {
    format!(
        "func @f() {{
        a:
          w: i32 = load i32 @x, acq \"x\"
          br loop
        loop:
          v: i32 = phi i32 [a: w], [more: r]
          n: i32 = add i32 v, 1
          o: i32, d: i1 = cas i32 @x, v, n, acqrel, rlx \"x\"
          condbr d, out, more
        more:
          r: i32 = {second} \"x\"
          br loop
        out:
          ret
        }}"
    )
}

#[test]
fn a_value_that_is_read_again_at_the_end_is_read_once_in_every_attempt() {
    becomes(
        &reloading("load i32 @x, acq"),
        MARK,
        "func @f() {
        bb0 \"a\":
          v0: i64 = iteration
          v1 \"w\": i32 = load i32 @x, acq spec \"x\"
          v2 \"n\": i32 = add i32 v1, 1
          v3 \"o\": i32, v4 \"d\": i1 = await cas i32 @x, v1, v2, acqrel, rlx confirm until eq v1 retry v0 \"x\"
          ret
        }",
    );
    declined(&reloading("load i32 @x, rlx"), "it is read in two ways");
}

fn push(before: &str, attempt: &str, after: &str) -> String {
    format!(
        "func @f() {{
        a:
          node: ptr = call @malloc(i64 16)
          next: ptr = ptradd node, offset 8
          new: i64 = ptrtoint ptr node to i64
          {before}
          br loop
        loop:
          old: i64 = load i64 @top, acq \"top\"
          {attempt}
          o: i64, d: i1 = cas i64 @top, old, new, rel, rlx \"top\"
          {after}
          condbr d, out, loop
        out:
          ret
        }}"
    )
}

#[test]
fn an_object_that_nobody_knows_may_be_written() {
    let text = push("store i32 1, node", "store i64 old, next \"node->next\"", "");
    let found = text_of(&treated(&text, MARK).0);
    assert!(found.contains("load i64 @top, acq spec"), "{found}");
    assert!(found.contains("rel, rlx confirm until eq"), "{found}");
    // An atomic store into it is no different.
    let text = push("", "store i64 old, next, rlx \"node->next\"", "");
    assert!(said(&text).starts_with("confirmation: top"));
}

#[test]
fn an_object_that_others_may_know_must_not_be_written() {
    let store = "store i64 old, next \"node->next\"";
    declined(
        &push("store ptr node, @first", store, ""),
        "node->next is written, and others or later attempts may see it",
    );
    declined(&push("", &format!("store ptr node, @first\n {store}"), ""), "is written");
    declined(
        &push("", "store i64 old, @first \"first\"", ""),
        "first is written, and others or later attempts may see it",
    );
    declined(&push("", "", store), "node->next is written");
    // It is the same object that was pushed before.
    let twice = "func @f() {
        a:
          node: ptr = call @malloc(i64 16)
          next: ptr = ptradd node, offset 8
          new: i64 = ptrtoint ptr node to i64
          br outer
        outer:
          br loop
        loop:
          old: i64 = load i64 @top, acq \"top\"
          store i64 old, next \"node->next\"
          o: i64, d: i1 = cas i64 @top, old, new, rel, rlx \"top\"
          condbr d, after, loop
        after:
          store ptr node, @first
          br outer
        }";
    declined(twice, "node->next is written, and others or later attempts may see it");
}

#[test]
fn what_an_attempt_has_written_must_not_be_read_by_the_next() {
    let text = push("store i64 0, next", "seen: i64 = load i64 next\n store i64 old, next \"node->next\"", "");
    declined(&text, "node->next is written");
}

const WALK: &str = "func @f(new: i64) {
a:
  br outer
outer:
  br walk
walk:
  last: ptr = phi ptr [outer: @first], [walk: p]
  next: ptr = ptradd last, offset 8
  v: i64 = load i64 next, acq \"last->next\"
  p: ptr = inttoptr i64 v to ptr
  more: i1 = cmp ne ptr p, null
  condbr more, walk, try
try:
  same: ptr = ptradd last, offset 8
  o: i64, d: i1 = cas i64 same, EXPECTED, new, acqrel, rlx \"last->next\"
  condbr d, out, outer
out:
  ret
}";

/// `m-enq` of the paper's table 2.
#[test]
fn a_walk_is_speculative_with_its_last_pointer() {
    for expected in ["v", "0"] {
        let text = WALK.replace("EXPECTED", expected);
        let found = text_of(&treated(&text, MARK).0);
        assert!(found.contains("acq spec_zero \"last->next\""), "{found}");
        assert!(found.contains(&format!("confirm until eq {}", if expected == "v" { "v4" } else { "0" })), "{found}");
        // An attempt begins with the walk, not with its last step.
        let (before, walk) = found.split_once("\"walk\"").expect("the walk is still there");
        assert!(before.contains("v1: i64 = iteration") && walk.contains("retry v1"), "{found}");
        assert!(said(&text).ends_with(" if it is zero"), "{}", said(&text));
    }
    declined(&WALK.replace("EXPECTED", "v").replace("br walk", "store i32 1, @y, rlx \"y\"\n br walk"), "y is written");
}

#[test]
fn a_lock_that_is_tested_first_waits_and_confirms_nothing() {
    let text = "func @f() {
    a:
      br outer
    outer:
      br spin
    spin:
      v: i32 = load i32 @x, acq \"x\"
      held: i1 = cmp ne i32 v, 0
      condbr held, spin, try
    try:
      o: i32, d: i1 = cas i32 @x, 0, 1, acqrel, rlx \"x\"
      condbr d, out, outer
    out:
      ret
    }";
    unmarked(text, "it is read until a value is found");
}

fn pop(test: &str) -> String {
    format!(
        "func @f() -> i32 {{
        a:
          br loop
        loop:
          v: i32 = load i32 @x, acq \"x\"
          {test}
          condbr stop, out, go
        go:
          n: i32 = add i32 v, 1
          o: i32, d: i1 = cas i32 @x, v, n, acqrel, rlx \"x\"
          condbr d, out, loop
        out:
          ret v
        }}"
    )
}

#[test]
fn a_loop_with_exits_is_marked_only_if_asked_for() {
    let zero = pop("stop: i1 = cmp eq i32 v, 0");
    unmarked(&zero, "confirmation with exits");
    let found = text_of(&treated(&zero, MARK_EXITS).0);
    assert!(found.contains("acq spec_nonzero") && found.contains("confirm until"), "{found}");
    let full = pop("m: i32 = and i32 v, 7\n stop: i1 = cmp eq i32 m, 5");
    let found = text_of(&treated(&full, MARK_EXITS).0);
    assert!(found.contains("acq spec_next") && found.contains("confirm until"), "{found}");
    let other = pop("w: i32 = load i32 @y, acq \"y\"\n stop: i1 = cmp eq i32 w, 5");
    let found = text_of(&treated(&other, MARK_EXITS).0);
    assert!(!found.contains("spec") && !found.contains("confirm"), "{found}");
    assert!(said(&other).contains("depends on more than the value that is read first"), "{}", said(&other));
}

/// The node may have been freed by the one whose exchange came first: only an attempt that fails meets it.
#[test]
fn errors_that_only_failing_attempts_meet_are_not_hidden() {
    let text = "func @f() {
    a:
      br loop
    loop:
      v: i64 = load i64 @top, acq \"top\"
      p: ptr = inttoptr i64 v to ptr
      n: i64 = load i64 p, ORDER \"old->next\"
      o: i64, d: i1 = cas i64 @top, v, n, acqrel, rlx \"top\"
      condbr d, out, loop
    out:
      ret
    }";
    let (atomic, plain) = (text.replace("ORDER", "rlx"), text.replace(", ORDER", ""));
    assert!(said(&atomic).starts_with("confirmation: top") && !said(&atomic).contains("not used"));
    // Nobody writes what it reads; but if somebody does, in whatever way, a failing attempt may meet that.
    assert!(said(&plain).starts_with("confirmation: top") && !said(&plain).contains("not used"));
    let through_a_pointer = "p: ptr = inttoptr i64 8 to ptr\n store i32 1, p, rel \"flag\"";
    for write in
        [through_a_pointer, &through_a_pointer.replace("store i32 1, p, rel", "o: i32 = rmw add i32 p, 1, rlx")]
    {
        let writer = format!("func @g() {{\na:\n {write}\n ret\n}}\n");
        unmarked(&format!("{plain}\n{writer}"), "old->next is read by a load that is not atomic, and flag is written");
        assert!(!said(&format!("{atomic}\n{writer}")).contains("not used"));
    }
    let elsewhere = "func @g() {\na:\n store i32 1, @y, rel \"y\"\n ret\n}\n";
    assert!(!said(&format!("{plain}\n{elsewhere}")).contains("not used"));
    unmarked(
        &format!("declare @free(ptr)\n{atomic}"),
        "old->next is reached through a pointer, and the program calls free",
    );
    let local =
        format!("declare @take(ptr)\nfunc @g() {{\na:\n p = alloca 8 align 8\n call @take(ptr p)\n ret\n}}\n{atomic}");
    unmarked(&local, "g has local objects");
}

#[test]
fn what_else_an_attempt_may_not_do() {
    let with = |before: &str, after: &str| {
        format!(
            "func @f() {{
            a:
              br loop
            loop:
              v: i32 = load i32 @x, acq \"x\"
              {before}
              n: i32 = add i32 v, 1
              o: i32, d: i1 = cas i32 @x, v, n, acqrel, rlx \"x\"
              condbr d, out, back
            back:
              {after}
              br loop
            out:
              ret
            }}"
        )
    };
    assert!(said(&with("y: i32 = call @sched_yield()", "z: i32 = call @sched_yield()")).starts_with("confirmation: x"));
    declined(&with("p: ptr = call @malloc(i64 8)", "b: i32 = call @sched_yield()"), "malloc is called");
    declined(&with("", "store i32 1, @y, rlx \"y\""), "y is written");
    declined(&with("", "fence sc"), "a fence follows a failed exchange");
    declined(&with("q: i32 = rmw add i32 @y, 1, sc \"y\"", "b: i32 = call @sched_yield()"), "y is changed");
    declined(&with("", "w: i32 = load i32 @y, sc \"y\""), "something is read after a failed exchange");
    unmarked(&with("fence sc", "b: i32 = call @sched_yield()"), "a fence stands between");
    declined(
        &with("", "b: i32 = call @sched_yield()").replace("load i32 @x, acq", "load i32 @x"),
        "the load is not atomic",
    );
}

#[test]
fn what_else_may_not_be_carried_round() {
    let counted = "func @f() -> i32 {
    a:
      br loop
    loop:
      k \"tries\": i32 = phi i32 [a: 0], [loop: m]
      m: i32 = add i32 k, 1
      v: i32 = load i32 @x, acq \"x\"
      n: i32 = add i32 v, 1
      o: i32, d: i1 = cas i32 @x, v, n, acqrel, rlx \"x\"
      condbr d, out, loop
    out:
      ret k
    }";
    declined(counted, "tries changes with each attempt");
    let carried = |first: &str, between: &str, result: &str| {
        format!(
            "func @f() -> i32 {{
            a:
              w: i32 = {first}
              {between}
              br loop
            loop:
              v: i32 = phi i32 [a: w], [loop: o]
              n: i32 = add i32 v, 1
              o: i32, d: i1 = cas i32 @x, v, n, acqrel, acq \"x\"
              condbr d, out, loop
            out:
              ret {result}
            }}"
        )
    };
    let load = "load i32 @x, acq \"x\"";
    assert!(said(&carried(load, "", "v")).starts_with("confirmation: x"));
    declined(&carried(load, "", "w"), "what is read in front of the loop is used elsewhere");
    declined(&carried(load, "store i32 1, @y, rlx \"y\"", "v"), "something happens between the load and the loop");
    declined(&carried("load i32 @x, sc \"x\"", "", "v"), "ordered more strongly than a failed exchange");
    declined(&carried("load i32 @x \"x\"", "", "v"), "the load is not atomic");
}

fn other_way(test: &str, other: &str) -> String {
    format!(
        "func @f(new: i64) {{
        a:
          br loop
        loop:
          last: ptr = phi ptr [a: @first], [back: now]
          v: i64 = load i64 last, acq \"last->next\"
          p: ptr = inttoptr i64 v to ptr
          more: i1 = cmp {test}
          condbr more, walk, try
        walk:
          {other}
          br back
        try:
          o: i64, d: i1 = cas i64 last, v, new, acqrel, rlx \"last->next\"
          condbr d, out, back
        back:
          now: ptr = phi ptr [walk: p], [try: last]
          br loop
        out:
          ret
        }}"
    )
}

/// `m-enq` again, with one loop for the walk and for the attempts.
#[test]
fn a_failing_attempt_is_cut_off_whatever_else_the_loop_does() {
    for other in ["y: i32 = call @sched_yield()", "store i32 1, @y, rlx \"y\""] {
        let text = other_way("ne ptr p, null", other);
        let found = text_of(&treated(&text, MARK).0);
        assert!(found.contains("acq spec_zero \"last->next\""), "{found}");
        assert!(found.contains("confirm until eq v"), "{found}");
    }
    let tagged = other_way("eq i64 v, 3", "y: i32 = call @sched_yield()");
    assert!(text_of(&treated(&tagged, MARK).0).contains("acq spec_next"), "{}", said(&tagged));
    // What changes with a failing attempt is another matter.
    declined(&other_way("ne ptr p, null", "").replace("[try: last]", "[try: p]"), "last changes with each attempt");
}

#[test]
fn a_value_that_is_waited_for_is_no_speculation() {
    let text = "func @f() {
    a:
      br loop
    loop:
      v: i32 = load i32 @x, acq \"x\"
      busy: i1 = cmp eq i32 v, 7
      condbr busy, loop, try
    try:
      n: i32 = add i32 v, 1
      o: i32, d: i1 = cas i32 @x, v, n, acqrel, rlx \"x\"
      condbr d, out, loop
    out:
      ret
    }";
    unmarked(text, "it is read until a value is found");
}

/// The confirmation would have lost what it confirms.
#[test]
fn purity_leaves_a_speculative_load_a_load() {
    let spinning = "func @f() {
    a:
      br loop
    loop:
      v: i32 = load i32 @x, acq spec_nonzero \"x\"
      c: i1 = cmp eq i32 v, 0
      condbr c, loop, out
    out:
      ret
    }";
    let mut module = parsed(spinning);
    let passes = Passes { purity: true, await_: true, verify: true, ..Passes::default() };
    prepare_and_report(&mut module, &passes).unwrap_or_else(|error| panic!("{error}"));
    let found = text_of(&module);
    assert!(found.contains("acq spec_nonzero") && found.contains("assume"), "{found}");
}

/// The one whose exchange came first writes what others still read: only an attempt that fails races with it.
#[test]
fn races_that_only_failing_attempts_have_are_not_hidden() {
    let reads = |what: &str| {
        format!(
            "func @f() {{
            a:
              br loop
            loop:
              v: i32 = load i32 @x, acq \"x\"
              w: i32 = load i32 {what}, acq \"y\"
              n: i32 = add i32 v, w
              o: i32, d: i1 = cas i32 @x, v, n, acqrel, rlx \"x\"
              condbr d, out, loop
            out:
              ret
            }}\n"
        )
    };
    let marked = |text: &str| assert!(!said(text).contains("not used"), "{}", said(text));
    let direct = reads("@y");
    let writer = |code: &str| format!("{direct}func @g(p: ptr) {{\na:\n {code}\n ret\n}}");
    marked(&writer("store i32 1, @y, rlx \"y\""));
    unmarked(&writer("store i32 1, @y \"y\""), "y is read, and y is written by a store that is not atomic");
    // Nobody has a pointer to it.
    marked(&writer("store i32 1, p \"*p\""));
    let given_away = format!("declare @take(ptr)\n{}", writer("call @take(ptr @y)\n store i32 1, p \"*p\""));
    unmarked(&given_away, "y is read, and *p is written by a store that is not atomic");
    let main = |code: &str| {
        format!("declare @pthread_create(ptr, ptr, ptr, ptr) -> i32\n{direct}func @main() {{\na:\n {code}\n ret\n}}")
    };
    let create = "c: i32 = call @pthread_create(ptr null, ptr null, ptr null, ptr null)";
    marked(&main(&format!("store i32 1, @y \"y\"\n {create}")));
    unmarked(&main(&format!("{create}\n store i32 1, @y \"y\"")), "y is written by a store that is not atomic");
}

#[test]
fn a_walk_meets_what_is_written_to_other_nodes() {
    let walk = WALK.replace("EXPECTED", "v");
    let maker = |code: &str| {
        format!(
            "{walk}\nfunc @g(p: ptr) {{\na:\n n: ptr = call @malloc(i64 16)\n m: ptr = ptradd n, offset 8\n {code}\n ret\n}}"
        )
    };
    let marked = |text: &str| assert!(!said(text).contains("not used"), "{}", said(text));
    marked(&maker("store i64 0, m \"node->next\"\n store ptr n, @top, rel"));
    marked(&maker("store i32 0, p \"*p\""));
    let reason = "last->next is read, and node->next is written by a store that is not atomic";
    unmarked(&maker("store ptr n, @top, rel\n store i64 0, m \"node->next\""), reason);
    unmarked(&maker("store i64 0, p \"node->next\""), reason);
}
