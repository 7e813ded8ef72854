//! The table of all models, by linkage name.
//!
//! Each family lists its functions beside their bodies; this file puts the lists together. A name stands in one list
//! only (a test checks it).

use super::{
    Model, alloc, atomics, attributes, barrier, bytes, clock, condvar, convert, ctype, cxx, hash_policy, iostream,
    keys, list_node, math, mutex, once, process, random, rb_tree, rwlock, semaphore, sort, stdio, strings, threads,
    unsupported, verifier,
};
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

const FAMILIES: &[&[(&str, Model)]] = &[
    alloc::TABLE,
    atomics::TABLE,
    attributes::TABLE,
    barrier::TABLE,
    bytes::TABLE,
    clock::TABLE,
    condvar::TABLE,
    convert::TABLE,
    ctype::TABLE,
    cxx::TABLE,
    hash_policy::TABLE,
    iostream::TABLE,
    keys::TABLE,
    list_node::TABLE,
    math::TABLE,
    mutex::TABLE,
    once::TABLE,
    process::TABLE,
    random::TABLE,
    rb_tree::TABLE,
    rwlock::TABLE,
    semaphore::TABLE,
    sort::TABLE,
    stdio::TABLE,
    strings::TABLE,
    threads::TABLE,
    unsupported::TABLE,
    verifier::TABLE,
];

static MODELS: LazyLock<FxHashMap<&'static str, Model>> =
    LazyLock::new(|| FAMILIES.iter().flat_map(|family| family.iter().copied()).collect());

/// The model of a function.
pub(super) fn find(name: &str) -> Option<Model> {
    MODELS.get(name).copied().or_else(|| unsupported::by_prefix(name))
}

/// All names, sorted.
pub(super) fn names() -> Vec<&'static str> {
    let mut names: Vec<_> = MODELS.keys().copied().collect();
    names.sort_unstable();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_function_has_two_models() {
        let listed: usize = FAMILIES.iter().map(|family| family.len()).sum();
        let mut all: Vec<_> = FAMILIES.iter().flat_map(|family| family.iter().map(|(name, _)| *name)).collect();
        all.sort_unstable();
        for pair in all.windows(2) {
            assert_ne!(pair[0], pair[1], "listed twice");
        }
        assert_eq!(names().len(), listed);
    }
}
