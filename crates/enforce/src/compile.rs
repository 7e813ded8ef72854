//! Compiles a program with its run-time.

use crate::emit::{Dialect, EmitError, Sites, emit};
use crate::plan::{Plan, PlanError};
use crate::tables;
use selvedge_ir::Module;
use selvedge_llvm::clang::find_clang;
use selvedge_llvm::{ClangOptions, LoadError};
use selvedge_schedule::{ArtError, PublishedArt};
use std::path::{Path, PathBuf};
use std::process::Command;
use thiserror::Error;

const RUNTIME: &str = concat!(
    include_str!("runtime/threads.c"),
    include_str!("runtime/waiting.c"),
    include_str!("runtime/turns.c"),
    include_str!("runtime/hooks.c"),
    include_str!("runtime/creation.c"),
);

/// Why a program cannot be run under a schedule.
#[derive(Debug, Error)]
pub enum EnforceError {
    /// The schedule cannot be used.
    #[error("the schedule cannot be used: {0}")]
    Schedule(#[from] ArtError),
    /// The schedule cannot be followed.
    #[error("the schedule cannot be followed: {0}")]
    Plan(#[from] PlanError),
    /// The program cannot be compiled.
    #[error("{0}")]
    Emit(#[from] EmitError),
    /// There is no clang.
    #[error("{0}")]
    Clang(#[from] LoadError),
    /// clang does not take what it is given.
    #[error("clang cannot compile the program for its schedule:\n{0}")]
    Compile(String),
    /// A file cannot be written.
    #[error("cannot write a file: {0}")]
    Io(#[from] std::io::Error),
}

/// What is compiled besides the program, and how.
#[derive(Clone, Debug, Default)]
pub struct CompileOptions {
    /// clang.
    pub clang: ClangOptions,
    /// Further files and flags for linking.
    pub link: Vec<String>,
    /// For tests: the program prints this many steps, in the order in which they were done, and ends; 0 for a program that
    /// runs as it is.
    pub record: usize,
    /// Further flags for all of it.
    pub flags: Vec<String>,
}

/// A program that was compiled, in a directory of its own that goes when it does.
#[derive(Debug)]
pub struct Binary {
    directory: tempfile::TempDir,
}

impl Binary {
    /// The program.
    pub fn path(&self) -> PathBuf {
        self.directory.path().join("program")
    }
}

/// Compiles a program with its plan; without one, it is compiled as it is.
pub fn compile(
    module: &Module,
    plan: Option<(&Plan, &PublishedArt)>,
    options: &CompileOptions,
) -> Result<Binary, EnforceError> {
    let clang = find_clang(&options.clang)?;
    let directory = tempfile::Builder::new().prefix("selvedge-").tempdir()?;
    let none = Sites::default();
    let sites = plan.map_or(&none, |(plan, _)| &plan.sites);
    let dialect = Dialect { opaque_pointers: has_opaque_pointers(&clang, directory.path())? };
    let text = emit(module, sites, dialect)?;
    let tables = plan.map_or_else(tables::without_schedule, |(plan, art)| tables::tables(plan, art));
    let (program, runtime) = (directory.path().join("program.ll"), directory.path().join("runtime.c"));
    std::fs::write(&program, text)?;
    std::fs::write(&runtime, format!("{tables}{RUNTIME}"))?;
    let mut command = Command::new(clang);
    command
        .args(["-O2", "-w", "-pthread", "-x", "ir"])
        .arg(&program)
        .args(["-x", "c", "-std=gnu11", "-D_GNU_SOURCE"])
        .arg(&runtime);
    if options.record > 0 {
        command.arg(format!("-DSELVEDGE_RECORD={}", options.record));
    }
    command
        .args(&options.flags)
        .args(["-x", "none"])
        .args(&options.link)
        .arg("-o")
        .arg(directory.path().join("program"))
        .arg("-lm");
    let output = command.output()?;
    if !output.status.success() {
        return Err(EnforceError::Compile(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    Ok(Binary { directory })
}

/// Whether this clang wants pointers without a type: it is asked to read one.
fn has_opaque_pointers(clang: &Path, directory: &Path) -> Result<bool, EnforceError> {
    let probe = directory.join("probe.ll");
    std::fs::write(&probe, "define void @f(ptr %p) {\n  ret void\n}\n")?;
    let mut command = Command::new(clang);
    command.args(["-w", "-x", "ir", "-S", "-emit-llvm", "-o", "-"]).arg(&probe);
    Ok(command.output()?.status.success())
}
