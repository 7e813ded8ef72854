//! Options whose values have a form of their own.

use std::time::Duration;

/// The memory models that engines support.
pub const MODELS: &[&str] = &["sc", "tso", "ra", "rc11"];
/// The engines.
pub const ENGINES: &[&str] = &["trace", "graph"];
/// The reductions that can be switched on.
pub const REDUCTIONS: &[&str] =
    &["ifaa", "observers", "purity", "await", "stale", "in-place", "speculative", "composite", "direct"];
/// Those of them that only one of the engines has.
pub const TRACE_REDUCTIONS: &[&str] = &["ifaa", "observers"];
/// Those of them that only the other one has.
pub const GRAPH_REDUCTIONS: &[&str] = &["stale", "in-place", "speculative", "composite", "direct"];

/// A time, or for ever.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Milliseconds(pub Option<u64>);

/// A memory model that is available.
pub fn model(text: &str) -> Result<String, String> {
    one_of(text, MODELS, "model")
}

/// An engine that is available.
pub fn engine(text: &str) -> Result<String, String> {
    one_of(text, ENGINES, "engine")
}

fn one_of(text: &str, available: &[&str], what: &str) -> Result<String, String> {
    if available.contains(&text) {
        Ok(text.to_owned())
    } else {
        Err(format!("this {what} is not available; available: {}", available.join(", ")))
    }
}

/// A set of reductions: `none`, `all`, or names separated by commas.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reductions(pub Vec<String>);

/// Reads a set of reductions.
pub fn reductions(text: &str) -> Result<Reductions, String> {
    match text {
        "none" => Ok(Reductions(Vec::new())),
        "all" => Ok(Reductions(REDUCTIONS.iter().map(|name| (*name).to_owned()).collect())),
        list => list.split(',').map(reduction).collect::<Result<_, _>>().map(Reductions),
    }
}

fn reduction(name: &str) -> Result<String, String> {
    if REDUCTIONS.contains(&name) {
        return Ok(name.to_owned());
    }
    Err(format!("there is no reduction `{name}`; available: none, all, {}", REDUCTIONS.join(", ")))
}

/// What can be done with loops.
pub const LOOP_TREATMENTS: &[&str] = &["purity", "await", "confirm", "confirm-exits"];

/// A treatment of loops that is available.
pub fn loop_treatment(text: &str) -> Result<String, String> {
    one_of(text, LOOP_TREATMENTS, "treatment of loops")
}

/// A duration: `500ms`, `30s`, `5m`, `2h`, or a number of seconds.
pub fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is not a duration; write 500ms, 30s, 5m or 2h");
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let factor = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(wrong()),
    };
    Duration::try_from_secs_f64(number * factor).map_err(|_| wrong())
}

/// A range of numbers, both ends included: `0..3`, `-1..1`.
pub fn range(text: &str) -> Result<(i64, i64), String> {
    let wrong = || format!("`{text}` is not a range; write LO..HI, both included, such as 0..3 or -1..1");
    let (low, high) = text.split_once("..").ok_or_else(wrong)?;
    let (low, high) = (low.parse().map_err(|_| wrong())?, high.parse().map_err(|_| wrong())?);
    if low > high {
        return Err(format!("the range {low}..{high} is empty"));
    }
    Ok((low, high))
}

/// `NAME` or `NAME=VALUE`.
pub fn define(text: &str) -> Result<String, String> {
    let name = text.split('=').next().unwrap_or_default();
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    // A macro with parameters, such as `f(x)=x`, is a definition too.
    let name = name.split('(').next().unwrap_or_default();
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) || !name.chars().all(is_name) {
        return Err(format!("`{text}` is not of the form NAME or NAME=VALUE"));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("30"), Ok(Duration::from_secs(30)));
        assert_eq!(duration("1.5m"), Ok(Duration::from_secs(90)));
        assert!(duration("soon").is_err());
        assert!(duration("3 weeks").is_err());
        assert!(duration("99999999999999999999h").is_err());
    }

    #[test]
    fn ranges_include_both_ends_and_are_not_empty() {
        assert_eq!(range("-1..1"), Ok((-1, 1)));
        assert_eq!(range("3..3"), Ok((3, 3)));
        assert!(range("3..2").is_err());
        assert!(range("3").is_err());
        assert!(range("0..").is_err());
    }

    #[test]
    fn what_is_not_available_is_refused_by_name() {
        assert!(model("power").is_err_and(|message| message.contains("available: sc")));
        assert!(reductions("purity,speed").is_err_and(|message| message.contains("`speed`")));
        assert_eq!(reductions("purity,ifaa").map(|r| r.0.len()), Ok(2));
        assert_eq!(reductions("none"), Ok(Reductions(Vec::new())));
        assert_eq!(reductions("all").map(|r| r.0.len()), Ok(REDUCTIONS.len()));
    }

    #[test]
    fn definitions_start_with_a_name() {
        assert!(define("N=3").is_ok() && define("DEBUG").is_ok() && define("f(x)=x").is_ok());
        assert!(define("=3").is_err() && define("3N").is_err() && define("a b=1").is_err());
    }
}
