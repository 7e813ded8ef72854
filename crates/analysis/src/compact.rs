//! Dense numbering: forgets instructions that stand in no block and the values that they defined.
//!
//! The machine keeps one register per value and copies registers when it goes back, so numbers that nothing uses cost
//! time in every execution. Parameters come first, then results in the order of the blocks. Phis list
//! their predecessors in order.

use selvedge_ir::{EntityVec, Function, Inst, InstKind, Operand, Value, ValueDef};

/// Renumbers values and instructions densely.
pub fn run(func: &mut Function) {
    if func.is_declaration() {
        return;
    }
    let mut numbers: EntityVec<Value, Option<Value>> = func.values.keys().map(|_| None).collect();
    let mut values = EntityVec::new();
    let mut insts = EntityVec::new();
    for param in &mut func.params {
        let number = values.push(func.values[*param].clone());
        numbers[*param] = Some(number);
        *param = number;
    }
    let mut blocks = std::mem::take(&mut func.blocks);
    for data in blocks.values_mut() {
        for place in &mut data.insts {
            let mut inst = func.insts[*place].clone();
            let new: Inst = insts.next_key();
            for (n, result) in inst.results.iter_mut().enumerate() {
                let mut value = func.values[*result].clone();
                value.def = ValueDef::Result(new, n as u32);
                let number = values.push(value);
                numbers[*result] = Some(number);
                *result = number;
            }
            insts.push(inst);
            *place = new;
        }
    }
    for inst in insts.values_mut() {
        if let InstKind::Phi { args, .. } = &mut inst.kind {
            args.sort_by_key(|&(block, _)| block);
        }
        inst.kind.map_operands(|operand| match operand {
            Operand::Value(value) => {
                Operand::Value(numbers[value].expect("a value in use has a definition in a block"))
            }
            other => other,
        });
    }
    func.blocks = blocks;
    func.insts = insts;
    func.values = values;
}
