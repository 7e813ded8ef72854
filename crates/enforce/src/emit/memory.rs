//! Instructions that access memory.

use super::Emitter;
use selvedge_ir::{EntityRef, FuncId, Inst, InstKind, Operand, Order, Type};
use std::fmt::Write;

/// LLVM's word for an order; nothing for a plain access.
fn ordering(order: Order) -> &'static str {
    match order {
        Order::Plain => "",
        Order::Relaxed => "monotonic",
        Order::Acquire => "acquire",
        Order::Release => "release",
        Order::AcqRel => "acq_rel",
        Order::SeqCst => "seq_cst",
    }
}

/// What stands behind a load or store: its order and alignment. A plain access may be anywhere.
fn placed(order: Order, ty: Type) -> String {
    if order.is_atomic() { format!(" {}, align {}", ordering(order), ty.store_size()) } else { ", align 1".to_owned() }
}

impl Emitter<'_> {
    pub(super) fn memory(&mut self, func: FuncId, inst: Inst) {
        let module = self.module;
        let data = &module.functions[func].insts[inst];
        let result = data.results.first();
        match &data.kind {
            InstKind::Alloca { size, align, .. } => {
                let result = result.expect("an alloca has a result");
                self.alloca(inst, &format!("%{result}"), *size, *align);
            }
            InstKind::Load { ty, addr, order, volatile, .. } => {
                let address = self.address(inst, *ty, *addr);
                let words = words(*order, *volatile);
                let (ty_text, place) = (self.ty(*ty), placed(*order, *ty));
                let result = result.expect("a load has a result");
                let _ = writeln!(self.out, "  %{result} = load {words}{ty_text}, {address}{place}");
            }
            InstKind::Store { ty, addr, value, order, volatile, .. } => {
                let address = self.address(inst, *ty, *addr);
                let words = words(*order, *volatile);
                let (value, place) = (self.typed(*ty, *value), placed(*order, *ty));
                let _ = writeln!(self.out, "  store {words}{value}, {address}{place}");
            }
            InstKind::Rmw { op, ty, addr, value, order, .. } => {
                let address = self.address(inst, *ty, *addr);
                let (value, result) = (self.typed(*ty, *value), result.expect("a read-modify-write has a result"));
                let (op, order) = (op.name(), ordering(*order));
                let _ = writeln!(self.out, "  %{result} = atomicrmw {op} {address}, {value} {order}");
            }
            InstKind::Cas { ty, addr, expected, new, success, failure, weak, .. } => {
                let address = self.address(inst, *ty, *addr);
                let (expected, new) = (self.typed(*ty, *expected), self.typed(*ty, *new));
                let (weak, success, failure) =
                    (if *weak { "weak " } else { "" }, ordering(*success), ordering(*failure));
                let number = inst.index();
                let pair = format!("{{ {}, i1 }}", self.ty(*ty));
                let _ = writeln!(
                    self.out,
                    "  %pair.{number} = cmpxchg {weak}{address}, {expected}, {new} {success} {failure}"
                );
                for (n, value) in data.results.iter().enumerate() {
                    let _ = writeln!(self.out, "  %{value} = extractvalue {pair} %pair.{number}, {n}");
                }
            }
            // LLVM has no relaxed fence, which would do nothing.
            InstKind::Fence { order } if order.is_atomic() && *order != Order::Relaxed => {
                let _ = writeln!(self.out, "  fence {}", ordering(*order));
            }
            InstKind::MemCopy { dst, src, len, overlap } => {
                let name = if *overlap { "memmove" } else { "memcpy" };
                let (dst, src) = (self.typed(Type::Ptr, *dst), self.typed(Type::Ptr, *src));
                self.block_operation(name, &format!("{dst}, {src}"), &[Type::Ptr, Type::Ptr], *len);
            }
            InstKind::MemSet { dst, byte, len } => {
                let number = inst.index();
                let byte = self.typed(Type::I8, *byte);
                let _ = writeln!(self.out, "  %byte.{number} = zext {byte} to i32");
                let dst = self.typed(Type::Ptr, *dst);
                let args = format!("{dst}, i32 %byte.{number}");
                self.block_operation("memset", &args, &[Type::Ptr, Type::I32], *len);
            }
            _ => {}
        }
    }

    /// `memcpy`, `memmove` or `memset` of the C library.
    fn block_operation(&mut self, name: &str, args: &str, types: &[Type], len: Operand) {
        let ptr = self.ptr();
        let params: Vec<String> = types.iter().map(|&ty| self.ty(ty)).collect();
        self.need(name, format!("{ptr} @{name}({}, i64)", params.join(", ")));
        let len = self.typed(Type::I64, len);
        let _ = writeln!(self.out, "  call {ptr} @{name}({args}, {len})");
    }

    fn alloca(&mut self, inst: Inst, result: &str, size: Operand, align: u32) {
        let align = align.max(1);
        match size {
            Operand::Const(bytes) => {
                let ty = format!("[{bytes} x i8]");
                if self.dialect.opaque_pointers {
                    let _ = writeln!(self.out, "  {result} = alloca {ty}, align {align}");
                } else {
                    let number = inst.index();
                    let _ = writeln!(self.out, "  %place.{number} = alloca {ty}, align {align}");
                    let _ = writeln!(self.out, "  {result} = bitcast {ty}* %place.{number} to i8*");
                }
            }
            _ => {
                let size = self.typed(Type::I64, size);
                let _ = writeln!(self.out, "  {result} = alloca i8, {size}, align {align}");
            }
        }
    }

    /// An address as a pointer to this type, with its type.
    fn address(&mut self, inst: Inst, ty: Type, addr: Operand) -> String {
        let address = self.typed(Type::Ptr, addr);
        if self.dialect.opaque_pointers {
            return address;
        }
        let (name, ty) = (format!("%addr.{}", inst.index()), self.ty(ty));
        let _ = writeln!(self.out, "  {name} = bitcast {address} to {ty}*");
        format!("{ty}* {name}")
    }
}

fn words(order: Order, volatile: bool) -> String {
    let atomic = if order.is_atomic() { "atomic " } else { "" };
    let volatile = if volatile { "volatile " } else { "" };
    format!("{atomic}{volatile}")
}
