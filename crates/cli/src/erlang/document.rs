//! What is written for scripts and for `replay`: one JSON object with what was asked and what was found.

use super::{interruption_in_words, looked_at_all};
use selvedge_machine::{SourceSpan, Violation, ViolationKind};
use selvedge_messages::replay::Replay;
use selvedge_messages::{Exploration, Schedule};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The version of the form.
const VERSION: u64 = 1;

/// What was asked.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Asked {
    /// The files.
    pub inputs: Vec<String>,
    /// Where they were given.
    pub directory: String,
    /// Directories with header files.
    pub include_dirs: Vec<String>,
    /// Macros.
    pub defines: Vec<String>,
    /// Directories with compiled modules.
    pub code_dirs: Vec<String>,
    /// Whether messages of different senders may overtake each other on their way.
    pub fifo: bool,
    /// Whether arrivals conflict only if some receive can tell.
    pub observers: bool,
    /// Functions whose processes may wait forever.
    pub servers: Vec<String>,
    /// Receives that wait at least so many milliseconds wait forever.
    pub after_timeout: Option<u64>,
    /// How many calls a process may make between two steps.
    pub calls: u64,
    /// Whether deadlocks are violations.
    pub deadlocks: bool,
    /// A hash of the compiled modules: a schedule belongs to exactly these.
    pub hash: String,
}

/// A violation, its schedule, and its execution with what it printed (or why there is none).
pub struct Seen {
    pub violation: Violation,
    pub schedule: Schedule,
    pub shown: Result<(Replay, String), String>,
}

/// What came of one entry.
pub struct Run {
    pub entry: String,
    pub exploration: Exploration,
    pub seen: Vec<Seen>,
    pub seconds: f64,
}

impl Run {
    /// Whether everything was looked at.
    pub fn is_complete(&self) -> bool {
        looked_at_all(&self.exploration)
    }

    /// The answer in one word.
    pub fn answer(&self) -> &'static str {
        match (self.exploration.violations.is_empty(), self.is_complete()) {
            (false, _) => "violation",
            (true, true) => "verified",
            (true, false) => "incomplete",
        }
    }

    /// What was not looked at, in words.
    pub fn not_covered(&self) -> Vec<String> {
        let e = &self.exploration;
        let mut list = Vec::new();
        list.extend(e.unsupported.iter().map(|u| format!("what lies behind {}, which is not supported", u.feature)));
        list.extend(e.interruption.map(|why| interruption_in_words(why).to_owned()));
        list.extend(
            e.bounds.iter().map(|(bound, times)| format!("what lies behind a bound: {} ({times} times)", bound.what)),
        );
        list
    }
}

/// Everything.
pub struct Document {
    pub asked: Asked,
    pub load_seconds: f64,
    pub runs: Vec<Run>,
}

/// What `replay` needs of a document.
pub struct Trace {
    pub asked: Asked,
    pub violations: Vec<Found>,
}

/// A violation that was written down.
pub struct Found {
    pub entry: String,
    pub violation: Violation,
    pub schedule: Schedule,
}

impl Document {
    /// As text.
    pub fn to_json(&self) -> String {
        let runs: Vec<Value> = self.runs.iter().map(run_json).collect();
        let value = json!({
            "selvedge": "erlang",
            "version": VERSION,
            "asked": self.asked,
            "load_seconds": self.load_seconds,
            "runs": runs,
        });
        serde_json::to_string_pretty(&value).expect("strings and numbers can be written") + "\n"
    }

    /// Reads what `to_json` writes; none if it is something else.
    pub fn read(text: &str) -> Option<Result<Trace, String>> {
        let value: Value = serde_json::from_str(text).ok()?;
        (value.get("selvedge")? == "erlang").then(|| read_trace(&value))
    }
}

fn place_json((place, word): &(SourceSpan, String)) -> Value {
    json!({ "file": place.file, "line": place.line, "function": place.function, "what": word })
}

fn run_json(run: &Run) -> Value {
    let e = &run.exploration;
    let violations: Vec<Value> = run.seen.iter().map(violation_json).collect();
    json!({
        "entry": run.entry,
        "answer": run.answer(),
        "complete": e.complete,
        "blocked": e.blocked,
        "longest": e.longest,
        "steps": e.steps,
        "seconds": run.seconds,
        "violations": violations,
        "unsupported": e.unsupported.as_ref().map(|u| json!({ "feature": u.feature, "place": u.place.to_string() })),
        "not_covered": run.not_covered(),
    })
}

fn violation_json(seen: &Seen) -> Value {
    let v = &seen.violation;
    let steps: Vec<Value> = match &seen.shown {
        Ok((replay, _)) => replay.records.iter().map(step_json).collect(),
        Err(_) => Vec::new(),
    };
    json!({
        "kind": v.kind.name(),
        "message": v.message,
        "places": v.places.iter().map(place_json).collect::<Vec<_>>(),
        "schedule": seen.schedule.to_string(),
        "steps": steps,
        "output": seen.shown.as_ref().map_or("", |(_, output)| output),
    })
}

fn step_json(record: &selvedge_messages::replay::Record) -> Value {
    json!({
        "process": record.name,
        "what": record.what,
        "file": record.place.file,
        "line": record.place.line,
    })
}

fn read_trace(value: &Value) -> Result<Trace, String> {
    if value["version"] != VERSION {
        return Err(format!("it is of version {}, not {VERSION}", value["version"]));
    }
    let asked = serde_json::from_value(value["asked"].clone()).map_err(|error| error.to_string())?;
    let mut violations = Vec::new();
    for run in value["runs"].as_array().into_iter().flatten() {
        for violation in run["violations"].as_array().into_iter().flatten() {
            violations.push(read_violation(run, violation)?);
        }
    }
    Ok(Trace { asked, violations })
}

fn read_violation(run: &Value, violation: &Value) -> Result<Found, String> {
    let text = |value: &Value| value.as_str().map(str::to_owned).ok_or("a field is missing".to_owned());
    let kind = text(&violation["kind"])?;
    let kind = ViolationKind::from_name(&kind).ok_or_else(|| format!("there is no violation `{kind}`"))?;
    let mut places = Vec::new();
    for place in violation["places"].as_array().into_iter().flatten() {
        let line = place["line"].as_u64().and_then(|line| u32::try_from(line).ok()).unwrap_or(0);
        let span = SourceSpan { file: text(&place["file"])?, line, column: 0, function: text(&place["function"])? };
        places.push((span, text(&place["what"])?));
    }
    let violation_read = Violation { kind, message: text(&violation["message"])?, places };
    let schedule = Schedule::parse(&text(&violation["schedule"])?)?;
    Ok(Found { entry: text(&run["entry"])?, violation: violation_read, schedule })
}
