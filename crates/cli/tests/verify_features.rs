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

#[test]
fn what_is_verified_but_cannot_be_enforced_says_so() {
    let place = Place::with("p.c", &source("nested_creation"));
    place.run(&["verify", "p.c", "--ivrs", "1", "-q"]);
    let ended = place.run(&["run", "p.c", "--schedule", "schedule-1.json"]);
    ended.fails_with(3, &["cannot be enforced", "is created by another thread than main"]);
    let copies = "#include <pthread.h>\nstruct s { long a, b; } x;\nvoid *t(void *p) { struct s y = x; return (void *)(y.a + y.b); }\n\
         int main(void) { pthread_t h; pthread_create(&h, 0, t, 0); x.a = 1; x.b = 2; pthread_join(h, 0); return 0; }\n";
    let place = Place::with("p.c", copies);
    place.run(&["verify", "p.c", "--ivrs", "1", "-q"]);
    let ended = place.run(&["run", "p.c", "--schedule", "schedule-1.json"]);
    ended.fails_with(3, &["cannot be enforced", "copies several shared variables as a block"]);
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
