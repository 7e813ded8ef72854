//! The tree of a safe result, for Graphviz.

use selvedge_ir::EntityRef;
use selvedge_schedule::PublishedArt;

/// Longer labels are cut.
const LABEL: usize = 60;

/// The tree in the language of Graphviz: solid edges are steps, dashed ones coverings.
pub fn dot(art: &PublishedArt) -> String {
    let mut text = String::from("digraph schedule {\n  node [shape=box, fontname=\"monospace\", fontsize=10];\n");
    text.push_str("  edge [fontname=\"monospace\", fontsize=10];\n");
    for (n, node) in art.nodes.iter().enumerate() {
        if node.infeasible {
            continue;
        }
        let shape = if node.ended { ", peripheries=2" } else { "" };
        text.push_str(&format!("  n{n} [label=\"{}\"{shape}];\n", quoted(&node.label)));
        for edge in node.edges.iter().filter(|edge| !art.node(edge.to).infeasible) {
            let transition = art.transition(edge.transition);
            let thread = &art.threads[transition.thread.index()].name;
            let label = quoted(&format!("{thread}: {}", transition.text));
            text.push_str(&format!("  n{n} -> n{} [label=\"{label}\"];\n", edge.to.index()));
        }
        if let Some(by) = node.covered_by {
            text.push_str(&format!("  n{n} -> n{} [style=dashed, constraint=false];\n", by.index()));
        }
    }
    text.push_str("}\n");
    text
}

fn quoted(text: &str) -> String {
    let cut: String = text.chars().take(LABEL).collect();
    let more = if text.chars().count() > LABEL { "..." } else { "" };
    format!("{}{more}", cut.replace('\\', "\\\\").replace('"', "\\\""))
}
