//! Exit codes and errors.
//!
//! | code | meaning |
//! |---|---|
//! | 0 | verified: no violation in any execution, within the bounds that were asked for |
//! | 1 | a violation was found |
//! | 2 | the command line is wrong: an unknown option, a file that does not exist |
//! | 3 | the input cannot be checked: it does not compile, or uses something that is not supported |
//! | 4 | incomplete: a limit or an interruption came before the end |
//! | 101 | a bug in selvedge |
//!
//! A program that is run natively ends with its own exit code.

use selvedge_llvm::LoadError;
use std::fmt;
use std::process::ExitCode;

/// How a command ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    Verified,
    Violation,
    Usage,
    Unsupported,
    Incomplete,
    Bug,
    Program(u8),
}

impl Exit {
    /// The number.
    pub fn code(self) -> u8 {
        match self {
            Exit::Verified => 0,
            Exit::Violation => 1,
            Exit::Usage => 2,
            Exit::Unsupported => 3,
            Exit::Incomplete => 4,
            Exit::Bug => 101,
            Exit::Program(code) => code,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

/// Why a command has no result.
#[derive(Clone, Debug)]
pub struct Failure {
    exit: Exit,
    message: String,
    help: Option<String>,
}

impl Failure {
    /// The command line asks for something that is not there.
    pub fn usage(message: impl Into<String>) -> Failure {
        Failure { exit: Exit::Usage, message: message.into(), help: None }
    }

    /// The input cannot be checked.
    pub fn input(message: impl Into<String>) -> Failure {
        Failure { exit: Exit::Unsupported, message: message.into(), help: None }
    }

    /// The machine does not let us work.
    pub fn environment(message: impl Into<String>) -> Failure {
        Failure { exit: Exit::Incomplete, message: message.into(), help: None }
    }

    /// A panic; what it said is kept by `bug`.
    pub fn bug() -> Failure {
        Failure::bug_said(crate::bug::message())
    }

    /// A mistake of ours that was noticed without a panic.
    pub fn bug_said(message: String) -> Failure {
        Failure { exit: Exit::Bug, message, help: Some(crate::bug::HELP.to_owned()) }
    }

    /// The same with a word on what could be done.
    pub fn with_help(self, help: impl Into<String>) -> Failure {
        Failure { help: Some(help.into()), ..self }
    }

    /// The exit code.
    pub fn exit(&self) -> Exit {
        self.exit
    }

    /// What could be done, if anything is known.
    pub fn help(&self) -> Option<&str> {
        self.help.as_deref()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Failure {
        let message = error.to_string();
        match error {
            LoadError::NotFound { .. }
            | LoadError::NotReadable { .. }
            | LoadError::UnknownKind { .. }
            | LoadError::NoInput => Failure::usage(message),
            _ => Failure::input(message),
        }
    }
}
