//! The rows of the README's tables.

use crate::programs::litmus::{LITMUS, STYLES};
use crate::programs::{PROGRAMS, Program};
use selvedge::model::Builder;

/// The head of the table of litmus tests.
pub const LITMUS_HEAD: &str = "\
| litmus test | Relaxed | Release, Acquire | SeqCst | AcqRel fences | SeqCst fences |
|---|---|---|---|---|---|";

/// The head of the table of programs.
pub const PROGRAMS_HEAD: &str = "\
| program | verdict | executions | blocked | spurious | seconds |
|---|---|---|---|---|---|";

/// The number of executions of every litmus test in every style.
pub fn litmus(is_wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let row = |(name, test): &'static (&str, fn(_) -> _)| {
        let counts = STYLES.map(|style| {
            let stats = Builder::new().explore(move || drop::<Vec<usize>>(test(style)));
            assert_eq!((stats.failure, stats.blocked), (None, 0), "{name}, {}", style.name);
            stats.complete.to_string()
        });
        format!("| {name} | {} |", counts.join(" | "))
    };
    LITMUS.iter().filter(|(name, _)| is_wanted(name)).map(row).collect()
}

/// Verdict, counts and time of every program.
pub fn programs(is_wanted: impl Fn(&str) -> bool) -> Vec<String> {
    PROGRAMS.iter().filter(|program| is_wanted(program.name)).map(program).collect()
}

fn program(program: &Program) -> String {
    let stats = Builder::new().explore(program.body);
    assert!(stats.failure.is_some() || stats.not_covered.is_empty(), "{}: {:?}", program.name, stats.not_covered);
    let bug = stats.failure.as_deref().map(|text| text.split(':').next().unwrap_or_default());
    assert_eq!(bug, program.bug, "{}: {:?}", program.name, stats.failure);
    let seconds = stats.duration.as_secs_f64();
    format!(
        "| {} | {} | {} | {} | {} | {seconds:.3} |",
        program.name,
        bug.unwrap_or("passes"),
        stats.complete,
        stats.blocked,
        stats.spurious
    )
}

/// The rows of the table with this head.
pub fn listed<'a>(text: &'a str, head: &str) -> Vec<&'a str> {
    let rest = text.split_once(head).expect("the table is there").1;
    rest.lines().skip(1).take_while(|line| line.starts_with('|')).collect()
}

/// A text in which the table with this head has these rows.
pub fn replaced(text: &str, head: &str, rows: &[String]) -> String {
    let (before, rest) = text.split_once(head).expect("the table is there");
    let after: Vec<&str> = rest.lines().skip(1 + listed(text, head).len()).collect();
    format!("{before}{head}\n{}\n{}\n", rows.join("\n"), after.join("\n"))
}
