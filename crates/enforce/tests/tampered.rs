//! Schedule files that were changed: each is refused, or leads to a plan whose numbers are all within its tables.

mod support;

use selvedge_enforce::plan::{Next, Plan};
use selvedge_enforce::{Level, PlanOptions, plan};
use selvedge_ir::EntityRef;
use serde_json::Value;
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
        assert_eq!((section.steps.len(), section.signals.len()), (threads, threads));
        for step in section.steps.iter().flatten() {
            assert!(step.site.index() < plan.site_names.len());
            for (thread, signals) in &step.waits {
                assert!(thread.index() < threads && *signals <= section.signals[thread.index()]);
            }
        }
    }
    for offer in plan.nodes.iter().flat_map(|node| &node.offers) {
        assert!(offer.leader.index() < threads);
        assert!(next_fits(&offer.next, Some(offer.leader.index())));
    }
    assert!(plan.choices.iter().all(|choice| choice.next.iter().all(|next| next_fits(next, None))));
    assert!(plan.choices.iter().all(|choice| choice.branch || choice.next.len() == 1));
}

#[test]
fn a_changed_schedule_is_refused_or_stays_within_its_tables() {
    let module = example("producer_consumer_1p1c.c", &[]);
    let art = turns(&module, &["producer", "consumer"], &|_, _, _| true);
    let original = serde_json::to_value(&art).expect("plain data");
    let mut seed = 3;
    let (mut refused, mut accepted) = (0, 0);
    for _ in 0..3000 {
        let mut value = original.clone();
        for _ in 0..=random(&mut seed, 2) {
            change(&mut value, &mut seed);
        }
        let level = [Level::Opt0, Level::Opt1, Level::Opt2][random(&mut seed, 3)];
        let read = selvedge_schedule::from_json(&value.to_string());
        let read = read.and_then(|art| selvedge_schedule::belongs_to(&art, "test", &module).map(|()| art));
        match read
            .map(|art| plan(&module, &art, PlanOptions { level, ..PlanOptions::default() }).map(|plan| (plan, art)))
        {
            Ok(Ok((plan, art))) => {
                assert_within_bounds(&plan, art.threads.len());
                accepted += 1;
            }
            _ => refused += 1,
        }
    }
    assert!(refused > 1000 && accepted > 100, "{refused} {accepted}");
}
