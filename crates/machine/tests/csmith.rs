//! Random C programs of one thread print the same and exit with the same status in the machine as they do natively.
//!
//! csmith makes the programs, if it is installed. Each is compiled by clang to a native binary and run. The machine
//! then runs it twice: as the front end hands it over, with every variable in memory, and after all passes.
//! `SELVEDGE_CSMITH` says how many programs to try; `cargo xtask fuzz` runs many more.

use selvedge_llvm::ClangOptions;
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

fn natively(source: &Path, include: &Path) -> Result<Option<Behaviour>, String> {
    let clang = selvedge_llvm::clang::find_clang(&ClangOptions::default()).map_err(|error| error.to_string())?;
    let name = source.file_stem().and_then(|name| name.to_str()).unwrap_or("program");
    let binary = std::env::temp_dir().join(format!("selvedge-native-{}-{name}", std::process::id()));
    let mut compile = Command::new(clang);
    compile.args(["-O0", "-o"]).arg(&binary).args(FLAGS).arg(source).arg("-lm");
    compile.arg("-I").arg(include);
    let compiled = compile.output().map_err(|error| error.to_string())?;
    if !compiled.status.success() {
        return Err(String::from_utf8_lossy(&compiled.stderr).into_owned());
    }
    let run = Command::new("timeout").arg("5").arg(&binary).output().map_err(|error| error.to_string());
    std::fs::remove_file(&binary).map_err(|error| error.to_string())?;
    let run = run?;
    let output = String::from_utf8_lossy(&run.stdout).into_owned();
    Ok(run.status.code().map(|status| Behaviour { output, status }))
}

fn in_the_machine(module: &selvedge_ir::Module) -> Result<Behaviour, String> {
    let options = InterpOptions { keep_output: true, max_local_steps: 2_000_000_000, ..InterpOptions::default() };
    let mut machine = Interpreter::new(module, options).map_err(|error| error.to_string())?;
    machine.start().map_err(|stop| format!("{stop:?}\nafter printing:\n{}", machine.output()))?;
    let status = machine.exit_status().ok_or("the program did not end")?;
    Ok(Behaviour { output: machine.output().to_string(), status: status & 0xff })
}

/// Differences between a program's native behaviour and what the machine makes of it; none if there are none.
fn differences(source: &Path, include: &Path, native: &Behaviour) -> Option<String> {
    let options = ClangOptions {
        include_dirs: vec![include.to_path_buf()],
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
        match in_the_machine(&module) {
            Ok(ours) if ours == *native => {}
            Ok(ours) => {
                let what = first_difference(native, &ours);
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
fn random_programs_behave_as_they_do_natively() {
    let Ok(version) = Command::new("csmith").arg("--version").output() else { return };
    assert!(version.status.success(), "csmith is installed but does not work");
    let include = PathBuf::from("/usr/include/csmith");
    if !include.join("csmith.h").is_file() {
        // Its headers are a package of their own.
        return;
    }
    let dir = std::env::temp_dir().join(format!("selvedge-machine-csmith-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let count = std::env::var("SELVEDGE_CSMITH").ok().and_then(|count| count.parse().ok()).unwrap_or(4);
    let mut failures = Vec::new();
    for seed in 1..=count {
        let source = dir.join(format!("random{seed}.c"));
        let size = ["--max-funcs", "4", "--max-block-size", "3", "--max-block-depth", "3", "--seed"];
        let made = Command::new("csmith").args(size).arg(seed.to_string()).arg("-o").arg(&source).status();
        assert!(made.unwrap().success());
        // Some random programs take very long, or forever; their native run is cut short.
        if let Some(native) = natively(&source, &include).unwrap().filter(|native| native.status == 0) {
            failures.extend(differences(&source, &include, &native));
        }
    }
    assert!(failures.is_empty(), "programs in {}:\n{}", dir.display(), failures.join("\n\n"));
    std::fs::remove_dir_all(&dir).unwrap();
}
