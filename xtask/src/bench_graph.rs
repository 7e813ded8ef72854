//! `bench graph`: what the graph engine explores, column by column of the paper's tables, and how fast.
//!
//! A Markdown table with a row for each program, size and memory model, and a column for each set of reductions:
//! complete and blocked executions, CPU seconds, executions per second; for the last column also the most memory that was
//! in use and, where it is known, how many times faster that is than a peer. A cell that takes longer than the limit
//! shows how far it came.

use crate::bench::{Measured, measured};
use crate::bench_trace::{mistake, parse_choices, print_row, shown};
use crate::trace_table::{Expected, parse_expected};
use crate::{Outcome, shell};
use std::process::Command;

/// The columns, with the reductions of each.
const COLUMNS: [(&str, &str); 4] = [
    ("TruSt", "purity,await"),
    ("+stale", "purity,await,stale"),
    ("+IPR", "purity,await,stale,in-place"),
    ("Awamoche", "all"),
];
const HEADER: &str = "name,program,macros,options,when,peer,trust,stale,ipr,awamoche";

/// A program of a certain size.
#[derive(Clone, PartialEq, Debug)]
struct Row {
    name: String,
    program: String,
    macros: Vec<String>,
    options: Vec<String>,
    full: bool,
    peer: Option<f64>,
    /// None for a column that is not run.
    expected: [Option<Expected>; COLUMNS.len()],
}

/// Runs the command.
pub fn run(args: &[String]) -> Outcome {
    let choices = parse_choices(args)?;
    let file = "benchmarks/graph.csv";
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let rows = parse(&text).map_err(|message| format!("{file}: {message}"))?;
    let is_named = |row: &Row| choices.names.is_empty() || choices.names.iter().any(|name| row.name.contains(name));
    let rows: Vec<&Row> = rows.iter().filter(|row| is_named(row) && (choices.full || !row.full)).collect();
    if rows.is_empty() {
        return Err("no program has such a name; some are run with --full only".to_owned());
    }
    let selvedge = shell::build_selvedge()?;
    let limit = choices.seconds();
    println!("Complete + blocked executions, CPU seconds, executions per second; at most {limit} s for each cell.\n");
    let heads = COLUMNS.iter().map(|(name, _)| (*name).to_owned()).chain(["MiB".to_owned(), "x peer".to_owned()]);
    let heads: Vec<String> = heads.collect();
    print_row("program", &heads);
    print_row("---", &heads.iter().map(|_| "---:".to_owned()).collect::<Vec<_>>());
    let mut mistakes = Vec::new();
    for row in rows {
        let mut cells = Vec::new();
        let mut last = None;
        for (column, expected) in row.expected.iter().enumerate() {
            let Some(expected) = *expected else {
                cells.push(String::new());
                continue;
            };
            let mut command = Command::new(&selvedge);
            command.arg("check").args(row.arguments(column)).args(["--time", &format!("{limit}s"), "--json", "-"]);
            let found = measured(&mut command)?;
            let why = mistake(expected, &found);
            mistakes.extend(why.map(|why| format!("{} {}: {why}", row.name, COLUMNS[column].0)));
            cells.push(shown(&found));
            last = Some(found);
        }
        cells.push(last.as_ref().map_or(String::new(), |found| format!("{:.0}", found.memory_kib as f64 / 1024.0)));
        cells.push(last.zip(row.peer).map_or(String::new(), |(found, peer)| format!("{:.0}", rate(&found) / peer)));
        print_row(&row.name, &cells);
    }
    if mistakes.is_empty() { Ok(()) } else { Err(format!("not as expected:\n{}", mistakes.join("\n"))) }
}

fn rate(found: &Measured) -> f64 {
    (found.complete + found.blocked) as f64 / found.seconds.max(1e-6)
}

impl Row {
    /// The arguments of `selvedge check` for a column.
    fn arguments(&self, column: usize) -> Vec<String> {
        let mut words = vec![format!("benchmarks/{}.c", self.program), "-DSPIN".to_owned()];
        words.extend(self.macros.iter().map(|definition| format!("-D{definition}")));
        words.extend(self.options.iter().cloned());
        words.extend(["--engine", "graph", "--reductions", COLUMNS[column].1].map(str::to_owned));
        words
    }
}

fn parse(text: &str) -> Result<Vec<Row>, String> {
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.starts_with('#') && !line.trim().is_empty());
    match lines.next() {
        Some((_, HEADER)) => {}
        _ => return Err(format!("the first line must be `{HEADER}`")),
    }
    lines.map(|(n, line)| parse_row(line).map_err(|message| format!("line {}: {message}", n + 1))).collect()
}

fn parse_row(line: &str) -> Result<Row, String> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let &[name, program, macros, options, when, peer, ref columns @ ..] = fields.as_slice() else {
        return Err(format!("ten fields are needed, but there are {}", fields.len()));
    };
    let words = |field: &str| field.split_whitespace().map(str::to_owned).collect();
    let expected = |field: &&str| if *field == "." { Ok(None) } else { parse_expected(field).map(Some) };
    let expected = columns.iter().map(expected).collect::<Result<Vec<_>, _>>()?;
    let found = expected.len();
    let peer = match peer {
        "" => None,
        number => Some(number.parse().map_err(|_| format!("`{number}` is no number of executions per second"))?),
    };
    Ok(Row {
        name: name.to_owned(),
        program: program.to_owned(),
        macros: words(macros),
        options: words(options),
        full: when == "full",
        peer,
        expected: expected.try_into().map_err(|_| format!("four columns are needed, but there are {found}"))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_this_repository_is_well_formed() {
        let rows = parse(include_str!("../../benchmarks/graph.csv")).expect("the table is well-formed");
        let row = rows.iter().find(|row| row.name == "conf-loop(5)").expect("it is there");
        assert_eq!(row.expected[0], Some(Expected::Counts(120, 3905)));
        assert_eq!(row.expected[3], Some(Expected::Counts(120, 0)));
        let words = "benchmarks/conf-loop.c -DSPIN -DN=5 --model rc11 --engine graph --reductions all";
        assert_eq!(row.arguments(3).join(" "), words);
    }

    #[test]
    fn a_line_with_a_wrong_field_is_refused() {
        let wrong = |line: &str| parse(&format!("{HEADER}\n{line}")).unwrap_err();
        assert_eq!(wrong("a,b,,,quick,fast,-,-,-,-"), "line 2: `fast` is no number of executions per second");
        assert_eq!(wrong("a,b,,,quick,,-,-"), "line 2: four columns are needed, but there are 2");
    }
}
