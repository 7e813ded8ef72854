//! Threads that are busy with things of their own are so at the same time, under a schedule as without one. What a thread is
//! busy with is an input here, which does not come before others have asked for theirs: so no clock decides, and a busy
//! machine makes no difference.

mod support;

use selvedge_enforce::{CompileOptions, Level, PlanOptions, compile, plan};
use selvedge_ir::Module;
use selvedge_schedule::PublishedArt;
use std::path::Path;
use std::process::Command;
use support::verified::verified;
use support::{example, load};

/// An input that comes when `UNTIL` holds. A thread that has waited for it for `PATIENCE` milliseconds goes on without, and
/// the program says so at its end.
const SLOW_INPUT: &str = "
    #include <stdatomic.h>
    #include <stdio.h>
    #include <time.h>
    static atomic_int begun, ended, in_vain;
    static void __attribute__((destructor)) say(void) { fprintf(stderr, \"%d in vain\\n\", in_vain); }
    int __VERIFIER_nondet_int(void) {
      const int me = atomic_fetch_add(&begun, 1);
      const struct timespec pause = {0, 1000000};
      for (int waited = 0; !(UNTIL); waited++) {
        if (waited == PATIENCE) {
          atomic_fetch_add(&in_vain, 1);
          break;
        }
        nanosleep(&pause, 0);
      }
      atomic_fetch_add(&ended, 1);
      return me;
    }";
const FILES: usize = 8;
/// Far longer than it takes on any machine.
const LONG: u32 = 20_000;
/// What nobody will do in that time, or ever.
const SHORT: u32 = 100;

/// So many threads ask for an input before any of them gets one; the last time, as many as there are files left.
fn together(workers: usize) -> String {
    let all = format!("(me / {workers} + 1) * {workers}");
    format!("begun >= ({all} < {FILES} ? {all} : {FILES})")
}

/// Two do so at first. The tree of four workers is not open everywhere: where a certain one of them has to go on that is
/// still busy, the others wait for it.
const PAIR_AT_FIRST: &str = "me > 1 || begun > 1";

/// The first to ask for an input gets it when all others are done with theirs.
fn last_of_all() -> String {
    format!("me > 0 || ended == {FILES} - 1")
}

/// How many inputs of a run were waited for in vain.
fn in_vain(module: &Module, art: Option<&PublishedArt>, level: Level, until: &str, patience: u32) -> u32 {
    let directory = tempfile::tempdir().expect("a directory");
    let input = directory.path().join("input.c");
    let text = SLOW_INPUT.replace("UNTIL", until).replace("PATIENCE", &patience.to_string());
    std::fs::write(&input, text).expect("it can be written");
    let plan = art.map(|art| {
        let options = PlanOptions { level, ..PlanOptions::default() };
        (plan(module, art, options).expect("it can be followed"), art)
    });
    let link = vec![input.display().to_string()];
    let plan = plan.as_ref().map(|(plan, art)| (plan, *art));
    let binary = compile(module, plan, &CompileOptions { link, ..CompileOptions::default() }).expect("it compiles");
    let output = Command::new(binary.path()).output().expect("it can be run");
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    said.lines().find_map(|line| line.strip_suffix(" in vain")?.parse().ok()).unwrap_or_else(|| panic!("{said}"))
}

#[test]
fn two_searches_go_on_at_the_same_time() {
    let module = example("pfscan.c", &[]);
    let art = verified(&module);
    assert_eq!(in_vain(&module, None, Level::Opt2, &together(2), LONG), 0, "it can be done");
    for level in [Level::Opt0, Level::Opt1, Level::Opt2] {
        assert_eq!(in_vain(&module, Some(&art), level, &together(2), LONG), 0, "{level:?}");
    }
}

/// A program with so many threads that take files from a queue, and what they do with one: while they have the queue for
/// themselves, and afterwards.
fn searching(directory: &Path, workers: usize, inside: &str, search: &str) -> Module {
    let each = |text: &str| (0..workers).map(|n| text.replace('#', &n.to_string())).collect::<String>();
    let text = format!(
        "#include <assert.h>
         #include <pthread.h>
         int __VERIFIER_nondet_int(void);
         int waiting = {FILES}, matches;
         pthread_mutex_t queue = PTHREAD_MUTEX_INITIALIZER;
         void *worker(void *arg) {{
           int hits = 0;
           while (1) {{
             pthread_mutex_lock(&queue);
             int file = waiting - 1;
             if (file < 0) break;
             assert(file < {FILES});
             {inside}
             waiting = file;
             pthread_mutex_unlock(&queue);
             {search}
           }}
           pthread_mutex_unlock(&queue);
           return 0;
         }}
         int main(void) {{
           pthread_t {};
           {}
           {}
           return 0;
         }}",
        each("w#, ") + "last",
        each("pthread_create(&w#, 0, worker, 0);"),
        each("pthread_join(w#, 0);"),
    );
    let path = directory.join("searching.c");
    std::fs::write(&path, text).expect("it can be written");
    load(&path, &[])
}

fn overlap(workers: usize, search: &str, until: &str) {
    let directory = tempfile::tempdir().expect("a directory");
    let module = searching(directory.path(), workers, "", search);
    let art = verified(&module);
    assert_eq!(in_vain(&module, Some(&art), Level::Opt2, until, LONG), 0, "{workers} {search}");
}

const SEARCH: &str = "hits = hits + __VERIFIER_nondet_int();";

#[test]
fn as_many_searches_go_on_at_the_same_time_as_there_are_threads() {
    overlap(3, SEARCH, &together(3));
    overlap(4, SEARCH, PAIR_AT_FIRST);
}

#[test]
fn who_has_a_large_file_keeps_nobody_from_the_small_ones() {
    let module = example("pfscan.c", &[]);
    let art = verified(&module);
    assert_eq!(in_vain(&module, None, Level::Opt2, &last_of_all(), LONG), 0, "it can be done");
    assert_eq!(in_vain(&module, Some(&art), Level::Opt2, &last_of_all(), LONG), 0);
}

#[test]
fn what_a_search_finds_is_written_down_while_others_search() {
    let update = "int found = __VERIFIER_nondet_int();
                  pthread_mutex_lock(&queue); matches = matches + found; pthread_mutex_unlock(&queue);";
    overlap(2, update, &together(2));
    overlap(4, update, PAIR_AT_FIRST);
}

#[test]
fn what_is_done_under_a_lock_is_not_done_at_the_same_time() {
    // So these tests could fail.
    let directory = tempfile::tempdir().expect("a directory");
    let module = searching(directory.path(), 2, SEARCH, "");
    let art = verified(&module);
    for level in [Level::Opt0, Level::Opt1, Level::Opt2] {
        assert_ne!(in_vain(&module, Some(&art), level, &together(2), SHORT), 0, "{level:?}");
    }
}
