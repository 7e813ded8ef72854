//! Inline assembly whose meaning is known.
//!
//! Concurrent C uses a handful of texts: the empty one as a compiler barrier or to hide a value from the optimiser,
//! fences, and hints in spin loops. They are recognised by their instructions, spacing aside. Everything else is
//! unsupported by name, because its effect is unknown.

use super::function::{FunctionLowering, Scalars};
use super::{Lowered, unsupported};
use crate::ast::{Call, InlineAsm};
use crate::lexer::display_name;
use crate::types::{TypeId, TypeTable};
use selvedge_ir as ir;

/// What an assembly text does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Effect {
    /// Nothing that another thread could see.
    Nothing,
    /// A fence between all accesses.
    Fence(ir::Order),
}

/// The effect of a text, if all of its instructions are known; the strongest of their fences.
fn effect(template: &str) -> Option<Effect> {
    let mut result = Effect::Nothing;
    for line in template.split(['\n', ';']) {
        let line = line.split("//").next().unwrap_or("").split('#').next().unwrap_or("").trim();
        let words: Vec<&str> = line.split_whitespace().collect();
        let joined = words.join(" ").to_ascii_lowercase();
        match joined.as_str() {
            // `lock; addl $0, (%rsp)` is a fence written as two instructions.
            "" | "nop" | "pause" | "rep" | "rep nop" | "yield" | "isb" | "isb sy" | "lock" | "sfence" | "lfence" => {}
            "dmb ishld" | "dmb ld" | "dmb oshld" => {
                if result == Effect::Nothing {
                    result = Effect::Fence(ir::Order::Acquire);
                }
            }
            "mfence" | "dmb ish" | "dmb sy" | "dmb ishst" | "dmb st" | "dsb ish" | "dsb sy" => {
                result = Effect::Fence(ir::Order::SeqCst);
            }
            text if is_locked_nothing(text) => result = Effect::Fence(ir::Order::SeqCst),
            _ => return None,
        }
    }
    Some(result)
}

/// `lock addl $0, 0(%rsp)`: adds nothing to the top of the stack, for the fence that comes with it.
fn is_locked_nothing(text: &str) -> bool {
    let text = text.strip_prefix("lock ").unwrap_or(text);
    let Some((operation, operands)) = text.split_once(' ') else {
        return false;
    };
    let operands: String = operands.chars().filter(|c| !c.is_whitespace()).collect();
    matches!(operation, "addl" | "addq" | "orl" | "orq" | "add" | "or")
        && matches!(operands.strip_prefix("$$0,").or_else(|| operands.strip_prefix("$$0x0,")), Some(place)
            if ["(%rsp)", "0(%rsp)", "-4(%rsp)", "-8(%rsp)", "-128(%rsp)", "(%esp)", "0(%esp)"].contains(&place))
}

impl<'a> FunctionLowering<'_, '_, 'a> {
    pub(super) fn inline_asm(&mut self, asm: InlineAsm<'a>, call: &Call<'a>, ty: TypeId) -> Lowered<Scalars> {
        let template = display_name(asm.template);
        let shown = template.split_whitespace().collect::<Vec<_>>().join(" ");
        let Some(effect) = effect(&template) else {
            return unsupported(format!("inline assembly \"{shown}\""));
        };
        if let Effect::Fence(order) = effect {
            self.emit(ir::InstKind::Fence { order }, &[]);
        }
        if ty == TypeTable::VOID {
            return Ok(Scalars::new());
        }
        // An output of a text without instructions is the input that is tied to it.
        let constraints = display_name(asm.constraints);
        let outputs = constraints.split(',').filter(|c| c.starts_with('=')).count();
        let inputs: Vec<&str> =
            constraints.split(',').skip(outputs).filter(|c| !c.starts_with('~') && !c.starts_with('!')).collect();
        let mut all = Scalars::new();
        for output in 0..outputs {
            let position = inputs.iter().position(|&input| input == output.to_string());
            let Some(argument) = position.and_then(|position| call.args.get(position)) else {
                return unsupported(format!("inline assembly \"{shown}\" with an output"));
            };
            all.extend(self.operand(argument.value)?);
        }
        if all.len() != self.unit.leaf_count(ty)? {
            return unsupported(format!("inline assembly \"{shown}\" with an output"));
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn barriers_and_hints_are_recognised() {
        assert_eq!(effect(""), Some(Effect::Nothing));
        assert_eq!(effect("rep; nop"), Some(Effect::Nothing));
        assert_eq!(effect("  pause\n\t"), Some(Effect::Nothing));
        assert_eq!(effect("mfence"), Some(Effect::Fence(ir::Order::SeqCst)));
        assert_eq!(effect("lock; addl $$0,0(%rsp)"), Some(Effect::Fence(ir::Order::SeqCst)));
        assert_eq!(effect("lock addl $$0, (%rsp)"), Some(Effect::Fence(ir::Order::SeqCst)));
        assert_eq!(effect("dmb ish"), Some(Effect::Fence(ir::Order::SeqCst)));
        assert_eq!(effect("movl $1, $0"), None);
        assert_eq!(effect("lock; xaddl $0, $1"), None);
    }
}
