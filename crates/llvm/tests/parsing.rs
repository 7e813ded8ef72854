//! What the parser rejects, and where it says so.

use selvedge_llvm::{LoadError, parse_str};

/// The line, column and message of a rejection.
fn rejected(text: &str) -> (u32, u32, String) {
    match parse_str("t.ll", text) {
        Err(LoadError::Parse { position, message }) => (position.line, position.column, message),
        Err(LoadError::Unsupported { position, feature }) => (position.line, position.column, feature),
        Err(other) => panic!("another kind of error: {other}"),
        Ok(_) => panic!("accepted:\n{text}"),
    }
}

#[test]
fn an_unknown_attribute_is_an_error_at_its_position() {
    let cases = [
        ("declare void @f(i32 mystery)\n", (1, 21), "mystery"),
        ("declare mystery i32 @f()\n", (1, 9), "mystery"),
        ("declare void @f() mystery\n", (1, 19), "mystery"),
        ("declare void @f() #0\nattributes #0 = { nounwind mystery }\n", (2, 28), "mystery"),
        ("declare void @f() #0\nattributes #0 = { \"mystery\"=\"1\" }\n", (2, 19), "mystery"),
        ("declare void @f(ptr \"mystery\")\n", (1, 21), "mystery"),
    ];
    for (text, place, name) in cases {
        let (line, column, message) = rejected(text);
        assert_eq!((line, column), place, "{text}");
        assert!(message.contains(name) && message.contains("may change"), "{message}");
    }
}

#[test]
fn malformed_text_is_an_error_at_its_position() {
    let cases = [
        ("define i32 @f() {\n  ret i32 %x\n}\n", (2, 11), "`%x` is never defined"),
        ("define i32 @f() {\n  ret i64 0\n}\n", (2, 3), "result type"),
        ("define void @f() {\n  %a = add i32 1, 2\n  %a = add i32 1, 2\n  ret void\n}\n", (3, 3), "defined twice"),
        ("define void @f(i32 %a) {\n  %b = add i64 %a, 2\n  ret void\n}\n", (2, 16), "has type `i32`, not `i64`"),
        ("define void @f() {\n  %b = fadd i32 1, 2\n  ret void\n}\n", (2, 8), "wrong type"),
        ("define void @f() {\n  call void @g()\n  ret void\n}\n", (2, 13), "`@g` is never defined"),
        ("define void @f() {\n  br label %nowhere\n}\n", (2, 12), "never defined"),
        ("define void @f() {\n}\n", (2, 1), "expected an instruction"),
        ("define void @f() {\n  frobnicate i32 1\n}\n", (2, 3), "expected an instruction, found `frobnicate`"),
        ("define void @f() {\n  ret void\n", (3, 1), "the end of the file"),
        ("@x = global i8 256\n", (1, 16), "does not fit"),
        ("@x = global [3 x i8] c\"ab\"\n", (1, 22), "character array of 2 bytes"),
        ("@x = global i32 1\n@x = global i32 2\n", (2, 1), "defined twice"),
        ("@x = global float 0x3FB999999999999A\n", (1, 19), "not exact"),
        ("declare void @f() #3\n", (1, 19), "attribute group `#3`"),
        ("!0 = !{}\n!0 = !{}\n", (2, 1), "defined twice"),
        ("define void @f() {\n  %x = load i32, i32 5\n  ret void\n}\n", (2, 18), "expected a pointer"),
        (
            "define void @f() {\n  store atomic i32 0, ptr null sideways, align 4\n  ret void\n}\n",
            (2, 32),
            "memory order",
        ),
        ("hello\n", (1, 1), "top-level entity"),
        ("\u{e9}\n", (1, 1), "unexpected character"),
    ];
    for (text, place, part) in cases {
        let (line, column, message) = rejected(text);
        assert_eq!((line, column), place, "{text}\n{message}");
        assert!(message.contains(part), "{message} lacks {part}");
    }
}

#[test]
fn what_only_the_whole_function_shows_is_an_error_too() {
    let cases = [
        // A use that its definition does not dominate.
        "define i32 @f(i1 %c, i32 %n) {\nentry:\n  br i1 %c, label %a, label %b\na:\n  %x = add i32 %n, 2\n  br label %b\nb:\n  ret i32 %x\n}\n",
        // A phi that lacks a predecessor.
        "define i32 @f(i1 %c) {\nentry:\n  br i1 %c, label %a, label %b\na:\n  br label %b\nb:\n  %x = phi i32 [ 1, %a ]\n  ret i32 %x\n}\n",
        // A jump to the entry.
        "define void @f() {\nentry:\n  br label %entry\n}\n",
        // A phi behind another instruction.
        "define i32 @f() {\nentry:\n  br label %a\na:\n  %y = add i32 1, 2\n  %x = phi i32 [ 1, %entry ]\n  ret i32 %x\n}\n",
        // The same case twice.
        "define void @f(i32 %x) {\n  switch i32 %x, label %a [ i32 1, label %a\n i32 1, label %a ]\na:\n  ret void\n}\n",
    ];
    for text in cases {
        assert!(matches!(parse_str("t", text), Err(LoadError::Parse { .. })), "{text}");
    }
}

#[test]
fn other_targets_are_refused_by_name() {
    let (_, _, feature) = rejected("target triple = \"armv7-linux-gnueabihf\"\n");
    assert!(feature.contains("armv7") && feature.contains("x86_64"), "{feature}");
    let (_, _, feature) = rejected("target datalayout = \"E-m:e\"\n");
    assert!(feature.contains("big-endian"), "{feature}");
}

#[test]
fn module_assembly_is_refused_unless_it_is_only_a_comment_on_the_file() {
    let (line, _, feature) = rejected("\nmodule asm \".globl x\"\n");
    assert_eq!((line, feature.as_str()), (2, "module-level assembly"));
    assert!(parse_str("t", "module asm \".ident \\22gcc\\22\"\n").is_ok());
}

#[test]
fn implicit_numbers_of_values_and_blocks_follow_llvm() {
    // Parameters are %0 and %1, the entry block is %2, the sum is %3.
    let text = "define i32 @f(i32, i32) {\n  %3 = add i32 %0, %1\n  br label %4\n4:\n  %5 = phi i32 [ %3, %2 ]\n  ret i32 %5\n}\n";
    assert!(parse_str("t", text).is_ok());
    // Results need not be numbered at all.
    let text = "define i32 @f() {\n  add i32 1, 2\n  ret i32 %1\n}\n";
    assert!(parse_str("t", text).is_ok());
}

#[test]
fn named_metadata_behind_a_global_or_declaration_is_no_attachment() {
    for text in [
        "@x = global i32 0, align 4, !dbg !0\n!llvm.dbg.cu = !{}\n!0 = !{}\n",
        "declare void @f()\n!llvm.dbg.cu = !{}\n",
        "declare !dbg !0 void @f()\n!0 = !{}\n!llvm.dbg.cu = !{}\n",
    ] {
        parse_str("t", text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    }
}
