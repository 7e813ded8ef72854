//! Execution graphs as text, for people who look at a failing test.
//!
//! ```text
//! t1  0: W v0 = 1
//!     1: R v1 = 0 from init
//! t2  0: W v1 = 1
//!     1: R v0 = 1 from t1.0
//! co v0: t1.0
//! co v1: t2.0
//! ```

use super::graph::{EventRef, Source};
use super::key::{Entry, GraphKey};
use crate::litmus::Program;
use crate::machine::LitmusMachine;
use selvedge_ir::EntityRef;
use selvedge_machine::{Addr, ThreadId};
use std::fmt::Write;

/// A graph of a valid program as text.
pub fn render(program: &Program, key: &GraphKey) -> String {
    let machine = LitmusMachine::new(program.clone()).expect("the program is valid");
    let location = |addr: Addr| match machine.locate(addr) {
        Some((var, 0)) => var.to_string(),
        Some((var, offset)) => format!("{var}+{offset}"),
        None => addr.to_string(),
    };
    let mut text = String::new();
    for (t, entries) in key.threads().iter().enumerate() {
        for (index, entry) in entries.iter().enumerate() {
            let thread = if index == 0 { ThreadId::new(t).to_string() } else { String::new() };
            let entry = match *entry {
                Entry::Read { addr, value, from: Source::Init } => format!("R {} = {value} from init", location(addr)),
                Entry::Read { addr, value, from: Source::Write(at) } => {
                    format!("R {} = {value} from {}", location(addr), name(at))
                }
                Entry::Write { addr, value } => format!("W {} = {value}", location(addr)),
                Entry::Choice { value } => format!("choose {value}"),
            };
            writeln!(text, "{thread:<4}{index}: {entry}").expect("strings grow");
        }
    }
    for (&addr, writes) in key.co() {
        let writes: Vec<String> = writes.iter().map(|&at| name(at)).collect();
        writeln!(text, "co {}: {}", location(addr), writes.join(" ")).expect("strings grow");
    }
    text
}

fn name(at: EventRef) -> String {
    format!("{}.{}", at.thread, at.index)
}
