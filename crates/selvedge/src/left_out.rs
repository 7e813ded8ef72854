//! What is left out of an exploration, and how that is said.

use crate::endless::MOST_OFTEN;
use crate::spin::{LONG, ROUNDS};

/// What was left out in some execution.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LeftOut {
    /// Timeouts after the last one that is explored.
    pub timeouts: bool,
    /// Something that could have failed or woken for no reason.
    pub spurious: bool,
    /// The same after something has done so at another place of the thread's code.
    pub again: bool,
    /// The same at that place.
    pub again_there: bool,
    /// More rounds of loops that take locks which others try to take.
    pub rounds: bool,
    /// More rounds of loops that hold a lock when they come round, and give it back in between.
    pub holds: bool,
    /// More rounds of loops that write the same each time.
    pub repeats: bool,
    /// More rounds of loops that add to something.
    pub adds: bool,
    /// More rounds of loops that change memory, let others notice, and put it back.
    pub noticed: bool,
    /// More rounds of loops that change memory, and do not come back to where they were (`endless.rs`).
    pub endless: bool,
    /// Whether a loop in which a thread chooses ever ends.
    pub choices: bool,
    /// Messages without room for them that are sent only if a receiver waits.
    pub rendezvous: bool,
    /// What is done through a pointer after the last operation before it is dropped (`borrow.rs`).
    pub pointers: bool,
    /// What is done through pointers to raw cells after they were got.
    pub raw_cells: bool,
    /// What `is_poisoned` could see of others.
    pub poison: bool,
}

impl LeftOut {
    /// Which rounds of loops are not covered.
    pub fn loops(&self) -> Vec<String> {
        let more = format!("executions in which a thread comes more than {ROUNDS} times round a loop that");
        let kinds = [
            (self.rounds, "takes a lock and gives it back, having changed nothing, while others try to take that lock"),
            (self.holds, "waits, and holds a lock when it comes round that it gives back in between"),
            (self.repeats, "waits and writes the same each time (a flag that is set and reset, for instance)"),
            (self.adds, "waits and adds to an atomic each time"),
            (
                self.noticed,
                "waits, and changes memory and puts it back each time, so that others may notice in between",
            ),
            (self.endless, "waits, and changes memory each time"),
        ];
        kinds.into_iter().filter(|(is, _)| *is).map(|(_, what)| format!("{more} {what}")).collect()
    }

    /// What is wrong if no execution comes to its end.
    pub fn never_ends(&self) -> Option<String> {
        // Of the others, each round may help somebody on.
        let is_cut_off = self.rounds && !(self.holds || self.repeats || self.noticed);
        let (what, rounds) = match (self.adds, self.endless) {
            (true, _) => ("adds to an atomic each time", LONG),
            (false, true) => ("changes memory each time", MOST_OFTEN),
            (false, false) if is_cut_off => ("takes a lock and gives it back, having changed nothing", ROUNDS),
            (false, false) => return None,
        };
        Some(format!(
            "no execution comes to its end: a thread goes round a loop that waits and {what}, and nobody makes it stop within \
             {rounds} rounds"
        ))
    }
}
