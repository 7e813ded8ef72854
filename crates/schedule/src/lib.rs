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
//! | `fairness.rs` | whether a tree admits fairness, and whether it is fair |
//! | `independently_fair.rs` | Algorithm 4: a fair tree out of one that admits fairness |
//! | `independence.rs` | when two transitions are independent |
//! | `events.rs` | which transitions are events |
//! | `section_path.rs` | branching-free paths |
//! | `section_schedule.rs` | their partial orders, as vector clocks |
//! | `program_schedule.rs` | section schedules connected to a graph |
//! | `ivr.rs` | Algorithm 3: who may go on under a program schedule |

pub mod art;
pub mod events;
pub mod fairness;
#[cfg(test)]
pub mod figure_3;
pub mod independence;
pub mod independently_fair;
pub mod ivr;
pub mod program_schedule;
pub mod section_path;
pub mod section_schedule;
pub mod site;
pub mod validate;

pub use art::{
    Access, Edge, FORMAT, LocationId, Node, NodeId, Object, ObjectId, Program, PublishedArt, Start, Step, StepKind,
    Thread, ThreadId, Transition, TransitionId,
};
pub use events::{Events, Silent};
pub use independence::Precision;
pub use independently_fair::independently_fair;
pub use program_schedule::{
    Offer, Options, ProgramSchedule, ScheduleNode, ScheduleNodeId, Section, Unseen, program_schedule,
};
pub use section_schedule::{Event, SectionSchedule};
pub use site::Site;
pub use validate::{ArtError, belongs_to, from_json, to_json, validate};
