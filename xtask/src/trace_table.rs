//! The programs of `bench trace` and what they are expected to do: `benchmarks/trace.csv`.

/// The columns, with the reductions of each.
pub const COLUMNS: [(&str, &str); 6] = [
    ("baseline", "none"),
    ("+PLP", "purity"),
    ("+await", "purity,await"),
    ("+IFAA", "purity,await,ifaa"),
    ("+observers", "purity,await,observers"),
    ("all", "all"),
];

/// A program of a certain size.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// The printed name.
    pub name: String,
    /// The file in `benchmarks/`, without `.c`.
    pub program: String,
    /// Macros.
    pub macros: Vec<String>,
    /// Further options of `selvedge check`.
    pub options: Vec<String>,
    /// Whether it is for `--full` only.
    pub full: bool,
    /// How often a loop may go round in the baseline.
    pub bound: Option<String>,
    /// What is expected of each column.
    pub expected: [Expected; COLUMNS.len()],
}

/// What is expected of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expected {
    /// These complete and blocked executions.
    Counts(u64, u64),
    /// A violation.
    Bug,
    /// Nothing in particular.
    Unstated,
}

const HEADER: &str = "name,program,macros,options,when,bound,baseline,plp,await,ifaa,observers,all";

impl Row {
    /// The arguments of `selvedge check` for a column.
    pub fn arguments(&self, column: usize) -> Vec<String> {
        let mut words = vec![format!("benchmarks/{}.c", self.program)];
        words.extend(self.macros.iter().map(|definition| format!("-D{definition}")));
        words.extend(self.options.iter().cloned());
        match (column, &self.bound) {
            (0, Some(bound)) => words.extend(["--unroll".to_owned(), bound.clone()]),
            (0, None) => {}
            _ => words.push("-DSPIN".to_owned()),
        }
        words.extend(["--engine", "trace", "--reductions", COLUMNS[column].1].map(str::to_owned));
        words
    }
}

/// Reads the table.
pub fn parse(text: &str) -> Result<Vec<Row>, String> {
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.starts_with('#') && !line.trim().is_empty());
    match lines.next() {
        Some((_, HEADER)) => {}
        _ => return Err(format!("the first line must be `{HEADER}`")),
    }
    lines.map(|(n, line)| parse_row(line).map_err(|message| format!("line {}: {message}", n + 1))).collect()
}

fn parse_row(line: &str) -> Result<Row, String> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let &[name, program, macros, options, when, bound, ref columns @ ..] = fields.as_slice() else {
        return Err(format!("twelve fields are needed, but there are {}", fields.len()));
    };
    let words = |field: &str| field.split_whitespace().map(str::to_owned).collect();
    let expected = columns.iter().map(|field| parse_expected(field)).collect::<Result<Vec<_>, _>>()?;
    let found = expected.len();
    Ok(Row {
        name: name.to_owned(),
        program: program.to_owned(),
        macros: words(macros),
        options: words(options),
        full: match when {
            "quick" => false,
            "full" => true,
            other => return Err(format!("`{other}` is neither `quick` nor `full`")),
        },
        bound: (!bound.is_empty()).then(|| bound.to_owned()),
        expected: expected.try_into().map_err(|_| format!("six columns are needed, but there are {found}"))?,
    })
}

/// Reads what is expected of a run.
pub fn parse_expected(field: &str) -> Result<Expected, String> {
    match field {
        "-" => Ok(Expected::Unstated),
        "bug" => Ok(Expected::Bug),
        counts => {
            let parts = counts.split_once('+').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
            parts.map(|(a, b)| Expected::Counts(a, b)).ok_or_else(|| format!("`{counts}` is not of the form 6+2"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_this_repository_is_well_formed() {
        let rows = parse(include_str!("../../benchmarks/trace.csv")).expect("the table is well-formed");
        let row = rows.iter().find(|row| row.name == "linuxrwlocks(3)").expect("it is there");
        assert_eq!(row.expected[0], Expected::Counts(38_033, 31_993));
    }

    #[test]
    fn the_baseline_assumes_where_the_others_spin() {
        let text = format!("{HEADER}\na,b,T=2,--no-deadlocks,full,4,6+2,bug,-,-,-,-");
        let rows = parse(&text).expect("it is well-formed");
        assert!(rows[0].full);
        assert_eq!(rows[0].expected[..3], [Expected::Counts(6, 2), Expected::Bug, Expected::Unstated]);
        let baseline = "benchmarks/b.c -DT=2 --no-deadlocks --unroll 4 --engine trace --reductions none";
        assert_eq!(rows[0].arguments(0).join(" "), baseline);
        let all = "benchmarks/b.c -DT=2 --no-deadlocks -DSPIN --engine trace --reductions all";
        assert_eq!(rows[0].arguments(5).join(" "), all);
    }

    #[test]
    fn a_line_with_a_wrong_field_is_refused() {
        let wrong = |line: &str| parse(&format!("{HEADER}\n{line}")).unwrap_err();
        assert_eq!(wrong("a,b,,,soon,,-,-,-,-,-,-"), "line 2: `soon` is neither `quick` nor `full`");
        assert_eq!(wrong("a,b,,,quick,,-,-"), "line 2: six columns are needed, but there are 2");
        assert_eq!(wrong("a,b,,,quick,,-,-,6,-,-,-"), "line 2: `6` is not of the form 6+2");
    }
}
