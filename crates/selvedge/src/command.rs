//! The command that runs one execution again: the one that was given, as far as it can be known.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// What is known of how the process was started.
struct Started<'a> {
    /// The test, if it is one.
    test: Option<&'a str>,
    /// The file that runs.
    file: Option<&'a Path>,
    /// The package and where it is, if Cargo has started it.
    package: Option<(String, &'a Path)>,
    /// What the compiler was told by the environment: `--cfg loom`, for most crates with models.
    flags: Option<String>,
}

/// How to run an execution again.
pub(crate) fn command(recorded: &str) -> String {
    let thread = std::thread::current();
    // To ask for it takes as long as a small exploration.
    static FILE: OnceLock<Option<PathBuf>> = OnceLock::new();
    let file = FILE.get_or_init(|| std::env::current_exe().ok());
    let directory = std::env::var_os("CARGO_MANIFEST_DIR");
    let package = std::env::var("CARGO_PKG_NAME").ok().zip(directory.as_ref().map(Path::new));
    let started = Started {
        test: thread.name().filter(|name| *name != "main"),
        file: file.as_deref(),
        package,
        flags: std::env::var("RUSTFLAGS").ok().filter(|flags| !flags.is_empty()),
    };
    format!("to run this one execution again: {}\n", again(recorded, &started))
}

fn again(recorded: &str, started: &Started<'_>) -> String {
    let mut words = vec![format!("SELVEDGE_REPLAY='{recorded}'")];
    words.extend(started.flags.as_ref().map(|flags| format!("RUSTFLAGS='{flags}'")));
    words.push("cargo test".to_owned());
    if let (Some((package, directory)), Some(file)) = (&started.package, started.file) {
        words.push(format!("-p {package}"));
        words.extend(profile(file));
        words.extend(target(file, directory));
    }
    words.extend(started.test.map(|test| format!("{test} -- --exact --nocapture")));
    words.join(" ")
}

/// The profile that a test was built with: `target/PROFILE/deps/TEST-0123456789abcdef`.
fn profile(file: &Path) -> Option<String> {
    let deps = file.parent()?;
    match deps.parent()?.file_name()?.to_str()? {
        _ if deps.file_name()? != "deps" => None,
        "debug" => None,
        "release" => Some("--release".to_owned()),
        other => Some(format!("--profile {other}")),
    }
}

/// The file below `tests/` that a test is in, if it is in one.
fn target(file: &Path, directory: &Path) -> Option<String> {
    let (name, _) = file.file_stem()?.to_str()?.rsplit_once('-')?;
    let tests = directory.join("tests");
    // In names of files that are built, all dashes have become underscores.
    let names = [name.to_owned(), name.replace('_', "-")];
    let found = names
        .into_iter()
        .find(|name| tests.join(format!("{name}.rs")).is_file() || tests.join(name).join("main.rs").is_file())?;
    Some(format!("--test {found}"))
}

#[cfg(test)]
mod tests {
    use super::{Started, again};
    use std::path::Path;

    #[test]
    fn the_command_names_package_profile_file_and_test() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let started = |file: &'static str| Started {
            test: Some("a::b"),
            file: Some(Path::new(file)),
            package: Some(("selvedge".to_owned(), here)),
            flags: None,
        };
        let rest = "a::b -- --exact --nocapture";
        let first = "SELVEDGE_REPLAY='x' cargo test -p selvedge";
        assert_eq!(again("x", &started("/t/debug/deps/litmus-0123")), format!("{first} --test litmus {rest}"));
        assert_eq!(again("x", &started("/t/release/deps/selvedge-0123")), format!("{first} --release {rest}"));
        let own = format!("{first} --profile checked --test litmus {rest}");
        assert_eq!(again("x", &started("/t/checked/deps/litmus-0123")), own);
    }

    #[test]
    fn without_cargo_the_command_names_what_is_known() {
        let flags = Some("--cfg loom".to_owned());
        let started = Started { test: None, file: Some(Path::new("/bin/x")), package: None, flags };
        assert_eq!(again("x", &started), "SELVEDGE_REPLAY='x' RUSTFLAGS='--cfg loom' cargo test");
    }
}
