//! Everything that clang emits for C and plain C++ parses, lowers and keeps the rules of the representation.
//!
//! The programs under `tests/programs` are compiled by every installed clang at several levels of optimisation. The text
//! under `tests/dialects` shows what other versions write.

mod common;

use common::{assert_verified, clangs, directory, options};
use std::path::PathBuf;

fn files(dir: &str, extensions: &[&str]) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(directory().join(dir))
        .expect("the directory is there")
        .map(|entry| entry.expect("the directory can be read").path())
        .filter(|path| path.extension().is_some_and(|e| extensions.contains(&e.to_string_lossy().as_ref())))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no files in {dir}");
    files
}

fn compile_all(extensions: &[&str], levels: &[&str], flags: &[&str]) {
    for clang in clangs() {
        for &level in levels {
            for program in files("programs", extensions) {
                let what = format!("{} by {} {level}", program.display(), clang.display());
                let mut options = options(&clang, level);
                options.flags.extend(flags.iter().map(Into::into));
                match selvedge_llvm::load_quietly(&[program], &options) {
                    Ok(loaded) => assert_verified(&loaded.module, &what),
                    Err(error) => panic!("{what}: {error}"),
                }
            }
        }
    }
}

#[test]
fn c_of_every_kind_is_loaded() {
    compile_all(&["c"], &["-O0", "-O1", "-O2"], &[]);
}

#[test]
fn cpp_of_every_kind_is_loaded() {
    compile_all(&["cpp"], &["-O0", "-O2"], &["-std=c++17"]);
}

#[test]
fn dialects_of_other_versions_are_loaded() {
    for file in files("dialects", &["ll"]) {
        let loaded = selvedge_llvm::load_quietly(std::slice::from_ref(&file), &Default::default());
        match loaded {
            Ok(loaded) => assert_verified(&loaded.module, &file.display().to_string()),
            Err(error) => panic!("{error}"),
        }
    }
}
