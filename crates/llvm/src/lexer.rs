//! Splits textual LLVM IR into tokens without copying: every token is a slice of the text.
//!
//! The token classes are those of LLVM's own lexer, with two conveniences. A name followed at once
//! by a colon is a single `Label` token, because block labels and metadata keys share that shape;
//! and `!12`, `#3`, `%7`, `@9` carry their number. Names keep their escapes (`\22`), which is safe
//! as an identity because LLVM prints every name in one canonical way.
//!
//! Names and numbers dominate the time, so character classes are one table look-up.

use crate::error::{Fault, Parsed};
use std::fmt;

/// A token; slices point into the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token<'a> {
    /// End of the text.
    Eof,
    /// A keyword, type name or opcode.
    Word(&'a str),
    /// `name:` or `"name":`.
    Label(&'a str),
    /// `12:`.
    LabelNumber(u32),
    /// `%name`.
    LocalName(&'a str),
    /// `%12`.
    LocalNumber(u32),
    /// `@name`.
    GlobalName(&'a str),
    /// `@12`.
    GlobalNumber(u32),
    /// `!name`.
    MetadataName(&'a str),
    /// `!12`.
    MetadataNumber(u32),
    /// `!` before something else than a name or a number.
    Bang,
    /// `#12`.
    AttributeGroup(u32),
    /// `#dbg_value` and its like, without the `#`.
    DebugRecord(&'a str),
    /// `$name`.
    Comdat(&'a str),
    /// A decimal integer with an optional sign.
    Integer(&'a str),
    /// `u0x1F` or `s0x1F`.
    HexInteger(&'a str),
    /// A decimal or hexadecimal (`0x...`, `0xK...`) floating-point number.
    Float(&'a str),
    /// `"text"`, still escaped.
    String(&'a str),
    /// `c"text"`, still escaped.
    CString(&'a str),
    /// `...`.
    Ellipsis,
    /// `^`, which starts an entry of a ThinLTO summary.
    Caret,
    /// `->`, only in symbolic debug expressions.
    Arrow,
    /// One of `= , * ( ) [ ] { } < > | : /`.
    Mark(u8),
}

impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::Eof => f.write_str("the end of the file"),
            Token::Word(s) | Token::Integer(s) | Token::HexInteger(s) | Token::Float(s) => {
                write!(f, "`{s}`")
            }
            Token::Label(s) => write!(f, "`{s}:`"),
            Token::LabelNumber(n) => write!(f, "`{n}:`"),
            Token::LocalName(s) => write!(f, "`%{s}`"),
            Token::LocalNumber(n) => write!(f, "`%{n}`"),
            Token::GlobalName(s) => write!(f, "`@{s}`"),
            Token::GlobalNumber(n) => write!(f, "`@{n}`"),
            Token::MetadataName(s) => write!(f, "`!{s}`"),
            Token::MetadataNumber(n) => write!(f, "`!{n}`"),
            Token::Bang => f.write_str("`!`"),
            Token::AttributeGroup(n) => write!(f, "`#{n}`"),
            Token::DebugRecord(s) => write!(f, "`#{s}`"),
            Token::Comdat(s) => write!(f, "`${s}`"),
            Token::String(_) => f.write_str("a string"),
            Token::CString(_) => f.write_str("a character array"),
            Token::Ellipsis => f.write_str("`...`"),
            Token::Caret => f.write_str("`^`"),
            Token::Arrow => f.write_str("`->`"),
            Token::Mark(c) => write!(f, "`{}`", *c as char),
        }
    }
}

const NAME: u8 = 1; // may occur in a name
const DIGIT: u8 = 2;
const HEX: u8 = 4;
const SPACE: u8 = 8;

const CLASS: [u8; 256] = {
    let mut table = [0u8; 256];
    let mut i = 0usize;
    while i < 256 {
        let c = i as u8;
        if c.is_ascii_alphanumeric() || c == b'$' || c == b'.' || c == b'_' || c == b'-' {
            table[i] |= NAME;
        }
        if c.is_ascii_digit() {
            table[i] |= DIGIT;
        }
        if c.is_ascii_hexdigit() {
            table[i] |= HEX;
        }
        if c == b' ' || c == b'\t' || c == b'\n' || c == b'\r' || c == 0 {
            table[i] |= SPACE;
        }
        i += 1;
    }
    table
};

fn is(c: u8, class: u8) -> bool {
    CLASS[c as usize] & class != 0
}

/// A position in the text from which tokens are read. Copying it is how the parser looks ahead.
#[derive(Clone, Copy)]
pub struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    /// Starts at the beginning of `text`, which must be shorter than 4 GiB.
    pub fn new(text: &'a str) -> Self {
        Lexer { text, at: 0 }
    }

    /// The offset of the next unread byte.
    pub fn offset(&self) -> u32 {
        self.at as u32
    }

    fn byte(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.at + ahead).copied().unwrap_or(0)
    }

    fn skip_class(&mut self, class: u8) {
        let bytes = self.text.as_bytes();
        while self.at < bytes.len() && is(bytes[self.at], class) {
            self.at += 1;
        }
    }

    fn skip_blank(&mut self) {
        loop {
            self.skip_class(SPACE);
            if self.byte(0) != b';' {
                return;
            }
            self.skip_line();
        }
    }

    /// Skips the rest of the line.
    pub fn skip_line(&mut self) {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
    }

    /// Reads a token and the offset at which it starts.
    pub fn next_token(&mut self) -> Parsed<(Token<'a>, u32)> {
        self.skip_blank();
        let start = self.at;
        let token = self.token(start)?;
        Ok((token, start as u32))
    }

    fn token(&mut self, start: usize) -> Parsed<Token<'a>> {
        if start >= self.text.len() {
            return Ok(Token::Eof);
        }
        let c = self.byte(0);
        match c {
            b'%' => self.sigil(Token::LocalName, Token::LocalNumber),
            b'@' => self.sigil(Token::GlobalName, Token::GlobalNumber),
            b'!' => self.bang(),
            b'#' => self.hash(),
            b'"' => self.quoted_or_label(),
            b'.' if self.byte(1) == b'.' && self.byte(2) == b'.' => {
                self.at += 3;
                Ok(Token::Ellipsis)
            }
            b'-' if self.byte(1) == b'>' => {
                self.at += 2;
                Ok(Token::Arrow)
            }
            b'c' if self.byte(1) == b'"' => {
                self.at += 1;
                Ok(Token::CString(self.quoted()?))
            }
            b'^' => {
                self.at += 1;
                Ok(Token::Caret)
            }
            b'+' => self.number(start),
            b'=' | b',' | b'*' | b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'<' | b'>' | b'|' | b':' | b'/' => {
                self.at += 1;
                Ok(Token::Mark(c))
            }
            _ if is(c, NAME) => self.word_or_number(start),
            _ => Err(self.fault(start, "unexpected character")),
        }
    }

    fn fault(&self, at: usize, message: &str) -> Box<Fault> {
        match self.text.get(at..).and_then(|rest| rest.chars().next()) {
            Some(c) if message == "unexpected character" => {
                Fault::syntax(at as u32, format!("unexpected character {c:?}"))
            }
            _ => Fault::syntax(at as u32, message),
        }
    }

    /// After `%` or `@`: a quoted name, a number, or a plain name.
    fn sigil(&mut self, name: fn(&'a str) -> Token<'a>, number: fn(u32) -> Token<'a>) -> Parsed<Token<'a>> {
        self.at += 1;
        let c = self.byte(0);
        if c == b'"' {
            return Ok(name(self.quoted()?));
        }
        if is(c, DIGIT) {
            return Ok(number(self.small_number()?));
        }
        Ok(name(self.plain_name("a name")?))
    }

    fn plain_name(&mut self, what: &str) -> Parsed<&'a str> {
        let start = self.at;
        self.skip_class(NAME);
        if self.at == start {
            return Err(Fault::syntax(start as u32, format!("expected {what}")));
        }
        Ok(&self.text[start..self.at])
    }

    /// Decimal digits that must fit in 32 bits: value, block, metadata and attribute numbers.
    fn small_number(&mut self) -> Parsed<u32> {
        let start = self.at;
        self.skip_class(DIGIT);
        self.text[start..self.at].parse().map_err(|_| self.fault(start, "this number is too large"))
    }

    fn bang(&mut self) -> Parsed<Token<'a>> {
        self.at += 1;
        let c = self.byte(0);
        if is(c, DIGIT) {
            return Ok(Token::MetadataNumber(self.small_number()?));
        }
        if (is(c, NAME) && c != b'-') || c == b'\\' {
            // Metadata names alone are printed with escapes outside quotes (`!foo\20bar`).
            let start = self.at;
            while is(self.byte(0), NAME) || self.byte(0) == b'\\' {
                self.at += 1;
            }
            return Ok(Token::MetadataName(&self.text[start..self.at]));
        }
        Ok(Token::Bang)
    }

    fn hash(&mut self) -> Parsed<Token<'a>> {
        self.at += 1;
        if is(self.byte(0), DIGIT) {
            return Ok(Token::AttributeGroup(self.small_number()?));
        }
        Ok(Token::DebugRecord(self.plain_name("an attribute group or a debug record")?))
    }

    /// Reads `"..."` and returns what is between the quotes.
    fn quoted(&mut self) -> Parsed<&'a str> {
        let open = self.at;
        let rest = &self.text.as_bytes()[open + 1..];
        // A quote inside a string is always written `\22`, so the next quote ends it.
        let Some(length) = rest.iter().position(|&b| b == b'"') else {
            return Err(self.fault(open, "this string has no end"));
        };
        self.at = open + 1 + length + 1;
        Ok(&self.text[open + 1..open + 1 + length])
    }

    fn quoted_or_label(&mut self) -> Parsed<Token<'a>> {
        let text = self.quoted()?;
        if self.byte(0) == b':' {
            self.at += 1;
            return Ok(Token::Label(text));
        }
        Ok(Token::String(text))
    }

    fn word_or_number(&mut self, start: usize) -> Parsed<Token<'a>> {
        self.skip_class(NAME);
        let word = &self.text[start..self.at];
        if self.byte(0) == b':' {
            self.at += 1;
            if word.bytes().all(|b| is(b, DIGIT)) {
                return match word.parse() {
                    Ok(number) => Ok(Token::LabelNumber(number)),
                    Err(_) => Err(self.fault(start, "this number is too large")),
                };
            }
            return Ok(Token::Label(word));
        }
        let first = word.as_bytes()[0];
        if first == b'$' && word.len() > 1 {
            return Ok(Token::Comdat(&word[1..]));
        }
        if first == b'$' && self.byte(0) == b'"' {
            return Ok(Token::Comdat(self.quoted()?));
        }
        if is(first, DIGIT) || (first == b'-' && word.len() > 1) {
            self.at = start;
            return self.number(start);
        }
        if word.starts_with("u0x") || word.starts_with("s0x") {
            return Ok(Token::HexInteger(word));
        }
        Ok(Token::Word(word))
    }

    fn number(&mut self, start: usize) -> Parsed<Token<'a>> {
        if self.byte(0) == b'0' && self.byte(1) == b'x' {
            return self.hex_float(start);
        }
        if matches!(self.byte(0), b'-' | b'+') {
            self.at += 1;
        }
        let digits = self.at;
        self.skip_class(DIGIT);
        if self.at == digits {
            return Err(self.fault(start, "expected a number"));
        }
        if self.byte(0) != b'.' {
            return Ok(Token::Integer(&self.text[start..self.at]));
        }
        self.at += 1;
        self.skip_class(DIGIT);
        if matches!(self.byte(0), b'e' | b'E') {
            self.at += 1;
            if matches!(self.byte(0), b'-' | b'+') {
                self.at += 1;
            }
            self.skip_class(DIGIT);
        }
        Ok(Token::Float(&self.text[start..self.at]))
    }

    fn hex_float(&mut self, start: usize) -> Parsed<Token<'a>> {
        self.at += 2;
        if matches!(self.byte(0), b'K' | b'L' | b'M' | b'H' | b'R') {
            self.at += 1;
        }
        let digits = self.at;
        self.skip_class(HEX);
        if self.at == digits || self.at - digits > 32 {
            return Err(self.fault(start, "expected up to 32 hexadecimal digits"));
        }
        Ok(Token::Float(&self.text[start..self.at]))
    }
}

/// Resolves the escapes of a string: `\\` and `\XX`. Anything else stands for itself.
pub fn unescape(raw: &str) -> Vec<u8> {
    let bytes = raw.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        let hex = |at: usize| bytes.get(at).and_then(|&b| (b as char).to_digit(16)).map(|d| d as u8);
        if bytes[i] != b'\\' {
            out.push(bytes[i]);
            i += 1;
        } else if bytes.get(i + 1) == Some(&b'\\') {
            out.push(b'\\');
            i += 2;
        } else if let (Some(high), Some(low)) = (hex(i + 1), hex(i + 2)) {
            out.push(high * 16 + low);
            i += 3;
        } else {
            out.push(b'\\');
            i += 1;
        }
    }
    out
}

/// The length of [`unescape`]'s result.
pub fn unescaped_length(raw: &str) -> usize {
    if raw.contains('\\') { unescape(raw).len() } else { raw.len() }
}

/// A name for people: escapes resolved, the `\01` that suppresses mangling dropped.
pub fn display_name(raw: &str) -> String {
    if !raw.contains('\\') {
        return raw.to_string();
    }
    let bytes = unescape(raw);
    let bytes = bytes.strip_prefix(&[1]).unwrap_or(&bytes);
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<Token<'_>> {
        let mut lexer = Lexer::new(text);
        let mut out = Vec::new();
        loop {
            match lexer.next_token() {
                Ok((Token::Eof, _)) => return out,
                Ok((token, _)) => out.push(token),
                Err(fault) => panic!("{}", fault.message),
            }
        }
    }

    #[test]
    fn sigils_names_and_numbers() {
        use Token::*;
        assert_eq!(
            tokens("%a %\"b c\" %12 @x.y @0 !n !5 !{ #7 #dbg_value $c $\"d\""),
            vec![
                LocalName("a"),
                LocalName("b c"),
                LocalNumber(12),
                GlobalName("x.y"),
                GlobalNumber(0),
                MetadataName("n"),
                MetadataNumber(5),
                Bang,
                Mark(b'{'),
                AttributeGroup(7),
                DebugRecord("dbg_value"),
                Comdat("c"),
                Comdat("d"),
            ]
        );
    }

    #[test]
    fn numbers_in_every_notation() {
        use Token::*;
        assert_eq!(
            tokens("12 -3 1.5e+10 -0.5 0x3FF0000000000000 0xK3FFF8000000000000000 u0xFF +1"),
            vec![
                Integer("12"),
                Integer("-3"),
                Float("1.5e+10"),
                Float("-0.5"),
                Float("0x3FF0000000000000"),
                Float("0xK3FFF8000000000000000"),
                HexInteger("u0xFF"),
                Integer("+1"),
            ]
        );
    }

    #[test]
    fn labels_and_keys_are_one_token() {
        use Token::*;
        assert_eq!(
            tokens("entry: 12: \"a b\": line: 5 ; comment\n ... c\"x\\00\""),
            vec![
                Label("entry"),
                LabelNumber(12),
                Label("a b"),
                Label("line"),
                Integer("5"),
                Ellipsis,
                CString("x\\00"),
            ]
        );
    }

    #[test]
    fn escapes_resolve_to_bytes() {
        assert_eq!(unescape("a\\22b\\\\c\\zz"), b"a\"b\\c\\zz");
        assert_eq!(unescaped_length("a\\00"), 2);
        assert_eq!(display_name("\\01foo"), "foo");
    }

    #[test]
    fn an_endless_string_is_a_fault_at_its_quote() {
        let mut lexer = Lexer::new("  \"abc");
        let fault = lexer.next_token().expect_err("the string has no end");
        assert_eq!(fault.offset, 2);
    }

    #[test]
    fn a_character_that_is_not_ascii_is_a_fault() {
        let mut lexer = Lexer::new("é");
        assert!(lexer.next_token().is_err());
    }
}
