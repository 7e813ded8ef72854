//! Schedule files that were changed: each is refused, or leads to a plan whose numbers are all within its tables.

mod support;

use selvedge_enforce::plan::{Next, Plan};
use selvedge_enforce::{CompileOptions, Level, PlanOptions, compile, plan};
use selvedge_ir::{EntityRef, Module};
use selvedge_schedule::{NodeId, PublishedArt};
use serde_json::Value;
use std::process::Command;
use support::verified::verified;
use support::{example, turns};

fn random(seed: &mut u64, below: usize) -> usize {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) as usize % below.max(1)
}

/// Changes something somewhere below a value.
fn change(value: &mut Value, seed: &mut u64) {
    match value {
        Value::Array(items) if !items.is_empty() && random(seed, 12) > 0 => {
            let n = random(seed, items.len());
            change(&mut items[n], seed);
        }
        Value::Object(fields) if !fields.is_empty() && random(seed, 12) > 0 => {
            let n = random(seed, fields.len());
            change(fields.values_mut().nth(n).expect("a field"), seed);
        }
        Value::Array(items) => {
            let n = random(seed, items.len());
            match random(seed, 2) {
                0 if !items.is_empty() => drop(items.remove(n)),
                _ => items.extend(items.get(n).cloned()),
            }
        }
        Value::Number(number) => {
            let old = number.as_u64().unwrap_or(0);
            let options = [0, 1, old.wrapping_add(1), old.wrapping_sub(1), 7, 1 << 20, u64::from(u32::MAX), u64::MAX];
            *value = options[random(seed, options.len())].into();
        }
        Value::Bool(flag) => *flag = !*flag,
        Value::String(text) => *value = format!("{text}x").into(),
        Value::Object(_) | Value::Null => *value = Value::Null,
    }
}

fn assert_within_bounds(plan: &Plan, threads: usize) {
    let next_fits = |next: &Next, leader: Option<usize>| match *next {
        Next::Leave => true,
        Next::Section(section, at) => {
            leader.is_none_or(|leader| at <= plan.sections[section].steps[leader].len())
                && section < plan.sections.len()
        }
        Next::Choice(choice) => choice < plan.choices.len(),
    };
    for section in &plan.sections {
        assert!(section.to < plan.nodes.len());
        assert!(section.in_charge.is_none_or(|thread| thread.index() < threads));
        assert_eq!((section.steps.len(), section.signals.len(), section.totals.len()), (threads, threads, threads));
        assert!(section.tail_classes.len() == threads && section.tail_classes.iter().all(|&class| class < 31));
        for step in section.steps.iter().flatten() {
            assert!(step.site.index() < plan.site_names.len());
            for (thread, signals) in &step.waits {
                assert!(thread.index() < threads && *signals <= section.totals[thread.index()]);
            }
            assert!(step.tails.iter().all(|(thread, classes)| thread.index() < threads && *classes < 1 << 31));
        }
    }
    for offer in plan.nodes.iter().flat_map(|node| &node.offers) {
        assert!(offer.leader.index() < threads);
        assert!(next_fits(&offer.next, Some(offer.leader.index())));
    }
    assert!(plan.choices.iter().all(|choice| choice.next.iter().all(|next| next_fits(next, None))));
    assert!(plan.choices.iter().all(|choice| choice.branch || choice.next.len() == 1));
}

/// A schedule with something changed, if it is still taken for one, and how it would be followed.
fn changed(module: &Module, original: &Value, seed: &mut u64) -> Option<(Plan, PublishedArt)> {
    let mut value = original.clone();
    for _ in 0..=random(seed, 2) {
        change(&mut value, seed);
    }
    let level = [Level::Opt0, Level::Opt1, Level::Opt2][random(seed, 3)];
    let art = selvedge_schedule::from_json(&value.to_string()).ok()?;
    selvedge_schedule::belongs_to(&art, "test", module).ok()?;
    let plan = plan(module, &art, PlanOptions { level, ..PlanOptions::default() }).ok()?;
    Some((plan, art))
}

#[test]
fn a_changed_schedule_is_refused_or_stays_within_its_tables() {
    let module = example("producer_consumer_1p1c.c", &[]);
    let by_hand = turns(&module, &["producer", "consumer"], &|_, _, _| true);
    for (art, least) in [(by_hand, 100), (verified(&module), 100)] {
        let original = serde_json::to_value(&art).expect("plain data");
        let mut seed = 3;
        let mut accepted = 0;
        for _ in 0..3000 {
            if let Some((plan, art)) = changed(&module, &original, &mut seed) {
                assert_within_bounds(&plan, art.threads.len());
                accepted += 1;
            }
        }
        assert!(accepted > least && accepted < 2000, "{accepted}");
    }
}

/// Changes where things go: an edge, a covering, a step, an order of threads.
fn redirect(art: &PublishedArt, seed: &mut u64) -> PublishedArt {
    let mut art = art.clone();
    for _ in 0..=random(seed, 3) {
        let node = random(seed, art.nodes.len());
        let (nodes, transitions) = (art.nodes.len(), art.transitions.len());
        match random(seed, 5) {
            0 => art.nodes[node].covered_by = Some(NodeId::new(random(seed, nodes))),
            1 => art.nodes[node].infeasible = !art.nodes[node].infeasible,
            2 => art.nodes[node].edges.reverse(),
            3 => {
                let other = art.transitions[random(seed, transitions)].steps.clone();
                art.transitions[random(seed, transitions)].steps = other;
            }
            _ => {
                let other = art.transitions[random(seed, transitions)].accesses.clone();
                art.transitions[random(seed, transitions)].accesses = other;
            }
        }
    }
    art
}

#[test]
fn under_a_changed_schedule_no_program_touches_what_is_not_its_own() {
    let module = example("producer_consumer_1p1c.c", &[]);
    let art = verified(&module);
    let (mut seed, mut run, mut tries) = (5, 0, 0);
    while run < 9 && tries < 5000 {
        tries += 1;
        let art = redirect(&art, &mut seed);
        let level = [Level::Opt0, Level::Opt1, Level::Opt2][run % 3];
        let options = PlanOptions { level, ..PlanOptions::default() };
        let plan = match selvedge_schedule::validate(&art) {
            Ok(()) => plan(&module, &art, options),
            Err(_) => continue,
        };
        let Ok(plan) = plan else { continue };
        run += 1;
        assert_within_bounds(&plan, art.threads.len());
        let flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"].map(str::to_owned).to_vec();
        let options = CompileOptions { flags, ..CompileOptions::default() };
        let binary = compile(&module, Some((&plan, &art)), &options).expect("it compiles");
        // It may be stuck, leave its schedule or fail its own assertion; it ends all the same.
        let output = Command::new(binary.path()).env("SELVEDGE_SECONDS", "0.2").output().expect("it can be run");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!said.contains("Sanitizer") && !said.contains("runtime error"), "{said}");
    }
    assert_eq!(run, 9, "after {tries} changes");
}
