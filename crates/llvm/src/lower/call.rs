//! Calls: who is called, what is passed, variadic arguments.
//!
//! A call names its callee directly, through a cast of its type (unprototyped C functions up to clang 14), through an
//! alias, or by a pointer. A direct call must fit the callee's signature; where the program calls a function by another
//! type than it has, the call is made through its address, and the machine decides when it is reached.

use super::function::{FunctionLowering, Scalars};
use super::link::Binding;
use super::{Lowered, unsupported};
use crate::ast::{Argument, Call, CastOp, ConstId, ConstantKind, Expression, Instruction, OperandKind, SymbolId};
use crate::layout::Architecture;
use crate::types::{Type, TypeId, TypeTable};
use selvedge_ir as ir;

/// Operand bundles that say something to the optimiser or to hardware checks only.
const IGNORED_BUNDLES: &[&str] =
    &["align", "cold", "dereferenceable", "kcfi", "nonnull", "noundef", "separate_storage"];

impl<'m, 'a> FunctionLowering<'_, 'm, 'a> {
    /// Lowers a call; the scalars of its result.
    pub(super) fn call(&mut self, call: &'m Call<'a>, instruction: &'m Instruction<'a>) -> Lowered<Scalars> {
        let attributes = self.unit.module.resolve_attributes(&call.attributes);
        if let Some(name) = attributes.unsupported {
            return unsupported(format!("a call with the attribute `{name}`"));
        }
        if call.forwards_variadic {
            return unsupported("a call that passes on the variadic arguments of its function");
        }
        if let OperandKind::Asm(asm) = call.callee.kind {
            return self.inline_asm(asm, call, instruction.ty);
        }
        let symbol = match call.callee.kind {
            OperandKind::Const(id) => self.callee_symbol(id),
            _ => None,
        };
        if let Some(symbol) = symbol
            && self.unit.bindings[symbol.index()] == Binding::Llvm
            && self.unit.module.symbols[symbol.index()].name.starts_with("llvm.")
        {
            return self.intrinsic(self.unit.module.symbols[symbol.index()].name, call, instruction);
        }
        if let Some(&bundle) = call.bundles.iter().find(|bundle| !IGNORED_BUNDLES.contains(bundle)) {
            return unsupported(format!("a call with the operand bundle `{bundle}`"));
        }
        if attributes.returns_twice || symbol.is_some_and(|symbol| self.returns_twice(symbol)) {
            let name = symbol.map_or("this".to_string(), |symbol| self.unit.module.symbol_name(symbol));
            return unsupported(format!("`{name}`, a function that returns twice"));
        }
        if let Some(symbol) = symbol
            && self.unit.layout.architecture != Architecture::X86_64
            && takes_va_list(self.unit.module.symbols[symbol.index()].name)
        {
            // The models read the `va_list` of x86-64.
            return unsupported(format!("`{}` on AArch64", self.unit.module.symbol_name(symbol)));
        }
        self.plain_call(call, symbol, instruction.ty)
    }

    /// The function that a constant callee names, seen through casts.
    fn callee_symbol(&self, id: ConstId) -> Option<SymbolId> {
        match &self.unit.module.constant(id).kind {
            ConstantKind::Symbol(symbol) => Some(*symbol),
            ConstantKind::Expression(expression) => match **expression {
                Expression::Cast(CastOp::Bitcast, inner) => self.callee_symbol(inner),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether a symbol is a function that the program defines; a pointer to one counts as well.
    fn has_body(&self, symbol: SymbolId) -> bool {
        match self.unit.bindings[symbol.index()] {
            Binding::Func(id) => self.program.defined.contains(&id),
            _ => true,
        }
    }

    fn returns_twice(&self, symbol: SymbolId) -> bool {
        let module = self.unit.module;
        match module.symbols[symbol.index()].definition {
            crate::ast::SymbolDefinition::Function(index) => {
                module.resolve_attributes(&module.functions[index as usize].attributes).returns_twice
            }
            _ => false,
        }
    }

    fn plain_call(&mut self, call: &'m Call<'a>, symbol: Option<SymbolId>, ty: TypeId) -> Lowered<Scalars> {
        let fixed = match call.signature.map(|signature| self.unit.module.types.get(signature)) {
            Some(Type::Function { params, variadic: true, .. }) => params.len(),
            _ => call.args.len(),
        };
        let mut args = Vec::new();
        if let Some(name) = call.args.iter().find_map(|argument| argument.attributes.unsupported) {
            return unsupported(format!("an argument with the attribute `{name}`"));
        }
        for argument in &call.args[..fixed] {
            self.pass(argument, &mut args)?;
        }
        if fixed < call.args.len() {
            let has_body = symbol.is_none_or(|symbol| self.has_body(symbol));
            self.variadic_arguments(&call.args[fixed..], has_body, &mut args)?;
        }
        let results: Vec<ir::Type> = match ty {
            TypeTable::VOID => Vec::new(),
            _ => self.unit.shape(ty)?.leaves.iter().map(|leaf| leaf.ty).collect(),
        };
        let callee = self.callee(call, symbol, &args, &results)?;
        let inst = self.emit(ir::InstKind::Call { callee, args }, &results);
        Ok(self.f.insts[inst].results.iter().map(|&value| ir::Operand::Value(value)).collect())
    }

    fn callee(
        &mut self,
        call: &'m Call<'a>,
        symbol: Option<SymbolId>,
        args: &[(ir::Type, ir::Operand)],
        results: &[ir::Type],
    ) -> Lowered<ir::Callee> {
        let Some(Binding::Func(id)) = symbol.map(|symbol| self.unit.bindings[symbol.index()]) else {
            let pointer = self.scalar(call.callee)?;
            return Ok(ir::Callee::Indirect(pointer));
        };
        let function = &self.program.module.functions[id];
        let enough =
            if function.vararg { args.len() >= function.params.len() } else { args.len() == function.params.len() };
        let fits = enough
            && function.results == results
            && function.params.iter().zip(args).all(|(&param, &(ty, _))| function.values[param].ty == ty);
        Ok(if fits { ir::Callee::Direct(id) } else { ir::Callee::Indirect(ir::Operand::Func(id)) })
    }

    /// Appends the scalars of an argument.
    pub(super) fn pass(&mut self, argument: &Argument<'a>, args: &mut Vec<(ir::Type, ir::Operand)>) -> Lowered<()> {
        let shape = self.unit.shape(argument.value.ty)?;
        let scalars = self.operand(argument.value)?;
        args.extend(shape.leaves.iter().zip(scalars).map(|(leaf, scalar)| (leaf.ty, scalar)));
        Ok(())
    }
}

/// Whether a function of the C library takes a `va_list`.
fn takes_va_list(name: &str) -> bool {
    let name = name.strip_prefix("__").and_then(|name| name.strip_suffix("_chk")).unwrap_or(name);
    matches!(name, "vprintf" | "vfprintf" | "vsprintf" | "vsnprintf" | "vasprintf" | "vdprintf")
}
