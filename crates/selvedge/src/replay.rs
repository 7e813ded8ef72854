//! An execution, written down so that it can be run again.
//!
//! The text has four parts, separated by semicolons: where the model is, and which one if several run there (so that other models of
//! the same program run as usual), what it was run with, the paths of its threads, and the steps. A step is the number of its thread, and if there
//! is more to say: `cN` which alternative it took, `rN` which step it reads from (`r-` the first value), `wN` the place of its
//! write in coherence order. `*N` says that the step is made N times. A full stop is the end, so that a text that was cut off is
//! not taken for a shorter execution.

use crate::runtime::At;
use crate::shared::Config;
use crate::text::Text;
use crate::update::Updates;
use rustc_hash::FxHashMap;
use selvedge_machine::ViolationKind;
use selvedge_machine::schedule::{Link, Schedule, ScheduleStep, Source};
use std::cell::RefCell;

/// An execution of a model.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Recorded {
    /// Where the model is.
    pub model: String,
    /// Whether exchanges fail and waits end for no reason, and whether every `Arc`, and senders of channels, are counted;
    /// of these, whether several threads send to the same.
    pub spurious: bool,
    pub count_arcs: bool,
    pub count_senders: bool,
    pub many_senders: bool,
    /// Whether attempts of `fetch_update` are made one by one, whether threads say that they have ended, and whether it is part of
    /// the model who drops what they return.
    pub one_by_one: bool,
    pub sees_ends: bool,
    pub drops_results: bool,
    /// What is wrong with it, if no step is wrong by itself.
    pub kind: Option<ViolationKind>,
    pub schedule: Schedule,
}

/// The kinds of violations that are seen in an execution as a whole. At the first two it is cut off.
const KINDS: [(ViolationKind, char); 4] = [
    (ViolationKind::DataRace, 'r'),
    (ViolationKind::UseAfterFree, 'f'),
    (ViolationKind::Deadlock, 'x'),
    (ViolationKind::Livelock, 'y'),
];

/// The end of the text.
const END: char = '.';

/// Letters for the eight ways in which three things are or are not so: of the letters of one of them, each has its bit set.
const MORE: [char; 8] = ['-', 'u', 'e', 'v', 'h', 'k', 'l', 'o'];

/// Where a model is, and if several run there one after the other, as in a loop: which one it is, from 1.
pub(crate) fn model_at(at: At, nth: u32) -> String {
    let place = format!("{}:{}:{}", at.file(), at.line(), at.column());
    if nth > 1 { format!("{place}#{nth}") } else { place }
}

/// The place in that.
pub(crate) fn place_of(model: &str) -> &str {
    model.rsplit_once('#').filter(|(_, number)| number.parse::<u32>().is_ok()).map_or(model, |(place, _)| place)
}

/// Whether a text may be that: if there is a number, it is one that is needed.
fn is_model(text: &str) -> bool {
    let is_number = |number: &str| number.contains(':') || number.parse::<u32>().is_ok_and(|n| n > 1);
    !text.is_empty() && text.rsplit_once('#').is_none_or(|(_, number)| is_number(number))
}

/// A model is about to run at a place: which one it is of those that this thread of the operating system (one test, that is) runs
/// there, from 1.
pub(crate) fn next_at(at: At) -> u32 {
    thread_local! {
        static COUNTS: RefCell<FxHashMap<(&'static str, u32, u32), u32>> = RefCell::default();
    }
    COUNTS.with_borrow_mut(|counts| {
        let count = counts.entry((at.file(), at.line(), at.column())).or_default();
        *count += 1;
        *count
    })
}

impl Recorded {
    /// An execution of a model that was run with this, and what is wrong with it.
    pub fn new(at: At, config: Config, kind: ViolationKind, schedule: Schedule) -> Recorded {
        let Config {
            nth, spurious, count_arcs, count_senders, many_senders, updates, sees_ends, drops_results, ..
        } = config;
        let (model, one_by_one) = (model_at(at, nth), updates == Updates::OneByOne);
        let kind = KINDS.map(|(kind, _)| kind).into_iter().find(|&known| known == kind);
        Recorded {
            model,
            spurious,
            count_arcs,
            count_senders,
            many_senders,
            one_by_one,
            sees_ends,
            drops_results,
            kind,
            schedule,
        }
    }

    /// Whether it is cut off where something is wrong: a data race, or the use of an object that may be freed.
    pub fn is_cut(&self) -> bool {
        matches!(self.kind, Some(ViolationKind::DataRace | ViolationKind::UseAfterFree))
    }

    /// As text.
    pub fn write(&self) -> String {
        let Schedule { threads, steps, links } = &self.schedule;
        let mut text = String::with_capacity(self.model.len() + 16 + 8 * (threads.len() + steps.len()));
        text.add(&self.model).add(";");
        self.add_flags(&mut text);
        text.push(';');
        for (n, path) in threads.iter().enumerate() {
            add_path(text.add(if n > 0 { "/" } else { "" }), path);
        }
        text.push(';');
        let words = steps.iter().enumerate().map(|(n, step)| {
            let thread = threads.iter().position(|path| *path == step.thread).unwrap_or(0);
            (thread, step.choice, links.as_ref().map(|links| links[n]).unwrap_or_default())
        });
        let mut words = words.peekable();
        while let Some(word) = words.next() {
            let mut count = 1;
            while words.next_if_eq(&word).is_some() {
                count += 1;
            }
            let separator = if text.ends_with(';') { "" } else { "," };
            add_step(text.add(separator), word);
            if count > 1 {
                text.add("*").number(count);
            }
        }
        text.push(END);
        text
    }

    /// Adds what it was run with.
    fn add_flags(&self, text: &mut String) {
        let flag = |set: bool, name: char| if set { name } else { '-' };
        let weak = self.schedule.links.is_some();
        let counts = match (self.count_arcs, self.count_senders) {
            (false, false) => '-',
            (true, false) => 'c',
            (false, true) if self.many_senders => 'm',
            (false, true) => 'n',
            (true, true) if self.many_senders => 'd',
            (true, true) => 'b',
        };
        let kind = KINDS.into_iter().find(|&(kind, _)| self.kind == Some(kind)).map(|(_, name)| name);
        let more = [self.one_by_one, self.sees_ends, self.drops_results];
        let more = MORE[(0..3).map(|n| usize::from(more[n]) << n).sum::<usize>()];
        text.extend([flag(self.spurious, 's'), counts, more, flag(weak, 'w')].into_iter().chain(kind));
    }

    /// From text; none if it is not such a text.
    pub fn read(text: &str) -> Option<Recorded> {
        let mut parts = text.trim().strip_suffix(END)?.rsplitn(4, ';');
        let (steps, paths, flags, model) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        // A model that fails before its first operation has neither threads nor steps.
        let paths = paths.split('/').filter(|path| !path.is_empty());
        let threads: Vec<Vec<u32>> = paths.map(read_path).collect::<Option<_>>()?;
        if !is_model(model) || !matches!(flags.len(), 4 | 5) {
            return None;
        }
        let (mut made, mut links) = (Vec::new(), Vec::new());
        for word in steps.split(',').filter(|word| !word.is_empty()) {
            let (word, count) = match word.split_once('*') {
                Some((word, count)) => (word, count.parse::<usize>().ok().filter(|&n| n < 1_000_000)?),
                None => (word, 1),
            };
            let (thread, choice, link) = read_step(word)?;
            let step = ScheduleStep { thread: threads.get(thread)?.clone(), choice };
            made.extend(std::iter::repeat_n(step, count));
            links.extend(std::iter::repeat_n(link, count));
        }
        let weak = flags.contains('w').then_some(links);
        let more =
            |bit: usize| move |c: char| MORE.iter().position(|&name| name == c).is_some_and(|n| n >> bit & 1 == 1);
        let recorded = Recorded {
            model: model.to_owned(),
            spurious: flags.contains('s'),
            count_arcs: flags.contains(['c', 'b', 'd']),
            count_senders: flags.contains(['n', 'b', 'm', 'd']),
            many_senders: flags.contains(['m', 'd']),
            one_by_one: flags.contains(more(0)),
            sees_ends: flags.contains(more(1)),
            drops_results: flags.contains(more(2)),
            kind: KINDS.into_iter().find(|&(_, name)| flags.ends_with(name)).map(|(kind, _)| kind),
            schedule: Schedule { threads, steps: made, links: weak },
        };
        let mut written = String::with_capacity(flags.len());
        recorded.add_flags(&mut written);
        (written == flags).then_some(recorded)
    }
}

fn add_path(text: &mut String, path: &[u32]) {
    if path.is_empty() {
        text.push('-');
    }
    for (n, &child) in path.iter().enumerate() {
        text.add(if n > 0 { "." } else { "" }).number(child.into());
    }
}

fn read_path(text: &str) -> Option<Vec<u32>> {
    if text == "-" { Some(Vec::new()) } else { text.split('.').map(|n| n.parse().ok()).collect() }
}

fn add_step(text: &mut String, (thread, choice, link): (usize, u32, Link)) {
    text.number(thread as u64);
    if choice > 0 {
        text.add("c").number(choice.into());
    }
    match link.from {
        Some(Source::Initial) => text.add("r-"),
        Some(Source::Step(n)) => text.add("r").number(n as u64),
        None => text,
    };
    if link.place > 0 {
        text.add("w").number(link.place.into());
    }
}

fn read_step(text: &str) -> Option<(usize, u32, Link)> {
    let end = |text: &str| text.find(|c: char| c.is_ascii_lowercase()).unwrap_or(text.len());
    let (thread, mut rest) = text.split_at(end(text));
    let (mut choice, mut link) = (0, Link::default());
    while let Some(kind) = rest.chars().next() {
        let value = &rest[1..];
        let (value, next) = value.split_at(end(value));
        match kind {
            'c' => choice = value.parse().ok()?,
            'r' if value == "-" => link.from = Some(Source::Initial),
            'r' => link.from = Some(Source::Step(value.parse().ok()?)),
            'w' => link.place = value.parse().ok()?,
            _ => return None,
        }
        rest = next;
    }
    Some((thread.parse().ok()?, choice, link))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let step = |thread: &[u32], choice| ScheduleStep { thread: thread.to_vec(), choice };
        let link = |from, place| Link { from, place };
        let steps = vec![step(&[], 0), step(&[], 0), step(&[0, 2], 3), step(&[0, 2], 0)];
        let links = vec![link(None, 0), link(None, 0), link(Some(Source::Initial), 12), link(Some(Source::Step(2)), 0)];
        for links in [None, Some(links)] {
            let threads = vec![vec![], vec![0], vec![0, 2]];
            let schedule = Schedule { threads, steps: steps.clone(), links };
            let model = "tests/a;b.rs:3:4".to_owned();
            let mut recorded = Recorded {
                model,
                spurious: true,
                count_arcs: false,
                count_senders: false,
                many_senders: false,
                one_by_one: true,
                sees_ends: false,
                drops_results: false,
                kind: None,
                schedule,
            };
            let counts = [(false, false), (false, true), (true, true)];
            let kinds = [None, Some(ViolationKind::Livelock)];
            for (count_arcs, (many_senders, count_senders)) in
                [false, true].into_iter().flat_map(|arcs| counts.map(|counts| (arcs, counts)))
            {
                let kind = kinds[usize::from(count_arcs)];
                let (sees_ends, one_by_one) = (count_senders, !many_senders);
                recorded =
                    Recorded { count_arcs, count_senders, many_senders, one_by_one, sees_ends, kind, ..recorded };
                for drops_results in [false, true] {
                    recorded.drops_results = drops_results;
                    assert_eq!(Recorded::read(&recorded.write()).as_ref(), Some(&recorded));
                }
            }
        }
    }

    #[test]
    fn an_execution_without_steps_can_be_written() {
        let (model, schedule) = ("m".to_owned(), Schedule::default());
        let recorded = Recorded {
            model,
            spurious: false,
            count_arcs: true,
            count_senders: false,
            many_senders: false,
            one_by_one: false,
            sees_ends: true,
            drops_results: true,
            kind: None,
            schedule,
        };
        assert_eq!(Recorded::read(&recorded.write()), Some(recorded));
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            ";;;",
            "x;----;-;0x",
            "x;----;-;7",
            "x;----;q;0",
            "x;----;-;0*99999999999",
            "x;---w;-;0r",
            "x;----;-;é",
            "x;--q-;-;0",
            "x;-s--;-;0",
            "x;----z;-;0",
        ] {
            assert_eq!(Recorded::read(text), None, "{text}");
            assert_eq!(Recorded::read(&format!("{text}.")), None, "{text}.");
        }
    }

    #[test]
    fn what_was_cut_off_is_refused() {
        let whole = "src/a.rs:3:4;----x;-/0/0.1;0*2,1,2,1*3.";
        assert_eq!(Recorded::read(whole).map(|recorded| recorded.write()).as_deref(), Some(whole));
        for end in 0..whole.len() {
            assert_eq!(Recorded::read(&whole[..end]), None, "{}", &whole[..end]);
        }
    }
}
