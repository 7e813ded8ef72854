//! Inputs that are not what they should be: each has an error of its own kind and a message that helps.

mod common;

use common::scratch;
use selvedge_llvm::{ClangOptions, LoadError, load, load_quietly};
use std::path::{Path, PathBuf};

fn write(dir: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, bytes).expect("the file can be written");
    path
}

fn failure(path: PathBuf) -> LoadError {
    load(&[path], &ClangOptions::default()).expect_err("it cannot be loaded")
}

#[test]
fn a_missing_file_is_named() {
    let error = failure("/no/such/file.c".into());
    assert!(matches!(error, LoadError::NotFound { .. }));
    assert_eq!(error.to_string(), "/no/such/file.c: no such file");
}

#[test]
fn a_directory_is_not_a_program() {
    let dir = scratch("directory.c");
    assert!(matches!(failure(dir), LoadError::NotReadable { .. }));
}

#[test]
fn no_input_is_an_error() {
    assert!(matches!(load(&[], &ClangOptions::default()), Err(LoadError::NoInput)));
}

#[test]
fn an_unknown_extension_says_what_is_known() {
    let file = write(&scratch("extension"), "program.py", b"print()");
    let error = failure(file);
    assert!(matches!(error, LoadError::UnknownKind { .. }));
    assert!(error.to_string().contains(".cpp"));
}

#[test]
fn text_that_is_not_utf8_is_placed() {
    let file = write(&scratch("utf8"), "bad.ll", b"; fine\n@x = global [2 x i8] c\"\xff\xfe\"\n");
    match failure(file) {
        LoadError::NotUtf8 { position, bitcode } => {
            assert_eq!((position.line, position.column), (2, 24));
            assert!(!bitcode);
        }
        other => panic!("{other}"),
    }
}

#[test]
fn bitcode_is_recognised() {
    let dir = scratch("bitcode");
    for name in ["x.bc", "x.ll"] {
        let error = failure(write(&dir, name, b"BC\xc0\xde\x35\x14\x00\x00"));
        assert!(error.to_string().contains("llvm-dis"), "{error}");
    }
}

#[test]
fn clangs_own_errors_are_passed_through() {
    let file = write(&scratch("syntax"), "bad.c", b"int main(void) { return x; }\n");
    match failure(file) {
        LoadError::ClangFailed { stderr, .. } => {
            assert!(stderr.contains("use of undeclared identifier 'x'"), "{stderr}");
        }
        other => panic!("{other}"),
    }
}

#[test]
fn text_that_is_not_c_is_clangs_error() {
    let file = write(&scratch("garbage"), "bad.c", &[0xde, 0xad, 0xbe, 0xef, b'\n', 0x80]);
    assert!(matches!(failure(file), LoadError::ClangFailed { .. }));
}

#[test]
fn a_missing_clang_says_how_to_get_it() {
    let file = write(&scratch("noclang"), "good.c", b"int main(void) { return 0; }\n");
    let options = ClangOptions { program: Some("clang-that-is-not-there".into()), ..Default::default() };
    let error = load(&[file], &options).expect_err("there is no such clang");
    assert!(matches!(error, LoadError::ClangMissing { .. }));
    assert!(error.to_string().contains("apt install clang"), "{error}");
}

#[test]
fn a_program_that_is_not_clang_is_reported() {
    let file = write(&scratch("notclang"), "good.c", b"int main(void) { return 0; }\n");
    let options = ClangOptions { program: Some("/bin/true".into()), ..Default::default() };
    // It succeeds and prints nothing: an empty program, which is valid.
    let loaded = load_quietly(std::slice::from_ref(&file), &options).expect("nothing is wrong with it");
    assert!(loaded.module.functions.is_empty());
    let options = ClangOptions { program: Some("/bin/false".into()), ..Default::default() };
    assert!(matches!(load(&[file], &options), Err(LoadError::ClangFailed { .. })));
}

#[test]
fn warnings_are_handed_over() {
    let file = write(&scratch("warnings"), "warn.c", b"int main(void) { int x; return x; }\n");
    let options = ClangOptions { flags: vec!["-Wall".into()], ..Default::default() };
    let loaded = load_quietly(&[file], &options).expect("it is valid C");
    assert!(loaded.warnings.contains("uninitialized"), "{}", loaded.warnings);
}

#[test]
fn defines_and_flags_reach_clang() {
    let dir = scratch("defines");
    write(&dir, "value.h", b"#define VALUE 41\n");
    let file = write(&dir, "main.c", b"#include <value.h>\n#ifndef N\n#error no N\n#endif\nint result = VALUE + N;\n");
    let options = ClangOptions { defines: vec!["N=1".into()], include_dirs: vec![dir], ..Default::default() };
    let loaded = load_quietly(&[file], &options).expect("it is valid C");
    let global = loaded.module.globals.values().next().expect("there is one global");
    assert_eq!(global.data, [42]);
}

#[test]
fn a_truncated_file_is_an_error_with_a_position() {
    let file = write(&scratch("truncated"), "cut.ll", b"define i32 @main() {\n  ret i32");
    match failure(file) {
        LoadError::Parse { position, .. } => assert_eq!(position.line, 2),
        other => panic!("{other}"),
    }
}

#[test]
fn an_empty_file_is_an_empty_program() {
    let file = write(&scratch("empty"), "empty.c", b"");
    let loaded = load_quietly(&[file], &ClangOptions::default()).expect("an empty file is valid C");
    assert!(loaded.module.functions.is_empty());
}
