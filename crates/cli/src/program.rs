//! From files on disk to a machine that can be run.

use crate::args::InputArgs;
use crate::exit::Failure;
use crate::output;
use selvedge_analysis::LoopReport;
use selvedge_ir::Module;
use selvedge_llvm::{ClangOptions, Loaded};
use selvedge_machine::interp::{InterpOptions, Interpreter};
use selvedge_machine::models::ModelOptions;
use selvedge_report::json;
use selvedge_report::verdict::{Program, RunOptions};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Files with this ending hold a program in Selvedge's own text form, as `selvedge ir` prints it.
const TEXT_FORM: &str = ".sir";

/// What the command line says about the program; the hash is not known yet.
pub fn described(input: &InputArgs) -> Program {
    let text = |path: &PathBuf| path.to_string_lossy().into_owned();
    let directory = std::env::current_dir().map_or(String::new(), |path| text(&path));
    Program {
        inputs: input.inputs.iter().map(text).collect(),
        directory,
        defines: input.defines.clone(),
        include_dirs: input.include_dirs.iter().map(text).collect(),
        clang_flags: input.clang_flags.clone(),
        hash: String::new(),
    }
}

/// Reads the program and, unless it is wanted as it was read, runs the passes over it, with these reductions. clang's
/// warnings are printed.
pub fn load(program: &Program, reductions: Option<&[String]>) -> Result<Module, Failure> {
    let loaded = read(program)?;
    output::clang_said(&loaded.warnings);
    let mut module = loaded.module;
    if let Some(reductions) = reductions {
        prepare(&mut module, program, reductions)?;
    }
    Ok(module)
}

/// Reads the program as it is.
pub fn read(program: &Program) -> Result<Loaded, Failure> {
    match program.inputs.as_slice() {
        [text_form] if text_form.ends_with(TEXT_FORM) => read_text_form(text_form),
        _ => compile(program),
    }
}

/// Whether a reduction is switched on.
pub fn has(reductions: &[String], name: &str) -> bool {
    reductions.iter().any(|other| other == name)
}

/// Runs the passes over a program, and says what became of its loops.
pub fn prepare(module: &mut Module, program: &Program, reductions: &[String]) -> Result<Vec<LoopReport>, Failure> {
    let await_ = has(reductions, "await");
    let purity = await_ || has(reductions, "purity");
    // The graph engine treats loops with further exits as it treats those without.
    let confirm_exits = has(reductions, "confirm-exits") || has(reductions, "speculative");
    let confirm = confirm_exits || has(reductions, "confirm");
    let default = selvedge_analysis::Options::default();
    let options = selvedge_analysis::Options { purity, await_, confirm, confirm_exits, ..default };
    selvedge_analysis::prepare_and_report(module, &options).map_err(|error| match error.pass {
        // A file that was written by hand may well break the rules.
        None => Failure::input(format!("{}: {error}", program.inputs.join(", "))),
        Some(_) => Failure::bug_said(error.to_string()),
    })
}

/// The program that a safe schedule talks about.
pub struct Scheduled {
    pub module: Module,
    pub hash: String,
    /// How long clang took.
    pub clang: Duration,
}

/// The program that a safe schedule talks about, and its hash: what the verifier reads, and what is run. It is the same
/// program however its files are named: `__FILE__`, which every `assert` has in it, is a name without directories.
pub fn for_schedules(program: &Program) -> Result<Scheduled, Failure> {
    let mut named = program.clone();
    let flags = without_directories(program);
    named.clang_flags.splice(0..0, flags);
    let loaded = read(&named)?;
    output::clang_said(&loaded.warnings);
    let mut module = loaded.module;
    selvedge_analysis::prepare(&mut module, &selvedge_analysis::Options::for_schedules()).map_err(
        |error| match error.pass {
            None => Failure::input(format!("{}: {error}", program.inputs.join(", "))),
            Some(_) => Failure::bug_said(error.to_string()),
        },
    )?;
    let hash = hash(&module);
    Ok(Scheduled { module, hash, clang: loaded.clang })
}

/// Flags of clang that take the directories of the program's own files out of `__FILE__`.
fn without_directories(program: &Program) -> Vec<String> {
    let parent = |path: &String| Path::new(path).parent().map(|p| p.to_string_lossy().into_owned());
    let mut directories: Vec<String> = program.inputs.iter().filter_map(parent).collect();
    directories.extend(program.include_dirs.iter().map(|dir| dir.trim_end_matches('/').to_owned()));
    // A header next to a file that is named without a directory is `./header.h`.
    directories.retain(|dir| !dir.is_empty());
    directories.push(".".to_owned());
    directories.sort();
    directories.dedup();
    directories.iter().map(|dir| format!("-fmacro-prefix-map={dir}/=")).collect()
}

/// Reads a program in Selvedge's own text form.
fn read_text_form(path: &str) -> Result<Loaded, Failure> {
    let cannot = |error| Failure::usage(format!("{path}: cannot be read: {error}"));
    let text = std::fs::read_to_string(path).map_err(cannot)?;
    let module = selvedge_ir::parse_module(&text).map_err(|error| Failure::input(format!("{path}:{error}")))?;
    Ok(Loaded { module, warnings: String::new(), clang: Duration::ZERO })
}

fn compile(program: &Program) -> Result<Loaded, Failure> {
    let inputs: Vec<PathBuf> = program.inputs.iter().map(PathBuf::from).collect();
    let options = ClangOptions {
        defines: program.defines.clone(),
        include_dirs: program.include_dirs.iter().map(PathBuf::from).collect(),
        flags: program.clang_flags.iter().map(Into::into).collect(),
        ..ClangOptions::default()
    };
    Ok(selvedge_llvm::load_quietly(&inputs, &options)?)
}

/// A hash of what is executed. Names of files and directories are left out: the same program elsewhere is the same.
pub fn hash(module: &Module) -> String {
    let text = module.to_string();
    let is_name = |line: &&str| line.starts_with("module ") || line.starts_with("file");
    let kept: Vec<&str> = text.lines().filter(|line| !is_name(line)).collect();
    json::hash(&kept.join("\n"))
}

/// A machine that runs the program from its start.
pub fn machine(
    module: &Module,
    options: &RunOptions,
    reductions: &[String],
    keep_output: bool,
) -> Result<Interpreter, Failure> {
    let options = InterpOptions {
        dynamic_purity: has(reductions, "purity") || has(reductions, "await"),
        args: options.args.clone(),
        unroll: options.unroll,
        leak_check: options.leaks,
        atomics_publish: options.private_atomics,
        keep_output,
        models: ModelOptions {
            spurious_wakeups: options.spurious_wakeups,
            nonzero_exit_is_error: options.exit_code_errors,
            nondet: options.nondet,
            malloc_may_fail: options.malloc_may_fail,
        },
        ..InterpOptions::default()
    };
    Interpreter::new(module, options).map_err(|error| Failure::input(error.to_string()))
}

/// Reads a source file for a report: as it is named, or below the directory in which the program was compiled.
pub fn source(directory: &str, file: &str) -> Option<String> {
    let below = Path::new(directory).join(file);
    let bytes = std::fs::read(file).or_else(|_| std::fs::read(below)).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
