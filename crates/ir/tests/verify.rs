//! The verifier: every rule has a program that breaks it.

mod random;

use selvedge_ir::{Block, EntityRef, Inst, InstKind, Module, Operand, Type, Value, parse_module, verify_module};

fn errors_of(text: &str) -> String {
    let module = parse_module(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    match verify_module(&module) {
        Ok(()) => String::new(),
        Err(errors) => errors.to_string(),
    }
}

/// Errors in a function with a parameter `v0: i32`, without the name of the function.
fn errors_in(body: &str) -> String {
    let text = format!(
        "global @x : 4 align 4\nglobal @t : 4 align 4 thread_local\n\
         declare @g(i32, ptr) -> i32\ndeclare @p(ptr, ...)\nfunc @f(v0: i32) -> i32 {{\n{body}\n}}\n"
    );
    errors_of(&text).replace("@f, ", "")
}

#[test]
fn a_correct_program_passes() {
    let body = "bb0:
      v1 = call @g(i32 v0, ptr @x)
      call @p(ptr @x, i32 v1, f64 1.0)
      v2 = cmp eq i32 v1, 0
      condbr v2, bb1, bb2
    bb1:
      v3 = phi i32 [bb0: v1], [bb2: v4]
      ret v3
    bb2:
      v4 = add i32 v1, 1
      br bb1
    bb3:
      v5 = add i32 v6, 1
      v6 = add i32 v5, 1
      br bb3";
    assert_eq!(errors_in(body), "");
}

#[test]
fn uses_must_be_dominated() {
    let same_block = "bb0:\n v1 = add i32 v2, 1\n v2 = add i32 1, 1\n ret 0";
    assert_eq!(
        errors_in(same_block),
        "bb0, `v1: i32 = add i32 v2, 1`: the definition of v2 in bb0 does not dominate this use"
    );
    let diamond = "bb0:\n condbr true, bb1, bb2\nbb1:\n v1 = add i32 1, 1\n br bb2\nbb2:\n ret v1";
    assert_eq!(errors_in(diamond), "bb2, `ret v1`: the definition of v1 in bb1 does not dominate this use");
    let phi = "bb0:\n condbr true, bb1, bb2\nbb1:\n v1 = add i32 1, 1\n br bb2\nbb2:\n \
               v2 = phi i32 [bb0: v1], [bb1: v1]\n ret v2";
    assert!(errors_in(phi).ends_with("the definition of v1 in bb1 does not dominate this use"), "{}", errors_in(phi));
    let own = "bb0:\n br bb1\nbb1:\n v1 = phi i32 [bb0: 0], [bb1: v1]\n condbr true, bb1, bb2\nbb2:\n ret v1";
    assert_eq!(errors_in(own), "");
}

#[test]
fn phis_match_predecessors() {
    let missing = "bb0:\n condbr true, bb1, bb2\nbb1:\n br bb2\nbb2:\n v1 = phi i32 [bb0: 1]\n ret v1";
    assert_eq!(errors_in(missing), "bb2, `v1: i32 = phi i32 [bb0: 1]`: the phi has no argument for predecessor bb1");
    let stray = "bb0:\n br bb1\nbb1:\n v1 = phi i32 [bb0: 1], [bb1: 2]\n ret v1";
    assert!(errors_in(stray).ends_with("the phi has an argument for bb1, which is no predecessor"));
    let twice = "bb0:\n br bb1\nbb1:\n v1 = phi i32 [bb0: 1], [bb0: 1]\n ret v1";
    assert!(errors_in(twice).ends_with("the phi has 2 arguments for predecessor bb0"));
    let late = "bb0:\n br bb1\nbb1:\n fence sc\n v1 = phi i32 [bb0: 1]\n ret v1";
    assert!(errors_in(late).ends_with("phis must stand first in their block"));
}

#[test]
fn blocks_end_with_their_only_terminator() {
    assert_eq!(errors_in("bb0:\n br bb1\nbb1:"), "bb1: the block is empty: it needs a terminator");
    assert!(errors_in("bb0:\n fence sc").ends_with("the last instruction of a block must be a terminator"));
    assert!(errors_in("bb0:\n ret 1\n ret 2").ends_with("a terminator must be the last instruction of its block"));
    assert_eq!(errors_in("bb0:\n br bb0"), "bb0: nothing may jump to the entry block");
}

#[test]
fn operand_types_are_checked() {
    let cases = [
        ("v1 = add i64 v0, 1", "an operand is of type i32 where i64 is needed"),
        ("v1 = load i32 v0", "an operand is of type i32 where ptr is needed"),
        ("v1 = add i64 @x, 1", "an operand is of type ptr where i64 is needed"),
        ("v1 = fadd i32 v0, 1", "`fadd` does not work on i32"),
        ("v1 = add ptr @x, null", "`add` does not work on ptr"),
        ("v1 = cmp slt f32 1.0, 2.0", "`slt` does not work on f32"),
        ("v1 = zext i32 v0 to i16", "`zext` cannot convert i32 to i16"),
        ("v1 = bitcast i32 v0 to f64", "`bitcast` cannot convert i32 to f64"),
        ("v1: i64 = add i32 v0, 1", "the results are of types (i64) where (i32) are needed"),
        ("v1 = alloca 4 align 3", "the alignment 3 is not a power of two"),
        ("v1 = load i32 @x, rel", "the memory order `rel` is not possible here"),
        ("store i32 1, @x, acq", "the memory order `acq` is not possible here"),
        ("rmw add i32 @x, 1, plain", "the memory order `plain` is not possible here"),
        ("rmw fadd i32 @x, 1, sc", "`fadd` does not work on i32"),
        ("cas i32 @x, 1, 2, sc, rel", "the memory order `rel` is not possible here"),
        ("fence rlx", "the memory order `rlx` is not possible here"),
        ("call @g(i32 1)", "1 arguments are passed where 2 are needed"),
        ("call @p()", "0 arguments are passed where 1 are needed"),
        ("call @g(i32 1, i64 1)", "argument 1 is of another type than the parameter"),
        ("v1: i64 = call @g(i32 1, ptr @x)", "the results are of types (i64) where (i32) are needed"),
        ("v1 = smax i32 1", "`smax` does not take 1 operands"),
        ("v1 = bswap i12 1", "`bswap` does not work on i12"),
        ("v1 = load i32 @t", "the address of a thread-local global comes from `thread_local` only"),
        ("v1 = thread_local @x", "the global is not thread-local"),
        ("switch i32 v0 [1: bb1, 1: bb1] else bb1\nbb1:", "the case 0x1 stands there twice"),
        ("ret 1, 2\nbb1:", "2 values are returned where 1 are needed"),
    ];
    for (line, message) in cases {
        let errors = errors_in(&format!("bb0:\n  {line}\n  ret 0"));
        let errors: Vec<&str> = errors.lines().filter(|line| !line.starts_with("bb1")).collect();
        assert_eq!(errors.len(), 1, "{line}: {errors:?}");
        assert!(errors[0].ends_with(message), "{line}: {errors:?}");
    }
}

#[test]
fn globals_and_tables_are_checked() {
    assert_eq!(errors_of("global @x : 2 = i32 1"), "@x: 4 initial bytes do not fit in 2");
    assert_eq!(errors_of("global @x : 2 align 3"), "@x: the alignment 3 is not a power of two");
    assert_eq!(errors_of("global @x : 8 relocs [4: @x]"), "@x: the address at offset 4 does not fit");
    let thread_local = "global @x : 8 relocs [0: @t]\nglobal @t : 1 thread_local";
    assert_eq!(errors_of(thread_local), "@x: @t is thread-local and has no address of its own");
    assert_eq!(
        errors_of("loc loc1 = 1:1 at loc2\nloc loc2 = 1:1 at loc1"),
        "loc1: the position is inlined into itself"
    );
}

/// A module that `break_it` damages.
fn broken(break_it: impl FnOnce(&mut Module)) -> String {
    let text = "func @f(v0: i32) -> i32 {\nbb0:\n v1 = add i32 v0, 1\n br bb1\nbb1:\n ret v1\n}";
    let mut module = parse_module(text).expect("the text is right");
    assert_eq!(verify_module(&module), Ok(()));
    break_it(&mut module);
    verify_module(&module).expect_err("it was broken").to_string()
}

#[test]
fn indices_out_of_range_are_reported_and_not_followed() {
    let f = selvedge_ir::FuncId::new(0);
    let (bb0, bb1) = (Block::new(0), Block::new(1));
    let operand = broken(|m| {
        m.functions[f].insts[Inst::new(0)].kind.map_operands(|_| Operand::Value(Value::new(99)));
    });
    assert!(operand.contains("v99 does not exist"), "{operand}");
    let target = broken(|m| {
        m.functions[f].insts[Inst::new(1)].kind.map_successors(|_| Block::new(7));
    });
    assert_eq!(target, "@f, bb0, `br bb7`: bb7 does not exist");
    let stray = broken(|m| m.functions[f].blocks[bb0].insts.insert(0, Inst::new(50)));
    assert_eq!(stray, "@f, bb0: inst50 does not exist");
    let twice = broken(|m| m.functions[f].blocks[bb1].insts.insert(0, Inst::new(0)));
    assert!(twice.contains("the instruction stands in bb0 too"), "{twice}");
    let unplaced = broken(|m| m.functions[f].blocks[bb0].insts.retain(|&inst| inst != Inst::new(0)));
    assert!(unplaced.contains("v1 is used, but its definition stands in no block"), "{unplaced}");
    let param = broken(|m| m.functions[f].params.push(Value::new(1)));
    assert!(param.contains("parameter 1 is v1, which is defined elsewhere"), "{param}");
    let wide = broken(|m| {
        let kind = InstKind::Phi { ty: Type::Int(200), args: Vec::new() };
        m.functions[f].insts[Inst::new(0)].kind = kind;
    });
    assert!(wide.contains("i200 is not a type"), "{wide}");
    let constant = broken(|m| {
        m.functions[f].insts[Inst::new(0)].kind.map_operands(|_| Operand::Const(1 << 40));
    });
    assert!(constant.contains("the constant 0x10000000000 does not fit in i32"), "{constant}");
}

#[test]
fn senseless_modules_never_panic() {
    let correct = (1..=500).filter(|&seed| verify_module(&random::module(seed)).is_ok()).count();
    assert!(correct < 500, "random modules are hardly ever correct");
}
