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
    /// Executions in which it is something else are of no interest.
    Expect(usize, usize, Order),
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
    /// The same, if nobody has it.
    TryLock,
    /// Waits on a condition variable until somebody has counted under the lock.
    Wait,
    /// Counts under the lock and wakes one, or all.
    Wake(bool),
    Send(usize),
    Receive,
    Park,
    Unpark(usize),
}

impl Act {
    /// How often it gives a word another value, at most.
    pub fn writes(&self, to: usize) -> usize {
        let is_it = match *self {
            Act::Store(word, ..) | Act::Add(word, _) | Act::Swap(word, ..) => word == to,
            Act::Exchange { word, .. } | Act::Update { word, .. } => word == to,
            Act::Spin(Spin {
                word, kind: SpinKind::Swap | SpinKind::Exchange | SpinKind::LoadThenExchange, ..
            }) => word == to,
            Act::Retry(Retry { word, other, leaves, .. }) => {
                // What a loop stores when it fails it stores more than once, but always the same.
                return usize::from(word == to) + 2 * usize::from(other == to && matches!(leaves, Leaves::Store(_)));
            }
            _ => false,
        };
        usize::from(is_it)
    }
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
    pub stops: Stops,
    pub before: Before,
    pub function: usize,
}

/// What an attempt does before its load, if the loop goes back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Before {
    Nothing,
    /// The loop is left if the other word is 1.
    Leaves,
    /// If it is not left, what attempts that have failed have left is forgotten.
    Forgets,
}

/// Whether it does not come to the exchange, with what it has loaded or seen in between.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stops {
    Never,
    /// Executions in which it is this are of no interest.
    AssumesOld(usize),
    AssumesSeen(usize),
    /// Nothing is exchanged.
    LeavesIfSeen(usize),
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
    /// It tries to take the lock, and counts.
    TryLock,
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
    /// What has few executions one by one, and is in the language of the oracle.
    Small,
    /// One loop that tries again, and others that change what it looks at.
    One,
}

/// A program that depends on nothing but these numbers.
pub fn generate(family: Family, seed: u64) -> Program {
    let mut random = Random(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x9e37);
    random.below(2);
    if family == Family::One {
        return one(&mut random);
    }
    let count = if family == Family::Small { random.of(&[2, 2, 3]) } else { random.of(&[2, 3, 3, 3, 4]) };
    let mut threads: Vec<Vec<Act>> = Vec::new();
    for thread in 0..count {
        let acts = if family == Family::Small && count == 2 { random.of(&[1, 2, 2]) } else { random.of(&[1, 1, 2]) };
        threads.push((0..acts).map(|_| act(&mut random, family, thread, count)).collect());
    }
    Program { threads }
}

/// A loop that notices some attempts that fail, perhaps after a look, and two threads that make it fail.
fn one(random: &mut Random) -> Program {
    // The main thread may do nothing but create the others and join them.
    let (count, of_one) = random.of(&[(3, 0), (3, 1), (3, 2), (4, 1), (4, 2), (4, 3)]);
    let thread = |random: &mut Random, thread: usize| {
        if thread == 0 && count == 4 {
            return Vec::new();
        }
        if thread != of_one {
            return (0..random.of(&[1, 1, 2])).map(|_| change(random)).collect();
        }
        let mut acts = Vec::new();
        match random.below(4) {
            0 | 1 => acts.push(Act::Expect(0, random.below(2), random.load())),
            2 => acts.push(Act::Load(random.below(2), random.load())),
            _ => {}
        }
        let act = retry_that_stops(random);
        let (leaves, other, plain) = (traces(random), 1 + random.below(2), random.chance(70));
        acts.push(match act {
            Act::Retry(retry) if random.chance(25) => {
                let before = random.of(&[Before::Leaves, Before::Forgets, Before::Forgets]);
                let leaves = random.of(&[Leaves::Count, Leaves::IfOld(0), Leaves::IfFound(1), Leaves::Last]);
                let retry = Retry { before, leaves, look: Look::Never, pause: Pause::No, own: false, ..retry };
                Act::Retry(Retry { word: 0, other, then: Then::Back, gives_up: None, stops: Stops::Never, ..retry })
            }
            Act::Retry(retry) if plain => {
                let value = random.below(2);
                let look = random.of(&[Look::Never, Look::If(value, retry.load), retry.look]);
                let leaves = if let Look::If(..) = look { Leaves::IfOther(1 + random.below(2)) } else { leaves };
                let ends = retry.ends.filter(|_| look == Look::Never);
                let retry = Retry { look, leaves, ends, pause: Pause::No, own: false, weak: false, ..retry };
                Act::Retry(Retry { word: 0, other, gives_up: None, stops: Stops::Never, ..retry })
            }
            Act::Retry(retry) => Act::Retry(Retry { word: 0, other, leaves, gives_up: None, ..retry }),
            act => act,
        });
        acts
    };
    Program { threads: (0..count).map(|n| thread(random, n)).collect() }
}

/// What a loop leaves with some attempts only.
fn traces(random: &mut Random) -> Leaves {
    let value = random.below(3);
    random.of(&[
        Leaves::IfOther(value),
        Leaves::IfOld(value),
        Leaves::IfFound(value),
        Leaves::IfOther(1),
        Leaves::IfOld(1),
        Leaves::Two,
    ])
}

/// What makes an attempt fail, or changes what it sees on its way.
fn change(random: &mut Random) -> Act {
    let (success, failure) = (random.update(), random.load());
    match random.below(12) {
        0..=4 => exchange(random),
        5 => Act::Add(0, success),
        6 => Act::Swap(0, random.below(3), success),
        7 => Act::Exchange { word: 0, expected: 1, new: 2, success, failure },
        8 => Act::Load(random.below(3), failure),
        9 => Act::Fence(random.of(&[Acquire, Release, SeqCst])),
        _ => Act::Store(1 + random.below(2), random.below(3), random.store()),
    }
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
        Family::Small => {
            return match random.below(20) {
                0..=7 => retry_that_stops(random),
                8..=11 => spin(random),
                12 => Act::Spin(Spin { kind: SpinKind::TryLock, ..a_spin(random) }),
                13 => random.of(&[Act::Lock, Act::TryLock]),
                14 => Act::Expect(random.below(2), random.below(2), random.load()),
                15 => exchange(random),
                _ => access(random),
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

/// One that makes a value come back.
fn exchange(random: &mut Random) -> Act {
    let expected = random.below(2);
    let (success, failure) = (random.update(), random.load());
    Act::Exchange { word: 0, expected, new: 1 - expected, success, failure }
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
        stops: Stops::Never,
        before: Before::Nothing,
        function: random.below(FUNCTIONS),
    })
}

/// The same, but it may not come to the exchange.
fn retry_that_stops(random: &mut Random) -> Act {
    let mut act = retry(random);
    if let Act::Retry(retry) = &mut act
        && random.chance(30)
    {
        let value = random.below(3);
        retry.stops = random.of(&[Stops::AssumesOld(value), Stops::AssumesSeen(value), Stops::LeavesIfSeen(value)]);
    }
    act
}

fn spin(random: &mut Random) -> Act {
    Act::Spin(a_spin(random))
}

fn a_spin(random: &mut Random) -> Spin {
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
    Spin {
        word,
        other: (word + 1) % WORDS,
        kind,
        order: random.update(),
        yields: random.chance(50),
        until: random.below(3),
    }
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
