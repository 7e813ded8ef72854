//! Dominators against their definition: `a` dominates `b` if `b` cannot be reached without passing `a`.

use selvedge_ir::{Block, Cfg, Dominators, EntityRef, Function, InstKind, Module, Operand};

/// A small generator of numbers (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit
    }
}

/// A function with random jumps; the entry has no predecessors.
fn graph(random: &mut Random, blocks: usize) -> Function {
    let loc = Module::new("").no_loc();
    let mut func = Function::new("f", loc);
    for _ in 0..blocks {
        func.add_block("");
    }
    for block in func.blocks.keys() {
        let mut target = || Block::new(1 + random.below(blocks - 1));
        let (a, b, c) = (target(), target(), target());
        let kind = match random.below(5) {
            0 => InstKind::Ret { values: Vec::new() },
            1 => InstKind::Br { dest: a },
            2 => InstKind::Switch {
                ty: selvedge_ir::Type::I32,
                value: Operand::Undef,
                cases: vec![(1, a), (2, b)],
                default: c,
            },
            _ => InstKind::CondBr { cond: Operand::Undef, then_dest: a, else_dest: b },
        };
        func.append(block, kind, &[], loc);
    }
    func
}

/// The blocks that can be reached from the entry without passing `avoided`.
fn reachable(func: &Function, avoided: Option<Block>) -> Vec<bool> {
    let mut seen = vec![false; func.blocks.len()];
    let mut work = vec![func.entry()];
    while let Some(block) = work.pop() {
        if Some(block) != avoided && !std::mem::replace(&mut seen[block.index()], true) {
            work.extend(func.successors(block));
        }
    }
    seen
}

#[test]
fn dominators_agree_with_their_definition() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..300 {
        let blocks = 2 + random.below(12);
        let func = graph(&mut random, blocks);
        let cfg = Cfg::new(&func);
        let dominators = Dominators::new(&cfg);
        let all = reachable(&func, None);
        for a in func.blocks.keys() {
            assert_eq!(cfg.is_reachable(a), all[a.index()]);
            let without = reachable(&func, Some(a));
            for b in func.blocks.keys() {
                let expected = all[a.index()] && all[b.index()] && !without[b.index()];
                assert_eq!(dominators.dominates(a, b), expected, "{a} {b} {:?}", func.blocks);
            }
            // The immediate dominator is dominated by all other strict dominators.
            if let Some(immediate) = dominators.immediate(a) {
                let mut strict = func.blocks.keys().filter(|&d| dominators.strictly_dominates(d, a));
                assert!(strict.all(|d| dominators.dominates(d, immediate)));
            }
        }
    }
}

#[test]
fn reverse_post_order_lists_each_reachable_block_behind_its_dominators() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    for _ in 0..300 {
        let func = graph(&mut random, 10);
        let cfg = Cfg::new(&func);
        let dominators = Dominators::new(&cfg);
        let order = cfg.reverse_post_order();
        let reached = func.blocks.keys().filter(|&block| cfg.is_reachable(block)).count();
        assert_eq!(order.len(), reached);
        for (n, &block) in order.iter().enumerate() {
            assert_eq!(cfg.position(block), Some(n as u32));
            assert!(order[n + 1..].iter().all(|&later| !dominators.dominates(later, block)));
        }
    }
}
