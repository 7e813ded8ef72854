//! The comparison itself: an engine that does everything right passes, and each way of being wrong is noticed.

use selvedge_machine::schedule::Schedule;
use selvedge_machine::verdict::{Exploration, Found, Interruption};
use selvedge_machine::{Bound, BoundKind, SourceSpan, ThreadId, Violation, ViolationKind};
use selvedge_oracle::check::{Explored, Mode, Subject, compare};
use selvedge_oracle::fuzz::{Plan, fuzz};
use selvedge_oracle::{Enumeration, LitmusMachine, Program, enumerate};

const PROGRAM: &str = "\
var v0 4 = 0
thread t0
  spawn t1
  r0 = load.plain v0:4
  assert r0 ne 2
  join t1
thread t1
  store.rlx v0:4 1
  store.rlx v0:4 2
";

fn found(program: &Program) -> Enumeration {
    enumerate(LitmusMachine::new(program.clone()).unwrap(), 100_000).unwrap()
}

/// An engine that has the right answer because it asks the enumerator.
fn perfect(program: &Program) -> Explored {
    let found = found(program);
    let machine = LitmusMachine::new(program.clone()).unwrap();
    let mut explored = Explored::default();
    let mut result = Exploration::default();
    for class in found.classes.values() {
        explored.executions.push(class.schedule.clone());
        result.complete += u64::from(class.ending.complete);
        result.blocked += u64::from(!class.ending.complete);
        let schedule = || Schedule::record(&machine, class.schedule.iter().copied());
        let mut violations = class.ending.violations.clone();
        violations.extend(class.race.then(|| (ViolationKind::DataRace, "a race".to_owned())));
        for (kind, message) in violations {
            let violation = Violation { kind, message, places: Vec::new() };
            result.violations.push(Found { violation, schedule: schedule() });
        }
        for what in class.ending.bounds.clone() {
            result
                .bounds
                .push((Bound { kind: BoundKind::Loop { iterations: 1 }, what, place: SourceSpan::default() }, 1));
        }
    }
    explored.result = result;
    explored
}

/// What the comparison says when a perfect result is spoilt.
fn spoilt(spoil: impl Fn(&mut Explored)) -> Option<Subject> {
    let program: Program = PROGRAM.parse().unwrap();
    let mut explored = perfect(&program);
    spoil(&mut explored);
    compare(&program, &found(&program), &explored, *Mode::named("optimal").unwrap()).err().map(|wrong| wrong.subject)
}

#[test]
fn a_perfect_engine_passes() {
    assert_eq!(spoilt(|_| {}), None);
}

#[test]
fn a_lost_class_is_noticed() {
    assert_eq!(spoilt(|explored| drop(explored.executions.pop())), Some(Subject::Missing));
}

#[test]
fn a_class_met_twice_is_noticed() {
    assert_eq!(spoilt(|explored| explored.executions.push(explored.executions[0].clone())), Some(Subject::Twice));
}

#[test]
fn an_impossible_schedule_is_noticed() {
    use selvedge_ir::EntityRef;
    let absent = spoilt(|explored| explored.executions[0].insert(0, (ThreadId::new(1), 0)));
    assert_eq!(absent, Some(Subject::Impossible));
    assert_eq!(spoilt(|explored| explored.executions[0][0].1 = 7), Some(Subject::Impossible));
}

#[test]
fn an_execution_that_ends_too_early_is_noticed() {
    assert_eq!(spoilt(|explored| explored.executions[0].truncate(2)), Some(Subject::NotMaximal));
}

#[test]
fn wrong_numbers_are_noticed() {
    assert_eq!(spoilt(|explored| explored.result.redundant = 1), Some(Subject::Redundant));
    assert_eq!(spoilt(|explored| explored.result.complete += 1), Some(Subject::Counts));
    assert_eq!(spoilt(|explored| explored.result.blocked += 1), Some(Subject::Counts));
}

#[test]
fn wrong_verdicts_are_noticed() {
    let without = |kind| spoilt(|explored| explored.result.violations.retain(|found| found.violation.kind != kind));
    assert_eq!(without(ViolationKind::Assertion), Some(Subject::Violations));
    assert_eq!(without(ViolationKind::DataRace), Some(Subject::DataRace));
    let with = |kind| {
        spoilt(|explored| {
            let mut more = explored.result.violations[0].clone();
            more.violation.kind = kind;
            explored.result.violations.push(more);
        })
    };
    assert_eq!(with(ViolationKind::Deadlock), Some(Subject::Violations));
    let bound =
        Bound { kind: BoundKind::Loop { iterations: 1 }, what: "loop".to_owned(), place: SourceSpan::default() };
    assert_eq!(spoilt(|explored| explored.result.bounds.push((bound.clone(), 1))), Some(Subject::Bounds));
}

#[test]
fn a_schedule_that_does_not_show_its_violation_is_noticed() {
    let emptied = spoilt(|explored| explored.result.violations[0].schedule.steps.clear());
    assert_eq!(emptied, Some(Subject::Schedule));
}

#[test]
fn an_exploration_that_was_not_finished_is_noticed() {
    let stopped = spoilt(|explored| explored.result.interruption = Some(Interruption::Time));
    assert_eq!(stopped, Some(Subject::Interrupted));
}

#[test]
fn a_failing_program_is_shrunk_to_its_cause() {
    // An engine that panics whenever it meets a compare-and-exchange.
    let engine = |machine: LitmusMachine, _, _| {
        assert!(!machine.program().to_string().contains("cas"), "cannot compare and exchange");
        perfect(machine.program())
    };
    let profile = selvedge_oracle::generate::profile("rmw").unwrap();
    let plan = Plan {
        profile,
        seed: 1,
        programs: 100,
        time: None,
        size: selvedge_oracle::generate::Size::Interleavings(300),
        modes: &selvedge_oracle::check::MODES[2..3],
    };
    let failure = fuzz(&plan, &engine).failure.expect("some program has a compare-and-exchange");
    assert_eq!(failure.disagreement.subject, Subject::Panic);
    assert!(failure.disagreement.details.contains("cannot compare and exchange"));
    assert_eq!(failure.program.threads.iter().flatten().count(), 1, "{failure}");
}
