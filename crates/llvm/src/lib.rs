//! The LLVM front end: C, C++ and textual LLVM IR to the program representation.
//!
//! clang is called as a program and its textual IR is read by a parser of our own, so that Selvedge builds with cargo
//! alone and reads the IR of any clang from 14 on: with typed or opaque pointers, with debug intrinsics or debug
//! records. [`load`] takes files, [`parse_str`] takes text.
//!
//! | file | owns |
//! |---|---|
//! | `clang.rs` | finding and running clang |
//! | `lexer.rs` | tokens |
//! | `types.rs` | LLVM's types, pointees erased |
//! | `ast.rs` | the module as it was written |
//! | `parser/` | text to `ast` |
//! | `layout.rs` | sizes, alignments, offsets; which targets are accepted |
//! | `debug_info.rs` | source positions, names and types |
//! | `access_path.rs` | names of memory accesses: `queue->tail` |
//! | `lower/` | `ast` to the program representation; linking of several files |
//! | `error.rs` | everything that can go wrong |
//!
//! Two rules hold throughout. Nothing that could change the meaning of the program is skipped: an attribute, keyword or
//! intrinsic that is not known is an error. And no input makes the reader panic, recurse without bound or loop.

pub mod access_path;
pub mod ast;
pub mod clang;
pub mod debug_info;
pub mod error;
pub mod layout;
pub mod lexer;
pub mod lower;
pub mod parser;
pub mod types;

pub use clang::ClangOptions;
pub use error::{LoadError, SourcePosition};

use selvedge_ir as ir;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A program with what clang said about it.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The program.
    pub module: ir::Module,
    /// clang's warnings, as it wrote them.
    pub warnings: String,
    /// How long clang took.
    pub clang: Duration,
}

/// Loads a program from C, C++ and LLVM IR files. clang's warnings go to standard error.
pub fn load(inputs: &[PathBuf], options: &ClangOptions) -> Result<ir::Module, LoadError> {
    let loaded = load_quietly(inputs, options)?;
    if !loaded.warnings.is_empty() {
        eprint!("{}", loaded.warnings);
    }
    Ok(loaded.module)
}

/// Loads a program from C, C++ and LLVM IR files, and returns clang's warnings with it.
pub fn load_quietly(inputs: &[PathBuf], options: &ClangOptions) -> Result<Loaded, LoadError> {
    if inputs.is_empty() {
        return Err(LoadError::NoInput);
    }
    let mut warnings = String::new();
    let mut clang = Duration::ZERO;
    let mut texts = Vec::new();
    for input in inputs {
        let (bytes, generated) = match input_kind(input)? {
            InputKind::LlvmIr => (read(input)?, false),
            InputKind::Source => {
                let program = clang::find_clang(options)?;
                let start = Instant::now();
                let compiled = clang::compile(&program, input, options)?;
                clang += start.elapsed();
                warnings.push_str(&compiled.warnings);
                (compiled.ir, true)
            }
        };
        let file = input.display().to_string();
        let text = utf8(&file, bytes)?;
        texts.push((file, text, generated));
    }
    let module = load_texts(&texts)?;
    Ok(Loaded { module, warnings, clang })
}

/// Reads one module of textual LLVM IR; `name` is used in messages.
pub fn parse_str(name: &str, text: &str) -> Result<ir::Module, LoadError> {
    let module = parser::parse_module(name, text).map_err(|fault| fault.locate(name, text))?;
    lower::lower_modules(name, &[(&module, text)])
}

/// Parses and links texts with their names; the flag says that a text is clang's, not the user's.
fn load_texts(texts: &[(String, String, bool)]) -> Result<ir::Module, LoadError> {
    let mut modules = Vec::new();
    for (file, text, generated) in texts {
        let module =
            parser::parse_module(file, text).map_err(|fault| in_generated(fault.locate(file, text), *generated))?;
        modules.push((module, text.as_str()));
    }
    let parts: Vec<(&ast::Module<'_>, &str)> = modules.iter().map(|(module, text)| (module, *text)).collect();
    let generated = |file: &str| texts.iter().any(|(name, _, generated)| name == file && *generated);
    lower::lower_modules(&texts[0].0, &parts).map_err(|error| {
        let is_generated = match &error {
            LoadError::Parse { position, .. } | LoadError::Unsupported { position, .. } => generated(&position.file),
            _ => false,
        };
        in_generated(error, is_generated)
    })
}

/// Says that a position is not in the user's file but in the IR that clang made of it.
fn in_generated(mut error: LoadError, generated: bool) -> LoadError {
    if generated && let LoadError::Parse { position, .. } | LoadError::Unsupported { position, .. } = &mut error {
        position.file.push_str(" (LLVM IR from clang)");
    }
    error
}

enum InputKind {
    Source,
    LlvmIr,
}

/// What a file is, from its extension; it must exist.
fn input_kind(path: &Path) -> Result<InputKind, LoadError> {
    let metadata = path.metadata().map_err(|error| unreadable(path, &error))?;
    if metadata.is_dir() {
        return Err(LoadError::NotReadable { path: path.to_path_buf(), reason: "it is a directory".into() });
    }
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("c" | "i" | "cc" | "cp" | "cpp" | "cxx" | "c++" | "C" | "CPP" | "ii") => Ok(InputKind::Source),
        // Bitcode is read as text to say that it is not.
        Some("ll" | "bc") => Ok(InputKind::LlvmIr),
        _ => Err(LoadError::UnknownKind { path: path.to_path_buf() }),
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> LoadError {
    match error.kind() {
        std::io::ErrorKind::NotFound => LoadError::NotFound { path: path.to_path_buf() },
        _ => LoadError::NotReadable { path: path.to_path_buf(), reason: error.to_string() },
    }
}

fn read(path: &Path) -> Result<Vec<u8>, LoadError> {
    std::fs::read(path).map_err(|error| unreadable(path, &error))
}

fn utf8(file: &str, bytes: Vec<u8>) -> Result<String, LoadError> {
    String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        let bytes = error.as_bytes();
        LoadError::NotUtf8 {
            position: error::position_of(file, bytes, offset),
            bitcode: bytes.starts_with(b"BC\xC0\xDE"),
        }
    })
}
