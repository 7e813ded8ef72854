//! What LLVM's constructs become, in the text form of the representation.

use selvedge_llvm::parse_str;

/// The instructions of the first function that has a body, one per line, without positions.
fn body(text: &str) -> Vec<String> {
    let module = parse_str("t", text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    selvedge_ir::verify::verify_module(&module).unwrap_or_else(|errors| panic!("{errors}"));
    let printed = module.to_string();
    let mut lines = printed.lines().skip_while(|line| !(line.starts_with("func") && line.ends_with('{')));
    lines.next();
    lines.take_while(|line| *line != "}").map(|line| line.trim().to_string()).collect()
}

/// Whether some instruction contains all of these parts.
fn has(lines: &[String], parts: &[&str]) -> bool {
    lines.iter().any(|line| parts.iter().all(|part| line.contains(part)))
}

#[test]
fn aggregates_become_lists_of_scalars() {
    let lines = body(
        "define { i32, ptr } @f({ i32, ptr } %a, i32 %x) {\n  %b = insertvalue { i32, ptr } %a, i32 %x, 0\n  ret { i32, ptr } %b\n}\n",
    );
    assert_eq!(lines.len(), 2, "nothing to compute: {lines:?}");
    assert!(has(&lines, &["ret v2, v1"]), "{lines:?}");
}

#[test]
fn a_struct_is_read_field_by_field_at_its_offsets() {
    let lines = body(
        "define i64 @f(ptr %p) {\n  %v = load { i8, i64 }, ptr %p\n  %x = extractvalue { i8, i64 } %v, 1\n  ret i64 %x\n}\n",
    );
    assert!(has(&lines, &["load i8 v0"]), "{lines:?}");
    assert!(has(&lines, &["ptradd v0", "8"]), "{lines:?}");
    assert!(has(&lines, &["load i64"]), "{lines:?}");
}

#[test]
fn odd_widths_are_stored_in_as_many_bytes_as_they_need() {
    let lines = body("define void @f(ptr %p, i24 %v) {\n  store i24 %v, ptr %p\n  ret void\n}\n");
    assert!(has(&lines, &["store i24 v1, v0"]), "{lines:?}");
    let lines = body("define void @f(ptr %p, i96 %v) {\n  store i96 %v, ptr %p\n  ret void\n}\n");
    assert!(has(&lines, &["store i64 v1, v0"]) && has(&lines, &["store i32 v2"]), "{lines:?}");
}

#[test]
fn a_parameter_by_value_is_copied_by_the_callee() {
    let lines = body(
        "%s = type { [4 x i64] }\ndefine void @f(ptr byval(%s) align 8 %p) {\n  store i64 1, ptr %p\n  ret void\n}\n",
    );
    assert!(has(&lines, &["alloca 32"]), "{lines:?}");
    assert!(has(&lines, &["memcpy", "v0", "32"]), "{lines:?}");
    assert!(!has(&lines, &["store i64 1, v0"]), "the caller's struct must not be written: {lines:?}");
}

#[test]
fn address_computations_become_pointer_arithmetic() {
    let text = "%n = type { i32, [8 x { i16, i32 }] }\n@g = global %n zeroinitializer\n\
        define ptr @f(ptr %p, i32 %i) {\n  %a = getelementptr %n, ptr %p, i64 2, i32 1, i32 %i, i32 1\n  store ptr getelementptr (%n, ptr @g, i64 0, i32 1, i64 3), ptr %a\n  ret ptr %a\n}\n";
    let lines = body(text);
    // 2 * 68 + 4 + i * 8 + 4.
    assert!(has(&lines, &["ptradd v0", "* 8 + 144"]), "{lines:?}");
    assert!(has(&lines, &["store ptr @g+28"]), "{lines:?}");
}

#[test]
fn typed_and_opaque_pointers_become_the_same_program() {
    let typed = "%s = type { i32, %s* }\n@g = global %s* null\ndefine i32 @f(%s* %p, i32 (i32)* %h) {\n\
        \x20 %a = getelementptr inbounds %s, %s* %p, i32 0, i32 1\n  %q = load %s*, %s** %a\n  %b = bitcast %s* %q to i32*\n\
        \x20 %v = load i32, i32* %b\n  %r = call i32 %h(i32 %v)\n  store %s* %q, %s** @g\n  ret i32 %r\n}\n";
    let opaque = "%s = type { i32, ptr }\n@g = global ptr null\ndefine i32 @f(ptr %p, ptr %h) {\n\
        \x20 %a = getelementptr inbounds %s, ptr %p, i32 0, i32 1\n  %q = load ptr, ptr %a\n\
        \x20 %v = load i32, ptr %q\n  %r = call i32 %h(i32 %v)\n  store ptr %q, ptr @g\n  ret i32 %r\n}\n";
    assert_eq!(body(typed), body(opaque));
}

#[test]
fn atomics_keep_their_orders() {
    let lines = body(
        "define void @f(ptr %p) {\n  %a = load atomic i32, ptr %p acquire, align 4\n  store atomic i32 %a, ptr %p release, align 4\n\
         \x20 %b = atomicrmw umax ptr %p, i32 3 acq_rel, align 4\n  %c = cmpxchg weak ptr %p, i32 %a, i32 %b seq_cst monotonic, align 4\n\
         \x20 %d = extractvalue { i32, i1 } %c, 1\n  fence seq_cst\n  fence syncscope(\"singlethread\") acquire\n  %e = load volatile i32, ptr %p\n  ret void\n}\n",
    );
    for parts in [
        &["load i32", "acq"][..],
        &["store i32", "rel"],
        &["rmw umax i32", "acqrel"],
        &["cas", "weak", "sc", "rlx"],
        &["fence sc"],
        &["load i32", "volatile"],
    ] {
        assert!(has(&lines, parts), "{parts:?} in {lines:?}");
    }
    let fences = lines.iter().filter(|line| line.contains("fence")).count();
    assert_eq!(fences, 1, "a fence against signal handlers does nothing between threads: {lines:?}");
}

#[test]
fn thread_local_variables_are_addressed_per_thread() {
    let text = "@t = thread_local global i32 5\ndeclare ptr @llvm.threadlocal.address.p0(ptr)\n\
        define i32 @f() {\n  %a = call ptr @llvm.threadlocal.address.p0(ptr @t)\n  %x = load i32, ptr %a\n  %y = load i32, ptr @t\n  ret i32 %y\n}\n";
    let lines = body(text);
    let count = lines.iter().filter(|line| line.contains("= thread_local @t")).count();
    assert_eq!(count, 2, "{lines:?}");
    let named = lines.iter().filter(|line| line.contains("load i32") && line.contains("\"t\"")).count();
    assert_eq!(named, 2, "{lines:?}");
}

#[test]
fn what_cannot_be_executed_is_an_instruction_with_its_name() {
    let cases = [
        ("call void asm sideeffect \"cpuid\", \"~{eax}\"()", "cpuid"),
        ("%x = fadd x86_fp80 0xK3FFF8000000000000000, 0xK3FFF8000000000000000", "long double"),
        ("%x = load i32, ptr addrspace(256) null", "address space 256"),
        ("%x = call i64 @llvm.readcyclecounter()", "llvm.readcyclecounter"),
        ("%x = load atomic i128, ptr null seq_cst, align 16", "more than 8 bytes"),
        ("%x = call i32 @setjmp(ptr null) returns_twice", "returns twice"),
        ("%x = load <8 x i1>, ptr null", "vector of bits"),
        ("br label %b\nb:\n  %x = phi <vscale x 4 x i32> [ undef, %0 ]", "vscale"),
        ("musttail call void (i32, ...) @va(i32 1, ...)", "variadic"),
    ];
    for (instruction, name) in cases {
        let text = format!(
            "declare i64 @llvm.readcyclecounter()\ndeclare i32 @setjmp(ptr)\ndeclare void @va(i32, ...)\ndefine void @f() {{\n  {instruction}\n  ret void\n}}\n"
        );
        let lines = body(&text);
        assert!(has(&lines, &["unsupported", name]), "{instruction}: {lines:?}");
        assert!(has(&lines, &["ret"]), "lowering goes on: {lines:?}");
    }
}

#[test]
fn known_assembly_is_executed() {
    let lines = body(
        "define i32 @f(i32 %x) {\n  call void asm sideeffect \"\", \"~{memory}\"()\n  call void asm sideeffect \"mfence\", \"~{memory}\"()\n\
         \x20 %y = call i32 asm \"\", \"=r,0\"(i32 %x)\n  ret i32 %y\n}\n",
    );
    assert!(has(&lines, &["fence sc"]) && has(&lines, &["ret v0"]), "{lines:?}");
    assert_eq!(lines.len(), 3, "{lines:?}");
}

#[test]
fn an_invoke_goes_on_normally() {
    let text = "declare i32 @g()\ndeclare i32 @personality(...)\ndefine i32 @f() personality ptr @personality {\nentry:\n\
        \x20 %x = invoke i32 @g() to label %ok unwind label %bad\nok:\n  %y = phi i32 [ %x, %entry ]\n  ret i32 %y\n\
        bad:\n  %l = landingpad { ptr, i32 } cleanup\n  resume { ptr, i32 } %l\n}\n";
    let lines = body(text);
    assert!(has(&lines, &["call", "@g"]) && has(&lines, &["phi"]), "{lines:?}");
    assert!(!has(&lines, &["unsupported"]), "the handler cannot be reached: {lines:?}");
}

#[test]
fn block_addresses_are_cases_of_a_switch() {
    let text = "@table = constant [2 x ptr] [ptr blockaddress(@f, %a), ptr blockaddress(@f, %b)]\n\
        define i32 @f(i64 %i) {\nentry:\n  %p = getelementptr [2 x ptr], ptr @table, i64 0, i64 %i\n  %t = load ptr, ptr %p\n\
        \x20 indirectbr ptr %t, [label %a, label %b]\na:\n  ret i32 1\nb:\n  ret i32 2\n}\n";
    let lines = body(text);
    assert!(has(&lines, &["switch i64"]), "{lines:?}");
    let module = parse_str("t", text).expect("it was loaded before");
    let table = module.globals.values().next().expect("there is one global");
    assert_eq!((table.data[0], table.data[8]), (2, 3), "blocks are numbered from one");
}

#[test]
fn initialisers_are_bytes_and_relocations() {
    let text = "@s = private unnamed_addr constant [3 x i8] c\"hi\\00\"\ndeclare void @h()\n\
        @g = global { i8, i32, ptr, ptr, i16 } { i8 1, i32 -2, ptr getelementptr ([3 x i8], ptr @s, i64 0, i64 1), ptr @h, i16 0 }\n\
        @f = global [2 x float] [float 1.0, float -2.5]\n@w = global i96 18446744073709551617\n@z = global [4 x i32] zeroinitializer\n";
    let module = parse_str("t", text).expect("it loads");
    let global = |name: &str| &module.globals[module.global_named(name).expect("it is there")];
    let g = global("g");
    assert_eq!(g.size, 32);
    assert_eq!(&g.data[..8], &[1, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff]);
    let relocs: Vec<_> = g.relocs.iter().map(|reloc| (reloc.offset, reloc.addend)).collect();
    assert_eq!(relocs, [(8, 1), (16, 0)]);
    assert_eq!(global("f").data, [0, 0, 0x80, 0x3f, 0, 0, 0x20, 0xc0]);
    assert_eq!(global("w").data, [1, 0, 0, 0, 0, 0, 0, 0, 1]);
    assert!(global("z").data.is_empty());
    assert_eq!(global("s").source_name, "\"hi\"");
    assert!(global("s").constant);
}

#[test]
fn constructors_run_by_priority_and_destructors_are_registered_first() {
    let text = "@llvm.global_ctors = appending global [2 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @b, ptr null }, { i32, ptr, ptr } { i32 101, ptr @a, ptr null }]\n\
        @llvm.global_dtors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @c, ptr null }]\n\
        define void @a() {\n  ret void\n}\ndefine void @b() {\n  ret void\n}\ndefine void @c() {\n  ret void\n}\n";
    let module = parse_str("t", text).expect("it loads");
    let names: Vec<&str> = module.constructors.iter().map(|&id| module.functions[id].name.as_str()).collect();
    assert_eq!(names, ["selvedge.register_destructors", "a", "b"]);
    assert!(module.function_named("atexit").is_some());
}

#[test]
fn an_edge_that_cannot_be_taken_leaves_no_trace_in_phis() {
    let text = "define i32 @f(i128 %x) {\nentry:\n  switch i128 %x, label %b [ i128 1, label %a ]\n\
        a:\n  br label %b\nb:\n  %p = phi i32 [ 1, %entry ], [ 2, %a ]\n  ret i32 %p\n}\n";
    let lines = body(text);
    assert!(has(&lines, &["unsupported", "switch"]), "{lines:?}");
    let text = "define i32 @f(i1 %c) {\nentry:\n  br i1 %c, label %a, label %b\na:\n  br label %b\n\
        b:\n  %p = phi i32 [ 1, %entry ], [ ptrtoint (ptr @llvm.donothing to i32), %a ]\n  ret i32 %p\n}\ndeclare void @llvm.donothing()\n";
    let lines = body(text);
    assert!(has(&lines, &["unsupported", "llvm.donothing"]), "{lines:?}");
}
