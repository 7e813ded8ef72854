//! The `check` command: verdicts, reports, limits.

mod common;

use common::{COUNTER, LOST_UPDATE, Place};
use std::process::Stdio;
use std::time::Duration;

#[test]
fn a_correct_program_is_verified() {
    let place = Place::with("a.c", COUNTER);
    let ended = place.run(&["check", "a.c", "--model", "sc", "--reductions", "none"]);
    ended.exits_with(0).says(&["verified", "2 executions complete, 0 blocked", "sequential consistency"]);
    let reduced = place.run(&["check", "a.c", "--model", "sc"]);
    reduced.exits_with(0).says(&["1 execution complete, 0 blocked", "reductions ifaa, observers"]);
}

#[test]
fn a_violation_is_shown_step_by_step_and_can_be_replayed() {
    let place = Place::with("a.c", LOST_UPDATE);
    let ended = place.run(&["check", "a.c"]);
    ended.exits_with(1).says(&[
        "error[assertion]",
        "a.c:20",
        "assert(count == 2);",
        "Interleaving",
        "| main",
        "worker",
        "read count (0)",
        "count = 1",
        "selvedge replay selvedge-trace.json",
    ]);
    let again = place.run(&["replay", "selvedge-trace.json"]);
    again.exits_with(1).says(&["error[assertion]", "read count (0)"]);
    let table = |text: &str| text.lines().filter(|line| line.contains(" | ")).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(table(&ended.out), table(&again.out), "the same execution is shown");
}

#[test]
fn a_report_on_cpp_is_in_the_users_own_lines() {
    let place = Place::with(
        "a.cpp",
        "#include <atomic>\n#include <cassert>\n#include <thread>\nstd::atomic<int> x{0};\n\
         void worker(int n) { x.fetch_add(n); }\n\
         int main() {\n  std::thread a(worker, 1), b([] { x.store(5); });\n  a.join();\n  b.join();\n  assert(x == 6);\n}\n",
    );
    let ended = place.run(&["check", "a.cpp"]);
    ended.exits_with(1).says(&["| worker", "| lambda:7", "create worker", "join lambda:7"]);
    let of_step = |text: &str| {
        let line = ended.out.lines().find(|line| line.contains(text)).unwrap_or_else(|| panic!("no {text}\n{ended}"));
        line.split('|').next().expect("a first part").trim().rsplit(' ').next().expect("a place").to_owned()
    };
    assert_eq!((of_step("x += 1"), of_step("x = 5")), ("a.cpp:5".to_owned(), "a.cpp:7".to_owned()), "{ended}");
}

#[test]
fn arguments_may_be_negative_numbers() {
    let text = "#include <assert.h>\n#include <stdlib.h>\nint main(int n, char **v) { assert(atoi(v[1]) == -5); }\n";
    Place::with("a.c", text).run(&["check", "a.c", "--args", "-5"]).exits_with(0);
}

#[test]
fn a_trace_of_another_program_is_refused() {
    let place = Place::with("a.c", LOST_UPDATE);
    place.run(&["check", "a.c", "--trace", "t.json"]).exits_with(1);
    place.write("a.c", COUNTER);
    place.run(&["replay", "t.json"]).fails_with(3, &["t.json", "another program"]);
}

#[test]
fn a_program_that_moved_with_its_trace_is_the_same_program() {
    let place = Place::with("a.c", LOST_UPDATE);
    place.run(&["check", "a.c", "--trace", "t.json"]).exits_with(1);
    let elsewhere = Place::with("a.c", LOST_UPDATE);
    elsewhere.write("t.json", place.read("t.json"));
    elsewhere.run(&["replay", "t.json"]).exits_with(1);
}

#[test]
fn a_trace_can_be_replayed_from_another_directory() {
    let place = Place::with("a.c", LOST_UPDATE);
    place.run(&["check", "a.c", "--trace", "t.json"]).exits_with(1);
    let elsewhere = Place::new();
    let trace = place.path("t.json").display().to_string();
    elsewhere.run(&["replay", &trace]).exits_with(1).says(&["assert(count == 2);"]);
}

#[test]
fn a_program_in_another_directory_is_shown_with_its_source() {
    let (place, elsewhere) = (Place::with("a.c", LOST_UPDATE), Place::new());
    let file = place.path("a.c").display().to_string();
    elsewhere.run(&["check", &file]).exits_with(1).says(&[&format!("--> {file}:20"), "assert(count == 2);"]);
}

#[test]
fn traces_that_are_no_traces() {
    let place = Place::with("t.json", "{}");
    place.run(&["replay", "t.json"]).fails_with(3, &["not a trace"]);
    place.run(&["replay", "missing.json"]).fails_with(2, &["missing.json"]);
    let place = Place::with("a.c", COUNTER);
    place.run(&["check", "a.c", "--json", "r.json"]).exits_with(0);
    place.run(&["replay", "r.json"]).fails_with(3, &["no violation"]);
}

#[test]
fn json_on_standard_output_stands_alone() {
    let place = Place::with("a.c", LOST_UPDATE);
    let ended = place.run(&["check", "a.c", "--model", "sc", "--json", "-"]);
    let report = ended.exits_with(1).json();
    assert_eq!(report["version"], 1);
    assert_eq!(report["verdict"], "violation");
    assert_eq!(report["model"], "sc");
    assert_eq!(report["engine"], "trace");
    assert_eq!(report["algorithm"], "optimal");
    assert_eq!(report["reductions"], serde_json::json!(["ifaa", "observers", "purity", "await"]));
    let violation = &report["violations"][0];
    assert_eq!(violation["kind"], "assertion");
    assert_eq!(violation["locations"][0]["line"], 20);
    assert!(violation["locations"][0]["file"].as_str().is_some_and(|file| file.ends_with("a.c")));
    assert!(violation["schedule"]["steps"].as_array().is_some_and(|steps| !steps.is_empty()));
    assert!(report["seconds"].as_f64().is_some_and(|seconds| seconds >= 0.0));
    assert!(!place.path("selvedge-trace.json").exists(), "scripts do not want files that they did not ask for");
}

#[test]
fn json_of_a_verified_program_has_exact_counts() {
    for (algorithm, complete) in [("optimal", 2), ("source", 2)] {
        let ended = Place::with("a.c", COUNTER).run(&[
            "check",
            "a.c",
            "--reductions",
            "none",
            "--algorithm",
            algorithm,
            "--json",
            "-",
        ]);
        let report = ended.exits_with(0).json();
        assert_eq!(report["verdict"], "verified");
        assert_eq!(report["executions"]["complete"], complete);
        assert_eq!(report["executions"]["blocked"], 0);
        assert_eq!(report["not_covered"], serde_json::json!([]));
        assert_eq!(report["violations"], serde_json::json!([]));
    }
}

#[test]
fn json_is_written_even_if_the_program_cannot_be_loaded() {
    let ended = Place::with("a.c", "int main(").run(&["check", "a.c", "--json", "-"]);
    let report = ended.exits_with(3).json();
    assert_eq!(report["verdict"], "incomplete");
    assert!(report["error"].as_str().is_some_and(|error| error.contains("a.c")));
}

#[test]
fn a_report_in_a_file_serves_as_the_trace() {
    let place = Place::with("a.c", LOST_UPDATE);
    place.run(&["check", "a.c", "--json", "r.json"]).exits_with(1).says(&["selvedge replay r.json"]);
    place.run(&["replay", "r.json"]).exits_with(1);
    assert!(!place.path("selvedge-trace.json").exists());
}

#[test]
fn all_lists_distinct_violations() {
    let text = r#"
        #include <assert.h>
        #include <pthread.h>
        #include <stdatomic.h>
        atomic_int x, y;
        void *worker(void *arg) { x = 1; y = 1; return 0; }
        int main(void) {
            pthread_t t;
            pthread_create(&t, 0, worker, 0);
            int seen = x;
            int other = y;
            assert(seen == 0);
            assert(other == 0);
            pthread_join(t, 0);
            return 0;
        }"#;
    let place = Place::with("a.c", text);
    let first = place.run(&["check", "a.c", "--json", "-"]).exits_with(1).json();
    assert_eq!(first["violations"].as_array().map(Vec::len), Some(1));
    let all = place.run(&["check", "a.c", "--all", "--json", "r.json"]);
    all.exits_with(1).says(&["2 distinct violations", "--violation 2"]);
    place.run(&["replay", "r.json", "--violation", "2"]).exits_with(1);
    place.run(&["replay", "r.json", "--violation", "3"]).fails_with(3, &["no number 3"]);
}

#[test]
fn limits_make_the_answer_incomplete() {
    let place = Place::with("a.c", COUNTER);
    let ended = place.run(&["check", "a.c", "--reductions", "none", "--max-executions", "1"]);
    ended.exits_with(4).says(&["incomplete", "--max-executions"]);
    place.run(&["check", "a.c", "--max-events", "3"]).exits_with(4).says(&["incomplete", "--max-events"]);
}

/// A program with more executions than anybody will wait for.
const ENDLESS: &str = r#"
    #include <pthread.h>
    #include <stdatomic.h>
    atomic_int x;
    void *worker(void *arg) { for (int i = 0; i < 20; i++) x = x + 1; return 0; }
    int main(void) {
        pthread_t t[4];
        for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, worker, 0);
        for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
        return 0;
    }"#;

#[test]
fn time_is_a_limit() {
    let place = Place::with("a.c", ENDLESS);
    let ended = place.run(&["check", "a.c", "--time", "300ms", "--json", "-"]);
    let report = ended.exits_with(4).json();
    assert_eq!(report["verdict"], "incomplete");
    assert!(report["not_covered"][0].as_str().is_some_and(|text| text.contains("--time")), "{report}");
}

#[cfg(unix)]
#[test]
fn an_interrupt_reports_what_was_covered() {
    let place = Place::with("a.c", ENDLESS);
    let mut command = place.command(&["check", "a.c", "--time", "60s"]);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    // Time enough to compile; an interrupt that comes earlier is answered as well, but has nothing to report.
    std::thread::sleep(Duration::from_secs(3));
    let sent = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.expect("kill is there").success());
    let output = child.wait_with_output().expect("it ends");
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(4), "{text}");
    assert!(text.contains("interrupted") && text.contains("executions complete"), "{text}");
}

#[test]
fn a_loop_bound_is_part_of_the_question() {
    let text = r#"
        int main(void) {
            int sum = 0;
            for (int i = 0; i < 10; i++) sum += i;
            return sum == 0;
        }"#;
    let place = Place::with("a.c", text);
    let ended = place.run(&["check", "a.c", "--unroll", "3"]);
    ended.exits_with(0).says(&["verified", "no error up to 3 iterations of the loop at a.c:4"]);
    place.run(&["check", "a.c", "--unroll", "20"]).exits_with(0);
}

#[test]
fn what_counts_as_an_error_can_be_chosen() {
    let leak = "#include <stdlib.h>\nint main(void) { malloc(8); return 0; }\n";
    let place = Place::with("leak.c", leak);
    place.run(&["check", "leak.c"]).exits_with(0);
    place.run(&["check", "leak.c", "--leaks"]).exits_with(1).says(&["error[leak]"]);
    let place = Place::with("exit.c", "int main(void) { return 3; }\n");
    place.run(&["check", "exit.c"]).exits_with(0);
    place.run(&["check", "exit.c", "--exit-code-errors"]).exits_with(1).says(&["error[abort]"]);
    let race = COUNTER.replace("atomic_int count", "int count").replace("atomic_fetch_add(&count, 1)", "count = 1");
    let place = Place::with("race.c", &race.replace("count == 2", "count == 1"));
    place.run(&["check", "race.c"]).exits_with(1).says(&["error[data-race]"]);
    place.run(&["check", "race.c", "--no-data-races"]).exits_with(0).says(&["data races (--no-data-races)"]);
    let stuck = r#"
        #include <pthread.h>
        pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
        int main(void) { pthread_mutex_lock(&m); pthread_mutex_lock(&m); return 0; }"#;
    let place = Place::with("stuck.c", stuck);
    place.run(&["check", "stuck.c"]).exits_with(1).says(&["error[deadlock]", "main waits in lock m"]);
    place.run(&["check", "stuck.c", "--no-deadlocks"]).exits_with(0).says(&["1 blocked"]);
}

#[test]
fn what_is_taken_for_granted_is_named() {
    let relaxed = COUNTER.replace("count, 1)", "count, 1, memory_order_relaxed)");
    let relaxed = relaxed.replace("atomic_fetch_add(", "atomic_fetch_add_explicit(");
    let place = Place::with("a.c", &relaxed);
    place.run(&["check", "a.c", "--model", "sc"]).exits_with(0).says(&["not covered", "weak memory"]);
    let ended = place.run(&["check", "a.c"]);
    assert!(!ended.exits_with(0).out.contains("weak memory"), "{ended}");
}

#[test]
fn programs_with_atomics_run_under_rc11_and_others_under_sc() {
    let place = Place::with("a.c", COUNTER);
    place.run(&["check", "a.c"]).exits_with(0).says(&["RC11", "graph engine"]);
    let locked = r#"#include <pthread.h>
        int count; pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
        void *f(void *a) { pthread_mutex_lock(&m); count++; pthread_mutex_unlock(&m); return a; }
        int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); f(0); pthread_join(t, 0); return count - 2; }"#;
    place.write("b.c", locked);
    place.run(&["check", "b.c"]).exits_with(0).says(&["sequential consistency", "trace engine"]);
    for model in ["sc", "tso", "ra", "rc11"] {
        place.run(&["check", "b.c", "--engine", "graph", "--model", model]).exits_with(0).says(&["2 executions"]);
    }
}

#[test]
fn what_only_the_trace_engine_can_run_is_run_by_it_and_said() {
    // The halves of a word, and the word.
    let mixed = r#"#include <pthread.h>
        #include <stdatomic.h>
        union { _Atomic int whole; _Atomic short half[2]; } u;
        void *f(void *a) { atomic_store(&u.half[0], 1); return a; }
        int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); atomic_store(&u.whole, 2); pthread_join(t, 0);
            return 0; }"#;
    let place = Place::with("a.c", mixed);
    let words = ["trace engine", "accesses of different sizes", "not covered"];
    place.run(&["check", "a.c"]).exits_with(0).says(&words);
    place.run(&["check", "a.c", "--model", "rc11"]).exits_with(3).says(&["not supported", "a.c:", "different sizes"]);
}

/// Store buffering, an assertion that it violates, and then something that the graph engine cannot explore.
const LOST: &str = r#"#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
atomic_int x, y;
int a, b;
union { _Atomic int whole; _Atomic short half[2]; } u;
void *f(void *z) { atomic_store_explicit(&x, 1, memory_order_relaxed);
    a = atomic_load_explicit(&y, memory_order_relaxed); return z; }
void *g(void *z) { atomic_store_explicit(&y, 1, memory_order_relaxed);
    b = atomic_load_explicit(&x, memory_order_relaxed); return z; }
int main(void) {
    pthread_t s, t;
    pthread_create(&s, 0, f, 0); pthread_create(&t, 0, g, 0);
    pthread_join(s, 0); pthread_join(t, 0);
    assert(a || b);
    if (b == 0) { atomic_store(&u.whole, 1); atomic_store(&u.half[1], 1); }
    return 0; }"#;

#[test]
fn a_violation_stays_one_if_something_that_is_not_supported_comes_later() {
    let place = Place::with("a.c", LOST);
    place.run(&["check", "a.c"]).exits_with(1).says(&["error[assertion]"]);
    place.run(&["check", "a.c", "--all"]).exits_with(1).says(&["error[assertion]"]);
}

#[test]
fn what_nobody_can_explore_is_told_of_the_engine_that_was_meant() {
    let text = "#include <stdatomic.h>\natomic_int x;\nint mystery(void);\nint main(void) { x = 1; return mystery(); }";
    let ended = Place::with("a.c", text).run(&["check", "a.c"]);
    ended.exits_with(3).says(&["mystery", "a.c:4"]);
    assert!(!ended.out.contains("weak memory: not"), "{}", ended.out);
}

#[test]
fn jobs_that_have_no_effect_are_part_of_the_verdict() {
    let text = "int main(void) { return 0; }";
    Place::with("a.c", text).run(&["check", "a.c", "--jobs", "3"]).exits_with(0).says(&["--jobs has no effect"]);
}

#[test]
fn a_free_that_nothing_orders_behind_a_use_is_a_race() {
    let text = r#"#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
int *p;
atomic_int done;
void *f(void *z) { int v = *p; atomic_store_explicit(&done, v, ORDER); return z; }
int main(void) {
    pthread_t t;
    p = malloc(sizeof *p); *p = 1;
    pthread_create(&t, 0, f, 0);
    if (atomic_load_explicit(&done, memory_order_acquire)) free(p);
    pthread_join(t, 0);
    return 0; }"#;
    let place = Place::with("a.c", text);
    for engine in ["trace", "graph"] {
        let run = |order| place.run(&["check", "a.c", "--engine", engine, "--model", "sc", "-D", order]);
        run("ORDER=memory_order_release").exits_with(0);
        run("ORDER=memory_order_relaxed").exits_with(1).says(&["free by main", "read by f"]);
    }
}

#[test]
fn a_limit_of_time_is_kept_where_steps_are_long() {
    let text = r#"#include <pthread.h>
#include <stdatomic.h>
atomic_int x;
volatile int waste;
void *f(void *z) { for (int n = 0; n < 40; n++) { atomic_fetch_add(&x, 1); for (int k = 0; k < 300000; k++) waste++; }
    return z; }
int main(void) { pthread_t s, t; pthread_create(&s, 0, f, 0); pthread_create(&t, 0, f, 0);
    pthread_join(s, 0); pthread_join(t, 0); return 0; }"#;
    let place = Place::with("a.c", text);
    let ended = place.run(&["check", "a.c", "--reductions", "none", "--time", "200ms", "--json", "-"]);
    let seconds = ended.exits_with(4).json()["seconds"].as_f64().expect("a number");
    // A thousand steps would take minutes.
    assert!(seconds < 20.0, "{seconds}");
}

#[test]
fn an_estimate_is_told_to_scripts_too_and_says_why_there_is_none() {
    let place = Place::with("a.c", COUNTER);
    let json = place.run(&["check", "a.c", "--estimate", "--time", "50ms", "--json", "-"]).exits_with(4).json();
    assert_eq!(json["estimate"]["complete"].as_f64(), Some(2.0));
    place.write(
        "b.c",
        "#include <stdatomic.h>\natomic_int x;\nint mystery(void);\nint main(void) { x = 1; mystery(); }",
    );
    place.run(&["check", "b.c", "--estimate"]).fails_with(3, &["mystery", "b.c:4"]);
    place.write("c.c", "#include <stdatomic.h>\natomic_int x;\nint main(void) { while (1) x++; }");
    let forever = ["check", "c.c", "--estimate", "--max-events", "1000"];
    place.run(&forever).fails_with(3, &["it may never end", "c.c:3"]);
    let text = "#include <stdatomic.h>\n#include <pthread.h>\natomic_int x;\nvoid *f(void *z) { for (;;) x++; return z; }\n\
        int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_join(t, 0); }";
    place.write("d.c", text);
    place.run(&["check", "d.c", "--estimate", "--max-events", "1000"]).fails_with(3, &["f may never end"]);
}

#[test]
fn several_jobs_count_the_same_and_an_estimate_is_near() {
    let place = Place::with("a.c", COUNTER);
    let one = place.run(&["check", "a.c", "--json", "-"]).exits_with(0).json();
    let two = place.run(&["check", "a.c", "--jobs", "2", "--json", "-"]).exits_with(0).json();
    assert_eq!(one["executions"], two["executions"]);
    place.run(&["check", "a.c", "--estimate", "--time", "50ms"]).exits_with(4).says(&["about 2 executions", "walks"]);
}

#[test]
fn the_graph_of_an_execution_has_a_cluster_per_thread() {
    let place = Place::with("a.c", LOST_UPDATE);
    place.run(&["check", "a.c", "--dot", "g.dot"]).exits_with(1);
    let graph = place.read("g.dot");
    assert!(graph.starts_with("digraph"), "{graph}");
    assert_eq!(graph.matches("subgraph cluster_").count(), 3, "{graph}");
    assert!(graph.contains("label=rf") && graph.contains("label=spawn") && graph.contains("label=join"), "{graph}");
}

#[test]
fn colours_are_for_terminals() {
    let place = Place::with("a.c", LOST_UPDATE);
    assert!(!place.run(&["check", "a.c"]).out.contains('\u{1b}'));
    assert!(place.run(&["check", "a.c", "--color", "always"]).out.contains('\u{1b}'));
}

#[test]
fn quiet_is_one_line_per_violation_and_the_verdict() {
    let place = Place::with("a.c", LOST_UPDATE);
    let ended = place.run(&["check", "a.c", "--quiet"]);
    ended.exits_with(1).says(&["a.c:20", "error[assertion]"]);
    assert_eq!(ended.out.lines().count(), 2, "{ended}");
}

#[test]
fn macros_and_flags_reach_clang() {
    let text = "#ifndef FLAG\n#error no flag\n#endif\nint main(void) { return N - 3; }\n";
    let place = Place::with("a.c", text);
    place.run(&["check", "a.c", "-D", "N=3", "--exit-code-errors", "--", "-DFLAG"]).exits_with(0);
    place.run(&["check", "a.c", "-DN=4", "--exit-code-errors", "--", "-DFLAG"]).exits_with(1);
    place.run(&["check", "a.c", "-DN=4"]).fails_with(3, &["no flag"]);
}

#[test]
fn include_directories_reach_clang() {
    let place = Place::with("a.c", "#include \"h.h\"\nint main(void) { return VALUE; }\n");
    std::fs::create_dir(place.path("inc")).expect("the directory is ours");
    place.write("inc/h.h", "#define VALUE 0\n");
    place.run(&["check", "a.c", "-I", "inc"]).exits_with(0);
}

#[test]
fn several_files_make_one_program() {
    let place = Place::with("a.c", "int helper(void);\nint main(void) { return helper(); }\n");
    place.write("b.c", "int helper(void) { return 0; }\n");
    place.run(&["check", "a.c", "b.c", "--exit-code-errors"]).exits_with(0);
}

#[test]
fn the_printed_output_belongs_to_the_execution_that_is_shown() {
    let text = LOST_UPDATE.replace("int seen = count;", "int seen = count; printf(\"saw %d\\n\", seen);");
    let place = Place::with("a.c", &text.replace("#include <assert.h>", "#include <assert.h>\n#include <stdio.h>"));
    let ended = place.run(&["check", "a.c"]);
    ended.exits_with(1).says(&["Output of this execution:", "| saw 0"]);
    assert_eq!(ended.out.matches("| saw 0").count(), 2, "both threads saw 0\n{ended}");
}

#[test]
fn a_program_prints_the_same_as_natively() {
    let text =
        "#include <stdio.h>\nint main(void) { for (int i = 0; i < 3; i++) printf(\"%d\\n\", i * i); return 0; }\n";
    let ended = Place::with("a.c", text).run(&["run", "a.c"]);
    ended.exits_with(0);
    assert_eq!(ended.out, "0\n1\n4\n");
}

#[test]
fn the_printed_form_of_a_program_can_be_checked() {
    let place = Place::with("a.c", COUNTER);
    let printed = place.run(&["ir", "a.c"]);
    place.write("a.sir", &printed.exits_with(0).out);
    let report = place.run(&["check", "a.sir", "--reductions", "none", "--json", "-"]).exits_with(0).json();
    assert_eq!(report["executions"]["complete"], 2);
    let raw = place.run(&["ir", "--raw", "a.c"]);
    assert!(raw.exits_with(0).out.contains("alloca"), "before the passes, variables are in memory\n{raw}");
}

#[test]
fn models_are_listed() {
    Place::new().run(&["models"]).exits_with(0).says(&["pthread_mutex_lock\n", "malloc\n"]);
    Place::new().run(&["models", "no_such_function"]).fails_with(2, &["no_such_function"]);
}

#[test]
fn help_teaches() {
    let place = Place::new();
    place.run(&["--help"]).exits_with(0).says(&["Examples:", "Exit codes:"]);
    place.run(&["check", "--help"]).exits_with(0).says(&["--max-executions", "--json", "Exit codes:"]);
    place.run(&["--version"]).exits_with(0).says(&["selvedge 0."]);
}

#[test]
fn threads_that_spin_on_a_flag_wait() {
    let text = r#"#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
atomic_flag flag = ATOMIC_FLAG_INIT;
atomic_bool taken;
atomic_uint bits;
int n;
#ifdef FLAG
#define LOCK while (atomic_flag_test_and_set(&flag)) {}
#define UNLOCK atomic_flag_clear(&flag)
#elif defined(BOOL)
#define LOCK while (atomic_exchange(&taken, true)) {}
#define UNLOCK atomic_store(&taken, false)
#else
#define LOCK while (atomic_fetch_or(&bits, 4) & 4) {}
#define UNLOCK atomic_fetch_and(&bits, ~4u)
#endif
void *f(void *z) { LOCK n++; UNLOCK; return z; }
int main(void) {
    pthread_t t[3];
    for (int k = 0; k < 3; k++) pthread_create(&t[k], 0, f, 0);
    for (int k = 0; k < 3; k++) pthread_join(t[k], 0);
    return 0; }"#;
    let place = Place::with("a.c", text);
    for lock in ["FLAG", "BOOL", "BITS"] {
        for model in ["sc", "rc11"] {
            let run = ["check", "a.c", "--engine", "graph", "--model", model, "-D", lock];
            place.run(&run).exits_with(0).says(&["6 executions complete, 0 blocked"]);
        }
    }
}
