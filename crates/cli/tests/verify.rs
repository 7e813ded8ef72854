//! `selvedge verify` as a user meets it.

use std::path::Path;
use std::process::{Command, Output};

fn selvedge(directory: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_selvedge")).args(args).current_dir(directory).output().expect("it starts")
}

fn example(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/schedules").join(name);
    path.canonicalize().expect("the example exists").to_string_lossy().into_owned()
}

fn written(text: &str) -> (tempfile::TempDir, Output) {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("p.c"), text).expect("a file");
    let output = selvedge(directory.path(), &["verify", "p.c"]);
    (directory, output)
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn schedules_and_traces_are_written_and_can_be_used() {
    let directory = tempfile::tempdir().expect("a directory");
    let output = selvedge(directory.path(), &["verify", &example("producer_consumer_bug.c"), "--complete", "--dot"]);
    let text = said(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("partially safe: "), "{text}");
    assert!(text.contains("read in ") && text.contains(" s of it clang's"), "{text}");
    assert!(text.contains("producer and consumer take turns"), "{text}");
    assert!(text.contains("assertion `count > 0` fails"), "{text}");
    for file in ["schedule-1.json", "schedule-1.dot", "trace-1.json"] {
        assert!(directory.path().join(file).is_file(), "{file} is written");
    }
    let schedule = std::fs::read_to_string(directory.path().join("schedule-1.json")).expect("it can be read");
    assert!(schedule.contains("\"format\":1"));
    let replay = selvedge(directory.path(), &["replay", "trace-1.json"]);
    assert_eq!(replay.status.code(), Some(1));
    assert!(said(&replay).contains("assertion `count > 0` failed"), "{}", said(&replay));
}

#[test]
fn a_deadlock_can_be_replayed() {
    let directory = tempfile::tempdir().expect("a directory");
    let output = selvedge(directory.path(), &["verify", &example("double_lock.c"), "--complete"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let replay = selvedge(directory.path(), &["replay", "trace-1.json"]);
    assert!(said(&replay).contains("deadlock"), "{}", said(&replay));
}

#[test]
fn a_safe_program_ends_with_0_and_a_limit_with_4() {
    let directory = tempfile::tempdir().expect("a directory");
    let name = example("producer_consumer_1p1c.c");
    let output = selvedge(directory.path(), &["verify", &name, "--complete", "--no-files", "-q"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(said(&output).starts_with("safe: "), "{}", said(&output));
    let output = selvedge(directory.path(), &["verify", &name, "--time", "0s", "--no-files"]);
    assert_eq!(output.status.code(), Some(4), "{}", said(&output));
    assert_eq!(std::fs::read_dir(directory.path()).expect("a directory").count(), 0, "--no-files writes none");
}

#[test]
fn what_cannot_be_encoded_is_named_at_its_line() {
    let cases = [
        ("int f(int n) {\n  return n ? f(n - 1) : 0; }\nint main(void) { return f(3); }", "p.c:2:", "recursion"),
        (
            "int *p; int x[9];\nlong __VERIFIER_nondet_long(void);\nint main(void) {\n  p = (int *)__VERIFIER_nondet_long();\n  return *p; }",
            "p.c:5:",
            "cannot be resolved",
        ),
        ("double d;\nint main(void) {\n  if (d > 1.0) return 1; return 0; }", "p.c:3:", "floating point"),
        (
            "#include <pthread.h>\nvoid *f(void *a) { return a; }\nint main(void) {\n  pthread_t t;\n  while (1)\n    pthread_create(&t, 0, f, 0); }",
            "p.c:6:",
            "threads",
        ),
        ("int g(void);\nint main(void) {\n  return g(); }", "p.c:3:", "a call of `g`"),
    ];
    for (program, place, feature) in cases {
        let (_directory, output) = written(program);
        let text = said(&output);
        assert_eq!(output.status.code(), Some(3), "{program}\n{text}");
        assert!(text.contains(place) && text.contains(feature), "{program}\n{text}");
    }
}

#[test]
fn wrong_files_are_no_panic() {
    for text in ["", "int x;", "int main(", "int main(void) { return 0; }"] {
        let (_directory, output) = written(text);
        assert!(matches!(output.status.code(), Some(0 | 3)), "{text:?}: {}", said(&output));
    }
    let directory = tempfile::tempdir().expect("a directory");
    assert_eq!(selvedge(directory.path(), &["verify", "nothing.c"]).status.code(), Some(2));
    assert_eq!(selvedge(directory.path(), &["verify"]).status.code(), Some(2));
}
