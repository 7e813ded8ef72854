//! The graph of an execution, for Graphviz.
//!
//! One column per thread, steps from top to bottom, with values, memory orders and source lines; solid grey edges are the
//! order within a thread, the others say why a step comes after another ([`crate::edges`]): who reads from whom (`rf`),
//! who overwrites what somebody wrote (`co`) or read (`fr`), and so on. If no interleaving explains the execution, these
//! edges have a cycle, and reads that miss a newer write are filled.

use crate::edges::{Why, edges};
use crate::fold;
use crate::words::{self, Names};
use selvedge_machine::schedule::{Replay, Source};
use selvedge_machine::{ThreadId, Violation};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The graph as a DOT document.
pub fn render(replay: &Replay, violation: &Violation) -> String {
    let names = Names::of(replay).with_orders();
    let culprits = fold::culprits(replay, violation);
    let mut columns: BTreeMap<ThreadId, Vec<usize>> = BTreeMap::new();
    for (n, event) in replay.events.iter().enumerate() {
        columns.entry(event.thread).or_default().push(n);
    }
    let mut out = String::from("digraph execution {\n  rankdir=TB;\n  newrank=true;\n");
    let title = format!("{}: {}", violation.kind, violation.message);
    line(&mut out, format_args!("  label={};\n  labelloc=t;", quote(&title)));
    line(&mut out, format_args!("  node [shape=box, style=rounded, fontname=monospace, fontsize=10];"));
    line(&mut out, format_args!("  edge [fontname=monospace, fontsize=9];"));
    for (thread, steps) in &columns {
        line(&mut out, format_args!("  subgraph cluster_{thread} {{\n    label={};", quote(&names.thread(*thread))));
        for &n in steps {
            let event = &replay.events[n];
            let what = words::describe(event, &names).join("\n");
            // What another step wrote has an edge; what was there at first has none.
            let initial = if event.link.from == Some(Source::Initial) { " (initial value)" } else { "" };
            let text = format!("{}: {what}{initial}\n{}", n + 1, event.site.span);
            let color = if culprits.contains(&n) { ", color=red, penwidth=2" } else { "" };
            let misses = if event.missed.is_some() { ", style=\"rounded,filled\", fillcolor=lightyellow" } else { "" };
            line(&mut out, format_args!("    e{n} [label={}{color}{misses}];", quote(&text)));
        }
        for pair in steps.windows(2) {
            line(&mut out, format_args!("    e{} -> e{} [color=gray, weight=10];", pair[0], pair[1]));
        }
        line(&mut out, format_args!("  }}"));
    }
    for edge in edges(replay) {
        let style = match edge.why {
            Why::ReadsFrom => "color=darkgreen, fontcolor=darkgreen",
            Why::Coherence => "color=orange, fontcolor=orange",
            Why::FromRead => "color=red, fontcolor=red, style=dashed",
            Why::Lock => "color=blue, fontcolor=blue",
            Why::Spawn | Why::Join => "style=dashed",
            Why::Signal => "color=purple, fontcolor=purple",
        };
        let label = edge.why.name();
        line(&mut out, format_args!("  e{} -> e{} [label={label}, {style}, constraint=false];", edge.from, edge.to));
    }
    out.push_str("}\n");
    out
}

fn line(out: &mut String, text: std::fmt::Arguments) {
    writeln!(out, "{text}").expect("writing to a string succeeds");
}

/// A quoted string of the DOT language.
fn quote(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{escaped}\"")
}
