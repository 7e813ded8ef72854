//! What objects keep, and going back.

use super::*;

fn t(n: usize) -> ThreadId {
    ThreadId::new(n)
}

#[test]
fn undo_restores_bytes_initialisation_life_and_sharing() {
    let mut memory = Memory::new();
    let global = memory.alloc(None, ObjectKind::Global, 16, true, 0).unwrap();
    let heap = memory.alloc(Some(t(0)), ObjectKind::Heap, 12, false, 0).unwrap();
    assert_eq!(memory.load(t(0), heap, 4, false), Err(Fault::Uninitialised(memory.find(heap).unwrap())));
    memory.mark();
    memory.store(t(0), heap, 4, 7).unwrap();
    memory.store(t(0), global, 8, heap.0).unwrap();
    let id = memory.find(heap).unwrap();
    assert!(memory.is_shared(id));
    memory.mark();
    memory.kill(id);
    assert_eq!(memory.load(t(0), heap, 4, false), Err(Fault::Dead(id)));
    memory.undo();
    assert_eq!(memory.load(t(1), heap, 4, false), Ok(7));
    memory.undo();
    assert!(!memory.is_shared(id));
    assert_eq!(memory.load(t(0), global, 8, false), Ok(0));
    assert_eq!(memory.load(t(0), heap, 4, false), Err(Fault::Uninitialised(id)));
    assert_eq!(memory.load(t(1), heap, 4, false), Err(Fault::Disguised(id)));
}

#[test]
fn addresses_are_the_same_after_going_back() {
    let mut memory = Memory::new();
    memory.mark();
    let first = memory.alloc(Some(t(3)), ObjectKind::Heap, 5000, false, 0).unwrap();
    memory.store(t(3), Addr(first.0 + 4992), 8, 1).unwrap();
    memory.undo();
    assert_eq!(memory.find(first), None);
    let again = memory.alloc(Some(t(3)), ObjectKind::Heap, 5000, false, 0).unwrap();
    assert_eq!(first, again);
    assert!(memory.load(t(3), Addr(first.0 + 4992), 8, false).is_err());
}

#[test]
fn publication_follows_pointers() {
    let mut memory = Memory::new();
    let global = memory.alloc(None, ObjectKind::Global, 8, true, 0).unwrap();
    let a = memory.alloc(Some(t(0)), ObjectKind::Heap, 16, true, 0).unwrap();
    let b = memory.alloc(Some(t(0)), ObjectKind::Heap, 16, true, 0).unwrap();
    memory.store(t(0), Addr(a.0 + 8), 8, b.0 + 8).unwrap();
    memory.store(t(0), b, 8, a.0).unwrap();
    assert!(!memory.is_shared(memory.find(b).unwrap()));
    memory.store(t(0), global, 8, a.0).unwrap();
    assert!(memory.is_shared(memory.find(a).unwrap()));
    assert!(memory.is_shared(memory.find(b).unwrap()));
}

#[test]
fn publication_sees_through_bits_that_programs_keep_in_pointers() {
    let mut memory = Memory::new();
    let global = memory.alloc(None, ObjectKind::Global, 8, true, 0).unwrap();
    let heap = memory.alloc(Some(t(0)), ObjectKind::Heap, 16, true, 0).unwrap();
    memory.store(t(0), global, 8, heap.0 | 7 << 48 | 1).unwrap();
    assert!(memory.is_shared(memory.find(heap).unwrap()));
}

#[test]
fn memory_is_limited_and_comes_back_with_undo() {
    let mut memory = Memory::new();
    memory.total = MAX_TOTAL - 10;
    memory.mark();
    assert_eq!(memory.alloc(None, ObjectKind::Heap, 11, false, 0), None);
    assert!(memory.alloc(None, ObjectKind::Heap, 10, false, 0).is_some());
    memory.undo();
    assert!(memory.alloc(None, ObjectKind::Heap, 10, false, 0).is_some());
}

#[test]
fn bounds_are_exact() {
    let mut memory = Memory::new();
    let a = memory.alloc(Some(t(0)), ObjectKind::Heap, 4096, true, 0).unwrap();
    let b = memory.alloc(Some(t(0)), ObjectKind::Heap, 8, true, 0).unwrap();
    assert!(memory.load(t(0), Addr(a.0 + 4092), 4, false).is_ok());
    assert!(matches!(memory.load(t(0), Addr(a.0 + 4093), 4, false), Err(Fault::OutOfBounds(_))));
    assert!(matches!(memory.load(t(0), Addr(a.0 + 4096), 1, false), Err(Fault::OutOfBounds(_))));
    assert!(matches!(memory.load(t(0), Addr(b.0 + 8), 1, false), Err(Fault::OutOfBounds(_))));
    assert_eq!(memory.load(t(0), Addr(0), 4, false), Err(Fault::Null));
    assert_eq!(memory.load(t(0), Addr(1 << 46), 4, false), Err(Fault::Wild));
    assert_eq!(memory.alloc(None, ObjectKind::Heap, 1 << 60, false, 0), None);
}
