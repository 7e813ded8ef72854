//! Global variables, declarations, names and types.

use super::Emitter;
use selvedge_ir::{FuncId, Function, Global, GlobalId, Operand, Reloc, RelocTarget, Type};
use std::fmt::Write;

/// Functions of the program that keep their name outside: the entry, and what the run-time replaces by its own.
const WEAK: &str = "selvedge_useful";

/// A name as LLVM writes it, without the sigil.
pub(super) fn quoted(name: &str) -> String {
    let mut text = String::from("\"");
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"._-$".contains(&byte) {
            text.push(byte as char);
        } else {
            let _ = write!(text, "\\{byte:02X}");
        }
    }
    text.push('"');
    text
}

impl Emitter<'_> {
    /// A type.
    pub(super) fn ty(&self, ty: Type) -> String {
        match ty {
            Type::Int(bits) => format!("i{bits}"),
            Type::Ptr => self.ptr().to_owned(),
            Type::F32 => "float".to_owned(),
            Type::F64 => "double".to_owned(),
        }
    }

    /// The type of all pointers.
    pub(super) fn ptr(&self) -> &'static str {
        if self.dialect.opaque_pointers { "ptr" } else { "i8*" }
    }

    /// A pointer to something of this type.
    pub(super) fn ptr_to(&self, pointee: &str) -> String {
        if self.dialect.opaque_pointers { "ptr".to_owned() } else { format!("{pointee}*") }
    }

    /// A constant pointer as one of the type that all pointers have.
    fn plain_pointer(&self, pointee: &str, symbol: &str) -> String {
        if self.dialect.opaque_pointers { symbol.to_owned() } else { format!("bitcast ({pointee}* {symbol} to i8*)") }
    }

    /// The result type of a function.
    pub(super) fn results(&self, results: &[Type]) -> String {
        match results {
            [] => "void".to_owned(),
            [one] => self.ty(*one),
            several => format!("{{ {} }}", several.iter().map(|&ty| self.ty(ty)).collect::<Vec<_>>().join(", ")),
        }
    }

    /// The type of a function: `i32 (i8*, ...)`.
    pub(super) fn signature(&self, results: &[Type], params: &[Type], vararg: bool) -> String {
        let mut types: Vec<String> = params.iter().map(|&ty| self.ty(ty)).collect();
        if vararg {
            types.push("...".to_owned());
        }
        format!("{} ({})", self.results(results), types.join(", "))
    }

    pub(super) fn function_type(&self, function: &Function) -> String {
        self.signature(&function.results, &param_types(function), function.vararg)
    }

    pub(super) fn function_symbol(&self, id: FuncId) -> String {
        format!("@{}", quoted(&self.module.functions[id].name))
    }

    fn global_symbol(&self, id: GlobalId) -> String {
        format!("@{}", quoted(&self.module.globals[id].name))
    }

    /// The address of a global.
    pub(super) fn global_address(&self, id: GlobalId, offset: i64) -> String {
        let pointee = self.shape(&self.module.globals[id]);
        let base = self.plain_pointer(&pointee, &self.global_symbol(id));
        if offset == 0 {
            return base;
        }
        format!("getelementptr (i8, {} {base}, i64 {offset})", self.ptr())
    }

    /// The address of a function.
    pub(super) fn function_address(&self, id: FuncId) -> String {
        self.plain_pointer(&self.function_type(&self.module.functions[id]), &self.function_symbol(id))
    }

    /// An operand that is known to have this type, without the type.
    pub(super) fn operand(&self, ty: Type, operand: Operand) -> String {
        match operand {
            Operand::Value(value) => format!("%{value}"),
            Operand::Global(id, offset) => self.global_address(id, offset),
            Operand::Func(id) => self.function_address(id),
            Operand::Undef => constant(ty, 0, self.ptr()),
            Operand::Const(bits) => constant(ty, bits, self.ptr()),
        }
    }

    /// An operand with its type.
    pub(super) fn typed(&self, ty: Type, operand: Operand) -> String {
        format!("{} {}", self.ty(ty), self.operand(ty, operand))
    }

    /// All global variables.
    pub(super) fn globals(&mut self) {
        let module = self.module;
        for (id, global) in module.globals.iter() {
            let symbol = self.global_symbol(id);
            let ty = self.shape(global);
            let linkage = if global.external { "external" } else { "internal" };
            let local = if global.thread_local { " thread_local" } else { "" };
            let kind = if global.constant { "constant" } else { "global" };
            let value = if global.external { String::new() } else { format!(" {}", self.contents(global)) };
            let align = global.align.max(1);
            let _ = writeln!(self.out, "{symbol} = {linkage}{local} {kind} {ty}{value}, align {align}");
        }
    }

    /// The parts of a global, bytes and pointers between them: where each starts, and the pointer.
    fn parts(global: &Global) -> Vec<(u64, u64, Option<&Reloc>)> {
        let mut relocs: Vec<&Reloc> = global.relocs.iter().collect();
        relocs.sort_by_key(|reloc| reloc.offset);
        let mut parts = Vec::new();
        let mut at = 0;
        for reloc in relocs {
            if reloc.offset > at {
                parts.push((at, reloc.offset, None));
            }
            at = reloc.offset + 8;
            parts.push((reloc.offset, at, Some(reloc)));
        }
        if global.size > at {
            parts.push((at, global.size, None));
        }
        parts
    }

    /// The type of a global.
    fn shape(&self, global: &Global) -> String {
        let ty = |(from, to, reloc): &(u64, u64, Option<&Reloc>)| match reloc {
            Some(_) => self.ptr().to_owned(),
            None => format!("[{} x i8]", to - from),
        };
        let types: Vec<String> = Self::parts(global).iter().map(ty).collect();
        format!("<{{ {} }}>", types.join(", "))
    }

    /// The initial value of a global.
    fn contents(&self, global: &Global) -> String {
        let value = |(from, to, reloc): &(u64, u64, Option<&Reloc>)| match reloc {
            Some(reloc) => format!("{} {}", self.ptr(), self.reloc_address(reloc)),
            None => format!("[{} x i8] {}", to - from, byte_string(&global.data, *from, *to)),
        };
        let values: Vec<String> = Self::parts(global).iter().map(value).collect();
        format!("<{{ {} }}>", values.join(", "))
    }

    /// An address in the initial value of a global.
    fn reloc_address(&self, reloc: &Reloc) -> String {
        let target = match reloc.target {
            RelocTarget::Func(func) => self.function_address(func),
            RelocTarget::Global(other) => self.global_address(other, 0),
        };
        match reloc.addend {
            0 => target,
            addend => format!("getelementptr (i8, {} {target}, i64 {addend})", self.ptr()),
        }
    }

    /// A function that the program does not define.
    pub(super) fn declaration(&mut self, id: FuncId) {
        let function = &self.module.functions[id];
        let mut params: Vec<String> = param_types(function).iter().map(|&ty| self.ty(ty)).collect();
        if function.vararg {
            params.push("...".to_owned());
        }
        let symbol = self.function_symbol(id);
        let results = self.results(&function.results);
        let _ = writeln!(self.out, "declare {results} {symbol}({})", params.join(", "));
    }

    /// Linkage of a function that the program defines.
    pub(super) fn linkage(&self, function: &Function) -> &'static str {
        match function.name.as_str() {
            "main" => "",
            WEAK => "weak ",
            _ => "internal ",
        }
    }

    /// Functions to run before `main`.
    pub(super) fn constructors(&mut self) {
        let all = &self.module.constructors;
        if all.is_empty() {
            return;
        }
        let function = self.ptr_to("void ()");
        let element = format!("{{ i32, {function}, {} }}", self.ptr());
        let entry = |(n, &id): (usize, &FuncId)| {
            let priority = 65_535 - (all.len() - 1 - n);
            format!("{element} {{ i32 {priority}, {function} {}, {} null }}", self.function_symbol(id), self.ptr())
        };
        let entries: Vec<String> = all.iter().enumerate().map(entry).collect();
        let count = entries.len();
        let entries = entries.join(", ");
        let _ = writeln!(self.out, "@llvm.global_ctors = appending global [{count} x {element}] [{entries}]");
    }

    /// Declares a function of the run-time, of LLVM or of the C library, unless the program has one of this name.
    pub(super) fn need(&mut self, name: &str, declaration: String) {
        if self.module.function_named(name).is_none() {
            self.intrinsics.insert(name.to_owned(), declaration);
        }
    }

    /// What instructions turned out to need.
    pub(super) fn support(&mut self) {
        for declaration in self.intrinsics.values() {
            let _ = writeln!(self.out, "declare {declaration}");
        }
    }
}

/// The types of a function's parameters.
pub(super) fn param_types(function: &Function) -> Vec<Type> {
    function.params.iter().map(|&param| function.values[param].ty).collect()
}

/// Bytes as LLVM writes them; those behind the data are zero.
fn byte_string(data: &[u8], from: u64, to: u64) -> String {
    let byte = |at: u64| usize::try_from(at).ok().and_then(|at| data.get(at)).copied().unwrap_or(0);
    if (from..to.min(data.len() as u64)).all(|at| byte(at) == 0) {
        return "zeroinitializer".to_owned();
    }
    let mut text = String::from("c\"");
    for at in from..to {
        let _ = write!(text, "\\{:02X}", byte(at));
    }
    text.push('"');
    text
}

fn constant(ty: Type, bits: u64, ptr: &str) -> String {
    match ty {
        Type::Int(_) => bits.to_string(),
        Type::Ptr if bits == 0 => "null".to_owned(),
        Type::Ptr => format!("inttoptr (i64 {bits} to {ptr})"),
        // LLVM writes single precision with the digits of the double of the same value.
        Type::F32 => format!("0x{:016X}", f64::from(f32::from_bits(bits as u32)).to_bits()),
        Type::F64 => format!("0x{bits:016X}"),
    }
}
