//! How the plan is made: which instructions the run-time is called at, what each thread does in each section, and how the
//! leader of a section finds out which one it is.

use crate::emit::{SiteId, Treatment};
use crate::plan::{
    Choice, Level, Next, Place, Plan, PlanError, PlanNode, PlanOptions, PlanSection, PlanStep, Position,
};
use crate::tails::{Tails, events};
use crate::waits::{Waits, waits};
use selvedge_ir::EntityRef;
use selvedge_schedule::{Precision, ProgramSchedule, PublishedArt, ScheduleNode, Section, StepKind, ThreadId};
use std::collections::{BTreeMap, HashSet};

/// Signals and sections are counted with this many bits.
const BITS: u32 = 20;

/// What a plan is made from.
pub(crate) struct Planner<'a> {
    /// The tree, with one thread per node.
    pub art: &'a PublishedArt,
    /// Its program schedule.
    pub schedule: &'a ProgramSchedule,
    /// The steps of each transition.
    pub steps: &'a [Vec<(Place, StepKind)>],
    /// Whether operations of synchronisation are left out.
    pub omit: bool,
    /// What counts as dependent.
    pub precision: Precision,
    /// What is wanted.
    pub options: PlanOptions,
}

impl<'a> Planner<'a> {
    pub(crate) fn plan(&self) -> Result<Plan, PlanError> {
        let sections: Vec<&Section> = self.schedule.nodes.iter().flat_map(ScheduleNode::sections).collect();
        let every = self.options.level == Level::Opt0;
        let tails = match self.options.level {
            Level::Opt2 => Tails::new(self.art, &sections, self.precision, |section, n| self.asks_behind(section, n)),
            _ => Tails::none(self.art, &sections),
        };
        let orders: Vec<Waits> =
            sections.iter().zip(&tails.early).map(|(section, early)| waits(&section.schedule, early, every)).collect();
        let mut plan = Plan {
            sites: crate::emit::Sites::default(),
            site_names: Vec::new(),
            sections: Vec::new(),
            nodes: Vec::new(),
            choices: Vec::new(),
            omits_synchronisation: self.omit,
            continue_unconstrained: self.options.continue_unconstrained,
        };
        self.treat_sites(&self.called(&sections, &orders, &tails), &mut plan);
        for (n, (section, order)) in sections.iter().zip(&orders).enumerate() {
            plan.sections.push(self.section((n, section), order, &tails, &plan));
        }
        let mut first = 0;
        for node in &self.schedule.nodes {
            let mut offers = Vec::new();
            for offer in &node.offers {
                let (leader, count) = (offer.leader, offer.sections.len());
                let next = self.choice(&mut plan, leader, (first..first + count).collect(), 0)?;
                offers.push(Position { leader, next });
                first += count;
            }
            plan.nodes.push(PlanNode { offers });
        }
        check_size(&plan)?;
        Ok(plan)
    }

    /// The steps of an event that are executed.
    fn executed(&self, section: &Section, event: usize) -> impl Iterator<Item = &'a (Place, StepKind)> + use<'a> {
        let omit = self.omit;
        let transition = section.schedule.events[event].transition;
        self.steps[transition.index()].iter().filter(move |(_, kind)| !(omit && kind.is_synchronisation()))
    }

    /// The instructions at which the run-time is called. Below Opt2 that is every one.
    fn called(&self, sections: &[&Section], orders: &[Waits], tails: &Tails) -> HashSet<Place> {
        let mut called = HashSet::new();
        for (section, order) in sections.iter().zip(orders) {
            let mut begun = HashSet::new();
            for ((n, event), edge) in section.schedule.events.iter().enumerate().zip(events(self.art, section)) {
                let places: Vec<Place> = self.executed(section, n).map(|(place, _)| *place).collect();
                let signal = self.signal_step(section, n);
                // The first event of a thread waits for its section to begin.
                let waits =
                    begun.insert(event.thread) || !order.waits[n].is_empty() || !tails.waits(self.art, edge).is_empty();
                if self.options.level < Level::Opt2 || self.options.every_step {
                    called.extend(places);
                    continue;
                }
                if waits {
                    called.extend(places.first());
                }
                if order.signals[n] != 0 {
                    called.extend(places.get(signal));
                }
            }
        }
        for offer in self.schedule.nodes.iter().flat_map(|node| &node.offers).filter(|offer| offer.sections.len() > 1) {
            for section in &offer.sections {
                called.extend(self.executed(section, 0).map(|(place, _)| *place));
            }
        }
        called
    }

    /// Numbers the instructions that the run-time is called at, and says what becomes of these and of those that are left
    /// out.
    fn treat_sites(&self, called: &HashSet<Place>, plan: &mut Plan) {
        let mut all: BTreeMap<Place, (Vec<StepKind>, String)> = BTreeMap::new();
        for (transition, steps) in self.art.transitions.iter().zip(self.steps) {
            for (step, (place, kind)) in transition.steps.iter().zip(steps) {
                let entry = all.entry(*place).or_insert_with(|| (Vec::new(), step.site.to_string()));
                entry.0.push(*kind);
            }
        }
        for (place, (kinds, name)) in all {
            let id = SiteId::new(plan.site_names.len());
            let treatment = if self.omit && kinds[0].is_synchronisation() {
                Treatment::Omit
            } else if called.contains(&place) {
                treatment(&kinds)
            } else {
                continue;
            };
            plan.site_names.push(name);
            plan.sites.treated.insert(place, (id, treatment));
        }
    }

    /// The step of an event behind which others may go on: the last one that they could notice. What a thread computes
    /// behind it (an input may be long in coming) is its own business. An event that decides which section it is must have
    /// decided.
    fn signal_step(&self, section: &Section, event: usize) -> usize {
        let decides = event == 0 && self.branches(section);
        let noticed = |kind: &StepKind| match kind {
            StepKind::Branch(_) => decides,
            kind => kind.is_noticed(),
        };
        let kinds: Vec<StepKind> = self.executed(section, event).map(|(_, kind)| *kind).collect();
        kinds.iter().rposition(noticed).unwrap_or(0)
    }

    /// Whether the thread of an event takes an input behind the step after which others may go on.
    fn asks_behind(&self, section: &Section, event: usize) -> bool {
        let behind = self.executed(section, event).skip(self.signal_step(section, event) + 1);
        behind.into_iter().any(|(_, kind)| *kind == StepKind::Nondet)
    }

    /// Whether a section is one of several that start at its node.
    fn branches(&self, section: &Section) -> bool {
        self.art.branching(section.path.start)
    }

    fn section(&self, (number, section): (usize, &Section), order: &Waits, tails: &Tails, plan: &Plan) -> PlanSection {
        let mut steps = vec![Vec::new(); self.art.threads.len()];
        for ((n, event), edge) in section.schedule.events.iter().enumerate().zip(events(self.art, section)) {
            let signal_at = self.signal_step(section, n);
            for (at, (place, kind)) in self.executed(section, n).enumerate() {
                let Some((site, _)) = plan.sites.treated.get(place) else {
                    continue;
                };
                let successor = match kind {
                    StepKind::Branch(successor) => Some(*successor),
                    _ => None,
                };
                let (waits, tails) = match at {
                    0 => (order.waits[n].clone(), tails.waits(self.art, edge)),
                    _ => (Vec::new(), Vec::new()),
                };
                let signal = if at == signal_at { order.signals[n] } else { 0 };
                steps[event.thread.index()].push(PlanStep { site: *site, successor, waits, tails, signal });
            }
        }
        let leader = section.schedule.events[0].thread;
        let waits_for_leader = steps.iter().enumerate().filter(|(n, _)| *n != leader.index()).all(|(_, of_thread)| {
            let first: Option<&PlanStep> = of_thread.first();
            first.is_none_or(|step| step.waits.iter().any(|(thread, _)| *thread == leader))
        });
        let alone = section.schedule.events.iter().all(|event| event.thread == leader);
        let last = section.schedule.events.last().map(|event| event.thread);
        let in_charge = match &self.schedule.nodes[section.to.index()].offers[..] {
            _ if alone => Some(leader),
            [] => None,
            [only] => Some(only.leader),
            _ => last,
        };
        PlanSection {
            steps,
            signals: order.early.clone(),
            totals: order.totals.clone(),
            tail_classes: tails.class[number].clone(),
            waits_for_leader,
            alone,
            in_charge,
            writes: self.writes(section),
            asks: alone && tails.asks[number][leader.index()],
            to: section.to.index(),
        }
    }

    /// Whether an event of a section writes what is shared. What is left out writes nothing.
    fn writes(&self, section: &Section) -> bool {
        section.path.edges(self.art).any(|edge| {
            let executed = |(_, kind): &(Place, StepKind)| !(self.omit && kind.is_synchronisation());
            let has_event = self.steps[edge.transition.index()].iter().any(executed);
            has_event && self.art.accesses(edge).iter().any(|access| access.write)
        })
    }

    /// How the leader finds out which of these sections it is in, of which it has made this many steps.
    fn choice(&self, plan: &mut Plan, leader: ThreadId, sections: Vec<usize>, at: usize) -> Result<Next, PlanError> {
        if let [section] = sections[..] {
            return Ok(Next::Section(section, at));
        }
        let step = |section: usize| plan.sections[section].steps[leader.index()].get(at);
        let undecided =
            |site: String| PlanError::Undecided { thread: self.art.threads[leader.index()].name.clone(), site };
        let Some(first) = step(sections[0]).cloned() else {
            return Err(undecided("its end".to_owned()));
        };
        let name = plan.site_names[first.site.index()].clone();
        if sections.iter().any(|&section| step(section).is_none_or(|step| step.site != first.site)) {
            return Err(undecided(name));
        }
        let mut groups: BTreeMap<Option<u32>, Vec<usize>> = BTreeMap::new();
        for &section in &sections {
            groups.entry(step(section).and_then(|step| step.successor)).or_default().push(section);
        }
        let id = plan.choices.len();
        let branch = first.successor.is_some();
        let mut tails: BTreeMap<ThreadId, u32> = BTreeMap::new();
        for (thread, classes) in sections.iter().filter_map(|&section| step(section)).flat_map(|step| &step.tails) {
            *tails.entry(*thread).or_default() |= classes;
        }
        let tails = tails.into_iter().collect();
        plan.choices.push(Choice { site: first.site, branch, tails, next: Vec::new() });
        let most = groups.keys().flatten().max().map_or(1, |&most| most as usize + 1);
        let mut next = vec![Next::Leave; most];
        for (successor, group) in groups {
            next[successor.unwrap_or(0) as usize] = self.choice(plan, leader, group, at + 1)?;
        }
        plan.choices[id].next = next;
        Ok(Next::Choice(id))
    }
}

/// What becomes of an instruction that is executed.
fn treatment(kinds: &[StepKind]) -> Treatment {
    match kinds[0] {
        StepKind::Branch(_) => Treatment::Branch,
        StepKind::Exit => Treatment::Before,
        StepKind::CondWait | StepKind::CondWake => Treatment::Wait,
        StepKind::CondSignal | StepKind::CondBroadcast => Treatment::Turns(1),
        StepKind::BarrierArrive | StepKind::BarrierLeave => Treatment::Turns(2),
        _ => Treatment::Around,
    }
}

fn check_size(plan: &Plan) -> Result<(), PlanError> {
    let too_large = |what: &str| Err(PlanError::TooLarge(what.to_owned()));
    let positions: usize = plan.nodes.iter().map(|node| node.offers.len()).sum();
    if plan.sections.len() + positions + 2 >= 1 << BITS || plan.nodes.len() >= 1 << BITS {
        return too_large("it has too many sections");
    }
    if plan.sections.iter().flat_map(|section| &section.totals).any(|&count| count >= 1 << BITS) {
        return too_large("a section is too long");
    }
    let steps: usize = plan.sections.iter().flat_map(|section| &section.steps).map(Vec::len).sum();
    if steps > 1 << 24 || plan.sections.len() * plan.sections.first().map_or(0, |s| s.steps.len()) > 1 << 24 {
        return too_large("it has too many steps");
    }
    if plan.choices.iter().map(|choice| choice.next.len()).sum::<usize>() > 1 << 24 {
        return too_large("it has too many branches");
    }
    Ok(())
}
