//! How types lie in memory: the data layout string and the sizes, alignments and offsets that follow from it.
//!
//! Only 64-bit little-endian targets are accepted, because the machine's memory is one. The rules are LLVM's: the store
//! size of `iN` is `ceil(N / 8)` bytes, the allocation size is that rounded up to the ABI alignment, a struct's fields
//! are placed at their alignments unless it is packed, and an integer width that the string does not mention takes the
//! alignment of the next wider one (or of the widest).

use crate::ast::Module;
use crate::error::{Fault, Parsed};
use crate::types::{FloatKind, Type, TypeId, TypeTable};

/// The families of processors whose IR is accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Architecture {
    /// x86-64.
    X86_64,
    /// 64-bit Arm.
    Aarch64,
}

/// Target facts that memory layout depends on.
#[derive(Clone, Debug)]
pub struct DataLayout {
    /// The processor family.
    pub architecture: Architecture,
    /// Whether the system is Apple's, whose variadic calls differ on Arm.
    pub apple: bool,
    /// ABI alignment in bytes of integers by width in bits, ascending.
    ints: Vec<(u32, u32)>,
    /// ABI alignment in bytes of floating-point types by width.
    floats: Vec<(u32, u32)>,
    /// ABI alignment in bytes of vectors by width.
    vectors: Vec<(u32, u32)>,
}

/// Size and alignment of a type, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extent {
    /// Allocation size: the distance of array elements.
    pub size: u64,
    /// ABI alignment.
    pub align: u64,
}

impl DataLayout {
    /// The layout of a module, or a refusal of its target.
    pub fn of(module: &Module<'_>) -> Parsed<DataLayout> {
        let (text, offset) = module.data_layout.unwrap_or(("", 0));
        let architecture = architecture(module.triple, offset)?;
        let mut layout = DataLayout {
            architecture,
            apple: module.triple.contains("-apple-"),
            ints: vec![(1, 1), (8, 1), (16, 2), (32, 4), (64, if text.is_empty() { 8 } else { 4 })],
            floats: vec![(16, 2), (32, 4), (64, 8), (80, 16), (128, 16)],
            vectors: vec![(64, 8), (128, 16)],
        };
        for part in text.split('-').filter(|part| !part.is_empty()) {
            layout.specification(part).map_err(|message| Fault::unsupported(offset, message))?;
        }
        layout.ints.sort_unstable();
        Ok(layout)
    }

    /// Reads one part of the string.
    fn specification(&mut self, part: &str) -> Result<(), String> {
        let mut fields = part.split(':');
        let head = fields.next().unwrap_or("");
        let rest: Vec<&str> = fields.collect();
        let (letter, number) = head.split_at(head.char_indices().nth(1).map_or(head.len(), |(at, _)| at));
        match letter {
            "e" | "m" | "n" | "S" | "a" | "F" | "A" | "G" | "P" => Ok(()),
            "E" => Err("a big-endian target".into()),
            "p" => {
                let space: u32 = if number.is_empty() { Ok(0) } else { number.parse() }
                    .map_err(|_| format!("the data layout `{part}`"))?;
                match (space, rest.first()) {
                    (0, Some(&"64")) => Ok(()),
                    (0, _) => Err("a target whose pointers are not 64 bits wide".into()),
                    _ => Ok(()),
                }
            }
            "i" | "f" | "v" => {
                let unknown = || format!("the data layout `{part}`");
                let bits: u32 = number.parse().map_err(|_| unknown())?;
                let align: u32 = rest.first().and_then(|a| a.parse().ok()).ok_or_else(unknown)?;
                if !align.is_multiple_of(8) || !(align / 8).max(1).is_power_of_two() {
                    return Err(unknown());
                }
                let table = match letter {
                    "i" => &mut self.ints,
                    "f" => &mut self.floats,
                    _ => &mut self.vectors,
                };
                table.retain(|&(width, _)| width != bits);
                table.push((bits, (align / 8).max(1)));
                Ok(())
            }
            _ if part.starts_with("ni") => Ok(()),
            _ => Err(format!("the data layout `{part}`")),
        }
    }

    fn int_align(&self, bits: u32) -> u64 {
        let wider = self.ints.iter().find(|&&(width, _)| width >= bits);
        u64::from(wider.or(self.ints.last()).map_or(1, |&(_, align)| align))
    }

    fn float_align(&self, kind: FloatKind) -> u64 {
        let found = self.floats.iter().find(|&&(width, _)| width == kind.bits());
        found.map_or(u64::from(kind.bits().next_power_of_two() / 8), |&(_, align)| u64::from(align))
    }

    fn vector_align(&self, bits: u64, size: u64) -> u64 {
        let found = self.vectors.iter().find(|&&(width, _)| u64::from(width) == bits);
        found.map_or(size.next_power_of_two(), |&(_, align)| u64::from(align))
    }
}

fn architecture(triple: &str, offset: u32) -> Parsed<Architecture> {
    match triple.split('-').next().unwrap_or("") {
        "x86_64" | "amd64" | "x86_64h" if triple.contains("gnux32") => {
            Err(Fault::unsupported(offset, format!("the target `{triple}`: pointers must be 64 bits wide")))
        }
        _ if triple.contains("-windows") || triple.contains("-win32") => {
            Err(Fault::unsupported(offset, format!("the target `{triple}`: Windows is not supported")))
        }
        "" | "x86_64" | "amd64" | "x86_64h" => Ok(Architecture::X86_64),
        "aarch64" | "arm64" => Ok(Architecture::Aarch64),
        _ => Err(Fault::unsupported(
            offset,
            format!("the target `{triple}`: only 64-bit little-endian x86_64 and aarch64 are supported"),
        )),
    }
}

/// Rounds up to a multiple of a power of two; saturates, so that absurd sizes stay absurd instead of wrapping.
pub fn round_up(value: u64, align: u64) -> u64 {
    value.saturating_add(align - 1) & !(align - 1)
}

/// Extents of all types of a module, computed once.
///
/// A type without extent (opaque, scalable, a function) has none.
#[derive(Debug)]
pub struct Extents {
    extents: Vec<Option<Extent>>,
}

impl Extents {
    /// Computes the extents of all types. Types do not contain themselves: the parser checked it.
    pub fn new(types: &TypeTable, layout: &DataLayout) -> Extents {
        let mut extents = Extents { extents: vec![None; types.len()] };
        let mut done = vec![false; types.len()];
        for root in types.ids() {
            // Parts first; the stack is ours, so that a long chain of types cannot exhaust the program's.
            let mut stack = vec![root];
            while let Some(&id) = stack.last() {
                let index = types.index_of(id);
                let before = stack.len();
                if !done[index] {
                    stack.extend(parts(types, id).into_iter().filter(|&part| !done[types.index_of(part)]));
                }
                if stack.len() == before {
                    if !done[index] {
                        extents.extents[index] = extents.compute(types, layout, id);
                        done[index] = true;
                    }
                    stack.pop();
                }
            }
        }
        extents
    }

    /// Size and alignment of a type.
    pub fn get(&self, types: &TypeTable, id: TypeId) -> Option<Extent> {
        self.extents[types.index_of(id)]
    }

    fn compute(&self, types: &TypeTable, layout: &DataLayout, id: TypeId) -> Option<Extent> {
        let of = |id| self.get(types, id);
        let whole = |size: u64, align: u64| Some(Extent { size: round_up(size, align), align });
        match types.get(id) {
            Type::Int(bits) => whole(u64::from(bits.div_ceil(8)), layout.int_align(*bits)),
            Type::Float(kind) => whole(u64::from(kind.bits() / 8), layout.float_align(*kind)),
            Type::Pointer(_) => whole(8, 8),
            Type::Array(length, element) => {
                let element = of(*element)?;
                Some(Extent { size: element.size.saturating_mul(*length), align: element.align })
            }
            Type::Vector { length, element, scalable: false } => {
                let bits = scalar_bits(types, *element)?.saturating_mul(u64::from(*length));
                let size = bits.div_ceil(8);
                whole(size, layout.vector_align(bits, size))
            }
            Type::Struct { fields, packed } => {
                let (mut size, mut align) = (0, 1);
                for &field in fields {
                    let extent = of(field)?;
                    let field_align = if *packed { 1 } else { extent.align };
                    size = round_up(size, field_align).saturating_add(extent.size);
                    align = align.max(field_align);
                }
                whole(size, align)
            }
            Type::Named(named) => of(types.named(*named).body?),
            _ => None,
        }
    }

    /// Offset in bytes of a struct's field, which must exist.
    pub fn field_offset(&self, types: &TypeTable, id: TypeId, field: usize) -> Option<u64> {
        let Type::Struct { fields, packed } = types.resolved(id) else {
            return None;
        };
        let mut offset = 0u64;
        for (n, &ty) in fields.iter().enumerate() {
            let extent = self.get(types, ty)?;
            offset = round_up(offset, if *packed { 1 } else { extent.align });
            if n == field {
                return Some(offset);
            }
            offset = offset.saturating_add(extent.size);
        }
        None
    }
}

/// Width in bits of a number or pointer.
pub fn scalar_bits(types: &TypeTable, id: TypeId) -> Option<u64> {
    match types.get(id) {
        Type::Int(bits) => Some(u64::from(*bits)),
        Type::Float(kind) => Some(u64::from(kind.bits())),
        Type::Pointer(_) => Some(64),
        _ => None,
    }
}

fn parts(types: &TypeTable, id: TypeId) -> Vec<TypeId> {
    match types.get(id) {
        Type::Array(_, element) | Type::Vector { element, .. } => vec![*element],
        Type::Struct { fields, .. } => fields.to_vec(),
        Type::Named(named) => types.named(*named).body.into_iter().collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parser::parse_module;

    const CLANG_14: &str = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-f80:128-n8:16:32:64-S128";
    const CLANG_19: &str = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128";
    const AARCH64: &str = "e-m:e-i8:8:32-i16:16:32-i64:64-i128:128-n32:64-S128-Fn32";

    fn extent(layout: &str, ty: &str) -> Extent {
        let text = format!("target datalayout = \"{layout}\"\n@x = external global {ty}\n");
        let module = parse_module("t", &text).expect("parses");
        let layout = DataLayout::of(&module).expect("is accepted");
        Extents::new(&module.types, &layout).get(&module.types, module.globals[0].ty).expect("has a size")
    }

    #[test]
    fn sizes_and_alignments_are_those_of_the_abi() {
        let cases = [
            ("i1", 1, 1),
            ("i24", 4, 4),
            ("i40", 8, 8),
            ("i64", 8, 8),
            ("ptr", 8, 8),
            ("double", 8, 8),
            ("x86_fp80", 16, 16),
            ("{ i8, i32 }", 8, 4),
            ("<{ i8, i32 }>", 5, 1),
            ("{ i8, { i8, i64 }, i8 }", 32, 8),
            ("[3 x { i16, i8 }]", 12, 2),
            ("<4 x i32>", 16, 16),
            ("<3 x i32>", 16, 16),
            ("<8 x i1>", 1, 1),
            ("{}", 0, 1),
            ("[0 x i64]", 0, 8),
        ];
        for (ty, size, align) in cases {
            for layout in [CLANG_14, CLANG_19, AARCH64] {
                assert_eq!(extent(layout, ty), Extent { size, align }, "{ty} under {layout}");
            }
        }
    }

    #[test]
    fn the_alignment_of_i128_changed_with_llvm_18() {
        assert_eq!(extent(CLANG_14, "i128").align, 8);
        assert_eq!(extent(CLANG_19, "i128").align, 16);
    }

    #[test]
    fn other_targets_are_refused() {
        for text in [
            "target triple = \"i386-pc-linux-gnu\"",
            "target triple = \"riscv64-unknown-linux-gnu\"",
            "target triple = \"x86_64-linux-gnux32\"",
            "target triple = \"x86_64-pc-windows-msvc\"",
            "target datalayout = \"E-m:e-i64:64\"",
            "target datalayout = \"e-p:32:32\"",
            "target datalayout = \"e-q:7\"",
        ] {
            let module = parse_module("t", text).expect("parses");
            assert!(DataLayout::of(&module).is_err(), "{text}");
        }
    }

    #[test]
    fn an_absurd_array_saturates() {
        let ty = "[18446744073709551615 x [18446744073709551615 x i64]]";
        assert_eq!(extent(CLANG_19, ty).size, u64::MAX);
    }
}
