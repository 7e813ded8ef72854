//! What `ci` checks about the source itself.
//!
//! - The dependencies between crates are those of the table in ARCHITECTURE.md: a new arrow is drawn there first.
//! - Every source file opens with what it is about.
//! - Files stay short enough to be read: longer ones than [`AIM`] are listed, longer ones than [`LIMIT`] are refused
//!   (tests may be longer: they are read one by one).
//! - Nothing is left for later in a comment, and no test is switched off.
//! - `unsafe` occurs only in the files that [`UNSAFE`] lists.

use crate::{Outcome, no_arguments};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files should not be longer than this.
const AIM: usize = 600;
/// Files must not be longer than this, unless they are tests.
const LIMIT: usize = 1000;
/// Files that may contain `unsafe`, each with its reason.
const UNSAFE: &[(&str, &str)] = &[
    ("crates/actors/src/context.rs", "reaches the running process and its yielder through pointers"),
    ("crates/actors/src/coroutine.rs", "abandons coroutines that catch what should make them unwind"),
    ("crates/selvedge/src/runtime.rs", "reaches the yielder of the running coroutine through a pointer"),
    ("crates/selvedge/src/runtime/scrubbing.rs", "clears the stack with instructions that not every processor has"),
    ("crates/selvedge/src/coroutine.rs", "abandons coroutines without unwinding them, and looks at their stacks"),
    ("crates/selvedge/examples/table/main.rs", "runs the programs below"),
    ("crates/selvedge/examples/programs/bugs.rs", "code that is unsafe by nature"),
    ("crates/selvedge/examples/programs/locks.rs", "code that is unsafe by nature"),
    ("crates/selvedge/examples/programs/structures.rs", "code that is unsafe by nature"),
    ("crates/selvedge/tests/examples.rs", "runs the programs above"),
    ("crates/selvedge/tests/bounded_examples.rs", "runs the programs above"),
    ("crates/selvedge/tests/litmus.rs", "runs the programs above"),
    ("crates/selvedge/tests/programs.rs", "models of code that is unsafe by nature"),
    ("crates/selvedge/tests/prepared.rs", "models of code that is unsafe by nature"),
    ("crates/selvedge/tests/freed.rs", "models of code that is unsafe by nature"),
    ("crates/selvedge/tests/random_frees.rs", "models of code that is unsafe by nature"),
    ("crates/selvedge/tests/random_looks.rs", "models of code that is unsafe by nature"),
    ("crates/selvedge/tests/arc_counts.rs", "models of code that is unsafe by nature"),
    ("crates/selvedge/tests/edges.rs", "models of code that is unsafe by nature"),
    ("crates/selvedge/tests/for_ever.rs", "models of code that is unsafe by nature"),
    ("crates/selvedge/tests/unknown_sharing.rs", "models of code that is unsafe by nature"),
    ("crates/selvedge/tests/references.rs", "models of code that is unsafe by nature"),
    ("crates/selvedge/tests/replay.rs", "models of code that is unsafe by nature"),
    ("crates/selvedge/tests/retries.rs", "models of code that is unsafe by nature"),
    ("crates/selvedge/tests/statics.rs", "models of code that is unsafe by nature"),
    ("crates/selvedge/tests/values_come_back.rs", "models of code that is unsafe by nature"),
    ("crates/selvedge/tests/weak_retries.rs", "models of code that is unsafe by nature"),
    ("crates/selvedge/src/cell.rs", "pointers into cells are dereferenced by unsafe functions in loom"),
    ("crates/selvedge/src/sync/arc.rs", "pinned and raw `Arc`s"),
    ("crates/selvedge/src/update.rs", "looks at the stack before and after a function"),
    ("crates/selvedge/tests/freed_collections.rs", "memory that is used and freed"),
    ("crates/selvedge/tests/own_allocator.rs", "an allocator"),
    ("crates/graph/tests/memory.rs", "an allocator that counts"),
    ("crates/selvedge/src/alloc.rs", "functions that are unsafe in `std`"),
    ("crates/selvedge/src/blocks.rs", "looks into blocks of memory, and gives them back to the allocator"),
    ("crates/selvedge/src/blocks/counted.rs", "looks into blocks of memory"),
    ("crates/selvedge/src/blocks/tracking.rs", "an allocator"),
    ("crates/selvedge/src/borrow.rs", "what pointers point to is compared with what was there before"),
    ("crates/selvedge/src/content.rs", "copies the bytes of what is in statics"),
    ("crates/selvedge/src/machine/outside.rs", "asks the system for memory that may not be there"),
    ("crates/selvedge/src/sync/barrier.rs", "the result of a wait, which only `std` can make otherwise"),
    ("crates/selvedge/src/watch.rs", "a place in the source that another thread reads"),
    ("crates/selvedge/src/hint.rs", "a function that is unsafe in `std`"),
    ("crates/selvedge/src/lazy_static.rs", "references to what is in a table that grows"),
    ("crates/selvedge/src/exit.rs", "functions of the system"),
    ("crates/selvedge/src/overflow.rs", "a signal handler"),
    ("crates/selvedge/src/scope.rs", "threads that borrow from others"),
    ("crates/selvedge/src/thread_local.rs", "references to what is in a table that grows"),
    ("crates/selvedge/src/sync/mutex.rs", "what a lock protects is reached through a pointer"),
    ("crates/selvedge/src/sync/once.rs", "what is made once is reached through a pointer"),
    ("crates/selvedge/src/sync/rwlock.rs", "what a lock protects is reached through a pointer"),
    ("crates/selvedge/tests/beyond.rs", "models of code that is unsafe by nature"),
    ("crates/selvedge/tests/cells.rs", "models of code that is unsafe by nature"),
    ("crates/selvedge/tests/nondeterministic.rs", "a model that looks at what it must not"),
    ("crates/selvedge/tests/robust.rs", "models of code that is unsafe by nature"),
    ("crates/selvedge/tests/overwritten.rs", "models that use what is not there any more"),
    ("crates/selvedge/tests/attempt_orders.rs", "models of code that is unsafe by nature"),
    ("crates/selvedge/tests/backoff.rs", "models of code that is unsafe by nature"),
    ("crates/loom/tests/everything.rs", "uses all that loom exports, some of which is unsafe"),
    ("crates/selvedge/src/sync/atomic/int.rs", "`unsync_load` is an unsafe function in loom"),
    ("crates/selvedge/src/sync/atomic/bool.rs", "`unsync_load` is an unsafe function in loom"),
    ("crates/selvedge/src/sync/atomic/ptr.rs", "`unsync_load` is an unsafe function in loom"),
];

/// What must not be left in the source. Put together here, so that this file does not contain it.
const LEFT_OVERS: &[&str] =
    &[concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X:"), concat!("#[ign", "ore"), concat!("todo", "!(")];
const UNSAFE_FORMS: &[&str] =
    &[concat!("uns", "afe {"), concat!("uns", "afe fn"), concat!("uns", "afe impl"), concat!("allow(uns", "afe_code)")];

/// Runs the command.
pub fn run(args: &[String]) -> Outcome {
    no_arguments(args)?;
    let problems = problems(Path::new("."));
    for problem in &problems {
        eprintln!("tidy: {problem}");
    }
    if problems.is_empty() { Ok(()) } else { Err(format!("{} things are not tidy", problems.len())) }
}

/// Everything that is not tidy below a directory.
fn problems(root: &Path) -> Vec<String> {
    let mut problems = dependency_problems(root);
    for path in rust_files(root) {
        match fs::read_to_string(&path) {
            Ok(text) => problems.extend(file_problems(path.strip_prefix(root).unwrap_or(&path), &text)),
            Err(error) => problems.push(format!("{}: {error}", path.display())),
        }
    }
    problems
}

/// The source files that belong to the project; all that are there, if git cannot say.
fn rust_files(root: &Path) -> Vec<PathBuf> {
    let listed = Command::new("git").arg("-C").arg(root).args(["ls-files", "*.rs"]).output();
    match listed {
        Ok(output) if output.status.success() => {
            let text = String::from_utf8_lossy(&output.stdout);
            text.lines().map(|line| root.join(line)).filter(|path| path.is_file()).collect()
        }
        _ => all_rust_files(root),
    }
}

fn all_rust_files(root: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut dirs = vec![root.join("crates"), root.join("xtask")];
    while let Some(dir) = dirs.pop() {
        let entries = fs::read_dir(&dir).into_iter().flatten().flatten();
        for path in entries.map(|entry| entry.path()) {
            if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
                dirs.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

fn file_problems(path: &Path, text: &str) -> Vec<String> {
    let name = path.display().to_string();
    let mut problems = Vec::new();
    let lines = text.lines().count();
    let is_test = path.components().any(|part| part.as_os_str() == "tests");
    if lines > LIMIT && !is_test {
        problems.push(format!("{name}: {lines} lines, more than {LIMIT}"));
    } else if lines > AIM {
        println!("tidy: note: {name} has {lines} lines, more than {AIM}");
    }
    if !text.starts_with("//!") {
        problems.push(format!("{name}: does not open with what it is about (`//!`)"));
    }
    let may_be_unsafe = UNSAFE.iter().any(|(file, _)| *file == name);
    for (n, line) in text.lines().enumerate() {
        let left_over = LEFT_OVERS.iter().find(|word| line.contains(**word));
        let unsafe_form = UNSAFE_FORMS.iter().find(|form| line.contains(**form) && !may_be_unsafe);
        for word in left_over.into_iter().chain(unsafe_form) {
            problems.push(format!("{name}:{}: `{word}`", n + 1));
        }
    }
    problems
}

/// Compares the manifests with the table in ARCHITECTURE.md.
fn dependency_problems(root: &Path) -> Vec<String> {
    let document = match fs::read_to_string(root.join("ARCHITECTURE.md")) {
        Ok(text) => text,
        Err(error) => return vec![format!("ARCHITECTURE.md: {error}")],
    };
    let drawn = documented(&document);
    let real = manifests(root);
    let names: BTreeSet<&String> = drawn.keys().chain(real.keys()).collect();
    let mut problems = Vec::new();
    for name in names {
        match (drawn.get(name), real.get(name)) {
            (Some(drawn), Some(real)) if drawn == real => {}
            (Some(drawn), Some(real)) => {
                problems.push(format!("{name} depends on {real:?}, but ARCHITECTURE.md says {drawn:?}"));
            }
            (None, _) => problems.push(format!("the table in ARCHITECTURE.md lacks {name}")),
            (_, None) => problems.push(format!("ARCHITECTURE.md lists {name}, which is not there")),
        }
    }
    problems
}

type Graph = BTreeMap<String, BTreeSet<String>>;

/// Rows of the form ``| `name` | what it owns | `a`, `b` |``.
fn documented(text: &str) -> Graph {
    let mut graph = Graph::new();
    for line in text.lines() {
        let cells: Vec<&str> = line.trim().trim_matches('|').split('|').map(str::trim).collect();
        let [name, _, dependencies] = cells.as_slice() else { continue };
        let Some(name) = name.strip_prefix('`').and_then(|name| name.strip_suffix('`')) else { continue };
        let dependencies = dependencies.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        graph.insert(name.to_owned(), dependencies);
    }
    graph
}

/// The crates of the workspace and what they depend on among themselves, tests not included.
fn manifests(root: &Path) -> Graph {
    let mut graph = Graph::new();
    let crates = fs::read_dir(root.join("crates")).into_iter().flatten().flatten().map(|entry| entry.path());
    for dir in crates.chain([root.join("xtask")]) {
        let Ok(text) = fs::read_to_string(dir.join("Cargo.toml")) else { continue };
        let name = dir.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned());
        graph.insert(name, dependencies(&text));
    }
    graph
}

fn dependencies(manifest: &str) -> BTreeSet<String> {
    let section = manifest.lines().skip_while(|line| line.trim() != "[dependencies]").skip(1);
    let entries = section.take_while(|line| !line.starts_with('['));
    let names = entries.filter_map(|line| line.trim().split(['.', ' ', '=']).next());
    // The Rust library has the project's own name.
    let own = names.filter_map(|name| if name == "selvedge" { Some(name) } else { name.strip_prefix("selvedge-") });
    own.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workspace_is_tidy() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace");
        let problems = problems(root);
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }

    #[test]
    fn an_arrow_that_is_not_drawn_is_found() {
        let drawn = documented("| crate | owns | depends on |\n|---|---|---|\n| `trace` | x | `ir`, `machine` |\n");
        let real = dependencies("[dependencies]\nselvedge-ir.workspace = true\nsmallvec = \"1\"\n[lints]\n");
        assert_eq!(drawn["trace"], BTreeSet::from(["ir".to_owned(), "machine".to_owned()]));
        assert_eq!(real, BTreeSet::from(["ir".to_owned()]));
    }

    #[test]
    fn left_overs_and_files_without_an_opening_are_found() {
        let text = format!("fn f() {{}} // {}: later\n", LEFT_OVERS[0]);
        assert_eq!(file_problems(Path::new("f.rs"), &text).len(), 2);
        let text = format!("//! About.\n{} f() {{}}\n", UNSAFE_FORMS[1]);
        assert_eq!(file_problems(Path::new("f.rs"), &text).len(), 1);
        assert!(file_problems(Path::new("f.rs"), "//! About.\n").is_empty());
    }
}
