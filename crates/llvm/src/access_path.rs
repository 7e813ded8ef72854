//! Names for memory accesses: `queue->tail`, `buf[i]`, `node->next->val`, `*p`, `counter`.
//!
//! An address is traced back through the instructions that computed it to a variable that the debug information knows.
//! On the way it is a `Place`: an object (or what a pointer points to), its source-level type, and a byte offset that
//! is not yet resolved. The offset is resolved against the *source-level* type, not LLVM's, for two reasons: optimised
//! code computes addresses in bytes, and LLVM drops computations of offset zero, so that the first member of a struct
//! and the struct itself have one address; the size of the access then tells them apart.
//!
//! A name is for people. It is computed once per access from the text of the program, so `buf[i]` does not say what `i`
//! was; events carry addresses and values for that.

use crate::ast::{
    BinaryOp, Block, Call, CastOp, ConstId, ConstantKind, DebugKind, Expression, Instruction, LocalId, Metadata,
    Module, Op, Operand, OperandKind, SymbolId,
};
use crate::debug_info::{DebugInfo, Variable, size_of_type};
use crate::layout::Extents;
use crate::types::{Type, TypeId};
use rustc_hash::FxHashMap;
use selvedge_ir as ir;

/// How far an address is traced back.
const MAX_DEPTH: u32 = 24;

/// Longer names are of no use to anyone.
const MAX_LENGTH: usize = 80;

/// What names are made from, besides the function itself.
pub struct PathContext<'x, 'm, 'a> {
    /// The module.
    pub module: &'m Module<'a>,
    /// Sizes of LLVM's types.
    pub extents: &'x Extents,
    /// The program, for its source-level types.
    pub program: &'x ir::Module,
    /// Source name and type of a symbol.
    pub symbols: &'x dyn Fn(SymbolId) -> Option<Variable>,
}

/// What is known about the locals of one function.
pub struct AccessPaths<'m, 'a> {
    definitions: Vec<Option<&'m Instruction<'a>>>,
    /// Variables by the local that is their address.
    places: FxHashMap<LocalId, Variable>,
    /// Variables by the local that is their value.
    values: FxHashMap<LocalId, Variable>,
    /// Result types of called functions, by the local that holds the result.
    results: FxHashMap<LocalId, ir::TypeId>,
    memo: FxHashMap<LocalId, Option<Name>>,
}

/// A value with a name.
#[derive(Clone, Debug)]
struct Name {
    text: String,
    ty: Option<ir::TypeId>,
}

/// A place in memory with a name.
#[derive(Clone, Debug)]
struct Place {
    anchor: Anchor,
    /// Type of the object.
    ty: Option<ir::TypeId>,
    /// Bytes behind the object's start.
    offset: i64,
}

/// What a place is relative to.
#[derive(Clone, Debug)]
enum Anchor {
    /// An object, by its name.
    Object(String),
    /// What a pointer points to, by the pointer's name.
    Pointee(String),
}

impl<'m, 'a> AccessPaths<'m, 'a> {
    /// Collects what the debug records of a function say.
    pub fn new(
        module: &'m Module<'a>,
        locals: usize,
        blocks: &'m [Block<'a>],
        debug: &mut DebugInfo<'m, 'a>,
        program: &mut ir::Module,
    ) -> Self {
        let mut paths = AccessPaths {
            definitions: vec![None; locals],
            places: FxHashMap::default(),
            values: FxHashMap::default(),
            results: FxHashMap::default(),
            memo: FxHashMap::default(),
        };
        for instruction in blocks.iter().flat_map(|block| &block.instructions) {
            if let Some(result) = instruction.result {
                paths.definitions[result.index()] = Some(instruction);
                if let Some(ty) = callee_result(module, instruction, debug, program) {
                    paths.results.insert(result, ty);
                }
            }
            if let Op::Debug(record) = &instruction.op
                && let Some(OperandKind::Local(local)) = record.value.map(|value| value.kind)
                && debug.is_plain(record.expression)
                && let Some(variable) = debug.variable(record.variable, program)
            {
                let table = match record.kind {
                    DebugKind::Declare => &mut paths.places,
                    DebugKind::Value | DebugKind::Assign => &mut paths.values,
                };
                table.entry(local).or_insert(variable);
            }
        }
        paths
    }

    /// The variable that lives at this local's address.
    pub fn variable_at(&self, local: LocalId) -> Option<&Variable> {
        self.places.get(&local)
    }

    /// The name of what an access of `size` bytes touches, `extra` bytes behind an address.
    pub fn access(
        &mut self,
        context: &PathContext<'_, 'm, 'a>,
        address: Operand<'a>,
        extra: u64,
        size: u64,
    ) -> Option<String> {
        let mut place = self.place(context, address, 0)?;
        place.offset = place.offset.checked_add(i64::try_from(extra).ok()?)?;
        let name = settle(context.program, place, size)?;
        (name.text.len() <= MAX_LENGTH).then_some(name.text)
    }

    fn place(&mut self, context: &PathContext<'_, 'm, 'a>, address: Operand<'a>, depth: u32) -> Option<Place> {
        if depth > MAX_DEPTH {
            return None;
        }
        let local = match address.kind {
            OperandKind::Local(local) => local,
            OperandKind::Const(id) => return self.constant_place(context, id, depth),
            _ => return None,
        };
        if let Some(variable) = self.places.get(&local) {
            return Some(Place { anchor: Anchor::Object(variable.name.clone()), ty: variable.ty, offset: 0 });
        }
        match self.definitions[local.index()].map(|definition| &definition.op) {
            Some(Op::Gep { source, base, indices }) if !self.values.contains_key(&local) => {
                let place = self.place(context, *base, depth + 1)?;
                self.index(context, place, *source, indices, depth)
            }
            Some(Op::Cast { op: CastOp::Bitcast | CastOp::AddrSpaceCast, a }) => self.place(context, *a, depth + 1),
            Some(Op::Call(call)) if is_address_of_operand(context.module, call) => {
                self.place(context, call.args.first()?.value, depth + 1)
            }
            Some(Op::Alloca { .. }) => None,
            _ => {
                let name = self.name(context, address, depth + 1)?;
                Some(pointee(context.program, name))
            }
        }
    }

    fn constant_place(&mut self, context: &PathContext<'_, 'm, 'a>, id: ConstId, depth: u32) -> Option<Place> {
        if depth > MAX_DEPTH {
            return None;
        }
        match &context.module.constant(id).kind {
            ConstantKind::Symbol(symbol) => {
                let variable = (context.symbols)(*symbol)?;
                Some(Place { anchor: Anchor::Object(variable.name), ty: variable.ty, offset: 0 })
            }
            ConstantKind::Expression(expression) => match &**expression {
                Expression::Gep { source, base, indices } => {
                    let place = self.constant_place(context, *base, depth + 1)?;
                    let indices: Vec<Operand<'a>> = indices
                        .iter()
                        .map(|&id| Operand { ty: context.module.constant(id).ty, kind: OperandKind::Const(id) })
                        .collect();
                    self.index(context, place, *source, &indices, depth)
                }
                Expression::Cast(CastOp::Bitcast | CastOp::AddrSpaceCast, inner) => {
                    self.constant_place(context, *inner, depth + 1)
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Follows the indices of a `getelementptr`.
    fn index(
        &mut self,
        context: &PathContext<'_, 'm, 'a>,
        mut place: Place,
        source: TypeId,
        indices: &[Operand<'a>],
        depth: u32,
    ) -> Option<Place> {
        let types = &context.module.types;
        let mut ty = source;
        for (n, index) in indices.iter().enumerate() {
            let constant = constant_index(context.module, *index);
            let stride = if n == 0 {
                context.extents.get(types, ty)?.size
            } else {
                match types.resolved(ty) {
                    Type::Struct { fields, .. } => {
                        let field = usize::try_from(constant?).ok()?;
                        let offset = context.extents.field_offset(types, ty, field)?;
                        place.offset = place.offset.checked_add(i64::try_from(offset).ok()?)?;
                        ty = *fields.get(field)?;
                        continue;
                    }
                    Type::Array(_, element) | Type::Vector { element, .. } => {
                        ty = *element;
                        context.extents.get(types, ty)?.size
                    }
                    _ => return None,
                }
            };
            match constant {
                Some(index) => {
                    let bytes = index.checked_mul(i64::try_from(stride).ok()?)?;
                    place.offset = place.offset.checked_add(bytes)?;
                }
                None => {
                    let text = self.name(context, *index, depth + 1).map_or("...".to_string(), |name| name.text);
                    place = subscript(context.program, place, stride, &text)?;
                }
            }
        }
        Some(place)
    }

    /// The name of a value.
    fn name(&mut self, context: &PathContext<'_, 'm, 'a>, value: Operand<'a>, depth: u32) -> Option<Name> {
        let local = match value.kind {
            OperandKind::Local(local) => local,
            OperandKind::Const(id) => return self.constant_name(context, id),
            _ => return None,
        };
        if let Some(known) = self.memo.get(&local) {
            return known.clone();
        }
        if depth > MAX_DEPTH {
            return None;
        }
        // Entered first, so that a damaged program whose values depend on themselves ends here.
        self.memo.insert(local, None);
        let name = self.compute_name(context, local, depth).filter(|name| name.text.len() <= MAX_LENGTH);
        self.memo.insert(local, name.clone());
        name
    }

    fn compute_name(&mut self, context: &PathContext<'_, 'm, 'a>, local: LocalId, depth: u32) -> Option<Name> {
        if let Some(variable) = self.values.get(&local) {
            return Some(Name { text: variable.name.clone(), ty: variable.ty });
        }
        let definition = self.definitions[local.index()]?;
        match &definition.op {
            Op::Load { address, .. } => {
                let place = self.place(context, *address, depth + 1)?;
                let size = context.extents.get(&context.module.types, definition.ty)?.size;
                settle(context.program, place, size)
            }
            Op::Cast { a, .. } | Op::Freeze(a) => self.name(context, *a, depth + 1),
            Op::Binary { op, a, b } => {
                let sign = operator(*op)?;
                let (a, b) = (self.name(context, *a, depth + 1)?, self.name(context, *b, depth + 1)?);
                Some(Name { text: format!("{} {sign} {}", enclosed(&a.text), enclosed(&b.text)), ty: None })
            }
            Op::Call(call) | Op::Invoke { call, .. } => {
                let OperandKind::Const(id) = call.callee.kind else {
                    return None;
                };
                let ConstantKind::Symbol(symbol) = context.module.constant(id).kind else {
                    return None;
                };
                let function = (context.symbols)(symbol)?.name;
                Some(Name { text: format!("{function}()"), ty: self.results.get(&local).copied() })
            }
            _ => None,
        }
    }

    fn constant_name(&mut self, context: &PathContext<'_, 'm, 'a>, id: ConstId) -> Option<Name> {
        let operand = Operand { ty: context.module.constant(id).ty, kind: OperandKind::Const(id) };
        let number = constant_index(context.module, operand)?;
        Some(Name { text: number.to_string(), ty: None })
    }
}

/// The source-level type of a direct call's result.
fn callee_result<'m, 'a>(
    module: &'m Module<'a>,
    instruction: &Instruction<'a>,
    debug: &mut DebugInfo<'m, 'a>,
    program: &mut ir::Module,
) -> Option<ir::TypeId> {
    let (Op::Call(call) | Op::Invoke { call, .. }) = &instruction.op else {
        return None;
    };
    let OperandKind::Const(id) = call.callee.kind else {
        return None;
    };
    let ConstantKind::Symbol(symbol) = module.constant(id).kind else {
        return None;
    };
    let crate::ast::SymbolDefinition::Function(index) = module.symbols[symbol.index()].definition else {
        return None;
    };
    let subprogram: Option<Metadata<'a>> = module.functions[index as usize].debug;
    debug.result_type(subprogram, program)
}

/// Whether a call yields the address that it is given, or the current thread's address of the same variable.
fn is_address_of_operand(module: &Module<'_>, call: &Call<'_>) -> bool {
    let OperandKind::Const(id) = call.callee.kind else {
        return false;
    };
    let ConstantKind::Symbol(symbol) = module.constant(id).kind else {
        return false;
    };
    let name = module.symbols[symbol.index()].name;
    ["llvm.threadlocal.address", "llvm.launder.invariant.group", "llvm.strip.invariant.group"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
}

/// A constant index, read as signed.
fn constant_index(module: &Module<'_>, operand: Operand<'_>) -> Option<i64> {
    let OperandKind::Const(id) = operand.kind else {
        return None;
    };
    let constant = module.constant(id);
    match (&constant.kind, module.types.get(constant.ty)) {
        (ConstantKind::Int(value), &Type::Int(bits)) if bits <= 64 => {
            let shift = 64 - bits;
            Some(((*value as i64) << shift) >> shift)
        }
        (ConstantKind::Zero, Type::Int(_)) => Some(0),
        _ => None,
    }
}

/// The operators that may occur in an index.
fn operator(op: BinaryOp) -> Option<&'static str> {
    Some(match op {
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::UDiv | BinaryOp::SDiv => "/",
        BinaryOp::URem | BinaryOp::SRem => "%",
        BinaryOp::And => "&",
        BinaryOp::Or => "|",
        BinaryOp::Xor => "^",
        BinaryOp::Shl => "<<",
        BinaryOp::LShr | BinaryOp::AShr => ">>",
        _ => return None,
    })
}

fn enclosed(text: &str) -> String {
    if text.contains(' ') { format!("({text})") } else { text.to_string() }
}

/// What a named pointer points to.
fn pointee(program: &ir::Module, name: Name) -> Place {
    let ty = match name.ty.map(|ty| &program.types[ty]) {
        Some(ir::DebugType::Pointer { to }) => *to,
        _ => None,
    };
    Place { anchor: Anchor::Pointee(name.text), ty, offset: 0 }
}

fn postfix(text: &str) -> String {
    if text.starts_with(['*', '&']) || text.contains(' ') && !text.ends_with([')', ']']) {
        format!("({text})")
    } else {
        text.to_string()
    }
}

impl Anchor {
    fn member(&self, name: &str) -> String {
        match self {
            Anchor::Object(text) => format!("{}.{name}", postfix(text)),
            Anchor::Pointee(text) => format!("{}->{name}", postfix(text)),
        }
    }

    /// An element of the object, which is an array.
    fn element(&self, index: &str) -> String {
        match self {
            Anchor::Object(text) => format!("{}[{index}]", postfix(text)),
            Anchor::Pointee(text) => format!("(*{text})[{index}]"),
        }
    }

    fn text(self) -> String {
        match self {
            Anchor::Object(text) => text,
            Anchor::Pointee(text) => format!("*{text}"),
        }
    }
}

/// Steps into the member or element that contains `size` bytes at the offset; false if there is none.
fn descend(program: &ir::Module, place: &mut Place, size: u64) -> bool {
    let Some(ty) = place.ty else {
        return false;
    };
    let Ok(offset) = u64::try_from(place.offset) else {
        return false;
    };
    match &program.types[ty] {
        ir::DebugType::Record { fields, union, .. } => {
            let inside =
                |f: &&ir::Field| f.offset <= offset && offset.saturating_add(size) <= f.offset.saturating_add(f.size);
            let exact = fields.iter().filter(inside).find(|f| *union && f.size == size);
            let named = || fields.iter().filter(inside).find(|f| !f.name.is_empty());
            let Some(field) = exact.or_else(named).or_else(|| fields.iter().find(inside)) else {
                return false;
            };
            if !field.name.is_empty() {
                place.anchor = Anchor::Object(place.anchor.member(&field.name));
            }
            place.offset -= field.offset as i64;
            place.ty = Some(field.ty);
            true
        }
        ir::DebugType::Array { element, element_size, .. } if *element_size > 0 => {
            place.anchor = Anchor::Object(place.anchor.element(&(offset / element_size).to_string()));
            place.offset = (offset % element_size) as i64;
            place.ty = Some(*element);
            true
        }
        _ => false,
    }
}

/// Whether an access of `size` bytes at the start of a type means the whole of it.
fn is_whole(program: &ir::Module, ty: ir::TypeId, size: u64) -> bool {
    match &program.types[ty] {
        // `struct { int x; }`: a lone member is meant, unless it is an implementation's own (`_M_i`).
        // A union is meant only if no member has its size.
        ir::DebugType::Record { fields, union: true, .. } => !fields.iter().any(|f| f.size == size),
        ir::DebugType::Record { fields, .. } => {
            size_of_type(program, ty) == size
                && !matches!(&fields[..], [only] if !only.name.is_empty() && !only.name.starts_with('_'))
        }
        ir::DebugType::Array { count, .. } => size_of_type(program, ty) == size && *count != Some(1),
        _ => true,
    }
}

/// Pointer arithmetic: `p` at an offset of whole objects is `p[n]`.
fn step(program: &ir::Module, place: &mut Place) {
    if let (Anchor::Pointee(pointer), Some(ty)) = (&place.anchor, place.ty) {
        let size = size_of_type(program, ty) as i64;
        if size > 0 && (place.offset < 0 || place.offset >= size) {
            let n = place.offset.div_euclid(size);
            place.offset = place.offset.rem_euclid(size);
            place.anchor = Anchor::Object(format!("{}[{n}]", postfix(pointer)));
        }
    }
}

/// Resolves the offset of a place for an access of `size` bytes.
fn settle(program: &ir::Module, mut place: Place, size: u64) -> Option<Name> {
    step(program, &mut place);
    for _ in 0..MAX_DEPTH {
        let whole = place.ty.is_some_and(|ty| place.offset == 0 && is_whole(program, ty, size));
        if whole || !descend(program, &mut place, size) {
            break;
        }
    }
    if place.offset == 0 && !is_bit_field_unit(program, &place, size) {
        return Some(Name { text: place.anchor.text(), ty: place.ty });
    }
    bit_fields(program, &place, size).or_else(|| byte_offset(place))
}

/// Whether a record was not resolved because the access covers several small members.
fn is_bit_field_unit(program: &ir::Module, place: &Place, size: u64) -> bool {
    matches!(place.ty.map(|ty| &program.types[ty]), Some(ir::DebugType::Record { size: whole, .. }) if *whole > size)
}

/// Bit-fields are read and written in units that hold several of them.
fn bit_fields(program: &ir::Module, place: &Place, size: u64) -> Option<Name> {
    let ir::DebugType::Record { fields, .. } = &program.types[place.ty?] else {
        return None;
    };
    let offset = u64::try_from(place.offset).ok()?;
    let names: Vec<&str> = fields
        .iter()
        .filter(|f| {
            f.offset < offset.saturating_add(size)
                && offset < f.offset.saturating_add(f.size.max(1))
                && !f.name.is_empty()
        })
        .map(|f| f.name.as_str())
        .collect();
    match names[..] {
        [] => None,
        [one] => Some(Name { text: place.anchor.member(one), ty: None }),
        [first, .., last] => Some(Name { text: place.anchor.member(&format!("{{{first}..{last}}}")), ty: None }),
    }
}

fn byte_offset(place: Place) -> Option<Name> {
    match place.anchor {
        Anchor::Pointee(text) if place.offset != 0 => {
            let sign = if place.offset < 0 { '-' } else { '+' };
            Some(Name { text: format!("*({text} {sign} {})", place.offset.unsigned_abs()), ty: None })
        }
        anchor => Some(Name { text: anchor.text(), ty: None }),
    }
}

/// Applies an index that is known at run time only, in steps of `stride` bytes.
fn subscript(program: &ir::Module, mut place: Place, stride: u64, index: &str) -> Option<Place> {
    i64::try_from(stride).ok()?;
    for _ in 0..MAX_DEPTH {
        let Some(ty) = place.ty else {
            break;
        };
        if let Anchor::Pointee(pointer) = &place.anchor
            && size_of_type(program, ty) == stride
            && place.offset.rem_euclid(stride.max(1) as i64) == place.offset
        {
            place.anchor = Anchor::Object(format!("{}[{index}]", postfix(pointer)));
            return Some(place);
        }
        if let ir::DebugType::Array { element, element_size, .. } = &program.types[ty]
            && *element_size == stride
            && stride > 0
        {
            let whole = place.offset.div_euclid(stride as i64);
            let index = match whole {
                0 => index.to_string(),
                _ if whole < 0 => format!("{} - {}", enclosed(index), whole.unsigned_abs()),
                _ => format!("{} + {whole}", enclosed(index)),
            };
            place.anchor = Anchor::Object(place.anchor.element(&index));
            place.offset = place.offset.rem_euclid(stride as i64);
            place.ty = Some(*element);
            return Some(place);
        }
        if !descend(program, &mut place, stride) {
            break;
        }
    }
    match place.anchor {
        Anchor::Pointee(pointer) if place.offset == 0 && place.ty.is_none() => {
            Some(Place { anchor: Anchor::Object(format!("{}[{index}]", postfix(&pointer))), ty: None, offset: 0 })
        }
        _ => None,
    }
}
