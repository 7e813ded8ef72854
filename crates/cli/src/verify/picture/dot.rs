//! A safe result in the language of Graphviz.

use super::{children, cut, directly_before, drawn, step};
use selvedge_ir::EntityRef;
use selvedge_schedule::{ProgramSchedule, PublishedArt, Section};
use std::fmt::Write;

/// The tree and the schedule, as two parts of one graph.
pub fn dot(art: &PublishedArt, schedule: &Result<ProgramSchedule, String>) -> String {
    let mut out = String::from("digraph schedule {\n  node [shape=box, fontname=\"monospace\", fontsize=10];\n");
    out.push_str("  edge [fontname=\"monospace\", fontsize=10];\n");
    out.push_str("  subgraph cluster_tree {\n    label=\"tree\";\n");
    tree(&mut out, art);
    out.push_str("  }\n");
    match schedule {
        Ok(schedule) => {
            for (n, node) in schedule.nodes.iter().enumerate() {
                let _ = writeln!(out, "  s{n} [shape=circle, label=\"s{n}\"];");
                for (m, part) in node.sections().enumerate() {
                    section(&mut out, art, n, m, part);
                }
            }
        }
        Err(why) => {
            let _ = writeln!(out, "  none [shape=plaintext, label=\"{}\"];", quoted(why));
        }
    }
    out.push_str("}\n");
    out
}

fn tree(out: &mut String, art: &PublishedArt) {
    for (id, _) in drawn(art) {
        let (n, node) = (id.index(), art.node(id));
        let shape = if node.ended { ", peripheries=2" } else { "" };
        let _ = writeln!(out, "    n{n} [label=\"{}\"{shape}];", quoted(&node.label));
        for (transition, to) in children(art, id) {
            let label = quoted(&step(art, transition));
            let _ = writeln!(out, "    n{n} -> n{} [label=\"{label}\"];", to.index());
        }
        if let Some(by) = node.covered_by {
            let _ = writeln!(out, "    n{n} -> n{} [style=dashed, constraint=false];", by.index());
        }
    }
}

fn section(out: &mut String, art: &PublishedArt, from: usize, number: usize, section: &Section) {
    let schedule = &section.schedule;
    let name = |event: usize| format!("e{from}_{number}_{event}");
    let to = section.to.index();
    let _ = writeln!(out, "  subgraph cluster_{from}_{number} {{\n    label=\"s{from} to s{to}\";");
    for (n, event) in schedule.events.iter().enumerate() {
        let _ = writeln!(out, "    {} [label=\"{}\"];", name(n), quoted(&step(art, event.transition)));
    }
    let _ = writeln!(out, "  }}");
    for (n, event) in schedule.events.iter().enumerate() {
        let mut before = directly_before(schedule, n);
        before.extend(schedule.events.iter().position(|e| e.thread == event.thread && e.k + 1 == event.k));
        for first in before {
            let _ = writeln!(out, "  {} -> {};", name(first), name(n));
        }
    }
    let _ = writeln!(out, "  s{from} -> {};", name(0));
    let _ = writeln!(out, "  {} -> s{to} [style=dashed];", name(schedule.events.len() - 1));
}

fn quoted(text: &str) -> String {
    cut(text).replace('\\', "\\\\").replace('"', "\\\"")
}
