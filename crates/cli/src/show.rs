//! The `models` and `ir` commands: what a program may call, and what a program becomes.

use crate::args::{IrArgs, ModelsArgs};
use crate::exit::{Exit, Failure};
use crate::{output, program};
use std::fmt::Write;

/// Lists the library functions that have a model.
pub fn models(args: &ModelsArgs) -> Result<Exit, Failure> {
    let wanted = args.contains.as_deref().unwrap_or_default();
    let mut text = String::new();
    for name in selvedge_machine::models::names().into_iter().filter(|name| name.contains(wanted)) {
        writeln!(text, "{name}").expect("writing to a string succeeds");
    }
    if text.is_empty() {
        return Err(Failure::usage(format!("no library function with `{wanted}` in its name is modelled")));
    }
    output::print(&text);
    Ok(Exit::Verified)
}

/// Prints a program in text form.
pub fn ir(args: &IrArgs) -> Result<Exit, Failure> {
    let reductions = if args.raw { None } else { Some(args.loops.as_slice()) };
    let module = program::load(&program::described(&args.input), reductions)?;
    output::print(&module.to_string());
    Ok(Exit::Verified)
}
