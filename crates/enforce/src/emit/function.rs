//! Blocks and instructions of a function.

use super::symbols::param_types;
use super::{EmitError, Emitter, Treatment};
use selvedge_ir::{EntityRef, FuncId, Inst, InstKind};
use std::fmt::Write;

impl Emitter<'_> {
    /// A function that the program defines.
    pub(super) fn function(&mut self, id: FuncId) -> Result<(), EmitError> {
        let module = self.module;
        let function = &module.functions[id];
        let types = param_types(function);
        let mut params: Vec<String> =
            function.params.iter().zip(&types).map(|(param, &ty)| format!("{} %{param}", self.ty(ty))).collect();
        if function.vararg {
            params.push("...".to_owned());
        }
        let (linkage, symbol) = (self.linkage(function), self.function_symbol(id));
        let results = self.results(&function.results);
        let _ = writeln!(self.out, "define {linkage}{results} {symbol}({}) {{", params.join(", "));
        for (block, data) in function.blocks.iter() {
            let _ = writeln!(self.out, "{block}:");
            for &inst in &data.insts {
                self.instruction(id, inst)?;
            }
        }
        let _ = writeln!(self.out, "}}");
        Ok(())
    }

    /// An instruction with what the schedule wants of it.
    fn instruction(&mut self, func: FuncId, inst: Inst) -> Result<(), EmitError> {
        let Some((site, treatment)) = self.treatment(func, inst) else {
            return self.plain(func, inst);
        };
        match treatment {
            Treatment::Around => {
                self.at(site);
                self.plain(func, inst)?;
                self.done(site);
            }
            Treatment::Before => {
                self.at(site);
                self.done(site);
                self.plain(func, inst)?;
            }
            Treatment::Branch => {
                self.branch(func, inst, site);
                self.plain(func, inst)?;
            }
            Treatment::Omit => self.nothing(func, inst),
            Treatment::Turns(count) => {
                for _ in 0..count {
                    self.at(site);
                    self.done(site);
                }
                self.nothing(func, inst);
            }
            Treatment::Wait => {
                for operation in ["pthread_mutex_unlock", "pthread_mutex_lock"] {
                    self.at(site);
                    self.on_mutex(func, inst, operation)?;
                    self.done(site);
                }
                self.nothing(func, inst);
            }
        }
        Ok(())
    }

    /// In place of a call that is left out: its result is 0.
    fn nothing(&mut self, func: FuncId, inst: Inst) {
        let function = &self.module.functions[func];
        for &result in &function.insts[inst].results {
            let ty = function.values[result].ty;
            let zero = self.operand(ty, selvedge_ir::Operand::Undef);
            let ty = self.ty(ty);
            // A value of its own, in a form that every type has.
            let _ = writeln!(self.out, "  %{result} = select i1 true, {ty} {zero}, {ty} {zero}");
        }
    }

    /// An instruction as it is.
    fn plain(&mut self, func: FuncId, inst: Inst) -> Result<(), EmitError> {
        let module = self.module;
        let kind = &module.functions[func].insts[inst].kind;
        match kind {
            InstKind::Phi { .. }
            | InstKind::Binary { .. }
            | InstKind::FNeg { .. }
            | InstKind::Cmp { .. }
            | InstKind::Cast { .. }
            | InstKind::Select { .. }
            | InstKind::PtrAdd { .. }
            | InstKind::ThreadLocal { .. }
            | InstKind::Intrinsic { .. } => self.operation(func, inst),
            InstKind::Alloca { .. }
            | InstKind::Load { .. }
            | InstKind::Store { .. }
            | InstKind::Rmw { .. }
            | InstKind::Cas { .. }
            | InstKind::Fence { .. }
            | InstKind::MemCopy { .. }
            | InstKind::MemSet { .. } => {
                self.memory(func, inst);
                Ok(())
            }
            InstKind::Call { callee, args } => self.call(func, inst, *callee, args),
            InstKind::Unsupported { feature } => {
                self.stop(feature);
                Ok(())
            }
            InstKind::VaStart { .. } | InstKind::VaArg { .. } | InstKind::VaCopy { .. } => {
                Err(self.refuse(func, inst, "a function of variable arguments"))
            }
            InstKind::Await { .. } | InstKind::Assume { .. } | InstKind::Iteration => {
                Err(self.refuse(func, inst, "a loop that was made a wait"))
            }
            InstKind::Br { .. }
            | InstKind::CondBr { .. }
            | InstKind::Switch { .. }
            | InstKind::Ret { .. }
            | InstKind::Unreachable => {
                self.terminator(func, inst);
                Ok(())
            }
        }
    }

    fn terminator(&mut self, func: FuncId, inst: Inst) {
        let function = &self.module.functions[func];
        let text = match &function.insts[inst].kind {
            InstKind::Br { dest } => format!("br label {}", Self::label(*dest)),
            InstKind::CondBr { cond, then_dest, else_dest } => {
                let cond = self.typed(selvedge_ir::Type::I1, *cond);
                format!("br {cond}, label {}, label {}", Self::label(*then_dest), Self::label(*else_dest))
            }
            InstKind::Switch { ty, value, cases, default } => {
                let case = |(bits, block): &(u64, selvedge_ir::Block)| {
                    format!("{} {bits}, label {}", self.ty(*ty), Self::label(*block))
                };
                let cases: Vec<String> = cases.iter().map(case).collect();
                format!("switch {}, label {} [ {} ]", self.typed(*ty, *value), Self::label(*default), cases.join(" "))
            }
            InstKind::Ret { values } => match (values.as_slice(), function.results.as_slice()) {
                ([], _) => "ret void".to_owned(),
                ([value], [ty, ..]) => format!("ret {}", self.typed(*ty, *value)),
                (several, types) => self.ret_several(inst, several, types),
            },
            _ => "unreachable".to_owned(),
        };
        let _ = writeln!(self.out, "  {text}");
    }

    /// Builds the aggregate that a function with several results returns.
    fn ret_several(&mut self, inst: Inst, values: &[selvedge_ir::Operand], types: &[selvedge_ir::Type]) -> String {
        let aggregate = self.results(types);
        let mut last = "undef".to_owned();
        for (n, (&value, &ty)) in values.iter().zip(types).enumerate() {
            let name = format!("%ret.{}.{n}", inst.index());
            let value = self.typed(ty, value);
            let _ = writeln!(self.out, "  {name} = insertvalue {aggregate} {last}, {value}, {n}");
            last = name;
        }
        format!("ret {aggregate} {last}")
    }

    /// Ends the program where it does what the front end could not express.
    fn stop(&mut self, feature: &str) {
        let name = "__selvedge_unsupported";
        self.need(name, format!("void @{name}()"));
        let comment: String = feature.chars().filter(|c| !c.is_control()).collect();
        let _ = writeln!(self.out, "  call void @{name}() ; {comment}");
    }
}
