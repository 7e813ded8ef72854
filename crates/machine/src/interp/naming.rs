//! Names of objects, source positions and call stacks.
//!
//! An address is named by what it points into. For global and local variables the debug information says how to get
//! from the variable to the bytes: `buf[3]`, `q.head`, `a[1].next`. Heap objects have no name of their own; there the
//! access path of the instruction is used (`node->next`), or else the place of the allocation.

use super::Interpreter;
use super::code::{Func, Ins, Pc, Program, Target};
use super::nowhere;
use crate::memory::{Object, ObjectKind};
use crate::{Addr, Op, Site, SourceSpan, Status, ThreadId, main_thread};
use selvedge_ir::{DebugType, EntityRef, FuncId, GlobalId, LocId, Type, TypeId};
use std::fmt::Write;

/// Set in the tags of objects that belong to the library; the rest of the tag says which.
pub const LIBRARY: u32 = 1 << 31;

/// A name, and how values there are best shown.
#[derive(Clone, Debug, Default)]
pub struct Named {
    /// In the words of the source.
    pub text: String,
    /// Whether the debug information led to a number or pointer.
    pub known: bool,
    /// Whether it is a signed number.
    pub signed: bool,
    /// Whether it is a pointer.
    pub pointer: bool,
}

/// A name in quotes, unless it is a description.
pub fn quoted(name: &str) -> String {
    if name.contains(' ') { name.to_string() } else { format!("`{name}`") }
}

impl Program {
    /// The function whose code an instruction belongs to.
    pub fn function_of(&self, pc: Pc) -> Option<&Func> {
        let before = self.funcs.values().filter(|func| func.entry.is_some_and(|entry| entry <= pc));
        before.max_by_key(|func| func.entry)
    }

    /// A source position.
    pub fn span(&self, loc: LocId) -> SourceSpan {
        let Some(loc) = self.locs.get(loc) else { return nowhere() };
        SourceSpan {
            file: loc.file.and_then(|file| self.files.get(file)).map_or_else(String::new, |file| file.name.clone()),
            line: loc.line,
            column: loc.column,
            function: loc.function.clone(),
        }
    }

    /// The part of a value of a type that lies at an offset: appends `.head` or `[3]` to a name.
    pub fn name_part(&self, ty: TypeId, offset: u64, size: u64, named: &mut Named) {
        let (mut ty, mut offset) = (ty, offset);
        // Types can only be nested as deep as they are written; the bound guards against malformed tables.
        for _ in 0..64 {
            let Some(here) = self.types.get(ty) else { return };
            match here {
                DebugType::Record { size: whole, .. } if offset == 0 && size >= *whole && size > 0 => return,
                DebugType::Record { fields, .. } => {
                    let inside = |at: u64, bytes: u64| at <= offset && offset - at < bytes.max(1);
                    let Some(field) = fields.iter().find(|field| inside(field.offset, field.size)) else {
                        let _ = write!(named.text, " (byte {offset})");
                        return;
                    };
                    // Names that start with two underscores are the library's own business: a mutex is `m`, not what
                    // the library has in it.
                    if field.name.starts_with("__") {
                        return;
                    }
                    if !field.name.is_empty() {
                        let _ = write!(named.text, ".{}", field.name);
                    }
                    offset -= field.offset;
                    ty = field.ty;
                }
                DebugType::Array { element, element_size, count } => {
                    let whole = count.map(|count| count * element_size);
                    if *element_size == 0 || (offset == 0 && size > *element_size && whole == Some(size)) {
                        return;
                    }
                    let _ = write!(named.text, "[{}]", offset / element_size);
                    offset %= element_size;
                    ty = *element;
                }
                DebugType::Base { signed, float, .. } => {
                    named.known = true;
                    named.signed = *signed && !*float;
                    return;
                }
                DebugType::Pointer { .. } => {
                    (named.known, named.pointer) = (true, true);
                    return;
                }
                DebugType::Enum { .. } => {
                    (named.known, named.signed) = (true, true);
                    return;
                }
                DebugType::Opaque { .. } => return,
            }
        }
    }

    /// A type in the words of the source, as far as messages need it.
    pub fn name_of_type(&self, ty: TypeId) -> Option<&str> {
        match self.types.get(ty)? {
            DebugType::Base { name, .. } | DebugType::Record { name, .. } | DebugType::Enum { name, .. } => {
                (!name.is_empty()).then_some(name.as_str())
            }
            _ => None,
        }
    }
}

/// The innermost place in the user's own code: what a header of the C++ library does inside of an atomic or a container is
/// the doing of whoever called it. If all is the library's, its innermost place.
fn own_place(stack: &[SourceSpan]) -> SourceSpan {
    let own = stack.iter().filter(|span| span.line > 0).find(|span| !is_library(&span.file));
    own.or(stack.first()).cloned().unwrap_or_else(nowhere)
}

/// Whether a file is a header of the C or C++ library.
pub(super) fn is_library(file: &str) -> bool {
    let system = ["/usr/include/", "/usr/lib/", "/usr/local/include/"].iter().any(|dir| file.starts_with(dir));
    system || file.contains("/include/c++/")
}

impl Interpreter {
    /// The instruction that the innermost function of the program executes in a thread.
    pub(super) fn call_pc(&self, id: ThreadId) -> Option<Pc> {
        self.threads[id.index()].frames.iter().rev().find(|frame| !frame.is_model()).map(|frame| frame.pc)
    }

    /// Where a thread stands in the source.
    pub(super) fn place(&self, id: ThreadId) -> SourceSpan {
        own_place(&self.stack_of(id))
    }

    /// The instruction that the innermost function executes in a thread, if its place is in the user's own code: then
    /// [`Interpreter::place`] depends on nothing else.
    pub(super) fn own_pc(&self, id: ThreadId) -> Option<Pc> {
        let mut frames = self.threads[id.index()].frames.iter().rev();
        let frame = frames.find(|frame| !frame.is_model() && frame.func != self.entry)?;
        let loc = self.program.locs.get(self.program.debug.get(frame.pc as usize)?.loc)?;
        let is_library = loc.file.is_some_and(|file| self.program.is_library.get(file).is_some_and(|&is| is));
        (loc.line > 0 && !is_library).then_some(frame.pc)
    }

    /// The source position of an instruction.
    pub(super) fn place_of(&self, pc: Pc) -> SourceSpan {
        self.program.debug.get(pc as usize).map_or_else(nowhere, |debug| self.program.span(debug.loc))
    }

    /// The call stack of a thread, innermost first, with inlined calls.
    pub(super) fn stack_of(&self, id: ThreadId) -> Vec<SourceSpan> {
        let mut stack = Vec::new();
        for frame in self.threads[id.index()].frames.iter().rev() {
            if frame.is_model() || frame.func == self.entry {
                continue;
            }
            let mut loc = self.program.debug.get(frame.pc as usize).map(|debug| debug.loc);
            // Positions can be inlined into each other only finitely deep, unless the table is malformed.
            for _ in 0..256 {
                let Some(here) = loc else { break };
                let mut span = self.program.span(here);
                if span.function.is_empty() {
                    span.function = self.program.funcs[frame.func].source_name.clone();
                }
                stack.push(span);
                loc = self.program.locs.get(here).and_then(|loc| loc.inlined_at);
            }
        }
        if stack.is_empty()
            && let Some(pc) = self.undo.process.main_returned.filter(|_| id == main_thread())
        {
            stack.push(self.place_of(pc));
        }
        stack
    }

    /// The name of the variable that an object is, and its type; none for heap objects.
    pub(super) fn variable(&self, object: &Object) -> Option<(String, Option<TypeId>)> {
        if object.tag & LIBRARY != 0 {
            let name = self.library.get((object.tag & !LIBRARY) as usize)?;
            return Some(((*name).to_string(), None));
        }
        match object.kind {
            ObjectKind::Global | ObjectKind::Constant | ObjectKind::ThreadLocal => {
                let info = self.program.globals.get(GlobalId::new(object.tag as usize))?;
                Some((info.name.clone(), info.debug_type))
            }
            ObjectKind::Stack => {
                let (name, ty) = self.program.locals.get(&object.tag)?;
                (!name.is_empty()).then(|| (name.clone(), *ty))
            }
            ObjectKind::Function => {
                let func = self.program.funcs.get(FuncId::new(object.tag as usize))?;
                Some((func.source_name.clone(), None))
            }
            ObjectKind::Heap => None,
        }
    }

    /// Names the bytes at an address by the variable that they are part of.
    pub(super) fn name_variable(&self, addr: Addr, size: u64) -> Option<Named> {
        let object = self.memory.object(self.memory.find(addr)?);
        let (name, ty) = self.variable(object)?;
        let mut named = Named { text: name, ..Named::default() };
        let offset = addr.0.wrapping_sub(object.base.0);
        match ty {
            Some(ty) => self.program.name_part(ty, offset, size, &mut named),
            None if offset > 0 => {
                let _ = write!(named.text, "+{offset}");
            }
            None => {}
        }
        Some(named)
    }

    /// Names the bytes at an address as well as possible.
    pub(super) fn name_of_address(&self, addr: Addr) -> String {
        if let Some(named) = self.name_variable(addr, 0) {
            return named.text;
        }
        let Some(id) = self.memory.find(addr) else { return format!("address {addr}") };
        let object = self.memory.object(id);
        let what = match object.kind {
            ObjectKind::Stack => "a local object made",
            _ => "the object allocated",
        };
        let place = self.place_of(object.tag);
        let offset = addr.0.wrapping_sub(object.base.0);
        match (offset, place.file.is_empty()) {
            (0, true) => format!("{what} somewhere"),
            (0, false) => format!("{what} at {place}"),
            (_, true) => format!("byte {offset} of {what} somewhere"),
            (_, false) => format!("byte {offset} of {what} at {place}"),
        }
    }

    /// A few words for an object without a name: where it comes from.
    fn short_description(&self, addr: Addr) -> Option<String> {
        let object = self.memory.object(self.memory.find(addr)?);
        let place = self.place_of(object.tag);
        let file = place.file.rsplit('/').next().filter(|file| !file.is_empty())?;
        let what = if object.kind == ObjectKind::Stack { "local object" } else { "object" };
        Some(format!("{what} of {file}:{}", place.line))
    }

    /// The access path of the instruction that a thread executes itself, in the words of the source.
    pub(super) fn path_of(&self, id: ThreadId) -> Option<&str> {
        let frame = self.threads[id.index()].frames.last().filter(|frame| !frame.is_model())?;
        let path = self.program.debug.get(frame.pc as usize)?.path?;
        self.program.paths.get(path).map(String::as_str)
    }

    /// Names what a thread touches at an address.
    pub(super) fn name_touched(&self, id: ThreadId, addr: Addr, size: u64) -> Named {
        if let Some(named) = self.name_variable(addr, size) {
            return named;
        }
        let text = self.path_of(id).map_or_else(|| self.name_of_address(addr), str::to_string);
        Named { text, ..Named::default() }
    }

    /// The library function that a thread is in; empty if it is in none, or in one that the machine called by itself.
    fn library_call(&self, id: ThreadId) -> String {
        let frames = &self.threads[id.index()].frames;
        let Some(model) = frames.iter().rev().find(|frame| frame.is_model()) else { return String::new() };
        let below = frames.iter().rev().find(|frame| !frame.is_model());
        let called = below.and_then(|frame| self.program.code.get(frame.pc as usize));
        let by_program = match called {
            Some(Ins::Call { site }) => match self.program.calls[*site as usize].target {
                Target::Direct(func) => func == model.func,
                Target::Indirect(_) => true,
            },
            _ => false,
        };
        let on_top = frames.last().is_some_and(|frame| frame.is_model());
        if by_program && on_top { self.program.funcs[model.func].source_name.clone() } else { String::new() }
    }

    /// What a thread is about to do, in words.
    pub(super) fn describe_site(&self, id: ThreadId) -> Site {
        let head = &self.threads[id.index()].head;
        let stack = self.stack_of(id);
        let mut site = Site { span: own_place(&stack), call: self.library_call(id), stack, ..Site::default() };
        if head.status != Status::Ready && head.status != Status::Stopped {
            return site;
        }
        let (addr, size) = match head.pending {
            Op::Access(access) => (access.addr, u64::from(access.size)),
            Op::Free { addr, .. }
            | Op::CondWait { cond: addr }
            | Op::CondWake { cond: addr, .. }
            | Op::CondSignal { cond: addr }
            | Op::CondBroadcast { cond: addr } => (addr, u64::MAX),
            _ => return site,
        };
        let mut named = self.name_touched(id, addr, size);
        if named.text.contains(' ') {
            named.text = self.short_description(addr).unwrap_or(named.text);
        }
        let debug = self.call_pc(id).and_then(|pc| self.program.debug.get(pc as usize));
        let ty = debug.and_then(|debug| debug.ty);
        site.volatile = debug.is_some_and(|debug| debug.volatile);
        site.object = named.text;
        if !site.call.is_empty()
            && let Some((object, _)) = site.object.split_once(".__")
        {
            // What the C library keeps inside a mutex is its own business.
            site.object = object.to_owned();
        }
        site.pointer = if named.known { named.pointer } else { ty == Some(Type::Ptr) };
        site.signed = if named.known { named.signed } else { matches!(ty, Some(Type::Int(_))) };
        site
    }

    /// What a start routine of the C++ library will call: `std::thread` keeps it in the object that it passes on, in
    /// front of or behind its arguments.
    pub(super) fn body_of_start(&self, start: FuncId, arg: Addr) -> Option<FuncId> {
        if !self.program.funcs[start].source_name.starts_with(THREAD_STATE) {
            return None;
        }
        let state = self.memory.find(arg)?;
        self.memory.words(state).skip(1).find_map(|word| self.function_at(Addr(word)))
    }

    /// A thread's name: `main`, or its start routine, numbered if several threads share it.
    pub(super) fn name_of_thread(&self, id: ThreadId) -> String {
        if id == main_thread() {
            return "main".into();
        }
        let start = |n: usize| {
            let kin = self.family.kin.get(n)?;
            kin.start.map(|(func, _)| kin.body.unwrap_or(func))
        };
        let Some(func) = start(id.index()) else { return id.to_string() };
        let name = short_name(&self.program.funcs[func].source_name);
        let present = |n: &usize| self.threads[*n].head.status != Status::Absent || *n == id.index();
        let same: Vec<usize> = (1..self.threads.len()).filter(|&n| start(n) == Some(func)).filter(present).collect();
        match same.iter().position(|&n| n == id.index()) {
            Some(at) if same.len() > 1 => format!("{name}#{}", at + 1),
            _ => name,
        }
    }
}

/// How the names of `std::thread`'s start routines begin.
const THREAD_STATE: &str = "std::thread::_State_impl<";

/// A function's name without template arguments; a start routine of `std::thread` for a lambda is `lambda:12`, by its line.
fn short_name(name: &str) -> String {
    if name.starts_with(THREAD_STATE)
        && let Some((_, lambda)) = name.split_once("(lambda at ")
        && let Some((place, _)) = lambda.split_once(')')
        && let [_column, line, _file] = place.rsplitn(3, ':').collect::<Vec<_>>()[..]
    {
        return format!("lambda:{line}");
    }
    if name.starts_with(THREAD_STATE) {
        return "std::thread".to_owned();
    }
    let mut depth = 0_usize;
    let mut short = String::new();
    for c in name.chars() {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            c if depth == 0 => short.push(c),
            _ => {}
        }
    }
    // Operators have such signs in their names.
    if depth == 0 && !short.is_empty() && !name.contains("operator") { short } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::short_name;

    #[test]
    fn threads_are_named_by_what_the_program_calls_them() {
        assert_eq!(short_name("worker"), "worker");
        assert_eq!(short_name("push<int, 3>"), "push");
        assert_eq!(short_name("operator<"), "operator<");
        let state =
            |inner: &str| format!("std::thread::_State_impl<std::thread::_Invoker<std::tuple<{inner}> > >::_M_run");
        assert_eq!(short_name(&state("(lambda at a:b.cpp:10:17)")), "lambda:10");
        assert_eq!(short_name(&state("Job, int")), "std::thread");
    }
}
