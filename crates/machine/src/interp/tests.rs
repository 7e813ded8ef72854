//! Tests of the interpreter on programs in the text form.

use super::*;
use crate::memory::ObjectKind;
use crate::{Sc, ViolationKind};
use std::hash::{DefaultHasher, Hash, Hasher};

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
        (ViolationKind::OutOfBounds, "write to `x+4` is outside of `x`, which has 4 bytes".into())
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
    let expected = "write to `q[3].a` is outside of `q`, which has 3 elements of type `pair`";
    assert_eq!(violation(typed), (ViolationKind::OutOfBounds, expected.into()));
    let (kind, message) = violation(dangling);
    assert_eq!(kind, ViolationKind::UseAfterFree);
    assert!(message.starts_with("read of `local` after"), "{message}");
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

/// A number for everything that can be observed of a machine.
fn digest(machine: &Interpreter) -> u64 {
    let mut hasher = DefaultHasher::new();
    format!("{:?}", machine.undo.process).hash(&mut hasher);
    format!("{:?}", machine.undo.deaths).hash(&mut hasher);
    machine.undo.output.hash(&mut hasher);
    let mut facts: Vec<_> = machine.undo.facts.iter().filter(|&(_, &value)| value != 0).collect();
    facts.sort_unstable();
    facts.hash(&mut hasher);
    for thread in machine.threads.iter().filter(|thread| thread.head.status != Status::Absent) {
        format!("{:?} {:?} {:?}", thread.head, thread.frames, thread.models).hash(&mut hasher);
        for frame in thread.frames.iter().filter(|frame| !frame.is_model()) {
            thread.stack[frame.base as usize..frame.end as usize].hash(&mut hasher);
        }
        thread.locals.iter().filter(|&&local| local != 0).for_each(|local| local.hash(&mut hasher));
    }
    for kind in [ObjectKind::Global, ObjectKind::ThreadLocal, ObjectKind::Stack, ObjectKind::Heap] {
        for id in machine.memory.live_objects(kind) {
            format!("{:?}", machine.memory.object(id)).hash(&mut hasher);
            machine.memory.words(id).collect::<Vec<u64>>().hash(&mut hasher);
        }
    }
    hasher.finish()
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) as usize % n
    }
}

/// Runs random schedules forwards and backwards, and checks that each step back leads to the state before the step.
fn check_undo(text: &str, seeds: u64) {
    let machine = load_with(text, InterpOptions { keep_output: true, ..InterpOptions::default() });
    let Ok(mut sc) = Sc::start(machine) else { panic!("the program starts without an error") };
    let first = digest(&sc.machine);
    for seed in 1..=seeds {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut before = Vec::new();
        for _ in 0..400 {
            let enabled: Vec<ThreadId> = sc.threads().filter(|&thread| sc.enabled(thread)).collect();
            if !before.is_empty() && (enabled.is_empty() || random.below(4) == 0) {
                sc.undo();
                assert_eq!(before.pop(), Some(digest(&sc.machine)), "seed {seed}, depth {}", before.len());
            } else if !enabled.is_empty() {
                let thread = enabled[random.below(enabled.len())];
                let choice = random.below(sc.alternatives(thread) as usize) as u32;
                before.push(digest(&sc.machine));
                let _ = sc.step(thread, choice);
            }
        }
        while let Some(digest_before) = before.pop() {
            sc.undo();
            assert_eq!(digest_before, digest(&sc.machine), "seed {seed}, depth {}", before.len());
        }
        assert_eq!(first, digest(&sc.machine));
    }
}

/// Two threads with calls, locals that are shared, thread-local variables and a lock-free counter.
const THREADS: &str = "
    global @counter : 4 align 4
    global @slot : 8 align 8
    global @mine : 4 align 4 thread_local = i32 7
    declare @pthread_create(ptr, ptr, ptr, ptr) -> i32
    declare @pthread_join(i64, ptr) -> i32
    func @bump(by: i32) -> i32 {
    start:
      local = alloca 4 align 4 \"local\"
      store i32 by, local
      store ptr local, @slot
      old = rmw add i32 @counter, by, sc
      again = load i32 local
      sum = add i32 old, again
      ret sum
    }
    func @worker(arg: ptr) -> ptr {
    start:
      br loop
    loop:
      i = phi i32 [start: 1], [loop: j]
      s = phi i32 [start: 0], [loop: t]
      x = call @bump(i32 i)
      t = add i32 s, x
      p = thread_local @mine
      m = load i32 p
      n = add i32 m, t
      store i32 n, p
      j = add i32 i, 1
      c = cmp slt i32 j, 4
      condbr c, loop, done
    done:
      w = zext i32 n to i64
      r = inttoptr i64 w to ptr
      ret r
    }
    func @main() -> i32 {
    start:
      a = alloca 8 align 8 \"a\"
      b = alloca 8 align 8 \"b\"
      r = alloca 8 align 8 \"r\"
      call @pthread_create(ptr a, ptr null, ptr @worker, ptr null)
      call @pthread_create(ptr b, ptr null, ptr @worker, ptr null)
      x = load i64 a
      y = load i64 b
      call @pthread_join(i64 x, ptr r)
      call @pthread_join(i64 y, ptr null)
      v = load i64 r
      w = load i32 @counter
      ret w
    }";

#[test]
fn going_back_restores_everything() {
    check_undo(THREADS, 60);
}

#[test]
fn sites_speak_of_the_source() {
    let machine = load(THREADS);
    let Ok(mut sc) = Sc::start(machine) else { panic!("the program starts without an error") };
    let main = main_thread();
    assert_eq!(sc.machine.site(main).call, "pthread_create");
    sc.step(main, 0).unwrap();
    let worker = sc.machine.thread_at(&[0]).unwrap();
    assert_eq!(sc.machine.thread_name(worker), "worker");
    assert_eq!(sc.machine.site(worker).object, "slot");
    sc.step(worker, 0).unwrap();
    sc.step(worker, 0).unwrap();
    assert_eq!(sc.machine.site(worker).object, "local");
    assert_eq!(sc.machine.thread_path(worker), [0]);
}
