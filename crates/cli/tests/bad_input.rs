//! Bad input: a clear message, the right exit code, no panic, no hang.

mod common;

use common::Place;

fn check_c(text: &str) -> common::Ended {
    Place::with("a.c", text).run(&["check", "a.c"])
}

#[test]
fn no_input() {
    Place::new().run(&["check"]).fails_with(2, &["required", "FILE"]);
}

#[test]
fn no_such_file() {
    Place::new().run(&["check", "missing.c"]).fails_with(2, &["missing.c", "no such file"]);
}

#[test]
fn a_directory() {
    let place = Place::new();
    std::fs::create_dir(place.path("dir.c")).expect("the directory is ours");
    place.run(&["check", "dir.c"]).fails_with(2, &["dir.c"]);
}

#[test]
fn a_file_of_an_unknown_kind() {
    Place::with("notes.txt", "hello").run(&["check", "notes.txt"]).fails_with(2, &["notes.txt", ".ll"]);
}

#[test]
fn not_c() {
    check_c("this is no C\n").fails_with(3, &["a.c", "error:"]);
}

#[test]
fn clangs_own_errors_are_passed_through() {
    check_c("int main(void) {\n  return undeclared_thing;\n}\n")
        .fails_with(3, &["a.c:2:10", "use of undeclared identifier 'undeclared_thing'"]);
}

#[test]
fn clang_missing() {
    let place = Place::with("a.c", "int main(void) { return 0; }").without_programs();
    place.run(&["check", "a.c"]).fails_with(3, &["clang", "apt"]);
}

#[test]
fn an_empty_program() {
    check_c("").fails_with(3, &["no function `main`"]);
}

#[test]
fn no_main() {
    check_c("int helper(void) { return 1; }").fails_with(3, &["no function `main`"]);
}

#[test]
fn a_main_with_arguments() {
    let text = r#"
        #include <assert.h>
        #include <string.h>
        int main(int argc, char **argv) {
            assert(argc == 3 && !strcmp(argv[1], "one") && !strcmp(argv[2], "two") && !argv[3]);
            return 0;
        }"#;
    let place = Place::with("a.c", text);
    place.run(&["check", "a.c", "--args", "one", "two"]).exits_with(0);
    place.run(&["check", "a.c"]).exits_with(1).says(&["assertion"]);
}

#[test]
fn recursion_without_end() {
    let ended = check_c("int f(int n) { return f(n + 1) + n; }\nint main(void) { return f(0); }\n");
    ended.exits_with(4).says(&["incomplete", "a.c:1"]);
}

#[test]
fn an_allocation_of_2_to_the_60() {
    let text = "#include <stdlib.h>\nint main(void) {\n  char *p = malloc(1ul << 60);\n  return p == 0;\n}\n";
    let ended = check_c(text);
    assert!(ended.out.contains("a.c:3") || ended.err.contains("a.c:3"), "the place is named\n{ended}");
    ended.exits_with(3);
}

#[test]
fn a_program_that_never_ends() {
    let place = Place::with("a.c", "int main(void) { for (;;) {} }\n");
    place.run(&["check", "a.c"]).exits_with(1).says(&["livelock", "spins forever"]);
    place.run(&["check", "a.c", "--reductions", "none"]).exits_with(4).says(&["incomplete", "may never end"]);
}

#[test]
fn threads_that_never_end() {
    let text = r#"
        #include <pthread.h>
        #include <stdatomic.h>
        atomic_int x;
        void *worker(void *arg) { for (;;) x++; }
        int main(void) {
            pthread_t t;
            pthread_create(&t, 0, worker, 0);
            x++;
            pthread_join(t, 0);
            return 0;
        }"#;
    check_c(text).exits_with(4).says(&["incomplete", "--max-events"]);
}

#[test]
fn inline_assembly() {
    let text = "int main(void) {\n  int x;\n  __asm__(\"cpuid\" : \"=a\"(x));\n  return x;\n}\n";
    check_c(text).exits_with(3).says(&["a.c:3", "assembly"]);
}

#[test]
fn inline_assembly_that_is_not_reached_does_no_harm() {
    let text = "int main(int argc, char **argv) {\n  if (argc > 1) __asm__(\"cpuid\");\n  return 0;\n}\n";
    check_c(text).exits_with(0);
}

#[test]
fn an_unknown_external_function() {
    let text = "int launch_missiles(int);\nint main(void) {\n  return launch_missiles(7);\n}\n";
    check_c(text).exits_with(3).says(&["a.c:3", "launch_missiles"]);
}

#[test]
fn a_truncated_ll_file() {
    let place = Place::with("a.c", common::COUNTER);
    let clang = std::process::Command::new("clang")
        .args(["-S", "-emit-llvm", "-g", "a.c", "-o", "a.ll"])
        .current_dir(place.path(""))
        .status()
        .expect("clang is needed for these tests");
    assert!(clang.success());
    let whole = place.read("a.ll");
    let middle = whole.find("pthread_join").expect("the program joins");
    place.write("cut.ll", &whole[..middle]);
    place.run(&["check", "cut.ll"]).fails_with(3, &["cut.ll:"]);
    place.run(&["check", "a.ll"]).exits_with(0);
}

#[test]
fn a_corrupt_ll_file() {
    let text = "define i32 @main() {\n  %1 = frobnicate i32 3\n  ret i32 0\n}\n";
    Place::with("a.ll", text).run(&["check", "a.ll"]).fails_with(3, &["a.ll:2"]);
}

#[test]
fn text_that_is_not_utf_8() {
    let place = Place::new();
    place.write("a.ll", b"define i32 @main() {\n  ret i32 0\n}\n; \xff\xfe\n");
    place.run(&["check", "a.ll"]).fails_with(3, &["a.ll:4", "UTF-8"]);
    place.write("b.c", b"int main(void) { return 0; } \xff\xfe\n");
    place.run(&["check", "b.c"]).fails_with(3, &["b.c:1"]);
}

#[test]
fn bitcode_instead_of_text() {
    let place = Place::new();
    place.write("a.ll", b"BC\xc0\xde5\x14\0\0");
    place.run(&["check", "a.ll"]).fails_with(3, &["a.ll", "bitcode"]);
}

#[test]
fn a_module_for_another_kind_of_machine() {
    let text = "target triple = \"armv7-unknown-linux-gnueabi\"\ndefine i32 @main() {\n  ret i32 0\n}\n";
    Place::with("a.ll", text).run(&["check", "a.ll"]).fails_with(3, &["a.ll"]);
}

#[test]
fn a_program_in_text_form_that_breaks_the_rules() {
    let place = Place::with("a.sir", "func @main() -> i32 {\nbb0:\n  ret v9\n}\n");
    place.run(&["check", "a.sir"]).fails_with(3, &["a.sir"]);
    place.write("b.sir", "nonsense");
    place.run(&["check", "b.sir"]).fails_with(3, &["b.sir"]);
    place.run(&["check", "missing.sir"]).fails_with(2, &["missing.sir"]);
}

#[test]
fn options_that_are_not_there() {
    let place = Place::with("a.c", common::COUNTER);
    place.run(&["check", "a.c", "--model", "power"]).fails_with(2, &["power", "available: sc, tso, ra, rc11"]);
    place.run(&["check", "a.c", "--engine", "magic"]).fails_with(2, &["magic", "available: trace, graph"]);
    place.run(&["check", "a.c", "--engine", "trace", "--model", "tso"]).fails_with(2, &["--engine graph", "tso"]);
    place.run(&["check", "a.c", "--engine", "graph", "--algorithm", "naive"]).fails_with(2, &["--algorithm"]);
    place.run(&["check", "a.c", "--engine", "trace", "--jobs", "2"]).fails_with(2, &["--jobs"]);
    place.run(&["check", "a.c", "--engine", "trace", "--estimate"]).fails_with(2, &["--engine graph"]);
    place.run(&["check", "a.c", "--jobs", "0"]).fails_with(2, &["--jobs"]);
    place.run(&["check", "a.c", "--reductions", "purity,speed"]).fails_with(2, &["speed"]);
    place.run(&["check", "a.c", "--algorithm", "magic"]).fails_with(2, &["optimal"]);
    place.run(&["check", "a.c", "--time", "soon"]).fails_with(2, &["30s"]);
    place.run(&["check", "a.c", "--nondet", "5"]).fails_with(2, &["LO..HI"]);
    place.run(&["check", "a.c", "--frobnicate"]).fails_with(2, &["--frobnicate"]);
    place.run(&["check", "a.c", "-D", "=3"]).fails_with(2, &["NAME=VALUE"]);
}

#[test]
fn a_nondeterministic_value_without_a_range() {
    let text = "int __VERIFIER_nondet_int(void);\nint main(void) {\n  return __VERIFIER_nondet_int() > 3;\n}\n";
    let place = Place::with("a.c", text);
    place.run(&["check", "a.c"]).exits_with(3).says(&["a.c:3", "--nondet"]);
    place.run(&["check", "a.c", "--nondet", "0..5"]).exits_with(0);
}

#[test]
fn reports_that_cannot_be_written() {
    let place = Place::with("a.c", common::COUNTER);
    place.run(&["check", "a.c", "--json", "no/such/dir/report.json"]).fails_with(2, &["no/such/dir/report.json"]);
}
