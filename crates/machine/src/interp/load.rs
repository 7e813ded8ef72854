//! Loading a program: addresses, initial memory, code, and how it starts.
//!
//! Functions and globals get their addresses in the order of the module. The program starts with a function made here:
//! it calls the constructors, then `main`, and returns what `main` returns.

use super::code::{CallSite, Debug, Func, GlobalInfo, Ins, Program, Src, Target};
use super::naming::{self, LIBRARY};
use super::select::Addresses;
use super::thread::{Family, Thread};
use super::undo::Undo;
use super::{Builtins, InterpOptions, Interpreter, LoadError, compile};
use crate::memory::ObjectKind;
use crate::{Addr, Memory, main_thread, models};
use selvedge_ir::{EntityVec, FuncId, Function, Global, GlobalId, Module, RelocTarget, Type};

/// Loads a program.
pub fn load(module: &Module, options: InterpOptions) -> Result<Interpreter, LoadError> {
    let is_main = |(_, function): &(FuncId, &Function)| function.name == "main" && !function.is_declaration();
    let main = module.functions.iter().find(is_main).map(|(id, _)| id).ok_or(LoadError::NoMain)?;
    let mut memory = Memory::new();
    let mut program = Program {
        locs: module.locs.clone(),
        files: module.files.clone(),
        is_library: module.files.values().map(|file| naming::is_library(&file.name)).collect(),
        types: module.types.clone(),
        paths: module.paths.clone(),
        ..Program::default()
    };
    let addresses = allocate(module, &mut memory, &mut program)?;
    initialise(module, &mut memory, &mut program, &addresses)?;
    for (id, function) in module.functions.iter() {
        if !function.is_declaration() {
            compile::compile(&mut program, id, function, &addresses, &options);
        }
    }
    let leaves_work = |function: &Function| models::LEAVE_WORK_FOR_THE_END.contains(&function.name.as_str());
    let builtins = Builtins {
        exit: builtin(module, &mut program, "exit"),
        thread_exit: builtin(module, &mut program, "pthread_exit"),
        work_at_thread_end: module.functions.values().any(leaves_work),
        memcpy: builtin(module, &mut program, "memcpy"),
        memmove: builtin(module, &mut program, "memmove"),
        memset: builtin(module, &mut program, "memset"),
    };
    let mut library = Vec::new();
    let args = arguments(&mut memory, &options.args, program.funcs[main].params.len(), &mut library);
    let entry = entry_function(module, &mut program, main, args);
    Ok(Interpreter {
        program,
        options,
        memory,
        threads: vec![Thread::absent()],
        family: Family::new(),
        undo: Undo::default(),
        builtins,
        entry,
        library,
        steps: 0,
        instructions: 0,
    })
}

/// Gives addresses to functions and globals.
fn allocate(module: &Module, memory: &mut Memory, program: &mut Program) -> Result<Addresses, LoadError> {
    let mut addresses = Addresses { globals: EntityVec::new(), funcs: EntityVec::new() };
    for (id, function) in module.functions.iter() {
        use selvedge_ir::EntityRef;
        let addr = memory.alloc(None, ObjectKind::Function, 1, true, id.index() as u32);
        let addr = addr.expect("there is room for as many functions as a module can have").0;
        addresses.funcs.push(addr);
        let name = &function.name;
        let model = if function.is_declaration() { models::find(name) } else { None };
        program.funcs.push(Func {
            name: name.clone(),
            source_name: function.source_name.clone(),
            entry: None,
            model,
            registers: 0,
            params: function.params.iter().map(|&param| function.values[param].ty).collect(),
            vararg: function.vararg,
            loc: function.loc,
        });
    }
    for (id, global) in module.globals.iter() {
        let (info, addr) = allocate_global(id, global, memory)?;
        program.globals.push(info);
        addresses.globals.push(addr);
    }
    Ok(addresses)
}

fn allocate_global(id: GlobalId, global: &Global, memory: &mut Memory) -> Result<(GlobalInfo, Option<u64>), LoadError> {
    use selvedge_ir::EntityRef;
    let library = if global.external { models::external(&global.name) } else { None };
    let external = global.external && library.is_none();
    let size = match (external, library) {
        // Any access to what is not defined is outside of it.
        (true, _) => 0,
        (_, Some(_)) => global.size.max(models::EXTERNAL_SIZE),
        _ => global.size,
    };
    let kind = if global.constant || library.is_some() { ObjectKind::Constant } else { ObjectKind::Global };
    let addr = if global.thread_local {
        None
    } else {
        let made = memory.alloc(None, kind, size, true, id.index() as u32);
        let name = global.source_name.clone();
        Some(made.ok_or(LoadError::GlobalTooLarge { name, size })?.0)
    };
    let info = GlobalInfo {
        linkage: global.name.clone(),
        name: global.source_name.clone(),
        debug_type: global.debug_type,
        loc: global.loc,
        external,
        size,
        image: library.map_or_else(|| global.data.clone(), <[u8]>::to_vec),
        addr: addr.unwrap_or(0),
    };
    Ok((info, addr))
}

/// Fills in initial bytes, with addresses in them.
fn initialise(
    module: &Module,
    memory: &mut Memory,
    program: &mut Program,
    addresses: &Addresses,
) -> Result<(), LoadError> {
    for (id, global) in module.globals.iter() {
        let info = &mut program.globals[id];
        let too_large = || LoadError::InitialiserTooLarge { name: global.source_name.clone(), size: global.size };
        if info.image.len() as u64 > info.size {
            return Err(too_large());
        }
        for reloc in &global.relocs {
            let target = match reloc.target {
                RelocTarget::Global(global) => addresses.globals[global].unwrap_or(0),
                RelocTarget::Func(func) => addresses.funcs[func],
            };
            let end = reloc.offset.checked_add(8).filter(|&end| end <= info.size).ok_or_else(too_large)?;
            if (info.image.len() as u64) < end {
                info.image.resize(end as usize, 0);
            }
            let bytes = target.wrapping_add(reloc.addend as u64).to_le_bytes();
            info.image[reloc.offset as usize..end as usize].copy_from_slice(&bytes);
        }
        if info.addr != 0 {
            memory.initialise(Addr(info.addr), &info.image);
        }
    }
    Ok(())
}

/// A library function that the machine itself calls.
fn builtin(module: &Module, program: &mut Program, name: &str) -> FuncId {
    program.funcs.push(Func {
        name: name.to_string(),
        source_name: name.to_string(),
        entry: None,
        model: models::find(name),
        registers: 0,
        params: Vec::new(),
        vararg: false,
        loc: module.no_loc(),
    })
}

/// The arguments of `main`, as many as it takes: `argc`, `argv`, `envp`.
fn arguments(memory: &mut Memory, given: &[String], count: usize, library: &mut Vec<&'static str>) -> Vec<u64> {
    if count == 0 {
        return Vec::new();
    }
    library.extend(["argv", "envp"]);
    let mut object = |bytes: &[u8], number: u32| {
        let size = bytes.len() as u64;
        let made = memory.alloc(Some(main_thread()), ObjectKind::Stack, size, true, LIBRARY | number);
        let addr = made.expect("command lines are short");
        memory.initialise(addr, bytes);
        addr.0
    };
    let all = std::iter::once("program").chain(given.iter().map(String::as_str));
    let mut table: Vec<u64> = all.map(|arg| object(&[arg.as_bytes(), &[0]].concat(), 0)).collect();
    let argc = table.len() as u64;
    table.push(0);
    let argv = object(&table.iter().flat_map(|addr| addr.to_le_bytes()).collect::<Vec<u8>>(), 0);
    let envp = object(&[0; 8], 1);
    [argc, argv, envp].into_iter().chain(std::iter::repeat(0)).take(count).collect()
}

/// The function that starts the program.
fn entry_function(module: &Module, program: &mut Program, main: FuncId, args: Vec<u64>) -> FuncId {
    let start = program.code.len() as u32;
    let status = (0, Type::I32.mask());
    let calls = module.constructors.iter().map(|&func| (func, Vec::new(), Vec::new()));
    for (func, args, results) in calls.chain(std::iter::once((main, args, vec![status]))) {
        let site = program.calls.len() as u32;
        program.code.push(Ins::Call { site });
        program.calls.push(CallSite {
            target: Target::Direct(func),
            types: vec![Type::I64; args.len()],
            args: args.into_iter().map(Src::Const).collect(),
            results,
        });
    }
    let first = program.returns.len() as u32;
    program.returns.push(Src::Reg(0));
    program.code.push(Ins::Ret { first, count: 1 });
    let loc = module.functions[main].loc;
    program.debug.resize(program.code.len(), Debug { loc, path: None, ty: None, volatile: false });
    let id = builtin(module, program, "start");
    let func = &mut program.funcs[id];
    (func.entry, func.registers, func.model, func.loc) = (Some(start), 1, None, loc);
    id
}
