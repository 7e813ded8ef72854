//! `bench erlang`: Erlang modules; interleavings per second, and what it takes before the first.
//!
//! The peer's figure is that of Concuerror on not_selective(8) on a machine of this size: 40,320 interleavings in 31 s of CPU
//! time, 2 s of which it needs to start.

use crate::{Outcome, no_arguments, shell};
use std::process::Command;
use std::time::Instant;

/// Interleavings per second of the peer.
const PEER: f64 = 1300.0;

/// Module, entry, and further options.
const PROGRAMS: &[(&str, &str, &[&str])] = &[
    ("not_selective", "test(8)", &[]),
    ("selective", "test(8)", &["--reductions", "none"]),
    ("lock", "test(6)", &["--server", "lock/0"]),
    ("ping_pong", "test(4)", &[]),
    ("counter", "test()", &["--reductions", "none"]),
];

/// Runs the command.
pub fn run(args: &[String]) -> Outcome {
    no_arguments(args)?;
    let selvedge = shell::build_selvedge()?;
    println!(
        "{:<16} {:<9} {:>14} {:>9} {:>12} {:>8} {:>9}",
        "module", "entry", "interleavings", "s", "a second", "x peer", "start s"
    );
    for (module, entry, options) in PROGRAMS {
        let start = Instant::now();
        let mut command = Command::new(&selvedge);
        command
            .args(["check", &format!("tests/erlang/programs/{module}.erl"), "--entry", entry, "--json", "-"])
            .args(*options);
        let output = command.output().map_err(|error| shell::not_started(&command, &error))?;
        let elapsed = start.elapsed().as_secs_f64();
        let text = String::from_utf8_lossy(&output.stdout);
        let field = |name: &str| {
            let at = text.find(&format!("\"{name}\": "))? + name.len() + 4;
            text[at..].split([',', '\n', '}']).next()?.trim().parse::<f64>().ok()
        };
        let (Some(complete), Some(seconds)) = (field("complete"), field("seconds")) else {
            return Err(format!("{module}: no report: {}", String::from_utf8_lossy(&output.stderr)));
        };
        let rate = complete / seconds.max(1e-6);
        let (factor, begin) = (rate / PEER, elapsed - seconds);
        println!("{module:<16} {entry:<9} {complete:>14} {seconds:>9.2} {rate:>12.0} {factor:>8.1} {begin:>9.2}");
    }
    Ok(())
}
