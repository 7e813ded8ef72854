//! Splits the text form into tokens.
//!
//! A line end closes a statement, so it is a token; between parentheses or brackets it is not, so that a long list may
//! be broken over several lines. A comment runs from `;` to the end of the line.

use std::fmt;

/// Where the text form is wrong, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseError {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for ParseError {}

/// A token with its place.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Token<'t> {
    pub kind: Tok<'t>,
    pub line: u32,
    pub column: u32,
}

/// What a token is.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Tok<'t> {
    /// A word: keyword, type, value or label.
    Word(&'t str),
    /// `@name` or `@"name"`.
    Symbol(String),
    /// `"text"`, with escapes resolved.
    Str(String),
    /// A decimal integer.
    Int(u64),
    /// A hexadecimal integer: bare bits.
    Hex(u64),
    /// A decimal number with a point or an exponent.
    Float(&'t str),
    /// `->`.
    Arrow,
    /// `...`.
    Ellipsis,
    /// One of `,:=(){}[]*+-!`.
    Punct(char),
    /// The end of a line.
    Newline,
    /// The end of the text.
    End,
}

impl fmt::Display for Tok<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tok::Word(word) => write!(f, "`{word}`"),
            Tok::Symbol(name) => write!(f, "`@{}`", name.escape_debug()),
            Tok::Str(text) => write!(f, "\"{}\"", text.escape_debug()),
            Tok::Int(value) => write!(f, "`{value}`"),
            Tok::Hex(value) => write!(f, "`{value:#x}`"),
            Tok::Float(text) => write!(f, "`{text}`"),
            Tok::Arrow => f.write_str("`->`"),
            Tok::Ellipsis => f.write_str("`...`"),
            Tok::Punct(c) => write!(f, "`{c}`"),
            Tok::Newline => f.write_str("the end of the line"),
            Tok::End => f.write_str("the end of the text"),
        }
    }
}

/// Whether a character may stand in a word or a bare symbol.
pub(crate) fn is_word_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$')
}

/// All tokens of the text, the last one `End`.
pub(crate) fn tokens(text: &str) -> Result<Vec<Token<'_>>, ParseError> {
    let mut lexer = Lexer { rest: text, line: 1, column: 1, depth: 0, tokens: Vec::new() };
    while lexer.skip_blanks() {
        lexer.token()?;
    }
    let (line, column) = (lexer.line, lexer.column);
    lexer.push(Tok::Newline, line, column);
    lexer.push(Tok::End, line, column);
    Ok(lexer.tokens)
}

struct Lexer<'t> {
    rest: &'t str,
    line: u32,
    column: u32,
    /// How many parentheses and brackets are open.
    depth: u32,
    tokens: Vec<Token<'t>>,
}

impl<'t> Lexer<'t> {
    /// Skips blanks and comments; false at the end of the text.
    fn skip_blanks(&mut self) -> bool {
        while let Some(c) = self.rest.chars().next() {
            match c {
                ';' => {
                    let end = self.rest.find('\n').unwrap_or(self.rest.len());
                    self.take(end);
                }
                ' ' | '\t' | '\r' => {
                    self.take(1);
                }
                '\n' if self.depth > 0 => {
                    self.take(1);
                }
                _ => return true,
            }
        }
        false
    }

    /// Takes this many bytes, which must end at a character's boundary.
    fn take(&mut self, bytes: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        for c in taken.chars() {
            if c == '\n' {
                self.line += 1;
                self.column = 1;
            } else {
                self.column += 1;
            }
        }
        taken
    }

    fn push(&mut self, kind: Tok<'t>, line: u32, column: u32) {
        self.tokens.push(Token { kind, line, column });
    }

    fn error<T>(&self, message: impl Into<String>) -> Result<T, ParseError> {
        Err(ParseError { line: self.line, column: self.column, message: message.into() })
    }

    fn token(&mut self) -> Result<(), ParseError> {
        let (line, column) = (self.line, self.column);
        let Some(first) = self.rest.chars().next() else {
            return Ok(());
        };
        let kind = match first {
            '\n' => {
                self.take(1);
                Tok::Newline
            }
            '@' => self.symbol()?,
            '"' => Tok::Str(self.string()?),
            '0'..='9' => self.number()?,
            '-' if self.rest.starts_with("->") => {
                self.take(2);
                Tok::Arrow
            }
            '.' if self.rest.starts_with("...") => {
                self.take(3);
                Tok::Ellipsis
            }
            ',' | ':' | '=' | '(' | ')' | '{' | '}' | '[' | ']' | '*' | '+' | '-' | '!' => {
                self.take(1);
                self.count_depth(first);
                Tok::Punct(first)
            }
            c if is_word_char(c) => Tok::Word(self.word()),
            c => return self.error(format!("unexpected character `{}`", c.escape_debug())),
        };
        self.push(kind, line, column);
        Ok(())
    }

    /// A brace closes whatever was left open, so that one missing parenthesis does not swallow the whole text.
    fn count_depth(&mut self, c: char) {
        match c {
            '(' | '[' => self.depth += 1,
            ')' | ']' => self.depth = self.depth.saturating_sub(1),
            '{' | '}' => self.depth = 0,
            _ => {}
        }
    }

    fn word(&mut self) -> &'t str {
        self.take(word_end(self.rest))
    }

    fn symbol(&mut self) -> Result<Tok<'t>, ParseError> {
        self.take(1);
        if self.rest.starts_with('"') {
            return Ok(Tok::Symbol(self.string()?));
        }
        match self.word() {
            "" => self.error("a name must follow `@`"),
            word => Ok(Tok::Symbol(word.to_owned())),
        }
    }

    fn number(&mut self) -> Result<Tok<'t>, ParseError> {
        let start = (self.line, self.column);
        let mut end = word_end(self.rest);
        // The sign of an exponent is no word character.
        let word = &self.rest[..end];
        if !word.starts_with("0x") && word.ends_with(['e', 'E']) && self.rest[end..].starts_with(['-', '+']) {
            end += 1;
            end += word_end(&self.rest[end..]);
        }
        let text = self.take(end);
        if let Some(digits) = text.strip_prefix("0x") {
            return u64::from_str_radix(digits, 16).map(Tok::Hex).or_else(|_| bad_number(text, start));
        }
        if text.bytes().all(|b| b.is_ascii_digit()) {
            return text.parse().map(Tok::Int).or_else(|_| bad_number(text, start));
        }
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(Tok::Float(text)),
            _ => bad_number(text, start),
        }
    }

    /// A string with escapes; stands at its opening quote.
    fn string(&mut self) -> Result<String, ParseError> {
        self.take(1);
        let mut result = String::new();
        loop {
            let Some(c) = self.rest.chars().next() else {
                return self.error("the string does not end");
            };
            match c {
                '"' => {
                    self.take(1);
                    return Ok(result);
                }
                '\n' => return self.error("the string does not end on this line"),
                '\\' => result.push(self.escape()?),
                c => {
                    self.take(c.len_utf8());
                    result.push(c);
                }
            }
        }
    }

    fn escape(&mut self) -> Result<char, ParseError> {
        self.take(1);
        let c = match self.rest.chars().next() {
            Some('0') => '\0',
            Some('n') => '\n',
            Some('t') => '\t',
            Some('r') => '\r',
            Some(c @ ('"' | '\\')) => c,
            Some('u') => return self.unicode_escape(),
            _ => return self.error("unknown escape in a string"),
        };
        self.take(1);
        Ok(c)
    }

    /// `u{1f}` behind a backslash.
    fn unicode_escape(&mut self) -> Result<char, ParseError> {
        let code = self.rest.strip_prefix("u{").and_then(|rest| {
            let digits = &rest[..rest.find('}').filter(|&end| end <= 6)?];
            Some((digits.len(), char::from_u32(u32::from_str_radix(digits, 16).ok()?)?))
        });
        match code {
            Some((digits, c)) => {
                self.take(digits + 3);
                Ok(c)
            }
            None => self.error("`\\u` must be followed by a character's number, such as `{1f}`"),
        }
    }
}

/// How many bytes of the text belong to the word at its start.
fn word_end(text: &str) -> usize {
    text.find(|c| !is_word_char(c)).unwrap_or(text.len())
}

fn bad_number<'t>(text: &str, (line, column): (u32, u32)) -> Result<Tok<'t>, ParseError> {
    Err(ParseError { line, column, message: format!("`{text}` is not a number of at most 64 bits") })
}
