//! Calls, invokes, and debug records in their two spellings.
//!
//! Up to LLVM 18 a debug record is a call, `call void @llvm.dbg.value(metadata i32 %x, metadata !5, metadata !6)`; later
//! it is `#dbg_value(i32 %x, !5, !6, !7)`. Both become the same thing here.

use super::Parser;
use super::instruction::Read;
use crate::ast::{
    Argument, Call, DebugKind, DebugRecord, InlineAsm, Instruction, LocalId, Metadata, Op, Operand, OperandKind,
    ParameterAttributes,
};
use crate::error::Parsed;
use crate::lexer::Token;
use crate::types::{Type, TypeId, TypeTable};

/// Flags of calls that return floating point.
const FAST_MATH: &[&str] = &["fast", "nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc"];

impl<'a> Parser<'a> {
    /// After `call` or a tail marker.
    pub(super) fn call(&mut self, word: &str) -> Read<'a> {
        if word != "call" {
            self.expect_word("call")?;
        }
        self.eat_words(FAST_MATH)?;
        let (call, ty) = self.call_body()?;
        if let Some(record) = self.debug_intrinsic(&call) {
            return Ok((record, TypeTable::VOID));
        }
        Ok((Op::Call(Box::new(call)), ty))
    }

    pub(super) fn invoke(&mut self) -> Read<'a> {
        let (call, ty) = self.call_body()?;
        self.expect_word("to")?;
        let normal = self.block_label()?;
        self.expect_word("unwind")?;
        let unwind = self.block_label()?;
        Ok((Op::Invoke { call: Box::new(call), normal, unwind }, ty))
    }

    pub(super) fn callbr(&mut self) -> Read<'a> {
        let (call, ty) = self.call_body()?;
        self.expect_word("to")?;
        let normal = self.block_label()?;
        self.expect(b'[')?;
        let mut others: Vec<LocalId> = Vec::new();
        self.list_until(b']', |p| {
            others.push(p.block_label()?);
            Ok(())
        })?;
        Ok((Op::CallBr { call: Box::new(call), normal, others }, ty))
    }

    /// Convention, attributes, type, callee, arguments, attributes, bundles.
    fn call_body(&mut self) -> Parsed<(Call<'a>, TypeId)> {
        self.calling_convention()?;
        self.parameter_attributes()?;
        if self.eat_word("addrspace")? {
            self.address_space_number()?;
        }
        self.reject_unknown_attribute()?;
        let written = self.ty_or_function()?;
        let (result, signature) = match *self.module.types.get(written) {
            Type::Function { result, .. } => (result, Some(written)),
            _ => (written, None),
        };
        let callee = self.callee()?;
        let at = self.start;
        let (args, forwards_variadic) = self.arguments()?;
        if let Some(signature) = signature {
            self.check_arguments(signature, &args, at)?;
        }
        let attributes = self.function_attributes()?;
        let bundles = self.operand_bundles()?;
        Ok((Call { callee, signature, args, attributes, bundles, forwards_variadic }, result))
    }

    fn callee(&mut self) -> Parsed<Operand<'a>> {
        if !self.eat_word("asm")? {
            return self.operand(TypeTable::PTR);
        }
        self.eat_words(&["sideeffect", "alignstack", "inteldialect", "unwind"])?;
        let template = self.string()?;
        self.expect(b',')?;
        let constraints = self.string()?;
        Ok(Operand { ty: TypeTable::PTR, kind: OperandKind::Asm(InlineAsm { template, constraints }) })
    }

    fn arguments(&mut self) -> Parsed<(Vec<Argument<'a>>, bool)> {
        self.expect(b'(')?;
        let mut args = Vec::new();
        let mut forwards = false;
        self.list_until(b')', |p| {
            // `musttail` in a variadic function forwards the rest.
            if p.token == Token::Ellipsis {
                forwards = true;
                return p.bump();
            }
            let ty = p.value_type()?;
            if ty == TypeTable::METADATA {
                let value = Operand { ty, kind: OperandKind::Metadata(p.metadata()?) };
                args.push(Argument { value, attributes: ParameterAttributes::default() });
                return Ok(());
            }
            let attributes = p.parameter_attributes()?;
            if !p.is_sized_value(ty) {
                return p.expected("an argument");
            }
            let value = p.operand(ty)?;
            args.push(Argument { value, attributes });
            Ok(())
        })?;
        Ok((args, forwards))
    }

    fn check_arguments(&self, signature: TypeId, args: &[Argument<'a>], at: u32) -> Parsed<()> {
        let Type::Function { params, variadic, .. } = self.module.types.get(signature) else {
            return Ok(());
        };
        let enough = if *variadic { args.len() >= params.len() } else { args.len() == params.len() };
        if !enough || params.iter().zip(args).any(|(param, arg)| *param != arg.value.ty) {
            return self.wrong(at, "the arguments do not fit the function type of the call");
        }
        Ok(())
    }

    /// `[ "name"(operands), ... ]`.
    fn operand_bundles(&mut self) -> Parsed<Vec<&'a str>> {
        let mut bundles = Vec::new();
        if !self.eat(b'[')? {
            return Ok(bundles);
        }
        self.list_until(b']', |p| {
            bundles.push(p.string()?);
            p.expect(b'(')?;
            p.list_until(b')', |p| {
                if p.is_word("metadata") {
                    p.bump()?;
                    p.metadata()?;
                } else {
                    p.typed_operand()?;
                }
                Ok(())
            })
        })?;
        Ok(bundles)
    }

    /// A call of `llvm.dbg.*` as a debug record.
    fn debug_intrinsic(&self, call: &Call<'a>) -> Option<Op<'a>> {
        let OperandKind::Const(callee) = call.callee.kind else {
            return None;
        };
        let crate::ast::ConstantKind::Symbol(symbol) = self.module.constant(callee).kind else {
            return None;
        };
        let kind = match self.module.symbols[symbol.index()].name {
            "llvm.dbg.declare" => DebugKind::Declare,
            "llvm.dbg.value" => DebugKind::Value,
            "llvm.dbg.assign" => DebugKind::Assign,
            _ => return None,
        };
        let metadata = |n: usize| match call.args.get(n)?.value.kind {
            OperandKind::Metadata(metadata) => Some(metadata),
            _ => None,
        };
        let (first, variable, expression) = (metadata(0)?, metadata(1)?, metadata(2)?);
        Some(Op::Debug(Box::new(DebugRecord { kind, value: self.wrapped(first), variable, expression })))
    }

    /// The value that metadata wraps, if it is a single one.
    fn wrapped(&self, metadata: Metadata<'a>) -> Option<Operand<'a>> {
        match metadata {
            Metadata::Local(ty, local) => Some(Operand { ty, kind: OperandKind::Local(local) }),
            Metadata::Const(id) => Some(Operand { ty: self.module.constant(id).ty, kind: OperandKind::Const(id) }),
            _ => None,
        }
    }

    /// `#dbg_declare(ptr %x, !1, !DIExpression(), !2)` and its like.
    pub(super) fn debug_record(&mut self, name: &str) -> Parsed<Option<Instruction<'a>>> {
        let offset = self.start;
        let kind = match name {
            "dbg_declare" | "dbg_declare_value" => Some(DebugKind::Declare),
            "dbg_value" => Some(DebugKind::Value),
            "dbg_assign" => Some(DebugKind::Assign),
            "dbg_label" => None,
            _ => return self.expected("a debug record"),
        };
        self.bump()?;
        self.expect(b'(')?;
        let mut operands = Vec::new();
        self.list_until(b')', |p| {
            operands.push(p.metadata()?);
            Ok(())
        })?;
        let Some(kind) = kind else {
            return Ok(None);
        };
        let (&[first, variable, expression, ..], Some(&location)) = (&operands[..], operands.last()) else {
            return self.wrong(offset, "a debug record wants a value, a variable, an expression and a location");
        };
        // `dbg_declare_value` names a value, not an address.
        let kind = if name == "dbg_declare_value" { DebugKind::Value } else { kind };
        let record = DebugRecord { kind, value: self.wrapped(first), variable, expression };
        Ok(Some(Instruction {
            result: None,
            ty: TypeTable::VOID,
            op: Op::Debug(Box::new(record)),
            location: Some(location),
            offset,
        }))
    }
}
