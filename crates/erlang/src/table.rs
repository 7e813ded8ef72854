//! ETS tables: what they hold, and which operations can be swapped.

use crate::bif::Raised;
use crate::term::{Pid, Term};

/// All tables.
#[derive(Clone, Default, Debug)]
pub struct Tables {}

/// An operation on tables.
#[derive(Clone, Debug)]
pub struct TableOp {}

/// What an operation has touched.
#[derive(Clone, PartialEq, Debug)]
pub struct Effect {}

impl Tables {
    pub fn owns_any(&self, _: Pid) -> bool {
        false
    }
    pub fn owner_ended(&mut self, _: Pid) -> Effect {
        Effect {}
    }
}
impl TableOp {
    pub fn perform(&mut self, _: &mut Tables, _: Pid) -> Effect {
        Effect {}
    }
    pub fn result(&self) -> Result<Term, Raised> {
        Ok(Term::Nil)
    }
}
impl Effect {
    pub fn commutes_with(&self, _: &Effect) -> bool {
        false
    }
}
