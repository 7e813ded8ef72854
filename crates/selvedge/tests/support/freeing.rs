//! Models that free what others use, or do not, under every engine and memory model.

use selvedge::model::{Builder, Engine, MemoryModel, Stats};

/// The engines and memory models.
pub const WAYS: [(Engine, MemoryModel); 3] =
    [(Engine::Graph, MemoryModel::Rc11), (Engine::Graph, MemoryModel::Sc), (Engine::Trace, MemoryModel::Sc)];

pub fn explore((engine, memory_model): (Engine, MemoryModel), f: impl Fn() + Send + Sync + 'static) -> Stats {
    let mut builder = Builder::new();
    (builder.engine, builder.memory_model) = (engine, memory_model);
    builder.explore(f)
}

#[track_caller]
pub fn fails(name: &str, f: impl Fn() + Clone + Send + Sync + 'static) {
    for way in WAYS {
        let stats = explore(way, f.clone());
        let failure = stats.failure.unwrap_or_else(|| panic!("{name} passes {way:?} ({} executions)", stats.complete));
        assert!(failure.contains("use-after-free"), "{name} {way:?}: {failure}");
    }
}

#[track_caller]
pub fn passes(name: &str, f: impl Fn() + Clone + Send + Sync + 'static) {
    for way in WAYS {
        let stats = explore(way, f.clone());
        assert_eq!(stats.failure, None, "{name} {way:?}");
        assert!(stats.complete > 0, "{name} {way:?}");
    }
}
