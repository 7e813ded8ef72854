//! Running the `selvedge` binary on a program, with a guard against hangs.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// No test program takes nearly as long.
const TOO_LONG: Duration = Duration::from_secs(120);

/// What a run of the binary left behind.
#[derive(Debug)]
pub struct Run {
    /// The exit code; none if it was killed.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error, as far as it is text.
    pub stderr: String,
}

impl Run {
    /// The report of `--json -`.
    pub fn report(&self) -> Result<Value, String> {
        serde_json::from_slice(&self.stdout)
            .map_err(|error| format!("no report on standard output ({error}); standard error:\n{}", self.stderr))
    }
}

/// The root of the workspace.
pub fn workspace() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the crate lies two directories below the root")
}

/// Runs a command to its end; output goes through files, so that a full pipe cannot block it.
pub fn run(command: &mut Command) -> Run {
    let directory = tempfile::tempdir().expect("a directory for output can be made");
    let (out, err) = (directory.path().join("out"), directory.path().join("err"));
    let create = |path: &Path| Stdio::from(std::fs::File::create(path).expect("a file for output can be made"));
    let mut child = command
        .stdin(Stdio::null())
        .stdout(create(&out))
        .stderr(create(&err))
        .spawn()
        .expect("the command can be started");
    let start = Instant::now();
    let code = loop {
        if let Some(status) = child.try_wait().expect("the child can be waited for") {
            break status.code();
        }
        if start.elapsed() > TOO_LONG {
            child.kill().expect("the child can be killed");
            child.wait().expect("the child has been killed");
            break None;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let stderr = String::from_utf8_lossy(&std::fs::read(err).expect("the output is there")).into_owned();
    Run { code, stdout: std::fs::read(out).expect("the output is there"), stderr }
}

/// The `selvedge` binary.
pub fn selvedge() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_selvedge"));
    command.current_dir(workspace());
    command
}
