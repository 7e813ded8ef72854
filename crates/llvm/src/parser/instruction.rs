//! Instructions, one function per shape of syntax.
//!
//! The opcode's keyword decides what follows. Each reader checks that its operands have the classes that the
//! instruction wants and computes the result type, which is then checked against every use of the result.

use super::Parser;
use super::constant::{binary_op, cast_op};
use super::function::LocalName;
use crate::ast::{Atomicity, BinaryOp, ConstId, Instruction, Metadata, Op, Operand, OperandKind, Ordering, RmwOp};
use crate::error::{Fault, Parsed};
use crate::lexer::Token;
use crate::types::{Type, TypeId, TypeTable};

/// An instruction's effect and the type of its result.
pub(super) type Read<'a> = Parsed<(Op<'a>, TypeId)>;

/// Flags that make more results poison but never change a result that is not.
const FAST_MATH: &[&str] = &["fast", "nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc"];

impl<'a> Parser<'a> {
    /// One instruction or debug record; none for a record that says nothing of use.
    pub(super) fn instruction(&mut self) -> Parsed<Option<Instruction<'a>>> {
        let offset = self.start;
        if let Token::DebugRecord(name) = self.token {
            return self.debug_record(name);
        }
        let name = match self.token {
            Token::LocalName(name) => LocalName::Name(name),
            Token::LocalNumber(number) => LocalName::Number(number),
            _ => LocalName::Implicit,
        };
        if !matches!(name, LocalName::Implicit) {
            self.bump()?;
            self.expect(b'=')?;
        }
        let (op, ty) = self.operation()?;
        let location = self.trailing_metadata()?;
        let result = if ty != TypeTable::VOID {
            self.want(self.is_sized_value(ty), offset, "there are no values of this type")?;
            Some(self.define_local(name, ty, offset)?)
        } else if !matches!(name, LocalName::Implicit) {
            return self.wrong(offset, "this instruction has no result to name");
        } else {
            None
        };
        Ok(Some(Instruction { result, ty, op, location, offset }))
    }

    /// `, !dbg !5, !tbaa !6`: only the debug location is of use.
    fn trailing_metadata(&mut self) -> Parsed<Option<Metadata<'a>>> {
        let mut location = None;
        while self.eat(b',')? {
            let Token::MetadataName(name) = self.token else {
                return self.expected("metadata");
            };
            self.bump()?;
            let value = self.metadata_node_or_number()?;
            if name == "dbg" {
                location = Some(value);
            }
        }
        Ok(location)
    }

    fn operation(&mut self) -> Read<'a> {
        let Token::Word(word) = self.token else {
            return self.expected("an instruction");
        };
        let at = self.start;
        self.bump()?;
        if let Some(op) = binary_op(word) {
            return self.binary(op, at);
        }
        if let Some(op) = cast_op(word) {
            return self.cast(op, at);
        }
        match word {
            "load" => self.load(),
            "store" => self.store(),
            "call" | "tail" | "musttail" | "notail" => self.call(word),
            "br" => self.branch(),
            "getelementptr" => self.gep(at),
            "alloca" => self.alloca(),
            "icmp" => self.icmp(at),
            "ret" => self.ret(at),
            "phi" => self.phi(),
            "switch" => self.switch(),
            "invoke" => self.invoke(),
            "callbr" => self.callbr(),
            "extractvalue" => self.extract_value(),
            "insertvalue" => self.insert_value(),
            "select" => self.select(at),
            "fcmp" => self.fcmp(at),
            "fneg" => self.fneg(at),
            "freeze" => {
                let a = self.typed_operand()?;
                Ok((Op::Freeze(a), a.ty))
            }
            "unreachable" => Ok((Op::Unreachable, TypeTable::VOID)),
            "landingpad" => self.landing_pad(),
            "resume" => Ok((Op::Resume(self.typed_operand()?), TypeTable::VOID)),
            "indirectbr" => self.indirect_br(at),
            "fence" => self.fence(),
            "cmpxchg" => self.cmpxchg(at),
            "atomicrmw" => self.atomic_rmw(at),
            "extractelement" => self.extract_element(at),
            "insertelement" => self.insert_element(at),
            "shufflevector" => self.shuffle_vector(at),
            "va_arg" => self.va_arg(at),
            "catchswitch" | "catchret" | "cleanupret" | "catchpad" | "cleanuppad" => {
                Err(Fault::unsupported(at, format!("Windows exception handling (`{word}`)")))
            }
            _ => Err(Fault::syntax(at, format!("expected an instruction, found `{word}`"))),
        }
    }

    /// A value of a known type.
    pub(super) fn operand(&mut self, ty: TypeId) -> Parsed<Operand<'a>> {
        let kind = match self.token {
            Token::LocalName(_) | Token::LocalNumber(_) => OperandKind::Local(self.local(ty)?),
            _ => OperandKind::Const(self.constant(ty)?),
        };
        Ok(Operand { ty, kind })
    }

    /// A type and a value of it.
    pub(super) fn typed_operand(&mut self) -> Parsed<Operand<'a>> {
        let at = self.start;
        let ty = self.value_type()?;
        if !self.is_sized_value(ty) {
            return self.wrong(at, "there are no values of this type");
        }
        self.operand(ty)
    }

    fn pointer_operand(&mut self) -> Parsed<Operand<'a>> {
        let at = self.start;
        let operand = self.typed_operand()?;
        match self.module.types.get(operand.ty) {
            Type::Pointer(_) => Ok(operand),
            _ => self.wrong(at, "expected a pointer"),
        }
    }

    fn want(&self, ok: bool, at: u32, message: &str) -> Parsed<()> {
        if ok { Ok(()) } else { self.wrong(at, message) }
    }

    fn binary(&mut self, op: BinaryOp, at: u32) -> Read<'a> {
        self.eat_words(&["nuw", "nsw", "exact", "disjoint"])?;
        self.eat_words(FAST_MATH)?;
        let a = self.typed_operand()?;
        self.expect(b',')?;
        let b = self.operand(a.ty)?;
        let float = matches!(op, BinaryOp::FAdd | BinaryOp::FSub | BinaryOp::FMul | BinaryOp::FDiv | BinaryOp::FRem);
        let types = &self.module.types;
        let ok = if float { types.is_float(a.ty) } else { types.is_int(a.ty) };
        self.want(ok, at, "the operands have the wrong type for this operator")?;
        Ok((Op::Binary { op, a, b }, a.ty))
    }

    fn cast(&mut self, op: crate::ast::CastOp, at: u32) -> Read<'a> {
        self.eat_words(&["nuw", "nsw", "nneg"])?;
        self.eat_words(FAST_MATH)?;
        let a = self.typed_operand()?;
        self.expect_word("to")?;
        let to = self.value_type()?;
        self.check_cast(op, a.ty, to, at)?;
        Ok((Op::Cast { op, a }, to))
    }

    fn fneg(&mut self, at: u32) -> Read<'a> {
        self.eat_words(FAST_MATH)?;
        let a = self.typed_operand()?;
        self.want(self.module.types.is_float(a.ty), at, "expected a floating-point operand")?;
        Ok((Op::FNeg(a), a.ty))
    }

    fn icmp(&mut self, at: u32) -> Read<'a> {
        self.eat_words(&["samesign"])?;
        let predicate = self.icmp_predicate()?;
        let a = self.typed_operand()?;
        self.expect(b',')?;
        let b = self.operand(a.ty)?;
        let types = &self.module.types;
        self.want(types.is_int(a.ty) || types.is_pointer(a.ty), at, "expected integers or pointers")?;
        let ty = self.module.types.with_shape_of(a.ty, TypeTable::I1);
        Ok((Op::ICmp { predicate, a, b }, ty))
    }

    fn fcmp(&mut self, at: u32) -> Read<'a> {
        self.eat_words(FAST_MATH)?;
        let predicate = match self.token {
            Token::Word(
                word @ ("false" | "oeq" | "ogt" | "oge" | "olt" | "ole" | "one" | "ord" | "ueq" | "ugt" | "uge" | "ult"
                | "ule" | "une" | "uno" | "true"),
            ) => word,
            _ => return self.expected("a comparison"),
        };
        self.bump()?;
        let a = self.typed_operand()?;
        self.expect(b',')?;
        let b = self.operand(a.ty)?;
        self.want(self.module.types.is_float(a.ty), at, "expected floating-point operands")?;
        let ty = self.module.types.with_shape_of(a.ty, TypeTable::I1);
        Ok((Op::FCmp { predicate, a, b }, ty))
    }

    fn select(&mut self, at: u32) -> Read<'a> {
        self.eat_words(FAST_MATH)?;
        let cond = self.typed_operand()?;
        self.expect(b',')?;
        let a = self.typed_operand()?;
        self.expect(b',')?;
        let b = self.typed_operand()?;
        self.want(a.ty == b.ty, at, "the two choices differ in type")?;
        let per_element = self.module.types.with_shape_of(a.ty, TypeTable::I1);
        self.want(
            cond.ty == TypeTable::I1 || cond.ty == per_element,
            at,
            "the condition is neither an i1 nor a vector of them as long as the choices",
        )?;
        Ok((Op::Select { cond, a, b }, a.ty))
    }

    fn ret(&mut self, at: u32) -> Read<'a> {
        // `ret void` returns nothing, but `ret void ()* @f` returns a pointer: the whole type must be read.
        let ty = self.ty()?;
        let value = match ty {
            TypeTable::VOID => None,
            _ if self.is_sized_value(ty) => Some(self.operand(ty)?),
            _ => return self.wrong(at, "there are no values of this type"),
        };
        self.want(self.function.result == Some(ty), at, "this is not the function's result type")?;
        Ok((Op::Ret(value), TypeTable::VOID))
    }

    fn branch(&mut self) -> Read<'a> {
        if self.is_word("label") {
            return Ok((Op::Br(self.block_label()?), TypeTable::VOID));
        }
        let at = self.start;
        let cond = self.typed_operand()?;
        self.want(cond.ty == TypeTable::I1, at, "the condition is not an i1")?;
        self.expect(b',')?;
        let then_dest = self.block_label()?;
        self.expect(b',')?;
        let else_dest = self.block_label()?;
        Ok((Op::CondBr { cond, then_dest, else_dest }, TypeTable::VOID))
    }

    fn switch(&mut self) -> Read<'a> {
        let at = self.start;
        let value = self.typed_operand()?;
        let is_int = matches!(self.module.types.get(value.ty), Type::Int(_));
        self.want(is_int, at, "expected an integer")?;
        self.expect(b',')?;
        let default = self.block_label()?;
        self.expect(b'[')?;
        let mut cases = Vec::new();
        while !self.eat(b']')? {
            let at = self.start;
            let case = self.typed_constant()?;
            self.want(self.module.constant(case).ty == value.ty, at, "the case has another type")?;
            self.expect(b',')?;
            cases.push((case, self.block_label()?));
        }
        Ok((Op::Switch { value, cases, default }, TypeTable::VOID))
    }

    fn indirect_br(&mut self, at: u32) -> Read<'a> {
        let address = self.typed_operand()?;
        self.want(self.module.types.is_pointer(address.ty), at, "expected a pointer")?;
        self.expect(b',')?;
        self.expect(b'[')?;
        let mut dests = Vec::new();
        self.list_until(b']', |p| {
            dests.push(p.block_label()?);
            Ok(())
        })?;
        Ok((Op::IndirectBr { address, dests }, TypeTable::VOID))
    }

    fn phi(&mut self) -> Read<'a> {
        self.eat_words(FAST_MATH)?;
        let at = self.start;
        let ty = self.value_type()?;
        self.want(self.is_sized_value(ty), at, "there are no values of this type")?;
        let mut incoming = Vec::new();
        loop {
            self.expect(b'[')?;
            let value = self.operand(ty)?;
            self.expect(b',')?;
            let block = self.local(TypeTable::LABEL)?;
            self.expect(b']')?;
            incoming.push((value, block));
            // A comma may also start the instruction's metadata.
            if !self.is_mark(b',') || self.peek() != Token::Mark(b'[') {
                return Ok((Op::Phi(incoming), ty));
            }
            self.bump()?;
        }
    }

    /// `landingpad T cleanup? (catch T v | filter T v)*`: what is caught does not matter, since nothing is thrown.
    fn landing_pad(&mut self) -> Read<'a> {
        let ty = self.value_type()?;
        self.eat_word("cleanup")?;
        while let Token::Word("catch" | "filter") = self.token {
            self.bump()?;
            self.typed_constant()?;
        }
        Ok((Op::LandingPad, ty))
    }

    fn alloca(&mut self) -> Read<'a> {
        let special = if self.eat_word("inalloca")? {
            Some("inalloca")
        } else if self.eat_word("swifterror")? {
            Some("swifterror")
        } else {
            None
        };
        let element = self.value_type()?;
        let (mut count, mut align, mut space) = (None, None, 0);
        while self.is_mark(b',') && !matches!(self.peek(), Token::MetadataName(_)) {
            self.bump()?;
            match self.token {
                Token::Word("align") => {
                    self.bump()?;
                    align = Some(self.alignment_value()?);
                }
                Token::Word("addrspace") => {
                    self.bump()?;
                    space = self.address_space_number()?;
                }
                _ => {
                    let at = self.start;
                    let operand = self.typed_operand()?;
                    let is_int = matches!(self.module.types.get(operand.ty), Type::Int(_));
                    self.want(is_int, at, "expected an integer")?;
                    count = Some(operand);
                }
            }
        }
        let ty = self.module.types.intern(Type::Pointer(space));
        Ok((Op::Alloca { element, count, align, special }, ty))
    }

    fn load(&mut self) -> Read<'a> {
        let atomic = self.eat_word("atomic")?;
        let volatile = self.eat_word("volatile")?;
        let at = self.start;
        let ty = self.value_type()?;
        self.want(self.is_sized_value(ty), at, "values of this type cannot be read")?;
        self.expect(b',')?;
        let address = self.pointer_operand()?;
        let atomic = if atomic { Some(self.atomicity()?) } else { None };
        self.access_alignment()?;
        Ok((Op::Load { address, atomic, volatile }, ty))
    }

    fn store(&mut self) -> Read<'a> {
        let atomic = self.eat_word("atomic")?;
        let volatile = self.eat_word("volatile")?;
        let value = self.typed_operand()?;
        self.expect(b',')?;
        let address = self.pointer_operand()?;
        let atomic = if atomic { Some(self.atomicity()?) } else { None };
        self.access_alignment()?;
        Ok((Op::Store { value, address, atomic, volatile }, TypeTable::VOID))
    }

    /// `, align N`.
    fn access_alignment(&mut self) -> Parsed<()> {
        if self.is_mark(b',') && self.peek() == Token::Word("align") {
            self.bump()?;
            self.bump()?;
            self.alignment_value()?;
        }
        Ok(())
    }

    fn atomicity(&mut self) -> Parsed<Atomicity<'a>> {
        let mut scope = None;
        if self.eat_word("syncscope")? {
            self.expect(b'(')?;
            scope = Some(self.string()?);
            self.expect(b')')?;
        }
        Ok(Atomicity { ordering: self.ordering()?, scope })
    }

    fn ordering(&mut self) -> Parsed<Ordering> {
        let ordering = match self.token {
            Token::Word("unordered") => Ordering::Unordered,
            Token::Word("monotonic") => Ordering::Monotonic,
            Token::Word("acquire") => Ordering::Acquire,
            Token::Word("release") => Ordering::Release,
            Token::Word("acq_rel") => Ordering::AcqRel,
            Token::Word("seq_cst") => Ordering::SeqCst,
            _ => return self.expected("a memory order"),
        };
        self.bump()?;
        Ok(ordering)
    }

    fn fence(&mut self) -> Read<'a> {
        Ok((Op::Fence(self.atomicity()?), TypeTable::VOID))
    }

    fn cmpxchg(&mut self, at: u32) -> Read<'a> {
        let weak = self.eat_word("weak")?;
        self.eat_word("volatile")?;
        let address = self.pointer_operand()?;
        self.expect(b',')?;
        let expected = self.typed_operand()?;
        self.expect(b',')?;
        let new = self.typed_operand()?;
        let scalar = matches!(self.module.types.get(new.ty), Type::Int(_) | Type::Pointer(_));
        self.want(expected.ty == new.ty && scalar, at, "expected two integers or pointers of one type")?;
        let success = self.atomicity()?;
        let failure = self.ordering()?;
        self.access_alignment()?;
        let fields = [new.ty, TypeTable::I1].into();
        let ty = self.module.types.intern(Type::Struct { fields, packed: false });
        Ok((Op::CmpXchg { address, expected, new, success, failure, weak }, ty))
    }

    fn atomic_rmw(&mut self, at: u32) -> Read<'a> {
        self.eat_word("volatile")?;
        let op = match self.token {
            Token::Word(word) => match rmw_op(word) {
                Some(op) => op,
                None => return self.expected("an atomic operation"),
            },
            _ => return self.expected("an atomic operation"),
        };
        self.bump()?;
        let address = self.pointer_operand()?;
        self.expect(b',')?;
        let value = self.typed_operand()?;
        let atomic = self.atomicity()?;
        self.access_alignment()?;
        let types = &self.module.types;
        let ok = match op {
            RmwOp::Xchg => types.is_int(value.ty) || types.is_float(value.ty) || types.is_pointer(value.ty),
            RmwOp::FAdd | RmwOp::FSub | RmwOp::FMax | RmwOp::FMin | RmwOp::FMaximum | RmwOp::FMinimum => {
                types.is_float(value.ty)
            }
            _ => matches!(types.get(value.ty), Type::Int(_)),
        };
        self.want(ok, at, "the operand has the wrong type for this operation")?;
        Ok((Op::AtomicRmw { op, address, value, atomic }, value.ty))
    }

    fn gep(&mut self, at: u32) -> Read<'a> {
        self.gep_flags()?;
        let source = self.value_type()?;
        self.expect(b',')?;
        let base = self.typed_operand()?;
        let mut indices = Vec::new();
        while self.is_mark(b',') && !matches!(self.peek(), Token::MetadataName(_)) {
            self.bump()?;
            indices.push(self.typed_operand()?);
        }
        let types: Vec<_> = indices.iter().map(|i| i.ty).collect();
        let ty = self.gep_type(base.ty, &types, at)?;
        Ok((Op::Gep { source, base, indices }, ty))
    }

    /// `, 1, 0`: the path of `extractvalue` and `insertvalue`, and the type at its end.
    fn aggregate_path(&mut self, mut ty: TypeId) -> Parsed<(Vec<u32>, TypeId)> {
        let mut path = Vec::new();
        while self.is_mark(b',') && !matches!(self.peek(), Token::MetadataName(_)) {
            self.bump()?;
            let at = self.start;
            let index = self.unsigned32()?;
            match self.module.types.part(ty, u64::from(index)) {
                Some(part) => ty = part,
                None => return self.wrong(at, "there is no such part"),
            }
            path.push(index);
        }
        if path.is_empty() {
            return self.expected("an index");
        }
        Ok((path, ty))
    }

    fn extract_value(&mut self) -> Read<'a> {
        let aggregate = self.typed_operand()?;
        let (path, ty) = self.aggregate_path(aggregate.ty)?;
        Ok((Op::ExtractValue { aggregate, path }, ty))
    }

    fn insert_value(&mut self) -> Read<'a> {
        let at = self.start;
        let aggregate = self.typed_operand()?;
        self.expect(b',')?;
        let value = self.typed_operand()?;
        let (path, ty) = self.aggregate_path(aggregate.ty)?;
        self.want(ty == value.ty, at, "the part has another type")?;
        Ok((Op::InsertValue { aggregate, value, path }, aggregate.ty))
    }

    fn vector_operand(&mut self) -> Parsed<Operand<'a>> {
        let at = self.start;
        let operand = self.typed_operand()?;
        match self.module.types.get(operand.ty) {
            Type::Vector { .. } => Ok(operand),
            _ => self.wrong(at, "expected a vector"),
        }
    }

    fn extract_element(&mut self, at: u32) -> Read<'a> {
        let vector = self.vector_operand()?;
        self.expect(b',')?;
        let index = self.typed_operand()?;
        let is_int = matches!(self.module.types.get(index.ty), Type::Int(_));
        self.want(is_int, at, "the index is not an integer")?;
        Ok((Op::ExtractElement { vector, index }, self.module.types.scalar(vector.ty)))
    }

    fn insert_element(&mut self, at: u32) -> Read<'a> {
        let vector = self.vector_operand()?;
        self.expect(b',')?;
        let value = self.typed_operand()?;
        self.expect(b',')?;
        let index = self.typed_operand()?;
        let is_int = matches!(self.module.types.get(index.ty), Type::Int(_));
        self.want(is_int, at, "the index is not an integer")?;
        self.want(self.module.types.scalar(vector.ty) == value.ty, at, "the element has another type")?;
        Ok((Op::InsertElement { vector, value, index }, vector.ty))
    }

    fn shuffle_vector(&mut self, at: u32) -> Read<'a> {
        let a = self.vector_operand()?;
        self.expect(b',')?;
        let b = self.typed_operand()?;
        self.want(a.ty == b.ty, at, "the two vectors differ in type")?;
        self.expect(b',')?;
        let mask: ConstId = self.typed_constant()?;
        let mask_ty = self.module.constant(mask).ty;
        let is_mask = self.module.types.scalar(mask_ty) == TypeTable::I32 && mask_ty != TypeTable::I32;
        self.want(is_mask, at, "the mask is not a vector of i32")?;
        let element = self.module.types.scalar(a.ty);
        let ty = self.module.types.with_shape_of(mask_ty, element);
        Ok((Op::ShuffleVector { a, b, mask }, ty))
    }

    fn va_arg(&mut self, at: u32) -> Read<'a> {
        let list = self.typed_operand()?;
        self.want(self.module.types.is_pointer(list.ty), at, "expected a pointer")?;
        self.expect(b',')?;
        let ty = self.value_type()?;
        Ok((Op::VaArg(list), ty))
    }
}

/// The atomic operation that a keyword names.
fn rmw_op(word: &str) -> Option<RmwOp> {
    Some(match word {
        "xchg" => RmwOp::Xchg,
        "add" => RmwOp::Add,
        "sub" => RmwOp::Sub,
        "and" => RmwOp::And,
        "nand" => RmwOp::Nand,
        "or" => RmwOp::Or,
        "xor" => RmwOp::Xor,
        "max" => RmwOp::Max,
        "min" => RmwOp::Min,
        "umax" => RmwOp::UMax,
        "umin" => RmwOp::UMin,
        "fadd" => RmwOp::FAdd,
        "fsub" => RmwOp::FSub,
        "fmax" => RmwOp::FMax,
        "fmin" => RmwOp::FMin,
        "fmaximum" => RmwOp::FMaximum,
        "fminimum" => RmwOp::FMinimum,
        "uinc_wrap" => RmwOp::UIncWrap,
        "udec_wrap" => RmwOp::UDecWrap,
        "usub_cond" => RmwOp::USubCond,
        "usub_sat" => RmwOp::USubSat,
        _ => return None,
    })
}
