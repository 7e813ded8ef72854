//! Where the expected value of a compare-and-exchange comes from: a load of the same location.

use super::pattern::Attempt;
use super::{Declined, Scene};
use crate::purity::facts::Facts;
use crate::purity::guards::{comparison, original};
use crate::rewrite;
use selvedge_ir::{Block, CmpOp, EntityVec, Function, Inst, InstKind, Operand, Order, Type, Value, ValueDef};

/// How far addresses are compared.
const MAX_DEPTH: usize = 6;

/// The load behind an expected value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// A load that every attempt makes.
    Fresh(Inst),
    /// A value that is carried round: at first what was loaded in front of the loop, then what a failed exchange, or a
    /// second load at the end of the attempt, has read.
    Carried {
        /// The phi of the header.
        phi: Inst,
        /// The load in front of the loop.
        first: Inst,
        /// The second load, if it is not the exchange that reads.
        again: Option<Inst>,
    },
}

impl Source {
    /// The load, or the first of two.
    pub fn load(self) -> Inst {
        match self {
            Source::Fresh(load) | Source::Carried { first: load, .. } => load,
        }
    }
}

/// The load that a compare-and-exchange of a loop confirms; none if it confirms nothing.
pub fn find(scene: &Scene<'_>, block: Block, exchange: Inst) -> Option<Source> {
    let func = scene.context.func;
    let InstKind::Cas { ty, addr, expected, .. } = func.insts[exchange].kind else { return None };
    let expected = original(func, expected);
    if let Operand::Value(value) = expected
        && let ValueDef::Result(inst, 0) = func.values[value].def
    {
        if is_load_of(func, inst, addr, ty) && comes_before(scene, inst, (block, exchange)) {
            return Some(Source::Fresh(inst));
        }
        if let Some(source) = carried(scene, inst, exchange, (addr, ty)) {
            return Some(source);
        }
    }
    known_equal(scene, (block, exchange), (addr, ty), expected).map(Source::Fresh)
}

/// Whether an instruction loads as many bytes as a type has from an address.
fn is_load_of(func: &Function, inst: Inst, addr: Operand, ty: Type) -> bool {
    match func.insts[inst].kind {
        InstKind::Load { addr: own, ty: own_type, .. } => {
            own_type.bits() == ty.bits() && same_address(func, own, addr, MAX_DEPTH)
        }
        _ => false,
    }
}

/// Whether two operands are computed in the same way from the same values. At a place that both dominate they are equal.
fn same_address(func: &Function, a: Operand, b: Operand, depth: usize) -> bool {
    let (a, b) = (original(func, a), original(func, b));
    if a == b {
        return true;
    }
    let (Operand::Value(x), Operand::Value(y)) = (a, b) else { return false };
    let (ValueDef::Result(x, _), ValueDef::Result(y, _)) = (func.values[x].def, func.values[y].def) else {
        return false;
    };
    match (&func.insts[x].kind, &func.insts[y].kind) {
        (
            InstKind::PtrAdd { base: p, index: i, scale: s, offset: m },
            InstKind::PtrAdd { base: q, index: j, scale: t, offset: n },
        ) => {
            let same = |a, b| depth > 0 && same_address(func, a, b, depth - 1);
            (s, m) == (t, n) && same(*p, *q) && same(*i, *j)
        }
        _ => false,
    }
}

/// Whether an instruction of the loop is executed in every attempt in front of another one.
fn comes_before(scene: &Scene<'_>, inst: Inst, (block, other): (Block, Inst)) -> bool {
    let func = scene.context.func;
    let place = |block: Block, inst: Inst| func.blocks[block].insts.iter().position(|&own| own == inst);
    let home = scene.context.this.blocks.iter().copied().find(|&home| place(home, inst).is_some());
    match home {
        Some(home) if home == block => place(home, inst) < place(block, other),
        Some(home) => scene.dominators.dominates(home, block),
        None => false,
    }
}

/// The expected value as a phi of the header whose arguments are loads of the location, or what the exchange has read.
fn carried(scene: &Scene<'_>, phi: Inst, exchange: Inst, (addr, ty): (Operand, Type)) -> Option<Source> {
    let func = scene.context.func;
    let this = scene.context.this;
    let InstKind::Phi { args, .. } = &func.insts[phi].kind else { return None };
    let ([_], true) = (this.latches.as_slice(), func.blocks[this.header].insts.contains(&phi)) else { return None };
    let [(from, a), (_, b)] = args.as_slice() else { return None };
    let (start, round) = if this.contains(*from) { (*b, *a) } else { (*a, *b) };
    let load = |operand: Operand| match original(func, operand) {
        Operand::Value(value) => match func.values[value].def {
            ValueDef::Result(inst, 0) if is_load_of(func, inst, addr, ty) => Some(inst),
            _ => None,
        },
        _ => None,
    };
    let first = load(start)?;
    let again = load(round);
    let exchanged = original(func, round) == Operand::Value(func.result(exchange));
    (exchanged || again.is_some()).then_some(Source::Carried { phi, first, again })
}

/// A load whose value is known to be the expected one where the exchange is: a list's last pointer is null.
fn known_equal(
    scene: &Scene<'_>,
    (block, exchange): (Block, Inst),
    (addr, ty): (Operand, Type),
    expected: Operand,
) -> Option<Inst> {
    let func = scene.context.func;
    let at = func.blocks[block].insts.iter().position(|&inst| inst == exchange)?;
    let facts = Facts::at(func, scene.context.cfg, scene.dominators, block, at);
    let loads = scene.context.this.blocks.iter().flat_map(|&block| func.blocks[block].insts.iter().copied());
    let mut loads =
        loads.filter(|&inst| is_load_of(func, inst, addr, ty) && comes_before(scene, inst, (block, exchange)));
    loads.find(|&load| {
        let InstKind::Load { ty, .. } = func.insts[load].kind else { return false };
        let equal = comparison(func, CmpOp::Eq, ty, Operand::Value(func.result(load)), expected).ok();
        let atoms = equal.as_ref().and_then(|equal| equal.single()).map(|all| all.atoms.as_slice());
        matches!(atoms, Some([atom]) if facts.known.implies(atom))
    })
}

/// Whether the load in front of the loop may as well be made at the start of each attempt.
pub fn may_move_in(scene: &Scene<'_>, source: Source, attempt: &Attempt) -> Result<(), Declined> {
    let func = scene.context.func;
    let Source::Carried { phi, first, again } = source else { return Ok(()) };
    let InstKind::Load { order, ty, addr, .. } = func.insts[first].kind else {
        unreachable!("the source is a load");
    };
    let loc = func.insts[first].loc;
    let declined = |why: &str| Err(Declined { why: why.to_owned(), loc });
    let uses = rewrite::uses(func);
    if is_used_otherwise(func, &uses, func.result(first), phi) {
        return declined("what is read in front of the loop is used elsewhere");
    }
    if is_in_loop(scene, addr) {
        return declined("the address is computed in the loop");
    }
    match again.map_or(&func.insts[attempt.exchange].kind, |again| &func.insts[again].kind) {
        InstKind::Load { order: other, ty: own, .. } if (*other, *own) != (order, ty) => {
            return declined("it is read in two ways");
        }
        InstKind::Cas { failure, .. } if strength(order) > strength(*failure) => {
            return declined("the load in front of the loop is ordered more strongly than a failed exchange");
        }
        _ => {}
    }
    if let Some(again) = again {
        if !attempt.back.iter().any(|&block| func.blocks[block].insts.contains(&again)) {
            return declined("it is read again before it is exchanged");
        }
        if is_used_otherwise(func, &uses, func.result(again), phi) {
            return declined("what is read at the end of an attempt is used elsewhere");
        }
    }
    match leads_straight_in(scene, first) {
        true => Ok(()),
        false => declined("something happens between the load and the loop"),
    }
}

fn strength(order: Order) -> u8 {
    match order {
        Order::Plain => 0,
        Order::Relaxed => 1,
        Order::Acquire | Order::Release => 2,
        Order::AcqRel => 3,
        Order::SeqCst => 4,
    }
}

/// Whether a value has a use that is neither a phi nor a conversion that only that phi uses.
fn is_used_otherwise(func: &Function, uses: &EntityVec<Value, Vec<Inst>>, value: Value, phi: Inst) -> bool {
    uses[value].iter().any(|&user| match func.insts[user].kind {
        _ if user == phi => false,
        InstKind::Cast { .. } => is_used_otherwise(func, uses, func.result(user), phi),
        _ => true,
    })
}

fn is_in_loop(scene: &Scene<'_>, operand: Operand) -> bool {
    let func = scene.context.func;
    let Operand::Value(value) = operand else { return false };
    let ValueDef::Result(inst, _) = func.values[value].def else { return false };
    scene.context.this.blocks.iter().any(|&block| func.blocks[block].insts.contains(&inst))
}

/// Whether control goes from an instruction to the loop's header by jumps only, with nothing but computations on the way.
fn leads_straight_in(scene: &Scene<'_>, inst: Inst) -> bool {
    let func = scene.context.func;
    let Some((mut block, _)) = func.placed_insts().find(|&(_, other)| other == inst) else { return false };
    let at = func.blocks[block].insts.iter().position(|&other| other == inst).expect("it stands in this block");
    let mut rest = &func.blocks[block].insts[at + 1..];
    for _ in 0..MAX_DEPTH {
        let Some((&last, others)) = rest.split_last() else { return false };
        if !others.iter().all(|&inst| func.insts[inst].kind.is_pure()) {
            return false;
        }
        let InstKind::Br { dest } = func.insts[last].kind else { return false };
        if dest == scene.context.this.header {
            return true;
        }
        block = dest;
        rest = &func.blocks[block].insts;
    }
    false
}
