//! The interpreter against the real run-time system: hundreds of expressions, each in a function of its own, give the same
//! value or the same class and reason of an exception in both.

use selvedge_erlang::atom::Atom;
use selvedge_erlang::etf;
use selvedge_erlang::evaluate::{NoValue, evaluate};
use selvedge_erlang::loader::{Otp, Sources};
use selvedge_erlang::system::System;
use selvedge_erlang::term::Term;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

const PRELUDE: &str = include_str!("sequential/prelude.erl");
const FUEL: u64 = 10_000_000;

/// A module with a function `eN` for each expression, in a file.
fn module(dir: &Path, name: &str, expressions: &[&str]) -> std::path::PathBuf {
    let mut text = format!("-module({name}).\n{PRELUDE}\nall() -> [{{F, run(F)}} || F <- names()].\nnames() -> [");
    let names: Vec<String> = (0..expressions.len()).map(|n| format!("e{n}")).collect();
    text.push_str(&names.join(", "));
    text.push_str("].\n");
    for (n, expression) in expressions.iter().enumerate() {
        let _ = writeln!(text, "e{n}() -> {expression}.");
    }
    let path = dir.join(format!("{name}.erl"));
    std::fs::write(&path, text).unwrap();
    path
}

/// What the real run-time system says.
fn real(dir: &Path, name: &str) -> Vec<Term> {
    let script = format!(
        "{{ok, _}} = compile:file({name}, [nowarn_unused_vars, report_errors]), \
         ok = file:write_file(\"{name}.out\", term_to_binary({name}:all())), halt()."
    );
    let run = Command::new("erl").args(["-noinput", "-eval", &script]).current_dir(dir).output().unwrap();
    let bytes = std::fs::read(dir.join(format!("{name}.out")));
    let bytes = bytes.unwrap_or_else(|_| panic!("erl failed: {}", String::from_utf8_lossy(&run.stdout)));
    etf::decode(&bytes).unwrap().to_vec().unwrap()
}

fn agree(name: &str, text: &str) {
    let dir = tempfile::tempdir().unwrap();
    let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('%'));
    let expressions: Vec<&str> = lines.collect();
    let path = module(dir.path(), name, &expressions);
    let expected = real(dir.path(), name);
    assert_eq!(expected.len(), expressions.len());
    let otp = Otp::compile(&Sources { files: vec![path], ..Sources::default() }).unwrap();
    let mut system = System::new(Box::new(otp));
    let mut wrong = String::new();
    for (n, (expression, expected)) in expressions.iter().zip(expected).enumerate() {
        let expected = expected.as_tuple().unwrap()[1].clone();
        let args = vec![Term::atom(&format!("e{n}"))];
        match evaluate(&mut system, Atom::new(name), Atom::new("run"), args, FUEL) {
            Ok(value) if value == expected => {}
            Ok(value) => {
                let _ = writeln!(wrong, "{expression}\n    is   {value}\n    erl: {expected}");
            }
            Err(NoValue::Problem(problem, trace)) => {
                let trace = Term::list(trace);
                let _ = writeln!(wrong, "{expression}\n    {problem:?} in {trace}\n    erl: {expected}");
            }
            Err(NoValue::NeedsEngine(trace)) => {
                let trace = Term::list(trace);
                let _ = writeln!(wrong, "{expression}\n    needs the engine in {trace}\n    erl: {expected}");
            }
            Err(other) => {
                let _ = writeln!(wrong, "{expression}\n    fails {other:?}\n    erl: {expected}");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Terms are nested and code is deep: the tests have room.
fn with_room(test: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(1 << 28).spawn(test).unwrap().join().unwrap();
}

#[test]
fn numbers_agree_with_erl() {
    with_room(|| agree("numbers", include_str!("sequential/numbers.txt")));
}

#[test]
fn lists_and_tuples_agree_with_erl() {
    with_room(|| agree("lists_and_tuples", include_str!("sequential/lists.txt")));
}

#[test]
fn maps_agree_with_erl() {
    with_room(|| agree("some_maps", include_str!("sequential/maps.txt")));
}

#[test]
fn binaries_agree_with_erl() {
    with_room(|| agree("binaries", include_str!("sequential/binaries.txt")));
}

#[test]
fn control_and_exceptions_agree_with_erl() {
    with_room(|| agree("control", include_str!("sequential/control.txt")));
}
