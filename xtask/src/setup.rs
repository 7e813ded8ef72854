//! `setup`: installs what is missing.
//!
//! Selvedge needs nothing but Rust to be built, and a clang to read C. On Debian and its kin clang comes from apt. Tests also need
//! Erlang and the run-time of clang's sanitizers.

use crate::{Outcome, shell};
use std::io::Write;
use std::process::{Command, Stdio};

/// The oldest clang that is supported, and one that is newer than all that exist.
const CLANG_VERSIONS: std::ops::Range<u32> = 14..40;

/// Runs the command.
pub fn run(args: &[String]) -> Outcome {
    let further = match args {
        [] => Vec::new(),
        [with, names] if with == "--with" => names.split(',').map(str::to_owned).collect(),
        _ => return Err("setup takes `--with NAMES` or nothing".to_owned()),
    };
    ensure_clang()?;
    for name in further {
        ensure(&name)?;
    }
    Ok(())
}

/// Installs clang unless there is one.
pub fn ensure_clang() -> Outcome {
    match clang() {
        Some(program) => println!("clang: {program}"),
        None => {
            // The headers of the C library come with gcc on most machines, but clang alone does not need gcc.
            install(&["clang", "libc6-dev"])?;
            if clang().is_none() {
                return Err("clang was installed but cannot be found in the search path".to_owned());
            }
        }
    }
    Ok(())
}

/// Installs the run-time of clang's sanitizers unless programs can be linked with it: tests compile programs that look at
/// themselves. Where clang comes without what it recommends, it is missing.
pub fn ensure_sanitizers() -> Outcome {
    let Some(program) = clang() else { return Err("there is no clang".to_owned()) };
    if links_with_sanitizers(&program)? {
        println!("sanitizers: found");
        return Ok(());
    }
    let output = Command::new(&program).arg("-dumpversion").output();
    let output = output.map_err(|error| format!("{program} cannot be started: {error}"))?;
    let version = String::from_utf8_lossy(&output.stdout);
    let major = version.trim().split('.').next().unwrap_or_default();
    install(&[&format!("libclang-rt-{major}-dev")])?;
    match links_with_sanitizers(&program)? {
        true => Ok(()),
        false => Err(format!("{program} cannot link programs with -fsanitize=address,undefined")),
    }
}

/// Whether a clang can link programs that look at themselves.
fn links_with_sanitizers(program: &str) -> Result<bool, String> {
    let mut command = Command::new(program);
    command.args(["-fsanitize=address,undefined", "-x", "c", "-", "-o", "/dev/null"]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| format!("{program} cannot be started: {error}"))?;
    let written = child.stdin.take().map(|mut source| source.write_all(b"int main(void) { return 0; }\n"));
    let status = child.wait().map_err(|error| format!("{program}: {error}"))?;
    Ok(status.success() && written.is_some_and(|written| written.is_ok()))
}

/// Installs Erlang unless it is there: tests of Erlang modules run the compiler and libraries of the installed one.
pub fn ensure_erlang() -> Outcome {
    if shell::exists("erl") {
        println!("erl: found");
        return Ok(());
    }
    install(&["erlang-base"])
}

/// Installs a further tool unless it is there.
pub fn ensure(name: &str) -> Outcome {
    let packages: &[&str] = match name {
        "csmith" => &["csmith", "libcsmith-dev"],
        "erlang" => return ensure_erlang(),
        other => &[other],
    };
    if shell::exists(name) {
        println!("{name}: found");
        return Ok(());
    }
    install(packages)
}

/// The clang that Selvedge will use.
fn clang() -> Option<String> {
    if let Ok(program) = std::env::var("SELVEDGE_CLANG") {
        return Some(program);
    }
    let versioned = CLANG_VERSIONS.rev().map(|version| format!("clang-{version}"));
    std::iter::once("clang".to_owned()).chain(versioned).find(|program| shell::exists(program))
}

fn install(packages: &[&str]) -> Outcome {
    let by_hand = format!("please install {} by hand", packages.join(", "));
    if !shell::exists("apt-get") {
        return Err(format!("there is no apt-get on this machine; {by_hand}"));
    }
    println!("installing {}", packages.join(", "));
    // Package lists may be missing altogether on a fresh machine; an old list is good enough, so a failure is no end.
    if let Err(message) = shell::run(apt()?.args(["update", "-qq"])) {
        eprintln!("{message}; going on with the package lists that are there");
    }
    let install = ["install", "-y", "-qq", "--no-install-recommends"];
    shell::run(apt()?.args(install).args(packages)).map_err(|message| format!("{message}; {by_hand}"))
}

/// apt-get as the superuser.
fn apt() -> Result<Command, String> {
    let mut command = if is_root() {
        Command::new("apt-get")
    } else if shell::exists("sudo") {
        let mut sudo = Command::new("sudo");
        sudo.arg("apt-get");
        sudo
    } else {
        return Err("installing packages needs root, and there is no sudo; please install clang as root".to_owned());
    };
    command.env("DEBIAN_FRONTEND", "noninteractive");
    Ok(command)
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output();
    output.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}
