//! `published`: the loom tests of published crates, under this library in loom's place.
//!
//! The crates are fetched from crates.io by `cargo vendor` into `target/published`; nothing of them is kept here. Of their
//! manifests, dependencies and programs that their loom tests do not need are left out, so that benchmarks are not built; loom
//! is patched, and if they ask for an older version of it, they get this one. Sources and tests are as they were published.
//!
//! A model that is not explored to its end within the limit passes as far as it was explored; the table that is printed
//! says which ones these are. Tests whose size is a constant are also run with a smaller one, and then they must be explored
//! to the end. So must all models of crates that are small enough as they are. Loom's own tests come first (`loom_tests.rs`).

use crate::{Outcome, loom_tests, shell};
use std::fs;
use std::path::{Path, PathBuf};

/// A crate with loom tests.
struct Published {
    name: &'static str,
    version: &'static str,
    /// How many models its loom tests have. Fewer would mean that they were not run.
    models: usize,
    tests: Tests,
    /// What `cfg` turns them on.
    cfg: &'static str,
    /// Whether all of its models are explored to the end.
    ends: bool,
    /// What makes its models large, as the source says it, and what makes them small enough.
    smaller: Option<[&'static str; 2]>,
}

/// Where a crate has its loom tests.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tests {
    /// In `tests/loom.rs`, with the feature `loom`.
    Loom,
    /// In its own source.
    Unit,
}

const CRATES: &[Published] = &[
    Published {
        name: "concurrent-queue",
        version: "2.5.0",
        models: 6,
        tests: Tests::Loom,
        cfg: "loom",
        ends: false,
        smaller: Some(["const LIMIT: usize = 4;", "const LIMIT: usize = 2;"]),
    },
    Published {
        name: "event-listener",
        version: "5.4.2",
        models: 9,
        tests: Tests::Loom,
        cfg: "loom",
        ends: true,
        smaller: None,
    },
    Published {
        name: "multishot",
        version: "0.3.2",
        models: 6,
        tests: Tests::Unit,
        cfg: "multishot_loom",
        ends: true,
        smaller: None,
    },
    Published {
        name: "sharded-slab",
        version: "0.1.7",
        models: 44,
        tests: Tests::Unit,
        cfg: "loom",
        ends: true,
        smaller: None,
    },
];

/// Seconds for a model, unless `--limit` says otherwise.
const LIMIT: u32 = 4;

/// The same for models that must come to an end; they take a second each, or a few on a busy machine.
const SMALL_LIMIT: u32 = 120;

/// What a model came to.
#[derive(PartialEq, Debug)]
struct Model {
    /// Complete and blocked executions and the time, in the library's words.
    counts: String,
    exhaustive: bool,
}

/// Runs the command.
pub fn run(args: &[String]) -> Outcome {
    let limit = match args {
        [] => LIMIT,
        [option, seconds] if option == "--limit" => {
            seconds.parse().ok().filter(|n| *n > 0).ok_or("--limit needs a number of seconds")?
        }
        _ => return Err("needed: nothing, or --limit SECONDS".to_owned()),
    };
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let place = std::path::absolute(target.join("published")).map_err(|error| error.to_string())?;
    let loom = std::path::absolute("crates/loom").map_err(|error| error.to_string())?;
    loom_tests::run(&place, &loom)?;
    fetch(&place, &loom)?;
    let mut table = loom_tests::row();
    for published in CRATES {
        let dir = prepare(&place, published, &loom)?;
        let program: &[_] = match published.tests {
            Tests::Loom => &["--features", "loom", "--test", "loom"],
            Tests::Unit => &["--lib"],
        };
        let models =
            test(&place, &dir, (published.cfg, program), if published.ends { limit.max(SMALL_LIMIT) } else { limit })?;
        table += &rows(published, "", published.ends, &models)?;
        if let Some([_, size]) = published.smaller {
            let program = ["--features", "loom", "--test", "loom_small"];
            let models = test(&place, &dir, (published.cfg, &program), limit.max(SMALL_LIMIT))?;
            table += &rows(published, &format!(" with `{size}`"), true, &models)?;
        }
    }
    println!(
        "\nLoom tests of published crates, at most {limit} s for each model that need not come to its end:\n{table}"
    );
    Ok(())
}

/// What came of the models of a crate, all of which may have to be explored to the end.
fn rows(published: &Published, size: &str, ends: bool, models: &[Model]) -> Result<String, String> {
    let Published { name, version, .. } = published;
    if models.len() != published.models {
        return Err(format!("{name}: {} models were run, not {}", models.len(), published.models));
    }
    let row = |(n, model): (usize, &Model)| {
        let extent = if model.exhaustive { "all executions" } else { "in part" };
        format!("  {name} {version}{size}, model {}: {extent}: {}\n", n + 1, model.counts)
    };
    let table: String = models.iter().enumerate().map(row).collect();
    if ends && models.iter().any(|model| !model.exhaustive) {
        return Err(format!("not all of these models were explored to the end:\n{table}"));
    }
    Ok(table)
}

/// The end of a manifest that puts this library in loom's place.
fn patch(loom: &Path) -> String {
    format!("\n[workspace]\n\n[patch.crates-io]\nloom = {{ path = '{}' }}\n", loom.display())
}

/// Fetches the sources of all crates.
fn fetch(place: &Path, loom: &Path) -> Outcome {
    let project = place.join("fetch");
    let dependencies: String =
        CRATES.iter().map(|Published { name, version, .. }| format!("{name} = \"={version}\"\n")).collect();
    let manifest = format!(
        "[package]\nname = \"fetch\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\n{dependencies}{}",
        patch(loom)
    );
    write(&project.join("Cargo.toml"), &manifest)?;
    write(&project.join("src/lib.rs"), "")?;
    let mut vendor = shell::cargo();
    vendor.args(["vendor", "--quiet", "vendor"]).current_dir(&project);
    shell::run(vendor.stdout(std::process::Stdio::null()))
}

/// Copies a crate, with a manifest that builds its loom tests.
fn prepare(place: &Path, published: &Published, loom: &Path) -> Result<PathBuf, String> {
    let (from, to) = (place.join("fetch/vendor").join(published.name), place.join(published.name));
    for part in ["src", "README.md"] {
        copy(&from.join(part), &to.join(part))?;
    }
    let read = |path: PathBuf| fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()));
    let tests = match published.tests {
        Tests::Loom => {
            copy(&from.join("tests/loom.rs"), &to.join("tests/loom.rs"))?;
            read(from.join("tests/loom.rs"))?
        }
        Tests::Unit => sources(&from.join("src"))?,
    };
    if let Some([large, small]) = published.smaller {
        if !tests.contains(large) {
            return Err(format!("the loom tests of {} do not contain `{large}`", published.name));
        }
        write(&to.join("tests/loom_small.rs"), &tests.replace(large, small))?;
    }
    let manifest = without_extras(&read(from.join("Cargo.toml"))?, &tests);
    write(&to.join("Cargo.toml"), &(manifest + &patch(loom)))?;
    Ok(to)
}

/// A manifest without what loom tests do not need: other programs, and what only these depend on. Loom is wanted in this
/// version.
fn without_extras(manifest: &str, tests: &str) -> String {
    let is_extra = |section: &str| {
        let head = section.lines().next().unwrap_or_default();
        let name = head.trim_end_matches(']').rsplit('.').next().unwrap_or_default().replace('-', "_");
        head.contains("dev-dependencies") && !tests.contains(&name)
            || head.starts_with("[[bench")
            || head.starts_with("[[example")
            || head.starts_with("[[test") && !section.contains("\"tests/loom.rs\"")
    };
    let mut sections = vec![String::new()];
    for line in manifest.lines() {
        if line.starts_with('[') {
            sections.push(String::new());
        }
        let section = sections.last_mut().expect("there is a first section");
        let is_old = section.starts_with('[') && section.contains("dependencies.loom]") && line.starts_with("version");
        section.push_str(if is_old { "version = \"0.7\"" } else { line });
        section.push('\n');
    }
    sections.retain(|section| !is_extra(section));
    sections.concat()
}

/// Runs the loom tests of a crate, one after the other, so that their models come in order.
fn test(place: &Path, dir: &Path, (cfg, program): (&str, &[&str]), limit: u32) -> Result<Vec<Model>, String> {
    let mut command = shell::cargo();
    command.args(["test", "--release"]).args(program).args(["--", "--test-threads=1", "--nocapture"]);
    command.current_dir(dir).env("CARGO_TARGET_DIR", place.join("target")).env("RUSTFLAGS", format!("--cfg {cfg}"));
    command.env("LOOM_LOG", "1").env("LOOM_MAX_DURATION", limit.to_string());
    for variable in ["LOOM_MAX_PREEMPTIONS", "LOOM_MAX_BRANCHES", "LOOM_MAX_PERMUTATIONS"] {
        command.env_remove(variable);
    }
    println!("$ {} (in {})", shell::shown(&command), dir.display());
    let output = command.output().map_err(|error| shell::not_started(&command, &error))?;
    let text = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        let shown = String::from_utf8_lossy(&output.stdout);
        return Err(format!("the loom tests in {} failed:\n{shown}\n{text}", dir.display()));
    }
    Ok(models(&text))
}

/// What the library says of most models with exchanges that may fail for no reason at several places: that each thread has one such
/// failure at most. That is so for all models, and has nothing to do with whether an exploration has come to its end.
const ONCE: &str = "a thread has more than one exchange fail, wait end or future polled for no reason";

/// What the library says about models, one after the other: what was not explored of one, and its counts.
fn models(text: &str) -> Vec<Model> {
    let mut models = Vec::new();
    let mut exhaustive = true;
    for line in text.lines() {
        let Some((_, said)) = line.split_once("selvedge: ") else { continue };
        if said.contains("not everything was explored") {
            exhaustive &= said.ends_with(ONCE);
        } else if said.contains(" executions, ") {
            models.push(Model { counts: said.to_owned(), exhaustive });
            exhaustive = true;
        }
    }
    models
}

/// Writes a file, and makes its directory if there is none.
pub fn write(path: &Path, text: &str) -> Outcome {
    let dir = path.parent().expect("a file lies in a directory");
    let done = fs::create_dir_all(dir).and_then(|()| fs::write(path, text));
    done.map_err(|error| format!("{}: {error}", path.display()))
}

/// What the files of a directory say.
fn sources(dir: &Path) -> Result<String, String> {
    let wrong = |error: std::io::Error| format!("{}: {error}", dir.display());
    let mut text = String::new();
    for entry in fs::read_dir(dir).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        text += &if path.is_dir() { sources(&path)? } else { fs::read_to_string(&path).map_err(wrong)? };
    }
    Ok(text)
}

/// Copies a file or directory.
pub fn copy(from: &Path, to: &Path) -> Outcome {
    let wrong = |error: std::io::Error| format!("{}: {error}", from.display());
    if !from.is_dir() {
        return write(to, &fs::read_to_string(from).map_err(wrong)?);
    }
    for entry in fs::read_dir(from).map_err(wrong)? {
        let name = entry.map_err(wrong)?.file_name();
        copy(&from.join(&name), &to.join(&name))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_keeps_what_loom_tests_need() {
        let manifest = "[package]\nname = \"a\"\n\n[[bench]]\nname = \"b\"\n\n[[test]]\nname = \"loom\"\n\
                        path = \"tests/loom.rs\"\n\n[[test]]\nname = \"other\"\npath = \"tests/other.rs\"\n\n\
                        [dependencies.c]\nversion = \"1\"\n\n[dev-dependencies.d-e]\nversion = \"1\"\n\n\
                        [dev-dependencies.f]\nversion = \"1\"\n";
        let kept = "[package]\nname = \"a\"\n\n[[test]]\nname = \"loom\"\npath = \"tests/loom.rs\"\n\n\
                    [dependencies.c]\nversion = \"1\"\n\n[dev-dependencies.d-e]\nversion = \"1\"\n\n";
        assert_eq!(without_extras(manifest, "use d_e::g;"), kept);
        let [old, new] = ["0.5", "0.7"].map(|version| {
            format!("[dependencies.h]\nversion = \"0.5\"\n\n[dependencies.loom]\nversion = \"{version}\"\n")
        });
        assert_eq!(without_extras(&old, "loom"), new);
    }

    #[test]
    fn models_are_told_apart_by_whether_they_were_explored_to_the_end() {
        let text = "running 1 test\nselvedge: 7 executions, 1 blocked, 2ms\nselvedge: not everything was explored: the \
                    bound on time was reached\nselvedge: 9 executions, 0 blocked, 5s\n\
                    selvedge: not everything was explored: executions in which a thread has more than one exchange fail, wait end \
                    or future polled for no reason\nselvedge: 2 executions, 0 blocked, 1s\n";
        let found: Vec<bool> = models(text).iter().map(|model| model.exhaustive).collect();
        assert_eq!(found, [true, false, true]);
        assert_eq!(models(text)[0].counts, "7 executions, 1 blocked, 2ms");
    }
}
