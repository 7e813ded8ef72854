//! Memory models: each is a list of axioms about whole executions, in a file of its own.

use super::execution::Execution;
use std::fmt;

pub mod ra;
pub mod rc11;
pub mod sc;
pub mod tso;

/// A memory model.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Model {
    /// Sequential consistency.
    Sc,
    /// Total store order, as x86 has it.
    Tso,
    /// Release and acquire.
    Ra,
    /// Repaired C11.
    Rc11,
}

/// All models. Each of the first three allows what the one before it allows, and RC11 what TSO allows; RC11 is weaker than
/// RA in that accesses need not acquire and release, and stronger in that they may be sequentially consistent.
pub const MODELS: [Model; 4] = [Model::Sc, Model::Tso, Model::Ra, Model::Rc11];

/// A condition that all executions of a model satisfy.
#[derive(Clone, Copy)]
pub struct Axiom {
    /// Its name.
    pub name: &'static str,
    /// Whether an execution satisfies it.
    pub holds: fn(&Execution) -> bool,
}

impl Model {
    /// What its executions satisfy.
    pub fn axioms(self) -> &'static [Axiom] {
        match self {
            Model::Sc => sc::AXIOMS,
            Model::Tso => tso::AXIOMS,
            Model::Ra => ra::AXIOMS,
            Model::Rc11 => rc11::AXIOMS,
        }
    }

    /// Whether an execution is consistent.
    pub fn allows(self, execution: &Execution) -> bool {
        self.axioms().iter().all(|axiom| (axiom.holds)(execution))
    }

    /// The model with this name.
    pub fn named(name: &str) -> Option<Model> {
        MODELS.into_iter().find(|model| model.to_string() == name)
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Model::Sc => "sc",
            Model::Tso => "tso",
            Model::Ra => "ra",
            Model::Rc11 => "rc11",
        })
    }
}

/// `rmw ∩ (fr ; co) = ∅`: nothing is written between the read and the write of a read-modify-write. In every model.
pub(super) fn atomicity(x: &Execution) -> bool {
    (x.rmw & x.fr.seq(x.co)).is_empty()
}
