//! What the tests share: the clangs that are installed, and programs compiled by them.

#![allow(dead_code)]

use selvedge_llvm::{ClangOptions, LoadError};
use std::path::{Path, PathBuf};

/// All clangs that are installed, at least one.
pub fn clangs() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let names = (14..=40).map(|n| format!("clang-{n}"));
    let mut found: Vec<PathBuf> = names
        .flat_map(|name| std::env::split_paths(&path).map(move |dir| dir.join(&name)).find(|file| file.is_file()))
        .collect();
    if found.is_empty() {
        found.push(selvedge_llvm::clang::find_clang(&ClangOptions::default()).expect("these tests need a clang"));
    }
    found
}

/// Options for a clang and a level of optimisation.
pub fn options(clang: &Path, level: &str) -> ClangOptions {
    ClangOptions { program: Some(clang.to_path_buf()), flags: vec!["-w".into(), level.into()], ..Default::default() }
}

/// The directory of this crate's tests.
pub fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

/// A directory of its own for a test, emptied.
pub fn scratch(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).expect("the directory for temporary files can be written");
    dir
}

/// Writes a source file and loads it.
pub fn load_source(
    test: &str,
    file: &str,
    source: &str,
    clang: &Path,
    level: &str,
) -> Result<selvedge_ir::Module, LoadError> {
    let path = scratch(test).join(file);
    std::fs::write(&path, source).expect("the file can be written");
    selvedge_llvm::load_quietly(&[path], &options(clang, level)).map(|loaded| loaded.module)
}

/// Fails unless the program keeps all rules.
pub fn assert_verified(module: &selvedge_ir::Module, what: &str) {
    if let Err(errors) = selvedge_ir::verify::verify_module(module) {
        panic!("{what}: {errors}");
    }
}
