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
    /// The features that Cargo was asked for, as its command had them.
    features: Vec<String>,
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
        features: features(&parent()),
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
        words.extend(started.features.iter().cloned());
        words.extend(target(file, directory));
    }
    words.extend(started.test.map(|test| format!("{test} -- --exact --nocapture")));
    words.join(" ")
}

/// The command of the process that has started this one; empty if the system does not tell.
fn parent() -> Vec<String> {
    #[cfg(target_os = "linux")]
    let words = std::fs::read(format!("/proc/{}/cmdline", std::os::unix::process::parent_id())).unwrap_or_default();
    #[cfg(not(target_os = "linux"))]
    let words = Vec::new();
    words.split(|&byte| byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// The features that a command of Cargo asks for; nobody else knows them.
fn features(command: &[String]) -> Vec<String> {
    let is_cargo =
        |word: &String| Path::new(word).file_stem().is_some_and(|name| name.to_string_lossy().starts_with("cargo"));
    let mut words = command.iter().skip(1).take_while(|word| *word != "--");
    let mut features = Vec::new();
    if !command.first().is_some_and(is_cargo) {
        return features;
    }
    while let Some(word) = words.next() {
        match word.as_str() {
            "--all-features" | "--no-default-features" => features.push(word.clone()),
            "--features" | "-F" => features.extend(words.next().map(|names| format!("--features {}", quoted(names)))),
            _ => features.extend(word.strip_prefix("--features=").map(|names| format!("--features {}", quoted(names)))),
        }
    }
    features
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-/,.".contains(c);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{word}'") }
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
    use super::{Started, again, features};
    use std::path::Path;

    #[test]
    fn the_command_names_package_profile_file_and_test() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let started = |file: &'static str| Started {
            test: Some("a::b"),
            file: Some(Path::new(file)),
            package: Some(("selvedge".to_owned(), here)),
            flags: None,
            features: vec!["--features a,b".to_owned()],
        };
        let rest = "a::b -- --exact --nocapture";
        let first = "SELVEDGE_REPLAY='x' cargo test -p selvedge";
        assert_eq!(
            again("x", &started("/t/debug/deps/litmus-0123")),
            format!("{first} --features a,b --test litmus {rest}")
        );
        assert_eq!(
            again("x", &started("/t/release/deps/selvedge-0123")),
            format!("{first} --release --features a,b {rest}")
        );
        let own = format!("{first} --profile checked --features a,b --test litmus {rest}");
        assert_eq!(again("x", &started("/t/checked/deps/litmus-0123")), own);
    }

    #[test]
    fn features_are_those_that_cargo_was_asked_for() {
        let of = |command: &str| {
            let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
            features(&words).join(" ")
        };
        assert_eq!(of("/bin/cargo test --features loom,b --test x"), "--features loom,b");
        assert_eq!(
            of("cargo test -F a --features=b/c --all-features -- --features d"),
            "--features a --features b/c --all-features"
        );
        assert_eq!(of("cargo-nextest nextest run --no-default-features"), "--no-default-features");
        assert_eq!(of("bash --features x"), "");
        assert_eq!(features(&["cargo".to_owned(), "--features".to_owned(), "a b".to_owned()]), ["--features 'a b'"]);
        assert_eq!(features(&[]), [""; 0]);
    }

    #[test]
    fn without_cargo_the_command_names_what_is_known() {
        let flags = Some("--cfg loom".to_owned());
        let started =
            Started { test: None, file: Some(Path::new("/bin/x")), package: None, flags, features: Vec::new() };
        assert_eq!(again("x", &started), "SELVEDGE_REPLAY='x' RUSTFLAGS='--cfg loom' cargo test");
    }
}
