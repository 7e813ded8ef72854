//! Every pass on small functions in the text form: what goes in, what comes out.

mod control_flow;
mod folding;
mod inlining;
mod objects;
mod ssa;
mod tidying;
mod together;

use selvedge_analysis::{
    CallGraph, Frontiers, LoopForest, Options, cleanup, dce, fold, inline, mem2reg, prepare, sroa,
};
use selvedge_ir::print::function_text;
use selvedge_ir::{Block, Cfg, Dominators, EntityRef, FuncId, Function, Module, parse_module, verify_module};

/// What every test may refer to.
const HEAD: &str = "global @x : 4 align 4\ndeclare @use(i32)\ndeclare @take(ptr)\n";

fn module(functions: &str) -> Module {
    let text = format!("{HEAD}{functions}");
    let module = parse_module(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    verify_module(&module).unwrap_or_else(|errors| panic!("{errors}"));
    module
}

/// The function `@f` of a module.
fn f(module: &Module) -> FuncId {
    module.function_named("f").expect("the test defines `@f`")
}

fn same(module: &Module, expected: &str) {
    verify_module(module).unwrap_or_else(|errors| panic!("{errors}"));
    let found = function_text(module, f(module)).to_string();
    let trim = |text: &str| text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
    assert_eq!(trim(&found), trim(expected), "found:\n{found}");
}

/// Runs a pass over `@f` and compares.
fn becomes(pass: fn(&mut Function) -> bool, text: &str, expected: &str) {
    let mut module = module(text);
    let id = f(&module);
    assert!(pass(&mut module.functions[id]), "the pass says that it changed nothing");
    same(&module, expected);
}

/// Runs a pass over `@f`, which must not change it.
fn stays(pass: fn(&mut Function) -> bool, text: &str) {
    let mut module = module(text);
    let id = f(&module);
    let before = module.to_string();
    assert!(!pass(&mut module.functions[id]), "the pass says that it changed something:\n{module}");
    assert_eq!(module.to_string(), before);
}

fn blocks(numbers: &[usize]) -> Vec<Block> {
    numbers.iter().map(|&n| Block::new(n)).collect()
}
