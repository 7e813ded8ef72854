//! Exploration of programs whose processes pass messages: Optimal DPOR with Observers (Aronis, Jonsson, Lång, Sagonas;
//! TACAS 2018), the half about message passing.
//!
//! | file | owns |
//! |---|---|
//! | `op.rs` | what processes do |
//! | `machine.rs` | what the engine knows of a front end |

pub mod machine;
pub mod op;

pub use machine::{Machine, Status};
pub use op::{
    Accepts, AliasEnd, Content, Info, Message, MessageId, Name, Op, Outcome, Pid, Query, Reason, Ref, Sender, Target,
    first_process,
};
