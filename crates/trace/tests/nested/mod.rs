//! Random programs whose loops wait inside of each other, and whether they have a livelock, by looking at all their states.
//!
//! A thread has one local variable, which it may carry round a loop, and nothing else but the place where it stands. So a
//! program has few states, and an exact answer is cheap: threads spin forever from a state on if nobody has ended and
//! nothing in memory has changed in any state that can be reached from there. How loops are cut off plays no part in that.

use std::collections::HashMap;
use std::fmt::Write;

/// A small generator of numbers (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }
}

/// What is tested: whether a value that is read is a number.
#[derive(Clone, Copy, Debug)]
enum Read {
    Load(usize),
    /// What was found when this was written.
    Exchange(usize, u8),
    /// What was found; the second is written if the first is there.
    CompareExchange(usize, u8, u8),
    /// The local variable.
    Local,
    /// What is read, less the local variable.
    Difference(usize),
}

#[derive(Clone, Copy, Debug)]
enum Ins {
    Store(usize, u8),
    /// To the local variable.
    Keep(usize),
    /// Goes to the first place if the value is the number, to the second otherwise.
    Test(Read, u8, usize, usize),
    Jump(usize),
    End,
}

/// A thread: what it does, in places from 0.
#[derive(Default, Debug)]
struct Body(Vec<Ins>);

/// A program whose answer is known.
pub struct Program {
    /// In the text form of the representation.
    pub text: String,
    /// Whether some threads may spin forever.
    pub has_livelock: bool,
}

impl Body {
    fn add(&mut self, ins: Ins) -> usize {
        self.0.push(ins);
        self.0.len() - 1
    }

    fn read(r: &mut Random) -> Read {
        let var = r.below(3) as usize;
        match r.below(10) {
            0 => Read::Exchange(var, r.below(3) as u8),
            1 | 2 => Read::CompareExchange(var, r.below(2) as u8, r.below(3) as u8),
            3 => Read::Local,
            4 => Read::Difference(var),
            _ => Read::Load(var),
        }
    }

    /// Tests, all or any of which must hold. Where they hold is the next place; the others go to a place that is not known
    /// yet and have to be told.
    fn condition(&mut self, r: &mut Random) -> Vec<usize> {
        let first = Body::read(r);
        let mut open = Vec::new();
        let number = r.below(2) as u8;
        match r.below(3) {
            0 => open.push(self.test(first, number)),
            1 => {
                open.push(self.test(first, number));
                let second = Read::Load(r.below(3) as usize);
                open.push(self.test(second, r.below(2) as u8));
            }
            _ => {
                let here = self.0.len();
                self.add(Ins::Test(first, number, here + 2, here + 1));
                let second = Read::Load(r.below(3) as usize);
                open.push(self.test(second, r.below(2) as u8));
            }
        }
        open
    }

    /// Goes on if the value is the number.
    fn test(&mut self, read: Read, number: u8) -> usize {
        let next = self.0.len() + 1;
        self.add(Ins::Test(read, number, next, usize::MAX))
    }

    /// Tests that fail go here.
    fn close(&mut self, open: Vec<usize>) {
        let end = self.0.len();
        for at in open {
            if let Ins::Test(.., other) = &mut self.0[at] {
                *other = end;
            }
        }
    }

    fn statement(&mut self, r: &mut Random, depth: u32) {
        let var = r.below(3) as usize;
        match r.below(if depth < 3 { 8 } else { 3 }) {
            0 if depth == 0 || r.below(4) == 0 => drop(self.add(Ins::Store(var, r.below(3) as u8))),
            0..=2 if r.below(3) == 0 => drop(self.add(Ins::Keep(var))),
            0..=2 => {}
            3 => {
                let open = self.condition(r);
                self.statement(r, depth + 1);
                self.close(open);
            }
            _ => {
                let start = self.0.len();
                let open = self.condition(r);
                for _ in 0..r.below(3) {
                    self.statement(r, depth + 1);
                }
                self.add(Ins::Jump(start));
                self.close(open);
            }
        }
    }

    fn text(&self, name: &str) -> String {
        let mut text = format!("func @{name}(arg: ptr) -> ptr {{\nentry:\n  local: ptr = alloca 4 align 4\n");
        text.push_str("  store i32 0, local\n  br p0\n");
        for (n, ins) in self.0.iter().enumerate() {
            writeln!(text, "p{n}:").expect("writing to a string succeeds");
            match *ins {
                Ins::Store(var, value) => writeln!(text, "  store i32 {value}, @v{var}, sc\n  br p{}", n + 1),
                Ins::Keep(var) => {
                    writeln!(text, "  r{n}: i32 = load i32 @v{var}, sc\n  store i32 r{n}, local\n  br p{}", n + 1)
                }
                Ins::Test(read, number, then, other) => {
                    match read {
                        Read::Load(var) => writeln!(text, "  r{n}: i32 = load i32 @v{var}, sc"),
                        Read::Exchange(var, new) => writeln!(text, "  r{n}: i32 = rmw xchg i32 @v{var}, {new}, sc"),
                        Read::CompareExchange(var, old, new) => {
                            writeln!(text, "  r{n}: i32, d{n}: i1 = cas i32 @v{var}, {old}, {new}, sc, sc")
                        }
                        Read::Local => writeln!(text, "  r{n}: i32 = load i32 local"),
                        Read::Difference(var) => writeln!(
                            text,
                            "  a{n}: i32 = load i32 @v{var}, sc\n  b{n}: i32 = load i32 local\n  r{n}: i32 = sub i32 a{n}, b{n}"
                        ),
                    }
                    .expect("writing to a string succeeds");
                    writeln!(text, "  t{n}: i1 = cmp eq i32 r{n}, {number}\n  condbr t{n}, p{then}, p{other}")
                }
                Ins::Jump(to) => writeln!(text, "  br p{to}"),
                Ins::End => writeln!(text, "  ret null"),
            }
            .expect("writing to a string succeeds");
        }
        text + "}\n"
    }
}

/// The places of the threads, their local variables, and memory.
type State = (Vec<usize>, Vec<u8>, [u8; 3]);

fn step(bodies: &[Body], (places, locals, memory): &State, thread: usize) -> Option<State> {
    let (mut places, mut locals, mut memory) = (places.clone(), locals.clone(), *memory);
    let (at, local) = (places[thread], locals[thread]);
    places[thread] = at + 1;
    match bodies[thread].0[at] {
        Ins::Store(var, value) => memory[var] = value,
        Ins::Keep(var) => locals[thread] = memory[var],
        Ins::Test(read, number, then, other) => {
            let value = match read {
                Read::Load(var) | Read::Exchange(var, _) | Read::CompareExchange(var, ..) => memory[var],
                Read::Local => local,
                Read::Difference(var) => memory[var].wrapping_sub(local),
            };
            match read {
                Read::Exchange(var, new) => memory[var] = new,
                Read::CompareExchange(var, old, new) if memory[var] == old => memory[var] = new,
                _ => {}
            }
            places[thread] = if value == number { then } else { other };
        }
        Ins::Jump(to) => places[thread] = to,
        Ins::End => return None,
    }
    Some((places, locals, memory))
}

fn ended(bodies: &[Body], state: &State) -> Vec<bool> {
    let is_end = |(body, &at): (&Body, &usize)| matches!(body.0[at], Ins::End);
    bodies.iter().zip(&state.0).map(is_end).collect()
}

/// The states that a program can reach, with the numbers of those that come next.
fn states(bodies: &[Body], memory: [u8; 3]) -> Vec<(State, Vec<usize>)> {
    let start = (vec![0; bodies.len()], vec![0; bodies.len()], memory);
    let mut numbers = HashMap::from([(start.clone(), 0)]);
    let mut states = vec![(start, Vec::new())];
    let mut at = 0;
    while at < states.len() {
        for thread in 0..bodies.len() {
            let Some(next) = step(bodies, &states[at].0, thread) else { continue };
            let number = *numbers.entry(next.clone()).or_insert(states.len());
            if number == states.len() {
                states.push((next, Vec::new()));
            }
            states[at].1.push(number);
        }
        at += 1;
    }
    states
}

fn has_livelock(bodies: &[Body], memory: [u8; 3]) -> bool {
    let states = states(bodies, memory);
    let seen: Vec<([u8; 3], Vec<bool>)> = states.iter().map(|(state, _)| (state.2, ended(bodies, state))).collect();
    // Whether memory may still change, or a thread end: at once, or in a state that can be reached.
    let mut may_change: Vec<bool> =
        states.iter().zip(&seen).map(|((_, next), now)| next.iter().any(|&n| seen[n] != *now)).collect();
    loop {
        let before = may_change.clone();
        for (n, (_, next)) in states.iter().enumerate().rev() {
            may_change[n] |= next.iter().any(|&next| may_change[next]);
        }
        if may_change == before {
            break;
        }
    }
    seen.iter().zip(may_change).any(|((_, ended), may_change)| ended.contains(&false) && !may_change)
}

/// The program with this number.
pub fn program(seed: u64) -> Program {
    let mut r = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let memory = [0; 3].map(|_| r.below(2) as u8);
    let mut bodies = Vec::new();
    for _ in 0..1 + r.below(2) {
        let mut body = Body::default();
        for _ in 0..1 + r.below(2) {
            body.statement(&mut r, 0);
        }
        body.add(Ins::End);
        bodies.push(body);
    }
    let mut calm = Body::default();
    for _ in 0..1 + r.below(2) {
        calm.add(Ins::Store(r.below(3) as usize, r.below(3) as u8));
    }
    calm.add(Ins::End);
    bodies.push(calm);
    let mut text =
        String::from("declare @pthread_create(ptr, ptr, ptr, ptr) -> i32\ndeclare @pthread_join(i64, ptr) -> i32\n");
    for (n, value) in memory.iter().enumerate() {
        writeln!(text, "global @v{n} : 4 align 4 = bytes \"0{value}000000\"").expect("writing to a string succeeds");
    }
    let mut main = String::from("func @main() -> i32 {\nentry:\n");
    for (n, body) in bodies.iter().enumerate() {
        text.push_str(&body.text(&format!("t{n}")));
        writeln!(main, "  h{n}: ptr = alloca 8 align 8").expect("writing to a string succeeds");
        writeln!(main, "  c{n}: i32 = call @pthread_create(ptr h{n}, ptr null, ptr @t{n}, ptr null)")
            .expect("writing to a string succeeds");
    }
    for n in 0..bodies.len() {
        writeln!(main, "  i{n}: i64 = load i64 h{n}\n  j{n}: i32 = call @pthread_join(i64 i{n}, ptr null)")
            .expect("writing to a string succeeds");
    }
    text.push_str(&main);
    text.push_str("  ret 0\n}\n");
    Program { has_livelock: has_livelock(&bodies, memory), text }
}
