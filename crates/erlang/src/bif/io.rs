//! Output, and stand-ins for the logger: what a process prints is nobody's business but the reader's.

use super::conversion::characters;
use super::{Bif, Context, Flow, Row, badarg};
use crate::atom::Atom;
use crate::term::Term;
use std::fmt::Write;

pub(super) const TABLE: &[Row<Bif>] = &[
    ("io", "format", 1, |c, args| output(c, &args[0], &Term::Nil)),
    ("io", "format", 2, |c, args| output(c, &args[0], &args[1])),
    ("io", "format", 3, |c, args| output(c, &args[1], &args[2])),
    ("io", "fwrite", 1, |c, args| output(c, &args[0], &Term::Nil)),
    ("io", "fwrite", 2, |c, args| output(c, &args[0], &args[1])),
    ("io", "fwrite", 3, |c, args| output(c, &args[1], &args[2])),
    ("io", "nl", 0, |c, _| print(c, "\n")),
    ("io", "nl", 1, |c, _| print(c, "\n")),
    ("io", "put_chars", 1, |c, args| put_chars(c, &args[0])),
    ("io", "put_chars", 2, |c, args| put_chars(c, &args[1])),
    ("io", "write", 1, |c, args| print(c, &format!("{:#}", args[0]))),
    ("erlang", "display", 1, |c, args| {
        print(c, &format!("{:#}\n", args[0]));
        Flow::Value(Term::bool(true))
    }),
    ("logger", "allow", 2, |_, _| Flow::Value(Term::bool(false))),
    ("error_logger", "error_msg", 1, |_, _| Flow::Value(Term::Atom(Atom::OK))),
    ("error_logger", "error_msg", 2, |_, _| Flow::Value(Term::Atom(Atom::OK))),
    ("error_logger", "warning_msg", 1, |_, _| Flow::Value(Term::Atom(Atom::OK))),
    ("error_logger", "warning_msg", 2, |_, _| Flow::Value(Term::Atom(Atom::OK))),
    ("error_logger", "info_msg", 1, |_, _| Flow::Value(Term::Atom(Atom::OK))),
    ("error_logger", "info_msg", 2, |_, _| Flow::Value(Term::Atom(Atom::OK))),
    ("error_logger", "format", 2, |_, _| Flow::Value(Term::Atom(Atom::OK))),
    ("error_logger", "error_report", 1, |_, _| Flow::Value(Term::Atom(Atom::OK))),
    ("error_logger", "error_report", 2, |_, _| Flow::Value(Term::Atom(Atom::OK))),
    ("error_logger", "info_report", 1, |_, _| Flow::Value(Term::Atom(Atom::OK))),
    ("error_logger", "info_report", 2, |_, _| Flow::Value(Term::Atom(Atom::OK))),
];

fn print(context: &mut Context<'_>, text: &str) -> Flow {
    if let Some(output) = &context.process.output {
        output.borrow_mut().push_str(text);
    }
    Flow::Value(Term::Atom(Atom::OK))
}

fn put_chars(context: &mut Context<'_>, text: &Term) -> Flow {
    match characters(text) {
        Ok(text) => print(context, &text),
        Err(raised) => Flow::Raise(raised),
    }
}

fn output(context: &mut Context<'_>, template: &Term, args: &Term) -> Flow {
    match format(template, args) {
        Ok(text) => print(context, &text),
        Err(FormatError::BadArgument) => badarg().into(),
        Err(FormatError::Unsupported(directive)) => Flow::Unsupported(format!("io:format with ~{directive}")),
    }
}

/// Why a format cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FormatError {
    /// Template and arguments do not fit.
    BadArgument,
    /// A directive that is not known here.
    Unsupported(char),
}

/// The text of a template with its arguments.
pub fn format(template: &Term, args: &Term) -> Result<String, FormatError> {
    let template = match template {
        Term::Atom(atom) => atom.name().to_owned(),
        other => characters(other).map_err(|_| FormatError::BadArgument)?,
    };
    let args = args.to_vec().ok_or(FormatError::BadArgument)?;
    let mut args = args.into_iter();
    let mut out = String::new();
    let mut chars = template.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '~' {
            out.push(c);
            continue;
        }
        // Widths and precisions are for the eye; only the directive counts for what is shown.
        let mut directive = chars.next().ok_or(FormatError::BadArgument)?;
        let mut width = String::new();
        while directive.is_ascii_digit() || matches!(directive, '-' | '.' | '*' | 't' | 'l') {
            match directive {
                '*' => {
                    args.next().ok_or(FormatError::BadArgument)?;
                }
                't' | 'l' => {}
                other => width.push(other),
            }
            directive = chars.next().ok_or(FormatError::BadArgument)?;
        }
        let mut next = || args.next().ok_or(FormatError::BadArgument);
        match directive {
            '~' => out.push('~'),
            'n' => out.push('\n'),
            'p' | 'P' => {
                let _ = write!(out, "{}", next()?);
                if directive == 'P' {
                    next()?;
                }
            }
            'w' | 'W' => {
                let _ = write!(out, "{:#}", next()?);
                if directive == 'W' {
                    next()?;
                }
            }
            's' => match next()? {
                Term::Atom(atom) => out.push_str(atom.name()),
                other => out.push_str(&characters(&other).map_err(|_| FormatError::BadArgument)?),
            },
            'c' => match next()?.as_int().and_then(|code| u32::try_from(code).ok()).and_then(char::from_u32) {
                Some(c) => out.push(c),
                None => return Err(FormatError::BadArgument),
            },
            'b' | 'B' | '#' => match next()? {
                number @ (Term::Int(_) | Term::Big(_)) => {
                    let _ = write!(out, "{number}");
                }
                _ => return Err(FormatError::BadArgument),
            },
            'f' | 'g' | 'e' => match next()? {
                Term::Float(value) => {
                    let places = width.split_once('.').and_then(|(_, places)| places.parse().ok()).unwrap_or(6);
                    let _ = match directive {
                        'f' => write!(out, "{value:.places$}"),
                        'e' => write!(out, "{value:.places$e}"),
                        _ => write!(out, "{}", Term::Float(value)),
                    };
                }
                _ => return Err(FormatError::BadArgument),
            },
            'i' => {
                next()?;
            }
            other => return Err(FormatError::Unsupported(other)),
        }
    }
    if args.next().is_some() { Err(FormatError::BadArgument) } else { Ok(out) }
}
