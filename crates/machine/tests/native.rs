//! C programs of one thread print the same and exit with the same status in the machine as they do natively.
//!
//! Every program below `tests/native` at the root of the workspace is compiled by clang to a native binary and run. The
//! machine then runs it twice: as the front end hands it over, with every variable in memory, and after all passes.
//! A few random programs by csmith are treated the same way if csmith is installed; `cargo xtask fuzz` runs many more.

use selvedge_llvm::ClangOptions;
use selvedge_machine::models::ModelOptions;
use selvedge_machine::{InterpOptions, Interpreter, Machine};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a program printed, and its exit status.
#[derive(PartialEq, Eq, Debug)]
struct Behaviour {
    output: String,
    status: i32,
}

const FLAGS: [&str; 3] = ["-w", "-fwrapv", "-fno-strict-aliasing"];

fn natively(source: &Path, include: &[PathBuf], args: &[&str]) -> Result<Behaviour, String> {
    let clang = selvedge_llvm::clang::find_clang(&ClangOptions::default()).map_err(|error| error.to_string())?;
    let name = source.file_stem().and_then(|name| name.to_str()).unwrap_or("program");
    let binary = std::env::temp_dir().join(format!("selvedge-native-{}-{name}", std::process::id()));
    let mut compile = Command::new(clang);
    compile.args(["-O0", "-o"]).arg(&binary).args(FLAGS).arg(source).arg("-lm");
    compile.args(include.iter().map(|dir| format!("-I{}", dir.display())));
    let compiled = compile.output().map_err(|error| error.to_string())?;
    if !compiled.status.success() {
        return Err(String::from_utf8_lossy(&compiled.stderr).into_owned());
    }
    let run = Command::new("timeout").arg("5").arg(&binary).args(args).output().map_err(|error| error.to_string());
    std::fs::remove_file(&binary).map_err(|error| error.to_string())?;
    let run = run?;
    let status = run.status.code().ok_or("the native program was killed")?;
    Ok(Behaviour { output: String::from_utf8_lossy(&run.stdout).into_owned(), status })
}

fn in_the_machine(module: &selvedge_ir::Module, args: &[&str]) -> Result<Behaviour, String> {
    let options = InterpOptions {
        keep_output: true,
        max_local_steps: 2_000_000_000,
        args: args.iter().map(|&arg| arg.to_string()).collect(),
        models: ModelOptions::default(),
        ..InterpOptions::default()
    };
    let mut machine = Interpreter::new(module, options).map_err(|error| error.to_string())?;
    machine.start().map_err(|stop| format!("{stop:?}\nafter printing:\n{}", machine.output()))?;
    let status = machine.exit_status().ok_or("the program did not end")?;
    Ok(Behaviour { output: machine.output().to_string(), status: status & 0xff })
}

/// Differences between a program's native behaviour and what the machine makes of it; none if there are none.
fn differences(source: &Path, include: &[PathBuf]) -> Option<String> {
    let args = ["first", "second argument"];
    let native = match natively(source, include, &args) {
        Ok(native) => native,
        Err(error) => return Some(format!("{}: natively: {error}", source.display())),
    };
    let options = ClangOptions {
        include_dirs: include.to_vec(),
        flags: FLAGS.iter().map(Into::into).collect(),
        ..ClangOptions::default()
    };
    let loaded = match selvedge_llvm::load_quietly(&[source.to_path_buf()], &options) {
        Ok(loaded) => loaded,
        Err(error) => return Some(format!("{}: {error}", source.display())),
    };
    let mut module = loaded.module;
    for passes in [false, true] {
        if passes && let Err(error) = selvedge_analysis::prepare(&mut module, &selvedge_analysis::Options::default()) {
            return Some(format!("{}: {error:?}", source.display()));
        }
        match in_the_machine(&module, &args) {
            Ok(ours) if ours == native => {}
            Ok(ours) => {
                let what = first_difference(&native, &ours);
                return Some(format!("{}, passes {passes}: {what}", source.display()));
            }
            Err(error) => return Some(format!("{}, passes {passes}: {error}", source.display())),
        }
    }
    None
}

fn first_difference(native: &Behaviour, ours: &Behaviour) -> String {
    let (a, b) = (native.output.lines(), ours.output.lines());
    match a.zip(b).enumerate().find(|(_, (a, b))| a != b) {
        Some((n, (a, b))) => format!("line {}: natively {a:?}, in the machine {b:?}", n + 1),
        None => format!(
            "natively {} lines and status {}, in the machine {} lines and status {}",
            native.output.lines().count(),
            native.status,
            ours.output.lines().count(),
            ours.status
        ),
    }
}

#[test]
fn programs_behave_as_they_do_natively() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/native");
    let mut sources: Vec<PathBuf> = std::fs::read_dir(&dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "c"))
        .collect();
    sources.sort();
    assert!(sources.len() >= 20, "the programs are in {}", dir.display());
    let only = std::env::var("SELVEDGE_NATIVE_TEST").unwrap_or_default();
    let chosen = sources.iter().filter(|source| source.to_string_lossy().contains(&only));
    let failures: Vec<String> = chosen.filter_map(|source| differences(source, &[])).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn random_programs_behave_as_they_do_natively() {
    let Ok(version) = Command::new("csmith").arg("--version").output() else { return };
    assert!(version.status.success(), "csmith is installed but does not work");
    let include = PathBuf::from("/usr/include/csmith");
    let dir = std::env::temp_dir().join(format!("selvedge-machine-csmith-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let count = std::env::var("SELVEDGE_CSMITH").ok().and_then(|count| count.parse().ok()).unwrap_or(4);
    let mut failures = Vec::new();
    for seed in 1..=count {
        let source = dir.join(format!("random{seed}.c"));
        let size = ["--max-funcs", "4", "--max-block-size", "3", "--max-block-depth", "3", "--seed"];
        let made = Command::new("csmith").args(size).arg(seed.to_string()).arg("-o").arg(&source).status();
        assert!(made.unwrap().success());
        if natively(&source, std::slice::from_ref(&include), &[]).is_ok_and(|native| native.status == 0) {
            failures.extend(differences(&source, std::slice::from_ref(&include)));
        }
    }
    assert!(failures.is_empty(), "programs in {}:\n{}", dir.display(), failures.join("\n\n"));
    std::fs::remove_dir_all(&dir).unwrap();
}
