//! Inlining: calls of small functions become copies of their bodies.
//!
//! Its purpose is not speed. The analyses of loops see one function at a time, and real code spins through wrappers:
//! `while (!flag.load())` is a call in a loop. A call is inlined if the callee
//!
//! 1. has a body, takes no variable arguments, and does not call itself in any way;
//! 2. makes no stack objects: they live until the function returns, and in the caller they would live longer, which
//!    could hide a use after return;
//! 3. is *tiny*, or is *small* and the call is in a loop ([`Limits`]); constant arguments are taken into account, since
//!    the memory order that `std::atomic` is given decides a branch with dozens of cases;
//! 4. does not have a name that the machine gives a meaning to (`__VERIFIER_...`, `reach_error`, and those that the caller excludes).
//!
//! Callers are treated after their callees, so what was inlined into a callee counts for its size. Source positions are
//! kept: every inlined instruction gets a position that says where it was inlined.

use crate::call_graph::CallGraph;
use crate::loops::LoopForest;
use crate::rewrite::{self, Replacements};
use crate::{cleanup, dce};
use selvedge_ir::{
    Block, Callee, EntityRef, EntityVec, FuncId, Function, Inst, InstData, InstKind, LocId, Module, Operand, PathId,
    Type, Value, ValueDef,
};
use std::collections::{HashMap, HashSet};

/// What counts as small.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Instructions of a function that is inlined everywhere.
    pub tiny: usize,
    /// Instructions of a function that is inlined into loops.
    pub small: usize,
    /// Instructions of a function that is looked at more closely if it is given constants.
    pub special: usize,
    /// Instructions beyond which a caller takes nothing more.
    pub caller: usize,
    /// Names of functions that stay functions.
    pub keep: HashSet<String>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { tiny: 8, small: 60, special: 600, caller: 5_000, keep: HashSet::new() }
    }
}

/// Inlines into one function whatever is worth it; whether there was anything.
pub fn run(module: &mut Module, caller: FuncId, graph: &CallGraph, limits: &Limits) -> bool {
    if module.functions[caller].is_declaration() {
        return false;
    }
    let mut changed = false;
    // Each round inlines calls that the last one brought in; callees are done before, so two rounds are the rule.
    for _ in 0..4 {
        let calls = worthwhile_calls(module, caller, graph, limits);
        if calls.is_empty() {
            break;
        }
        let mut locs = InlinedLocs::default();
        for (call, body) in calls {
            if size(&module.functions[caller]) > limits.caller {
                return changed;
            }
            inline_call(module, caller, call, &body, &mut locs);
            changed = true;
        }
    }
    changed
}

fn size(func: &Function) -> usize {
    func.blocks.values().map(|data| data.insts.len()).sum()
}

/// The calls to inline, each with the body to put in its place.
fn worthwhile_calls(module: &Module, caller: FuncId, graph: &CallGraph, limits: &Limits) -> Vec<(Inst, Function)> {
    let func = &module.functions[caller];
    let loops = LoopForest::of(func);
    let mut calls = Vec::new();
    for (block, inst) in func.placed_insts() {
        let InstKind::Call { callee: Callee::Direct(callee), args } = &func.insts[inst].kind else {
            continue;
        };
        let limit = if loops.innermost(block).is_some() { limits.small } else { limits.tiny };
        if *callee != caller && can_inline(module, *callee, graph, limits) {
            let body = small_body(&module.functions[*callee], args, limit, limits.special);
            calls.extend(body.map(|body| (inst, body)));
        }
    }
    calls
}

/// The body of a function as it is for these arguments, if it is small enough.
fn small_body(callee: &Function, args: &[(Type, Operand)], limit: usize, special: usize) -> Option<Function> {
    if size(callee) <= limit {
        return Some(callee.clone());
    }
    let constant = |arg: &(Type, Operand)| matches!(arg.1, Operand::Const(_));
    if size(callee) > special || !args.iter().any(constant) {
        return None;
    }
    let mut body = callee.clone();
    let mut replacements = Replacements::new(&body);
    for (&param, arg) in callee.params.iter().zip(args).filter(|(_, arg)| constant(arg)) {
        replacements.set(param, arg.1);
    }
    replacements.apply(&mut body);
    cleanup::run(&mut body);
    dce::run(&mut body);
    (size(&body) <= limit).then_some(body)
}

/// Rules 1, 2 and 4.
fn can_inline(module: &Module, callee: FuncId, graph: &CallGraph, limits: &Limits) -> bool {
    let func = &module.functions[callee];
    let has_meaning =
        func.name.starts_with("__VERIFIER_") || func.name == "reach_error" || limits.keep.contains(&func.name);
    let shape = !func.is_declaration() && !func.vararg && !graph.is_recursive(callee) && !has_meaning;
    let stays_put = |kind: &InstKind| matches!(kind, InstKind::Alloca { .. } | InstKind::VaStart { .. });
    shape && func.placed_insts().all(|(_, inst)| !stays_put(&func.insts[inst].kind))
}

/// Positions of inlined code: the callee's position and the call's position give a new one.
#[derive(Default)]
struct InlinedLocs {
    known: HashMap<(LocId, LocId), LocId>,
}

impl InlinedLocs {
    /// The position of code at `inner` that is inlined at `call`. What has no position takes that of the call.
    fn get(&mut self, module: &mut Module, inner: LocId, call: LocId) -> LocId {
        if inner == module.no_loc() {
            return call;
        }
        if let Some(&known) = self.known.get(&(inner, call)) {
            return known;
        }
        let mut loc = module.locs[inner].clone();
        // The verifier has seen to it that the chain ends.
        loc.inlined_at = Some(match loc.inlined_at {
            Some(outer) => self.get(module, outer, call),
            None => call,
        });
        let new = module.locs.push(loc);
        self.known.insert((inner, call), new);
        new
    }
}

/// Replaces a call by the body of the callee.
fn inline_call(module: &mut Module, caller: FuncId, call: Inst, body: &Function, locs: &mut InlinedLocs) {
    let call_loc = module.functions[caller].insts[call].loc;
    let body_locs: HashMap<LocId, LocId> = body
        .placed_insts()
        .map(|(_, inst)| body.insts[inst].loc)
        .map(|loc| (loc, locs.get(module, loc, call_loc)))
        .collect();
    let paths = renamed_paths(module, caller, call, body);
    let func = &mut module.functions[caller];
    let after = split_at_call(func, call);
    let mut copy = Copy { body, func, values: body.values.keys().map(|_| None).collect(), first_block: 0 };
    copy.take_arguments(call);
    let returns = copy.copy_blocks(after, &body_locs, &paths);
    let first = Block::new(copy.first_block);
    join_results(func, call, after, &returns, body);
    let before = func.blocks.keys().find(|&block| func.terminator(block) == Some(call));
    let before = before.expect("the call ends its block since it was split");
    func.blocks[before].insts.pop();
    func.append(before, InstKind::Br { dest: first }, &[], call_loc);
}

/// Names of accesses that go through a parameter which points to a global: `*this` becomes `flag`, `q->tail` becomes
/// `queue.tail`.
fn renamed_paths(module: &mut Module, caller: FuncId, call: Inst, body: &Function) -> HashMap<PathId, PathId> {
    let InstKind::Call { args, .. } = &module.functions[caller].insts[call].kind else {
        return HashMap::new();
    };
    let mut globals: Vec<(&str, &str)> = Vec::new();
    for (&param, &(_, arg)) in body.params.iter().zip(args) {
        if let Operand::Global(id, 0) = arg {
            globals.push((&body.values[param].name, &module.globals[id].source_name));
        }
    }
    let mut renamed = Vec::new();
    for path in body.placed_insts().filter_map(|(_, inst)| body.insts[inst].kind.path()) {
        let text = &module.paths[path];
        let new = globals.iter().filter(|(param, _)| !param.is_empty()).find_map(|(param, global)| {
            let direct = text.strip_prefix('*').is_some_and(|rest| rest == *param);
            let member = || Some(format!("{global}.{}", text.strip_prefix(param)?.strip_prefix("->")?));
            if direct { Some((*global).to_owned()) } else { member() }
        });
        renamed.extend(new.map(|new| (path, new)));
    }
    let mut paths = HashMap::new();
    for (path, new) in renamed {
        paths.entry(path).or_insert_with(|| module.paths.push(new));
    }
    paths
}

/// Moves everything behind the call into a new block; the call is then the last in its own.
fn split_at_call(func: &mut Function, call: Inst) -> Block {
    let place = func.blocks.iter().find_map(|(block, data)| {
        let n = data.insts.iter().position(|&inst| inst == call)?;
        Some((block, n))
    });
    let (block, n) = place.expect("the call was found in a block");
    let rest = func.blocks[block].insts.split_off(n + 1);
    let after = func.add_block("");
    func.blocks[after].insts = rest;
    for succ in func.successors(after) {
        rewrite::rename_pred(func, succ, block, after);
    }
    after
}

/// The copy of a body into a function.
struct Copy<'a> {
    body: &'a Function,
    func: &'a mut Function,
    /// What each value of the body has become.
    values: EntityVec<Value, Option<Operand>>,
    /// The number of the copy of the body's entry.
    first_block: usize,
}

impl Copy<'_> {
    fn take_arguments(&mut self, call: Inst) {
        let InstKind::Call { args, .. } = &self.func.insts[call].kind else {
            return;
        };
        for (&param, &(_, arg)) in self.body.params.iter().zip(args) {
            self.values[param] = Some(arg);
        }
    }

    fn block(&self, block: Block) -> Block {
        Block::new(self.first_block + block.index())
    }

    /// Copies all blocks; yields what is returned from where.
    fn copy_blocks(
        &mut self,
        after: Block,
        locs: &HashMap<LocId, LocId>,
        paths: &HashMap<PathId, PathId>,
    ) -> Vec<(Block, Vec<Operand>)> {
        self.first_block = self.func.blocks.len();
        for data in self.body.blocks.values() {
            self.func.add_block(data.name.clone());
        }
        let copies = self.make_insts(locs);
        let mut returns = Vec::new();
        for (block, inst, copy) in copies {
            let (first, values) = (self.first_block, &self.values);
            let mut kind = self.body.insts[inst].kind.clone();
            kind.map_operands(|operand| match operand {
                Operand::Value(value) => values[value].expect("a value in use has a definition in a block"),
                other => other,
            });
            kind.map_successors(|succ| Block::new(first + succ.index()));
            kind.map_phi_blocks(|pred| Block::new(first + pred.index()));
            kind.map_path(|path| paths.get(&path).copied().unwrap_or(path));
            if let InstKind::Ret { values } = kind {
                returns.push((self.block(block), values));
                kind = InstKind::Br { dest: after };
            }
            self.func.insts[copy].kind = kind;
            let block = self.block(block);
            self.func.blocks[block].insts.push(copy);
        }
        returns
    }

    /// Makes an empty instruction for every one of the body, so that all values exist before operands are renamed.
    fn make_insts(&mut self, locs: &HashMap<LocId, LocId>) -> Vec<(Block, Inst, Inst)> {
        let mut copies = Vec::new();
        for (block, inst) in self.body.placed_insts() {
            let InstData { results, loc, .. } = &self.body.insts[inst];
            let types: Vec<Type> = results.iter().map(|&value| self.body.values[value].ty).collect();
            let copy = self.func.make_inst(InstKind::Unreachable, &types, locs[loc]);
            for (n, &value) in results.iter().enumerate() {
                let new = self.func.insts[copy].results[n];
                self.func.values[new].name.clone_from(&self.body.values[value].name);
                self.values[value] = Some(Operand::Value(new));
            }
            copies.push((block, inst, copy));
        }
        copies
    }
}

/// The results of the call become phis over what was returned.
fn join_results(func: &mut Function, call: Inst, after: Block, returns: &[(Block, Vec<Operand>)], body: &Function) {
    let results = std::mem::take(&mut func.insts[call].results);
    let loc = func.insts[call].loc;
    let mut phis = Vec::new();
    for (n, (&result, &ty)) in results.iter().zip(&body.results).enumerate() {
        let args = returns.iter().map(|(block, values)| (*block, values[n])).collect();
        let phi = func.make_inst(InstKind::Phi { ty, args }, &[], loc);
        func.insts[phi].results.push(result);
        func.values[result].def = ValueDef::Result(phi, 0);
        phis.push(phi);
    }
    func.blocks[after].insts.splice(0..0, phis);
}
