//! Runs the user's clang.
//!
//! clang is called as a program, never linked, so that any version from 14 on will do. The flags ask for unoptimised
//! IR in textual form with debug information and names: at higher levels clang merges and hoists plain loads, drops
//! dependencies and turns endless loops into `unreachable`, so that what would be checked is no longer what was
//! written. The user's own flags come last and may say otherwise.

use crate::error::LoadError;
use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The newest versioned name that is looked for (`clang-40`), and the oldest that works.
const VERSIONS: std::ops::RangeInclusive<u32> = 14..=40;

/// The environment variable that names the clang to use.
pub const CLANG_VARIABLE: &str = "SELVEDGE_CLANG";

/// How clang is called.
#[derive(Clone, Debug, Default)]
pub struct ClangOptions {
    /// The program; if none, `SELVEDGE_CLANG`, then `clang`, then `clang-NN`, newest first.
    pub program: Option<PathBuf>,
    /// Macro definitions, `NAME` or `NAME=VALUE`, passed as `-D`.
    pub defines: Vec<String>,
    /// Directories to search for headers, passed as `-I`.
    pub include_dirs: Vec<PathBuf>,
    /// Further flags, passed as they are, last.
    pub flags: Vec<OsString>,
}

/// What clang made of a file.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// Textual LLVM IR.
    pub ir: Vec<u8>,
    /// Warnings, as clang wrote them.
    pub warnings: String,
}

/// Finds the clang to use.
pub fn find_clang(options: &ClangOptions) -> Result<PathBuf, LoadError> {
    let chosen = match &options.program {
        Some(program) => Some(program.clone().into_os_string()),
        None => std::env::var_os(CLANG_VARIABLE).filter(|value| !value.is_empty()),
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    if let Some(program) = chosen {
        return look_up(&program, &path)
            .ok_or_else(|| LoadError::ClangMissing { tried: vec![program.to_string_lossy().into_owned()] });
    }
    let names = std::iter::once("clang".to_string()).chain(VERSIONS.rev().map(|n| format!("clang-{n}")));
    for name in names {
        if let Some(found) = look_up(OsStr::new(&name), &path) {
            return Ok(found);
        }
    }
    let tried = vec![format!("${CLANG_VARIABLE}"), "clang".into(), format!("clang-{} and older", VERSIONS.end())];
    Err(LoadError::ClangMissing { tried })
}

/// A program by path or by name in the directories of `path`.
fn look_up(program: &OsStr, path: &OsStr) -> Option<PathBuf> {
    let direct = Path::new(program);
    if direct.components().count() > 1 {
        return is_executable(direct).then(|| direct.to_path_buf());
    }
    std::env::split_paths(path).map(|dir| dir.join(program)).find(|candidate| is_executable(candidate))
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}

/// The arguments of clang for one file.
fn arguments(file: &Path, options: &ClangOptions, color: bool) -> Vec<OsString> {
    let mut args: Vec<OsString> = [
        "-S",
        "-emit-llvm",
        "-g",
        "-O0",
        "-Xclang",
        "-disable-O0-optnone",
        "-fno-discard-value-names",
        if color { "-fcolor-diagnostics" } else { "-fno-color-diagnostics" },
    ]
    .into_iter()
    .map(OsString::from)
    .collect();
    args.extend(options.defines.iter().map(|define| OsString::from(format!("-D{define}"))));
    for dir in &options.include_dirs {
        args.extend([OsString::from("-I"), dir.clone().into_os_string()]);
    }
    args.extend(options.flags.iter().cloned());
    args.extend([OsString::from("-o"), OsString::from("-")]);
    // A name that starts with a dash is not a flag.
    let dashed = file.as_os_str().to_string_lossy().starts_with('-');
    args.push(if dashed { Path::new(".").join(file).into_os_string() } else { file.as_os_str().to_os_string() });
    args
}

/// Compiles a C or C++ file to textual LLVM IR.
pub fn compile(program: &Path, file: &Path, options: &ClangOptions) -> Result<Compiled, LoadError> {
    let color = std::io::stderr().is_terminal();
    let output =
        Command::new(program).args(arguments(file, options, color)).stdin(Stdio::null()).output().map_err(|error| {
            LoadError::ClangUnusable {
                program: program.display().to_string(),
                reason: format!("cannot be run: {error}"),
            }
        })?;
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        return Err(LoadError::ClangFailed { path: file.to_path_buf(), stderr });
    }
    Ok(Compiled { ir: output.stdout, warnings: stderr })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_flags_come_after_ours_and_before_the_file() {
        let options = ClangOptions {
            defines: vec!["N=3".into()],
            include_dirs: vec!["inc".into()],
            flags: vec!["-O1".into()],
            ..ClangOptions::default()
        };
        let args = arguments(Path::new("a.c"), &options, false);
        let text: Vec<_> = args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
        assert_eq!(text[text.len() - 7..], ["-DN=3", "-I", "inc", "-O1", "-o", "-", "a.c"]);
        assert!(text.contains(&"-emit-llvm".to_string()));
    }

    #[test]
    fn a_file_name_with_a_dash_is_not_a_flag() {
        let args = arguments(Path::new("-x.c"), &ClangOptions::default(), false);
        assert_eq!(args.last().map(|arg| arg.to_string_lossy().into_owned()).as_deref(), Some("./-x.c"));
    }

    #[test]
    fn a_missing_clang_is_reported_by_name() {
        let options = ClangOptions { program: Some("/no/such/clang".into()), ..ClangOptions::default() };
        let error = find_clang(&options).expect_err("it does not exist");
        assert!(error.to_string().contains("/no/such/clang"), "{error}");
        assert!(error.to_string().contains("apt install clang"), "{error}");
    }
}
