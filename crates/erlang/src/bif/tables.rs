//! ETS tables.

use super::{Bif, Row};

pub(super) const TABLE: &[Row<Bif>] = &[];
