//! Instructions: what stands right of `=`.

use super::body::Body;
use super::{Parsed, Parser, Symbol, cursor};
use crate::lex::Tok;
use crate::{
    AwaitKind, BinaryOp, Block, Callee, CastOp, CmpOp, InstKind, Intrinsic, Operand, Order, PathId, RmwOp, Speculation,
    Type, TypeId,
};

impl<'t> Parser<'t> {
    /// An instruction without results and position.
    pub(super) fn instruction(&mut self, body: &mut Body<'t>) -> Parsed<InstKind> {
        let name = self.at.word("an instruction")?;
        if let Some(op) = BinaryOp::from_name(name) {
            let (ty, a, b) = self.two_operands(body)?;
            return Ok(InstKind::Binary { op, ty, a, b });
        }
        if let Some(op) = CastOp::from_name(name) {
            let from = self.at.ty()?;
            let a = self.operand(body, from)?;
            self.at.expect_word("to")?;
            return Ok(InstKind::Cast { op, from, to: self.at.ty()?, a });
        }
        if let Some(op) = Intrinsic::from_name(name) {
            return self.intrinsic(body, op);
        }
        match name {
            "phi" => self.phi(body),
            "fneg" => {
                let ty = self.at.ty()?;
                Ok(InstKind::FNeg { ty, a: self.operand(body, ty)? })
            }
            "cmp" => {
                let op = self.spelled("a comparison", CmpOp::from_name)?;
                let (ty, a, b) = self.two_operands(body)?;
                Ok(InstKind::Cmp { op, ty, a, b })
            }
            "select" => {
                let ty = self.at.ty()?;
                let cond = self.operand(body, Type::I1)?;
                let a = self.next_operand(body, ty)?;
                Ok(InstKind::Select { ty, cond, a, b: self.next_operand(body, ty)? })
            }
            "ptradd" => self.ptradd(body),
            "alloca" => self.alloca(body),
            "load" => self.load(body),
            "store" => self.store(body),
            "rmw" => self.rmw(body),
            "cas" => self.cas(body),
            "await" => self.await_instruction(body),
            "fence" => Ok(InstKind::Fence { order: self.spelled("a memory order", Order::from_name)? }),
            "memcpy" | "memmove" => {
                let dst = self.operand(body, Type::Ptr)?;
                let src = self.next_operand(body, Type::Ptr)?;
                let len = self.next_operand(body, Type::I64)?;
                Ok(InstKind::MemCopy { dst, src, len, overlap: name == "memmove" })
            }
            "memset" => {
                let dst = self.operand(body, Type::Ptr)?;
                let byte = self.next_operand(body, Type::I8)?;
                Ok(InstKind::MemSet { dst, byte, len: self.next_operand(body, Type::I64)? })
            }
            "call" => self.call(body),
            "va_start" => Ok(InstKind::VaStart { list: self.operand(body, Type::Ptr)? }),
            "va_arg" => {
                let ty = self.at.ty()?;
                Ok(InstKind::VaArg { list: self.operand(body, Type::Ptr)?, ty })
            }
            "va_copy" => {
                let dst = self.operand(body, Type::Ptr)?;
                Ok(InstKind::VaCopy { dst, src: self.next_operand(body, Type::Ptr)? })
            }
            "thread_local" => Ok(InstKind::ThreadLocal { global: self.known_global()? }),
            "assume" => {
                let cond = self.operand(body, Type::I1)?;
                Ok(InstKind::Assume { cond, pure: self.iteration(body, "pure")? })
            }
            "iteration" => Ok(InstKind::Iteration),
            "unsupported" => Ok(InstKind::Unsupported { feature: self.at.string()? }),
            "br" => Ok(InstKind::Br { dest: self.block(body)? }),
            "condbr" => {
                let cond = self.operand(body, Type::I1)?;
                let then_dest = self.next_block(body)?;
                Ok(InstKind::CondBr { cond, then_dest, else_dest: self.next_block(body)? })
            }
            "switch" => self.switch(body),
            "ret" => self.ret(body),
            "unreachable" => Ok(InstKind::Unreachable),
            _ => self.at.error_before(format!("unknown instruction `{name}`")),
        }
    }

    /// An operand that is used as a value of this type.
    fn operand(&mut self, body: &mut Body<'t>, ty: Type) -> Parsed<Operand> {
        match *self.at.peek() {
            Tok::Symbol(_) => match self.known_symbol()? {
                Symbol::Global(id) => Ok(Operand::Global(id, self.at.offset()?)),
                Symbol::Func(id) => Ok(Operand::Func(id)),
            },
            Tok::Word("undef") => {
                self.at.next();
                Ok(Operand::Undef)
            }
            Tok::Word("true" | "false") if ty == Type::I1 => Ok(Operand::Const(self.at.constant(ty)?)),
            Tok::Word("null") if ty == Type::Ptr => Ok(Operand::Const(self.at.constant(ty)?)),
            Tok::Word(word) => {
                self.at.next();
                Ok(Operand::Value(body.value(&self.at, word)?))
            }
            _ => Ok(Operand::Const(self.at.constant(ty)?)),
        }
    }

    /// A comma and an operand.
    fn next_operand(&mut self, body: &mut Body<'t>, ty: Type) -> Parsed<Operand> {
        self.at.expect(',')?;
        self.operand(body, ty)
    }

    /// `i32 a, b`.
    fn two_operands(&mut self, body: &mut Body<'t>) -> Parsed<(Type, Operand, Operand)> {
        let ty = self.at.ty()?;
        let a = self.operand(body, ty)?;
        Ok((ty, a, self.next_operand(body, ty)?))
    }

    fn block(&mut self, body: &mut Body<'t>) -> Parsed<Block> {
        let word = self.at.word("a block")?;
        Ok(body.block(&self.at, word))
    }

    fn next_block(&mut self, body: &mut Body<'t>) -> Parsed<Block> {
        self.at.expect(',')?;
        self.block(body)
    }

    /// A word from a fixed list.
    fn spelled<T>(&mut self, what: &str, from_name: fn(&str) -> Option<T>) -> Parsed<T> {
        let word = self.at.word(what)?;
        match from_name(word) {
            Some(found) => Ok(found),
            None => self.at.error_before(format!("expected {what}, found `{word}`")),
        }
    }

    fn order(&mut self) -> Parsed<Order> {
        self.at.expect(',')?;
        self.spelled("a memory order", Order::from_name)
    }

    /// The name of what an access touches, if it is given.
    fn access_path(&mut self) -> Option<PathId> {
        self.at.accept_string().map(|text| self.path(text))
    }

    /// `smax i32 a, b`.
    fn intrinsic(&mut self, body: &mut Body<'t>, op: Intrinsic) -> Parsed<InstKind> {
        let ty = self.at.ty()?;
        let mut args = Vec::new();
        while !self.at.at_end_of_statement() && *self.at.peek() != Tok::Punct('!') {
            self.at.comma_unless_first(args.is_empty())?;
            let operand_type = op.operand_type(ty, args.len());
            args.push(self.operand(body, operand_type)?);
        }
        Ok(InstKind::Intrinsic { op, ty, args })
    }

    /// `phi i32 [bb0: 1], [bb2: v5]`.
    fn phi(&mut self, body: &mut Body<'t>) -> Parsed<InstKind> {
        let ty = self.at.ty()?;
        let mut args = Vec::new();
        while !self.at.at_end_of_statement() && *self.at.peek() != Tok::Punct('!') {
            self.at.comma_unless_first(args.is_empty())?;
            self.at.expect('[')?;
            let block = self.block(body)?;
            self.at.expect(':')?;
            args.push((block, self.operand(body, ty)?));
            self.at.expect(']')?;
        }
        Ok(InstKind::Phi { ty, args })
    }

    /// `ptradd base, index * scale + offset` or `ptradd base, offset 4`.
    fn ptradd(&mut self, body: &mut Body<'t>) -> Parsed<InstKind> {
        let base = self.operand(body, Type::Ptr)?;
        self.at.expect(',')?;
        let number_follows = matches!(self.at.peek_at(1), Tok::Int(_) | Tok::Hex(_) | Tok::Punct('-'));
        if *self.at.peek() == Tok::Word("offset") && number_follows {
            self.at.next();
            return Ok(InstKind::PtrAdd { base, index: Operand::Const(0), scale: 1, offset: self.at.signed()? });
        }
        let index = self.operand(body, Type::I64)?;
        let scale = if self.at.accept('*') { self.at.signed()? } else { 1 };
        Ok(InstKind::PtrAdd { base, index, scale, offset: self.at.offset()? })
    }

    /// `alloca 4 align 4 "x" type2`.
    fn alloca(&mut self, body: &mut Body<'t>) -> Parsed<InstKind> {
        let size = self.operand(body, Type::I64)?;
        let align = if self.at.accept_word("align") { self.at.small("an alignment")? } else { 1 };
        let name = self.at.accept_string().unwrap_or_default();
        let typed = matches!(*self.at.peek(), Tok::Word(word) if cursor::index::<TypeId>("type", word).is_some());
        let debug_type = if typed { Some(self.type_reference()?) } else { None };
        Ok(InstKind::Alloca { size, align, name, debug_type })
    }

    /// Behind the address of a load or store: `, sc volatile`, all of it optional.
    fn access(&mut self) -> Parsed<(Order, bool)> {
        let order = if *self.at.peek() == Tok::Punct(',') { self.order()? } else { Order::Plain };
        Ok((order, self.at.accept_word("volatile")))
    }

    /// `load i32 @x, acq volatile spec "x"`.
    fn load(&mut self, body: &mut Body<'t>) -> Parsed<InstKind> {
        let ty = self.at.ty()?;
        let addr = self.operand(body, Type::Ptr)?;
        let (order, volatile) = self.access()?;
        let speculative = self.speculation();
        Ok(InstKind::Load { ty, addr, order, volatile, speculative, path: self.access_path() })
    }

    fn speculation(&mut self) -> Option<Speculation> {
        Speculation::ALL.iter().copied().find(|speculation| self.at.accept_word(speculation.name()))
    }

    fn store(&mut self, body: &mut Body<'t>) -> Parsed<InstKind> {
        let ty = self.at.ty()?;
        let value = self.operand(body, ty)?;
        let addr = self.next_operand(body, Type::Ptr)?;
        let (order, volatile) = self.access()?;
        Ok(InstKind::Store { ty, addr, value, order, volatile, path: self.access_path() })
    }

    /// `rmw add i32 @x, 1, sc "x"`.
    fn rmw(&mut self, body: &mut Body<'t>) -> Parsed<InstKind> {
        let op = self.spelled("a read-modify-write operation", RmwOp::from_name)?;
        let ty = self.at.ty()?;
        let addr = self.operand(body, Type::Ptr)?;
        let value = self.next_operand(body, ty)?;
        let order = self.order()?;
        Ok(InstKind::Rmw { op, ty, addr, value, order, path: self.access_path() })
    }

    /// `cas weak i32 @x, 0, 1, sc, rlx confirm "x"`.
    fn cas(&mut self, body: &mut Body<'t>) -> Parsed<InstKind> {
        let weak = self.at.accept_word("weak");
        let ty = self.at.ty()?;
        let addr = self.operand(body, Type::Ptr)?;
        let expected = self.next_operand(body, ty)?;
        let new = self.next_operand(body, ty)?;
        let success = self.order()?;
        let failure = self.order()?;
        let confirms = self.at.accept_word("confirm");
        let path = self.access_path();
        Ok(InstKind::Cas { ty, addr, expected, new, success, failure, weak, confirms, path })
    }

    /// `await load i32 @x, acq until ne 0 mask 1 retry v0 "x"`; the access may be `rmw add` or `cas` as well.
    fn await_instruction(&mut self, body: &mut Body<'t>) -> Parsed<InstKind> {
        let what = self.at.word("`load`, `rmw` or `cas`")?;
        let op = match what {
            "load" | "cas" => None,
            "rmw" => Some(self.spelled("a read-modify-write operation", RmwOp::from_name)?),
            _ => return self.at.error_before(format!("expected `load`, `rmw` or `cas`, found `{what}`")),
        };
        let ty = self.at.ty()?;
        let addr = self.operand(body, Type::Ptr)?;
        let (access, order) = match op {
            Some(op) => {
                let value = self.next_operand(body, ty)?;
                (AwaitKind::Rmw { op, value }, self.order()?)
            }
            None if what == "load" => (AwaitKind::Load, self.order()?),
            None => {
                let expected = self.next_operand(body, ty)?;
                let new = self.next_operand(body, ty)?;
                let order = self.order()?;
                let failure = self.order()?;
                let confirms = self.at.accept_word("confirm");
                (AwaitKind::Cas { expected, new, failure, confirms }, order)
            }
        };
        self.at.expect_word("until")?;
        let until = self.spelled("a comparison", CmpOp::from_name)?;
        let operand = self.operand(body, ty)?;
        let mask = if self.at.accept_word("mask") { self.at.unsigned()? } else { ty.mask() };
        let retry = self.iteration(body, "retry")?;
        Ok(InstKind::Await { access, ty, addr, order, until, mask, operand, retry, path: self.access_path() })
    }

    /// A word and the iteration that it speaks of, if they are there.
    fn iteration(&mut self, body: &mut Body<'t>, word: &'static str) -> Parsed<Option<Operand>> {
        self.at.accept_word(word).then(|| self.operand(body, Type::I64)).transpose()
    }

    /// `call @f(i32 1, ptr @x)` or `call *v3(i32 1)`.
    fn call(&mut self, body: &mut Body<'t>) -> Parsed<InstKind> {
        let callee = match self.at.accept('*') {
            true => Callee::Indirect(self.operand(body, Type::Ptr)?),
            false => Callee::Direct(self.known_function()?),
        };
        let mut args = Vec::new();
        self.at.expect('(')?;
        while !self.at.accept(')') {
            self.at.comma_unless_first(args.is_empty())?;
            let ty = self.at.ty()?;
            args.push((ty, self.operand(body, ty)?));
        }
        Ok(InstKind::Call { callee, args })
    }

    /// `switch i32 v1 [1: bb1, 2: bb2] else bb3`.
    fn switch(&mut self, body: &mut Body<'t>) -> Parsed<InstKind> {
        let ty = self.at.ty()?;
        let value = self.operand(body, ty)?;
        let mut cases = Vec::new();
        self.at.expect('[')?;
        while !self.at.accept(']') {
            self.at.comma_unless_first(cases.is_empty())?;
            let bits = self.at.constant(ty)?;
            self.at.expect(':')?;
            cases.push((bits, self.block(body)?));
        }
        self.at.expect_word("else")?;
        Ok(InstKind::Switch { ty, value, cases, default: self.block(body)? })
    }

    /// `ret` or `ret v1, v2`: as many values as there are given.
    fn ret(&mut self, body: &mut Body<'t>) -> Parsed<InstKind> {
        let mut values = Vec::new();
        while !self.at.at_end_of_statement() && *self.at.peek() != Tok::Punct('!') {
            self.at.comma_unless_first(values.is_empty())?;
            let results = &self.module.functions[body.func].results;
            let ty = results.get(values.len()).copied().unwrap_or(Type::I64);
            values.push(self.operand(body, ty)?);
        }
        Ok(InstKind::Ret { values })
    }
}
