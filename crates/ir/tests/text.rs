//! The text form: what it looks like, what it accepts, and that it never loses anything.

mod random;

use selvedge_ir::{Block, EntityRef, InstKind, Module, Operand, Value, parse_module};

/// One of everything.
const SAMPLE: &str = r#"module "sample.c"
global @x : 4 align 4 source "count" type0 !loc1
global @text : 6 align 1 constant = string "hello\0"
global @table : 24 align 8 = bytes "0100000002" relocs [8: @x+4, 16: @worker] type4
global @errno : 4 align 4 thread_local
global @"operator new" : 8 align 8 external
declare @printf(ptr "format", ...) -> i32
declare @pthread_create(ptr, ptr, ptr, ptr) -> i32

func @worker(v0 "arg": ptr, v1: i32) -> (ptr, i32) source "worker(void*)" !loc1 {
bb0 "entry":
  v2: ptr = alloca 4 align 4 "i" type0
  v3: ptr = alloca v9 align 1
  v4: i32 = load i32 @x, sc "count" !loc2
  v5: i64 = load i64 @x-8, rlx volatile
  store i32 -1, v2
  store f64 1.5, @x, rel volatile "d.f"
  v6: i32 = rmw umax i32 @x, 7, acqrel
  v7: i32, v8: i1 = cas weak i32 @x, v6, 1, sc, rlx "count"
  v9: i64 = sext i32 v7 to i64
  v10: f32 = sitofp i64 v9 to f32
  v11: f32 = fmul f32 v10, -0.1
  v12: f32 = fneg f32 v11
  v13: i1 = cmp fult f32 v12, 0x7fc00000
  v14: ptr = ptradd v0, offset -16
  v15: ptr = ptradd @table+8, v9 * 12 + 4
  v16: ptr = select ptr v13, v14, null
  fence acq
  memcpy v16, @text, 6
  memmove v16, v15, v9
  memset v16, -1, 100
  condbr v8, bb1, bb2
bb1:
  v17: i32, v18: i1 = sadd_overflow i32 v7, v6
  v19: i32 = ctlz i32 v17, false
  v20: i32 = call @printf(ptr @text, i32 v17, f64 undef) !loc2
  v21: i8 = call *v15(ptr @worker)
  call *@worker()
  va_start v2
  v22: f64 = va_arg f64 v2
  va_copy v2, v3
  v23: ptr = thread_local @errno
  assume v18
  br bb2
bb2:
  v25: i32 = phi i32 [bb0: 5], [bb1: v19]
  v26: i24, v24: ptr = unsupported "inline assembly"
  switch i24 v26 [1: bb3, -2: bb0] else bb4
bb3:
  ret v0, v25
bb4:
  unreachable
}

constructors @worker, @worker

file file0 = "sample.c" in "/src/\"odd\" dir"
loc loc1 = file0 3:1 in "worker"
loc loc2 = 12:0 at loc1
type type0 = base "int" 4 signed
type type1 = base "double" 8 signed float
type type2 = pointer type5
type type3 = pointer
type type4 = array type0 size 4 count 6
type type5 = struct "node" 16 ["next": type2 at 0 size 8, "": type6 at 8 size 4]
type type6 = union "" 4 ["a": type0 at 0 size 4]
type type7 = enum "color" 4 ["RED": 0, "BLUE": -1]
type type8 = opaque "struct hidden"
"#;

fn parse(text: &str) -> Module {
    parse_module(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn error_of(text: &str) -> String {
    parse_module(text).expect_err("the text is wrong").to_string()
}

fn function(body: &str) -> String {
    format!("global @x : 4 align 4\ndeclare @g(i32) -> i32\nfunc @f(v0: i32) -> i32 {{\n{body}\n}}\n")
}

#[test]
fn printing_what_was_parsed_gives_the_same_text() {
    assert_eq!(parse(SAMPLE).to_string(), SAMPLE);
}

#[test]
fn errors_name_the_line_and_column() {
    assert_eq!(
        error_of("func @f() {\nbb0:\n  v1: i128x = load i32 @f\n}"),
        "3:7: expected a type (`i1` to `i64`, `ptr`, `f32`, `f64`), found `i128x`"
    );
    assert_eq!(error_of("global x : 4"), "1:8: expected a name such as `@x`, found `x`");
    assert_eq!(error_of("\n  fun @f() {\n}"), "2:3: unknown statement `fun`");
    assert_eq!(error_of("declare @f()\nglobal @f : 1"), "2:8: this name is already taken");
    assert_eq!(error_of("func @f() {\n}"), "2:1: a function needs a block; write `declare` for one without");
    assert_eq!(error_of("func @f() {\nbb0:\nret"), "3:4: the function does not end: `}` is missing");
    assert_eq!(error_of(&function("bb0:\n  ret v1")), "5:7: `v1` is not defined");
    assert_eq!(error_of(&function("bb0:\n  br bb1")), "5:6: there is no block `bb1`");
    assert_eq!(error_of(&function("bb1:\n  ret 0")), "4:1: blocks are numbered in order: `bb0` comes next");
    assert_eq!(error_of(&function("bb0:\nbb0:")), "5:1: the label `bb0` is already defined");
    assert_eq!(error_of(&function("  ret 0")), "4:8: an instruction must follow a label");
    assert_eq!(error_of(&function("bb0:\n  v0 = add i32 1, 2")), "5:3: `v0` is already defined");
    assert_eq!(
        error_of(&function("bb0:\n  v1, v2 = add i32 1, 2")),
        "5:7: the instruction does not yield so many results"
    );
    assert_eq!(error_of(&function("bb0:\n  v1 = add i8 1, 256")), "5:18: this constant does not fit in i8");
    assert_eq!(error_of(&function("bb0:\n  v1 = add i8 1, -129")), "5:18: this constant does not fit in i8");
    assert_eq!(error_of(&function("bb0:\n  v1 = load i32 @y")), "5:17: there is no global or function `y`");
    assert_eq!(
        error_of(&function("bb0:\n  v1 = load i32 @x, strong")),
        "5:21: expected a memory order, found `strong`"
    );
    assert_eq!(error_of(&function("bb0:\n  frob 1")), "5:3: unknown instruction `frob`");
    assert_eq!(error_of(&function("bb0:\n  ret 0 1")), "5:9: expected `,`, found `1`");
    assert_eq!(error_of(&function("bb0:\n  v1 = call *v0()")), "5:3: this result needs a type");
    assert_eq!(error_of("global @x : 4 = string \"a"), "1:26: the string does not end");
    assert_eq!(error_of("global @x : 4 = string \"ä🦀\""), "1:24: only characters up to U+00FF can be bytes");
    assert_eq!(
        error_of("global @x : 99999999999999999999"),
        "1:13: `99999999999999999999` is not a number of at most 64 bits"
    );
    assert_eq!(error_of("loc loc2 = 1:1"), "1:5: entries are numbered in order: `loc1` comes next");
    assert_eq!(error_of("type type0 = pointer type1"), "1:22: `type1` is not defined");
    assert_eq!(error_of("é"), "1:1: unexpected character `é`");
    assert!(error_of("func @f() {\nbb0:\n v4000000000 = add i8 1, 1\n ret\n}").contains("leave too many unused"));
}

#[test]
fn hand_written_shorthand_is_accepted() {
    let module = parse(
        r#"
        ; names instead of numbers, types of results left out
        global @x : 8 = i32 1, i32 -1
        func @f(n: i32) -> i32 {
        start:
          rmw add i32 @x, 1, sc
          br loop            ; forward
        loop:
          i = phi i32 [start: 0], [loop: next] !"f.c":3:7
          next = add i32 i, 1 !"f.c":4:1
          r = call @f(i32 next) !"f.c":3:7
          more = cmp slt i32 r, n
          condbr more, loop, done
        done:
          switch i32 next [
            1: done,
            2: loop
          ] else end
        end:
          ret next
        }"#,
    );
    assert_eq!(
        module.to_string(),
        r#"module ""
global @x : 8 align 1 = bytes "01000000ffffffff"

func @f(v0 "n": i32) -> i32 {
bb0 "start":
  v1: i32 = rmw add i32 @x, 1, sc
  br bb1
bb1 "loop":
  v2 "i": i32 = phi i32 [bb0: 0], [bb1: v3] !loc1
  v3 "next": i32 = add i32 v2, 1 !loc2
  v4 "r": i32 = call @f(i32 v3) !loc1
  v5 "more": i1 = cmp slt i32 v4, v0
  condbr v5, bb1, bb2
bb2 "done":
  switch i32 v3 [1: bb2, 2: bb1] else bb3
bb3 "end":
  ret v3
}

file file0 = "f.c" in ""
loc loc1 = file0 3:7
loc loc2 = file0 4:1
"#
    );
}

#[test]
fn numbers_in_the_text_are_the_numbers_of_the_values() {
    let module = parse(&function("bb0:\n  v9 = add i32 v0, 1\n  free = add i32 v9, 2\n  ret free"));
    let func = module.functions.values().nth(1).expect("the second function");
    let used: Vec<Operand> = func.placed_insts().flat_map(|(_, inst)| func.insts[inst].kind.operands()).collect();
    let value = |n| Operand::Value(Value::new(n));
    assert_eq!(used, [value(0), Operand::Const(1), value(9), Operand::Const(2), value(1)]);
    assert_eq!(func.values.len(), 10);
    assert_eq!(func.successors(Block::new(0)), []);
}

#[test]
fn constants_are_read_at_the_width_of_their_type() {
    let module =
        parse(&function("bb0:\n  v1 = add i8 -1, 255\n  v2 = fadd f32 0.1, 1\n  v3 = xor i1 true, 1\n  ret 0"));
    let func = module.functions.values().nth(1).expect("the second function");
    let constants = |n: usize| {
        let (_, inst) = func.placed_insts().nth(n).expect("there are enough instructions");
        func.insts[inst].kind.operands().to_vec()
    };
    assert_eq!(constants(0), [Operand::Const(0xff), Operand::Const(0xff)]);
    let bits = |x: f32| Operand::Const(x.to_bits().into());
    assert_eq!(constants(1), [bits(0.1), bits(1.0)]);
    assert_eq!(constants(2), [Operand::Const(1), Operand::Const(1)]);
}

/// Any module, however senseless, survives printing and parsing.
#[test]
fn random_modules_survive_the_round_trip() {
    for seed in 1..=400 {
        let module = random::module(seed);
        let text = module.to_string();
        let again = parse_module(&text).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
        assert_eq!(again.to_string(), text, "seed {seed}");
        assert_eq!(again.globals.len(), module.globals.len());
        assert_eq!((again.locs, again.files, again.types), (module.locs, module.files, module.types), "seed {seed}");
        for (id, func) in module.functions.iter() {
            let kinds = |func: &selvedge_ir::Function| {
                func.placed_insts().map(|(_, inst)| func.insts[inst].kind.clone()).map(without_path).collect::<Vec<_>>()
            };
            assert_eq!(kinds(&again.functions[id]), kinds(func), "seed {seed}");
        }
    }
}

/// Paths are numbered by first use, so only their presence can be compared.
fn without_path(mut kind: InstKind) -> InstKind {
    match &mut kind {
        InstKind::Load { path, .. }
        | InstKind::Store { path, .. }
        | InstKind::Rmw { path, .. }
        | InstKind::Cas { path, .. }
        | InstKind::Await { path, .. } => *path = None,
        _ => {}
    }
    kind
}

#[test]
fn truncated_text_is_an_error_and_never_a_panic() {
    let text = SAMPLE;
    for end in (0..text.len()).filter(|&end| text.is_char_boundary(end)) {
        let _ = parse_module(&text[..end]);
    }
}

#[test]
fn damaged_text_never_panics() {
    let text = SAMPLE;
    let mut random = random::Random::new(7);
    for _ in 0..3_000 {
        let mut bytes = text.as_bytes().to_vec();
        for _ in 0..=random.below(3) {
            let at = random.below(bytes.len());
            match random.below(4) {
                0 => bytes[at] = random.below(256) as u8,
                1 => bytes[at] ^= 1 << random.below(8),
                2 => drop(bytes.remove(at)),
                _ => bytes.insert(at, b"(){}[]\"@:=,!*+-; \n019vbix"[random.below(25)]),
            }
        }
        if let Ok(module) = parse_module(&String::from_utf8_lossy(&bytes)) {
            let text = module.to_string();
            assert_eq!(parse(&text).to_string(), text);
        }
    }
}
