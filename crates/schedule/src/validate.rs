//! What has to hold for a tree before anything is done with it.
//!
//! A schedule is a file, and a file can be wrong: cut off, written by another version, changed by hand. Everything behind
//! this check may index without looking: numbers are within their tables, the tree is a tree, and every node leads
//! somewhere. Whether the tree belongs to the program at hand, [`belongs_to`] says.

use crate::art::{FORMAT, NodeId, PublishedArt, Start, TransitionId};
use selvedge_ir::{EntityRef, Module};
use thiserror::Error;

/// More than this in one table is refused: no schedule of use is that large, and sums of sizes stay far below overflow.
const MOST: usize = 1 << 24;

/// Why a tree cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ArtError {
    /// It is not the JSON of a tree.
    #[error("it is not a schedule: {0}")]
    Syntax(String),
    /// It is of another version.
    #[error("it is a schedule of format {0}; this version reads format {FORMAT}")]
    Format(u64),
    /// It contradicts itself.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// It belongs to another program.
    #[error("it belongs to another program, or to another version of it")]
    OtherProgram,
}

fn damaged(what: impl Into<String>) -> ArtError {
    ArtError::Damaged(what.into())
}

/// The JSON form of a tree.
pub fn to_json(art: &PublishedArt) -> String {
    serde_json::to_string(art).expect("a tree has string keys only") + "\n"
}

/// Reads and validates a tree.
pub fn from_json(text: &str) -> Result<PublishedArt, ArtError> {
    let syntax = |error: serde_json::Error| ArtError::Syntax(error.to_string());
    // The version first: a newer file may have fields that are not known.
    let value: serde_json::Value = serde_json::from_str(text).map_err(syntax)?;
    match value.get("format").map(serde_json::Value::as_u64) {
        Some(Some(format)) if format == u64::from(FORMAT) => {}
        Some(Some(format)) => return Err(ArtError::Format(format)),
        _ => return Err(ArtError::Syntax("it has no field `format`".to_owned())),
    }
    let art: PublishedArt = serde_json::from_value(value).map_err(syntax)?;
    validate(&art)?;
    Ok(art)
}

/// Checks that a tree can be worked with.
pub fn validate(art: &PublishedArt) -> Result<(), ArtError> {
    if art.format != FORMAT {
        return Err(ArtError::Format(u64::from(art.format)));
    }
    let sizes = [art.threads.len(), art.objects.len(), art.transitions.len(), art.nodes.len()];
    if sizes.into_iter().any(|size| size > MOST) {
        return Err(damaged("it is too large"));
    }
    threads(art)?;
    for n in 0..art.transitions.len() {
        transition(art, TransitionId::new(n))?;
    }
    nodes(art)
}

fn threads(art: &PublishedArt) -> Result<(), ArtError> {
    if art.threads.is_empty() {
        return Err(damaged("it has no threads"));
    }
    let mut starts: Vec<Start> = art.threads.iter().map(|thread| thread.start).collect();
    starts.sort_by_key(|start| match *start {
        Start::Main => (0, 0),
        Start::Created(n) => (1, n),
        Start::CreatedBy(creator, n) => (2 + creator.index(), n),
    });
    if starts.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(damaged("two threads start in the same way"));
    }
    let late = |start: &Start| matches!(start, Start::Created(n) | Start::CreatedBy(_, n) if *n as usize >= MOST);
    if starts.iter().any(late) {
        return Err(damaged("a thread is created too late"));
    }
    let by_nobody = |start: &Start| matches!(start, Start::CreatedBy(by, _) if by.index() >= art.threads.len());
    if starts.iter().any(by_nobody) {
        return Err(damaged("a thread is created by one that does not exist"));
    }
    Ok(())
}

fn transition(art: &PublishedArt, id: TransitionId) -> Result<(), ArtError> {
    let transition = art.transition(id);
    if transition.thread.index() >= art.threads.len() {
        return Err(damaged(format!("{id} belongs to a thread that does not exist")));
    }
    if transition.accesses.iter().any(|access| access.object.index() >= art.objects.len()) {
        return Err(damaged(format!("{id} accesses an object that does not exist")));
    }
    if transition.spawns.is_some_and(|thread| thread.index() >= art.threads.len() || thread == transition.thread) {
        return Err(damaged(format!("{id} creates a thread that does not exist")));
    }
    Ok(())
}

fn nodes(art: &PublishedArt) -> Result<(), ArtError> {
    if art.nodes.is_empty() || art.node(art.root()).infeasible {
        return Err(damaged("it has no root that can be reached"));
    }
    let mut parents = vec![0_usize; art.nodes.len()];
    for id in art.node_ids() {
        node(art, id, &mut parents)?;
    }
    // A node without a parent may cover others: its parent was covered itself later.
    if parents[0] != 0 || parents.iter().any(|&count| count > 1) {
        return Err(damaged("it is not a tree"));
    }
    Ok(())
}

fn node(art: &PublishedArt, id: NodeId, parents: &mut [usize]) -> Result<(), ArtError> {
    let node = art.node(id);
    if node.locations.len() != art.threads.len() {
        return Err(damaged(format!("{id} does not say where every thread is")));
    }
    if let Some(by) = node.covered_by {
        cover(art, id, by)?;
    }
    if (node.infeasible || node.ended) && !(node.edges.is_empty() && node.covered_by.is_none()) {
        return Err(damaged(format!("{id} is never left, but leads somewhere")));
    }
    let active =
        |thread: crate::ThreadId| art.transitions_from(thread, node.locations[thread.index()]).next().is_some();
    let leaf = node.edges.is_empty() && node.covered_by.is_none() && !node.infeasible && !node.ended;
    if leaf && art.thread_ids().any(active) {
        return Err(damaged(format!("{id} leads nowhere")));
    }
    for (n, edge) in node.edges.iter().enumerate() {
        if edge.transition.index() >= art.transitions.len() || edge.to.index() >= art.nodes.len() || edge.to <= id {
            return Err(damaged(format!("an edge of {id} leads outside of the tree")));
        }
        parents[edge.to.index()] += 1;
        if art.accesses(edge).iter().any(|access| access.object.index() >= art.objects.len()) {
            return Err(damaged(format!("an edge of {id} accesses an object that does not exist")));
        }
        if node.edges[..n].iter().any(|other| other.transition == edge.transition) {
            return Err(damaged(format!("two edges of {id} are the same transition")));
        }
        moves_one_thread(art, id, edge)?;
    }
    fully_expanded(art, id)
}

fn cover(art: &PublishedArt, id: NodeId, by: NodeId) -> Result<(), ArtError> {
    let Some(other) = art.nodes.get(by.index()) else {
        return Err(damaged(format!("{id} is covered by a node that does not exist")));
    };
    if other.covered_by.is_some() || other.infeasible {
        return Err(damaged(format!("{id} is covered by {by}, which leads nowhere")));
    }
    if other.locations != art.node(id).locations {
        return Err(damaged(format!("{id} is covered by {by}, which is elsewhere")));
    }
    Ok(())
}

/// l_T changes as the transition says, and no other location does, except that of a thread that is created.
fn moves_one_thread(art: &PublishedArt, id: NodeId, edge: &crate::Edge) -> Result<(), ArtError> {
    let (before, after) = (&art.node(id).locations, &art.node(edge.to).locations);
    let transition = art.transition(edge.transition);
    let moved = transition.thread.index();
    let fits = |n: usize| {
        let is_created = transition.spawns.is_some_and(|thread| thread.index() == n);
        if n == moved {
            before[n] == transition.from && after[n] == transition.to
        } else {
            before[n] == after[n] || is_created
        }
    };
    if after.len() == before.len() && (0..before.len()).all(fits) {
        return Ok(());
    }
    Err(damaged(format!("the edge from {id} to {} is no step of its transition", edge.to)))
}

/// A thread that is expanded is fully expanded: otherwise an input could lead out of the tree.
fn fully_expanded(art: &PublishedArt, id: NodeId) -> Result<(), ArtError> {
    let node = art.node(id);
    for thread in art.expanded(id) {
        let location = node.locations[thread.index()];
        let missing = |r: &TransitionId| node.edges.iter().all(|edge| edge.transition != *r);
        if let Some(r) = art.transitions_from(thread, location).find(missing) {
            return Err(damaged(format!("{thread} is expanded at {id}, but not by {r}")));
        }
    }
    Ok(())
}

/// Whether a tree belongs to the program with this hash, and names only what is there.
pub fn belongs_to(art: &PublishedArt, hash: &str, module: &Module) -> Result<(), ArtError> {
    if art.program.hash != hash {
        return Err(ArtError::OtherProgram);
    }
    for thread in &art.threads {
        let function = module.function_named(&thread.function).map(|id| &module.functions[id]);
        if function.is_none_or(|function| function.is_declaration()) {
            return Err(damaged(format!("there is no function `{}`", thread.function)));
        }
    }
    for step in art.transitions.iter().flat_map(|transition| &transition.steps) {
        if step.site.resolve(module).is_none() {
            return Err(damaged(format!("there is no instruction {} in `{}`", step.site.inst, step.site.function)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure_3::figure_3;

    /// What is said about the tree of figure 3 after a change to its JSON.
    fn after(change: impl FnOnce(&mut serde_json::Value)) -> ArtError {
        let mut value = serde_json::to_value(figure_3()).expect("plain data");
        change(&mut value);
        from_json(&value.to_string()).expect_err("it was damaged")
    }

    #[test]
    fn a_tree_survives_its_json() {
        assert_eq!(from_json(&to_json(&figure_3())), Ok(figure_3()));
    }

    #[test]
    fn another_format_is_named() {
        assert_eq!(after(|art| art["format"] = 7.into()), ArtError::Format(7));
        assert!(matches!(after(|art| art["format"] = "1".into()), ArtError::Syntax(_)));
    }

    #[test]
    fn numbers_outside_of_their_tables_are_refused() {
        let paths = [
            "/nodes/0/edges/0/to",
            "/nodes/0/edges/0/transition",
            "/nodes/5/covered_by",
            "/nodes/2/locations/1",
            "/transitions/0/thread",
            "/transitions/0/accesses/0/object",
        ];
        for path in paths {
            for number in [99_u32, u32::MAX - 1, u32::MAX] {
                let change = |art: &mut serde_json::Value| *art.pointer_mut(path).expect(path) = number.into();
                assert!(matches!(after(change), ArtError::Damaged(_) | ArtError::Syntax(_)), "{path} {number}");
            }
        }
    }

    #[test]
    fn a_missing_branch_is_noticed() {
        let error = after(|art| {
            art["nodes"][3]["edges"].as_array_mut().expect("edges").pop();
        });
        assert_eq!(error, damaged("t0 is expanded at n3, but not by r3"));
    }

    #[test]
    fn a_cycle_of_edges_or_a_dead_end_is_noticed() {
        assert!(matches!(after(|art| art["nodes"][4]["edges"][0]["to"] = 1.into()), ArtError::Damaged(_)));
        let error = after(|art| {
            art["nodes"][6].as_object_mut().expect("a node").remove("covered_by");
        });
        assert_eq!(error, damaged("n6 leads nowhere"));
    }

    #[test]
    fn text_that_is_no_tree_is_no_panic() {
        for text in ["", "{", "[]", "{\"format\":1}", "null", "{\"format\":1,\"nodes\":[]}"] {
            assert!(matches!(from_json(text), Err(ArtError::Syntax(_))), "{text}");
        }
    }
}
