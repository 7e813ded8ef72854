//! A safe result as SVG: the tree on the left, from the root downwards, and the schedule on the right, section by section.
//!
//! The tree is laid out as trees are: a leaf has a column of its own, a parent stands over the middle of its children.

use super::{children, cut, directly_before, drawn, step};
use selvedge_ir::EntityRef;
use selvedge_schedule::{ProgramSchedule, PublishedArt, Section};
use std::collections::HashMap;
use std::fmt::Write;

const COLUMN: f64 = 330.0;
const ROW: f64 = 52.0;
const BOX: (f64, f64) = (250.0, 20.0);
const MARGIN: f64 = 30.0;
const TITLE: f64 = 34.0;
/// Of the tables on the right.
const LANE: f64 = 230.0;
const LINE: f64 = 26.0;
/// Characters that fit into a box.
const SHOWN: usize = 38;

const STYLE: &str = "text{font:11px monospace;fill:#222}.h{font-size:14px;font-weight:bold}.n{fill:#fff;stroke:#555}\
    .e{stroke-width:3}.s{stroke:#555;fill:none}.c{stroke:#888;fill:none;stroke-dasharray:4 3}.o{stroke:#b33;fill:none}";

/// The picture.
pub fn svg(art: &PublishedArt, schedule: &Result<ProgramSchedule, String>) -> String {
    let mut body = String::new();
    let (tree_width, tree_height) = tree(&mut body, art);
    let left = tree_width + 2.0 * MARGIN;
    let (width, height) = match schedule {
        Ok(schedule) => sections(&mut body, art, schedule, left),
        Err(why) => {
            heading_at(&mut body, left, TITLE + ROW, why);
            (10.0 * why.len() as f64, TITLE + 2.0 * ROW)
        }
    };
    heading(&mut body, MARGIN, &format!("tree of safe schedule {}", art.iteration));
    heading(&mut body, left, "schedule: arrows say what has to come first");
    let (width, height) = (left + width + MARGIN, tree_height.max(height) + MARGIN);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\">\n<style>{STYLE}</style>\n<defs><marker id=\"a\" viewBox=\"0 0 8 8\" \
         refX=\"8\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\"/></marker>\
         </defs>\n{body}</svg>\n"
    )
}

/// The tree; how wide and how high it is.
fn tree(out: &mut String, art: &PublishedArt) -> (f64, f64) {
    let order = drawn(art);
    if order.is_empty() {
        text(out, MARGIN, TITLE + ROW, &format!("{} nodes: too large for a picture", art.nodes.len()), "");
        return (300.0, TITLE + 2.0 * ROW);
    }
    let mut column: HashMap<usize, f64> = HashMap::new();
    let mut leaves = 0.0;
    for &(node, _) in &order {
        if children(art, node).next().is_none() {
            column.insert(node.index(), leaves);
            leaves += 1.0;
        }
    }
    // Children come behind their parents, so from the end everything that is needed is there.
    for &(node, _) in order.iter().rev() {
        let below: Vec<f64> = children(art, node).map(|(_, child)| column[&child.index()]).collect();
        if let (Some(first), Some(last)) = (below.first(), below.last()) {
            column.insert(node.index(), f64::midpoint(*first, *last));
        }
    }
    let depth: HashMap<usize, usize> = order.iter().map(|&(node, depth)| (node.index(), depth)).collect();
    let at = |node: usize| {
        let x = MARGIN + column[&node] * COLUMN + BOX.0 / 2.0;
        (x, TITLE + MARGIN + depth[&node] as f64 * ROW)
    };
    for &(node, _) in &order {
        let (x, y) = at(node.index());
        for (transition, child) in children(art, node) {
            let (to_x, to_y) = at(child.index());
            line(out, "s", (x, y + BOX.1 / 2.0), (to_x, to_y - BOX.1 / 2.0));
            let middle = (f64::midpoint(x, to_x) + 4.0, f64::midpoint(y, to_y) + 4.0);
            text(out, middle.0, middle.1, &step(art, transition), "");
        }
        if let Some(by) = art.node(node).covered_by.filter(|by| depth.contains_key(&by.index())) {
            covering(out, (x, y), at(by.index()));
        }
    }
    for &(node, _) in &order {
        let data = art.node(node);
        boxed(out, at(node.index()), &format!("n{} {}", node.index(), data.label), data.ended);
    }
    let deepest = order.iter().map(|&(_, depth)| depth).max().unwrap_or(0);
    (leaves * COLUMN, TITLE + MARGIN + (deepest as f64 + 1.0) * ROW)
}

/// A covering: a curve on the left, so that it does not hide the steps.
fn covering(out: &mut String, (x, y): (f64, f64), (to_x, to_y): (f64, f64)) {
    let (from, to) = (x - BOX.0 / 2.0, to_x - BOX.0 / 2.0);
    let bend = from.min(to) - 24.0;
    let _ = writeln!(
        out,
        "<path class=\"c\" marker-end=\"url(#a)\" d=\"M{from:.0} {y:.0}C{bend:.0} {y:.0} {bend:.0} {to_y:.0} {to:.0} {to_y:.0}\"/>"
    );
}

fn boxed(out: &mut String, (x, y): (f64, f64), label: &str, ended: bool) {
    let class = if ended { "n e" } else { "n" };
    let (left, top) = (x - BOX.0 / 2.0, y - BOX.1 / 2.0);
    let _ = writeln!(
        out,
        "<g><title>{}</title><rect class=\"{class}\" x=\"{left:.0}\" y=\"{top:.0}\" width=\"{}\" height=\"{}\" rx=\"4\"/>",
        escaped(label),
        BOX.0,
        BOX.1
    );
    text(out, left + 5.0, y + 4.0, label, "</g>");
}

/// The sections, one below the other; how wide they are, and where they end.
fn sections(out: &mut String, art: &PublishedArt, schedule: &ProgramSchedule, left: f64) -> (f64, f64) {
    let mut y = TITLE + MARGIN;
    for (n, node) in schedule.nodes.iter().enumerate() {
        if node.offers.is_empty() {
            text(out, left, y, &format!("s{n}: nothing more is done"), "");
            y += LINE;
        }
        for section in node.sections() {
            y = table(out, art, n, section, (left, y)) + LINE;
        }
    }
    (LANE * art.threads.len() as f64, y)
}

/// A section as a table; where it ends.
fn table(out: &mut String, art: &PublishedArt, from: usize, section: &Section, (left, top): (f64, f64)) -> f64 {
    let schedule = &section.schedule;
    heading_at(out, left, top, &format!("s{from} to s{}", section.to.index()));
    for (n, thread) in art.threads.iter().enumerate() {
        text(out, left + LANE * n as f64, top + LINE, &thread.name, "");
    }
    let at = |event: usize| {
        let lane = schedule.events[event].thread.index() as f64;
        (left + LANE * lane, top + LINE * (event as f64 + 2.0))
    };
    for (n, event) in schedule.events.iter().enumerate() {
        let (x, y) = at(n);
        let label = &art.transition(event.transition).text;
        let _ = writeln!(out, "<g><title>{}</title>", escaped(label));
        text(out, x + 6.0, y + 4.0, label, "</g>");
        for first in directly_before(schedule, n) {
            let (from_x, from_y) = at(first);
            let side = if from_x < x { LANE - 60.0 } else { 0.0 };
            line(out, "o", (from_x + side, from_y + 6.0), (x + if from_x < x { 4.0 } else { LANE - 60.0 }, y - 4.0));
        }
    }
    top + LINE * (schedule.events.len() as f64 + 2.0)
}

fn heading(out: &mut String, x: f64, words: &str) {
    heading_at(out, x, TITLE / 2.0 + 6.0, words);
}

fn heading_at(out: &mut String, x: f64, y: f64, words: &str) {
    let _ = writeln!(out, "<text class=\"h\" x=\"{x:.0}\" y=\"{y:.0}\">{}</text>", escaped(words));
}

fn line(out: &mut String, class: &str, (x, y): (f64, f64), (to_x, to_y): (f64, f64)) {
    let _ = writeln!(out, "<path class=\"{class}\" marker-end=\"url(#a)\" d=\"M{x:.0} {y:.0}L{to_x:.0} {to_y:.0}\"/>");
}

fn text(out: &mut String, x: f64, y: f64, words: &str, end: &str) {
    let shown: String = cut(words).chars().take(SHOWN).collect();
    let more = if shown.len() < words.len() { "\u{2026}" } else { "" };
    let _ = writeln!(out, "<text x=\"{x:.0}\" y=\"{y:.0}\">{}{more}</text>{end}", escaped(&shown));
}

/// Text that XML takes for text.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}
