//! What `verify` can encode, against `check`: every program of `tests/verify` is safe as it stands, and goes wrong with `BUG`
//! defined. Both commands have to say so, and what `verify` finds has to go wrong again in `replay`.

mod common;

use common::Place;

/// The programs, and whether everything is looked at; of the last one, that takes long.
const PROGRAMS: &[(&str, bool)] = &[
    ("blocks", true),
    ("nested_creation", true),
    ("pointers", true),
    ("heap", true),
    ("rwlock", true),
    ("condition", false),
];

fn source(name: &str) -> String {
    let path = format!("{}/tests/verify/{name}.c", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect("the program is there")
}

#[test]
fn verify_and_check_agree_and_counterexamples_replay() {
    for &(name, complete) in PROGRAMS {
        let place = Place::with("p.c", &source(name));
        place.run(&["check", "p.c", "--no-data-races", "--nondet", "0..2", "-q"]).exits_with(0);
        if complete {
            let ended = place.run(&["verify", "p.c", "--complete", "--no-files", "-q"]);
            ended.exits_with(0).says(&["safe: "]);
        } else {
            let ended = place.run(&["verify", "p.c", "--ivrs", "12", "--no-files", "-q"]);
            ended.exits_with(4).says(&["12 safe schedules and no counterexample so far"]);
        }
        place.run(&["check", "p.c", "-DBUG", "--no-data-races", "--nondet", "0..2", "-q"]).exits_with(1);
        let ended = place.run(&["verify", "p.c", "-DBUG", "--ivrs", "150", "--no-pictures", "--time", "60s"]);
        assert_eq!(ended.code, 1, "{name}\n{ended}");
        assert!(place.path("trace-1.json").is_file(), "{name} can be replayed\n{ended}");
        place.run(&["replay", "trace-1.json"]).exits_with(1).says(&["error["]);
    }
}

/// Elements that nobody has written may have any value, also if a computed index keeps them from being variables of their own.
#[test]
fn elements_of_local_arrays_are_not_taken_for_zeros() {
    let program = "#include <assert.h>\n#include <pthread.h>\nint i;\nvoid *t(void *p) { i = 1; return p; }\n\
         int main(void) { pthread_t h; int a[4]; pthread_create(&h, 0, t, 0); a[i] = 0;\n  assert(a[1] == 0);\n\
         pthread_join(h, 0); return 0; }\n";
    let place = Place::with("p.c", program);
    let ended = place.run(&["verify", "p.c", "--complete", "--no-files"]);
    ended.exits_with(1).says(&["assertion `a[1] == 0` fails", "partially safe: "]);
}

#[test]
fn what_is_verified_but_cannot_be_enforced_says_so_at_once_and_where() {
    let copies = "struct s { long a, b; } x;\nvoid *t(void *p) {\n  struct s y = x; return (void *)(y.a + y.b); }\n\
         int main(void) { pthread_t h; pthread_create(&h, 0, t, 0); x.a = 1; x.b = 2; pthread_join(h, 0); return 0; }\n";
    let leaves = "int x;\nvoid *t(void *p) { x = *(int *)p; return 0; }\n\
         static void go(pthread_t *h) {\n  int v = 1; pthread_create(h, 0, t, &v);\n}\n\
         int main(void) { pthread_t h; go(&h); pthread_join(h, 0); return 0; }\n";
    let cases = [
        (copies, "p.c:4:", "several shared variables are copied as a block"),
        (leaves, "p.c:6:", "a function returns whose variables other threads may use"),
    ];
    for (program, line, why) in cases {
        let place = Place::with("p.c", &format!("#include <pthread.h>\n{program}"));
        let ended = place.run(&["verify", "p.c", "--ivrs", "1"]);
        ended.says(&["its schedules cannot be enforced: p.c:", line, why]);
        let run = place.run(&["run", "p.c", "--schedule", "schedule-1.json"]);
        run.fails_with(3, &["cannot be enforced", line, why]);
    }
}

#[test]
fn threads_that_create_threads_are_kept_to_their_schedule() {
    let place = Place::with("p.c", &source("nested_creation"));
    place.run(&["verify", "p.c", "--ivrs", "3", "-q"]);
    for schedule in ["schedule-1.json", "schedule-3.json"] {
        for level in ["0", "1", "2"] {
            place.run(&["run", "p.c", "--schedule", schedule, "--opt", level]).exits_with(0);
        }
    }
}

#[test]
fn an_assumption_that_never_holds_is_a_deadlock_and_the_difference_to_check_is_said() {
    let program = "#include <pthread.h>\nvoid __VERIFIER_assume(int);\nint x;\n\
         void *t(void *p) {\n  __VERIFIER_assume(x == 1); return p; }\n\
         int main(void) { pthread_t h; pthread_create(&h, 0, t, 0); pthread_join(h, 0); return 0; }\n";
    let place = Place::with("p.c", program);
    place.run(&["check", "p.c", "-q"]).exits_with(0);
    let ended = place.run(&["verify", "p.c", "--complete"]);
    ended.exits_with(1).says(&[
        "deadlock: ",
        "t waits at p.c:5:",
        "`selvedge check` leaves executions out",
        "unsafe: ",
    ]);
    // A deadlock of locks is one for both.
    let locks = program.replace("__VERIFIER_assume(x == 1)", "pthread_mutex_lock(&m); pthread_mutex_lock(&m)");
    place.write("p.c", locks.replace("int x;", "pthread_mutex_t m;"));
    place.run(&["check", "p.c", "-q"]).exits_with(1);
    let ended = place.run(&["verify", "p.c", "--complete"]);
    ended.exits_with(1).says(&["t waits at p.c:5:"]);
    assert!(!ended.out.contains("selvedge check"), "{ended}");
}

/// What goes wrong in each program, with what stands before the threads, in the second thread, and in `main` before it
/// creates that one, behind that, and behind its join.
const MISUSE: &[(&str, [&str; 5])] = &[
    (
        "is gone|destroyed",
        [
            "pthread_mutex_t m;",
            "pthread_mutex_lock(&m); pthread_mutex_unlock(&m);",
            "",
            "pthread_mutex_destroy(&m);",
            "",
        ],
    ),
    ("destroyed twice", ["pthread_mutex_t m;", "", "", "pthread_mutex_destroy(&m); pthread_mutex_destroy(&m);", ""]),
    (
        "destroyed",
        [
            "pthread_rwlock_t l;",
            "pthread_rwlock_rdlock(&l); pthread_rwlock_unlock(&l);",
            "",
            "pthread_rwlock_destroy(&l);",
            "",
        ],
    ),
    (
        "not initialised",
        [
            "pthread_barrier_t b;",
            "pthread_barrier_wait(&b);",
            "",
            "pthread_barrier_init(&b, 0, 2); pthread_barrier_wait(&b);",
            "",
        ],
    ),
    (
        "initialised while it is held",
        ["pthread_mutex_t m;", "", "pthread_mutex_lock(&m); pthread_mutex_init(&m, 0);", "", ""],
    ),
    ("does not hold", ["pthread_rwlock_t l;", "pthread_rwlock_unlock(&l);", "pthread_rwlock_rdlock(&l);", "", ""]),
    ("joined or detached already", ["", "", "", "", "pthread_join(h, 0);"]),
    ("joined or detached already", ["", "", "", "pthread_detach(h);", ""]),
    ("before it is written", ["pthread_mutex_t *m;", "pthread_mutex_lock(m);", "m = malloc(sizeof *m);", "", ""]),
    (
        "after it was freed",
        [
            "pthread_mutex_t *m;",
            "pthread_mutex_lock(m); pthread_mutex_unlock(m);",
            "m = malloc(sizeof *m); pthread_mutex_init(m, 0);",
            "free(m);",
            "",
        ],
    ),
    ("after it was freed", ["int *q, x;", "x = 1; int y = *q; x = y;", "q = calloc(1, 4);", "free(q);", ""]),
    ("after it was freed", ["char *q;", "memset(q, 0, 4);", "q = malloc(4);", "free(q);", ""]),
    ("after it was freed", ["long *q, d;", "memcpy(&d, q, 8);", "q = malloc(8); *q = 1;", "free(q);", ""]),
    ("after its function has returned", ["int *q;", "int v = 1; q = &v;", "", "", "assert(*q == 1);"]),
    (
        "after its function has returned",
        ["int *f(void) { int v = 3; int *q = &v; return q; }", "", "", "int *q = f(); *q = 1;", ""],
    ),
    ("constant `k` is written", ["const int k = 1;", "*(int *)&k = 2;", "", "", ""]),
    (
        "does not hold",
        ["pthread_mutex_t m; pthread_cond_t c;", "pthread_cond_wait(&c, &m);", "", "pthread_cond_signal(&c);", ""],
    ),
];

/// Misused locks, threads and memory are errors for `verify` as they are for `check`.
#[test]
fn what_is_misused_is_an_error_for_both() {
    for (said, [globals, thread, before, main, behind]) in MISUSE {
        let program = format!(
            "#include <assert.h>\n#include <pthread.h>\n#include <stdlib.h>\n#include <string.h>\n{globals}\n\
             void *t(void *arg) {{ {thread} return 0; }}\n\
             int main(void) {{ pthread_t h; {before} pthread_create(&h, 0, t, 0); {main} pthread_join(h, 0); {behind} return 0; }}\n"
        );
        let place = Place::with("p.c", &program);
        let checked = place.run(&["check", "p.c", "--no-data-races", "-q"]);
        assert_eq!(checked.code, 1, "{program}\n{checked}");
        let ended = place.run(&["verify", "p.c", "--complete", "--no-files"]);
        assert_eq!(ended.code, 1, "{program}\n{ended}");
        assert!(said.split('|').any(|said| ended.out.contains(said)), "`{said}`: {program}\n{ended}");
    }
}

/// What looks alike and is right.
#[test]
fn what_is_used_as_it_should_be_is_safe() {
    let programs = [
        [
            "pthread_mutex_t m;",
            "pthread_mutex_lock(&m); pthread_mutex_unlock(&m);",
            "",
            "",
            "pthread_mutex_destroy(&m); pthread_mutex_init(&m, 0); pthread_mutex_lock(&m);",
        ],
        [
            "pthread_barrier_t b;",
            "pthread_barrier_wait(&b);",
            "pthread_barrier_init(&b, 0, 2);",
            "pthread_barrier_wait(&b); pthread_barrier_destroy(&b);",
            "",
        ],
        [
            "pthread_rwlock_t l; int x;",
            "if (pthread_rwlock_tryrdlock(&l) == 0) pthread_rwlock_unlock(&l);",
            "",
            "pthread_rwlock_wrlock(&l); x = 1; pthread_rwlock_unlock(&l);",
            "pthread_rwlock_destroy(&l);",
        ],
        [
            "int x; void *u(void *q) { *(int *)q = 2; return 0; }",
            "int v = 1; pthread_t k; pthread_create(&k, 0, u, &v); pthread_join(k, 0); x = v;",
            "",
            "",
            "assert(x == 2);",
        ],
        [
            "pthread_mutex_t *m;",
            "pthread_mutex_lock(m); pthread_mutex_unlock(m);",
            "m = malloc(sizeof *m); pthread_mutex_init(m, 0);",
            "",
            "pthread_mutex_destroy(m); free(m);",
        ],
        ["int x;", "int a, *q = &a; if (x) a = 1; x = 2; if (x == 3) x = *q;", "", "", ""],
    ];
    for [globals, thread, before, main, behind] in programs {
        let program = format!(
            "#include <assert.h>\n#include <pthread.h>\n#include <stdlib.h>\n#include <string.h>\n{globals}\n\
             void *t(void *arg) {{ {thread} return 0; }}\n\
             int main(void) {{ pthread_t h; {before} pthread_create(&h, 0, t, 0); {main} pthread_join(h, 0); {behind} return 0; }}\n"
        );
        let place = Place::with("p.c", &program);
        place.run(&["check", "p.c", "--no-data-races", "-q"]).exits_with(0);
        let ended = place.run(&["verify", "p.c", "--complete", "--no-files"]);
        assert_eq!(ended.code, 0, "{program}\n{ended}");
    }
}

#[test]
fn what_stays_refused_is_named_at_its_line() {
    let head = "#include <pthread.h>\n#include <stdlib.h>\n#include <string.h>\nint __VERIFIER_nondet_int(void);\n";
    let cases = [
        (
            "int main(void) {\n  int *p = malloc(__VERIFIER_nondet_int()); return p == 0; }",
            "p.c:6:",
            "size is not fixed",
        ),
        (
            "int main(void) {\n  while (1)\n    if (!malloc(4)) return 1; }",
            "p.c:7:",
            "a number of allocations that is not fixed",
        ),
        (
            "char a[9], b[9];\nint main(void) {\n  memcpy(a, b, __VERIFIER_nondet_int()); return a[1]; }",
            "p.c:7:",
            "size is not fixed",
        ),
        (
            "int x[4], *p; void *t(void *a) { return (void *)(long)*p; }\nint main(void) { pthread_t h; pthread_create(&h, 0, t, 0);\n  p = &x[__VERIFIER_nondet_int() & 3]; return *p; }",
            "p.c:7:",
            "cannot be resolved",
        ),
        (
            "void *t(void *a) { pthread_t h;\n  pthread_create(&h, 0, t, 0); return 0; }\nint main(void) { t(0); return 0; }",
            "p.c:6:",
            "more than 64 threads",
        ),
        ("int main(void) {\n  int *p = realloc(0, 4); return p == 0; }", "p.c:6:", "realloc"),
    ];
    for (program, line, feature) in cases {
        let place = Place::with("p.c", &format!("{head}{program}\n"));
        place.run(&["verify", "p.c"]).fails_with(3, &[line, feature]);
    }
}
