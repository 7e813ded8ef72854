//! The part of `published` that is loom itself: its own tests, under this library.
//!
//! They come with loom's package on crates.io, which cargo fetches; nothing of them is kept here. What passes under loom passes
//! here, but for the tests in `EXCEPTIONS`.

use crate::published::{copy, write};
use crate::{Outcome, shell};
use std::path::{Path, PathBuf};
use std::process::Command;

const VERSION: &str = "0.7.2";

/// How many of loom's tests are run. Fewer would mean that some were left out.
const TESTS: usize = 125;

/// Tests that rest on how loom works, and why they do not pass here.
const EXCEPTIONS: [(&str, &str); 2] = [
    ("double_panic_at_branch_max", "counts `yield_now` as an operation; here it is none"),
    (
        "drop",
        "counts drops in an atomic of `std` that outlives executions, and expects to be run once; here it is twice",
    ),
];

/// Runs loom's tests.
pub fn run(place: &Path, loom: &Path) -> Outcome {
    let tests = fetch(&place.join("fetch-loom"))?.join("tests");
    let project = place.join("loom-tests");
    copy(&tests, &project.join("tests"))?;
    let manifest = format!(
        "{}\n[features]\nfutures = []\n\n[dependencies]\nfutures-util = \"0.3\"\n\
         loom = {{ path = '{}', features = [\"checkpoint\", \"futures\"] }}\n\n[workspace]\n",
        package("loom-tests"),
        loom.display()
    );
    write(&project.join("Cargo.toml"), &manifest)?;
    write(&project.join("src/lib.rs"), "")?;
    let mut command = shell::cargo();
    command.args(["test", "--release", "--no-fail-fast", "--features", "futures", "--tests", "--", "--exact"]);
    command.args(EXCEPTIONS.iter().flat_map(|(name, _)| ["--skip", name]));
    // Loom denies warnings, which newer compilers have more of.
    command.env("RUSTFLAGS", "--cap-lints allow").env("CARGO_TARGET_DIR", place.join("target"));
    println!("$ {} (in {})", shell::shown(&command), project.display());
    let output = command.current_dir(&project).output().map_err(|error| shell::not_started(&command, &error))?;
    let [shown, errors] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    match passed(&shown) {
        _ if !output.status.success() => Err(format!("tests of loom failed:\n{shown}\n{errors}")),
        TESTS => Ok(()),
        other => Err(format!("{other} tests of loom were run, not {TESTS}:\n{shown}")),
    }
}

/// What was run, for the table.
pub fn row() -> String {
    let exceptions: String = EXCEPTIONS.iter().map(|(name, why)| format!("    not `{name}`: {why}\n")).collect();
    format!("  loom {VERSION}, its own tests: {TESTS} pass\n{exceptions}")
}

fn package(name: &str) -> String {
    format!("[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2021\"\n")
}

/// Lets cargo fetch loom, and says where it is.
fn fetch(project: &Path) -> Result<PathBuf, String> {
    let manifest = format!("{}\n[dependencies]\nloom = \"={VERSION}\"\n\n[workspace]\n", package("fetch-loom"));
    write(&project.join("Cargo.toml"), &manifest)?;
    write(&project.join("src/lib.rs"), "")?;
    let mut command = shell::cargo();
    // What other systems need is not fetched.
    command.args(["metadata", "--format-version", "1", "--filter-platform", &host()?]).current_dir(project);
    println!("$ {} (in {})", shell::shown(&command), project.display());
    let output = command.output().map_err(|error| shell::not_started(&command, &error))?;
    let text = String::from_utf8_lossy(&output.stdout);
    directory(&text, &format!("loom-{VERSION}")).ok_or_else(|| {
        format!("`{}` does not say where loom is:\n{}", shell::shown(&command), String::from_utf8_lossy(&output.stderr))
    })
}

/// Where the package with that name and version is, by what `cargo metadata` prints.
fn directory(metadata: &str, package: &str) -> Option<PathBuf> {
    let mut paths = metadata.split("\"manifest_path\":\"").skip(1).filter_map(|rest| rest.split('"').next());
    let dir = paths.find_map(|path| Path::new(path).parent().filter(|dir| dir.ends_with(package)));
    dir.map(Path::to_owned)
}

/// The system that this runs on, as the compiler calls it.
fn host() -> Result<String, String> {
    let mut command = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    let output = command.arg("-vV").output().map_err(|error| shell::not_started(&command, &error))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| format!("`{}` does not name a host: {text}", shell::shown(&command)))
}

/// How many tests have passed, by what cargo prints.
fn passed(text: &str) -> usize {
    let numbers = text.lines().filter_map(|line| line.strip_prefix("test result: ok. ")?.split(' ').next());
    numbers.filter_map(|number| number.parse::<usize>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_found_in_metadata() {
        let text = r#"{"packages":[{"name":"a","manifest_path":"/r/a-1.0.0/Cargo.toml"},
            {"name":"loom","manifest_path":"/r/loom-0.7.2/Cargo.toml","x":1}]}"#;
        assert_eq!(directory(text, "loom-0.7.2"), Some(PathBuf::from("/r/loom-0.7.2")));
        assert_eq!(directory(text, "loom-0.7.3"), None);
    }

    #[test]
    fn tests_are_counted() {
        let text = "test a ... ok\ntest result: ok. 3 passed; 0 failed\n\ntest result: ok. 40 passed; 0 failed\n\
                    test result: FAILED. 7 passed; 1 failed\n";
        assert_eq!(passed(text), 43);
    }
}
