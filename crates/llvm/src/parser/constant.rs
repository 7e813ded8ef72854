//! Constants and constant expressions.
//!
//! Every constant is read for a type that is already known and is checked against it, so that later stages never meet
//! an integer where a struct is meant.

use super::Parser;
use crate::ast::{BinaryOp, BlockName, CastOp, ConstId, Constant, ConstantKind, Expression};
use crate::error::{Fault, Parsed};
use crate::lexer::{Token, unescaped_length};
use crate::types::{FloatKind, Type, TypeId, TypeTable};

impl<'a> Parser<'a> {
    pub(super) fn add_constant(&mut self, ty: TypeId, kind: ConstantKind<'a>, offset: u32) -> ConstId {
        let id = ConstId(self.module.constants.len() as u32);
        self.module.constants.push(Constant { ty, kind, offset });
        id
    }

    /// A type and a constant of it.
    pub(super) fn typed_constant(&mut self) -> Parsed<ConstId> {
        let ty = self.value_type()?;
        self.constant(ty)
    }

    /// A constant of a known type.
    pub(super) fn constant(&mut self, ty: TypeId) -> Parsed<ConstId> {
        self.nested(|p| p.constant_inner(ty))
    }

    fn constant_inner(&mut self, ty: TypeId) -> Parsed<ConstId> {
        let at = self.start;
        let kind = match self.token {
            Token::Integer(digits) => self.integer(ty, digits)?,
            Token::HexInteger(digits) => self.hex_integer(ty, digits)?,
            Token::Float(digits) => self.float(ty, digits)?,
            Token::CString(raw) => self.character_array(ty, raw)?,
            Token::GlobalName(_) | Token::GlobalNumber(_) => {
                self.want_pointer(ty, at)?;
                ConstantKind::Symbol(self.symbol()?)
            }
            Token::Mark(b'[') => {
                self.bump()?;
                let parts = self.constant_parts(b']')?;
                self.array_of(ty, parts, at)?
            }
            Token::Mark(b'{') => {
                self.bump()?;
                let parts = self.constant_parts(b'}')?;
                self.struct_of(ty, parts, false, at)?
            }
            Token::Mark(b'<') => self.vector_or_packed(ty)?,
            Token::Word(word) => self.constant_word(ty, word)?,
            _ => return self.expected("a constant"),
        };
        Ok(self.add_constant(ty, kind, at))
    }

    fn want_pointer(&self, ty: TypeId, at: u32) -> Parsed<()> {
        match self.module.types.get(ty) {
            Type::Pointer(_) => Ok(()),
            _ => self.wrong(at, format!("this is an address, but `{}` is wanted", self.module.types.display(ty))),
        }
    }

    fn mismatch<T>(&self, at: u32, what: &str, ty: TypeId) -> Parsed<T> {
        self.wrong(at, format!("{what} cannot be of type `{}`", self.module.types.display(ty)))
    }

    fn integer(&mut self, ty: TypeId, digits: &'a str) -> Parsed<ConstantKind<'a>> {
        let at = self.start;
        let &Type::Int(bits) = self.module.types.get(ty) else {
            return self.mismatch(at, "an integer", ty);
        };
        self.bump()?;
        let negative = digits.starts_with('-');
        let magnitude = digits.trim_start_matches(['-', '+']).parse::<u128>();
        match magnitude {
            _ if bits > 128 => Ok(ConstantKind::WideInt(digits)),
            Ok(m) => {
                let value = if negative { m.wrapping_neg() } else { m };
                let cut = cut_to(value, bits);
                // Out of range: the value must survive being cut, read as signed or as unsigned.
                let fits = if negative { m <= 1u128 << (bits - 1) } else { cut == m };
                if !fits {
                    return self.wrong(at, format!("this integer does not fit in i{bits}"));
                }
                Ok(ConstantKind::Int(cut))
            }
            Err(_) => self.wrong(at, format!("this integer does not fit in i{bits}")),
        }
    }

    fn hex_integer(&mut self, ty: TypeId, digits: &'a str) -> Parsed<ConstantKind<'a>> {
        let at = self.start;
        let &Type::Int(bits) = self.module.types.get(ty) else {
            return self.mismatch(at, "an integer", ty);
        };
        if bits > 128 {
            self.bump()?;
            return Ok(ConstantKind::WideInt(digits));
        }
        let value = u128::from_str_radix(&digits[3..], 16)
            .map_err(|_| Fault::syntax(at, format!("this integer does not fit in i{bits}")))?;
        self.bump()?;
        Ok(ConstantKind::Int(cut_to(value, bits)))
    }

    fn float(&mut self, ty: TypeId, digits: &str) -> Parsed<ConstantKind<'a>> {
        let at = self.start;
        let &Type::Float(kind) = self.module.types.get(ty) else {
            return self.mismatch(at, "a floating-point number", ty);
        };
        self.bump()?;
        match float_bits(kind, digits) {
            Some(bits) => Ok(ConstantKind::Float(bits)),
            None => self.wrong(at, format!("this number is not exact in `{}`", kind.name())),
        }
    }

    fn character_array(&mut self, ty: TypeId, raw: &'a str) -> Parsed<ConstantKind<'a>> {
        let at = self.start;
        self.bump()?;
        match *self.module.types.get(ty) {
            Type::Array(length, TypeTable::I8) if length == unescaped_length(raw) as u64 => {
                Ok(ConstantKind::String(raw))
            }
            _ => self.mismatch(at, &format!("a character array of {} bytes", unescaped_length(raw)), ty),
        }
    }

    fn constant_parts(&mut self, close: u8) -> Parsed<Vec<ConstId>> {
        let mut parts = Vec::new();
        self.list_until(close, |p| {
            parts.push(p.typed_constant()?);
            Ok(())
        })?;
        Ok(parts)
    }

    fn array_of(&mut self, ty: TypeId, parts: Vec<ConstId>, at: u32) -> Parsed<ConstantKind<'a>> {
        match *self.module.types.get(ty) {
            Type::Array(length, element) if length == parts.len() as u64 => {
                self.check_parts(&parts, |_| Some(element))?;
                Ok(ConstantKind::Parts(parts))
            }
            _ => self.mismatch(at, &format!("an array of {} elements", parts.len()), ty),
        }
    }

    fn struct_of(&mut self, ty: TypeId, parts: Vec<ConstId>, packed: bool, at: u32) -> Parsed<ConstantKind<'a>> {
        match self.module.types.resolved(ty) {
            Type::Struct { fields, packed: p } if *p == packed && fields.len() == parts.len() => {
                let fields = fields.clone();
                self.check_parts(&parts, |n| fields.get(n).copied())?;
                Ok(ConstantKind::Parts(parts))
            }
            _ => self.mismatch(at, &format!("a struct of {} fields", parts.len()), ty),
        }
    }

    fn check_parts(&self, parts: &[ConstId], expected: impl Fn(usize) -> Option<TypeId>) -> Parsed<()> {
        for (n, &part) in parts.iter().enumerate() {
            let part = self.module.constant(part);
            if Some(part.ty) != expected(n) {
                return self.wrong(
                    part.offset,
                    format!("`{}` is not the type of this element", self.module.types.display(part.ty)),
                );
            }
        }
        Ok(())
    }

    /// `< ... >` or `<{ ... }>`.
    fn vector_or_packed(&mut self, ty: TypeId) -> Parsed<ConstantKind<'a>> {
        let at = self.start;
        self.bump()?;
        if self.eat(b'{')? {
            let parts = self.constant_parts(b'}')?;
            self.expect(b'>')?;
            return self.struct_of(ty, parts, true, at);
        }
        let parts = self.constant_parts(b'>')?;
        match *self.module.types.get(ty) {
            Type::Vector { length, element, scalable: false } if length as usize == parts.len() => {
                self.check_parts(&parts, |_| Some(element))?;
                Ok(ConstantKind::Parts(parts))
            }
            _ => self.mismatch(at, &format!("a vector of {} elements", parts.len()), ty),
        }
    }

    fn constant_word(&mut self, ty: TypeId, word: &'a str) -> Parsed<ConstantKind<'a>> {
        let at = self.start;
        let simple = match word {
            "true" | "false" if ty == TypeTable::I1 => Some(ConstantKind::Int(u128::from(word == "true"))),
            "true" | "false" => return self.mismatch(at, "a truth value", ty),
            "null" => {
                self.want_pointer(ty, at)?;
                Some(ConstantKind::Null)
            }
            "undef" | "poison" => Some(ConstantKind::Undef),
            "zeroinitializer" => Some(ConstantKind::Zero),
            "none" if ty == TypeTable::TOKEN => Some(ConstantKind::None),
            _ => None,
        };
        if let Some(kind) = simple {
            self.bump()?;
            return Ok(kind);
        }
        match word {
            "splat" => self.splat(ty),
            "blockaddress" => self.block_address(ty),
            "dso_local_equivalent" | "no_cfi" => {
                self.bump()?;
                self.want_pointer(ty, at)?;
                Ok(ConstantKind::Symbol(self.symbol()?))
            }
            "ptrauth" => {
                self.bump()?;
                self.want_pointer(ty, at)?;
                self.constant_args()?;
                Ok(ConstantKind::Other("ptrauth"))
            }
            "asm" => self.expected("a constant"),
            _ => self.expression(ty, word),
        }
    }

    fn splat(&mut self, ty: TypeId) -> Parsed<ConstantKind<'a>> {
        let at = self.start;
        self.bump()?;
        self.expect(b'(')?;
        let element = self.typed_constant()?;
        self.expect(b')')?;
        let is_vector = matches!(self.module.types.get(ty), Type::Vector { .. });
        if !is_vector || self.module.types.scalar(ty) != self.module.constant(element).ty {
            return self.mismatch(at, "this splat", ty);
        }
        Ok(ConstantKind::Splat(element))
    }

    fn block_address(&mut self, ty: TypeId) -> Parsed<ConstantKind<'a>> {
        let at = self.start;
        self.bump()?;
        self.want_pointer(ty, at)?;
        self.expect(b'(')?;
        let function = self.symbol()?;
        self.expect(b',')?;
        let block = match self.token {
            Token::LocalName(name) => BlockName::Name(name),
            Token::LocalNumber(number) => BlockName::Number(number),
            _ => return self.expected("a block"),
        };
        self.bump()?;
        self.expect(b')')?;
        Ok(ConstantKind::BlockAddress(function, block))
    }

    /// `( constant, constant, ... )`.
    fn constant_args(&mut self) -> Parsed<Vec<ConstId>> {
        self.expect(b'(')?;
        self.constant_parts(b')')
    }

    fn expression(&mut self, ty: TypeId, word: &'a str) -> Parsed<ConstantKind<'a>> {
        let at = self.start;
        let expression = if let Some(op) = cast_op(word) {
            self.bump()?;
            self.cast_expression(ty, op)?
        } else if let Some(op) = binary_op(word) {
            self.bump()?;
            self.eat_words(&["nuw", "nsw", "exact", "disjoint"])?;
            let args = self.constant_args()?;
            match args[..] {
                [a, b] if self.type_of(a) == ty && self.type_of(b) == ty => Expression::Binary(op, a, b),
                _ => return self.wrong(at, "this expression wants two operands of its own type"),
            }
        } else {
            match word {
                "getelementptr" => self.gep_expression(ty)?,
                "icmp" => self.icmp_expression(ty)?,
                "select" => self.select_expression(ty)?,
                "fcmp" => {
                    self.bump()?;
                    self.bump()?;
                    self.constant_args()?;
                    Expression::Other("fcmp")
                }
                "extractelement" | "insertelement" | "shufflevector" | "fneg" | "extractvalue" | "insertvalue" => {
                    self.bump()?;
                    self.skip_parens()?;
                    Expression::Other("a constant expression over vectors or aggregates")
                }
                _ => return self.expected("a constant"),
            }
        };
        Ok(ConstantKind::Expression(Box::new(expression)))
    }

    fn type_of(&self, constant: ConstId) -> TypeId {
        self.module.constant(constant).ty
    }

    fn cast_expression(&mut self, ty: TypeId, op: CastOp) -> Parsed<Expression> {
        self.eat_words(&["nuw", "nsw", "nneg"])?;
        self.expect(b'(')?;
        let at = self.start;
        let value = self.typed_constant()?;
        self.expect_word("to")?;
        let to = self.value_type()?;
        if to != ty {
            return self.mismatch(at, "this expression", ty);
        }
        self.check_cast(op, self.type_of(value), to, at)?;
        self.expect(b')')?;
        Ok(Expression::Cast(op, value))
    }

    /// Whether a cast makes sense between these types.
    pub(super) fn check_cast(&self, op: CastOp, from: TypeId, to: TypeId, at: u32) -> Parsed<()> {
        let types = &self.module.types;
        let lanes = |id: TypeId| match types.get(id) {
            Type::Vector { length, scalable, .. } => Some((*length, *scalable)),
            _ => None,
        };
        let width = |id: TypeId| match types.get(types.scalar(id)) {
            Type::Int(bits) => *bits,
            Type::Float(kind) => kind.bits(),
            _ => 64,
        };
        let (int, float, pointer) = (|id| types.is_int(id), |id| types.is_float(id), |id| types.is_pointer(id));
        let class = match op {
            CastOp::Trunc => int(from) && int(to) && width(from) > width(to),
            CastOp::ZExt | CastOp::SExt => int(from) && int(to) && width(from) < width(to),
            CastOp::FpTrunc | CastOp::FpExt => float(from) && float(to),
            CastOp::FpToUi | CastOp::FpToSi => float(from) && int(to),
            CastOp::UiToFp | CastOp::SiToFp => int(from) && float(to),
            CastOp::PtrToInt => pointer(from) && int(to),
            CastOp::IntToPtr => int(from) && pointer(to),
            CastOp::AddrSpaceCast => pointer(from) && pointer(to),
            CastOp::Bitcast => {
                let plain = |id| int(id) || float(id) || matches!(types.get(id), Type::Target(_));
                (pointer(from) && pointer(to)) || (plain(from) && plain(to))
            }
        };
        if class && (op == CastOp::Bitcast || lanes(from) == lanes(to)) {
            return Ok(());
        }
        self.wrong(at, format!("`{}` cannot be converted to `{}` in this way", types.display(from), types.display(to)))
    }

    fn gep_expression(&mut self, ty: TypeId) -> Parsed<Expression> {
        let at = self.start;
        self.bump()?;
        self.gep_flags()?;
        self.expect(b'(')?;
        let source = self.value_type()?;
        self.expect(b',')?;
        let base = self.typed_constant()?;
        let mut indices = Vec::new();
        while self.eat(b',')? {
            self.eat_word("inrange")?;
            indices.push(self.typed_constant()?);
        }
        self.expect(b')')?;
        let index_types: Vec<_> = indices.iter().map(|&i| self.type_of(i)).collect();
        let result = self.gep_type(self.type_of(base), &index_types, at)?;
        if result != ty {
            return self.mismatch(at, "this expression", ty);
        }
        Ok(Expression::Gep { source, base, indices })
    }

    /// `inbounds`, `nuw`, `nusw`, `inrange(a, b)`: promises to the optimiser.
    pub(super) fn gep_flags(&mut self) -> Parsed<()> {
        loop {
            self.eat_words(&["inbounds", "nuw", "nusw"])?;
            if !self.eat_word("inrange")? {
                return Ok(());
            }
            self.skip_parens()?;
        }
    }

    /// The result type of a `getelementptr`: a vector of pointers if any operand is a vector.
    pub(super) fn gep_type(&mut self, base: TypeId, indices: &[TypeId], at: u32) -> Parsed<TypeId> {
        if !self.module.types.is_pointer(base) || !indices.iter().all(|&i| self.module.types.is_int(i)) {
            return self.wrong(at, "an address computation wants a pointer and integers");
        }
        let pointer = self.module.types.scalar(base);
        let vectors: Vec<TypeId> = std::iter::once(base)
            .chain(indices.iter().copied())
            .filter(|&id| matches!(self.module.types.get(id), Type::Vector { .. }))
            .collect();
        let Some(&first) = vectors.first() else {
            return Ok(pointer);
        };
        let shape = self.module.types.with_shape_of(first, TypeTable::I1);
        for other in vectors {
            if self.module.types.with_shape_of(other, TypeTable::I1) != shape {
                return self.wrong(at, "the vectors of an address computation differ in length");
            }
        }
        Ok(self.module.types.with_shape_of(first, pointer))
    }

    fn icmp_expression(&mut self, ty: TypeId) -> Parsed<Expression> {
        let at = self.start;
        self.bump()?;
        self.eat_words(&["samesign"])?;
        let predicate = self.icmp_predicate()?;
        let args = self.constant_args()?;
        match args[..] {
            [a, b] if self.type_of(a) == self.type_of(b) && ty == TypeTable::I1 => {
                let t = self.type_of(a);
                if !matches!(self.module.types.get(t), Type::Int(_) | Type::Pointer(_)) {
                    return Ok(Expression::Other("icmp of vectors"));
                }
                Ok(Expression::ICmp(predicate.into(), a, b))
            }
            _ => self.wrong(at, "this comparison wants two operands of one type"),
        }
    }

    pub(super) fn icmp_predicate(&mut self) -> Parsed<&'a str> {
        match self.token {
            Token::Word(word)
                if matches!(word, "eq" | "ne" | "ugt" | "uge" | "ult" | "ule" | "sgt" | "sge" | "slt" | "sle") =>
            {
                self.bump()?;
                Ok(word)
            }
            _ => self.expected("a comparison"),
        }
    }

    fn select_expression(&mut self, ty: TypeId) -> Parsed<Expression> {
        let at = self.start;
        self.bump()?;
        let args = self.constant_args()?;
        match args[..] {
            [c, a, b] if self.type_of(c) == TypeTable::I1 && self.type_of(a) == ty && self.type_of(b) == ty => {
                Ok(Expression::Select(c, a, b))
            }
            _ => self.wrong(at, "this choice wants a truth value and two operands of its own type"),
        }
    }
}

/// The low `bits` bits.
fn cut_to(value: u128, bits: u32) -> u128 {
    if bits >= 128 { value } else { value & ((1u128 << bits) - 1) }
}

/// The operator that a keyword names.
pub(super) fn binary_op(word: &str) -> Option<BinaryOp> {
    Some(match word {
        "add" => BinaryOp::Add,
        "sub" => BinaryOp::Sub,
        "mul" => BinaryOp::Mul,
        "udiv" => BinaryOp::UDiv,
        "sdiv" => BinaryOp::SDiv,
        "urem" => BinaryOp::URem,
        "srem" => BinaryOp::SRem,
        "shl" => BinaryOp::Shl,
        "lshr" => BinaryOp::LShr,
        "ashr" => BinaryOp::AShr,
        "and" => BinaryOp::And,
        "or" => BinaryOp::Or,
        "xor" => BinaryOp::Xor,
        "fadd" => BinaryOp::FAdd,
        "fsub" => BinaryOp::FSub,
        "fmul" => BinaryOp::FMul,
        "fdiv" => BinaryOp::FDiv,
        "frem" => BinaryOp::FRem,
        _ => return None,
    })
}

/// The conversion that a keyword names.
pub(super) fn cast_op(word: &str) -> Option<CastOp> {
    Some(match word {
        "trunc" => CastOp::Trunc,
        "zext" => CastOp::ZExt,
        "sext" => CastOp::SExt,
        "fptrunc" => CastOp::FpTrunc,
        "fpext" => CastOp::FpExt,
        "fptoui" => CastOp::FpToUi,
        "fptosi" => CastOp::FpToSi,
        "uitofp" => CastOp::UiToFp,
        "sitofp" => CastOp::SiToFp,
        "ptrtoint" | "ptrtoaddr" => CastOp::PtrToInt,
        "inttoptr" => CastOp::IntToPtr,
        "bitcast" => CastOp::Bitcast,
        "addrspacecast" => CastOp::AddrSpaceCast,
        _ => return None,
    })
}

/// The bits of a floating-point literal in a format; none if the notation is not for that format.
///
/// `float` is written as the hexadecimal bits of the `double` with the same value, so it must convert exactly.
fn float_bits(kind: FloatKind, text: &str) -> Option<u128> {
    if let Some(hex) = text.strip_prefix("0x") {
        let letter = hex.as_bytes().first().copied().filter(|c| !c.is_ascii_hexdigit());
        let digits = if letter.is_some() { &hex[1..] } else { hex };
        let bits = u128::from_str_radix(digits, 16).ok()?;
        return match (letter, kind) {
            (None, FloatKind::Double) => u64::try_from(bits).ok().map(u128::from),
            (None, FloatKind::Single) => single_bits(f64::from_bits(u64::try_from(bits).ok()?)),
            (Some(b'H'), FloatKind::Half) | (Some(b'R'), FloatKind::BFloat) => u16::try_from(bits).ok().map(u128::from),
            // `0xK` writes sign and exponent first, as one would read the number.
            (Some(b'K'), FloatKind::X87) => (bits >> 80 == 0).then_some(bits),
            // `0xL` and `0xM` write the low half first.
            (Some(b'L'), FloatKind::Quad) | (Some(b'M'), FloatKind::PairOfDoubles) => {
                if digits.len() != 32 {
                    None
                } else {
                    Some(bits.rotate_left(64))
                }
            }
            _ => None,
        };
    }
    let value: f64 = text.parse().ok()?;
    match kind {
        FloatKind::Double => Some(u128::from(value.to_bits())),
        FloatKind::Single => single_bits(value),
        _ => None,
    }
}

fn single_bits(value: f64) -> Option<u128> {
    let single = value as f32;
    if value.is_nan() {
        // Keep the payload: `as` may not.
        let bits = value.to_bits();
        let sign = (bits >> 63) as u32;
        let payload = ((bits >> 29) & 0x7f_ffff) as u32;
        return Some(u128::from((sign << 31) | 0x7f80_0000 | payload));
    }
    (f64::from(single) == value).then(|| u128::from(single.to_bits()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn float_literals_have_the_bits_of_their_format() {
        assert_eq!(float_bits(FloatKind::Double, "0x3FF0000000000000"), Some(1f64.to_bits().into()));
        assert_eq!(float_bits(FloatKind::Double, "1.500000e+00"), Some(1.5f64.to_bits().into()));
        assert_eq!(float_bits(FloatKind::Single, "0x3FB99999A0000000"), Some(0.1f32.to_bits().into()));
        assert_eq!(float_bits(FloatKind::Single, "0x3FB999999999999A"), None, "0.1 is not exact in float");
        assert_eq!(float_bits(FloatKind::Single, "0x7FF8000000000000"), Some(0x7fc0_0000));
        assert_eq!(float_bits(FloatKind::Half, "0xH3C00"), Some(0x3c00));
        assert_eq!(float_bits(FloatKind::X87, "0xK3FFF8000000000000000"), Some(0x3fff_8000_0000_0000_0000));
        assert_eq!(
            float_bits(FloatKind::Quad, "0xL00000000000000003FFF000000000000"),
            Some(0x3fff_0000_0000_0000_0000_0000_0000_0000)
        );
        assert_eq!(float_bits(FloatKind::Double, "0xH3C00"), None);
    }
}
