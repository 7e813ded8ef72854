//! Threads that are busy with things of their own are so at the same time, under a schedule as without one. What a thread is
//! busy with is an input here, which takes 20 ms of sleep: as long on a busy machine as on one that does nothing else.

mod support;

use selvedge_enforce::{CompileOptions, Level, PlanOptions, compile, plan};
use selvedge_ir::Module;
use selvedge_schedule::PublishedArt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use support::verified::verified;
use support::{example, load};

/// An input that is long in coming. At the end, the program says how many threads waited for one at the same time.
const SLOW_INPUT: &str = "
    #include <stdatomic.h>
    #include <stdio.h>
    #include <time.h>
    static atomic_int now, most;
    static void __attribute__((destructor)) say(void) { fprintf(stderr, \"at once: %d\\n\", most); }
    int __VERIFIER_nondet_int(void) {
      int n = atomic_fetch_add(&now, 1) + 1;
      for (int old = most; old < n && !atomic_compare_exchange_weak(&most, &old, n);)
        ;
      static atomic_int before;
      struct timespec time = {0, atomic_fetch_add(&before, 1) ? 20000000 : FIRST};
      nanosleep(&time, 0);
      atomic_fetch_sub(&now, 1);
      return n;
    }";
const FIRST: u32 = 20_000_000;
const INPUT: Duration = Duration::from_millis(20);
const FILES: u32 = 8;

/// How long a program runs and how many of its threads wait for an input at once: the best of a few runs.
fn runs(module: &Module, art: Option<&PublishedArt>, level: Level, enough: u32) -> (Duration, u32) {
    runs_with(FIRST, module, art, level, enough)
}

/// The same where the first input takes so many nanoseconds.
fn runs_with(first: u32, module: &Module, art: Option<&PublishedArt>, level: Level, enough: u32) -> (Duration, u32) {
    let directory = tempfile::tempdir().expect("a directory");
    let input = directory.path().join("input.c");
    std::fs::write(&input, SLOW_INPUT.replace("FIRST", &first.to_string())).expect("it can be written");
    let plan = art.map(|art| {
        let options = PlanOptions { level, ..PlanOptions::default() };
        (plan(module, art, options).expect("it can be followed"), art)
    });
    let link = vec![input.display().to_string()];
    let plan = plan.as_ref().map(|(plan, art)| (plan, *art));
    let binary = compile(module, plan, &CompileOptions { link, ..CompileOptions::default() }).expect("it compiles");
    let mut best = (Duration::MAX, 0);
    for _ in 0..5 {
        let start = Instant::now();
        let output = Command::new(binary.path()).output().expect("it can be run");
        let time = start.elapsed();
        assert!(output.status.success(), "{output:?}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let at_once = said.trim().rsplit(' ').next().and_then(|n| n.parse().ok()).unwrap_or_else(|| panic!("{said}"));
        best = (best.0.min(time), best.1.max(at_once));
        if best.0 < INPUT * enough {
            break;
        }
    }
    best
}

#[test]
fn two_searches_go_on_at_the_same_time() {
    let module = example("pfscan.c", &[]);
    let art = verified(&module);
    // Half of the files each, and some time to begin and to end.
    let enough = FILES / 2 + 2;
    assert!(runs(&module, None, Level::Opt2, enough).0 < INPUT * enough, "it can be done");
    for level in [Level::Opt0, Level::Opt1, Level::Opt2] {
        let (time, at_once) = runs(&module, Some(&art), level, enough);
        assert!(time < INPUT * enough && at_once == 2, "{level:?}: {time:?}, {at_once} at once");
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

/// How long so many workers may take: their share, and some time to begin and to end; and how many they are.
fn overlap(workers: usize, search: &str) {
    let directory = tempfile::tempdir().expect("a directory");
    let module = searching(directory.path(), workers, "", search);
    let art = verified(&module);
    let enough = FILES.div_ceil(workers as u32) + 2;
    let (time, at_once) = runs(&module, Some(&art), Level::Opt2, enough);
    assert!(time < INPUT * enough && at_once as usize == workers, "{workers} {search}: {time:?}, {at_once} at once");
}

const SEARCH: &str = "hits = hits + __VERIFIER_nondet_int();";

#[test]
fn as_many_searches_go_on_at_the_same_time_as_there_are_threads() {
    overlap(3, SEARCH);
    overlap(4, SEARCH);
}

#[test]
fn who_has_a_large_file_keeps_nobody_from_the_small_ones() {
    let module = example("pfscan.c", &[]);
    let art = verified(&module);
    // Turn by turn, three small files would come behind the large one.
    let (large, enough) = (10, 12);
    let first = large * FIRST;
    assert!(runs_with(first, &module, None, Level::Opt2, enough).0 < INPUT * enough, "it can be done");
    let (time, at_once) = runs_with(first, &module, Some(&art), Level::Opt2, enough);
    assert!(time < INPUT * enough && at_once == 2, "{time:?}, {at_once} at once");
}

#[test]
fn what_a_search_finds_is_written_down_while_others_search() {
    let update = "int found = __VERIFIER_nondet_int();
                  pthread_mutex_lock(&queue); matches = matches + found; pthread_mutex_unlock(&queue);";
    overlap(2, update);
    overlap(4, update);
}

#[test]
fn what_is_done_under_a_lock_is_not_done_at_the_same_time() {
    // So these tests could fail.
    let directory = tempfile::tempdir().expect("a directory");
    let module = searching(directory.path(), 2, SEARCH, "");
    let art = verified(&module);
    for level in [Level::Opt0, Level::Opt1, Level::Opt2] {
        let (time, at_once) = runs(&module, Some(&art), level, 0);
        assert!(time >= INPUT * FILES && at_once == 1, "{level:?}: {time:?}, {at_once} at once");
    }
}
