//! A place in the list of tokens, with the small steps that all parts of the parser share.

use super::{Parsed, entity};
use crate::lex::{ParseError, Tok, Token};
use crate::{EntityRef, Type};

pub(super) struct Cursor<'t> {
    /// All tokens; the last one is `End`.
    tokens: Vec<Token<'t>>,
    next: usize,
}

/// The index that a word such as `loc12` names, given its prefix.
pub(super) fn index<K: EntityRef>(prefix: &str, word: &str) -> Option<K> {
    let digits = word.strip_prefix(prefix)?;
    let canonical = digits == "0" || !digits.starts_with('0');
    let number = digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse::<u64>().ok())??;
    if canonical { entity(number) } else { None }
}

impl<'t> Cursor<'t> {
    pub fn new(tokens: Vec<Token<'t>>) -> Cursor<'t> {
        debug_assert!(tokens.last().is_some_and(|token| token.kind == Tok::End), "the lexer ends with `End`");
        Cursor { tokens, next: 0 }
    }

    pub fn peek(&self) -> &Tok<'t> {
        self.peek_at(0)
    }

    /// The token that many steps ahead.
    pub fn peek_at(&self, steps: usize) -> &Tok<'t> {
        &self.tokens[(self.next + steps).min(self.tokens.len() - 1)].kind
    }

    /// Takes the next token. At the end it stays there.
    pub fn next(&mut self) -> Tok<'t> {
        let kind = self.peek().clone();
        self.next = (self.next + 1).min(self.tokens.len() - 1);
        kind
    }

    /// Gives back the token that was taken last.
    pub fn back(&mut self) {
        self.next = self.next.saturating_sub(1);
    }

    pub fn position(&self) -> usize {
        self.next
    }

    pub fn go_to(&mut self, position: usize) {
        self.next = position;
    }

    /// An error at the token that comes next.
    pub fn error<T>(&self, message: impl Into<String>) -> Parsed<T> {
        self.error_at(self.next, message)
    }

    /// An error at the token that was taken last.
    pub fn error_before<T>(&self, message: impl Into<String>) -> Parsed<T> {
        self.error_at(self.next.saturating_sub(1), message)
    }

    pub fn error_at<T>(&self, position: usize, message: impl Into<String>) -> Parsed<T> {
        let token = &self.tokens[position.min(self.tokens.len() - 1)];
        Err(ParseError { line: token.line, column: token.column, message: message.into() })
    }

    fn wanted<T>(&self, what: &str) -> Parsed<T> {
        self.error(format!("expected {what}, found {}", self.peek()))
    }

    /// Skips empty lines; false at the end of the text.
    pub fn skip_newlines(&mut self) -> bool {
        while *self.peek() == Tok::Newline {
            self.next();
        }
        *self.peek() != Tok::End
    }

    pub fn at_end_of_statement(&self) -> bool {
        matches!(self.peek(), Tok::Newline | Tok::End)
    }

    pub fn end_statement(&mut self) -> Parsed<()> {
        match self.peek() {
            Tok::Newline => {
                self.next();
                Ok(())
            }
            Tok::End => Ok(()),
            _ => self.wanted("the end of the line"),
        }
    }

    /// Goes to the end of the line, or of the block in braces that begins at the end of the line.
    pub fn skip_statement(&mut self) {
        let mut last = Tok::Newline;
        while !self.at_end_of_statement() {
            last = self.next();
        }
        if last == Tok::Punct('{') {
            while !matches!(self.peek(), Tok::Punct('}') | Tok::End) {
                self.next();
            }
            self.accept('}');
        }
    }

    /// Whether the statement that goes on at this position began with `declare` and a name.
    pub fn is_declaration(&self, position: usize) -> bool {
        position >= 2 && self.tokens[position - 2].kind == Tok::Word("declare")
    }

    /// Whether a token occurs before the end of the line.
    pub fn line_has(&self, wanted: &Tok<'t>) -> bool {
        let rest = self.tokens[self.next..].iter();
        rest.take_while(|token| token.kind != Tok::Newline).any(|token| token.kind == *wanted)
    }

    pub fn accept(&mut self, c: char) -> bool {
        self.accept_token(&Tok::Punct(c))
    }

    pub fn accept_word(&mut self, word: &'static str) -> bool {
        self.accept_token(&Tok::Word(word))
    }

    pub fn accept_arrow(&mut self) -> bool {
        self.accept_token(&Tok::Arrow)
    }

    pub fn accept_ellipsis(&mut self) -> bool {
        self.accept_token(&Tok::Ellipsis)
    }

    fn accept_token(&mut self, wanted: &Tok<'static>) -> bool {
        let found = self.peek() == wanted;
        if found {
            self.next();
        }
        found
    }

    pub fn accept_string(&mut self) -> Option<String> {
        match self.peek() {
            Tok::Str(_) => self.string().ok(),
            _ => None,
        }
    }

    pub fn expect(&mut self, c: char) -> Parsed<()> {
        if self.accept(c) { Ok(()) } else { self.wanted(&format!("`{c}`")) }
    }

    pub fn expect_word(&mut self, word: &'static str) -> Parsed<()> {
        if self.accept_word(word) { Ok(()) } else { self.wanted(&format!("`{word}`")) }
    }

    pub fn comma_unless_first(&mut self, first: bool) -> Parsed<()> {
        if first { Ok(()) } else { self.expect(',') }
    }

    pub fn word(&mut self, what: &str) -> Parsed<&'t str> {
        match *self.peek() {
            Tok::Word(word) => {
                self.next();
                Ok(word)
            }
            _ => self.wanted(what),
        }
    }

    pub fn string(&mut self) -> Parsed<String> {
        match self.next() {
            Tok::Str(text) => Ok(text),
            _ => {
                self.back();
                self.wanted("text in quotes")
            }
        }
    }

    pub fn symbol(&mut self) -> Parsed<String> {
        match self.next() {
            Tok::Symbol(name) => Ok(name),
            _ => {
                self.back();
                self.wanted("a name such as `@x`")
            }
        }
    }

    pub fn unsigned(&mut self) -> Parsed<u64> {
        match *self.peek() {
            Tok::Int(value) | Tok::Hex(value) => {
                self.next();
                Ok(value)
            }
            _ => self.wanted("a number"),
        }
    }

    /// A number of at most 32 bits.
    pub fn small(&mut self, what: &str) -> Parsed<u32> {
        let value = self.unsigned()?;
        u32::try_from(value).or_else(|_| self.error_before(format!("{what} has at most 32 bits")))
    }

    pub fn signed(&mut self) -> Parsed<i64> {
        let negative = self.accept('-');
        let magnitude = i128::from(self.unsigned()?);
        let value = if negative { -magnitude } else { magnitude };
        i64::try_from(value).or_else(|_| self.error_before("this number does not fit in 64 bits"))
    }

    /// Nothing, `+4` or `-4`.
    pub fn offset(&mut self) -> Parsed<i64> {
        let sign = matches!(self.peek(), Tok::Punct('+' | '-'));
        if !sign {
            return Ok(0);
        }
        self.accept('+');
        self.signed()
    }

    pub fn ty(&mut self) -> Parsed<Type> {
        let Tok::Word(word) = *self.peek() else {
            return self.wanted("a type");
        };
        let ty = match word {
            "ptr" => Type::Ptr,
            "f32" => Type::F32,
            "f64" => Type::F64,
            _ => {
                let bits = word.strip_prefix('i').filter(|digits| !digits.starts_with(['0', '+']));
                match bits.and_then(|digits| digits.parse::<u8>().ok()).filter(|bits| (1..=64).contains(bits)) {
                    Some(bits) => Type::Int(bits),
                    None => return self.wanted("a type (`i1` to `i64`, `ptr`, `f32`, `f64`)"),
                }
            }
        };
        self.next();
        Ok(ty)
    }

    /// A constant of this type: its bits.
    pub fn constant(&mut self, ty: Type) -> Parsed<u64> {
        match (self.peek(), ty) {
            (Tok::Word("true"), Type::I1) => {
                self.next();
                return Ok(1);
            }
            (Tok::Word("false"), Type::I1) | (Tok::Word("null"), Type::Ptr) => {
                self.next();
                return Ok(0);
            }
            _ => {}
        }
        let start = self.next;
        let negative = self.accept('-');
        let bits = match self.next() {
            Tok::Int(value) if ty.is_float() => Some(float_bits(ty, value as f64, value as f32, negative)),
            Tok::Int(value) => integer_bits(ty, value, negative),
            Tok::Hex(value) if !negative && value <= ty.mask() => Some(value),
            Tok::Float(text) if ty.is_float() => match (text.parse(), text.parse()) {
                (Ok(double), Ok(single)) => Some(float_bits(ty, double, single, negative)),
                _ => None,
            },
            Tok::Hex(_) | Tok::Float(_) => None,
            other => {
                self.back();
                return self.error(format!("expected a constant of type {ty}, found {other}"));
            }
        };
        match bits {
            Some(bits) => Ok(bits),
            None => self.error_at(start, format!("this constant does not fit in {ty}")),
        }
    }
}

/// An integer fits if either its unsigned or its signed reading does.
fn integer_bits(ty: Type, magnitude: u64, negative: bool) -> Option<u64> {
    match negative {
        false => (magnitude <= ty.mask()).then_some(magnitude),
        true => (magnitude <= 1 << (ty.bits() - 1)).then(|| magnitude.wrapping_neg() & ty.mask()),
    }
}

fn float_bits(ty: Type, double: f64, single: f32, negative: bool) -> u64 {
    let bits = if ty == Type::F32 { u64::from(single.to_bits()) } else { double.to_bits() };
    if negative { crate::eval::fneg(ty, bits) } else { bits }
}
