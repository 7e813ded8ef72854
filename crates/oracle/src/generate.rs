//! Random small programs.
//!
//! A program is made of *phrases*: a load, a critical section, a wait on a condition variable, a spin loop. Which phrases
//! may occur is what a [`Profile`] says; each profile puts one kind of synchronisation under test, and the last one mixes
//! them all. Most phrases are well-formed code as people write it, and a few are not (an unlock without a lock, a lost
//! wake-up), since engines have to cope with these too.
//!
//! Sizes are small: what matters is that all interleavings (or all classes of them) can be enumerated, so a program is
//! thrown away if they are too many ([`Size`]). A seed gives the same program for ever on every machine; failing seeds are
//! worth keeping.

use crate::classes::enumerate_classes;
use crate::enumerate::{Enumeration, enumerate};
use crate::litmus::{Expr, Inst, Place, Program, REGISTERS, Reg, Test, Thread, Until, Var, VarId};
use crate::machine::LitmusMachine;
use selvedge_ir::{CmpOp, EntityRef, Order, RmwOp, Speculation};
use selvedge_machine::ThreadId;

/// A source of random numbers (splitmix64: Steele, Lea, Flood, OOPSLA 2014).
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// A source that depends on the seed only.
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`, which is not zero.
    pub fn below(&mut self, n: usize) -> usize {
        (self.number() % n as u64) as usize
    }

    /// True in so many of a hundred cases.
    pub fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    /// One of several.
    pub fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }
}

/// What a phrase is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phrase {
    /// A load.
    Load,
    /// A store.
    Store,
    /// A read-modify-write.
    Rmw,
    /// A read-modify-write whose old value is not used.
    Sum,
    /// A compare-and-exchange.
    Cas,
    /// A speculative load, perhaps another load, and the compare-and-exchange that confirms it or waits forever.
    Confirm,
    /// A critical section.
    Critical,
    /// An access that waits.
    Await,
    /// An assumption or an assertion about something just read.
    Test,
    /// A wait on a condition variable.
    CondWait,
    /// A signal or a broadcast.
    Signal,
    /// A nondeterministic choice.
    Choose,
    /// A fence.
    Fence,
    /// The end of a variable's life.
    Free,
    /// An atomic section.
    Section,
    /// Something that happens only if a register has some value.
    Branch,
    /// A loop that reads until it sees something.
    Spin,
    /// The end of the thread or of the process.
    End,
}

/// Which programs are made.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    /// Its name on the command line.
    pub name: &'static str,
    /// The phrases; one that occurs twice is twice as likely.
    pub phrases: &'static [Phrase],
    /// Whether threads create each other in any order, rather than main all of them at the start.
    pub trees: bool,
    /// Whether accesses of different sizes overlap.
    pub sizes: bool,
    /// Accesses are plain in so many of a hundred cases (and others have any order).
    pub plain: usize,
    /// Variables start uninitialised in so many of a hundred cases.
    pub uninit: usize,
    /// How deep phrases that contain others may be nested: a lock behind a flag within a critical section.
    pub depth: usize,
}

/// How large programs are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Size {
    /// Two to four threads, at most this many interleavings: each of them is enumerated.
    Interleavings(u64),
    /// Three or four threads with more to do. At most this many classes of executions, maximal or not, each of which is
    /// looked at once.
    Prefixes(usize),
}

impl Size {
    /// All executions of a program, or one of each class; none if it is too large or cannot be executed.
    pub fn enumerate(self, program: &Program) -> Option<Enumeration> {
        let machine = LitmusMachine::new(program.clone()).ok()?;
        let found = match self {
            Size::Interleavings(most) => enumerate(machine, most),
            Size::Prefixes(most) => enumerate_classes(machine, most),
        };
        found.ok().filter(|found| found.classes.values().all(|class| class.ending.unsupported.is_none()))
    }
}

const BASE: Profile = Profile {
    name: "accesses",
    phrases: &[Phrase::Load, Phrase::Store],
    trees: false,
    sizes: false,
    plain: 0,
    uninit: 0,
    depth: 1,
};

/// All profiles.
pub const PROFILES: &[Profile] = {
    use Phrase::*;
    &[
        BASE,
        Profile { name: "rmw", phrases: &[Load, Store, Rmw, Cas, Rmw, Cas], ..BASE },
        Profile { name: "locks", phrases: &[Critical, Critical, Critical, Load, Store, Cas], ..BASE },
        Profile { name: "awaits", phrases: &[Await, Await, Load, Store, Store, Rmw, Cas], ..BASE },
        Profile { name: "confirmations", phrases: &[Confirm, Confirm, Load, Store, Rmw], ..BASE },
        Profile { name: "tests", phrases: &[Test, Test, Store, Store, Rmw, Cas], ..BASE },
        Profile { name: "conds", phrases: &[CondWait, CondWait, Signal, Signal, Load, Store], ..BASE },
        Profile { name: "condlocks", phrases: &[CondWait, CondWait, Signal, Signal, Critical], ..BASE },
        Profile { name: "trees", phrases: &[Load, Store, Store, Rmw, Await], trees: true, ..BASE },
        Profile { name: "choices", phrases: &[Choose, Branch, Load, Store, Rmw], ..BASE },
        Profile { name: "sizes", phrases: &[Load, Store, Store, Rmw, Cas, Await], sizes: true, ..BASE },
        Profile { name: "sections", phrases: &[Section, Section, Load, Store, Rmw], ..BASE },
        Profile { name: "frees", phrases: &[Free, Load, Store, Rmw, Cas, Await, Section], ..BASE },
        Profile { name: "uninit", phrases: &[Load, Store, Store, Rmw, Cas, Await, Free], uninit: 50, ..BASE },
        Profile { name: "branches", phrases: &[Branch, Branch, Spin, Load, Store, Rmw, End], ..BASE },
        Profile { name: "races", phrases: &[Load, Store, Load, Store, Rmw, Cas, Fence], plain: 40, ..BASE },
        Profile {
            name: "lockraces",
            phrases: &[Critical, Critical, Load, Store, Await, Signal, CondWait],
            plain: 70,
            ..BASE
        },
        Profile { name: "sectionraces", phrases: &[Section, Section, Load, Store], plain: 60, ..BASE },
        Profile {
            name: "everything",
            phrases: &[
                Load, Store, Load, Store, Rmw, Cas, Critical, Await, Test, CondWait, Signal, Choose, Fence, Free,
                Section, Branch, Spin, End,
            ],
            trees: true,
            sizes: true,
            plain: 20,
            uninit: 15,
            depth: 1,
        },
        Profile { name: "guards", phrases: &[Branch, Branch, Critical, Load, Store, Store, Cas], depth: 2, ..BASE },
        Profile {
            name: "waits",
            phrases: &[Branch, Critical, Await, Await, Store, Store, Cas, Rmw],
            depth: 2,
            trees: true,
            ..BASE
        },
        Profile { name: "sums", phrases: &[Sum, Sum, Sum, Await, Branch, Cas, Load, Store], depth: 2, ..BASE },
        Profile { name: "spins", phrases: &[Spin, Spin, Branch, Critical, Store, Store, Cas], depth: 2, ..BASE },
    ]
};

/// The profile with this name.
pub fn profile(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|profile| profile.name == name)
}

/// A random program and all its executions, of which there are at most `max_executions`.
pub fn generate(profile: &Profile, seed: u64, max_executions: u64) -> (Program, Enumeration) {
    generate_sized(profile, seed, Size::Interleavings(max_executions))
}

/// A random program of a size and all its executions, or one of each class.
pub fn generate_sized(profile: &Profile, seed: u64, size: Size) -> (Program, Enumeration) {
    let mut rng = Rng::new(seed);
    // The smaller the program, the likelier it is to be small enough; so this comes to an end.
    for attempt in 0.. {
        let program = Generator::new(profile, &mut rng, size, attempt).program();
        debug_assert_eq!(program.validate(), Ok(()), "generated programs are valid");
        if let Some(found) = size.enumerate(&program) {
            return (program, found);
        }
    }
    unreachable!("some program is small enough")
}

struct Generator<'a> {
    profile: &'a Profile,
    rng: &'a mut Rng,
    size: Size,
    /// Variables that hold data come first, then mutexes, then condition variables.
    vars: Vec<Var>,
    data: usize,
    mutexes: usize,
    conds: usize,
    /// How many phrases all threads may have together.
    phrases: usize,
    /// The register that the next result goes to.
    next_reg: usize,
}

impl<'a> Generator<'a> {
    fn new(profile: &'a Profile, rng: &'a mut Rng, size: Size, attempt: usize) -> Generator<'a> {
        let has = |phrase| profile.phrases.contains(&phrase);
        let data = 1 + rng.below(3);
        let mutexes = if has(Phrase::Critical) { 1 + rng.below(2) } else { 0 };
        let conds = if has(Phrase::CondWait) || has(Phrase::Signal) { 1 + usize::from(rng.percent(20)) } else { 0 };
        let phrases = match size {
            Size::Interleavings(_) => (3 + rng.below(7)).saturating_sub(attempt / 4),
            Size::Prefixes(_) => (7 + rng.below(6)).saturating_sub(attempt),
        };
        let phrases = phrases.max(2);
        let mut vars: Vec<Var> = (0..data).map(|_| data_var(profile, rng)).collect();
        vars.extend((0..mutexes + conds).map(|_| Var { size: 4, init: Some(0) }));
        Generator { profile, rng, size, vars, data, mutexes, conds, phrases, next_reg: 0 }
    }

    fn program(mut self) -> Program {
        let threads = match self.size {
            Size::Interleavings(_) => 2 + self.rng.pick(&[0, 0, 0, 1, 1, 1, 2]),
            Size::Prefixes(_) => self.rng.pick(&[3, 4, 4]),
        };
        let mut bodies: Vec<Thread> = vec![Vec::new(); threads];
        let mut left = self.phrases.max(threads);
        for thread in (0..threads).cycle() {
            if left == 0 {
                break;
            }
            // Main often only creates threads.
            if thread > 0 || self.rng.percent(60) {
                self.next_reg = bodies[thread].len() % REGISTERS;
                self.phrase(&mut bodies[thread], 0);
                left -= 1;
            }
        }
        self.create_and_join(&mut bodies);
        Program { vars: self.vars, threads: bodies }
    }

    /// Puts in the creation of all threads, and joins of some of them.
    fn create_and_join(&mut self, bodies: &mut [Thread]) {
        let joins = self.rng.percent(60);
        let leave = self.rng.percent(15);
        for child in (1..bodies.len()).rev() {
            let parent = if self.profile.trees { self.rng.below(child) } else { 0 };
            let (child, body) = (ThreadId::new(child), &mut bodies[parent]);
            let at = if self.profile.trees && self.rng.percent(50) { self.rng.below(body.len() + 1) } else { 0 };
            let at = outside_jumps(body, at);
            body.insert(at, Inst::Spawn(child));
            if self.rng.percent(if joins { 85 } else { 10 }) {
                let by = if self.profile.trees && self.rng.percent(15) { self.rng.below(bodies.len()) } else { parent };
                bodies[by].push(Inst::Join(child));
            }
        }
        if leave {
            bodies[0].push(Inst::Leave);
        }
    }

    fn phrase(&mut self, out: &mut Thread, depth: usize) {
        match self.rng.pick(self.profile.phrases) {
            Phrase::Load => self.load(out),
            Phrase::Store => self.store(out),
            Phrase::Rmw => self.rmw(out),
            Phrase::Sum => self.sum(out),
            Phrase::Cas => self.cas(out),
            Phrase::Confirm => self.confirm(out),
            Phrase::Await => self.awaits(out),
            Phrase::Test => self.test(out),
            Phrase::Choose => {
                let (dst, alternatives) = (self.fresh(), 2 + self.rng.below(2) as u32);
                out.push(Inst::Choose { dst, alternatives });
            }
            Phrase::Fence => {
                out.push(Inst::Fence(self.rng.pick(&[Order::Acquire, Order::Release, Order::AcqRel, Order::SeqCst])));
            }
            Phrase::Signal => {
                let var = self.cond();
                out.push(if self.rng.percent(70) { Inst::Signal(var) } else { Inst::Broadcast(var) });
            }
            Phrase::Free => out.push(Inst::Free(VarId::new(self.rng.below(self.data)))),
            Phrase::End if self.rng.percent(30) => out.push(self.rng.pick(&[Inst::Exit, Inst::Leave])),
            Phrase::Spin => self.spin(out),
            // What contains other phrases does so once, or as often as the profile says.
            _ if depth >= self.profile.depth => self.load(out),
            Phrase::Critical => self.critical(out, depth),
            Phrase::CondWait => self.cond_wait(out),
            Phrase::Section => self.section(out),
            Phrase::Branch | Phrase::End => self.branch(out, depth),
        }
    }

    fn access(&mut self, out: &mut Thread) {
        match self.rng.below(4) {
            0 => self.store(out),
            1 if self.profile.phrases.contains(&Phrase::Rmw) => self.rmw(out),
            1 | 2 => self.load(out),
            _ if self.profile.phrases.contains(&Phrase::Cas) => self.cas(out),
            _ => self.store(out),
        }
    }

    fn load(&mut self, out: &mut Thread) {
        let (dst, place) = (self.fresh(), self.place());
        let order = self.order(&[Order::Relaxed, Order::Acquire, Order::SeqCst]);
        out.push(Inst::Load { dst, place, order, speculative: None, until: None });
    }

    fn store(&mut self, out: &mut Thread) {
        let (place, value) = (self.place(), self.expr());
        let order = self.order(&[Order::Relaxed, Order::Release, Order::SeqCst]);
        out.push(Inst::Store { place, value, order, until: None });
    }

    fn rmw(&mut self, out: &mut Thread) {
        let dst = self.rng.percent(50).then(|| self.fresh());
        let op = self.rng.pick(&[RmwOp::Add, RmwOp::Add, RmwOp::Xchg, RmwOp::Sub, RmwOp::Or, RmwOp::Nand, RmwOp::UMax]);
        let (place, value, order) = (self.place(), self.expr(), self.rmw_order());
        out.push(Inst::Rmw { dst, op, place, value, order, until: None });
    }

    fn sum(&mut self, out: &mut Thread) {
        let op = self.rng.pick(&[RmwOp::Add, RmwOp::Add, RmwOp::Sub, RmwOp::Or, RmwOp::UMax]);
        let (place, value, order) = (self.place(), self.expr(), self.rmw_order());
        out.push(Inst::Rmw { dst: None, op, place, value, order, until: None });
    }

    fn cas(&mut self, out: &mut Thread) {
        let dst = self.rng.percent(70).then(|| self.fresh());
        let (place, expected, new, success) = (self.place(), self.expr(), self.expr(), self.rmw_order());
        let failure = self.rng.pick(&[Order::Relaxed, Order::Acquire, Order::SeqCst]);
        out.push(Inst::Cas { dst, place, expected, new, success, failure, confirms: false, until: None });
    }

    fn confirm(&mut self, out: &mut Thread) {
        let at = out.len();
        self.load(out);
        let Inst::Load { dst: seen, place, speculative, .. } = &mut out[at] else {
            unreachable!("a load was made");
        };
        let (place, expected) = (*place, Expr::reg(*seen));
        *speculative = Some(Speculation::Always);
        if self.rng.percent(30) {
            self.load(out);
        }
        // Mostly values that nobody else writes, as the paper wants them; now and then any.
        let new = if self.rng.percent(80) { Expr { add: 1 + out.len() as u64, ..expected } } else { self.expr() };
        let (success, failure) = (self.rmw_order(), Order::Relaxed);
        let until = Some(Until { op: CmpOp::Eq, operand: expected });
        out.push(Inst::Cas { dst: None, place, expected, new, success, failure, confirms: true, until });
    }

    fn awaits(&mut self, out: &mut Thread) {
        let at = out.len();
        self.access(out);
        let condition = Until { op: self.cmp(), operand: self.expr() };
        match &mut out[at] {
            Inst::Load { until, .. }
            | Inst::Store { until, .. }
            | Inst::Rmw { until, .. }
            | Inst::Cas { until, .. } => {
                *until = Some(condition);
            }
            other => unreachable!("{other:?} is not an access"),
        }
    }

    fn test(&mut self, out: &mut Thread) {
        self.load(out);
        let test = self.test_of_latest();
        out.push(if self.rng.percent(50) { Inst::Assume(test) } else { Inst::Assert(test) });
    }

    fn critical(&mut self, out: &mut Thread, depth: usize) {
        let (place, second) = (self.mutex(), self.mutex());
        let nested = second != place && self.rng.percent(30);
        if !self.rng.percent(5) {
            out.push(Inst::Lock { place });
        }
        if nested {
            out.push(Inst::Lock { place: second });
        }
        if self.rng.percent(if nested { 30 } else { 80 }) {
            self.phrase(out, depth + 1);
        }
        if nested {
            out.push(Inst::Unlock { place: second });
        }
        if !self.rng.percent(10) {
            out.push(Inst::Unlock { place });
        }
    }

    fn cond_wait(&mut self, out: &mut Thread) {
        let (var, early) = (self.cond(), self.rng.percent(15));
        let dst = early.then(|| self.fresh());
        let mutex = (self.mutexes > 0 && self.rng.percent(70)).then(|| self.mutex());
        if let Some(place) = mutex {
            out.extend([Inst::Lock { place }, Inst::Wait(var), Inst::Unlock { place }]);
            out.extend([Inst::Wake { var, early, dst }, Inst::Lock { place }, Inst::Unlock { place }]);
            return;
        }
        out.push(Inst::Wait(var));
        if self.rng.percent(20) {
            self.access(out);
        }
        if !self.rng.percent(4) {
            out.push(Inst::Wake { var, early, dst });
        }
    }

    fn section(&mut self, out: &mut Thread) {
        out.push(Inst::Begin);
        for _ in 0..1 + self.rng.below(3) {
            self.access(out);
        }
        if self.rng.percent(30) {
            let test = self.test_of_latest();
            out.push(if self.rng.percent(70) { Inst::Assume(test) } else { Inst::Assert(test) });
            if self.rng.percent(40) {
                self.access(out);
            }
        }
        if !self.rng.percent(3) {
            out.push(Inst::End);
        }
    }

    fn branch(&mut self, out: &mut Thread, depth: usize) {
        if self.rng.percent(70) {
            self.load(out);
        }
        let (at, test) = (out.len(), self.test_of_latest());
        self.phrase(out, depth + 1);
        let count = (out.len() - at) as u8;
        out.insert(at, Inst::Skip { count, when: self.rng.percent(95).then_some(test) });
    }

    fn spin(&mut self, out: &mut Thread) {
        let at = out.len();
        if self.profile.phrases.contains(&Phrase::Cas) && self.rng.percent(30) {
            self.cas(out)
        } else {
            self.load(out)
        }
        let count = (out.len() - at) as u8;
        let (max, when, bound) = (1 + self.rng.below(2) as u8, self.test_of_latest(), self.rng.percent(70));
        out.push(Inst::Repeat { count, max, when, bound });
    }

    fn fresh(&mut self) -> Reg {
        self.next_reg = (self.next_reg + 1) % REGISTERS;
        Reg::new(self.next_reg)
    }

    fn latest(&self) -> Reg {
        Reg::new(self.next_reg)
    }

    fn test_of_latest(&mut self) -> Test {
        Test { reg: self.latest(), op: self.cmp(), value: self.rng.below(3) as u64 }
    }

    fn cmp(&mut self) -> CmpOp {
        self.rng.pick(&[CmpOp::Eq, CmpOp::Eq, CmpOp::Ne, CmpOp::Ne, CmpOp::Ult, CmpOp::Uge, CmpOp::Slt, CmpOp::Sgt])
    }

    fn expr(&mut self) -> Expr {
        let add = self.rng.below(4) as u64;
        match self.rng.below(10) {
            0..6 => Expr::constant(add),
            6..8 => Expr::reg(self.latest()),
            _ => Expr { reg: Some(self.latest()), add },
        }
    }

    /// Some bytes of a variable that holds data.
    fn place(&mut self) -> Place {
        let var = VarId::new(self.rng.below(self.data));
        let whole = self.vars[var.index()].size;
        if !self.profile.sizes || self.rng.percent(40) {
            return Place { var, offset: 0, size: whole };
        }
        let size = self.rng.pick(&[1, 2, 4, 8]).min(whole);
        let offset = self.rng.below(usize::from(whole - size) + 1) as u8;
        Place { var, offset, size }
    }

    fn mutex(&mut self) -> Place {
        Place { var: VarId::new(self.data + self.rng.below(self.mutexes)), offset: 0, size: 4 }
    }

    fn cond(&mut self) -> VarId {
        VarId::new(self.data + self.mutexes + self.rng.below(self.conds))
    }

    fn order(&mut self, orders: &[Order]) -> Order {
        if self.rng.percent(self.profile.plain) { Order::Plain } else { self.rng.pick(orders) }
    }

    fn rmw_order(&mut self) -> Order {
        self.rng.pick(&[Order::Relaxed, Order::Acquire, Order::Release, Order::AcqRel, Order::SeqCst])
    }
}

fn data_var(profile: &Profile, rng: &mut Rng) -> Var {
    let size = if profile.sizes { rng.pick(&[2, 4, 8]) } else { 4 };
    let init = if rng.percent(70) { 0 } else { rng.below(3) as u64 };
    let uninit = rng.percent(profile.uninit);
    Var { size, init: (!uninit).then_some(init) }
}

/// The first place from `at` on where an instruction can be put in without changing what a jump jumps over.
fn outside_jumps(thread: &Thread, at: usize) -> usize {
    let crosses = |place: usize| {
        thread.iter().enumerate().any(|(i, inst)| match inst {
            Inst::Skip { count, .. } => i < place && place <= i + usize::from(*count),
            Inst::Repeat { count, .. } => i - usize::from(*count) < place && place <= i,
            Inst::Begin => i < place && !thread[i..place].contains(&Inst::End),
            _ => false,
        })
    };
    (at..=thread.len()).find(|&place| !crosses(place)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_valid_program_again() {
        for profile in PROFILES {
            for seed in 0..20 {
                let (program, found) = generate(profile, seed, 300);
                assert_eq!(generate(profile, seed, 300).0, program);
                assert_eq!(program.to_string().parse::<Program>().as_ref(), Ok(&program));
                assert!((1..=300).contains(&found.executions));
            }
        }
    }

    #[test]
    fn every_profile_makes_what_it_is_for() {
        for profile in PROFILES {
            let programs: Vec<_> = (0..60).map(|seed| generate(profile, seed, 500)).collect();
            let several = programs.iter().filter(|(_, found)| found.classes.len() > 1).count();
            assert!(several > 20, "{}: only {several} of 60 programs have more than one class", profile.name);
        }
    }
}
