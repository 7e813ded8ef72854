//! What must hold of the module as a whole once everything is read.
//!
//! Symbols and attribute groups may be used before they are defined, and named types may contain each other, so these
//! checks come last: no symbol is missing, no attribute group is missing, and no type contains itself.

use crate::ast::{Module, SymbolDefinition};
use crate::error::{Fault, Parsed};
use crate::types::{Type, TypeId};

/// Checks a module that was read to the end.
pub(super) fn check_module(module: &Module<'_>, used_groups: Vec<(u32, u32)>) -> Parsed<()> {
    for symbol in &module.symbols {
        if symbol.definition == SymbolDefinition::Missing {
            let name = match symbol.number {
                Some(number) => number.to_string(),
                None => symbol.name.to_string(),
            };
            return Err(Fault::syntax(symbol.offset, format!("`@{name}` is never defined")));
        }
    }
    for (group, offset) in used_groups {
        if !module.groups.contains_key(&group) {
            return Err(Fault::syntax(offset, format!("the attribute group `#{group}` is never defined")));
        }
    }
    check_types(module)
}

/// No type may contain itself other than through a pointer. The search keeps its own stack, so that a long chain of
/// types cannot exhaust ours.
fn check_types(module: &Module<'_>) -> Parsed<()> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let types = &module.types;
    let mut marks = vec![Mark::New; types.len()];
    for root in types.ids() {
        let mut stack: Vec<(TypeId, bool)> = vec![(root, false)];
        while let Some((id, leaving)) = stack.pop() {
            let mark = &mut marks[types.index_of(id)];
            if leaving {
                *mark = Mark::Done;
                continue;
            }
            match *mark {
                Mark::Done => continue,
                Mark::Open => return Err(self_containing(module, id)),
                Mark::New => *mark = Mark::Open,
            }
            stack.push((id, true));
            match types.get(id) {
                Type::Array(_, element) | Type::Vector { element, .. } => stack.push((*element, false)),
                Type::Struct { fields, .. } => stack.extend(fields.iter().map(|&field| (field, false))),
                Type::Named(named) => stack.extend(types.named(*named).body.map(|body| (body, false))),
                _ => {}
            }
        }
    }
    Ok(())
}

fn self_containing(module: &Module<'_>, id: TypeId) -> Box<Fault> {
    let offset = match module.types.get(id) {
        Type::Named(named) => module.types.named(*named).offset,
        // A cycle always passes through a name; the nearest one is good enough for a message.
        _ => module
            .types
            .ids()
            .find_map(|t| match module.types.get(t) {
                Type::Named(n) if module.types.named(*n).body == Some(id) => Some(module.types.named(*n).offset),
                _ => None,
            })
            .unwrap_or(0),
    };
    Fault::syntax(offset, "this type contains itself")
}
