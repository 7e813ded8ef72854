//! Calls.

use super::symbols::param_types;
use super::{EmitError, Emitter};
use selvedge_ir::{Callee, EntityRef, FuncId, Inst, InstKind, Operand, Type};
use std::fmt::Write;

/// Functions of the C library that the run-time stands in for.
const REPLACED: &[(&str, &str)] = &[("pthread_create", "__selvedge_pthread_create")];

impl Emitter<'_> {
    pub(super) fn call(
        &mut self,
        func: FuncId,
        inst: Inst,
        callee: Callee,
        args: &[(Type, Operand)],
    ) -> Result<(), EmitError> {
        let types: Vec<Type> = args.iter().map(|&(ty, _)| ty).collect();
        let function = &self.module.functions[func];
        let results: Vec<Type> = function.insts[inst].results.iter().map(|&value| function.values[value].ty).collect();
        let (signature, target) = match callee {
            Callee::Direct(id) => self.direct(func, inst, id, &types)?,
            Callee::Indirect(pointer) => {
                let signature = self.signature(&results, &types, false);
                let target = self.function_pointer(inst, &signature, pointer);
                (signature, target)
            }
        };
        let values: Vec<String> = args.iter().map(|&(ty, arg)| self.typed(ty, arg)).collect();
        let call = format!("call {signature} {target}({})", values.join(", "));
        self.results_of(func, inst, &results, &call);
        Ok(())
    }

    /// The signature and the symbol of a function that is called by name.
    fn direct(&mut self, func: FuncId, inst: Inst, id: FuncId, args: &[Type]) -> Result<(String, String), EmitError> {
        let function = &self.module.functions[id];
        let narrow = |ty: &Type| matches!(ty, Type::Int(bits) if *bits < 32);
        if function.is_declaration() && (args.iter().any(narrow) || function.results.iter().any(narrow)) {
            // How such a value is passed depends on its sign, which is not known any more.
            let name = &function.name;
            return Err(self.refuse(
                func,
                inst,
                format!("a call of `{name}`, which takes or yields a narrow integer,"),
            ));
        }
        let signature = self.function_type(function);
        let symbol = self.function_symbol(id);
        if let Some((_, name)) = REPLACED.iter().find(|(name, _)| *name == function.name && function.is_declaration()) {
            let params: Vec<String> = param_types(function).iter().map(|&ty| self.ty(ty)).collect();
            let results = self.results(&function.results);
            self.need(name, format!("{results} @{name}({})", params.join(", ")));
            return Ok((signature, format!("@{name}")));
        }
        let params = param_types(function);
        let fits = if function.vararg { args.starts_with(&params) } else { args == params };
        if fits {
            return Ok((signature, symbol));
        }
        // A declaration without a prototype, say: it is called with what there is.
        let wanted = self.signature(&function.results, args, false);
        let target =
            if self.dialect.opaque_pointers { symbol } else { format!("bitcast ({signature}* {symbol} to {wanted}*)") };
        Ok((wanted, target))
    }

    /// A function pointer as one of this signature.
    fn function_pointer(&mut self, inst: Inst, signature: &str, pointer: Operand) -> String {
        let pointer = self.typed(Type::Ptr, pointer);
        let name = format!("%callee.{}", inst.index());
        let target = self.ptr_to(signature);
        let _ = writeln!(self.out, "  {name} = bitcast {pointer} to {target}");
        name
    }

    /// Writes a call and takes its results apart.
    fn results_of(&mut self, func: FuncId, inst: Inst, types: &[Type], call: &str) {
        let results = &self.module.functions[func].insts[inst].results;
        match results.as_slice() {
            [] => {
                let _ = writeln!(self.out, "  {call}");
            }
            [result] => {
                let _ = writeln!(self.out, "  %{result} = {call}");
            }
            several => {
                let (number, aggregate) = (inst.index(), self.results(types));
                let _ = writeln!(self.out, "  %results.{number} = {call}");
                for (n, result) in several.iter().enumerate() {
                    let _ = writeln!(self.out, "  %{result} = extractvalue {aggregate} %results.{number}, {n}");
                }
            }
        }
    }

    /// In place of a wait for a condition variable: an operation on its mutex, the second argument.
    pub(super) fn on_mutex(&mut self, func: FuncId, inst: Inst, operation: &str) -> Result<(), EmitError> {
        let mutex = match &self.module.functions[func].insts[inst].kind {
            InstKind::Call { args, .. } => args.get(1).copied(),
            _ => None,
        };
        let Some((Type::Ptr, mutex)) = mutex else {
            return Err(self.refuse(func, inst, "a wait without a mutex"));
        };
        let ptr = self.ptr();
        self.need(operation, format!("i32 @{operation}({ptr})"));
        let mutex = self.typed(Type::Ptr, mutex);
        let _ = writeln!(self.out, "  call i32 @{operation}({mutex})");
        Ok(())
    }
}
