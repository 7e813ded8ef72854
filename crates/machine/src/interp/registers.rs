//! Registers for SSA values.
//!
//! Frames are copied when a thread takes its first step after a mark, so a small frame is what makes going back cheap.
//! Values share registers whenever they are not alive at the same time.
//!
//! Liveness is computed per value, by walking from each use up to the definition (F. Brandner, B. Boissinot, A. Darte,
//! B. Dupont de Dinechin, F. Rastello: "Computing Liveness Sets for SSA-Form Programs", 2011, Algorithm 6, path
//! exploration by use); sets are sparse lists, so large functions cost what their live ranges cost. Since interference
//! graphs of SSA programs are chordal, giving each value the lowest free register in an order in which definitions come
//! before uses needs no more registers than are alive at once (S. Hack, D. Grund, G. Goos: "Register Allocation for
//! Programs in SSA-Form", 2006). Phis and their arguments prefer each other's registers, which makes most copies
//! on edges vanish.

use super::flow::Flow;
use super::select::{Root, Selection};
use selvedge_ir::{Block, EntityRef, Function, Inst, InstKind, Value, ValueDef};

/// Which register each value has; `NONE` if it needs none.
pub struct Registers {
    of: Vec<u32>,
    /// How many are in use.
    pub count: u32,
}

const NONE: u32 = u32::MAX;

impl Registers {
    /// The register of a value that code defines or uses.
    pub fn of(&self, value: Value) -> u32 {
        let register = self.of[value.index()];
        debug_assert!(register != NONE, "{value} was given a register");
        register
    }
}

struct Liveness {
    live_in: Vec<Vec<Value>>,
    live_out: Vec<Vec<Value>>,
}

/// Gives registers to the values of a function. Parameters have the first ones, in order.
pub fn allocate(function: &Function, flow: &Flow, selection: &Selection<'_>) -> Registers {
    let blocks = definition_blocks(function);
    let live = liveness(function, flow, selection, &blocks);
    let mut colouring = Colouring {
        function,
        selection,
        registers: Registers { of: vec![NONE; function.values.len()], count: function.params.len() as u32 },
        busy: Vec::new(),
        phi_of: phi_affinity(function, flow, selection),
    };
    for (n, &param) in function.params.iter().enumerate() {
        colouring.registers.of[param.index()] = n as u32;
    }
    for &block in &flow.order {
        colouring.block(block, &live, block == function.entry());
    }
    colouring.registers
}

fn definition_blocks(function: &Function) -> Vec<Option<Block>> {
    let mut block_of = vec![None; function.values.len()];
    for (block, data) in function.blocks.iter() {
        for &inst in &data.insts {
            for &result in &function.insts[inst].results {
                block_of[result.index()] = Some(block);
            }
        }
    }
    for &param in &function.params {
        block_of[param.index()] = Some(function.entry());
    }
    block_of
}

fn liveness(function: &Function, flow: &Flow, selection: &Selection<'_>, defined_in: &[Option<Block>]) -> Liveness {
    let mut uses: Vec<(Value, Block, bool)> = Vec::new();
    for &block in &flow.order {
        for &inst in &function.blocks[block].insts {
            if !selection.needed[inst.index()] {
                continue;
            }
            if let InstKind::Phi { args, .. } = &function.insts[inst].kind {
                for &(from, arg) in args {
                    if let Root::Value(value) = selection.root(arg)
                        && flow.place[from.index()] != u32::MAX
                    {
                        uses.push((value, from, true));
                    }
                }
            } else {
                selection.uses(inst, &mut |value| uses.push((value, block, false)));
            }
        }
    }
    uses.sort_unstable_by_key(|&(value, block, at_end)| (value.index(), block.index(), at_end));
    uses.dedup();
    let count = function.blocks.len();
    let mut live = Liveness { live_in: vec![Vec::new(); count], live_out: vec![Vec::new(); count] };
    let mut work = Vec::new();
    for (value, block, at_end) in uses {
        if at_end {
            mark_out(&mut live, block, value);
        }
        work.push(block);
        while let Some(block) = work.pop() {
            if defined_in[value.index()] == Some(block) || live.live_in[block.index()].last() == Some(&value) {
                continue;
            }
            live.live_in[block.index()].push(value);
            for &pred in &flow.preds[block.index()] {
                mark_out(&mut live, pred, value);
                work.push(pred);
            }
        }
    }
    live
}

fn mark_out(live: &mut Liveness, block: Block, value: Value) {
    let out = &mut live.live_out[block.index()];
    if out.last() != Some(&value) {
        out.push(value);
    }
}

/// For each value that is an argument of a phi, one such phi.
fn phi_affinity(function: &Function, flow: &Flow, selection: &Selection<'_>) -> Vec<Option<Value>> {
    let mut phi_of = vec![None; function.values.len()];
    for &block in &flow.order {
        for &inst in &function.blocks[block].insts {
            let data = &function.insts[inst];
            let InstKind::Phi { args, .. } = &data.kind else { break };
            for &(_, arg) in args {
                if let (Root::Value(value), Some(&phi)) = (selection.root(arg), data.results.first()) {
                    phi_of[value.index()].get_or_insert(phi);
                }
            }
        }
    }
    phi_of
}

struct Colouring<'a> {
    function: &'a Function,
    selection: &'a Selection<'a>,
    registers: Registers,
    /// Bit set of the registers that are taken at the present place.
    busy: Vec<u64>,
    phi_of: Vec<Option<Value>>,
}

impl Colouring<'_> {
    fn block(&mut self, block: Block, live: &Liveness, is_entry: bool) {
        self.busy.iter_mut().for_each(|word| *word = 0);
        for &value in &live.live_in[block.index()] {
            self.take(self.registers.of[value.index()]);
        }
        let insts = &self.function.blocks[block].insts;
        let dying = self.last_uses(insts, &live.live_out[block.index()]);
        if is_entry {
            // A parameter that nobody uses, or only later, must survive until its last use in this block.
            for n in 0..self.function.params.len() {
                self.take(n as u32);
            }
            let unused = |value: &&Value| self.selection.use_count[value.index()] == 0;
            let free: Vec<u32> =
                self.function.params.iter().filter(unused).map(|v| self.registers.of[v.index()]).collect();
            free.into_iter().for_each(|register| self.free(register));
        }
        for (&inst, dying) in insts.iter().zip(dying) {
            if !self.selection.needed[inst.index()] {
                continue;
            }
            dying.iter().for_each(|value| self.free(self.registers.of[value.index()]));
            self.define(inst);
        }
    }

    /// Per instruction, the values that nobody uses behind it.
    fn last_uses(&self, insts: &[Inst], live_out: &[Value]) -> Vec<Vec<Value>> {
        let mut seen: rustc_hash::FxHashSet<Value> = live_out.iter().copied().collect();
        let mut dying = vec![Vec::new(); insts.len()];
        for (n, &inst) in insts.iter().enumerate().rev() {
            let is_phi = matches!(self.function.insts[inst].kind, InstKind::Phi { .. });
            if !self.selection.needed[inst.index()] || is_phi {
                continue;
            }
            let list = &mut dying[n];
            self.selection.uses(inst, &mut |value| {
                if seen.insert(value) {
                    list.push(value);
                }
            });
        }
        dying
    }

    fn define(&mut self, inst: Inst) {
        let data = &self.function.insts[inst];
        let chosen: Vec<u32> = data
            .results
            .iter()
            .map(|&value| {
                let register = self.choose(value);
                self.registers.of[value.index()] = register;
                self.take(register);
                register
            })
            .collect();
        for (&value, register) in data.results.iter().zip(chosen) {
            if self.selection.use_count[value.index()] == 0 {
                self.free(register);
            }
        }
    }

    fn choose(&self, value: Value) -> u32 {
        if let ValueDef::Result(inst, _) = self.function.values[value].def
            && let InstKind::Phi { args, .. } = &self.function.insts[inst].kind
        {
            for &(_, arg) in args {
                if let Root::Value(arg) = self.selection.root(arg)
                    && let Some(register) = self.if_free(arg)
                {
                    return register;
                }
            }
        }
        if let Some(phi) = self.phi_of[value.index()]
            && let Some(register) = self.if_free(phi)
        {
            return register;
        }
        self.lowest_free()
    }

    fn if_free(&self, value: Value) -> Option<u32> {
        let register = self.registers.of[value.index()];
        (register != NONE && !self.is_busy(register)).then_some(register)
    }

    fn lowest_free(&self) -> u32 {
        let word = self.busy.iter().position(|&word| word != u64::MAX).unwrap_or(self.busy.len());
        let bits = self.busy.get(word).copied().unwrap_or(0);
        word as u32 * 64 + bits.trailing_ones()
    }

    fn is_busy(&self, register: u32) -> bool {
        self.busy.get(register as usize / 64).is_some_and(|word| word >> (register % 64) & 1 == 1)
    }

    fn take(&mut self, register: u32) {
        let word = register as usize / 64;
        if self.busy.len() <= word {
            self.busy.resize(word + 1, 0);
        }
        self.busy[word] |= 1 << (register % 64);
        self.registers.count = self.registers.count.max(register + 1);
    }

    fn free(&mut self, register: u32) {
        if register != NONE
            && let Some(word) = self.busy.get_mut(register as usize / 64)
        {
            *word &= !(1 << (register % 64));
        }
    }
}
