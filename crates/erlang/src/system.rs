//! All code that has been loaded, and how a call finds it.
//!
//! Modules are loaded when something in them is first called, and functions are compiled when they are. None of that
//! depends on the schedule: going back does not undo it.

use crate::atom::Atom;
use crate::bif::{self, Bif, Native};
use crate::code::Function;
use crate::compile::{self, CodeTable};
use crate::core::{self, CoreModule, Definition};
use crate::loader::{LoadError, Loader};
use crate::term::{CodeId, Term};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// A loaded module.
#[derive(Debug)]
pub struct Module {
    /// Its functions.
    functions: FxHashMap<(Atom, u8), CodeId>,
    /// Which of them others may call.
    pub exports: Vec<(Atom, u8)>,
    /// Its attributes.
    pub attributes: Vec<(Term, Term)>,
}

#[derive(Debug)]
enum Code {
    /// Not compiled yet.
    Waiting(Box<(Atom, Definition)>),
    /// Being compiled.
    Reserved,
    /// Compiled.
    Ready(Rc<Function>),
}

/// Where a call leads.
#[derive(Clone, Copy, Debug)]
pub enum Callee {
    /// To Erlang code.
    Code(CodeId),
    /// To a native function without effects.
    Pure(Native),
    /// To a native function.
    Native(Bif),
    /// Nowhere: there is no such function.
    Undefined,
    /// To a function of the run-time system that has no counterpart here.
    Unsupported,
}

/// All code.
pub struct System {
    loader: Box<dyn Loader>,
    code: Vec<Code>,
    modules: FxHashMap<Atom, Option<Module>>,
    callees: FxHashMap<(Atom, Atom, u8), Callee>,
}

impl std::fmt::Debug for System {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("System").field("modules", &self.modules.keys()).finish_non_exhaustive()
    }
}

/// Code that is there but cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CodeError {
    /// It could not be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// It is not understood.
    #[error("in module {module}: {error}")]
    Core {
        /// Where.
        module: Atom,
        /// What.
        error: core::CoreError,
    },
}

impl System {
    /// No code but the native functions.
    pub fn new(loader: Box<dyn Loader>) -> System {
        System { loader, code: Vec::new(), modules: FxHashMap::default(), callees: FxHashMap::default() }
    }

    /// A module, loaded now if it was not; none if there is no such module.
    pub fn module(&mut self, name: Atom) -> Result<Option<&Module>, CodeError> {
        if !self.modules.contains_key(&name) {
            let loaded = self.load(name)?;
            self.modules.insert(name, loaded);
        }
        Ok(self.modules[&name].as_ref())
    }

    fn load(&mut self, name: Atom) -> Result<Option<Module>, CodeError> {
        let Some(term) = self.loader.load(name)? else { return Ok(None) };
        let core = core::module(&term).map_err(|error| CodeError::Core { module: name, error })?;
        Ok(Some(self.add(core)))
    }

    fn add(&mut self, core: CoreModule) -> Module {
        let CoreModule { name, exports, attributes, definitions } = core;
        let mut functions = FxHashMap::default();
        for definition in definitions {
            let id = CodeId(u32::try_from(self.code.len()).expect("fewer functions than numbers"));
            functions.insert((definition.name, definition.arity), id);
            self.code.push(Code::Waiting(Box::new((name, definition))));
        }
        Module { functions, exports, attributes }
    }

    /// Where a call of an exported function leads.
    pub fn callee(&mut self, module: Atom, name: Atom, arity: u8) -> Result<Callee, CodeError> {
        let key = (module, name, arity);
        if let Some(callee) = self.callees.get(&key) {
            return Ok(*callee);
        }
        let callee = match (bif::pure(module, name, arity), bif::effectful(module, name, arity)) {
            (Some(native), _) => Callee::Pure(native),
            (None, Some(bif)) => Callee::Native(bif),
            (None, None) => self.find(module, name, arity)?,
        };
        self.callees.insert(key, callee);
        Ok(callee)
    }

    fn find(&mut self, module: Atom, name: Atom, arity: u8) -> Result<Callee, CodeError> {
        let Some(found) = self.module(module)? else {
            let known = self.loader.is_in_runtime(module, name, arity)?;
            return Ok(if known { Callee::Unsupported } else { Callee::Undefined });
        };
        let exported = found.exports.contains(&(name, arity));
        let code = found.functions.get(&(name, arity)).copied();
        Ok(code.filter(|_| exported).map_or(Callee::Undefined, Callee::Code))
    }

    /// Compiled code.
    pub fn function(&mut self, id: CodeId) -> Result<Rc<Function>, CodeError> {
        if let Code::Ready(function) = &self.code[id.0 as usize] {
            return Ok(function.clone());
        }
        let Code::Waiting(waiting) = std::mem::replace(&mut self.code[id.0 as usize], Code::Reserved) else {
            unreachable!("code is reserved only while it is compiled")
        };
        let (module, definition) = *waiting;
        let in_module = |error| CodeError::Core { module, error };
        let tree = core::function(&definition).map_err(in_module)?;
        let mut table = Table { system: self, module };
        compile::function(&mut table, module, definition.name, id, &tree).map_err(in_module)?;
        match &self.code[id.0 as usize] {
            Code::Ready(function) => Ok(function.clone()),
            _ => unreachable!("it has just been compiled"),
        }
    }

    /// A `fun`'s code, which is compiled together with what is around it.
    pub fn compiled(&self, id: CodeId) -> &Function {
        match &self.code[id.0 as usize] {
            Code::Ready(function) => function,
            _ => unreachable!("a fun's code is there before the fun"),
        }
    }

    /// Whether a module is the user's own, not one of the libraries.
    pub fn is_users(&self, module: Atom) -> bool {
        self.loader.is_users(module)
    }

    /// Whether a module is OTP's own.
    pub fn is_library(&self, module: Atom) -> bool {
        self.loader.is_library(module)
    }

    /// Where a module's code comes from, for `code:which/1`.
    pub fn loader(&mut self) -> &mut dyn Loader {
        &mut *self.loader
    }
}

struct Table<'a> {
    system: &'a mut System,
    module: Atom,
}

impl CodeTable for Table<'_> {
    fn reserve(&mut self) -> CodeId {
        let id = CodeId(u32::try_from(self.system.code.len()).expect("fewer functions than numbers"));
        self.system.code.push(Code::Reserved);
        id
    }

    fn define(&mut self, code: CodeId, function: Function) {
        self.system.code[code.0 as usize] = Code::Ready(Rc::new(function));
    }

    fn module_function(&self, name: Atom, arity: u8) -> Option<CodeId> {
        let module = self.system.modules.get(&self.module)?.as_ref()?;
        module.functions.get(&(name, arity)).copied()
    }
}
