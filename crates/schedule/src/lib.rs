//! Safe schedules: what a verifier proved, in a form that a program can be run under.
//!
//! After P. Metzler, N. Suri, G. Weissenbacher, "Extracting Safe Thread Schedules from Incomplete Model Checking Results"
//! (SPIN 2019). The verifier publishes an abstract reachability tree; from it come section paths, section schedules and a
//! program schedule; `enforce` runs the program under that.
//!
//! | file | owns |
//! |---|---|
//! | `art.rs` | the published abstract reachability tree: plain data, its JSON form |
//! | `site.rs` | how a transition names an instruction of the program |
//! | `validate.rs` | what has to hold for a tree before anything is done with it |

pub mod art;
#[cfg(test)]
pub mod figure_3;
pub mod site;
pub mod validate;

pub use art::{
    Access, Edge, FORMAT, LocationId, Node, NodeId, Object, ObjectId, Program, PublishedArt, Start, Step, StepKind,
    Thread, ThreadId, Transition, TransitionId,
};
pub use site::Site;
pub use validate::{ArtError, from_json, to_json, validate};
