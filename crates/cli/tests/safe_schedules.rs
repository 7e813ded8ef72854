//! Programs that are verified, and then run natively under the schedule that was verified.

mod common;

use common::{Ended, Place};

fn example(name: &str) -> String {
    format!("{}/../../examples/schedules/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// A place with the first safe schedule of a program.
fn verified(program: &str) -> Place {
    let place = Place::new();
    let ended = place.run(&["verify", program, "--ivrs", "1", "--quiet"]);
    assert!(place.path("schedule-1.json").is_file(), "there is a schedule\n{ended}");
    place
}

fn run_for(place: &Place, program: &str, time: &str, options: &[&str]) -> Ended {
    let args = ["run", program, "--schedule", "schedule-1.json", "--time", time];
    place.run(&[&args[..], options].concat())
}

/// The useful iterations of each thread, from the report.
fn useful(ended: &Ended) -> Vec<u64> {
    let counts = ended.err.rsplit_once('(').and_then(|(_, rest)| rest.split_once(')')).map(|(counts, _)| counts);
    let counts = counts.unwrap_or_else(|| panic!("no report\n{ended}"));
    counts.split(", ").map(|count| count.parse().expect("a number")).collect()
}

#[test]
fn the_erroneous_producer_and_consumer_never_fail_under_their_schedule_and_do_without() {
    let program = example("producer_consumer_bug.c");
    let place = verified(&program);
    for n in 0..10 {
        let level = ["0", "1", "2"][n % 3];
        run_for(&place, &program, "30ms", &["--opt", level]).exits_with(0);
    }
    let fails = |_| place.run(&["run", &program, "--native", "--time", "300ms"]).err.contains("did not end by itself");
    assert!((0..30).any(fails), "without a schedule, an assertion fails sooner or later");
}

#[test]
fn no_thread_is_left_out_and_nothing_deadlocks() {
    for (name, threads) in
        [("double_lock.c", 2), ("erroneous_sync.c", 4), ("producer_consumer_2p2c.c", 4), ("filesystem_declared.c", 3)]
    {
        let program = example(name);
        let place = verified(&program);
        for level in ["0", "1", "2"] {
            let ended = run_for(&place, &program, "300ms", &["--opt", level]);
            ended.exits_with(0);
            let counts = useful(&ended);
            assert_eq!(counts.len(), threads, "{name}");
            let (least, most) = (counts.iter().min().expect("threads"), counts.iter().max().expect("threads"));
            // The second thread of the file system finds the block busy whenever it looks. With `--opt 2`, where the schedule
            // leaves the choice, a thread keeps its turn for many rounds, and may get more of them; but all get some.
            let in_turn = if level == "2" { *least > 5 } else { most - least <= 32 };
            let turns = name == "filesystem_declared.c" || in_turn;
            assert!(*most > 5 && turns, "{name} {level} {counts:?}");
        }
    }
}

#[test]
fn a_schedule_of_another_program_or_version_is_refused() {
    let program = example("double_lock.c");
    let place = verified(&program);
    run_for(&place, &program, "1s", &["-DFIXED"]).fails_with(3, &["another program, or to another version"]);
    run_for(&place, &example("barrier_ring.c"), "1s", &[]).fails_with(3, &["another program"]);
}

#[test]
fn what_is_no_schedule_is_refused() {
    let program = example("double_lock.c");
    let place = verified(&program);
    let schedule = std::fs::read_to_string(place.path("schedule-1.json")).expect("it is there");
    for (text, said) in [
        (String::new(), "it is not a schedule"),
        (schedule[..schedule.len() / 2].to_owned(), "it is not a schedule"),
        (schedule.replacen("\"format\":1", "\"format\":2", 1), "a schedule of format 2"),
        (schedule.replacen("\"to\":1}", "\"to\":4000000000}", 1), "it is damaged"),
    ] {
        place.write("schedule-1.json", &text);
        run_for(&place, &program, "1s", &[]).fails_with(3, &[said]);
    }
    place.run(&["run", &program, "--schedule", "none.json"]).fails_with(2, &["cannot be read"]);
}

#[test]
fn the_program_gets_its_arguments_and_its_exit_code_is_kept() {
    let place = Place::with(
        "worker.c",
        "#include <pthread.h>\n#include <stdio.h>\nint shared;\n\
         void *worker(void *arg) { shared = shared + 2; return 0; }\n\
         int main(void) {\n  pthread_t t;\n  pthread_create(&t, 0, worker, 0);\n  pthread_join(t, 0);\n\
         shared = shared + 5;\n  printf(\"shared %d\\n\", shared);\n  return shared;\n}\n",
    );
    place.run(&["verify", "worker.c", "--ivrs", "1", "--quiet"]);
    for level in ["0", "1", "2"] {
        let ended = place.run(&["run", "worker.c", "--schedule", "schedule-1.json", "--opt", level, "--", "-x", "y"]);
        ended.exits_with(7).says(&["shared 7"]);
    }
}
