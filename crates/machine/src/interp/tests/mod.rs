//! Tests of the interpreter on programs in the text form.

mod awaits;
mod confirmations;
mod publishing;
mod threads;

use super::*;
use crate::ViolationKind;

fn load_with(text: &str, options: InterpOptions) -> Interpreter {
    let module = selvedge_ir::parse_module(text).unwrap_or_else(|error| panic!("{error}"));
    if let Err(errors) = selvedge_ir::verify_module(&module) {
        panic!("{errors}");
    }
    Interpreter::new(&module, options).unwrap()
}

fn load(text: &str) -> Interpreter {
    load_with(text, InterpOptions::default())
}

/// The exit status of a program with one thread.
fn status(text: &str) -> i32 {
    let mut machine = load(text);
    machine.start().unwrap();
    machine.exit_status().unwrap()
}

/// Why a program with one thread stops.
fn stop(text: &str) -> Stop {
    load(text).start().unwrap_err()
}

fn violation(text: &str) -> (ViolationKind, String) {
    match stop(text) {
        Stop::Violation(violation) => (violation.kind, violation.message),
        other => panic!("{other:?}"),
    }
}

#[test]
fn loops_and_phis_that_swap() {
    let text = "
        func @main() -> i32 {
        start:
          br loop
        loop:
          i = phi i32 [start: 0], [loop: j]
          a = phi i32 [start: 1], [loop: b]
          b = phi i32 [start: 2], [loop: a]
          s = phi i32 [start: 0], [loop: t]
          x = mul i32 s, 3
          t = add i32 x, a
          j = add i32 i, 1
          c = cmp slt i32 j, 5
          condbr c, loop, done
        done:
          ret t
        }";
    // ((((1 * 3 + 2) * 3 + 1) * 3 + 2) * 3 + 1)
    assert_eq!(status(text), 151);
}

#[test]
fn recursion_and_results_of_odd_width() {
    let text = "
        func @fib(n: i24) -> i24 {
        start:
          c = cmp ult i24 n, 2
          condbr c, small, large
        small:
          ret n
        large:
          a = sub i24 n, 1
          b = sub i24 n, 2
          x = call @fib(i24 a)
          y = call @fib(i24 b)
          z = add i24 x, y
          ret z
        }
        func @main() -> i32 {
        start:
          x = call @fib(i24 15)
          y = zext i24 x to i32
          ret y
        }";
    assert_eq!(status(text), 610);
}

#[test]
fn switches_selects_and_function_pointers() {
    let text = "
        global @table : 16 align 8 constant relocs [0: @double, 8: @negate]
        func @double(x: i32) -> i32 {
        start:
          y = shl i32 x, 1
          ret y
        }
        func @negate(x: i32) -> i32 {
        start:
          y = sub i32 0, x
          ret y
        }
        func @pick(n: i32) -> i32 {
        start:
          switch i32 n [0: zero, 7: seven, -1: minus] else other
        zero:
          br done
        seven:
          br done
        minus:
          br done
        other:
          br done
        done:
          r = phi i32 [zero: 10], [seven: 20], [minus: 30], [other: 40]
          ret r
        }
        func @main() -> i32 {
        start:
          f = load ptr @table
          g = load ptr @table+8
          a: i32 = call *f(i32 5)
          b: i32 = call *g(i32 a)
          c = call @pick(i32 -1)
          d = call @pick(i32 7)
          e = call @pick(i32 8)
          s = add i32 b, c
          t = add i32 s, d
          u = add i32 t, e
          k = cmp sgt i32 u, 79
          v = select i32 k, u, 0
          ret v
        }";
    assert_eq!(status(text), 80);
}

#[test]
fn private_memory_keeps_bytes_and_widths() {
    let text = "
        global @x : 8 align 8 = i64 -1
        func @main() -> i32 {
        start:
          p = alloca 16 align 8 \"buf\"
          memset p, 0, 16
          store i24 0x123456, p
          q = ptradd p, offset 8
          memcpy q, p, 4
          a = load i32 q
          b = trunc i32 a to i24
          store i24 b, @x
          c = load i64 @x
          d = lshr i64 c, 16
          e = trunc i64 d to i32
          ret e
        }";
    assert_eq!(status(text), 0xffff_ff12_u32 as i32);
}

#[test]
fn faults_name_what_they_touch() {
    let main = |body: &str| format!("func @main() -> i32 {{\nstart:\n{body}\n  ret 0\n}}");
    assert_eq!(
        violation(&main("  x = load i32 null, plain \"p->next\"")),
        (ViolationKind::InvalidPointer, "read of `p->next` through a null pointer".into())
    );
    assert_eq!(
        violation(&main("  p = alloca 4 align 4 \"x\"\n  v = load i32 p")),
        (ViolationKind::UninitialisedRead, "read of `x`, which was never written".into())
    );
    assert_eq!(
        violation(&main("  p = alloca 4 align 4 \"x\"\n  q = ptradd p, offset 4\n  store i32 1, q")),
        (ViolationKind::OutOfBounds, "write to `x+4`, which is outside of `x` with its 4 bytes".into())
    );
    assert_eq!(violation(&main("  v = sdiv i32 1, 0")).0, ViolationKind::Arithmetic);
    let dangling = "
        func @f() -> ptr {
        start:
          p = alloca 4 align 4 \"local\"
          store i32 1, p
          ret p
        }
        func @main() -> i32 {
        start:
          p = call @f()
          v = load i32 p
          ret v
        }";
    let typed = "
        global @q : 24 align 8 type2
        func @main() -> i32 {
        start:
          n: i64 = ptrtoint ptr @q to i64
          i = and i64 n, 0
          j = add i64 i, 2
          p = ptradd @q, j * 8 + 4
          store i32 1, p
          p2 = ptradd p, offset 4
          store i32 1, p2
          ret 0
        }
        type type0 = base \"int\" 4 signed
        type type1 = struct \"pair\" 8 [\"a\": type0 at 0 size 4, \"b\": type0 at 4 size 4]
        type type2 = array type1 size 8 count 3";
    let expected = "write to `q[3].a`, which is outside of `q` with its 3 elements of type `pair`";
    assert_eq!(violation(typed), (ViolationKind::OutOfBounds, expected.into()));
    let (kind, message) = violation(dangling);
    assert_eq!(kind, ViolationKind::UseAfterFree);
    assert_eq!(message, "read of `local` after `f` has returned");
}

#[test]
fn bounds_are_told_apart_from_errors() {
    let forever = "func @main() {\nstart:\n br loop\nloop:\n br loop\n}";
    let recursive = "func @main() {\nstart:\n call @main()\n ret\n}";
    let bound = |stop: Stop| match stop {
        Stop::Bound(bound) => bound.what,
        other => panic!("{other:?}"),
    };
    assert!(bound(stop(forever)).contains("it may never end"));
    assert!(bound(stop(recursive)).contains("recursion deeper than"));
    let options = InterpOptions { unroll: Some(3), ..InterpOptions::default() };
    let mut machine = load_with(forever, options.clone());
    assert!(bound(machine.start().unwrap_err()).ends_with("to 3 iterations"));
    let nested = "
        func @main() -> i32 {
        start:
          br outer
        outer:
          i = phi i32 [start: 0], [next: j]
          br inner
        inner:
          k = phi i32 [outer: 0], [inner: l]
          l = add i32 k, 1
          c = cmp ult i32 l, 4
          condbr c, inner, next
        next:
          j = add i32 i, 1
          d = cmp ult i32 j, 4
          condbr d, outer, done
        done:
          ret j
        }";
    let mut machine = load_with(nested, options.clone());
    machine.start().unwrap();
    assert_eq!(machine.exit_status(), Some(4));
    let mut machine = load_with(nested, InterpOptions { unroll: Some(2), ..options });
    machine.start().unwrap_err();
}

#[test]
fn unknown_functions_are_errors_only_when_reached() {
    let text = "
        declare @mystery(i32) -> i32
        func @main(argc: i32, argv: ptr) -> i32 {
        start:
          c = cmp sgt i32 argc, 1
          condbr c, yes, no
        yes:
          call @mystery(i32 1)
          br no
        no:
          ret argc
        }";
    let mut machine = load(text);
    machine.start().unwrap();
    assert_eq!(machine.exit_status(), Some(1));
    let mut machine = load_with(text, InterpOptions { args: vec!["a".into()], ..InterpOptions::default() });
    let Stop::Unsupported(unsupported) = machine.start().unwrap_err() else { panic!("it is not supported") };
    assert!(unsupported.feature.contains("`mystery`"));
    assert!(unsupported.feature.contains("define it in the program"));
}

#[test]
fn a_module_without_main_is_refused() {
    let module = selvedge_ir::parse_module("declare @main() -> i32").unwrap();
    assert_eq!(Interpreter::new(&module, InterpOptions::default()).err(), Some(LoadError::NoMain));
}

#[test]
fn variadic_arguments_lie_in_slots_behind_the_list() {
    let text = "
        func @sum(n: i32, ...) -> i32 {
        start:
          list = alloca 24 align 8 \"list\"
          copy = alloca 24 align 8 \"copy\"
          va_start list
          va_copy copy, list
          a: i32 = va_arg i32 list
          b: f64 = va_arg f64 list
          c: i32 = va_arg i32 list
          d: i32 = va_arg i32 copy
          e: i32 = fptosi f64 b to i32
          f = mul i32 a, 1000
          g = mul i32 e, 100
          h = mul i32 c, 10
          i = add i32 f, g
          j = add i32 i, h
          k = add i32 j, d
          ret k
        }
        func @main() -> i32 {
        start:
          x = call @sum(i32 3, i32 4, f64 5.5, i32 6)
          ret x
        }";
    assert_eq!(status(text), 4564);
    let (kind, message) = violation(&text.replace(", i32 6)", ")"));
    assert_eq!(kind, ViolationKind::OutOfBounds, "{message}");
}

#[test]
fn constructors_run_first_and_arguments_are_strings() {
    let text = "
        global @x : 4 align 4
        func @init() {
        start:
          store i32 40, @x
          ret
        }
        func @main(argc: i32, argv: ptr) -> i32 {
        start:
          p = ptradd argv, offset 8
          s = load ptr p
          b = load i8 s
          w = zext i8 b to i32
          x = load i32 @x
          y = add i32 x, w
          z = add i32 y, argc
          ret z
        }
        constructors @init";
    let options = InterpOptions { args: vec!["A".into(), "B".into()], ..InterpOptions::default() };
    let mut machine = load_with(text, options);
    machine.start().unwrap();
    assert_eq!(machine.exit_status(), Some(40 + 65 + 3));
}

#[test]
fn calls_that_cannot_work_are_violations() {
    let text = "
        global @table : 16 align 8
        func @two(a: i32, b: i32) -> i32 {
        start:
          ret a
        }
        func @main(argc: i32) -> i32 {
        start:
          f = select ptr false, null, TARGET
          x: i32 = call *f(i32 argc)
          ret x
        }";
    let message = |target: &str| violation(&text.replace("TARGET", target));
    assert_eq!(message("null"), (ViolationKind::InvalidPointer, "call of a null pointer".into()));
    assert_eq!(message("@table+8").1, "call of `table+8`, which is not a function");
    assert_eq!(message("@two").1, "call of `two` with 1 arguments, but it takes 2");
}

#[test]
fn leaks_are_what_nothing_points_to() {
    let text = "
        global @kept : 8 align 8
        declare @malloc(i64) -> ptr
        declare @free(ptr)
        func @main() -> i32 {
        start:
          p = call @malloc(i64 16)
          q = call @malloc(i64 8)
          store ptr q, p
          store ptr p, @kept
          r = call @malloc(i64 4)
          REST
          ret 0
        }";
    let end = |rest: &str| {
        let options = InterpOptions { leak_check: true, ..InterpOptions::default() };
        let mut machine = load_with(&text.replace("REST", rest), options);
        machine.start().unwrap();
        machine.at_end()
    };
    assert_eq!(end("call @free(ptr r)"), Ok(()));
    let Err(Stop::Violation(leak)) = end("") else { panic!("an object has leaked") };
    assert_eq!(leak.kind, ViolationKind::Leak);
    assert!(leak.message.contains("4 bytes"), "{}", leak.message);
    assert!(end("store ptr r, @kept").is_err());
}

#[test]
fn a_use_after_free_shows_all_three_places() {
    let text = "
        declare @malloc(i64) -> ptr
        declare @free(ptr)
        func @main() -> i32 {
        start:
          p = call @malloc(i64 16) !\"a.c\":1:3
          store i32 1, p
          call @free(ptr p) !\"a.c\":2:3
          LAST !\"a.c\":3:3
          ret 0
        }";
    let lines = |last: &str| match stop(&text.replace("LAST", last)) {
        Stop::Violation(violation) => {
            let lines = violation.places.iter().map(|(span, what)| (span.line, what.clone())).collect::<Vec<_>>();
            (violation.kind, violation.message, lines)
        }
        other => panic!("{other:?}"),
    };
    let places = vec![(3, String::new()), (2, "freed here".into()), (1, "allocated here".into())];
    let (kind, message, lines_of_use) = lines("x = load i32 p \"p->x\"");
    assert_eq!((kind, message.as_str()), (ViolationKind::UseAfterFree, "read of `p->x` after it was freed"));
    assert_eq!(lines_of_use, places);
    assert_eq!(lines("call @free(ptr p)").0, ViolationKind::DoubleFree);
}

#[test]
fn a_bit_field_may_be_set_in_a_struct_that_was_never_written() {
    let text = "
        func @main() -> i32 {
        start:
          s = alloca 4 align 4 \"s\"
          old = load i32 s
          cleared = and i32 old, -8
          set = or i32 cleared, 5
          store i32 set, s
          now = load i32 s
          r = and i32 now, 7
          ret r
        }";
    assert_eq!(status(text), 5);
    let used = text.replace("r = and i32 now, 7", "q = add i32 cleared, now\n r = and i32 q, 7");
    assert_eq!(violation(&used).0, ViolationKind::UninitialisedRead);
}
