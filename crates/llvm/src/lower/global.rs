//! Global variables: initial bytes, relocations, constructors and destructors.
//!
//! An initialiser is written part by part at its offset, so that a large table costs no more than its text. Bytes that
//! are not mentioned are zero, and trailing zeros are not stored.

use super::constant::Folded;
use super::link::{Binding, Bodies};
use super::{Program, Stop, Unit};
use crate::ast::{ConstId, ConstantKind, SymbolDefinition};
use crate::error::{Fault, Parsed};
use crate::lexer::unescape;
use crate::types::{Type, TypeId};
use selvedge_ir as ir;

/// How far from its start a global may have initial bytes other than zero.
const MAX_INITIAL_BYTES: u64 = 1 << 28;

/// Gives the globals of a module their initial bytes.
pub(super) fn lower_globals(unit: &Unit<'_, '_>, bodies: &Bodies, program: &mut Program) -> Parsed<()> {
    for &(index, id) in &bodies.globals {
        let source = &unit.module.globals[index];
        let Some(initializer) = source.initializer else {
            continue;
        };
        if unit.extents.get(&unit.module.types, source.ty).is_none() {
            return Err(Fault::unsupported(source.offset, "a global variable of unknown size"));
        }
        let mut writer = Writer { unit, data: Vec::new(), relocs: Vec::new() };
        writer.write(initializer, 0)?;
        while writer.data.last() == Some(&0) && !writer.ends_in_reloc() {
            writer.data.pop();
        }
        let global = &mut program.module.globals[id];
        global.data = writer.data;
        global.relocs = writer.relocs;
    }
    Ok(())
}

struct Writer<'u, 'm, 'a> {
    unit: &'u Unit<'m, 'a>,
    data: Vec<u8>,
    relocs: Vec<ir::Reloc>,
}

impl Writer<'_, '_, '_> {
    fn ends_in_reloc(&self) -> bool {
        self.relocs.last().is_some_and(|reloc| reloc.offset + 8 >= self.data.len() as u64)
    }

    fn put(&mut self, offset: u64, bytes: &[u8]) {
        let start = offset as usize;
        if self.data.len() < start + bytes.len() {
            self.data.resize(start + bytes.len(), 0);
        }
        self.data[start..start + bytes.len()].copy_from_slice(bytes);
    }

    fn write(&mut self, id: ConstId, offset: u64) -> Parsed<()> {
        let constant = self.unit.module.constant(id);
        match &constant.kind {
            ConstantKind::Zero | ConstantKind::Undef | ConstantKind::Null => Ok(()),
            ConstantKind::String(raw) => {
                self.put(offset, &unescape(raw));
                Ok(())
            }
            ConstantKind::Parts(parts) => {
                for (n, &part) in parts.iter().enumerate() {
                    let at = self.part_offset(offset, constant.ty, n, constant.offset)?;
                    self.write(part, at)?;
                }
                Ok(())
            }
            _ => self.write_scalars(id, offset),
        }
    }

    fn part_offset(&self, base: u64, ty: TypeId, n: usize, at: u32) -> Parsed<u64> {
        let types = &self.unit.module.types;
        let offset = match types.resolved(ty) {
            Type::Struct { .. } => self.unit.extents.field_offset(types, ty, n),
            Type::Array(_, element) => {
                self.unit.extents.get(types, *element).map(|extent| extent.size.saturating_mul(n as u64))
            }
            Type::Vector { element, .. } => {
                let bits = crate::layout::scalar_bits(types, *element).filter(|bits| bits % 8 == 0);
                bits.map(|bits| bits / 8 * n as u64)
            }
            _ => None,
        };
        // An initialiser is no longer than its text, but the gaps between its parts may be.
        match offset {
            Some(offset) if base.saturating_add(offset) < MAX_INITIAL_BYTES => Ok(base + offset),
            _ => Err(Fault::unsupported(at, "this initial value")),
        }
    }

    fn write_scalars(&mut self, id: ConstId, offset: u64) -> Parsed<()> {
        let constant = self.unit.module.constant(id);
        let refused = |feature: String| Fault::unsupported(constant.offset, format!("an initial value: {feature}"));
        let stop = |stop: Stop| match stop {
            Stop::Fault(fault) => fault,
            Stop::Unsupported(feature) => refused(feature),
        };
        let shape = self.unit.shape(constant.ty).map_err(stop)?;
        let folded = self.unit.fold(id).map_err(stop)?;
        let (Some(folded), true) = (folded, shape.in_memory) else {
            return Err(refused("it must be computed when the program runs".into()));
        };
        for (leaf, folded) in shape.leaves.iter().zip(folded) {
            let at = offset + leaf.offset;
            match folded {
                Folded::Bits(bits) => self.put(at, &bits.to_le_bytes()[..leaf.ty.store_size() as usize]),
                Folded::Undef => {}
                Folded::Address(target, addend) => {
                    self.put(at, &[0; 8]);
                    self.relocs.push(ir::Reloc { offset: at, target, addend });
                }
            }
        }
        Ok(())
    }
}

/// Records constructors in the order of their priorities, and registers destructors.
pub(super) fn lower_constructors(units: &[Unit<'_, '_>], program: &mut Program) -> Result<(), (usize, Box<Fault>)> {
    let constructors = collect(units, "llvm.global_ctors")?;
    let destructors = collect(units, "llvm.global_dtors")?;
    if !destructors.is_empty() {
        let register = register_destructors(&destructors, program);
        program.module.constructors.push(register);
    }
    program.module.constructors.extend(constructors);
    Ok(())
}

/// The functions in a list of constructors or destructors, by priority.
fn collect(units: &[Unit<'_, '_>], list: &str) -> Result<Vec<ir::FuncId>, (usize, Box<Fault>)> {
    let mut entries: Vec<(u64, ir::FuncId)> = Vec::new();
    for (n, unit) in units.iter().enumerate() {
        let symbol = unit.module.symbols.iter().find(|symbol| symbol.name == list);
        let Some(SymbolDefinition::Variable(index)) = symbol.map(|symbol| symbol.definition) else {
            continue;
        };
        let Some(initializer) = unit.module.globals[index as usize].initializer else {
            continue;
        };
        let ConstantKind::Parts(parts) = &unit.module.constant(initializer).kind else {
            continue;
        };
        for &part in parts {
            entries.extend(entry(unit, part).map_err(|fault| (n, fault))?);
        }
    }
    entries.sort_by_key(|&(priority, _)| priority);
    Ok(entries.into_iter().map(|(_, function)| function).collect())
}

/// `{ i32 priority, ptr function, ptr data }`.
fn entry(unit: &Unit<'_, '_>, id: ConstId) -> Parsed<Option<(u64, ir::FuncId)>> {
    let constant = unit.module.constant(id);
    let wrong = || Fault::syntax(constant.offset, "expected a priority and a function");
    let ConstantKind::Parts(fields) = &constant.kind else {
        return Err(wrong());
    };
    let (Some(&priority), Some(&function)) = (fields.first(), fields.get(1)) else {
        return Err(wrong());
    };
    let ConstantKind::Int(priority) = unit.module.constant(priority).kind else {
        return Err(wrong());
    };
    match &unit.module.constant(function).kind {
        ConstantKind::Null => Ok(None),
        ConstantKind::Symbol(symbol) => match unit.bindings[symbol.index()] {
            Binding::Func(id) => Ok(Some((priority as u64, id))),
            _ => Err(wrong()),
        },
        _ => Err(wrong()),
    }
}

/// Destructors run at exit, the last one first, behind everything that the program registers itself: a constructor that
/// runs before all others registers them with `atexit`.
fn register_destructors(destructors: &[ir::FuncId], program: &mut Program) -> ir::FuncId {
    let atexit = program.external("atexit", &[ir::Type::Ptr], &[ir::Type::I32]);
    let loc = program.module.no_loc();
    let mut function = ir::Function::new("selvedge.register_destructors", loc);
    let block = function.add_block("entry");
    for &destructor in destructors {
        let args = vec![(ir::Type::Ptr, ir::Operand::Func(destructor))];
        let results = program.module.functions[atexit].results.clone();
        let matches = program.module.functions[atexit].params.len() == 1;
        let callee = if matches { ir::Callee::Direct(atexit) } else { ir::Callee::Indirect(ir::Operand::Func(atexit)) };
        function.append(block, ir::InstKind::Call { callee, args }, &results, loc);
    }
    function.append(block, ir::InstKind::Ret { values: Vec::new() }, &[], loc);
    program.module.functions.push(function)
}
