//! Random programs: what threads do, and how that is chosen.

use super::interpreter::Order;
use super::interpreter::Order::{AcqRel, Acquire, Relaxed, Release, SeqCst};

/// How many words threads share.
pub const WORDS: usize = 3;

/// What threads do, the first of which creates the others and joins them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    pub threads: Vec<Vec<Act>>,
}

/// What a thread does at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Act {
    Load(usize, Order),
    Store(usize, usize, Order),
    Add(usize, Order),
    Swap(usize, usize, Order),
    /// Writes nothing new, but as a read-modify-write.
    AddNothing(usize, Order),
    Exchange {
        word: usize,
        expected: usize,
        new: usize,
        success: Order,
        failure: Order,
    },
    Fence(Order),
    Retry(Retry),
    Update {
        word: usize,
        function: usize,
        set: Order,
        fetch: Order,
        counts: bool,
    },
    Spin(Spin),
    /// Counts under a lock.
    Lock,
    /// Waits on a condition variable until somebody has counted under the lock.
    Wait,
    /// Counts under the lock and wakes one, or all.
    Wake(bool),
    Send(usize),
    Receive,
    Park,
    Unpark(usize),
}

/// A loop that tries an exchange again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Retry {
    pub word: usize,
    pub other: usize,
    pub load: Order,
    pub success: Order,
    pub failure: Order,
    pub weak: bool,
    pub then: Then,
    pub pause: Pause,
    pub look: Look,
    /// Stores what it has loaded to an object of its own in between.
    pub own: bool,
    pub leaves: Leaves,
    /// Nothing is exchanged if this is what it finds.
    pub ends: Option<usize>,
    /// It gives up after so many attempts.
    pub gives_up: Option<usize>,
    pub function: usize,
}

/// Where a loop goes when its exchange has failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Then {
    On,
    Back,
    Elsewhere,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pause {
    No,
    SpinLoop,
    Yield,
}

/// Whether an attempt loads another word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Look {
    Never,
    Always(Order),
    /// If it has loaded this.
    If(usize, Order),
    /// The word itself, once more.
    Same(Order),
}

/// What an attempt that fails leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leaves {
    Nothing,
    /// How many there were, on the stack.
    Count,
    OnHeap,
    InLocal,
    /// How many there were that have seen this in the other word.
    IfOther(usize),
    /// That have loaded this.
    IfOld(usize),
    /// That have found this.
    IfFound(usize),
    /// What the last one has loaded.
    Last,
    /// Whether their number is odd.
    Odd,
    /// Something in the other word.
    Store(usize),
    /// Whether there were two or more.
    Two,
    /// It makes a box, and drops it.
    Boxes,
}

/// A loop that waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spin {
    pub word: usize,
    pub other: usize,
    pub kind: SpinKind,
    pub order: Order,
    pub yields: bool,
    /// What it waits for.
    pub until: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SpinKind {
    /// It loads.
    Load,
    /// It loads two words.
    Two,
    /// It swaps something in.
    Swap,
    /// It exchanges.
    Exchange,
    /// It loads, and then exchanges.
    LoadThenExchange,
    /// It gives up when it has looked three times: on the stack, on the heap.
    Counts,
    CountsOnHeap,
    /// It waits for a change of what it has seen first.
    Change,
    /// It gives up if another word says so.
    Leaves,
}

/// Numbers.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let word = self.0 ^ self.0 >> 29;
        (word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) as usize % n
    }

    pub fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn load(&mut self) -> Order {
        self.of(&[Relaxed, Relaxed, Acquire, Acquire, SeqCst])
    }

    fn store(&mut self) -> Order {
        self.of(&[Relaxed, Relaxed, Release, Release, SeqCst])
    }

    fn update(&mut self) -> Order {
        self.of(&[Relaxed, Acquire, Release, AcqRel, AcqRel, SeqCst])
    }
}

/// What programs are made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// Loops that try again, and accesses.
    Retries,
    /// Loops that wait, and accesses.
    Spins,
    /// Everything.
    All,
}

/// A program that depends on nothing but these numbers.
pub fn generate(family: Family, seed: u64) -> Program {
    let mut random = Random(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x9e37);
    random.below(2);
    let count = random.of(&[2, 3, 3, 3, 4]);
    let mut threads: Vec<Vec<Act>> = Vec::new();
    for thread in 0..count {
        let acts = random.of(&[1, 1, 2]);
        threads.push((0..acts).map(|_| act(&mut random, family, thread, count)).collect());
    }
    Program { threads }
}

fn act(random: &mut Random, family: Family, thread: usize, count: usize) -> Act {
    let loops = random.chance(if family == Family::Retries { 65 } else { 45 });
    match family {
        Family::Retries if loops => return retry(random),
        Family::Spins if loops => return spin(random),
        Family::All if loops => {
            return match random.below(5) {
                0 => retry(random),
                1 => spin(random),
                _ => other(random, thread, count),
            };
        }
        _ => {}
    }
    access(random)
}

fn access(random: &mut Random) -> Act {
    let word = random.below(WORDS).min(1 + random.below(2));
    let value = 1 + random.below(2);
    match random.below(10) {
        0 | 1 => Act::Load(word, random.load()),
        2..=4 => Act::Store(word, value, random.store()),
        5 | 6 => Act::Add(word, random.update()),
        7 => Act::Swap(word, value, random.update()),
        8 => {
            let (success, failure) = (random.update(), random.load());
            Act::Exchange { word, expected: random.below(2), new: value, success, failure }
        }
        _ => match random.below(3) {
            0 => Act::AddNothing(word, random.update()),
            _ => Act::Fence(random.of(&[Acquire, Release, AcqRel, SeqCst])),
        },
    }
}

fn other(random: &mut Random, thread: usize, count: usize) -> Act {
    match random.below(7) {
        0 | 1 => Act::Lock,
        2 => Act::Wait,
        3 => Act::Wake(random.chance(50)),
        4 if thread > 0 => Act::Send(1 + random.below(2)),
        4 => Act::Receive,
        5 if thread > 0 => Act::Park,
        5 => Act::Unpark(1 + random.below(count - 1)),
        _ => Act::Lock,
    }
}

fn retry(random: &mut Random) -> Act {
    let word = random.below(5) / 4;
    let other = 1 - word + random.below(4) / 3;
    if random.chance(20) {
        let (function, set, fetch) = (random.below(FUNCTIONS), random.update(), random.load());
        return Act::Update { word, function, set, fetch, counts: random.chance(15) };
    }
    let leaves = match random.below(3) {
        0 => Leaves::Nothing,
        1 => random.of(&[
            Leaves::IfOther(1),
            Leaves::IfOther(2),
            Leaves::IfOld(1),
            Leaves::IfFound(1),
            Leaves::IfFound(2),
        ]),
        _ => random.of(&[
            Leaves::Count,
            Leaves::OnHeap,
            Leaves::InLocal,
            Leaves::Last,
            Leaves::Odd,
            Leaves::Store(1),
            Leaves::Store(2),
            Leaves::Two,
            Leaves::Boxes,
        ]),
    };
    let look = match random.below(5) {
        0 => Look::Never,
        1 | 2 => Look::Always(random.load()),
        3 => Look::If(random.below(2), random.load()),
        _ => Look::Same(random.load()),
    };
    Act::Retry(Retry {
        word,
        other,
        load: random.load(),
        success: random.update(),
        failure: random.load(),
        weak: random.chance(20),
        then: random.of(&[Then::On, Then::Back, Then::Elsewhere]),
        pause: random.of(&[Pause::No, Pause::No, Pause::No, Pause::SpinLoop, Pause::Yield]),
        look,
        own: random.chance(20),
        leaves,
        ends: random.chance(25).then(|| 1 + random.below(2)),
        gives_up: random.chance(15).then(|| 1 + random.below(3)),
        function: random.below(FUNCTIONS),
    })
}

fn spin(random: &mut Random) -> Act {
    let word = random.below(WORDS).min(1 + random.below(2));
    let kind = random.of(&[
        SpinKind::Load,
        SpinKind::Load,
        SpinKind::Two,
        SpinKind::Swap,
        SpinKind::Exchange,
        SpinKind::LoadThenExchange,
        SpinKind::Counts,
        SpinKind::CountsOnHeap,
        SpinKind::Change,
        SpinKind::Leaves,
    ]);
    Act::Spin(Spin {
        word,
        other: (word + 1) % WORDS,
        kind,
        order: random.update(),
        yields: random.chance(50),
        until: random.below(3),
    })
}

/// What is done with a value.
pub const FUNCTIONS: usize = 5;

pub fn function(n: usize, value: usize) -> usize {
    match n {
        0 | 1 => value + 1,
        2 => value + 2,
        3 => 1 - value.min(1),
        _ => 2,
    }
}
