//! A model is explored in several ways, which must agree.

use selvedge::model::{Builder, Engine, MemoryModel, Stats};

/// The engine, and whether attempts are explored one by one.
pub type Way = (Engine, bool);

pub const WAYS: [Way; 3] = [(Engine::Graph, false), (Engine::Graph, true), (Engine::Trace, false)];

pub fn explore((engine, one_by_one): Way, f: impl Fn() + Send + Sync + 'static) -> Stats {
    let mut builder = Builder::new();
    (builder.engine, builder.attempts_one_by_one) = (engine, one_by_one);
    if engine == Engine::Trace {
        builder.memory_model = MemoryModel::Sc;
    }
    builder.explore(f)
}
