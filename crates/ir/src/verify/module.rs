//! The parts of a module outside functions: names, globals, tables of debug information.

use super::VerifyError;
use crate::print::symbol;
use crate::{DebugType, EntityRef, Global, LocId, Module, RelocTarget};
use std::collections::HashSet;

pub(super) fn check(module: &Module, errors: &mut Vec<VerifyError>) {
    let mut names = HashSet::new();
    let globals = module.globals.values().map(|global| &global.name);
    for name in globals.chain(module.functions.values().map(|func| &func.name)) {
        if !names.insert(name) {
            add(errors, symbol(name), "the name is taken twice");
        }
    }
    for global in module.globals.values() {
        for message in check_global(module, global) {
            add(errors, symbol(&global.name), message);
        }
    }
    for id in module.constructors.iter().filter(|&&id| !module.functions.is_valid(id)) {
        add(errors, "constructors", format!("{id} does not exist"));
    }
    check_locs(module, errors);
    check_types(module, errors);
}

fn add(errors: &mut Vec<VerifyError>, place: impl ToString, message: impl Into<String>) {
    errors.push(VerifyError { place: place.to_string(), message: message.into() });
}

fn check_global(module: &Module, global: &Global) -> Vec<String> {
    let mut messages = Vec::new();
    if global.data.len() as u64 > global.size {
        messages.push(format!("{} initial bytes do not fit in {}", global.data.len(), global.size));
    }
    if !global.align.is_power_of_two() {
        messages.push(format!("the alignment {} is not a power of two", global.align));
    }
    if !module.locs.is_valid(global.loc) {
        messages.push(format!("position {} does not exist", global.loc));
    }
    if let Some(ty) = global.debug_type.filter(|&ty| !module.types.is_valid(ty)) {
        messages.push(format!("{ty} does not exist"));
    }
    for reloc in &global.relocs {
        if reloc.offset.checked_add(8).is_none_or(|end| end > global.size) {
            messages.push(format!("the address at offset {} does not fit", reloc.offset));
        }
        match reloc.target {
            RelocTarget::Global(id) => match module.globals.get(id) {
                None => messages.push(format!("{id} does not exist")),
                Some(target) if target.thread_local => {
                    messages.push(format!("{} is thread-local and has no address of its own", symbol(&target.name)))
                }
                Some(_) => {}
            },
            RelocTarget::Func(id) if !module.functions.is_valid(id) => messages.push(format!("{id} does not exist")),
            RelocTarget::Func(_) => {}
        }
    }
    messages
}

fn check_locs(module: &Module, errors: &mut Vec<VerifyError>) {
    if module.locs.is_empty() {
        add(errors, "positions", "the unknown position is missing");
    }
    for (id, loc) in module.locs.iter() {
        if let Some(file) = loc.file.filter(|&file| !module.files.is_valid(file)) {
            add(errors, id, format!("{file} does not exist"));
        }
        if let Some(outer) = loc.inlined_at.filter(|&outer| !module.locs.is_valid(outer)) {
            add(errors, id, format!("{outer} does not exist"));
        }
    }
    if let Some(id) = cyclic_loc(module) {
        add(errors, id, "the position is inlined into itself");
    }
}

/// A position whose chain of `inlined_at` never ends.
fn cyclic_loc(module: &Module) -> Option<LocId> {
    // The walk that last visited a position: meeting one's own mark again means a cycle, meeting an older one means
    // that the rest of the chain was checked before.
    let mut mark: Vec<Option<LocId>> = vec![None; module.locs.len()];
    for start in module.locs.keys() {
        let mut next = Some(start);
        while let Some(id) = next.filter(|&id| module.locs.is_valid(id)) {
            match mark[id.index()].replace(start) {
                Some(walk) if walk == start => return Some(id),
                Some(_) => break,
                None => next = module.locs[id].inlined_at,
            }
        }
    }
    None
}

fn check_types(module: &Module, errors: &mut Vec<VerifyError>) {
    for (id, ty) in module.types.iter() {
        let referred = match ty {
            DebugType::Pointer { to: Some(to) } => vec![*to],
            DebugType::Array { element, .. } => vec![*element],
            DebugType::Record { fields, .. } => fields.iter().map(|field| field.ty).collect(),
            _ => Vec::new(),
        };
        for missing in referred.into_iter().filter(|&ty| !module.types.is_valid(ty)) {
            add(errors, id, format!("{missing} does not exist"));
        }
    }
}
