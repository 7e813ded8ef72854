//! Faults and traps in the words of the source.
//!
//! Every way in which an instruction can fail becomes a [`Stop`] here: a violation with the place of the access first
//! and the places that explain it behind (where the object was freed, where it was allocated), an unsupported feature,
//! or a bound.

use super::Interpreter;
use super::exec::Trap;
use super::naming::quoted;
use crate::memory::{Object, ObjectId, ObjectKind};
use crate::{Addr, Bound, BoundKind, Fault, SourceSpan, Stop, ThreadId, Unsupported, Violation, ViolationKind};
use selvedge_ir::{DebugType, EntityRef, FuncId, GlobalId};

impl Interpreter {
    /// A violation where a thread stands.
    pub(super) fn violation(&self, id: ThreadId, kind: ViolationKind, message: String) -> Stop {
        self.violation_with(id, kind, message, Vec::new())
    }

    fn violation_with(
        &self,
        id: ThreadId,
        kind: ViolationKind,
        message: String,
        more: Vec<(SourceSpan, String)>,
    ) -> Stop {
        let mut places = vec![(self.place(id), String::new())];
        places.extend(more.into_iter().filter(|(span, _)| !span.file.is_empty()));
        Stop::Violation(Box::new(Violation { kind, message, places }))
    }

    /// An unsupported feature where a thread stands.
    pub(super) fn unsupported(&self, id: ThreadId, feature: String) -> Stop {
        Stop::Unsupported(Box::new(Unsupported { feature, place: self.place(id) }))
    }

    fn bound(&self, id: ThreadId, kind: BoundKind, what: String) -> Stop {
        Stop::Bound(Box::new(Bound { kind, what, place: self.place(id) }))
    }

    /// What a failed access of a thread is.
    pub(super) fn fault_violation(&self, id: ThreadId, addr: Addr, size: u64, write: bool, fault: Fault) -> Stop {
        let act = if write { "write to" } else { "read of" };
        match fault {
            Fault::Null => {
                let message = match self.path_of(id) {
                    Some(path) => format!("{act} `{path}` through a null pointer"),
                    None => format!("{} through a null pointer", if write { "write" } else { "read" }),
                };
                self.violation(id, ViolationKind::InvalidPointer, message)
            }
            Fault::Wild => {
                let path = self.path_of(id).map_or_else(String::new, |path| format!(" `{path}` at"));
                let message = format!("{act}{path} address {addr}, where there is no object");
                self.violation(id, ViolationKind::InvalidPointer, message)
            }
            Fault::Dead(object) => self.dead_object(id, addr, size, act, object),
            Fault::OutOfBounds(object) => self.out_of_bounds(id, addr, size, act, object),
            Fault::Uninitialised(object) => {
                let name = self.name_touched(id, addr, size).text;
                let message = format!("read of {}, which was never written", quoted(&name));
                let more = self.allocation(self.memory.object(object));
                self.violation_with(id, ViolationKind::UninitialisedRead, message, more)
            }
            Fault::Constant(_) => {
                let name = self.name_of_address(addr);
                self.violation(id, ViolationKind::InvalidPointer, format!("write to the constant {}", quoted(&name)))
            }
            Fault::Code(_) => {
                let name = self.name_of_address(addr);
                self.violation(id, ViolationKind::InvalidPointer, format!("{act} the code of {}", quoted(&name)))
            }
            Fault::Disguised(object) => self.disguised(id, addr, act, object),
        }
    }

    fn dead_object(&self, id: ThreadId, addr: Addr, size: u64, act: &str, object: ObjectId) -> Stop {
        let object = self.memory.object(object);
        let name = quoted(&self.name_touched(id, addr, size).text);
        let message = match object.kind {
            ObjectKind::Stack => {
                let function = self.program.function_of(object.tag).map(|func| &func.source_name);
                let function = function.map_or_else(|| "its function".to_string(), |name| format!("`{name}`"));
                format!("{act} {name} after {function} has returned")
            }
            _ => format!("{act} {name} after it was freed"),
        };
        let mut more = self.death(object);
        more.extend(self.allocation(object));
        self.violation_with(id, ViolationKind::UseAfterFree, message, more)
    }

    fn out_of_bounds(&self, id: ThreadId, addr: Addr, size: u64, act: &str, object: ObjectId) -> Stop {
        let object = self.memory.object(object);
        if let Some(stop) = self.undefined(id, object) {
            return stop;
        }
        let path = self.path_of(id).map_or_else(|| bytes(size), |path| format!("`{path}`"));
        let before = object.base.0.saturating_sub(addr.0);
        if before > 0 {
            let what = quoted(&self.name_of_address(object.base));
            let message = format!("{act} {path}, {} before the start of {what}", bytes(before));
            return self.violation_with(id, ViolationKind::OutOfBounds, message, self.allocation(object));
        }
        let offset = addr.0.wrapping_sub(object.base.0);
        let message = match self.variable(object) {
            Some((variable, _)) if offset < object.size => {
                let act = act.split(' ').next().unwrap_or(act);
                let extent = self.extent(object);
                format!("{act} of {} goes beyond the end of `{variable}`, which has {extent}", bytes(size))
            }
            Some((variable, _)) => {
                let part = quoted(&self.name_touched(id, addr, size).text);
                format!("{act} {part}, which is outside of `{variable}` with its {}", self.extent(object))
            }
            None => {
                let what = if object.kind == ObjectKind::Stack { "a local object" } else { "a heap object" };
                format!("{act} {path}: {} at byte {offset} of {what} of {}", bytes(size), bytes(object.size))
            }
        };
        self.violation_with(id, ViolationKind::OutOfBounds, message, self.allocation(object))
    }

    /// How large a variable is, in the words of its type.
    fn extent(&self, object: &Object) -> String {
        let ty = self.variable(object).and_then(|(_, ty)| ty).and_then(|ty| self.program.types.get(ty));
        match ty {
            Some(DebugType::Array { element, count: Some(count), .. }) => match self.program.name_of_type(*element) {
                Some(name) => format!("{count} elements of type `{name}`"),
                None => format!("{count} elements"),
            },
            _ => bytes(object.size),
        }
    }

    fn disguised(&self, id: ThreadId, addr: Addr, act: &str, object: ObjectId) -> Stop {
        let owner = self.memory.owner(object).map_or_else(String::new, |owner| self.name_of_thread(owner));
        let name = quoted(&self.name_of_address(addr));
        let feature = format!(
            "{act} {name}, which belongs to thread `{owner}` alone as far as can be seen: \
             its address must have come here in a form that is not recognised as a pointer \
             (split into bytes, compressed, encrypted); store it as a whole pointer instead"
        );
        self.unsupported(id, feature)
    }

    /// A second `free` of an object.
    pub(super) fn double_free(&self, id: ThreadId, addr: Addr) -> Stop {
        let Some(object) = self.memory.find(addr).map(|object| self.memory.object(object)) else {
            let message = format!("free of address {addr}, where there is no object");
            return self.violation(id, ViolationKind::InvalidFree, message);
        };
        let mut more = self.death(object);
        more.extend(self.allocation(object));
        let message = format!("free of {}, which was freed before", quoted(&self.name_of_address(addr)));
        self.violation_with(id, ViolationKind::DoubleFree, message, more)
    }

    /// Where an object was freed, if it was.
    fn death(&self, object: &Object) -> Vec<(SourceSpan, String)> {
        let death = self.undo.deaths.iter().rev().find(|death| death.addr == object.base);
        let pc = death.filter(|_| object.kind == ObjectKind::Heap).and_then(|death| death.pc);
        pc.into_iter().map(|pc| (self.place_of(pc), "freed here".to_string())).collect()
    }

    /// Where an object was made, if that is worth telling.
    pub(super) fn allocation(&self, object: &Object) -> Vec<(SourceSpan, String)> {
        match object.kind {
            ObjectKind::Heap if object.tag & super::naming::LIBRARY == 0 => {
                vec![(self.place_of(object.tag), "allocated here".to_string())]
            }
            ObjectKind::Global | ObjectKind::Constant | ObjectKind::ThreadLocal => {
                let info = self.program.globals.get(GlobalId::new(object.tag as usize));
                info.into_iter().map(|info| (self.program.span(info.loc), "defined here".to_string())).collect()
            }
            ObjectKind::Stack => vec![(self.place_of(object.tag), "defined here".to_string())],
            _ => Vec::new(),
        }
    }

    fn undefined(&self, id: ThreadId, object: &Object) -> Option<Stop> {
        if object.kind != ObjectKind::Global {
            return None;
        }
        let global = GlobalId::new(object.tag as usize);
        self.program.globals.get(global).filter(|info| info.external).map(|_| self.undefined_global(id, global))
    }

    /// A global that is only declared.
    pub(super) fn undefined_global(&self, id: ThreadId, global: GlobalId) -> Stop {
        let name = &self.program.globals[global].name;
        let feature = format!("the variable `{name}`, which the program declares but does not define");
        self.unsupported(id, feature)
    }

    /// What a trap of the inner loop is.
    pub(super) fn trap(&self, id: ThreadId, trap: Trap) -> Stop {
        match trap {
            Trap::Fault(addr, size, write, fault) => self.fault_violation(id, addr, size, write, fault),
            Trap::Arithmetic(error) => self.violation(id, ViolationKind::Arithmetic, error.to_string()),
            Trap::Unreachable => {
                let message = "code was reached that the program declares unreachable".to_string();
                self.violation(id, ViolationKind::Abort, message)
            }
            Trap::LoopBound(limit) => {
                let place = self.place(id);
                let what = format!("loop at {place} to {limit} iterations");
                Stop::Bound(Box::new(Bound { kind: BoundKind::Loop { iterations: limit }, what, place }))
            }
            Trap::StepBound => {
                let limit = self.options.max_local_steps;
                let name = self.name_of_thread(id);
                let what = format!(
                    "thread `{name}` runs for {limit} instructions without reaching another thread: it may never end"
                );
                self.bound(id, BoundKind::Local { instructions: limit }, what)
            }
            Trap::Spin(addr, size) => {
                let path = self.path_of(id).map(str::to_owned);
                let name = path.unwrap_or_else(|| self.name_touched(id, addr, size).text);
                let (name, thread) = (quoted(&name), self.name_of_thread(id));
                let message = format!("{thread} spins forever: it waits for {name}, which no other thread can change");
                self.violation(id, ViolationKind::Livelock, message)
            }
            Trap::PureIteration => {
                let thread = self.name_of_thread(id);
                let message = format!("{thread} spins forever: the loop changes nothing, and there is no other thread");
                self.violation(id, ViolationKind::Livelock, message)
            }
            Trap::Assume { .. } => unreachable!("an assumption that does not hold blocks the thread"),
        }
    }

    /// A call of something that is no function.
    pub(super) fn bad_call(&self, id: ThreadId, addr: Addr) -> Stop {
        let message = match self.memory.find(addr) {
            _ if addr.0 == 0 => "call of a null pointer".to_string(),
            Some(_) => format!("call of {}, which is not a function", quoted(&self.name_of_address(addr))),
            None => format!("call of address {addr}, where there is no function"),
        };
        self.violation(id, ViolationKind::InvalidPointer, message)
    }

    /// Recursion without end, presumably.
    pub(super) fn too_deep(&self, id: ThreadId) -> Stop {
        let depth = self.threads[id.index()].frames.len();
        self.bound(id, BoundKind::Recursion { calls: depth }, format!("recursion deeper than {depth} calls"))
    }

    /// Too few arguments for a function.
    pub(super) fn too_few_arguments(&self, id: ThreadId, func: FuncId, given: usize) -> Stop {
        let callee = &self.program.funcs[func];
        let (name, wanted) = (&callee.source_name, callee.params.len());
        let message = format!("call of `{name}` with {given} arguments, but it takes {wanted}");
        self.violation(id, ViolationKind::InvalidPointer, message)
    }

    /// A function that is neither defined nor modelled.
    pub(super) fn no_model(&self, id: ThreadId, func: FuncId) -> Stop {
        let name = &self.program.funcs[func].name;
        let feature = format!(
            "the function `{name}`, which the program declares but does not define and for which there is no model; \
             define it in the program to say what it does"
        );
        self.unsupported(id, feature)
    }

    /// An object that memory has no room for.
    pub(super) fn too_large(&self, id: ThreadId, size: u64) -> Stop {
        let feature = if size > crate::memory::MAX_OBJECT {
            format!("an object of {size} bytes; at most 1 GiB is supported")
        } else {
            format!("an object of {size} bytes more: the memory of an execution is limited to 2 GiB in all")
        };
        self.unsupported(id, feature)
    }

    /// More threads than there are numbers for.
    pub(super) fn too_many_threads(&self, id: ThreadId) -> Stop {
        let threads = crate::memory::MAX_THREADS;
        self.bound(id, BoundKind::Threads { threads }, format!("threads to {threads}"))
    }
}

/// A number of bytes in words.
fn bytes(count: u64) -> String {
    if count == 1 { "1 byte".into() } else { format!("{count} bytes") }
}
