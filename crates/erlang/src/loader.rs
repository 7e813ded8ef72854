//! Where code comes from: the user's files are compiled, library modules are taken from the installed OTP.
//!
//! Both are done by the installed Erlang itself: `erl` runs the compiler up to Core Erlang and writes it in the external
//! term format. Library modules come from the abstract code in their `.beam` files and are kept in a directory of their
//! own for the next time (`SELVEDGE_CACHE`, else below `XDG_CACHE_HOME` or `~/.cache`).

use crate::atom::Atom;
use crate::etf;
use crate::term::Term;
use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::ffi::OsString;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Gives the code of modules.
pub trait Loader {
    /// The Core Erlang of a module; none if there is no such module.
    fn load(&mut self, module: Atom) -> Result<Option<Term>, LoadError>;
    /// Whether the run-time system has such a function in a module that it keeps to itself.
    fn is_in_runtime(&mut self, module: Atom, name: Atom, arity: u8) -> Result<bool, LoadError>;
    /// Whether a module is the user's.
    fn is_users(&self, module: Atom) -> bool;
    /// Whether a module is OTP's own: neither in the user's files nor in directories that were given.
    fn is_library(&self, module: Atom) -> bool;
}

/// Why code cannot be had.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LoadError {
    /// There is no Erlang.
    #[error(
        "cannot run `{program}`: {error}; Erlang modules need an installed Erlang/OTP \
         (Debian: apt-get install erlang-base), or SELVEDGE_ERL with the path of `erl`"
    )]
    NoErlang {
        /// What was run.
        program: String,
        /// Why it did not run.
        error: String,
    },
    /// The compiler found errors; its own words.
    #[error("{0}")]
    Compile(String),
    /// `erl` did something unexpected.
    #[error("`erl` failed: {0}")]
    Erl(String),
    /// A module without abstract code.
    #[error("module {module} ({path}) has no abstract code: compile it with +debug_info, or give its source")]
    NoAbstractCode {
        /// Which.
        module: Atom,
        /// Its file.
        path: String,
    },
    /// Two files define the same module.
    #[error("module {0} is defined by two files")]
    Twice(Atom),
    /// A file cannot be read or written.
    #[error("{path}: {error}")]
    File {
        /// Which.
        path: String,
        /// Why.
        error: String,
    },
    /// What `erl` wrote is not understood.
    #[error("the code of module {module}: {error}")]
    Format {
        /// Which module.
        module: Atom,
        /// What is wrong.
        error: etf::EtfError,
    },
}

/// What is compiled, and how.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The user's files.
    pub files: Vec<PathBuf>,
    /// Directories with header files.
    pub include_dirs: Vec<PathBuf>,
    /// Macros: `NAME` or `NAME=VALUE`.
    pub defines: Vec<String>,
    /// Directories with compiled modules.
    pub code_dirs: Vec<PathBuf>,
}

/// Modules that are often needed together: made at once when the first of them is.
const COMMON: &[&str] = &[
    "lists",
    "maps",
    "gen",
    "gen_server",
    "gen_statem",
    "gen_event",
    "supervisor",
    "proc_lib",
    "sys",
    "timer",
    "proplists",
    "queue",
    "sets",
    "ordsets",
    "orddict",
    "dict",
    "string",
    "io_lib",
    "gb_trees",
    "gb_sets",
    "rand",
];

/// The program that `erl` runs. Its arguments: a directory for what it writes, then `compile` with options and files, or
/// `library` with module names.
const SCRIPT: &str = r#"
Write = fun(Dir, Name, Term) ->
    Path = filename:join(Dir, Name), Part = Path ++ "." ++ os:getpid(),
    ok = file:write_file(Part, term_to_binary(Term)), ok = file:rename(Part, Path) end,
Library = fun(Dir, Name) ->
    Module = list_to_atom(Name),
    case code:which(Module) of
        Path when is_list(Path), Path =/= "" ->
            case beam_lib:chunks(Path, [abstract_code]) of
                {ok, {_, [{abstract_code, {raw_abstract_v1, Forms}}]}} ->
                    {ok, _, Core} = compile:noenv_forms(Forms, [to_core0, binary, nowarn_deprecated_function]),
                    Write(Dir, Name ++ ".core", Core);
                _ -> Write(Dir, Name ++ ".none", {no_abstract_code, Path})
            end;
        _ -> Write(Dir, Name ++ ".none", non_existing)
    end end,
Compile = fun(Dir, Options, Files) ->
    Results = [case compile:file(File, [to_core0, binary, report, {i, "."} | Options]) of
        {ok, Module, Core} -> Write(Dir, atom_to_list(Module) ++ ".core", Core), {File, Module};
        _ -> error
    end || File <- Files],
    Write(Dir, "index", {Results, erlang:system_info(otp_release), erlang:system_info(version), code:lib_dir(),
        [{M, M:module_info(exports)} || M <- erlang:pre_loaded()]}) end,
Code = try
    [Dir, What | Rest] = init:get_plain_arguments(),
    case What of
        "library" -> [Library(Dir, Name) || Name <- Rest];
        "compile" ->
            {ok, Tokens, _} = erl_scan:string(hd(Rest)),
            {ok, Options} = erl_parse:parse_term(Tokens),
            Compile(Dir, Options, tl(Rest))
    end, 0
catch Class:Reason:Stack -> io:format("~p~n", [{Class, Reason, Stack}]), 1 end,
halt(Code).
"#;

/// The installed Erlang.
#[derive(Debug)]
pub struct Otp {
    program: OsString,
    modules: HashMap<Atom, Option<Term>>,
    users: Vec<Atom>,
    files: HashMap<Atom, PathBuf>,
    runtime: Vec<(Atom, Atom, u8)>,
    code_dirs: Vec<PathBuf>,
    cache: PathBuf,
    scratch: tempfile::TempDir,
}

impl Otp {
    /// Compiles the user's files.
    pub fn compile(sources: &Sources) -> Result<Otp, LoadError> {
        let program = std::env::var_os("SELVEDGE_ERL").unwrap_or_else(|| "erl".into());
        let scratch = tempfile::tempdir().map_err(|error| file_error(&std::env::temp_dir(), &error))?;
        for file in &sources.files {
            fs::File::open(file).map_err(|error| file_error(file, &error))?;
        }
        let mut args: Vec<OsString> = vec!["compile".into(), options(sources).into()];
        args.extend(sources.files.iter().map(|file| file.clone().into()));
        let printed = run(&program, &sources.code_dirs, scratch.path(), &args)?;
        let mut otp = Otp {
            program,
            modules: HashMap::new(),
            users: Vec::new(),
            files: HashMap::new(),
            runtime: Vec::new(),
            code_dirs: sources.code_dirs.clone(),
            cache: PathBuf::new(),
            scratch,
        };
        otp.read_index(&printed)?;
        Ok(otp)
    }

    /// The user's modules, in the order of their files.
    pub fn users(&self) -> &[Atom] {
        &self.users
    }

    /// A hash of the user's modules as they are run.
    pub fn hash(&self) -> String {
        let mut hasher = DefaultHasher::new();
        for module in &self.users {
            (module.name(), fs::read(self.scratch.path().join(format!("{}.core", module.name()))).ok())
                .hash(&mut hasher);
        }
        format!("{:016x}", hasher.finish())
    }

    fn read_index(&mut self, printed: &str) -> Result<(), LoadError> {
        let index = self.read(&self.scratch.path().join("index"), Atom::EMPTY)?;
        let unexpected = || LoadError::Erl("its index is not understood".into());
        let index = index.ok_or_else(unexpected)?;
        let Some([results, release, version, root, preloaded]) = index.as_tuple() else { return Err(unexpected()) };
        for result in results.items() {
            let Some([file, Term::Atom(module)]) = result.as_tuple() else {
                return Err(LoadError::Compile(printed.trim_end().to_owned()));
            };
            if self.users.contains(module) {
                return Err(LoadError::Twice(*module));
            }
            self.users.push(*module);
            self.files.insert(*module, file.to_text().unwrap_or_default().into());
            let core = self.read(&self.scratch.path().join(format!("{}.core", module.name())), *module)?;
            self.modules.insert(*module, core);
        }
        for entry in preloaded.items() {
            let Some([Term::Atom(module), exports]) = entry.as_tuple() else { return Err(unexpected()) };
            for export in exports.items() {
                if let Some([Term::Atom(name), Term::Int(arity)]) = export.as_tuple() {
                    self.runtime.push((*module, *name, u8::try_from(*arity).unwrap_or(u8::MAX)));
                }
            }
        }
        let text = |term: &Term| term.to_text().unwrap_or_default();
        let mut hasher = DefaultHasher::new();
        (text(root), SCRIPT).hash(&mut hasher);
        let name = format!("otp-{}-{}-{:016x}", text(release), text(version), hasher.finish());
        self.cache = cache_root().map_or_else(|| self.scratch.path().join("otp"), |root| root.join(name));
        if fs::create_dir_all(&self.cache).is_err() {
            self.cache = self.scratch.path().join("otp");
            fs::create_dir_all(&self.cache).map_err(|error| file_error(&self.cache, &error))?;
        }
        Ok(())
    }

    fn read(&self, path: &Path, module: Atom) -> Result<Option<Term>, LoadError> {
        match fs::read(path) {
            Ok(bytes) => etf::decode(&bytes).map(Some).map_err(|error| LoadError::Format { module, error }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(file_error(path, &error)),
        }
    }

    /// Whether a module lies in a directory that was given by `-pa`.
    fn is_given(&self, module: &str) -> bool {
        self.code_dirs.iter().any(|dir| dir.join(format!("{module}.beam")).exists())
    }

    /// A module that is not the user's: from `-pa` directories, else from the cache, else from OTP.
    fn library(&mut self, module: Atom) -> Result<Option<Term>, LoadError> {
        let name = module.name();
        if name.is_empty() || name.contains(['/', '\\', '\0']) || name.starts_with('.') {
            return Ok(None);
        }
        // What lies in the user's directories may change: it is not kept.
        let own = self.is_given(name);
        let dir = if own { self.scratch.path().to_owned() } else { self.cache.clone() };
        let (core, none) = (dir.join(format!("{name}.core")), dir.join(format!("{name}.none")));
        if own || (!core.exists() && !none.exists()) {
            let missing = |name: &&&str| !dir.join(format!("{name}.core")).exists();
            let mut args: Vec<OsString> = vec!["library".into(), name.into()];
            if !own && COMMON.contains(&name) {
                args.extend(COMMON.iter().filter(|other| **other != name).filter(missing).map(Into::into));
            }
            run(&self.program, &self.code_dirs, &dir, &args)?;
        }
        if let Some(term) = self.read(&core, module)? {
            return Ok(Some(term));
        }
        match self.read(&none, module)? {
            Some(Term::Tuple(why)) => {
                let path = why.get(1).and_then(Term::to_text).unwrap_or_default();
                Err(LoadError::NoAbstractCode { module, path })
            }
            _ => {
                // A module that does not exist today may exist tomorrow.
                let _ = fs::remove_file(&none);
                Ok(None)
            }
        }
    }
}

impl Loader for Otp {
    fn load(&mut self, module: Atom) -> Result<Option<Term>, LoadError> {
        if let Some(known) = self.modules.get(&module) {
            return Ok(known.clone());
        }
        if self.runtime.iter().any(|(known, ..)| *known == module) {
            return Ok(None);
        }
        let loaded = self.library(module)?;
        self.modules.insert(module, loaded.clone());
        Ok(loaded)
    }

    fn is_in_runtime(&mut self, module: Atom, name: Atom, arity: u8) -> Result<bool, LoadError> {
        Ok(self.runtime.contains(&(module, name, arity)))
    }

    fn is_users(&self, module: Atom) -> bool {
        self.users.contains(&module)
    }

    fn is_library(&self, module: Atom) -> bool {
        !self.users.contains(&module) && !self.is_given(module.name())
    }
}

fn file_error(path: &Path, error: &std::io::Error) -> LoadError {
    LoadError::File { path: path.display().to_string(), error: error.to_string() }
}

fn cache_root() -> Option<PathBuf> {
    if let Some(dir) = std::env::var_os("SELVEDGE_CACHE") {
        return Some(dir.into());
    }
    let base = std::env::var_os("XDG_CACHE_HOME").filter(|dir| !dir.is_empty()).map(PathBuf::from);
    let base = base.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")))?;
    Some(base.join("selvedge"))
}

/// The options of the compiler, as a term with the full stop that the parser wants.
fn options(sources: &Sources) -> String {
    let mut all = Vec::new();
    for dir in &sources.include_dirs {
        all.push(format!("{{i,{}}}", Term::string(&dir.to_string_lossy())));
    }
    for define in &sources.defines {
        let (name, value) = define.split_once('=').unwrap_or((define, "true"));
        // A value is any term.
        all.push(format!("{{d,{},{value}}}", Atom::new(name)));
    }
    format!("[{}].", all.join(","))
}

fn run(program: &OsString, code_dirs: &[PathBuf], dir: &Path, args: &[OsString]) -> Result<String, LoadError> {
    let mut command = Command::new(program);
    command.args(["-noinput", "-boot", "start_clean", "+S", "1:1", "+A", "1"]);
    for dir in code_dirs {
        command.arg("-pa").arg(dir);
    }
    command.args(["-eval", SCRIPT, "-extra"]).arg(dir).args(args);
    command.stdin(Stdio::null()).env_remove("ERL_AFLAGS").env_remove("ERL_ZFLAGS").env("ERL_CRASH_DUMP_SECONDS", "0");
    let shown = program.to_string_lossy().into_owned();
    let output = command.output().map_err(|error| LoadError::NoErlang { program: shown, error: error.to_string() })?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(printed);
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(LoadError::Erl(format!("{}{}", printed.trim_end(), errors.trim_end())))
}
