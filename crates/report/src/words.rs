//! One step of an execution in words.
//!
//! | step | words |
//! |---|---|
//! | store | `x = 1` |
//! | load | `read x (0)` |
//! | read-modify-write | `x += 1 (0 -> 1)`, `exchange x: 0 -> 1` |
//! | compare-and-exchange | `CAS head: 0 -> 3 ok`, `CAS head: 0 -> 3 failed, found 2` |
//! | locks and their kin | the library function without its prefix: `lock m`, `trylock m`, `sem_wait s (1 -> 0)` |
//! | threads | `create worker#2`, `join worker#2` |
//! | condition variables | `wait on c`, `woken on c`, `signal c (wakes nobody)` |
//!
//! Where memory orders may be to blame, atomic accesses have them: `x = 1 [relaxed]`.
//!
//! An access is named as the source names it; where debug information does not say, by its address.

use selvedge_ir::{CmpOp, Order, RmwOp};
use selvedge_machine::schedule::{EventRecord, Replay};
use selvedge_machine::{Access, AccessKind, Addr, Cond, Done, Op, Purpose, Site, ThreadId, Violation, ViolationKind};
use std::collections::HashMap;

/// The names of an execution's threads and of the addresses that it touches.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Whether memory orders have a word: they have if no interleaving explains the execution.
    orders: bool,
    threads: HashMap<ThreadId, String>,
    objects: HashMap<Addr, String>,
}

impl Names {
    /// Gathers all names that a replay knows.
    pub fn of(replay: &Replay) -> Names {
        let threads = replay.threads.iter().map(|end| (end.thread, end.name.clone())).collect();
        let mut objects = HashMap::new();
        let waiting = replay.threads.iter().filter_map(|end| end.waiting.as_ref());
        for (op, site) in replay.events.iter().map(|e| (&e.op, &e.site)).chain(waiting.map(|(op, site)| (op, site))) {
            if let Some(addr) = address(op)
                && !site.object.is_empty()
            {
                objects.entry(addr).or_insert_with(|| site.object.clone());
            }
        }
        Names { orders: replay.weak, threads, objects }
    }

    /// A thread's name for people.
    pub fn thread(&self, thread: ThreadId) -> String {
        self.threads.get(&thread).cloned().unwrap_or_else(|| thread.to_string())
    }

    /// What an address is called, where a site does not say.
    pub fn object(&self, addr: Addr) -> String {
        self.objects.get(&addr).cloned().unwrap_or_else(|| addr.to_string())
    }

    /// Gathers all names, for the execution that shows a violation. Memory orders have a word in it if they may be to
    /// blame: what is not ordered has raced.
    pub fn for_violation(replay: &Replay, violation: &Violation) -> Names {
        let names = Names::of(replay);
        let is_weak = |order: Order| order.is_atomic() && order != Order::SeqCst;
        let weak = |e: &EventRecord| matches!(e.op, Op::Access(access) if is_weak(access.order));
        let races = matches!(violation.kind, ViolationKind::DataRace | ViolationKind::UseAfterFree);
        if races && replay.events.iter().any(weak) { names.with_orders() } else { names }
    }

    /// The same, with memory orders.
    pub fn with_orders(self) -> Names {
        Names { orders: true, ..self }
    }

    fn object_at(&self, addr: Addr, site: &Site) -> String {
        if site.object.is_empty() { self.object(addr) } else { site.object.clone() }
    }
}

/// The address that an Op is about, if any.
pub fn address(op: &Op) -> Option<Addr> {
    match *op {
        Op::Access(access) => Some(access.addr),
        Op::CondWait { cond } | Op::CondWake { cond, .. } | Op::CondSignal { cond } | Op::CondBroadcast { cond } => {
            Some(cond)
        }
        Op::Free { addr, .. } => Some(addr),
        _ => None,
    }
}

/// A step in words: one line, and one more for each access of an atomic section.
pub fn describe(event: &EventRecord, names: &Names) -> Vec<String> {
    let mut lines = vec![describe_op(event, names)];
    for (access, done) in &event.section {
        let site = Site { signed: true, ..Site::default() };
        lines.push(format!("  {}", describe_data(access, *done, &site, &names.object(access.addr))));
    }
    lines
}

/// A step that could not be made, in words: there are no values to show.
pub fn describe_failed(event: &EventRecord, names: &Names) -> Vec<String> {
    match &event.op {
        Op::Access(access) if access.purpose == Purpose::Data => {
            let act = if matches!(access.kind, AccessKind::Load) { "read" } else { "write" };
            vec![format!("{act} {}", names.object_at(access.addr, &event.site))]
        }
        _ => describe(event, names),
    }
}

fn describe_op(event: &EventRecord, names: &Names) -> String {
    let (done, site) = (event.done, &event.site);
    match &event.op {
        Op::Access(access) if access.purpose == Purpose::Data => {
            let mut text = describe_data(access, done, site, &names.object_at(access.addr, site));
            if names.orders && access.order.is_atomic() {
                text = format!("{text} [{}]", order(access, done));
            }
            if site.call.is_empty() { text } else { format!("{text} [{}]", site.call) }
        }
        Op::Access(access) => describe_sync(access, done, site, &names.object_at(access.addr, site)),
        Op::Fence { order } => format!("fence ({order})"),
        Op::Spawn { child } => format!("create {}", names.thread(*child)),
        Op::Join { thread } => format!("join {}", names.thread(*thread)),
        Op::CondWait { cond } => format!("wait on {}", names.object_at(*cond, site)),
        Op::CondWake { cond, .. } if done.old == 0 => {
            format!("wake on {} without signal", names.object_at(*cond, site))
        }
        Op::CondWake { cond, .. } => format!("woken on {}", names.object_at(*cond, site)),
        Op::CondSignal { cond } => format!("signal {} ({})", names.object_at(*cond, site), woken(done.old)),
        Op::CondBroadcast { cond } => format!("broadcast {} ({})", names.object_at(*cond, site), woken(done.old)),
        Op::Choose { alternatives } if site.call.is_empty() => format!("choose {} of {alternatives}", done.old),
        Op::Choose { alternatives } => format!("{}: choice {} of {alternatives}", site.call, done.old),
        Op::Free { addr, .. } => format!("free {}", names.object_at(*addr, site)),
        Op::AtomicBegin => "atomic section".to_owned(),
        Op::AtomicEnd => "end of atomic section".to_owned(),
    }
}

/// The memory order of an access in the words of C: that of failure, if it is a compare-and-exchange that failed.
pub fn order(access: &Access, done: Done) -> &'static str {
    let order = match access.kind {
        AccessKind::Cas { failure, .. } if done.new.is_none() => failure,
        _ => access.order,
    };
    match order {
        Order::Plain => "plain",
        Order::Relaxed => "relaxed",
        Order::Acquire => "acquire",
        Order::Release => "release",
        Order::AcqRel => "acq_rel",
        Order::SeqCst => "seq_cst",
    }
}

fn woken(count: u64) -> String {
    if count == 0 { "wakes nobody".to_owned() } else { format!("wakes {count}") }
}

/// An access of the program itself, or of a library function on the program's data.
fn describe_data(access: &Access, done: Done, site: &Site, object: &str) -> String {
    let show = |v: u64| value(v, access.size, site);
    match access.kind {
        AccessKind::Load if access.until.is_some() => format!("await {object} ({})", show(done.old)),
        AccessKind::Load => format!("read {object} ({})", show(done.old)),
        AccessKind::Store { value } => format!("{object} = {}", show(value)),
        AccessKind::Rmw { op, operand, .. } => describe_rmw(op, &show(operand), &change(done, &show), object),
        AccessKind::Cas { expected, new, .. } => {
            let (from, to) = (show(expected), show(new));
            match done.new {
                Some(_) => format!("CAS {object}: {from} -> {to} ok"),
                None => format!("CAS {object}: {from} -> {to} failed, found {}", show(done.old)),
            }
        }
    }
}

fn describe_rmw(op: RmwOp, operand: &str, change: &str, object: &str) -> String {
    let sign = match op {
        RmwOp::Xchg => return format!("exchange {object}: {change}"),
        RmwOp::Add | RmwOp::FAdd => "+=",
        RmwOp::Sub | RmwOp::FSub => "-=",
        RmwOp::And => "&=",
        RmwOp::Or => "|=",
        RmwOp::Xor => "^=",
        other => return format!("{} {object}, {operand} ({change})", other.name()),
    };
    format!("{object} {sign} {operand} ({change})")
}

fn change(done: Done, show: &impl Fn(u64) -> String) -> String {
    match done.new {
        Some(new) => format!("{} -> {}", show(done.old), show(new)),
        None => show(done.old),
    }
}

/// A step of a lock, semaphore, barrier or the like. The representation of a lock is of no interest to anybody; that of
/// a semaphore is its count.
fn describe_sync(access: &Access, done: Done, site: &Site, object: &str) -> String {
    let word = sync_word(access.purpose, &site.call);
    let is_counter = word.starts_with("sem_") || word.starts_with("barrier");
    let tried = word.contains("try") || word.contains("timed") || word.contains("clock");
    let failed = done.new.is_none() && access.until.is_none();
    match (is_counter, tried) {
        (true, _) => format!("{word} {object} ({})", change(done, &|v| v.to_string())),
        (false, true) => format!("{word} {object} ({})", if failed { "not acquired" } else { "acquired" }),
        (false, false) => format!("{word} {object}"),
    }
}

/// The word for a step of synchronisation: the library function without its prefix, or what the step serves where the
/// function does several things (waiting on a condition variable releases a mutex and acquires it again).
pub fn sync_word(purpose: Purpose, call: &str) -> &str {
    let short = ["pthread_mutex_", "pthread_rwlock_", "pthread_spin_", "pthread_", "mtx_"]
        .iter()
        .find_map(|prefix| call.strip_prefix(prefix))
        .unwrap_or(call);
    let serves_another = call.is_empty() || call.contains("cond_") || call.contains("cnd_");
    match purpose {
        Purpose::Lock if serves_another => "lock",
        Purpose::Unlock if serves_another => "unlock",
        _ if short.is_empty() => "synchronise on",
        _ => short,
    }
}

/// What a thread that does not go on waits for.
pub fn describe_wait(op: &Op, site: &Site, names: &Names) -> String {
    match op {
        Op::Access(access) if access.purpose == Purpose::Data => {
            let object = names.object_at(access.addr, site);
            match access.until {
                Some(until) => format!("until {}", condition(&object, until, access.size, site)),
                None => format!("to access {object}"),
            }
        }
        Op::Access(access) => {
            format!("in {} {}", sync_word(access.purpose, &site.call), names.object_at(access.addr, site))
        }
        Op::Join { thread } => format!("to join {}", names.thread(*thread)),
        Op::CondWake { cond, .. } => format!("for a signal on {}", names.object_at(*cond, site)),
        _ => "for its turn".to_owned(),
    }
}

fn condition(object: &str, until: Cond, size: u8, site: &Site) -> String {
    let sign = match until.op {
        CmpOp::Eq => "==",
        CmpOp::Ne => "!=",
        CmpOp::Ult | CmpOp::Slt => "<",
        CmpOp::Ule | CmpOp::Sle => "<=",
        CmpOp::Ugt | CmpOp::Sgt => ">",
        CmpOp::Uge | CmpOp::Sge => ">=",
        other => other.name(),
    };
    format!("{object} {sign} {}", value(until.operand, size, site))
}

/// A value as the program's author would write it.
pub fn value(value: u64, size: u8, site: &Site) -> String {
    let value = selvedge_machine::truncate(value, size);
    if site.pointer {
        return if value == 0 { "null".to_owned() } else { format!("{value:#x}") };
    }
    let shift = 64 - 8 * u32::from(size.clamp(1, 8));
    let signed = ((value << shift) as i64) >> shift;
    // A number this large is an address, a hash or a mask far more often than a quantity.
    let is_large = if site.signed { signed.unsigned_abs() >= 1 << 40 } else { value >= 1 << 40 };
    match (is_large, site.signed) {
        (true, _) => format!("{value:#x}"),
        (false, true) => signed.to_string(),
        (false, false) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_shown_with_the_sign_of_their_type() {
        let signed = Site { signed: true, ..Site::default() };
        assert_eq!(value(0xffff_ffff, 4, &signed), "-1");
        assert_eq!(value(0xffff_ffff, 4, &Site::default()), "4294967295");
        assert_eq!(value(0x1_0000_00ff, 1, &Site::default()), "255", "bytes beyond the size do not count");
    }

    #[test]
    fn pointers_are_hexadecimal_and_zero_is_null() {
        let pointer = Site { pointer: true, ..Site::default() };
        assert_eq!(value(0, 8, &pointer), "null");
        assert_eq!(value(0x40_1000, 8, &pointer), "0x401000");
    }

    #[test]
    fn a_wait_on_a_condition_variable_speaks_of_its_mutex_as_locked_and_unlocked() {
        assert_eq!(sync_word(Purpose::Unlock, "pthread_cond_wait"), "unlock");
        assert_eq!(sync_word(Purpose::Lock, "pthread_mutex_trylock"), "trylock");
        assert_eq!(sync_word(Purpose::Lock, "sem_wait"), "sem_wait");
        assert_eq!(sync_word(Purpose::Sync, "pthread_barrier_wait"), "barrier_wait");
    }
}
