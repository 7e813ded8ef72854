//! Running programs.

use crate::Outcome;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Goes to the root of the workspace, wherever the command was called.
pub fn enter_root() -> Outcome {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace");
    std::env::set_current_dir(root).map_err(|error| format!("{}: {error}", root.display()))
}

/// Shows a command and runs it; an error if it fails.
pub fn run(command: &mut Command) -> Outcome {
    println!("$ {}", shown(command));
    let status = command.status().map_err(|error| not_started(command, &error))?;
    if status.success() { Ok(()) } else { Err(format!("`{}` failed ({status})", shown(command))) }
}

/// A command as one would type it.
pub fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}

/// Why a command could not be started.
pub fn not_started(command: &Command, error: &std::io::Error) -> String {
    format!("`{}` cannot be started: {error}", shown(command))
}

/// The cargo that runs this.
pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Whether a program is in the search path.
pub fn exists(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(program).is_file())
}

/// Builds the `selvedge` command and says where it is.
pub fn build_selvedge() -> Result<PathBuf, String> {
    run(cargo().args(["build", "--release", "--package", "selvedge-cli"]))?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let binary = target.join("release/selvedge");
    let absolute = std::path::absolute(&binary).unwrap_or(binary);
    if absolute.is_file() { Ok(absolute) } else { Err(format!("{} was not built", absolute.display())) }
}
