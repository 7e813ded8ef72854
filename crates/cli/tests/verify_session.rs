//! `selvedge verify` from the first result to the last: what it writes, what scripts read, and how it ends early.

mod common;

use common::{Ended, Place, finish, workspace};
use serde_json::Value;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn example(name: &str) -> String {
    workspace().join("examples/schedules").join(name).display().to_string()
}

/// The report on standard output.
fn report(place: &Place, args: &[&str]) -> (Ended, Value) {
    let ended = place.run(&[&["verify", "--json", "-"], args].concat());
    let report = ended.json();
    (ended, report)
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().expect("a list").iter().map(|text| text.as_str().expect("a text")).collect()
}

#[test]
fn the_report_tells_the_whole_session() {
    let place = Place::new();
    let (ended, report) = report(&place, &[&example("producer_consumer_bug.c"), "--complete", "--output", "out"]);
    ended.exits_with(1);
    assert_eq!(report["version"], 1);
    assert_eq!(report["answer"], "partially safe");
    assert_eq!(report["exit_code"], 1);
    assert_eq!(texts(&report["threads"]), ["main", "producer", "consumer"]);
    assert_eq!(report["solver"]["name"], "embedded");
    assert!(report["solver"]["questions"].as_u64() > report["solver"]["by_rewriting"].as_u64());
    assert!(report["load_seconds"].as_f64() > report["clang_seconds"].as_f64());
    assert!(report["clang_seconds"].as_f64() > Some(0.0));
    let iterations = report["iterations"].as_array().expect("a list");
    let first = &iterations[0];
    assert_eq!(first["kind"], "safe");
    assert_eq!(texts(&first["adds"]), ["producer and consumer take turns"]);
    assert!(first["nodes"].as_u64().expect("a number") > 5 && first["seconds"].is_number());
    for file in texts(&first["files"]) {
        assert!(place.path(file).is_file(), "{file} was written");
    }
    let wrong = iterations.iter().find(|one| one["kind"] == "counterexample").expect("there is one");
    assert_eq!(wrong["error"], "assertion");
    assert_eq!(wrong["location"]["line"], 29);
    let steps = wrong["steps"].as_array().expect("a list");
    assert!(steps.iter().any(|step| step["thread"] == "consumer" && step["location"]["line"].is_number()));
    assert_eq!(texts(&wrong["files"]), ["out/trace-1.json"]);
    assert_eq!(wrong["no_trace"], Value::Null);
}

#[test]
fn a_counterexample_names_the_inputs_that_lead_to_it() {
    let program = "#include <assert.h>\nint __VERIFIER_nondet_int(void);\n\
         int main(void) { int a = __VERIFIER_nondet_int(); assert(a * 3 != 21); return 0; }\n";
    let place = Place::with("p.c", program);
    let (ended, report) = report(&place, &["p.c"]);
    ended.exits_with(1);
    assert_eq!(report["answer"], "unsafe");
    let inputs = &report["iterations"][0]["steps"][0]["inputs"];
    assert_eq!(*inputs, serde_json::json!([{ "name": "input", "value": 7 }]));
    place.run(&["replay", "trace-1.json"]).exits_with(1).says(&["assertion `a * 3 != 21` failed"]);
}

#[test]
fn the_pictures_show_tree_and_schedule() {
    let place = Place::new();
    place.run(&["verify", &example("producer_consumer_bug.c"), "--ivrs", "2", "--dot"]);
    for n in 1..=2 {
        let svg = place.read(&format!("schedule-{n}.svg"));
        assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"));
        for text in [&format!("tree of safe schedule {n}"), "s0 to s1", "consumer: lock", "marker-end"] {
            assert!(svg.contains(text), "{text}");
        }
        assert_eq!(svg.matches("<g>").count(), svg.matches("</g>").count());
        let dot = place.read(&format!("schedule-{n}.dot"));
        assert!(dot.contains("cluster_tree") && dot.contains("cluster_0_0"), "{dot}");
        assert_eq!(dot.matches('{').count(), dot.matches('}').count());
    }
    let place = Place::new();
    place.run(&["verify", &example("double_lock.c"), "--ivrs", "1", "--no-pictures"]);
    assert!(place.path("schedule-1.json").is_file() && !place.path("schedule-1.svg").exists());
}

#[test]
fn a_schedule_belongs_to_the_program_however_its_file_is_named() {
    let place = Place::with("worker.c", "");
    std::fs::create_dir(place.path("sub")).expect("the directory is ours");
    let program = "#include <assert.h>\n#include <pthread.h>\n#include \"part.h\"\nint x;\n\
         void *worker(void *arg) { x = x + 1; check(x); return 0; }\n\
         int main(void) { pthread_t t; pthread_create(&t, 0, worker, 0); pthread_join(t, 0); assert(x == VALUE); return x; }\n";
    place.write("sub/part.h", "static void check(int x) { assert(x > 0); }\n");
    place.write("sub/worker.c", program);
    place.run(&["verify", "sub/worker.c", "-DVALUE=1", "--ivrs", "1", "-q"]);
    let absolute = place.path("sub/worker.c").display().to_string();
    for name in ["sub/worker.c", "./sub/worker.c", "sub/../sub/worker.c", &absolute] {
        place.run(&["run", name, "--schedule", "schedule-1.json"]).exits_with(1);
    }
    let mut inside = place.command(&["run", "worker.c", "--schedule", "../schedule-1.json"]);
    inside.current_dir(place.path("sub"));
    finish(inside).exits_with(1);
    // Another text of the assertion is another program, and so is another one in the header.
    let refused = ["another program, or to another version"];
    place.run(&["run", "sub/worker.c", "-DVALUE=2", "--schedule", "schedule-1.json"]).fails_with(3, &refused);
    place.write("sub/part.h", "static void check(int x) { assert(x > 1); }\n");
    place.run(&["run", "sub/worker.c", "--schedule", "schedule-1.json"]).fails_with(3, &refused);
}

#[test]
fn ctrl_c_keeps_the_last_safe_schedule() {
    let place = Place::new();
    let program = example("producer_consumer_4p4c.c");
    let mut command = place.command(&["verify", &program, "--complete", "--json", "report.json"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the command starts");
    let end = Instant::now() + Duration::from_secs(60);
    while !place.path("schedule-2.json").is_file() {
        assert!(
            Instant::now() < end && child.try_wait().expect("ours").is_none(),
            "it goes on until it is interrupted"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().expect("kill runs").success());
    let status = child.wait().expect("the child is ours");
    assert_eq!(status.code(), Some(4));
    let report: Value = serde_json::from_str(&place.read("report.json")).expect("a report");
    assert_eq!(report["answer"], "incomplete");
    assert!(report["means"].as_str().expect("a text").contains("interrupted"), "{report}");
    let safe = report["iterations"].as_array().expect("a list").iter().filter(|one| one["kind"] == "safe");
    let written = safe.filter_map(|one| one["files"].as_array().filter(|files| !files.is_empty()).cloned()).next_back();
    let written = written.expect("the last one is written");
    let last = written[0].as_str().expect("a text");
    place.run(&["run", &program, "--schedule", last, "--time", "200ms"]).exits_with(0);
}

#[test]
fn a_solver_that_gives_up_makes_the_answer_incomplete() {
    let program = "#include <assert.h>\nlong __VERIFIER_nondet_long(void);\n\
         int main(void) { long a = __VERIFIER_nondet_long(), b = __VERIFIER_nondet_long();\n\
         if (a > 1 && b > 1 && a < 1000000000 && b < 1000000000) assert(a * b != 1000000016000000063); return 0; }\n";
    let place = Place::with("p.c", program);
    let ended = place.run(&["verify", "p.c", "--solver-time", "1ms"]);
    ended
        .exits_with(4)
        .says(&["incomplete: nothing was shown so far", "the solver gave up on a question (--solver-time)"]);
}

#[test]
fn z3_is_asked_for_by_name_or_said_how_to_get() {
    let place = Place::new();
    let args = ["verify", &example("producer_consumer_bug.c"), "--solver", "z3", "--complete", "--no-files", "-q"];
    if Command::new("z3").arg("-version").stdout(Stdio::null()).status().is_ok() {
        place.run(&args).exits_with(1).says(&["partially safe: "]);
    } else {
        println!("SKIPPED: z3 is not installed");
    }
    let clang =
        std::env::var_os("SELVEDGE_CLANG").map_or_else(clang_on_path, |path| path.to_string_lossy().into_owned());
    let mut command = place.command(&args);
    command.env("PATH", place.path("nothing")).env("SELVEDGE_CLANG", clang);
    finish(command).fails_with(2, &["z3 cannot be started", "apt install z3", "--solver embedded"]);
}

/// The full name of clang.
fn clang_on_path() -> String {
    let path = std::env::var_os("PATH").expect("there is a PATH");
    let found = std::env::split_paths(&path).map(|dir| dir.join("clang")).find(|file| file.is_file());
    found.expect("clang is needed by all tests").display().to_string()
}

#[test]
fn programs_that_never_end_or_never_go_on_have_an_answer() {
    let place = Place::with("spin.c", "int main(void) { while (1) ; }\n");
    place.run(&["verify", "spin.c", "--complete", "--no-files"]).exits_with(0).says(&["main goes on and on", "safe: "]);
    place.write("stuck.c", "void __VERIFIER_assume(int);\nint main(void) { __VERIFIER_assume(0); return 0; }\n");
    let ended = place.run(&["verify", "stuck.c", "--complete", "--no-files"]);
    assert!(matches!(ended.code, 1 | 4), "a program that cannot go on is not safe\n{ended}");
    let counter = "#include <assert.h>\nint main(void) { unsigned n = 0; while (1) { n = n + 2; assert(n != 7); } }\n";
    place.write("counter.c", counter);
    let ended = place.run(&["verify", "counter.c", "--complete", "--no-files", "--time", "2s"]);
    assert!(matches!(ended.code, 0 | 4), "it is safe, whether or not that is found out\n{ended}");
}

#[test]
fn the_time_counts_while_a_large_program_is_read() {
    let body: String = (0..6_000).map(|n| format!("  x{} = x{} + {n};\n", n % 7, (n + 1) % 7)).collect();
    let program = format!(
        "#include <pthread.h>\nint x0, x1, x2, x3, x4, x5, x6;\nvoid *t(void *p) {{\n{body}  return p;\n}}\n\
         int main(void) {{\n  pthread_t h;\n  pthread_create(&h, 0, t, 0);\n{body}  pthread_join(h, 0);\n  return 0;\n}}\n"
    );
    let place = Place::with("large.c", &program);
    let ended = place.run(&["verify", "large.c", "--no-files", "--time", "1ms"]);
    ended.exits_with(4);
    assert!(ended.err.contains("the time is up, before the program was read"), "{ended}");
}

#[test]
fn wrong_files_and_places_are_said_plainly() {
    let place = Place::with("empty.c", "");
    place.run(&["verify", "empty.c"]).fails_with(3, &["a program without `main`"]);
    place.write("notes.txt", "nothing to verify\n");
    let ended = place.run(&["verify", "notes.txt"]);
    assert!(matches!(ended.code, 2 | 3), "{ended}");
    place.write("noise.c", [0_u8, 159, 146, 150, 10]);
    place.run(&["verify", "noise.c"]).fails_with(3, &[]);
    place.run(&["verify", "missing.c"]).fails_with(2, &["missing.c"]);
    place.write("ok.c", "int main(void) { return 0; }\n");
    place.run(&["verify", "ok.c", "--output", "ok.c/below"]).fails_with(2, &["cannot be written to"]);
    place.run(&["verify", "ok.c", "--json", "no/such/place.json"]).fails_with(2, &["cannot be written"]);
    place.run(&["verify", "ok.c", "--solver", "yices"]).fails_with(2, &["embedded", "z3"]);
}

#[test]
fn check_says_what_verify_could_still_do_and_that_is_true() {
    let program = example("producer_consumer_bug.c");
    let place = Place::new();
    let found = place.run(&["check", &program, "--no-data-races", "--unroll", "2", "--model", "sc"]);
    found.exits_with(1).says(&["schedules that avoid this: selvedge verify ", "selvedge run --schedule"]);
    place.run(&["verify", &program, "--ivrs", "1"]).says(&["safe schedule 1", "run it safely: selvedge run "]);
    place.run(&["run", &program, "--schedule", "schedule-1.json", "--time", "200ms"]).exits_with(0);
    let bounded =
        place.run(&["check", &example("producer_consumer_1p1c.c"), "--max-executions", "3", "--no-data-races"]);
    bounded.exits_with(4).says(&["loops and inputs without bound, or schedules that are safe: selvedge verify "]);
}
