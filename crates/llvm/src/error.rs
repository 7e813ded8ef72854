//! Everything that can go wrong while a program is read.
//!
//! Three kinds are kept apart because a user acts differently on each: the input could not be
//! obtained (no such file, no clang, clang's own diagnostics), the text is not LLVM IR (a position
//! and what was expected there), and the text is LLVM IR that this front end refuses (a position
//! and the name of the feature). A feature that parses but cannot be *executed* is none of these:
//! it becomes an `Unsupported` instruction in the program and is reported only when it is reached.
//!
//! Inside the parser a fault carries only a byte offset; line and column are computed once, here,
//! when a fault leaves the parser.

use std::fmt;
use std::path::PathBuf;

/// A place in a text: file name, line and column, both counted from one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcePosition {
    /// The name of the file, as it was given.
    pub file: String,
    /// Line, counted from 1.
    pub line: u32,
    /// Column in bytes, counted from 1.
    pub column: u32,
}

impl fmt::Display for SourcePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// Why a text was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The text is not well-formed LLVM IR.
    Syntax,
    /// The text may be well-formed, but uses something this front end refuses.
    Unsupported,
}

/// A fault at a byte offset, as the parser and the lowering raise it.
#[derive(Clone, Debug)]
pub struct Fault {
    /// Byte offset into the text.
    pub offset: u32,
    /// Malformed, or refused.
    pub kind: FaultKind,
    /// What is wrong.
    pub message: String,
}

impl Fault {
    /// The text is malformed at `offset`.
    pub fn syntax(offset: u32, message: impl Into<String>) -> Box<Fault> {
        Box::new(Fault { offset, kind: FaultKind::Syntax, message: message.into() })
    }

    /// The text uses a refused feature at `offset`.
    pub fn unsupported(offset: u32, message: impl Into<String>) -> Box<Fault> {
        Box::new(Fault { offset, kind: FaultKind::Unsupported, message: message.into() })
    }

    /// Adds the file name and turns the offset into line and column.
    pub fn locate(self, file: &str, text: &str) -> LoadError {
        let position = position_of(file, text.as_bytes(), self.offset as usize);
        match self.kind {
            FaultKind::Syntax => LoadError::Parse { position, message: self.message },
            FaultKind::Unsupported => LoadError::Unsupported { position, feature: self.message },
        }
    }
}

/// The result of every step inside the parser. The error is boxed to keep the happy path small.
pub type Parsed<T> = Result<T, Box<Fault>>;

/// Line and column of a byte offset.
pub fn position_of(file: &str, text: &[u8], offset: usize) -> SourcePosition {
    let before = &text[..offset.min(text.len())];
    let line = before.iter().filter(|&&b| b == b'\n').count() as u32 + 1;
    let line_start = before.iter().rposition(|&b| b == b'\n').map_or(0, |newline| newline + 1);
    SourcePosition { file: file.to_string(), line, column: (before.len() - line_start) as u32 + 1 }
}

/// Why no program could be loaded.
#[derive(Debug)]
pub enum LoadError {
    /// An input file does not exist.
    NotFound {
        /// The path as the user gave it.
        path: PathBuf,
    },
    /// An input file exists but cannot be read.
    NotReadable {
        /// The path as the user gave it.
        path: PathBuf,
        /// What the operating system says.
        reason: String,
    },
    /// The text is not UTF-8; LLVM escapes everything else, so the file is damaged or binary.
    NotUtf8 {
        /// The first byte that is not UTF-8.
        position: SourcePosition,
        /// The file is LLVM bitcode, which is a frequent mistake worth a better message.
        bitcode: bool,
    },
    /// The file's extension says nothing that this front end reads.
    UnknownKind {
        /// The path as the user gave it.
        path: PathBuf,
    },
    /// No input was given.
    NoInput,
    /// No clang was found.
    ClangMissing {
        /// The names that were tried.
        tried: Vec<String>,
    },
    /// clang could be found but not run, or the version is too old.
    ClangUnusable {
        /// The program.
        program: String,
        /// Why it cannot be used.
        reason: String,
    },
    /// clang rejected the program; its diagnostics are passed through unchanged.
    ClangFailed {
        /// The file that was compiled.
        path: PathBuf,
        /// What clang wrote to its standard error.
        stderr: String,
    },
    /// The text is not well-formed LLVM IR.
    Parse {
        /// Where.
        position: SourcePosition,
        /// What was expected or found.
        message: String,
    },
    /// The text uses something that this front end refuses.
    Unsupported {
        /// Where.
        position: SourcePosition,
        /// The feature.
        feature: String,
    },
    /// Several files do not fit together.
    Link {
        /// What does not fit.
        message: String,
    },
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::NotFound { path } => write!(f, "{}: no such file", path.display()),
            LoadError::NotReadable { path, reason } => {
                write!(f, "{}: cannot be read: {reason}", path.display())
            }
            LoadError::NotUtf8 { position, bitcode: true } => write!(
                f,
                "{}: this is LLVM bitcode; use `llvm-dis` or `clang -S -emit-llvm` to get the textual form",
                position.file
            ),
            LoadError::NotUtf8 { position, .. } => {
                write!(f, "{position}: the text is not valid UTF-8")
            }
            LoadError::UnknownKind { path } => {
                write!(f, "{}: not a C, C++ or LLVM IR file (.c .i .cc .cpp .cxx .C .ii .ll)", path.display())
            }
            LoadError::NoInput => write!(f, "no input file"),
            LoadError::ClangMissing { tried } => write!(
                f,
                "clang was not found (tried {}); install it, for instance with `sudo apt install clang`, \
                 or set SELVEDGE_CLANG to its path",
                tried.join(", ")
            ),
            LoadError::ClangUnusable { program, reason } => write!(f, "{program}: {reason}"),
            LoadError::ClangFailed { path, stderr } => {
                write!(f, "{}: clang failed", path.display())?;
                if !stderr.trim().is_empty() {
                    write!(f, "\n{}", stderr.trim_end())?;
                }
                Ok(())
            }
            LoadError::Parse { position, message } => write!(f, "{position}: {message}"),
            LoadError::Unsupported { position, feature } => {
                write!(f, "{position}: not supported: {feature}")
            }
            LoadError::Link { message } => f.write_str(message),
        }
    }
}

impl std::error::Error for LoadError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_lines_and_columns_from_one() {
        let text = b"ab\ncd\n";
        let at = |offset| {
            let p = position_of("f", text, offset);
            (p.line, p.column)
        };
        assert_eq!(at(0), (1, 1));
        assert_eq!(at(2), (1, 3));
        assert_eq!(at(3), (2, 1));
        assert_eq!(at(6), (3, 1));
        assert_eq!(at(99), (3, 1), "an offset past the end is the end");
    }
}
