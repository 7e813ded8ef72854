//! The list of benchmark runs: `benchmarks/bench.csv`.
//!
//! One line per run; lines that start with `#` say what the fields mean. There are no quotes, so a field is what stands
//! between two commas.

/// A run.
#[derive(Clone, PartialEq, Debug)]
pub struct Run {
    /// The printed name.
    pub name: String,
    /// The file in `benchmarks/`, without `.c`.
    pub program: String,
    /// Macros.
    pub macros: Vec<String>,
    /// Further options of `selvedge check`.
    pub options: Vec<String>,
    /// `verified`, or the kind of the violation that is found.
    pub verdict: String,
    /// Expected complete executions, if stated.
    pub complete: Option<u64>,
    /// Expected blocked executions, if stated.
    pub blocked: Option<u64>,
    /// What another checker does per second on the same program, if measured.
    pub peer: Option<f64>,
}

const HEADER: &str = "name,program,macros,options,verdict,complete,blocked,peer,source";

/// Reads the list.
pub fn parse(text: &str) -> Result<Vec<Run>, String> {
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.starts_with('#') && !line.trim().is_empty());
    match lines.next() {
        Some((_, HEADER)) => {}
        _ => return Err(format!("the first line must be `{HEADER}`")),
    }
    lines.map(|(n, line)| parse_run(line).map_err(|message| format!("line {}: {message}", n + 1))).collect()
}

fn parse_run(line: &str) -> Result<Run, String> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let &[name, program, macros, options, verdict, complete, blocked, peer, _source] = fields.as_slice() else {
        return Err(format!("nine fields are needed, but there are {}", fields.len()));
    };
    let words = |field: &str| field.split_whitespace().map(str::to_owned).collect();
    Ok(Run {
        name: name.to_owned(),
        program: program.to_owned(),
        macros: words(macros),
        options: words(&options.replace('+', ",")),
        verdict: verdict.to_owned(),
        complete: count(complete)?,
        blocked: count(blocked)?,
        peer: if peer.is_empty() { None } else { Some(peer.parse().map_err(|_| format!("`{peer}` is no rate"))?) },
    })
}

fn count(field: &str) -> Result<Option<u64>, String> {
    match field {
        "-" | "?" | "" => Ok(None),
        number => number.parse().map(Some).map_err(|_| format!("`{number}` is no count")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_this_repository_is_well_formed() {
        let text = include_str!("../../benchmarks/bench.csv");
        let runs = parse(text).expect("the list is well-formed");
        assert!(runs.iter().any(|run| run.name == "ninc(8)" && run.complete == Some(40_320)));
    }

    #[test]
    fn a_line_with_a_missing_field_is_refused() {
        let text = format!("{HEADER}\nname,program\n");
        assert_eq!(parse(&text), Err("line 2: nine fields are needed, but there are 2".to_owned()));
    }
}
