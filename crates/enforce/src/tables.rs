//! The plan as tables of the run-time, in C.

use crate::plan::{Next, Plan};
use selvedge_ir::EntityRef;
use selvedge_schedule::{PublishedArt, Start, ThreadId};
use std::fmt::Write;

/// What stands before the tables: their types, which the run-time shares.
const TYPES: &str = "\
#include <stdint.h>
struct start { int creator; uint32_t nth; };
#define TAIL 0x80000000u
struct wait { uint32_t thread, signals; };
struct step { uint32_t site, successor, first_wait, wait_count, signal; };
struct part { uint32_t first, count, signals, total, class; };
enum { LEAVE, TO_SECTION, TO_CHOICE };
enum { WAITS = 1, ALONE = 2, WRITES = 4, ASKS = 8 };
struct next { uint32_t kind, a, b; };
struct position { int leader; struct next next; };
struct node { uint32_t first, count; };
struct choice { uint32_t site, branch, first, count, first_wait, wait_count; };
";

/// The run-time of a program that has no schedule.
pub fn without_schedule() -> String {
    "#define SELVEDGE_SCHEDULED 0\n".to_owned()
}

/// The tables of a plan.
pub fn tables(plan: &Plan, art: &PublishedArt) -> String {
    let mut out = String::from("#define SELVEDGE_SCHEDULED 1\n");
    out.push_str(TYPES);
    let defines = [
        ("THREADS", art.threads.len()),
        ("SITES", plan.site_names.len()),
        ("NO_SECTION", plan.sections.len()),
        ("CONTINUE", usize::from(plan.continue_unconstrained)),
    ];
    for (name, value) in defines {
        let _ = writeln!(out, "#define {name} {value}");
    }
    // As `threads.c` numbers them: the main thread is -1 as a creator, and nobody, -2, creates it.
    let starts = art.threads.iter().map(|one| match one.start {
        Start::Main => "{-2, 0}".to_owned(),
        Start::Created(n) => format!("{{-1, {n}}}"),
        Start::CreatedBy(by, n) => format!("{{{}, {n}}}", thread(Some(by))),
    });
    array(&mut out, "struct start", "starts", starts);
    array(&mut out, "char *const", "thread_names", art.threads.iter().map(|thread| string(&thread.name)));
    array(&mut out, "char *const", "site_names", plan.site_names.iter().map(|name| string(name)));
    steps(&mut out, plan, art.threads.len());
    let ends = plan.sections.iter().map(|section| section.to).chain([0]);
    array(&mut out, "uint32_t", "section_ends", ends.map(|to| to.to_string()));
    // Before the first section, whoever may start it is in charge.
    let begins = plan.nodes.first().and_then(|node| node.offers.first()).map(|offer| offer.leader);
    let in_charge = plan.sections.iter().map(|section| section.in_charge).chain([begins]);
    array(&mut out, "int", "in_charge_behind", in_charge.map(thread));
    let flags = plan.sections.iter().map(|section| {
        let flag = |set: bool, name: &'static str| if set { name } else { "0" };
        let (waits, alone) = (flag(section.waits_for_leader, "WAITS"), flag(section.alone, "ALONE"));
        let (writes, asks) = (flag(section.writes, "WRITES"), flag(section.asks, "ASKS"));
        format!("{waits} | {alone} | {writes} | {asks}")
    });
    array(&mut out, "uint8_t", "section_flags", flags);
    // The first position is the end of the schedule: nobody's.
    let mut count = 1;
    let nodes: Vec<String> = plan
        .nodes
        .iter()
        .map(|node| {
            count += node.offers.len();
            format!("{{{}, {}}}", count - node.offers.len(), node.offers.len())
        })
        .collect();
    array(&mut out, "struct node", "nodes", nodes.into_iter());
    let positions = plan.nodes.iter().flat_map(|node| &node.offers).map(|offer| {
        let (leader, next) = (thread(Some(offer.leader)), next(offer.next));
        format!("{{{leader}, {next}}}")
    });
    let end = format!("{{{}, {}}}", thread(None), next(Next::Leave));
    array(&mut out, "struct position", "positions", [end].into_iter().chain(positions));
    let (mut first, mut first_wait) = (0, 0);
    let choices: Vec<String> = plan
        .choices
        .iter()
        .map(|choice| {
            let (site, branch, count) = (choice.site.index(), u32::from(choice.branch), choice.next.len());
            let waits = choice.tails.len();
            first += count;
            first_wait += waits;
            format!("{{{site}, {branch}, {}, {count}, {}, {waits}}}", first - count, first_wait - waits)
        })
        .collect();
    array(&mut out, "struct choice", "choices", choices.into_iter());
    array(&mut out, "struct next", "nexts", plan.choices.iter().flat_map(|choice| &choice.next).map(|&to| next(to)));
    out
}

/// Steps and waits, and which of them belong to which thread in which section. Behind the last section comes one without
/// steps, for the time before the first.
fn steps(out: &mut String, plan: &Plan, threads: usize) {
    // Those of choices come first.
    let mut waits: Vec<String> = plan.choices.iter().flat_map(|choice| choice.tails.iter().map(tail)).collect();
    let (mut steps, mut parts) = (Vec::new(), Vec::new());
    for section in &plan.sections {
        for (thread, of_thread) in section.steps.iter().enumerate() {
            let (signals, total) = (section.signals[thread], section.totals[thread]);
            let class = section.tail_classes[thread];
            parts.push(format!("{{{}, {}, {signals}, {total}, {class}}}", steps.len(), of_thread.len()));
            for step in of_thread {
                let successor = step.successor.map_or("0xffffffffu".to_owned(), |n| n.to_string());
                steps.push(format!(
                    "{{{}, {successor}, {}, {}, {}}}",
                    step.site.index(),
                    waits.len(),
                    step.waits.len() + step.tails.len(),
                    step.signal
                ));
                waits.extend(step.waits.iter().map(|(thread, count)| format!("{{{}, {count}}}", thread.index())));
                waits.extend(step.tails.iter().map(tail));
            }
        }
    }
    parts.extend((0..threads).map(|_| "{0, 0, 0, 0, 0}".to_owned()));
    // The address behind the last step is taken; a step of its own makes it one of the array.
    steps.push("{0, 0, 0, 0, 0}".to_owned());
    array(out, "struct step", "steps", steps.into_iter());
    array(out, "struct wait", "waits", waits.into_iter());
    array(out, "struct part", "parts", parts.into_iter());
}

/// A wait for tails of some classes.
fn tail((thread, classes): &(ThreadId, u32)) -> String {
    format!("{{{}, TAIL | {classes}u}}", thread.index())
}

fn thread(thread: Option<ThreadId>) -> String {
    thread.map_or("-1".to_owned(), |thread| thread.index().to_string())
}

fn next(next: Next) -> String {
    match next {
        Next::Leave => "{LEAVE, 0, 0}".to_owned(),
        Next::Section(section, at) => format!("{{TO_SECTION, {section}, {at}}}"),
        Next::Choice(choice) => format!("{{TO_CHOICE, {choice}, 0}}"),
    }
}

/// An array; C wants at least one element.
fn array(out: &mut String, ty: &str, name: &str, items: impl Iterator<Item = String>) {
    let mut items: Vec<String> = items.collect();
    if items.is_empty() {
        items.push("0".to_owned());
    }
    let ty = if ty.ends_with("const") { ty.to_owned() } else { format!("const {ty}") };
    let _ = writeln!(out, "static {ty} {name}[] = {{{}}};", items.join(","));
}

/// A string of C.
fn string(text: &str) -> String {
    let mut quoted = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b' ' | b'_' | b'-' | b'(' | b')' | b'.' | b',' | b':' => {
                quoted.push(byte as char);
            }
            _ => {
                let _ = write!(quoted, "\\{byte:03o}");
            }
        }
    }
    quoted.push('"');
    quoted
}
