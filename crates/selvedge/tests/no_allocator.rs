//! A program whose allocator does not tell what models allocate is told so.
//! Built with the feature `own-allocator` only: `cargo test -p selvedge --features own-allocator --test no_allocator`.

#![cfg(feature = "own-allocator")]

use selvedge::model::Builder;
use selvedge::sync::atomic::{AtomicUsize, Ordering::Relaxed};

#[test]
fn models_are_refused() {
    let stats = Builder::new().explore(|| {
        let x = Box::new(AtomicUsize::new(0));
        x.load(Relaxed);
    });
    let failure = stats.failure.expect("nobody sees what the model allocates");
    assert!(failure.contains("whose allocator is not `selvedge::alloc::Tracking`"), "{failure}");
    assert_eq!(stats.complete, 0);
}
