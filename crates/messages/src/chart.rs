//! Message sequence charts of one execution, as text and as SVG.
//!
//! Every process has a lifeline. An arrow goes from who sends to who is sent to, when it arrives; a receive is a mark on the
//! lifeline of the process that takes the message.

use crate::Pid;
use crate::replay::{Mark, Record, Replay};
use std::fmt::Write;

/// The columns of a chart: who has a lifeline.
struct Columns<'a> {
    processes: &'a [(Pid, String)],
}

impl Columns<'_> {
    fn of(&self, pid: Pid) -> usize {
        self.processes.iter().position(|(known, _)| *known == pid).unwrap_or(0)
    }
}

/// The chart as text, one line for every step: its number, the lifelines, what happens, and where in the source.
pub fn text(replay: &Replay) -> String {
    let columns = Columns { processes: &replay.processes };
    let wide = replay.processes.iter().map(|(_, name)| name.chars().count()).max().unwrap_or(0).clamp(6, 20) + 2;
    let digits = replay.records.len().to_string().len();
    let mut out = " ".repeat(digits + 1);
    for (_, name) in &replay.processes {
        let name: String = name.chars().take(wide - 2).collect();
        let _ = write!(out, "{name:^wide$}");
    }
    let mut chart = vec![out.trim_end().to_owned()];
    let mut alive = vec![true; replay.processes.len()];
    for (n, record) in replay.records.iter().enumerate() {
        let mut line = vec![' '; wide * replay.processes.len()];
        let middle = |column: usize| column * wide + wide / 2;
        for (column, alive) in alive.iter().enumerate() {
            if *alive {
                line[middle(column)] = '|';
            }
        }
        draw(record, &columns, &middle, &mut line);
        if record.mark == Mark::End {
            alive[columns.of(record.pid)] = false;
        }
        let line: String = line.into_iter().collect();
        let place = if record.place.file.is_empty() { String::new() } else { format!("  ({})", record.place) };
        chart.push(format!("{:>digits$} {line}  {} {}{place}", n + 1, record.name, record.what));
    }
    for (pid, what) in &replay.waiting {
        let name = replay.processes.iter().find(|(known, _)| known == pid).map_or("", |(_, name)| name);
        let what = if what.is_empty() { "a message" } else { what };
        chart.push(format!("{}  {name} waits for {what}", " ".repeat(digits + 1 + wide * replay.processes.len())));
    }
    chart.join("\n") + "\n"
}

fn draw(record: &Record, columns: &Columns<'_>, middle: &dyn Fn(usize) -> usize, line: &mut [char]) {
    let own = middle(columns.of(record.pid));
    match &record.mark {
        Mark::Arrow { from, to } => {
            let (from, to) = (middle(columns.of(from.unwrap_or(record.pid))), middle(columns.of(*to)));
            if from == to {
                line[from] = '@';
                return;
            }
            line[from.min(to)..=from.max(to)].fill('-');
            line[from] = '*';
            line[to] = if from < to { '>' } else { '<' };
        }
        Mark::Takes { .. } => line[own] = 'o',
        Mark::End => line[own] = 'X',
        Mark::Other => line[own] = '+',
    }
}

const COLUMN: usize = 160;
const ROW: usize = 28;
const TOP: usize = 50;

/// The chart as SVG.
pub fn svg(replay: &Replay) -> String {
    let columns = Columns { processes: &replay.processes };
    let x = |pid: Pid| COLUMN / 2 + columns.of(pid) * COLUMN;
    let height = TOP + (replay.records.len() + 1) * ROW;
    let width = (replay.processes.len().max(1)) * COLUMN + 80;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<defs><marker id=\"a\" markerWidth=\"8\" markerHeight=\"8\" refX=\"7\" refY=\"4\" \
         orient=\"auto\"><path d=\"M0,0 L8,4 L0,8 z\"/></marker></defs>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for (pid, name) in &replay.processes {
        let ended = replay.records.iter().position(|record| record.pid == *pid && record.mark == Mark::End);
        let end = ended.map_or(height - 10, |row| TOP + row * ROW + ROW / 2);
        let x = x(*pid);
        let _ = writeln!(
            out,
            "<text x=\"{x}\" y=\"20\" text-anchor=\"middle\" font-weight=\"bold\">{}</text>",
            escaped(name)
        );
        let _ = writeln!(out, "<line x1=\"{x}\" y1=\"30\" x2=\"{x}\" y2=\"{end}\" stroke=\"gray\"/>");
    }
    for (row, record) in replay.records.iter().enumerate() {
        let y = TOP + row * ROW + ROW / 2;
        draw_svg(record, x(record.pid), &x, y, &mut out);
    }
    out + "</svg>\n"
}

fn draw_svg(record: &Record, own: usize, x: &dyn Fn(Pid) -> usize, y: usize, out: &mut String) {
    let (label, what) = (escaped(&record.label), escaped(&record.what));
    let title = format!("<title>{}: {what}</title>", escaped(&record.name));
    let drawn = match &record.mark {
        Mark::Arrow { from, to } => {
            let (from, to) = (from.map_or(own, x), x(*to));
            let middle = usize::midpoint(from, to);
            let line = if from == to {
                format!(
                    "<path d=\"M{from},{} h30 v10 h-30\" fill=\"none\" stroke=\"black\" marker-end=\"url(#a)\"/>",
                    y - 5
                )
            } else {
                format!(
                    "<line x1=\"{from}\" y1=\"{y}\" x2=\"{to}\" y2=\"{y}\" stroke=\"black\" marker-end=\"url(#a)\"/>"
                )
            };
            format!("{line}<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{label}</text>", y - 4)
        }
        Mark::Takes { .. } => format!(
            "<circle cx=\"{own}\" cy=\"{y}\" r=\"4\" fill=\"black\"/><text x=\"{}\" y=\"{}\">{what}</text>",
            own + 8,
            y + 4
        ),
        Mark::End => format!(
            "<path d=\"M{},{} l10,10 m0,-10 l-10,10\" stroke=\"black\"/><text x=\"{}\" y=\"{}\">{what}</text>",
            own - 5,
            y - 5,
            own + 10,
            y + 4
        ),
        Mark::Other => format!(
            "<rect x=\"{}\" y=\"{}\" width=\"6\" height=\"6\"/><text x=\"{}\" y=\"{}\">{what}</text>",
            own - 3,
            y - 3,
            own + 8,
            y + 4
        ),
    };
    let _ = writeln!(out, "<g>{title}{drawn}</g>");
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
