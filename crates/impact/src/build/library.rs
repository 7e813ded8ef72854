//! Library functions.

use super::block::Source;
use super::objects::unsupported;
use super::path::{Ending, Path};
use super::run::At;
use super::{Builder, Unsupported};
use crate::program::{ErrorKind, INPUT, StepKind};
use crate::term::Term;
use selvedge_ir::Type;

/// Functions that do nothing that matters here; their results are inputs.
const HARMLESS: &[&str] = &[
    "printf",
    "puts",
    "putchar",
    "fprintf",
    "fflush",
    "perror",
    "usleep",
    "sleep",
    "nanosleep",
    "sched_yield",
    "pthread_yield",
    "pthread_attr_init",
    "pthread_attr_destroy",
    "srand",
];

/// Whether a function has a meaning of its own even if it has a body.
pub(super) fn is_modelled(name: &str) -> bool {
    matches!(
        name,
        "__VERIFIER_assume"
            | "__VERIFIER_assert"
            | "__VERIFIER_error"
            | "reach_error"
            | "__VERIFIER_atomic_begin"
            | "__VERIFIER_atomic_end"
    )
}

/// The type of a `__VERIFIER_nondet_*`, by the end of its name.
fn nondet(name: &str) -> Option<(u8, bool)> {
    Some(match name.strip_prefix("__VERIFIER_nondet_")? {
        "bool" | "_Bool" => (1, false),
        "char" => (8, true),
        "uchar" | "unsigned_char" | "u8" => (8, false),
        "short" => (16, true),
        "ushort" | "unsigned_short" | "u16" => (16, false),
        "int" => (32, true),
        "uint" | "unsigned" | "unsigned_int" | "u32" => (32, false),
        "long" | "longlong" | "loff_t" => (64, true),
        "ulong" | "ulonglong" | "unsigned_long" | "size_t" | "u64" => (64, false),
        _ => return None,
    })
}

impl Builder<'_> {
    /// Calls a library function.
    pub(super) fn library(
        &mut self,
        path: &mut Path,
        todo: &mut Vec<Path>,
        at: At,
        name: &str,
        args: &[Term],
    ) -> Result<(), Unsupported> {
        let results = self.module.functions[at.func].insts[at.inst].results.clone();
        let result = results.first().copied();
        let type_of = |value| self.module.functions[at.func].values[value].ty;
        let result_type: Option<Type> = result.map(type_of);
        if nondet(name).is_some() {
            let bits = nondet(name).map_or(32, |(bits, _)| bits);
            path.step(at.func, at.inst, StepKind::Nondet, at.loc);
            let input = self.input(path, INPUT, bits);
            let width = result_type.map_or(bits, |ty| ty.bits() as u8);
            let value = if width > bits { self.terms.zext(input, width) } else { self.terms.extract(0, width, input) };
            self.define(path, result, value);
        } else if HARMLESS.contains(&name) {
            if let Some(ty) = result_type {
                let value = match name.starts_with("pthread_") || name.starts_with("sem_") {
                    true => self.terms.number(0, ty.bits() as u8),
                    false => self.input(path, name, ty.bits() as u8),
                };
                self.define(path, result, value);
            }
        } else {
            match name {
                "__assert_fail" | "__assert" | "__assert_rtn" => {
                    let text = args.first().and_then(|&arg| self.string(arg));
                    let message =
                        text.map_or("an assertion fails".to_owned(), |text| format!("assertion `{text}` fails"));
                    path.fail(ErrorKind::Assertion, message, at.loc);
                }
                "__VERIFIER_error" | "reach_error" => {
                    path.fail(ErrorKind::Assertion, "the error function is reached", at.loc);
                }
                "__VERIFIER_assert" => {
                    let wrong = self.is_zero(args[0]);
                    let what = (ErrorKind::Assertion, "the argument of `__VERIFIER_assert` is false");
                    self.error_if(path, todo, wrong, what, at.loc);
                }
                "malloc" => self.allocate(path, at, args[0], false, result)?,
                "calloc" => {
                    let size = self.terms.mul(args[0], args[1]);
                    self.allocate(path, at, size, true, result)?;
                }
                "free" if !self.free(path, todo, at, args[0])? => return Ok(()),
                "free" => {}
                "memcpy" | "memmove" | "memset" => {
                    let from = if name == "memset" { Source::Byte(args[1]) } else { Source::Memory(args[1]) };
                    if !self.block(path, todo, at, args[0], from, args[2])? {
                        return Ok(());
                    }
                    self.define(path, result, args[0]);
                }
                "abort" => path.fail(ErrorKind::Abort, "`abort` is called", at.loc),
                "exit" | "_exit" | "_Exit" => {
                    if self.may_stay(path) {
                        path.step(at.func, at.inst, StepKind::Exit, at.loc);
                        path.ending = Ending::Exit;
                    }
                }
                "__VERIFIER_assume" | "assume" => {
                    let zero = self.is_zero(args[0]);
                    let holds = self.terms.not(zero);
                    self.assume(path, at, holds);
                }
                "__VERIFIER_atomic_begin" => {
                    if path.atomic == 0 && !self.visible(path) {
                        return Ok(());
                    }
                    path.atomic += 1;
                    path.step(at.func, at.inst, StepKind::AtomicBegin, at.loc);
                }
                "__VERIFIER_atomic_end" => {
                    if path.atomic == 0 {
                        path.fail(ErrorKind::LockMisuse, "the end of an atomic section that was not begun", at.loc);
                        return Ok(());
                    }
                    path.atomic -= 1;
                    path.step(at.func, at.inst, StepKind::AtomicEnd, at.loc);
                }
                _ => return self.synchronise(path, todo, at, name, args, result),
            }
        }
        if path.ending == Ending::Running {
            path.index += 1;
        }
        Ok(())
    }

    pub(super) fn is_zero(&mut self, term: Term) -> Term {
        let zero = self.terms.number(0, self.terms.bits(term));
        self.terms.eq(term, zero)
    }

    /// The text that a pointer points to.
    fn string(&self, pointer: Term) -> Option<String> {
        let (place, offset, parts) = self.memory.find(&self.terms, pointer)?;
        let super::objects::Place::Global(global) = place else { return None };
        let data = &self.module.globals[global].data;
        let from = usize::try_from(offset).ok().filter(|_| parts.is_empty())?;
        let bytes: Vec<u8> = data.get(from..)?.iter().copied().take_while(|&b| b != 0).collect();
        String::from_utf8(bytes).ok()
    }

    pub(super) fn refuse_call(&self, name: &str, at: At) -> Unsupported {
        unsupported(format!("a call of `{name}`, which is not known"), at.loc)
    }
}
