//! Random programs, and smaller ones.

use super::lang::{COUNTERS, DOWN, Deed, EXIT, Program, Stmt, Who};

/// A small generator of pseudo-random numbers (xorshift64*).
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Rng {
        Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % n
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// What kind of statements a program has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flavour {
    /// Sends, selective receives, timeouts, choices.
    Messages,
    /// Also links, monitors, exits, signals.
    Signals,
    /// Also names, timers, queries, shared counters, aliases.
    Everything,
    /// Sends, receives and shared counters.
    Shared,
}

/// A random program.
pub fn program(rng: &mut Rng, flavour: Flavour) -> Program {
    let processes = 2 + rng.below(3);
    let longest = if matches!(flavour, Flavour::Messages | Flavour::Shared) { 4 } else { 3 };
    let mut bodies: Vec<Vec<Stmt>> = (0..processes)
        .map(|_| (0..1 + rng.below(longest)).map(|_| statement(rng, flavour, processes, 0)).collect())
        .collect();
    if !matches!(flavour, Flavour::Messages | Flavour::Shared) && rng.one_in(3) {
        bodies[0].insert(0, Stmt::Trap(true));
    }
    Program { bodies }
}

fn who(rng: &mut Rng, processes: u64) -> Who {
    if rng.one_in(8) { Who::Child } else { Who::Nth(rng.below(processes) as u8) }
}

fn mask(rng: &mut Rng) -> u8 {
    match rng.below(5) {
        0 => u8::MAX,
        1 => 1 << rng.below(3),
        2 => EXIT | DOWN,
        3 => DOWN | 1 << rng.below(3),
        _ => 3,
    }
}

fn statement(rng: &mut Rng, flavour: Flavour, processes: u64, depth: u32) -> Stmt {
    let target = who(rng, processes);
    let tag = rng.below(3) as u8;
    let body = |rng: &mut Rng| {
        (0..1 + rng.below(2)).map(|_| statement(rng, flavour, processes, depth + 1)).collect::<Vec<_>>()
    };
    let kinds = match flavour {
        Flavour::Messages => 10,
        Flavour::Signals => 20,
        Flavour::Everything => 32,
        Flavour::Shared => 24,
    };
    let kind = match rng.below(kinds) {
        10.. if flavour == Flavour::Shared => 29,
        kind => kind,
    };
    match kind {
        0..=3 => Stmt::Send(if rng.one_in(2) { Who::Nth(0) } else { target }, tag),
        4..=6 => Stmt::Receive(mask(rng), rng.one_in(3)),
        7 if depth < 2 => Stmt::If(mask(rng), body(rng)),
        8 if depth < 1 => {
            let monitor = !matches!(flavour, Flavour::Messages | Flavour::Shared) && rng.one_in(2);
            let link = !matches!(flavour, Flavour::Messages | Flavour::Shared) && rng.one_in(2);
            Stmt::Spawn { link, monitor, body: body(rng) }
        }
        9 => Stmt::Choose(2),
        10 => Stmt::Exit(rng.below(4) as u8),
        11 | 12 => Stmt::Link(target),
        13 => Stmt::Unlink(target),
        14 | 15 => Stmt::Monitor(target),
        16 => Stmt::Demonitor { flush: rng.one_in(2), info: rng.one_in(2) },
        17 => Stmt::Trap(rng.one_in(2)),
        18 | 19 => Stmt::Signal(target, rng.below(4) as u8),
        20 | 21 => Stmt::Register(tag % 2, target),
        22 => Stmt::Unregister(tag % 2),
        23 => {
            if rng.one_in(2) {
                Stmt::Whereis(tag % 2)
            } else {
                Stmt::MonitorName(tag % 2)
            }
        }
        24 => Stmt::SendName(tag % 2, tag),
        25 => Stmt::Timer(target, tag),
        26 => Stmt::CancelTimer,
        27 => Stmt::QueueLength(target),
        28 => Stmt::Alive(target),
        29 => Stmt::Shared(rng.below(COUNTERS as u64) as u8, deed(rng)),
        30 => {
            if rng.one_in(3) {
                Stmt::Unalias
            } else {
                Stmt::Alias(rng.one_in(2))
            }
        }
        31 => Stmt::SendAlias(target, tag),
        _ => Stmt::Send(target, tag),
    }
}

fn deed(rng: &mut Rng) -> Deed {
    match rng.below(12) {
        0..=4 => Deed::Store(rng.below(4) as u8),
        5..=7 => Deed::Read,
        8 => Deed::Add,
        9 => Deed::Fetch,
        10 => Deed::StoreNew(1 + rng.below(3) as u8),
        _ if rng.one_in(2) => Deed::Reset,
        _ => Deed::ReadAll,
    }
}

/// All programs that are a bit smaller.
fn smaller(program: &Program) -> Vec<Program> {
    let mut all = Vec::new();
    for n in 0..program.bodies.len() {
        if n > 0 && n + 1 == program.bodies.len() {
            let mut less = program.clone();
            less.bodies.pop();
            all.push(less);
        }
        for body in shorter(&program.bodies[n]) {
            let mut less = program.clone();
            less.bodies[n] = body;
            all.push(less);
        }
    }
    all
}

fn shorter(body: &[Stmt]) -> Vec<Vec<Stmt>> {
    let mut all = Vec::new();
    for at in 0..body.len() {
        let mut less = body.to_vec();
        let removed = less.remove(at);
        all.push(less.clone());
        match removed {
            Stmt::If(mask, inner) => {
                let mut flat = less.clone();
                flat.splice(at..at, inner.iter().cloned());
                all.push(flat);
                for inner in shorter(&inner) {
                    let mut less = less.clone();
                    less.insert(at, Stmt::If(mask, inner));
                    all.push(less);
                }
            }
            Stmt::Spawn { link, monitor, body: inner } => {
                for inner in shorter(&inner) {
                    let mut less = less.clone();
                    less.insert(at, Stmt::Spawn { link, monitor, body: inner });
                    all.push(less);
                }
            }
            Stmt::Receive(mask, true) => {
                less.insert(at, Stmt::Receive(mask, false));
                all.push(less);
            }
            _ => {}
        }
    }
    all
}

/// A small program that still fails.
pub fn shrink(program: Program, fails: &dyn Fn(&Program) -> bool) -> Program {
    let mut program = program;
    while let Some(less) = smaller(&program).into_iter().find(|less| fails(less)) {
        program = less;
    }
    program
}
