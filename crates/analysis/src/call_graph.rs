//! The call graph: which function calls which, and in what order to visit them so that callees come first.
//!
//! A call through a pointer may reach any function whose address is taken somewhere (in an operand or in the initial
//! bytes of a global); such calls are listed as one flag per caller, not as edges to all candidates. Recursion is found
//! as the strongly connected components of the direct edges (R. Tarjan, "Depth-first search and linear graph
//! algorithms", 1972), with an explicit stack.

use selvedge_ir::{Callee, EntityRef, EntityVec, FuncId, Function, InstKind, Module, Operand, RelocTarget};

/// Who calls whom.
#[derive(Clone, Debug)]
pub struct CallGraph {
    callees: EntityVec<FuncId, Vec<FuncId>>,
    indirect: EntityVec<FuncId, bool>,
    address_taken: EntityVec<FuncId, bool>,
    /// Strongly connected components, callees before callers.
    components: Vec<Vec<FuncId>>,
    recursive: EntityVec<FuncId, bool>,
}

impl CallGraph {
    /// The call graph of a module.
    pub fn new(module: &Module) -> CallGraph {
        let mut address_taken: EntityVec<FuncId, bool> = module.functions.keys().map(|_| false).collect();
        for reloc in module.globals.values().flat_map(|global| &global.relocs) {
            if let RelocTarget::Func(id) = reloc.target {
                address_taken[id] = true;
            }
        }
        let mut callees: EntityVec<FuncId, Vec<FuncId>> = EntityVec::new();
        let mut indirect = EntityVec::new();
        for func in module.functions.values() {
            let (direct, through_pointers) = calls(func, &mut address_taken);
            callees.push(direct);
            indirect.push(through_pointers);
        }
        let components = components(&callees);
        let mut recursive: EntityVec<FuncId, bool> = module.functions.keys().map(|_| false).collect();
        for component in &components {
            for &id in component {
                recursive[id] = component.len() > 1 || callees[id].contains(&id);
            }
        }
        CallGraph { callees, indirect, address_taken, components, recursive }
    }

    /// The functions that this one calls by name, each once, in the order of the first call.
    pub fn callees(&self, func: FuncId) -> &[FuncId] {
        &self.callees[func]
    }

    /// Whether the function calls through a pointer.
    pub fn calls_through_pointers(&self, func: FuncId) -> bool {
        self.indirect[func]
    }

    /// Whether the function may be called through a pointer or started as a thread.
    pub fn is_address_taken(&self, func: FuncId) -> bool {
        self.address_taken[func]
    }

    /// Whether the function may call itself, through direct calls.
    pub fn is_recursive(&self, func: FuncId) -> bool {
        self.recursive[func]
    }

    /// All functions, callees before callers where there is no recursion.
    pub fn bottom_up(&self) -> impl Iterator<Item = FuncId> + '_ {
        self.components.iter().flatten().copied()
    }
}

/// The direct callees of a function and whether it calls through pointers; notes the functions that it uses as values.
fn calls(func: &Function, address_taken: &mut EntityVec<FuncId, bool>) -> (Vec<FuncId>, bool) {
    let mut direct = Vec::new();
    let mut through_pointers = false;
    for (_, inst) in func.placed_insts() {
        let kind = &func.insts[inst].kind;
        if let InstKind::Call { callee, .. } = kind {
            match *callee {
                Callee::Direct(id) if !direct.contains(&id) => direct.push(id),
                Callee::Direct(_) => {}
                Callee::Indirect(_) => through_pointers = true,
            }
        }
        kind.visit_operands(|operand, _| {
            if let Operand::Func(id) = operand {
                address_taken[id] = true;
            }
        });
    }
    (direct, through_pointers)
}

/// The state of Tarjan's algorithm for one function.
#[derive(Clone, Copy, Default)]
struct Visit {
    /// When the function was found, from 1; 0 is not yet.
    index: usize,
    /// The earliest function on the stack that can be reached from it.
    low: usize,
    on_stack: bool,
}

fn components(callees: &EntityVec<FuncId, Vec<FuncId>>) -> Vec<Vec<FuncId>> {
    let mut visits = vec![Visit::default(); callees.len()];
    let mut stack: Vec<FuncId> = Vec::new();
    let mut components = Vec::new();
    let mut clock = 0;
    for root in callees.keys() {
        let mut path = vec![(root, 0)];
        while let Some(&mut (func, ref mut next)) = path.last_mut() {
            let at = func.index();
            if *next == 0 {
                if visits[at].index != 0 {
                    path.pop();
                    continue;
                }
                clock += 1;
                visits[at] = Visit { index: clock, low: clock, on_stack: true };
                stack.push(func);
            }
            let callee = callees[func].get(*next).copied();
            *next += 1;
            match callee {
                Some(callee) if visits[callee.index()].index == 0 => path.push((callee, 0)),
                Some(callee) => {
                    if visits[callee.index()].on_stack {
                        visits[at].low = visits[at].low.min(visits[callee.index()].index);
                    }
                }
                None => {
                    path.pop();
                    if let Some(&(caller, _)) = path.last() {
                        visits[caller.index()].low = visits[caller.index()].low.min(visits[at].low);
                    }
                    if visits[at].low == visits[at].index {
                        components.push(take_component(&mut stack, &mut visits, func));
                    }
                }
            }
        }
    }
    components
}

/// Takes everything above and including this function from the stack.
fn take_component(stack: &mut Vec<FuncId>, visits: &mut [Visit], root: FuncId) -> Vec<FuncId> {
    let start = stack.iter().rposition(|&func| func == root).expect("the root of a component is on the stack");
    let mut component = stack.split_off(start);
    component.iter().for_each(|func| visits[func.index()].on_stack = false);
    component.sort();
    component
}
