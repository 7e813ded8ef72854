//! The machine against the native binary: single-threaded programs print the same and end with the same status.
//!
//! Every program under `tests/native` is compiled by clang to a binary and run, and is loaded and run in the machine, as
//! it was read and after the passes. The binary is what tells right from wrong.

mod common;

use common::{finish, workspace};
use selvedge_ir::Module;
use selvedge_llvm::ClangOptions;
use selvedge_machine::{InterpOptions, Interpreter, Machine, Sc, Status, main_thread};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a run of a program shows.
#[derive(PartialEq, Eq, Debug)]
struct Shown {
    status: i32,
    output: String,
}

fn programs() -> Vec<PathBuf> {
    let directory = workspace().join("tests/native");
    let entries = fs::read_dir(directory).expect("the directory of programs is there");
    let mut files: Vec<PathBuf> = entries.map(|e| e.expect("the directory can be read").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "c"));
    files.sort();
    files
}

fn run_natively(program: &Path) -> Result<Shown, String> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let binary = directory.path().join("program");
    let mut clang = Command::new("clang");
    clang.args(["-w", "-O0", "-o"]).arg(&binary).arg(program);
    let compiled = finish(clang);
    if compiled.code != 0 {
        return Err(format!("clang: {compiled}"));
    }
    let ended = finish(Command::new(&binary));
    Ok(Shown { status: ended.code, output: ended.out })
}

fn run_in_machine(module: &Module) -> Result<Shown, String> {
    let options = InterpOptions { keep_output: true, ..InterpOptions::default() };
    let machine = Interpreter::new(module, options).map_err(|error| error.to_string())?;
    let mut sc = Sc::start(machine).map_err(|(stop, _)| format!("{stop:?}"))?;
    while sc.enabled(main_thread()) {
        sc.step(main_thread(), 0).map_err(|(_, stop)| format!("{stop:?}"))?;
    }
    match (sc.machine.status(main_thread()), sc.machine.exit_status()) {
        (Status::Finished, Some(status)) => Ok(Shown { status, output: sc.machine.output().to_owned() }),
        (status, _) => Err(format!("main is {status:?} at the end")),
    }
}

/// Compares the three runs of a program.
fn compare(program: &Path) -> Result<(), String> {
    let native = run_natively(program)?;
    if native.output.is_empty() {
        return Err("prints nothing that could be compared".to_owned());
    }
    let loaded = selvedge_llvm::load_quietly(&[program.to_owned()], &ClangOptions::default());
    let mut module = loaded.map_err(|error| error.to_string())?.module;
    same(&native, &run_in_machine(&module)?).map_err(|why| format!("as it was read: {why}"))?;
    selvedge_analysis::prepare(&mut module, &selvedge_analysis::Options::default()).map_err(|e| e.to_string())?;
    same(&native, &run_in_machine(&module)?).map_err(|why| format!("after the passes: {why}"))
}

fn same(native: &Shown, machine: &Shown) -> Result<(), String> {
    let lines = native.output.lines().zip(machine.output.lines()).zip(1..);
    let different = lines.into_iter().find(|((native, machine), _)| native != machine);
    if let Some(((native, machine), line)) = different {
        return Err(format!("line {line} of the output\n  native:  {native}\n  machine: {machine}"));
    }
    let (native_length, length) = (native.output.len(), machine.output.len());
    if native_length != length {
        return Err(format!("{native_length} bytes of output natively, {length} in the machine"));
    }
    if native.status == machine.status {
        Ok(())
    } else {
        Err(format!("status {} natively, {} in the machine", native.status, machine.status))
    }
}

#[test]
fn programs_print_the_same_in_the_machine_as_natively() {
    let programs = programs();
    assert!(programs.len() >= 40, "the programs are there");
    let compared = programs.iter().map(|program| (program, compare(program)));
    let failures: Vec<String> =
        compared.filter_map(|(program, result)| Some(format!("{}: {}", program.display(), result.err()?))).collect();
    assert!(failures.is_empty(), "{} of {} programs differ:\n{}", failures.len(), programs.len(), failures.join("\n"));
}
