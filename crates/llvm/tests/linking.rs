//! Several files make one program by the linker's rules.

mod common;

use common::scratch;
use selvedge_ir::{Callee, InstKind, Module};
use selvedge_llvm::{ClangOptions, LoadError, load_quietly};

fn link(test: &str, texts: &[&str]) -> Result<Module, LoadError> {
    let dir = scratch(test);
    let mut files = Vec::new();
    for (n, text) in texts.iter().enumerate() {
        let path = dir.join(format!("{n}.ll"));
        std::fs::write(&path, text).expect("the file can be written");
        files.push(path);
    }
    load_quietly(&files, &ClangOptions::default()).map(|loaded| loaded.module)
}

fn linked(test: &str, texts: &[&str]) -> Module {
    let module = link(test, texts).unwrap_or_else(|error| panic!("{error}"));
    common::assert_verified(&module, test);
    module
}

/// The constants that the functions with a body return, by name.
fn returns(module: &Module, name: &str) -> String {
    let id = module.function_named(name).expect("the function is there");
    selvedge_ir::print::function_text(module, id).to_string()
}

#[test]
fn a_declaration_means_the_definition_in_another_file() {
    let module = linked(
        "resolve",
        &[
            "@x = external global i32\ndeclare i32 @g()\ndefine i32 @main() {\n  %a = call i32 @g()\n  store i32 %a, ptr @x\n  ret i32 %a\n}\n",
            "@x = global i32 7\ndefine i32 @g() {\n  %a = load i32, ptr @x\n  ret i32 %a\n}\n",
        ],
    );
    assert_eq!(module.globals.len(), 1);
    assert_eq!(module.functions.len(), 2);
    assert!(module.functions.values().all(|f| !f.is_declaration()));
    assert!(!module.globals.values().next().expect("one").external);
}

#[test]
fn local_names_stay_apart() {
    let text = |n: u32, name: &str| {
        format!(
            "@x = internal global i32 {n}\ndefine internal i32 @helper() {{\n  ret i32 {n}\n}}\ndefine i32 @{name}() {{\n  %a = call i32 @helper()\n  store i32 %a, ptr @x\n  ret i32 %a\n}}\n"
        )
    };
    let module = linked("local", &[&text(1, "f"), &text(2, "g")]);
    assert_eq!((module.globals.len(), module.functions.len()), (2, 4));
    let callee = |name: &str| {
        let f = &module.functions[module.function_named(name).expect("it is there")];
        f.insts
            .values()
            .find_map(|inst| match inst.kind {
                InstKind::Call { callee: Callee::Direct(id), .. } => Some(id),
                _ => None,
            })
            .expect("it calls")
    };
    assert_ne!(callee("f"), callee("g"));
}

#[test]
fn two_strong_definitions_are_an_error_that_names_both_files() {
    let text = "define i32 @f() {\n  ret i32 1\n}\n";
    let error = link("twice", &[text, text]).expect_err("one name, two functions");
    let message = error.to_string();
    assert!(message.contains("`f`") && message.contains("0.ll") && message.contains("1.ll"), "{message}");
}

#[test]
fn weak_definitions_give_way() {
    let weak = "define weak i32 @f() {\n  ret i32 1\n}\n";
    let once = "define linkonce_odr i32 @f() {\n  ret i32 2\n}\n";
    let strong = "define i32 @f() {\n  ret i32 3\n}\n";
    assert!(returns(&linked("weak1", &[weak, strong]), "f").contains("ret 3"));
    assert!(returns(&linked("weak2", &[strong, weak]), "f").contains("ret 3"));
    assert!(returns(&linked("weak3", &[weak, once]), "f").contains("ret 1"), "the first of several weak ones");
    let copy = "define available_externally i32 @f() {\n  ret i32 4\n}\n";
    assert!(returns(&linked("weak4", &[copy, once]), "f").contains("ret 2"), "a copy is the weakest");
}

#[test]
fn tentative_definitions_merge_to_the_largest() {
    let module = linked(
        "common",
        &["@x = common global [2 x i32] zeroinitializer\n", "@x = common global [5 x i32] zeroinitializer\n"],
    );
    let sizes: Vec<u64> = module.globals.values().map(|g| g.size).collect();
    assert_eq!(sizes, [20]);
    let module = linked("common2", &["@x = common global i32 0\n", "@x = global i32 9\n"]);
    assert_eq!(module.globals.values().next().expect("one").data, [9]);
}

#[test]
fn aliases_mean_what_they_stand_for_in_every_file() {
    let module = linked(
        "alias",
        &[
            "@a = alias i32, ptr @b\n@b = global i32 5\n@f = alias i32 (), ptr @g\ndefine i32 @g() {\n  ret i32 8\n}\n",
            "@a = external global i32\ndeclare i32 @f()\ndefine i32 @main() {\n  %x = load i32, ptr @a\n  %y = call i32 @f()\n  ret i32 %y\n}\n",
        ],
    );
    let main = returns(&module, "main");
    assert!(main.contains("@b") && main.contains("@g"), "{main}");
}

#[test]
fn a_weak_reference_that_nobody_defines_is_null() {
    let text = "declare extern_weak void @hook()\ndefine i1 @has() {\n  %c = icmp ne ptr @hook, null\n  ret i1 %c\n}\n";
    assert!(returns(&linked("weakref", &[text]), "has").contains("ret false"));
    let strong = "define void @hook() {\n  ret void\n}\n";
    assert!(!returns(&linked("weakref2", &[text, strong]), "has").contains("ret false"));
    // libstdc++ asks in this way whether the program has threads.
    let text = text.replace("@hook", "@__pthread_key_create");
    assert!(!returns(&linked("weakref3", &[&text]), "has").contains("ret false"));
}
