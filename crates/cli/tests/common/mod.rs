//! Running the `selvedge` command in a directory of its own, with a time limit: a hang is a failure.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Nothing that the tests do should take longer, even in an unoptimised build.
const LIMIT: Duration = Duration::from_secs(120);

/// What a command did.
pub struct Ended {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Ended {
    /// Fails unless the exit code is this one and standard error contains each of the texts; nor may it be a panic.
    #[track_caller]
    pub fn fails_with(&self, code: i32, texts: &[&str]) -> &Ended {
        self.exits_with(code);
        for text in texts {
            assert!(self.err.contains(text), "`{text}` is not in standard error:\n{self}");
        }
        self
    }

    /// Fails unless the exit code is this one.
    #[track_caller]
    pub fn exits_with(&self, code: i32) -> &Ended {
        assert_eq!(self.code, code, "exit code\n{self}");
        assert!(!self.err.contains("bug in selvedge"), "a panic\n{self}");
        self
    }

    /// Fails unless standard output contains each of the texts.
    #[track_caller]
    pub fn says(&self, texts: &[&str]) -> &Ended {
        for text in texts {
            assert!(self.out.contains(text), "`{text}` is not in standard output:\n{self}");
        }
        self
    }

    /// Standard output as JSON, and nothing else.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("no JSON: {error}\n{self}"))
    }
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "exit code {}\n--- out\n{}\n--- err\n{}", self.code, self.out, self.err)
    }
}

/// A directory with files, in which the command runs.
pub struct Place {
    dir: TempDir,
    path_variable: Option<String>,
}

impl Place {
    pub fn new() -> Place {
        Place { dir: TempDir::new().expect("a temporary directory"), path_variable: None }
    }

    /// With one file.
    pub fn with(name: &str, text: &str) -> Place {
        let place = Place::new();
        place.write(name, text);
        place
    }

    /// Without any program to be found.
    pub fn without_programs(mut self) -> Place {
        self.path_variable = Some(self.path("nothing").display().to_string());
        self
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), bytes).expect("the directory is ours");
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_selvedge"));
        command.args(args).current_dir(self.dir.path()).env_remove("SELVEDGE_CLANG").env_remove("RUST_BACKTRACE");
        if let Some(path) = &self.path_variable {
            command.env("PATH", path);
        }
        command
    }

    /// Runs the command to its end.
    pub fn run(&self, args: &[&str]) -> Ended {
        finish(self.command(args))
    }
}

/// Runs a command to its end; its output goes through files, so that it can be of any length.
#[track_caller]
pub fn finish(mut command: Command) -> Ended {
    let dir = TempDir::new().expect("a temporary directory");
    let (out, err) = (dir.path().join("out"), dir.path().join("err"));
    let create = |path: &Path| std::fs::File::create(path).expect("the directory is ours");
    command.stdin(Stdio::null()).stdout(create(&out)).stderr(create(&err));
    let mut child = command.spawn().expect("the command starts");
    let end = Instant::now() + LIMIT;
    let status = loop {
        if let Some(status) = child.try_wait().expect("the child is ours") {
            break status;
        }
        if Instant::now() > end {
            child.kill().expect("the child is ours");
            panic!("{command:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let text = |path: &Path| String::from_utf8_lossy(&std::fs::read(path).expect("it was made above")).into_owned();
    Ended { code: status.code().unwrap_or(-1), out: text(&out), err: text(&err) }
}

/// The root of the workspace, where `tests/` and `benchmarks/` lie.
pub fn workspace() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the crate lies two directories below the root")
}

/// `selvedge check` in the root of the workspace.
pub fn check_in_workspace() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_selvedge"));
    command.arg("check").current_dir(workspace()).env_remove("SELVEDGE_CLANG").env_remove("RUST_BACKTRACE");
    command
}

/// A counter that two threads increment, each in two steps.
pub const LOST_UPDATE: &str = r#"
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_int count;

void *worker(void *arg) {
    int seen = count;
    count = seen + 1;
    return 0;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, worker, 0);
    pthread_create(&b, 0, worker, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(count == 2);
    return 0;
}
"#;

/// A counter that two threads increment in one step: two executions.
pub const COUNTER: &str = r#"
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_int count;

void *worker(void *arg) {
    atomic_fetch_add(&count, 1);
    return 0;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, worker, 0);
    pthread_create(&b, 0, worker, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(count == 2);
    return 0;
}
"#;
