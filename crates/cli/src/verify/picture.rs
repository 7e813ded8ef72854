//! Pictures of a safe result: its tree, and the program schedule that comes of it.
//!
//! Both are drawn twice: in the language of Graphviz, for those who have it, and as SVG with a layout of our own, which
//! needs nothing but a browser. In the tree, solid edges are steps and dashed ones coverings. In the schedule, every
//! section is a table with a column for each thread; an arrow from one event to another says that it has to come first.

mod dot;
mod svg;

pub use dot::dot;
pub use svg::svg;

use selvedge_ir::EntityRef;
use selvedge_schedule::{
    NodeId, Options, Precision, ProgramSchedule, PublishedArt, SectionSchedule, Silent, TransitionId,
    independently_fair, program_schedule,
};

/// Larger trees are not drawn: nobody could look at them.
const MOST: usize = 3_000;
/// Longer texts are cut.
const TEXT: usize = 60;

/// The program schedule of a tree, or why there is none to be drawn. Its transitions are those of the tree.
pub fn schedule(art: &PublishedArt) -> Result<ProgramSchedule, String> {
    if art.nodes.len() > MOST {
        return Err(format!("a tree of {} nodes is too large for a picture", art.nodes.len()));
    }
    let fair = independently_fair(art, 0).map_err(|error| error.to_string())?;
    let options =
        Options { precision: Precision::Bytes, replicate: 1, omit_synchronisation: false, silent: Silent::Kept };
    let schedule = program_schedule(&fair, options).map_err(|error| error.to_string())?;
    let events: usize = schedule.nodes.iter().flat_map(|node| node.sections()).map(|s| s.schedule.events.len()).sum();
    if events > MOST {
        return Err(format!("a schedule of {events} events is too large for a picture"));
    }
    Ok(schedule)
}

/// The nodes of a tree that are drawn, each with its depth, parents first.
fn drawn(art: &PublishedArt) -> Vec<(NodeId, usize)> {
    let mut order = Vec::new();
    if art.nodes.len() > MOST {
        return order;
    }
    let mut todo = vec![(art.root(), 0)];
    while let Some((node, depth)) = todo.pop() {
        order.push((node, depth));
        todo.extend(children(art, node).rev().map(|(_, child)| (child, depth + 1)));
    }
    order
}

/// The steps from a node to nodes that can be reached.
fn children(art: &PublishedArt, node: NodeId) -> impl DoubleEndedIterator<Item = (TransitionId, NodeId)> + '_ {
    let edges = art.node(node).edges.iter().filter(|edge| !art.node(edge.to).infeasible);
    edges.map(|edge| (edge.transition, edge.to))
}

/// `producer: count = count + 1`.
fn step(art: &PublishedArt, transition: TransitionId) -> String {
    let data = art.transition(transition);
    format!("{}: {}", art.threads[data.thread.index()].name, data.text)
}

/// The events that come directly before an event of a section: those of other threads, and of those only the ones that no
/// other one comes behind anyway.
fn directly_before(schedule: &SectionSchedule, event: usize) -> Vec<usize> {
    let this = &schedule.events[event];
    let last_of =
        |thread: usize, count: u32| schedule.events.iter().position(|e| e.thread.index() == thread && e.k + 1 == count);
    let clock = &schedule.clocks[event];
    let mut before: Vec<usize> = clock
        .iter()
        .enumerate()
        .filter(|&(thread, &count)| thread != this.thread.index() && count > 0)
        .filter_map(|(thread, &count)| last_of(thread, count))
        .collect();
    let mut others = before.clone();
    others.extend(schedule.events.iter().position(|e| e.thread == this.thread && e.k + 1 == this.k));
    before.retain(|&first| {
        let e = &schedule.events[first];
        !others.iter().any(|&other| other != first && schedule.clocks[other][e.thread.index()] > e.k)
    });
    before
}

fn cut(text: &str) -> String {
    let cut: String = text.chars().take(TEXT).collect();
    if text.chars().count() > TEXT { format!("{cut}...") } else { cut }
}

#[cfg(test)]
mod tests {
    use super::directly_before;
    use selvedge_ir::EntityRef;
    use selvedge_schedule::{Event, SectionSchedule, ThreadId, TransitionId};

    #[test]
    fn an_order_that_follows_from_others_is_not_drawn() {
        let event = |thread, k, n| Event { thread: ThreadId::new(thread), k, transition: TransitionId::new(n) };
        // t0, then t1, then t0 again, then t1, which is behind everything.
        let schedule = SectionSchedule {
            events: vec![event(0, 0, 0), event(1, 0, 1), event(0, 1, 2), event(1, 1, 3)],
            clocks: vec![vec![0, 0], vec![1, 0], vec![1, 1], vec![1, 1]],
            lengths: vec![2, 2],
        };
        assert_eq!(directly_before(&schedule, 1), [0]);
        assert_eq!(directly_before(&schedule, 2), [1]);
        assert_eq!(directly_before(&schedule, 3), [] as [usize; 0], "the first of t1 is behind it already");
    }
}
