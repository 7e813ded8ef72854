//! Accesses to memory along a path.

use super::objects::{Cell, Place, Target, gcd, initial_elements, initial_value, unsupported};
use super::path::{Path, Slot};
use super::run::At;
use super::{Builder, Unsupported};
use crate::program::{Access, ErrorKind, StepKind};
use crate::term::{ArrayBase, ArrayValue, Symbol, Term};
use selvedge_ir::{GlobalId, InstKind, Operand, Type};

impl Builder<'_> {
    /// Finds the cell of an access. None if the path ends here: in front of the access, or with an error.
    #[expect(clippy::too_many_arguments, reason = "an access has that many sides")]
    pub(super) fn access(
        &mut self,
        path: &mut Path,
        todo: &mut Vec<Path>,
        at: At,
        addr: Operand,
        ty: Type,
        write: bool,
        words: Option<selvedge_ir::PathId>,
    ) -> Result<Option<Target>, Unsupported> {
        let address = self.operand(path, addr, Type::Ptr);
        let words = words.map(|id| self.module.paths[id].clone()).unwrap_or_default();
        let size = u64::from(ty.store_size());
        let Some(target) = self.locate(path, at, address, size, &words)? else { return Ok(None) };
        self.touch(path, &target, write);
        if write && self.is_constant(path, at, &target) {
            return Ok(None);
        }
        let counts = self.is_visible(&target);
        if counts && !self.visible(path) {
            return Ok(None);
        }
        if counts {
            let is_rmw = matches!(
                self.module.functions[at.func].insts[at.inst].kind,
                InstKind::Rmw { .. } | InstKind::Cas { .. }
            );
            let kind = if is_rmw {
                StepKind::Rmw
            } else if write {
                StepKind::Store
            } else {
                StepKind::Load
            };
            path.step(at.func, at.inst, kind, at.loc);
            if !write {
                self.say(path, &target, format!("read {}", self.target_name(&target)));
            }
            let name = self.place_name(target.place);
            let object = self.object(&name);
            path.accesses.push(Access { object, bytes: target.bytes, write });
        }
        let reads = !matches!(self.module.functions[at.func].insts[at.inst].kind, InstKind::Store { .. });
        if !self.may_be_accessed(path, todo, at, &target, &words)
            || (reads && !self.must_be_written(path, todo, at, &target))
        {
            return Ok(None);
        }
        Ok(Some(target))
    }

    /// Whether another thread could notice an access to a cell.
    pub(super) fn is_visible(&self, target: &Target) -> bool {
        let layouts = &self.memory.layouts;
        let changes = layouts.is_written(target.place, target.offset) || layouts.is_freed(target.place);
        layouts.is_shared(target.place) && (changes || self.is_mortal(target.place))
    }

    /// Whether a write goes to constant memory; then the path has ended.
    pub(super) fn is_constant(&self, path: &mut Path, at: At, target: &Target) -> bool {
        let Place::Global(global) = target.place else { return false };
        let constant = self.module.globals[global].constant;
        if constant {
            let name = self.place_name(target.place);
            path.fail(ErrorKind::InvalidPointer, format!("the constant `{name}` is written"), at.loc);
        }
        constant
    }

    /// Notes who touches what.
    pub(super) fn touch(&mut self, path: &Path, target: &Target, write: bool) {
        self.facts.users.entry(target.place).or_default().insert(path.thread);
        if write {
            self.facts.written.insert((target.place, target.offset));
        }
    }

    /// The cell at an address. None if the path ends with an error.
    pub(super) fn locate(
        &mut self,
        path: &mut Path,
        at: At,
        address: Term,
        size: u64,
        words: &str,
    ) -> Result<Option<Target>, Unsupported> {
        let Some((place, offset, parts)) = self.memory.find(&self.terms, address) else {
            if self.terms.constant(address).is_some_and(|a| a < 1 << 32) {
                let what = if words.is_empty() { "memory".to_owned() } else { format!("`{words}`") };
                path.fail(ErrorKind::InvalidPointer, format!("{what} is accessed through a null pointer"), at.loc);
                return Ok(None);
            }
            let what = if words.is_empty() { String::new() } else { format!(" in `{words}`") };
            return Err(unsupported(
                format!("a pointer{what} that cannot be resolved: where it points to is not fixed"),
                at.loc,
            ));
        };
        let total = self.memory.size(place);
        if let Some(stride) = parts.iter().map(|&(f, _)| (f as i64).unsigned_abs()).reduce(gcd) {
            let stride = self.facts.strides.get(&place).map_or(stride, |&old| gcd(old, stride));
            self.facts.strides.insert(place, stride);
        }
        let stride = self.memory.layouts.stride(place);
        if parts.is_empty() && (offset < 0 || offset as u64 + size > total) {
            path.fail(ErrorKind::OutOfBounds, format!("`{words}` is outside of its object"), at.loc);
            return Ok(None);
        }
        let bytes = parts.is_empty().then(|| (offset as u64, offset as u64 + size));
        let Some(stride) = stride else {
            // If it is indexed, that was just noted, and everything is built again.
            if parts.is_empty() {
                self.facts.cells.insert((place, offset as u64, size));
            }
            let offset = if parts.is_empty() { offset as u64 } else { 0 };
            let symbol = self.scalar(place, offset, size, words, at)?;
            return Ok(Some(Target { place, cell: Cell::Scalar(symbol), offset, bytes, count: None }));
        };
        let field = offset.rem_euclid(stride as i64) as u64;
        if field + size > stride {
            return Err(unsupported("an array that is accessed in parts that do not fit its elements", at.loc));
        }
        let first = offset.div_euclid(stride as i64) as u64;
        let parts: Vec<_> = parts.iter().map(|&(f, t)| ((f as i64 / stride as i64) as u64, t)).collect();
        let index = self.terms.sum(first, &parts, 64);
        let symbol = self.array(place, stride, field, size, at)?;
        self.facts.cells.insert((place, field, size));
        let count = Some(total / stride);
        Ok(Some(Target { place, cell: Cell::Element(symbol, index), offset: field, bytes, count }))
    }

    fn scalar(&mut self, place: Place, offset: u64, size: u64, words: &str, at: At) -> Result<Symbol, Unsupported> {
        let bits = (size * 8) as u8;
        let fixed_name = matches!(place, Place::Global(g) if self.module.globals[g].size == size);
        let name = if words.is_empty() || fixed_name || words.contains('[') || words.contains('*') {
            if offset == 0 { self.place_name(place) } else { format!("{}+{offset}", self.place_name(place)) }
        } else {
            words.to_owned()
        };
        let terms = &mut self.terms;
        let before = terms.symbols.len();
        let symbol = self.memory.cell((place, offset, size), || terms.symbol(name, bits, false, false));
        let symbol = symbol.map_err(|feature| unsupported(feature, at.loc))?;
        if self.terms.symbols.len() > before {
            let value = self.initial_number(place, offset, size, at)?;
            let value = self.terms.number(value, bits);
            self.initial.values.insert(symbol, value);
        }
        Ok(symbol)
    }

    fn array(&mut self, place: Place, stride: u64, field: u64, size: u64, at: At) -> Result<Symbol, Unsupported> {
        let bits = (size * 8) as u8;
        let name = if field == 0 { self.place_name(place) } else { format!("{}.{field}", self.place_name(place)) };
        let terms = &mut self.terms;
        let before = terms.symbols.len();
        let symbol = self.memory.cell((place, field, size), || terms.symbol(name, bits, true, false));
        let symbol = symbol.map_err(|feature| unsupported(feature, at.loc))?;
        // What was not set to zero has any contents at first: nothing is said of them.
        let has_contents = matches!(place, Place::Global(_)) || self.memory.layouts.is_zeroed(place);
        if self.terms.symbols.len() > before && has_contents {
            let elements = match place {
                Place::Stack(..) | Place::Heap(..) => Some(Vec::new()),
                Place::Global(global) => {
                    let (module, memory) = (self.module, &mut self.memory);
                    let base = |id: GlobalId| memory.base(Place::Global(id), module.globals[id].size);
                    initial_elements(&module.globals[global], stride, field, size, base)
                }
            };
            let elements = elements.ok_or_else(|| unsupported("a large array with initial contents", at.loc))?;
            let fixed = self.terms.fixed.push((bits, elements));
            self.initial.arrays.insert(symbol, ArrayValue { base: ArrayBase::Fixed(fixed), writes: Vec::new() });
        }
        Ok(symbol)
    }

    fn initial_number(&mut self, place: Place, offset: u64, size: u64, at: At) -> Result<u64, Unsupported> {
        let Place::Global(global) = place else { return Ok(0) };
        let data = &self.module.globals[global];
        if data.external {
            return Err(unsupported(format!("`{}`, which is only declared", data.source_name), at.loc));
        }
        let (module, memory) = (self.module, &mut self.memory);
        let base = |id: GlobalId| memory.base(Place::Global(id), module.globals[id].size);
        initial_value(data, offset, size, base).ok_or_else(|| unsupported("a part of a pointer", at.loc))
    }

    /// The value of a cell.
    pub(super) fn read(&mut self, path: &mut Path, at: At, target: &Target, ty: Type) -> Term {
        let value = self.read_cell(path, at, target);
        let bits = ty.bits() as u8;
        if self.terms.bits(value) == bits { value } else { self.terms.extract(0, bits, value) }
    }

    fn read_cell(&mut self, path: &mut Path, at: At, target: &Target) -> Term {
        let layouts = &self.memory.layouts;
        match target.cell {
            Cell::Element(symbol, index) => {
                let value = match layouts.is_written(target.place, target.offset) {
                    true => path.shared.array(symbol),
                    false => self.initial.array(symbol),
                };
                self.terms.read(&value, index)
            }
            Cell::Scalar(symbol) if !layouts.is_written(target.place, target.offset) => {
                let has_value = matches!(target.place, Place::Global(_)) || layouts.is_zeroed(target.place);
                if !has_value {
                    path.fail(ErrorKind::UninitialisedRead, "a local variable is read that was never written", at.loc);
                }
                self.initial.values[&symbol]
            }
            Cell::Scalar(symbol) if layouts.is_shared(target.place) => {
                let current = path.shared.values.get(&symbol).copied();
                current.unwrap_or_else(|| self.terms.var(symbol))
            }
            Cell::Scalar(symbol) => match (path.env.get(&Slot::Cell(symbol)), target.place) {
                (Some(&term), _) => term,
                (None, Place::Global(_)) => self.initial.values[&symbol],
                (None, Place::Heap(..)) if layouts.is_zeroed(target.place) => self.initial.values[&symbol],
                (None, Place::Stack(..) | Place::Heap(..)) => {
                    path.fail(ErrorKind::UninitialisedRead, "a local variable is read before it is written", at.loc);
                    self.initial.values[&symbol]
                }
            },
        }
    }

    /// Changes a cell.
    pub(super) fn write(&mut self, path: &mut Path, target: &Target, value: Term) {
        self.note_stored(target, value);
        self.note_written(path, target, true);
        let value = match target.cell {
            Cell::Scalar(symbol) | Cell::Element(symbol, _) => self.terms.zext(value, self.terms.symbols[symbol].bits),
        };
        match target.cell {
            Cell::Element(symbol, index) => {
                let mut array = path.shared.array(symbol);
                array.writes.push((index, value));
                path.shared.arrays.insert(symbol, array);
            }
            Cell::Scalar(symbol) if self.memory.layouts.is_shared(target.place) => {
                path.shared.values.insert(symbol, value);
            }
            Cell::Scalar(symbol) => {
                path.env.insert(Slot::Cell(symbol), value);
            }
        }
    }

    pub(super) fn place_name(&self, place: Place) -> String {
        match place {
            Place::Global(global) => self.module.globals[global].source_name.clone(),
            Place::Stack(..) | Place::Heap(..) => self.stack_names.get(&place).cloned().unwrap_or_default(),
        }
    }

    pub(super) fn target_name(&self, target: &Target) -> String {
        match target.cell {
            Cell::Scalar(symbol) => self.terms.symbols[symbol].name.clone(),
            Cell::Element(symbol, index) => {
                format!("{}[{}]", self.terms.symbols[symbol].name, self.terms.text(index))
            }
        }
    }

    pub(super) fn say(&self, path: &mut Path, target: &Target, text: String) {
        if self.is_visible(target) {
            path.words.push(text);
        }
    }
}
