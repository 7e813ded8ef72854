//! Splitting of stack objects: scalar replacement of aggregates, the simple part.
//!
//! A local struct is one object, so SSA construction cannot keep its members in values. If the object does not escape
//! (`local_memory.rs`), its bytes fall into groups such that every access stays within one group; each group becomes an
//! object of its own. Bytes that nothing reads or writes disappear. A fill (`memset`) becomes one store per group; it
//! is only split if it covers each group either wholly or not at all and all accesses to the group have one width.
//!
//! Copies of whole structs (`memcpy`) count as escapes: they may carry uninitialised bytes, which loads and stores of
//! members may not.

use crate::local_memory::{AccessKind, LocalAccess, LocalObject, local_objects};
use crate::rewrite;
use selvedge_ir::{EntityVec, Function, Inst, InstKind, Operand, Order, Type, Value};
use std::collections::{HashMap, HashSet};

/// Bytes of an object that have to stay together.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Group {
    start: u64,
    end: u64,
    /// A type with which the whole group is accessed, if all accesses have its width.
    ty: Option<Type>,
}

/// Splits all stack objects of a function that can be split; whether there were any.
pub fn run(func: &mut Function) -> bool {
    let mut splits = Vec::new();
    for object in local_objects(func) {
        if let Some(groups) = split(&object) {
            splits.push((object, groups));
        }
    }
    let uses = rewrite::uses(func);
    let mut edits = Edits::default();
    for (object, groups) in &splits {
        make_parts(func, object, groups, &mut edits);
        remove_pointers(func, &uses, object, &mut edits);
    }
    edits.apply(func);
    !splits.is_empty()
}

/// The groups of an object, if splitting it is possible and changes anything.
fn split(object: &LocalObject) -> Option<Vec<Group>> {
    let mut typed: Vec<&LocalAccess> = object.accesses.iter().filter(|access| access.ty().is_some()).collect();
    typed.sort_by_key(|access| (access.offset, access.len));
    let mut groups: Vec<Group> = Vec::new();
    for access in typed {
        let (start, end) = (access.offset, access.offset + access.len);
        match groups.last_mut().filter(|group| start < group.end) {
            Some(group) => {
                let bits = |ty: Option<Type>| ty.map(Type::bits);
                let same = group.start == start && group.end == end && bits(group.ty) == bits(access.ty());
                group.ty = group.ty.filter(|_| same);
                group.end = group.end.max(end);
            }
            None => groups.push(Group { start, end, ty: access.ty() }),
        }
    }
    let fills: Vec<&LocalAccess> = object.accesses.iter().filter(|access| access.ty().is_none()).collect();
    let covered = |fill: &LocalAccess, group: &Group| {
        let (start, end) = (fill.offset, fill.offset + fill.len);
        let outside = end <= group.start || group.end <= start;
        let wholly = start <= group.start && group.end <= end;
        outside || (wholly && group.ty.is_some_and(has_whole_bytes))
    };
    let whole = matches!(&groups[..], [group] if group.start == 0 && group.end == object.size);
    let worth_it = !object.accesses.is_empty() && (!whole || !fills.is_empty());
    let possible = fills.iter().all(|fill| groups.iter().all(|group| covered(fill, group)));
    (worth_it && possible).then_some(groups)
}

/// Whether every bit of the type's bytes belongs to the value, so that filled bytes make a value of it.
fn has_whole_bytes(ty: Type) -> bool {
    ty.bits().is_multiple_of(8)
}

/// Instructions to put before others, and instructions to take out.
#[derive(Default)]
struct Edits {
    before: HashMap<Inst, Vec<Inst>>,
    removed: HashSet<Inst>,
}

impl Edits {
    fn apply(mut self, func: &mut Function) {
        for data in func.blocks.values_mut() {
            let old = std::mem::take(&mut data.insts);
            for inst in old {
                data.insts.extend(self.before.remove(&inst).unwrap_or_default());
                if !self.removed.contains(&inst) {
                    data.insts.push(inst);
                }
            }
        }
    }
}

/// Makes one object per group and moves all accesses over.
fn make_parts(func: &mut Function, object: &LocalObject, groups: &[Group], edits: &mut Edits) {
    let InstKind::Alloca { name, .. } = func.insts[object.alloca].kind.clone() else {
        return;
    };
    let loc = func.insts[object.alloca].loc;
    let mut parts = Vec::new();
    for group in groups {
        let size = Operand::Const(group.end - group.start);
        // The part is as aligned as its place in the whole was.
        let align = match group.start {
            0 => object.align,
            start => object.align.min(1 << start.trailing_zeros().min(31)),
        };
        let kind = InstKind::Alloca { size, align, name: part_name(&name, group.start), debug_type: None };
        parts.push(func.make_inst(kind, &[Type::Ptr], loc));
    }
    edits.before.entry(object.alloca).or_default().extend(&parts);
    edits.removed.insert(object.alloca);
    for access in &object.accesses {
        match access.kind {
            AccessKind::Load(_) | AccessKind::Store(_) => move_access(func, access, groups, &parts, edits),
            AccessKind::Fill(byte) => spread_fill(func, access, byte, groups, &parts, edits),
        }
    }
}

/// The name of the part that begins at this offset.
fn part_name(name: &str, start: u64) -> String {
    if name.is_empty() { String::new() } else { format!("{name}+{start}") }
}

fn move_access(func: &mut Function, access: &LocalAccess, groups: &[Group], parts: &[Inst], edits: &mut Edits) {
    let n = groups.partition_point(|group| group.end <= access.offset);
    let part = Operand::Value(func.result(parts[n]));
    let inner = access.offset - groups[n].start;
    let pointer = match inner {
        0 => part,
        _ => {
            let kind = InstKind::PtrAdd { base: part, index: Operand::Const(0), scale: 1, offset: inner as i64 };
            let pointer = func.make_inst(kind, &[Type::Ptr], func.insts[access.inst].loc);
            edits.before.entry(access.inst).or_default().push(pointer);
            Operand::Value(func.result(pointer))
        }
    };
    if let InstKind::Load { addr, .. } | InstKind::Store { addr, .. } = &mut func.insts[access.inst].kind {
        *addr = pointer;
    }
}

fn spread_fill(func: &mut Function, fill: &LocalAccess, byte: u8, groups: &[Group], parts: &[Inst], edits: &mut Edits) {
    let loc = func.insts[fill.inst].loc;
    for (group, &part) in groups.iter().zip(parts) {
        let covered = fill.offset <= group.start && group.end <= fill.offset + fill.len;
        let Some(ty) = group.ty.filter(|_| covered) else {
            continue;
        };
        let value = Operand::Const(u64::from_le_bytes([byte; 8]) & ty.mask());
        let addr = Operand::Value(func.result(part));
        let kind = InstKind::Store { ty, addr, value, order: Order::Plain, volatile: false, path: None };
        let store = func.make_inst(kind, &[], loc);
        edits.before.entry(fill.inst).or_default().push(store);
    }
    edits.removed.insert(fill.inst);
}

/// The pointers into the object have no uses any more.
fn remove_pointers(func: &Function, uses: &EntityVec<Value, Vec<Inst>>, object: &LocalObject, edits: &mut Edits) {
    let mut pointers = vec![func.result(object.alloca)];
    while let Some(pointer) = pointers.pop() {
        for &inst in &uses[pointer] {
            if matches!(func.insts[inst].kind, InstKind::PtrAdd { .. }) && edits.removed.insert(inst) {
                pointers.push(func.result(inst));
            }
        }
    }
}
