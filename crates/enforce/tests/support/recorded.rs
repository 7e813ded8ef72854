//! Whether a recorded run keeps to a program schedule: by the scheduler of Algorithm 3, which is told one event after the
//! other and has to permit each; where sections overlap, by what depends on what.

use super::overlapping::Run;
use selvedge_enforce::{Level, Plan, PlanOptions};
use selvedge_ir::{EntityRef, Module};
use selvedge_schedule::ivr::Ivr;
use selvedge_schedule::{
    Options, Precision, ProgramSchedule, PublishedArt, Silent, StepKind, ThreadId, TransitionId, independently_fair,
    program_schedule,
};
use std::collections::VecDeque;

/// A step of a run: when it was done, at which instruction, and where a branch went.
#[derive(Clone, Copy, Debug)]
struct Done {
    time: usize,
    site: u32,
    successor: u32,
}

/// An event of a run.
#[derive(Clone, Copy, Debug)]
struct Event {
    transition: TransitionId,
    /// When the last step was done that others could notice.
    noticed: usize,
}

/// The tree and the program schedule that a level follows.
pub fn followed(art: &PublishedArt, options: PlanOptions) -> (PublishedArt, ProgramSchedule) {
    let wanted = Options {
        precision: match options.level {
            Level::Opt0 => Precision::Order,
            Level::Opt1 => Precision::Objects,
            Level::Opt2 => Precision::Bytes,
        },
        replicate: if options.level == Level::Opt2 { options.replicate } else { 1 },
        omit_synchronisation: options.level > Level::Opt0,
        silent: match options.level {
            Level::Opt0 => Silent::Kept,
            Level::Opt1 => Silent::Branches,
            Level::Opt2 => Silent::Omitted,
        },
    };
    if options.level == Level::Opt2 {
        let schedule = program_schedule(art, wanted).expect("every choice is seen");
        return (art.clone(), schedule);
    }
    let fair = independently_fair(art, 0).expect("small");
    let schedule = program_schedule(&fair, wanted).expect("one thread at each node");
    (fair, schedule)
}

/// Whether a run, as the program printed it, keeps to the schedule; how many events it has and how many times in it another
/// thread went on than before. Where a plan has tails, [`overlapping`] says whether it does.
pub fn keeps(
    module: &Module,
    art: &PublishedArt,
    plan: &Plan,
    options: PlanOptions,
    printed: &str,
) -> Result<(usize, usize), String> {
    let (art, schedule) = followed(art, options);
    let steps = steps(module, &art, plan, options.level > Level::Opt0);
    let mut queues: Vec<VecDeque<Done>> = vec![VecDeque::new(); art.threads.len()];
    for (time, line) in printed.lines().enumerate() {
        let numbers: Vec<u32> = line.split(' ').map(|word| word.parse().expect("a number")).collect();
        queues[numbers[0] as usize].push_back(Done { time, site: numbers[1], successor: numbers[2] });
    }
    if plan.sections.iter().any(|section| section.signals != section.totals) {
        return overlapping(&art, &schedule, &steps, queues);
    }
    let events = by_first_step(&art, &schedule, &steps, queues)?;
    // The same once more in the order of what others notice.
    let mut noticed = events.clone();
    noticed.sort_by_key(|event| event.noticed);
    let mut ivr = Ivr::new(&art, &schedule);
    for event in &noticed {
        if !ivr.execute(event.transition) {
            return Err(format!("{} is noticed too early, at step {}", text(&art, event.transition), event.noticed));
        }
    }
    let thread = |event: &Event| art.transition(event.transition).thread;
    let changes = noticed.windows(2).filter(|pair| thread(&pair[0]) != thread(&pair[1])).count();
    Ok((events.len(), changes))
}

/// The steps of each transition that are executed: instruction, successor, and whether others could notice it.
type Steps = Vec<Vec<(u32, Option<u32>, bool)>>;

fn steps(module: &Module, art: &PublishedArt, plan: &Plan, omit: bool) -> Steps {
    let of_transition = |transition: &selvedge_schedule::Transition| {
        let executed = transition.steps.iter().filter(|step| !(omit && step.kind.is_synchronisation()));
        executed
            .map(|step| {
                let place = step.site.resolve(module).expect("of this program");
                let successor = match step.kind {
                    StepKind::Branch(n) => Some(n),
                    _ => None,
                };
                // What no section has is never called.
                let site = plan.sites.treated.get(&place).map_or(u32::MAX, |(site, _)| site.index() as u32);
                (site, successor, step.kind.is_noticed())
            })
            .collect()
    };
    art.transitions.iter().map(of_transition).collect()
}

/// Takes the run apart into events, in the order of their first steps.
fn by_first_step(
    art: &PublishedArt,
    schedule: &ProgramSchedule,
    steps: &Steps,
    mut queues: Vec<VecDeque<Done>>,
) -> Result<Vec<Event>, String> {
    let mut ivr = Ivr::new(art, schedule);
    let mut events = Vec::new();
    loop {
        let next = (0..queues.len()).filter(|&t| !queues[t].is_empty()).min_by_key(|&t| queues[t][0].time);
        let Some(t) = next else { return Ok(events) };
        let first = queues[t][0];
        let permitted = ivr.permitted();
        let of_thread: Vec<TransitionId> =
            permitted.into_iter().filter(|&r| art.transition(r).thread == ThreadId::new(t)).collect();
        let fits = |r: &&TransitionId| {
            let done = queues[t].iter();
            steps[r.index()]
                .iter()
                .zip(done)
                .all(|(&(site, successor, _), done)| site == done.site && successor.is_none_or(|n| n == done.successor))
        };
        let Some(&transition) = of_thread.iter().find(fits) else {
            let thread = &art.threads[t].name;
            return Err(format!(
                "{thread} goes on at step {} (site {}), which is not its turn",
                first.time, first.site
            ));
        };
        let length = steps[transition.index()].len();
        if queues[t].len() < length {
            // The record ends within it.
            return Ok(events);
        }
        let done: Vec<Done> = queues[t].drain(..length).collect();
        let last = steps[transition.index()].iter().rposition(|&(_, _, noticed)| noticed).unwrap_or(0);
        events.push(Event { transition, noticed: done[last].time });
        if !ivr.execute(transition) {
            return Err(format!("{} is not permitted at step {}", text(art, transition), first.time));
        }
    }
}

/// As [`by_first_step`], and the same in the order of what others notice, where sections overlap; how many events there are
/// and how many of them are late.
fn overlapping(
    art: &PublishedArt,
    schedule: &ProgramSchedule,
    steps: &Steps,
    mut queues: Vec<VecDeque<Done>>,
) -> Result<(usize, usize), String> {
    let mut events = Vec::new();
    let mut run = Run::new(art, schedule);
    while let Some(t) = (0..queues.len()).filter(|&t| !queues[t].is_empty()).min_by_key(|&t| queues[t][0].time) {
        let fits = |r: TransitionId| {
            let all = steps[r.index()].iter().zip(&queues[t]);
            all.into_iter()
                .all(|(&(site, successor, _), done)| site == done.site && successor.is_none_or(|n| n == done.successor))
        };
        let time = queues[t][0].time;
        let transition = run
            .execute(ThreadId::new(t), fits)
            .map_err(|why| format!("{} at step {time}: {why}", art.threads[t].name))?;
        let length = steps[transition.index()].len();
        if queues[t].len() < length {
            break;
        }
        let done: Vec<Done> = queues[t].drain(..length).collect();
        let last = steps[transition.index()].iter().rposition(|&(_, _, noticed)| noticed).unwrap_or(0);
        events.push(Event { transition, noticed: done[last].time });
    }
    events.sort_by_key(|event| event.noticed);
    let mut run = Run::new(art, schedule);
    for event in &events {
        run.execute(art.transition(event.transition).thread, |r| r == event.transition)
            .map_err(|why| format!("{} is noticed at step {}: {why}", text(art, event.transition), event.noticed))?;
    }
    Ok((events.len(), run.late))
}

fn text(art: &PublishedArt, transition: TransitionId) -> String {
    let data = art.transition(transition);
    format!("`{}` of {}", data.text, art.threads[data.thread.index()].name)
}
