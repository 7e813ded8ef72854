//! Atomic accesses to bytes that others access in other pieces: an error at the source line under every model of the graph
//! engine, however the program comes to make them.

mod common;

use common::Place;

/// A program whose threads do this; lines that may be named in the error have `// here` in them.
fn program(globals: &str, threads: [&str; 2]) -> String {
    let [first, second] = threads;
    format!(
        "#include <pthread.h>\n#include <stdatomic.h>\n#include <stdint.h>\n#include <string.h>\n{globals}\n\
         void *first(void *unused) {{\n{first}\nreturn 0;\n}}\n\
         void *second(void *unused) {{\n{second}\nreturn 0;\n}}\n\
         int main(void) {{\npthread_t a, b;\npthread_create(&a, 0, first, 0);\npthread_create(&b, 0, second, 0);\n\
         pthread_join(a, 0);\npthread_join(b, 0);\nreturn 0;\n}}\n"
    )
}

/// The lines that may be named.
fn marked(text: &str) -> Vec<String> {
    let lines = text.lines().enumerate().filter(|(_, line)| line.contains("// here"));
    lines.map(|(n, _)| format!("a.c:{}:", n + 1)).collect()
}

/// Fails unless a program is refused at one of its marked lines, under every model.
#[track_caller]
fn is_refused(text: &str) {
    let place = Place::with("a.c", text);
    for model in ["sc", "tso", "ra", "rc11"] {
        for more in [&[][..], &["--jobs", "2"], &["--no-data-races"], &["--reductions", "none"]] {
            let args = [&["check", "a.c", "--engine", "graph", "--model", model][..], more].concat();
            let ended = place.run(&args);
            ended.exits_with(3).says(&["not supported", "accesses of different sizes"]);
            assert!(
                marked(text).iter().any(|line| ended.out.contains(line)),
                "{args:?}: another line\n{text}\n{ended}"
            );
        }
    }
}

#[test]
fn members_of_a_union() {
    is_refused(&program(
        "union { _Atomic uint32_t word; _Atomic uint8_t bytes[4]; } u;",
        ["atomic_store(&u.word, 7); // here", "atomic_store(&u.bytes[1], 1); // here"],
    ));
}

#[test]
fn a_pointer_that_was_cast() {
    is_refused(&program(
        "_Atomic uint64_t word;",
        [
            "atomic_fetch_add(&word, 1); // here",
            "_Atomic uint16_t *half = (_Atomic uint16_t *)&word + 1;\natomic_load(half); // here",
        ],
    ));
}

#[test]
fn a_larger_access_to_two_smaller_ones() {
    is_refused(&program(
        "_Alignas(8) _Atomic uint32_t words[2];",
        [
            "atomic_store(&words[0], 1); // here\natomic_store(&words[1], 1); // here",
            "atomic_load_explicit((_Atomic uint64_t *)words, memory_order_relaxed); // here",
        ],
    ));
}

#[test]
fn an_access_that_overlaps_another_one() {
    is_refused(&program(
        "_Alignas(8) char bytes[8];",
        [
            "atomic_store((_Atomic uint32_t *)bytes, 1); // here",
            "__atomic_store_n((uint32_t *)(bytes + 2), 2, __ATOMIC_RELAXED); // here",
        ],
    ));
}

#[test]
fn a_compare_and_exchange_of_half_a_location() {
    is_refused(&program(
        "_Atomic uint64_t word;",
        [
            "atomic_store(&word, 1); // here",
            "uint32_t old = 0;\natomic_compare_exchange_strong((_Atomic uint32_t *)&word, &old, 1); // here",
        ],
    ));
}

#[test]
fn a_copy_of_a_part_of_an_atomic() {
    is_refused(&program(
        "_Atomic uint64_t word;",
        ["atomic_store(&word, 1); // here", "char part[3];\nmemcpy(part, (char *)&word + 1, 3); // here"],
    ));
}

#[test]
fn a_wait_for_a_part_of_an_atomic() {
    is_refused(&program(
        "_Atomic uint32_t word;",
        ["atomic_store(&word, 0x101); // here", "while (!atomic_load((_Atomic uint8_t *)&word)); // here"],
    ));
}

#[test]
fn a_byte_of_a_mutex() {
    is_refused(&program(
        "pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;",
        [
            "pthread_mutex_lock(&mutex); // here\npthread_mutex_unlock(&mutex); // here",
            "atomic_fetch_or((_Atomic uint8_t *)&mutex, 1); // here",
        ],
    ));
}

#[test]
fn one_thread_alone_may_not_either() {
    is_refused(&program(
        "_Atomic uint32_t word;",
        ["atomic_store(&word, 1); // here\natomic_load((_Atomic uint8_t *)&word); // here", ""],
    ));
}

/// A copy of whole atomic objects is several accesses to whole locations: it is no error of that kind, but may be a race.
#[test]
fn a_copy_of_whole_atomics_is_supported() {
    let copy = "struct { _Atomic uint32_t a, b; } s, t;";
    let racing = program(copy, ["atomic_store(&s.a, 1);", "memcpy(&t, &s, sizeof t);"]);
    let place = Place::with("a.c", &racing);
    for model in ["sc", "tso", "ra", "rc11"] {
        let ended = place.run(&["check", "a.c", "--engine", "graph", "--model", model]);
        ended.exits_with(1).says(&["data race"]);
    }
    let first = program(copy, ["atomic_store(&s.a, 1);", "atomic_store(&s.b, 1);"]);
    let place = Place::with(
        "a.c",
        &first.replace(
            "pthread_join(b, 0);",
            "pthread_join(b, 0);\nmemcpy(&t, &s, sizeof t);\nif (t.a != 1 || t.b != 1) __builtin_trap();",
        ),
    );
    for model in ["sc", "tso", "ra", "rc11"] {
        place.run(&["check", "a.c", "--engine", "graph", "--model", model]).exits_with(0);
    }
}
