//! Tests with several threads: going back, names, and what becomes an Op.

use super::*;
use crate::memory::ObjectKind;
use crate::{AccessKind, Sc};
use std::hash::{DefaultHasher, Hash, Hasher};

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
/// Returns how many steps failed.
fn check_undo(text: &str, seeds: u64) -> usize {
    let mut failed = 0;
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
                failed += usize::from(sc.step(thread, choice).is_err());
            }
        }
        while let Some(digest_before) = before.pop() {
            sc.undo();
            assert_eq!(digest_before, digest(&sc.machine), "seed {seed}, depth {}", before.len());
        }
        assert_eq!(first, digest(&sc.machine));
    }
    failed
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
    assert_eq!(check_undo(THREADS, 60), 0);
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

/// A lock, a condition variable, a heap object that changes hands, output, and a thread-specific destructor.
const LIBRARY_CALLS: &str = "
    global @m : 40 align 8
    global @c : 48 align 8
    global @box : 8 align 8
    global @text : 4 align 1 constant = string \"%d \\0\"
    declare @pthread_create(ptr, ptr, ptr, ptr) -> i32
    declare @pthread_join(i64, ptr) -> i32
    declare @pthread_exit(ptr)
    declare @pthread_mutex_lock(ptr) -> i32
    declare @pthread_mutex_unlock(ptr) -> i32
    declare @pthread_cond_wait(ptr, ptr) -> i32
    declare @pthread_cond_signal(ptr) -> i32
    declare @malloc(i64) -> ptr
    declare @free(ptr)
    declare @printf(ptr, ...) -> i32
    func @produce(arg: ptr) -> ptr {
    start:
      p = call @malloc(i64 8)
      store i64 5, p
      call @pthread_mutex_lock(ptr @m)
      store ptr p, @box
      call @pthread_cond_signal(ptr @c)
      call @pthread_mutex_unlock(ptr @m)
      call @pthread_exit(ptr null)
      unreachable
    }
    func @consume(arg: ptr) -> ptr {
    start:
      call @pthread_mutex_lock(ptr @m)
      br check
    check:
      p = load ptr @box
      none = cmp eq ptr p, null
      condbr none, wait, take
    wait:
      call @pthread_cond_wait(ptr @c, ptr @m)
      br check
    take:
      v = load i64 p
      w = trunc i64 v to i32
      call @printf(ptr @text, i32 w)
      call @free(ptr p)
      store ptr null, @box
      call @pthread_mutex_unlock(ptr @m)
      ret null
    }
    func @main() -> i32 {
    start:
      a = alloca 8 align 8 \"a\"
      b = alloca 8 align 8 \"b\"
      call @pthread_create(ptr a, ptr null, ptr @consume, ptr null)
      call @pthread_create(ptr b, ptr null, ptr @produce, ptr null)
      x = load i64 a
      y = load i64 b
      call @pthread_join(i64 x, ptr null)
      call @pthread_join(i64 y, ptr null)
      ret 0
    }";

#[test]
fn going_back_restores_what_library_functions_have_done() {
    assert_eq!(check_undo(LIBRARY_CALLS, 60), 0);
}

/// Calls within calls, with an Op on the way down and one on the way up, and values that live across both.
const RECURSION: &str = "
    global @x : 4 align 4
    declare @pthread_create(ptr, ptr, ptr, ptr) -> i32
    func @deep(n: i32, a: i32) -> i32 {
    start:
      local = alloca 4 align 4 \"local\"
      store i32 a, local
      old = rmw add i32 @x, n, sc
      b = add i32 old, a
      end = cmp eq i32 n, 0
      condbr end, leaf, inner
    leaf:
      ret b
    inner:
      m = sub i32 n, 1
      r = call @deep(i32 m, i32 b)
      s = call @deep(i32 0, i32 r)
      now = rmw add i32 @x, s, sc
      c = load i32 local
      d = add i32 c, b
      e = add i32 d, now
      ret e
    }
    func @worker(arg: ptr) -> ptr {
    start:
      v = call @deep(i32 3, i32 1)
      w = call @deep(i32 2, i32 v)
      ret null
    }
    func @main() -> i32 {
    start:
      a = alloca 8 align 8 \"a\"
      call @pthread_create(ptr a, ptr null, ptr @worker, ptr null)
      call @worker(ptr null)
      call @pthread_create(ptr a, ptr null, ptr @worker, ptr null)
      ret 0
    }";

#[test]
fn going_back_restores_frames_that_have_returned() {
    assert_eq!(check_undo(RECURSION, 60), 0);
}

/// Errors, assumptions, atomic sections, and an end of the process while others run.
const WAYS_TO_STOP: &str = "
    global @x : 4 align 4
    global @slot : 8 align 8
    declare @pthread_create(ptr, ptr, ptr, ptr) -> i32
    declare @exit(i32)
    declare @__VERIFIER_assume(i32)
    declare @__VERIFIER_atomic_begin()
    declare @__VERIFIER_atomic_end()
    func @lend() {
    start:
      local = alloca 4 align 4 \"local\"
      store i32 1, local
      store ptr local, @slot
      ret
    }
    func @worker(arg: ptr) -> ptr {
    start:
      call @lend()
      v = load i32 @x
      c = cmp slt i32 v, 5
      w = zext i1 c to i32
      call @__VERIFIER_assume(i32 w)
      call @__VERIFIER_atomic_begin()
      a = load i32 @x
      b = add i32 a, 1
      store i32 b, @x
      call @__VERIFIER_atomic_end()
      p = load ptr @slot
      d = load i32 p
      q = sdiv i32 12, a
      e = cmp eq i32 b, 2
      condbr e, quit, done
    quit:
      call @exit(i32 q)
      br done
    done:
      ret p
    }
    func @main() -> i32 {
    start:
      a = alloca 8 align 8 \"a\"
      call @pthread_create(ptr a, ptr null, ptr @worker, ptr null)
      call @pthread_create(ptr a, ptr null, ptr @worker, ptr null)
      r = call @worker(ptr null)
      ret 0
    }";

#[test]
fn going_back_works_from_errors_and_ends() {
    assert!(check_undo(WAYS_TO_STOP, 100) > 100);
}

/// Steps a thread to its end.
fn finish(sc: &mut Sc<Interpreter>, thread: ThreadId) {
    while sc.enabled(thread) {
        sc.step(thread, 0).unwrap_or_else(|(_, stop)| panic!("{stop:?}"));
    }
}

fn started(text: &str) -> Sc<Interpreter> {
    let machine = load_with(text, InterpOptions { keep_output: true, ..InterpOptions::default() });
    let Ok(sc) = Sc::start(machine) else { panic!("the program starts without an error") };
    sc
}

#[test]
fn threads_that_run_one_after_the_other_end_and_print() {
    let mut sc = started(LIBRARY_CALLS);
    finish(&mut sc, main_thread());
    let (consumer, producer) = (sc.machine.thread_at(&[0]).unwrap(), sc.machine.thread_at(&[1]).unwrap());
    finish(&mut sc, consumer);
    assert_eq!(sc.machine.status(consumer), Status::Ready);
    finish(&mut sc, producer);
    finish(&mut sc, consumer);
    assert_eq!(sc.machine.status(consumer), Status::Finished);
    finish(&mut sc, main_thread());
    assert!(sc.machine.exited());
    assert_eq!(sc.machine.exit_status(), Some(0));
    assert_eq!(sc.machine.output(), "5 ");
    while sc.depth() > 0 {
        sc.undo();
    }
    assert_eq!(sc.machine.output(), "");
    assert_eq!(sc.machine.status(consumer), Status::Absent);
}

#[test]
fn nothing_is_visible_before_the_first_spawn() {
    let mut sc = started(THREADS);
    assert!(matches!(sc.machine.pending(main_thread()), Op::Spawn { .. }));
    sc.step(main_thread(), 0).unwrap();
    let worker = sc.machine.thread_at(&[0]).unwrap();
    let Op::Access(access) = *sc.machine.pending(worker) else { panic!("the worker starts with a store") };
    assert!(matches!(access.kind, AccessKind::Store { .. }));
}

#[test]
fn the_end_of_a_shared_local_variable_is_an_op() {
    let mut sc = started(THREADS);
    sc.step(main_thread(), 0).unwrap();
    let worker = sc.machine.thread_at(&[0]).unwrap();
    let mut ops = Vec::new();
    for _ in 0..4 {
        ops.push(*sc.machine.pending(worker));
        sc.step(worker, 0).unwrap();
    }
    let Op::Free { addr, size: 4 } = ops[3] else { panic!("{ops:?}") };
    let (id, memory) = (sc.machine.memory().find(addr).unwrap(), sc.machine.memory());
    assert!(!memory.object(id).alive);
    assert_eq!(memory.object(id).kind, ObjectKind::Stack);
}

#[test]
fn addresses_do_not_depend_on_the_schedule() {
    let run = |order: [usize; 2]| {
        let mut sc = started(THREADS);
        sc.step(main_thread(), 0).unwrap();
        sc.step(main_thread(), 0).unwrap();
        let threads = [sc.machine.thread_at(&[0]).unwrap(), sc.machine.thread_at(&[1]).unwrap()];
        order.into_iter().for_each(|n| finish(&mut sc, threads[n]));
        let objects = sc.machine.memory().live_objects(ObjectKind::ThreadLocal);
        objects.map(|id| sc.machine.memory().object(id).base).collect::<Vec<_>>()
    };
    assert_eq!(run([0, 1]), run([1, 0]));
}
