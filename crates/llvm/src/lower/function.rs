//! Functions: the order in which blocks are lowered, phis, and the table of values.
//!
//! Blocks are visited in reverse postorder, so that every definition is lowered before its uses. Blocks that cannot be
//! reached are left out; among them are all that only an exception could reach, since a call here returns normally or
//! not at all. The arguments of a phi are lowered at the end of each predecessor, where constant expressions may still
//! need instructions.

use super::{Lowered, Program, Stop, Unit};
use crate::access_path::{AccessPaths, PathContext};
use crate::ast::{Function, Instruction, LocalId, Op, Operand, OperandKind, ParameterAttributes};
use crate::debug_info::DebugInfo;
use crate::error::{Fault, Parsed};
use crate::lexer::display_name;
use crate::types::{TypeId, TypeTable};
use rustc_hash::FxHashMap;
use selvedge_ir as ir;
use smallvec::{SmallVec, smallvec};

/// The scalars of a value.
pub(super) type Scalars = SmallVec<[ir::Operand; 2]>;

/// The state of lowering one function.
pub(super) struct FunctionLowering<'l, 'm, 'a> {
    pub(super) unit: &'l Unit<'m, 'a>,
    pub(super) program: &'l mut Program,
    pub(super) source: &'m Function<'a>,
    debug: &'l mut DebugInfo<'m, 'a>,
    paths: AccessPaths<'m, 'a>,
    pub(super) f: ir::Function,
    /// Where instructions are appended.
    pub(super) block: ir::Block,
    pub(super) loc: ir::LocId,
    /// Scalars of locals.
    values: Vec<Option<Scalars>>,
    /// First block of each LLVM block, by its position.
    pub(super) blocks: Vec<Option<ir::Block>>,
    /// Positions of blocks by label.
    pub(super) positions: FxHashMap<LocalId, usize>,
    /// Arguments of phis: block, which phi, predecessor, value.
    pending: Vec<(ir::Block, usize, ir::Block, ir::Operand)>,
}

/// Lowers a body into the function with this number.
pub(super) fn lower_function<'m, 'a>(
    unit: &Unit<'m, 'a>,
    source: &'m Function<'a>,
    id: ir::FuncId,
    debug: &mut DebugInfo<'m, 'a>,
    program: &mut Program,
) -> Parsed<()> {
    let loc = program.module.functions[id].loc;
    let mut f = program.module.functions[id].clone();
    let block = f.add_block("entry");
    if let Some(feature) = refusal(unit, source) {
        f.append(block, ir::InstKind::Unsupported { feature }, &[], loc);
        f.append(block, ir::InstKind::Unreachable, &[], loc);
        program.module.functions[id] = f;
        return Ok(());
    }
    let paths = AccessPaths::new(unit.module, source.locals.len(), &source.blocks, debug, &mut program.module);
    let positions = source.blocks.iter().enumerate().map(|(n, block)| (block.label, n)).collect();
    let mut lowering = FunctionLowering {
        unit,
        program,
        source,
        debug,
        paths,
        f,
        block,
        loc,
        values: vec![None; source.locals.len()],
        blocks: vec![None; source.blocks.len()],
        positions,
        pending: Vec::new(),
    };
    lowering.run()?;
    let f = lowering.f;
    program.module.functions[id] = f;
    Ok(())
}

/// Why a function cannot be executed at all.
fn refusal(unit: &Unit<'_, '_>, source: &Function<'_>) -> Option<String> {
    if let Some(name) = unit.module.resolve_attributes(&source.attributes).unsupported {
        return Some(format!("a function with the attribute `{name}`"));
    }
    if let Some(name) = source.params.iter().find_map(|param| param.attributes.unsupported) {
        return Some(format!("a parameter with the attribute `{name}`"));
    }
    let types = source.params.iter().map(|param| param.ty);
    for ty in types.chain((source.result != TypeTable::VOID).then_some(source.result)) {
        if let Err(Stop::Unsupported(feature)) = unit.shape(ty) {
            return Some(feature);
        }
    }
    None
}

impl<'l, 'm, 'a> FunctionLowering<'l, 'm, 'a> {
    fn run(&mut self) -> Parsed<()> {
        let order = self.reverse_postorder()?;
        let mut reachable = order.clone();
        reachable.sort_unstable();
        for &n in &reachable {
            let label = self.source.blocks[n].label;
            let block = if n == 0 { self.block } else { self.f.add_block("") };
            self.f.blocks[block].name = self.local_name(label);
            self.blocks[n] = Some(block);
        }
        self.parameters()?;
        for &n in &order {
            self.lower_block(n)?;
        }
        self.finish_phis();
        Ok(())
    }

    fn local_name(&self, local: LocalId) -> String {
        display_name(self.source.locals[local.index()].name)
    }

    /// Positions of the blocks that can be reached, definitions before uses.
    fn reverse_postorder(&self) -> Parsed<Vec<usize>> {
        let count = self.source.blocks.len();
        let mut seen = vec![false; count];
        let mut postorder = Vec::with_capacity(count);
        let mut stack: Vec<(usize, Vec<usize>)> = vec![(0, self.successors(0)?)];
        seen[0] = true;
        while let Some((n, rest)) = stack.last_mut() {
            match rest.pop() {
                Some(0) => {
                    let offset = self.source.blocks[0].instructions[0].offset;
                    return Err(Fault::syntax(offset, "the entry block cannot be jumped to"));
                }
                Some(next) if !seen[next] => {
                    seen[next] = true;
                    stack.push((next, self.successors(next)?));
                }
                Some(_) => {}
                None => {
                    postorder.push(*n);
                    stack.pop();
                }
            }
        }
        postorder.reverse();
        Ok(postorder)
    }

    /// Positions of the blocks that control can go to.
    fn successors(&self, n: usize) -> Parsed<Vec<usize>> {
        let Some(last) = self.source.blocks[n].instructions.last() else {
            return Ok(Vec::new());
        };
        let labels: Vec<LocalId> = match &last.op {
            Op::Br(dest) => vec![*dest],
            Op::CondBr { then_dest, else_dest, .. } => vec![*then_dest, *else_dest],
            Op::Switch { cases, default, .. } => {
                cases.iter().map(|&(_, dest)| dest).chain(std::iter::once(*default)).collect()
            }
            Op::IndirectBr { dests, .. } => dests.clone(),
            Op::Invoke { normal, .. } => vec![*normal],
            _ => Vec::new(),
        };
        labels.into_iter().map(|label| self.position(label, last.offset)).collect()
    }

    fn position(&self, label: LocalId, at: u32) -> Parsed<usize> {
        self.positions.get(&label).copied().ok_or_else(|| Fault::syntax(at, "expected a block"))
    }

    /// The block that a label means.
    pub(super) fn dest(&self, label: LocalId) -> ir::Block {
        self.positions
            .get(&label)
            .and_then(|&n| self.blocks[n])
            .expect("successors of a reachable block were given blocks")
    }

    /// Binds parameters; one that is passed by value is copied, so that the callee owns its copy.
    fn parameters(&mut self) -> Parsed<()> {
        let mut values = self.f.params.clone().into_iter();
        for param in &self.source.params {
            let count = self.unit.leaf_count(param.ty).map_or(0, |count| count);
            let mut scalars: Scalars = values.by_ref().take(count).map(ir::Operand::Value).collect();
            let Some(local) = param.local else {
                continue;
            };
            if let (Some(ty), [pointer]) = (param.attributes.byval, &scalars[..]) {
                let copy = self.copy_of(ty, *pointer, local, &param.attributes);
                match copy {
                    Ok(copy) => scalars = smallvec![copy],
                    Err(Stop::Fault(fault)) => return Err(fault),
                    Err(Stop::Unsupported(feature)) => {
                        self.emit(ir::InstKind::Unsupported { feature }, &[]);
                    }
                }
            }
            self.values[local.index()] = Some(scalars);
        }
        Ok(())
    }

    fn copy_of(
        &mut self,
        ty: TypeId,
        pointer: ir::Operand,
        local: LocalId,
        attributes: &ParameterAttributes,
    ) -> Lowered<ir::Operand> {
        let Some(extent) = self.unit.extents.get(&self.unit.module.types, ty) else {
            return super::unsupported("a parameter of unknown size that is passed by value");
        };
        let (name, debug_type) = self.variable(local);
        let align = attributes.align.unwrap_or(extent.align).max(extent.align);
        let align = u32::try_from(align).unwrap_or(1 << 31);
        let len = ir::Operand::Const(extent.size);
        let copy = self.emit1(ir::InstKind::Alloca { size: len, align, name, debug_type }, ir::Type::Ptr);
        self.emit(ir::InstKind::MemCopy { dst: copy, src: pointer, len, overlap: false }, &[]);
        Ok(copy)
    }

    /// Source name and type of the variable at a local's address.
    pub(super) fn variable(&self, local: LocalId) -> (String, Option<ir::TypeId>) {
        match self.paths.variable_at(local) {
            Some(variable) => (variable.name.clone(), variable.ty),
            None => (self.local_name(local), None),
        }
    }

    fn lower_block(&mut self, n: usize) -> Parsed<()> {
        self.block = self.blocks[n].expect("every block in the order was given a block");
        let source = self.source;
        let mut phis_over = false;
        let mut refused = None;
        for instruction in &source.blocks[n].instructions {
            match &instruction.op {
                Op::Debug(_) => continue,
                Op::Phi(_) if phis_over => {
                    return Err(Fault::syntax(instruction.offset, "a phi must stand at the start of its block"));
                }
                Op::Phi(_) => match self.declare_phi(instruction) {
                    Ok(()) => {}
                    Err(Stop::Fault(fault)) => return Err(fault),
                    Err(Stop::Unsupported(feature)) => refused = Some(feature),
                },
                _ => {
                    phis_over = true;
                    if let Some(feature) = refused.take() {
                        self.emit(ir::InstKind::Unsupported { feature }, &[]);
                    }
                    self.lower_instruction(n, instruction)?;
                }
            }
        }
        Ok(())
    }

    /// Makes the phis for the scalars of one of LLVM's; none if its type has no shape.
    fn declare_phi(&mut self, instruction: &'m Instruction<'a>) -> Lowered<()> {
        self.set_location(instruction);
        self.define(instruction, Scalars::new());
        let shape = self.unit.shape(instruction.ty)?;
        let mut scalars = Scalars::new();
        for leaf in shape.leaves.iter() {
            let inst =
                self.f.append(self.block, ir::InstKind::Phi { ty: leaf.ty, args: Vec::new() }, &[leaf.ty], self.loc);
            scalars.push(ir::Operand::Value(self.f.result(inst)));
        }
        self.define(instruction, scalars);
        Ok(())
    }

    /// Gives the phis of a successor their arguments for the edge from the block that is being finished.
    pub(super) fn fill_phis(&mut self, from: usize, labels: &[LocalId]) -> Lowered<()> {
        let source = self.source;
        let mut done: Vec<usize> = Vec::new();
        for &label in labels {
            let to = self.position(label, 0)?;
            if done.contains(&to) {
                continue;
            }
            done.push(to);
            let Some(block) = self.blocks[to] else {
                continue;
            };
            // Phis of the program stand in the order of the text; each has one instruction per scalar.
            let mut place = 0;
            for instruction in &source.blocks[to].instructions {
                let incoming = match &instruction.op {
                    Op::Phi(incoming) => incoming,
                    Op::Debug(_) => continue,
                    _ => break,
                };
                let own = source.blocks[from].label;
                let Some(&(value, _)) = incoming.iter().find(|&&(_, label)| label == own) else {
                    return Err(Fault::syntax(instruction.offset, "this phi lacks a predecessor").into());
                };
                if self.unit.shape(instruction.ty).is_err() {
                    continue;
                }
                let scalars = self.operand(value)?;
                for scalar in scalars {
                    self.pending_phi(block, place, scalar);
                    place += 1;
                }
            }
        }
        Ok(())
    }

    /// Remembers an argument of the n-th phi of a block, which may not have been lowered yet.
    fn pending_phi(&mut self, block: ir::Block, place: usize, value: ir::Operand) {
        let from = self.block;
        self.pending.push((block, place, from, value));
    }

    fn finish_phis(&mut self) {
        for (block, place, from, value) in std::mem::take(&mut self.pending) {
            let inst = self.f.blocks[block].insts[place];
            match &mut self.f.insts[inst].kind {
                ir::InstKind::Phi { args, .. } => args.push((from, value)),
                _ => unreachable!("a block starts with one phi for each scalar of LLVM's phis"),
            }
        }
    }

    fn set_location(&mut self, instruction: &Instruction<'a>) {
        self.loc = self.debug.location(instruction.location, &mut self.program.module, &mut self.program.files);
    }

    fn lower_instruction(&mut self, n: usize, instruction: &'m Instruction<'a>) -> Parsed<()> {
        self.set_location(instruction);
        let pending = self.pending.len();
        let result = if instruction.op.is_terminator() {
            self.terminator(n, instruction)
        } else {
            self.instruction(instruction)
        };
        match result {
            Ok(()) => Ok(()),
            Err(Stop::Fault(fault)) => Err(fault),
            Err(Stop::Unsupported(feature)) => {
                // A terminator that is replaced has no successors, so their phis have no arguments from here.
                self.pending.truncate(pending);
                self.unsupported(instruction, feature);
                Ok(())
            }
        }
    }

    /// Puts an `Unsupported` in the place of an instruction, with results so that uses stay valid.
    fn unsupported(&mut self, instruction: &Instruction<'a>, feature: String) {
        let types: Vec<ir::Type> = match (instruction.result, self.unit.shape(instruction.ty)) {
            (Some(_), Ok(shape)) => shape.leaves.iter().map(|leaf| leaf.ty).collect(),
            _ => Vec::new(),
        };
        let inst = self.emit(ir::InstKind::Unsupported { feature }, &types);
        let results = self.f.insts[inst].results.iter().map(|&value| ir::Operand::Value(value)).collect();
        self.define(instruction, results);
        if instruction.op.is_terminator() {
            self.emit(ir::InstKind::Unreachable, &[]);
        }
    }

    /// Says what a local's scalars are.
    pub(super) fn define(&mut self, instruction: &Instruction<'a>, scalars: Scalars) {
        let Some(local) = instruction.result else {
            return;
        };
        let name = self.local_name(local);
        if !name.is_empty() {
            for scalar in &scalars {
                if let ir::Operand::Value(value) = scalar
                    && self.f.values[*value].name.is_empty()
                {
                    self.f.values[*value].name.clone_from(&name);
                }
            }
        }
        self.values[local.index()] = Some(scalars);
    }

    /// The scalars of an operand.
    pub(super) fn operand(&mut self, operand: Operand<'a>) -> Lowered<Scalars> {
        match operand.kind {
            OperandKind::Const(id) => self.constant(id),
            OperandKind::Local(local) => {
                let entry = &self.source.locals[local.index()];
                let Some(scalars) = &self.values[local.index()] else {
                    let name = crate::parser::describe_local(entry);
                    return Err(Fault::syntax(entry.offset, format!("{name} is used before it is defined")).into());
                };
                let wanted = self.unit.leaf_count(operand.ty)?;
                if scalars.len() == wanted {
                    return Ok(scalars.clone());
                }
                // The definition was unsupported, so this is never executed.
                Ok(smallvec![ir::Operand::Undef; wanted])
            }
            OperandKind::Metadata(_) => super::unsupported("metadata as a value"),
            OperandKind::Asm(_) => super::unsupported("the address of inline assembly"),
        }
    }

    /// An operand that is one scalar.
    pub(super) fn scalar(&mut self, operand: Operand<'a>) -> Lowered<ir::Operand> {
        match self.operand(operand)?[..] {
            [scalar] => Ok(scalar),
            _ => super::unsupported(format!(
                "a value of type `{}` as a scalar",
                self.unit.module.types.display(operand.ty)
            )),
        }
    }

    /// Appends an instruction.
    pub(super) fn emit(&mut self, kind: ir::InstKind, results: &[ir::Type]) -> ir::Inst {
        self.f.append(self.block, kind, results, self.loc)
    }

    /// Appends an instruction with one result.
    pub(super) fn emit1(&mut self, kind: ir::InstKind, result: ir::Type) -> ir::Operand {
        let inst = self.emit(kind, &[result]);
        ir::Operand::Value(self.f.result(inst))
    }

    /// The name of what an access touches, `extra` bytes behind the address.
    pub(super) fn path(&mut self, address: Operand<'a>, extra: u64, size: u64) -> Option<ir::PathId> {
        let unit = self.unit;
        let program = &self.program.module;
        let context = PathContext {
            module: unit.module,
            extents: &unit.extents,
            program,
            symbols: &|symbol| unit.variable(program, symbol),
        };
        let text = self.paths.access(&context, address, extra, size)?;
        Some(self.program.path(text))
    }
}
