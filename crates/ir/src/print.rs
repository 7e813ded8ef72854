//! The text form of a module: printing.
//!
//! The text is for people, for file tests and for programs that generate other programs. It is complete: what
//! `parse.rs` makes of it prints as the same text again. Defaults are left out (plain memory order, empty names,
//! unknown positions), so that small programs stay small:
//!
//! ```text
//! global @x : 4 align 4
//! declare @pthread_exit(ptr)
//!
//! func @worker(v0: ptr) -> ptr {
//! bb0:
//!   v1: i32 = load i32 @x, sc "x"
//!   v2: i32, v3: i1 = cas i32 @x, v1, 1, sc, rlx
//!   condbr v3, bb1, bb2
//! bb1:
//!   store i32 5, @x
//!   br bb2
//! bb2:
//!   ret v0
//! }
//! ```
//!
//! Values and blocks print as their index (`v3`, `bb1`), followed where they are defined by their name for people in
//! quotes. Positions (`!loc4`), files and source-level types are tables behind the functions.

use crate::lex::is_word_char;
use crate::{
    AwaitKind, Block, Callee, DebugType, FuncId, Function, Global, Inst, InstKind, Module, Operand, Order, RelocTarget,
    Type, Value,
};
use std::fmt::{self, Display, Formatter, Write};

impl Display for Module {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "module {}", quoted(&self.name))?;
        for global in self.globals.values() {
            print_global(f, self, global)?;
        }
        for id in self.functions.keys() {
            let gap = if self.functions[id].is_declaration() { "" } else { "\n" };
            write!(f, "{gap}{}", function_text(self, id))?;
        }
        if !self.constructors.is_empty() {
            let names = self.constructors.iter().map(|&id| symbol(&self.functions[id].name));
            writeln!(f, "\nconstructors {}", join(names))?;
        }
        print_debug_tables(f, self)
    }
}

/// The text of one function.
pub fn function_text(module: &Module, func: FuncId) -> impl Display + '_ {
    from_fn(move |f| print_function(f, module, &module.functions[func]))
}

/// The text of one instruction, as it stands in its function.
pub fn inst_text<'m>(module: &'m Module, func: &'m Function, inst: Inst) -> impl Display + 'm {
    from_fn(move |f| print_inst(f, module, func, inst))
}

/// The text of an operand that is used as a value of this type.
pub fn operand_text(module: &Module, operand: Operand, ty: Type) -> impl Display + '_ {
    from_fn(move |f| match operand {
        Operand::Value(value) => write!(f, "{value}"),
        Operand::Const(bits) => print_const(f, bits, ty),
        Operand::Global(id, offset) => {
            write!(f, "{}", symbol(module.globals.get(id).map_or("?", |global| &global.name)))?;
            print_offset(f, offset)
        }
        Operand::Func(id) => write!(f, "{}", function_symbol(module, id)),
        Operand::Undef => f.write_str("undef"),
    })
}

/// A `Display` from a closure.
fn from_fn<F: Fn(&mut Formatter<'_>) -> fmt::Result>(print: F) -> impl Display {
    struct FromFn<F>(F);
    impl<F: Fn(&mut Formatter<'_>) -> fmt::Result> Display for FromFn<F> {
        fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
            (self.0)(f)
        }
    }
    FromFn(print)
}

/// The items with commas between them.
fn join<T: Display>(items: impl Iterator<Item = T>) -> String {
    let mut text = String::new();
    for (n, item) in items.enumerate() {
        let comma = if n == 0 { "" } else { ", " };
        write!(text, "{comma}{item}").expect("writing to a string cannot fail");
    }
    text
}

/// A string in quotes, with escapes.
pub fn quoted(text: &str) -> impl Display + '_ {
    from_fn(move |f| {
        f.write_char('"')?;
        for c in text.chars() {
            match c {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '\0' => f.write_str("\\0")?,
                '\n' => f.write_str("\\n")?,
                '\t' => f.write_str("\\t")?,
                '\r' => f.write_str("\\r")?,
                c if c.is_control() => write!(f, "\\u{{{:x}}}", u32::from(c))?,
                c => f.write_char(c)?,
            }
        }
        f.write_char('"')
    })
}

/// The name of a function or global: `@main`, or `@"operator new"`.
pub fn symbol(name: &str) -> impl Display + '_ {
    from_fn(move |f| match !name.is_empty() && name.chars().all(is_word_char) {
        true => write!(f, "@{name}"),
        false => write!(f, "@{}", quoted(name)),
    })
}

fn function_symbol(module: &Module, id: FuncId) -> impl Display + '_ {
    symbol(module.functions.get(id).map_or("?", |func| &func.name))
}

/// Blank and quoted text, or nothing for empty text.
fn suffix(name: &str) -> impl Display + '_ {
    from_fn(move |f| if name.is_empty() { Ok(()) } else { write!(f, " {}", quoted(name)) })
}

fn print_offset(f: &mut Formatter<'_>, offset: i64) -> fmt::Result {
    match offset {
        0 => Ok(()),
        _ => write!(f, "{offset:+}"),
    }
}

/// Integers print signed, floating-point numbers in decimal where that is exact, all else as bits.
fn print_const(f: &mut Formatter<'_>, bits: u64, ty: Type) -> fmt::Result {
    if ty.bits() > 64 || bits > ty.mask() {
        return write!(f, "{bits:#x}");
    }
    match ty {
        Type::Int(1) => write!(f, "{}", bits == 1),
        Type::Int(_) => write!(f, "{}", crate::eval::sign_extend(ty, bits)),
        Type::Ptr if bits == 0 => f.write_str("null"),
        Type::F32 if f32::from_bits(bits as u32).is_finite() => write!(f, "{:?}", f32::from_bits(bits as u32)),
        Type::F64 if f64::from_bits(bits).is_finite() => write!(f, "{:?}", f64::from_bits(bits)),
        Type::Ptr | Type::F32 | Type::F64 => write!(f, "{bits:#x}"),
    }
}

fn print_global(f: &mut Formatter<'_>, module: &Module, global: &Global) -> fmt::Result {
    write!(f, "global {} : {} align {}", symbol(&global.name), global.size, global.align)?;
    for (flag, word) in
        [(global.constant, " constant"), (global.thread_local, " thread_local"), (global.external, " external")]
    {
        f.write_str(if flag { word } else { "" })?;
    }
    if !global.data.is_empty() {
        print_data(f, &global.data)?;
    }
    if !global.relocs.is_empty() {
        let relocs = global.relocs.iter().map(|reloc| {
            let name = match reloc.target {
                RelocTarget::Global(id) => module.globals.get(id).map_or("?", |target| &target.name),
                RelocTarget::Func(id) => module.functions.get(id).map_or("?", |target| &target.name),
            };
            from_fn(move |f| {
                write!(f, "{}: {}", reloc.offset, symbol(name))?;
                print_offset(f, reloc.addend)
            })
        });
        write!(f, " relocs [{}]", join(relocs))?;
    }
    print_source_name(f, &global.name, &global.source_name)?;
    if let Some(ty) = global.debug_type {
        write!(f, " {ty}")?;
    }
    print_loc(f, module, global.loc)?;
    writeln!(f)
}

/// Text prints as a string, everything else as hexadecimal bytes.
fn print_data(f: &mut Formatter<'_>, data: &[u8]) -> fmt::Result {
    let text = data.strip_suffix(b"\0").unwrap_or(data);
    let readable = |b: &u8| b.is_ascii_graphic() || matches!(b, b' ' | b'\n' | b'\t');
    if data.len() >= 2 && text.iter().all(readable) {
        let chars: String = data.iter().map(|&b| char::from(b)).collect();
        return write!(f, " = string {}", quoted(&chars));
    }
    f.write_str(" = bytes \"")?;
    data.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
    f.write_char('"')
}

fn print_source_name(f: &mut Formatter<'_>, name: &str, source_name: &str) -> fmt::Result {
    if name == source_name { Ok(()) } else { write!(f, " source {}", quoted(source_name)) }
}

fn print_loc(f: &mut Formatter<'_>, module: &Module, loc: crate::LocId) -> fmt::Result {
    if loc == module.no_loc() { Ok(()) } else { write!(f, " !{loc}") }
}

fn print_function(f: &mut Formatter<'_>, module: &Module, func: &Function) -> fmt::Result {
    let declaration = func.is_declaration();
    write!(f, "{} {}(", if declaration { "declare" } else { "func" }, symbol(&func.name))?;
    let params = func.params.iter().map(|&param| {
        from_fn(move |f| {
            let data = &func.values[param];
            match declaration {
                true => write!(f, "{}{}", data.ty, suffix(&data.name)),
                false => print_definition(f, func, param),
            }
        })
    });
    f.write_str(&join(params))?;
    if func.vararg {
        f.write_str(if func.params.is_empty() { "..." } else { ", ..." })?;
    }
    f.write_char(')')?;
    match func.results[..] {
        [] => {}
        [ty] => write!(f, " -> {ty}")?,
        _ => write!(f, " -> ({})", join(func.results.iter()))?,
    }
    print_source_name(f, &func.name, &func.source_name)?;
    print_loc(f, module, func.loc)?;
    if declaration {
        return writeln!(f);
    }
    writeln!(f, " {{")?;
    for block in func.blocks.keys() {
        print_block(f, module, func, block)?;
    }
    writeln!(f, "}}")
}

fn print_definition(f: &mut Formatter<'_>, func: &Function, value: Value) -> fmt::Result {
    match func.values.get(value) {
        Some(data) => write!(f, "{value}{}: {}", suffix(&data.name), data.ty),
        None => write!(f, "{value}: ?"),
    }
}

fn print_block(f: &mut Formatter<'_>, module: &Module, func: &Function, block: Block) -> fmt::Result {
    writeln!(f, "{block}{}:", suffix(&func.blocks[block].name))?;
    for &inst in &func.blocks[block].insts {
        writeln!(f, "  {}", inst_text(module, func, inst))?;
    }
    Ok(())
}

fn print_inst(f: &mut Formatter<'_>, module: &Module, func: &Function, inst: Inst) -> fmt::Result {
    let data = &func.insts[inst];
    if !data.results.is_empty() {
        let results = data.results.iter().map(|&value| from_fn(move |f| print_definition(f, func, value)));
        write!(f, "{} = ", join(results))?;
    }
    print_kind(f, module, func, &data.kind)?;
    if let Some(path) = data.kind.path() {
        write!(f, " {}", quoted(module.paths.get(path).map_or("?", |name| name)))?;
    }
    print_loc(f, module, data.loc)
}

fn print_kind(f: &mut Formatter<'_>, module: &Module, func: &Function, kind: &InstKind) -> fmt::Result {
    let op = |operand: &Operand, ty: Type| operand_text(module, *operand, ty);
    let ptr = |operand: &Operand| operand_text(module, *operand, Type::Ptr);
    let word = |operand: &Operand| operand_text(module, *operand, Type::I64);
    match kind {
        InstKind::Phi { ty, args } => {
            let args = args.iter().map(|(block, a)| from_fn(move |f| write!(f, "[{block}: {}]", op(a, *ty))));
            write!(f, "phi {ty} {}", join(args))
        }
        InstKind::Binary { op: name, ty, a, b } => write!(f, "{name} {ty} {}, {}", op(a, *ty), op(b, *ty)),
        InstKind::FNeg { ty, a } => write!(f, "fneg {ty} {}", op(a, *ty)),
        InstKind::Cmp { op: name, ty, a, b } => write!(f, "cmp {name} {ty} {}, {}", op(a, *ty), op(b, *ty)),
        InstKind::Cast { op: name, from, to, a } => write!(f, "{name} {from} {} to {to}", op(a, *from)),
        InstKind::Select { ty, cond, a, b } => {
            write!(f, "select {ty} {}, {}, {}", op(cond, Type::I1), op(a, *ty), op(b, *ty))
        }
        InstKind::PtrAdd { base, index: Operand::Const(0), scale: 1, offset } => {
            write!(f, "ptradd {}, offset {offset}", ptr(base))
        }
        InstKind::PtrAdd { base, index, scale, offset } => {
            write!(f, "ptradd {}, {} * {scale}", ptr(base), word(index))?;
            if *offset == 0 { Ok(()) } else { write!(f, " + {offset}") }
        }
        InstKind::Alloca { size, align, name, debug_type } => {
            write!(f, "alloca {} align {align}{}", word(size), suffix(name))?;
            debug_type.map_or(Ok(()), |ty| write!(f, " {ty}"))
        }
        InstKind::Load { ty, addr, order, volatile, speculative, .. } => {
            write!(f, "load {ty} {}{}", ptr(addr), access(*order, *volatile))?;
            speculative.map_or(Ok(()), |speculation| write!(f, " {speculation}"))
        }
        InstKind::Store { ty, addr, value, order, volatile, .. } => {
            write!(f, "store {ty} {}, {}{}", op(value, *ty), ptr(addr), access(*order, *volatile))
        }
        InstKind::Rmw { op: name, ty, addr, value, order, .. } => {
            write!(f, "rmw {name} {ty} {}, {}, {order}", ptr(addr), op(value, *ty))
        }
        InstKind::Cas { ty, addr, expected, new, success, failure, weak, confirms, .. } => {
            let weak = if *weak { "weak " } else { "" };
            write!(f, "cas {weak}{ty} {}, {}, ", ptr(addr), op(expected, *ty))?;
            write!(f, "{}, {success}, {failure}{}", op(new, *ty), confirmation(*confirms))
        }
        InstKind::Await { access, ty, addr, order, until, mask, operand, retry, .. } => {
            match access {
                AwaitKind::Load => write!(f, "await load {ty} {}, {order}", ptr(addr))?,
                AwaitKind::Rmw { op: name, value } => {
                    write!(f, "await rmw {name} {ty} {}, {}, {order}", ptr(addr), op(value, *ty))?;
                }
                AwaitKind::Cas { expected, new, failure, confirms } => {
                    write!(f, "await cas {ty} {}, {}, ", ptr(addr), op(expected, *ty))?;
                    write!(f, "{}, {order}, {failure}{}", op(new, *ty), confirmation(*confirms))?;
                }
            }
            write!(f, " until {until} {}", op(operand, *ty))?;
            if *mask != ty.mask() {
                write!(f, " mask {mask:#x}")?;
            }
            retry.as_ref().map_or(Ok(()), |began| write!(f, " retry {}", word(began)))
        }
        InstKind::Fence { order } => write!(f, "fence {order}"),
        InstKind::MemCopy { dst, src, len, overlap } => {
            let name = if *overlap { "memmove" } else { "memcpy" };
            write!(f, "{name} {}, {}, {}", ptr(dst), ptr(src), word(len))
        }
        InstKind::MemSet { dst, byte, len } => {
            write!(f, "memset {}, {}, {}", ptr(dst), op(byte, Type::I8), word(len))
        }
        InstKind::Call { callee, args } => {
            match callee {
                Callee::Direct(id) => write!(f, "call {}(", function_symbol(module, *id))?,
                Callee::Indirect(target) => write!(f, "call *{}(", ptr(target))?,
            }
            let args = args.iter().map(|(ty, a)| from_fn(move |f| write!(f, "{ty} {}", op(a, *ty))));
            write!(f, "{})", join(args))
        }
        InstKind::Intrinsic { op: name, ty, args } => {
            let args = args.iter().enumerate().map(|(n, a)| op(a, name.operand_type(*ty, n)));
            write!(f, "{name} {ty} {}", join(args))
        }
        InstKind::VaStart { list } => write!(f, "va_start {}", ptr(list)),
        InstKind::VaArg { list, ty } => write!(f, "va_arg {ty} {}", ptr(list)),
        InstKind::VaCopy { dst, src } => write!(f, "va_copy {}, {}", ptr(dst), ptr(src)),
        InstKind::ThreadLocal { global } => write!(f, "thread_local {}", ptr(&Operand::Global(*global, 0))),
        InstKind::Assume { cond, pure } => {
            write!(f, "assume {}", op(cond, Type::I1))?;
            pure.as_ref().map_or(Ok(()), |began| write!(f, " pure {}", word(began)))
        }
        InstKind::Iteration => f.write_str("iteration"),
        InstKind::Unsupported { feature } => write!(f, "unsupported {}", quoted(feature)),
        InstKind::Br { dest } => write!(f, "br {dest}"),
        InstKind::CondBr { cond, then_dest, else_dest } => {
            write!(f, "condbr {}, {then_dest}, {else_dest}", op(cond, Type::I1))
        }
        InstKind::Switch { ty, value, cases, default } => {
            let cases = cases.iter().map(|(bits, dest)| {
                from_fn(move |f| {
                    print_const(f, *bits, *ty)?;
                    write!(f, ": {dest}")
                })
            });
            write!(f, "switch {ty} {} [{}] else {default}", op(value, *ty), join(cases))
        }
        InstKind::Ret { values } if values.is_empty() => f.write_str("ret"),
        InstKind::Ret { values } => {
            let ty = |n| func.results.get(n).copied().unwrap_or(Type::I64);
            let values = values.iter().enumerate().map(|(n, a)| op(a, ty(n)));
            write!(f, "ret {}", join(values))
        }
        InstKind::Unreachable => f.write_str("unreachable"),
    }
}

/// What follows the address of a load or store: the order unless it is plain, and `volatile`.
fn access(order: Order, volatile: bool) -> impl Display {
    from_fn(move |f| {
        if order != Order::Plain {
            write!(f, ", {order}")?;
        }
        f.write_str(if volatile { " volatile" } else { "" })
    })
}

fn confirmation(confirms: bool) -> &'static str {
    if confirms { " confirm" } else { "" }
}

fn print_debug_tables(f: &mut Formatter<'_>, module: &Module) -> fmt::Result {
    if module.files.len() + module.types.len() > 0 || module.locs.len() > 1 {
        writeln!(f)?;
    }
    for (id, file) in module.files.iter() {
        writeln!(f, "file {id} = {} in {}", quoted(&file.name), quoted(&file.directory))?;
    }
    for (id, loc) in module.locs.iter().skip(1) {
        write!(f, "loc {id} =")?;
        if let Some(file) = loc.file {
            write!(f, " {file}")?;
        }
        write!(f, " {}:{}", loc.line, loc.column)?;
        if !loc.function.is_empty() {
            write!(f, " in {}", quoted(&loc.function))?;
        }
        if let Some(outer) = loc.inlined_at {
            write!(f, " at {outer}")?;
        }
        writeln!(f)?;
    }
    for (id, ty) in module.types.iter() {
        write!(f, "type {id} = ")?;
        print_debug_type(f, ty)?;
        writeln!(f)?;
    }
    Ok(())
}

fn print_debug_type(f: &mut Formatter<'_>, ty: &DebugType) -> fmt::Result {
    match ty {
        DebugType::Base { name, size, signed, float } => {
            write!(f, "base {} {size}", quoted(name))?;
            f.write_str(if *signed { " signed" } else { "" })?;
            f.write_str(if *float { " float" } else { "" })
        }
        DebugType::Pointer { to: Some(to) } => write!(f, "pointer {to}"),
        DebugType::Pointer { to: None } => f.write_str("pointer"),
        DebugType::Record { name, size, fields, union } => {
            let fields = fields.iter().map(|field| {
                from_fn(move |f| {
                    write!(f, "{}: {} at {} size {}", quoted(&field.name), field.ty, field.offset, field.size)
                })
            });
            let word = if *union { "union" } else { "struct" };
            write!(f, "{word} {} {size} [{}]", quoted(name), join(fields))
        }
        DebugType::Array { element, element_size, count } => {
            write!(f, "array {element} size {element_size}")?;
            count.map_or(Ok(()), |count| write!(f, " count {count}"))
        }
        DebugType::Enum { name, size, variants } => {
            let variants =
                variants.iter().map(|(value, name)| from_fn(move |f| write!(f, "{}: {value}", quoted(name))));
            write!(f, "enum {} {size} [{}]", quoted(name), join(variants))
        }
        DebugType::Opaque { name } => write!(f, "opaque {}", quoted(name)),
    }
}
