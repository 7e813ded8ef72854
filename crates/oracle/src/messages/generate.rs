//! Random small programs of processes that pass messages.
//!
//! A program is made of *phrases*: a send, a receive and what follows from it, a monitor that is ended again. Which phrases
//! may occur is what a [`Profile`] says; each puts one kind of Op under test, and the last ones mix them.
//!
//! Registers have a meaning that all bodies share: `r0` is the first process, `r1` to `r3` are children of it (or of
//! others), `r4` and `r5` what was last received, `r6` a reference, and `r7` an answer.
//!
//! A program is thrown away if it is too large to be enumerated. A seed gives the same program for ever on every machine.

use super::check::{Known, Size};
use super::naive::Delivery;
use super::program::{Body, Cell, Clause, Code, Dest, Inst, Operand, Program, Reg, Test, Why, tags};
use crate::generate::Rng;
use selvedge_ir::EntityRef;
use selvedge_messages::{AliasEnd, Name, Query};

/// What a phrase is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phrase {
    /// A message to somebody.
    Send,
    /// A receive.
    Receive,
    /// A receive that may time out.
    Timeout,
    /// A receive, and something that depends on what came.
    Branch,
    /// An answer to who has sent his own number, or something received that is passed on.
    Forward,
    /// A nondeterministic choice, and something that depends on it.
    Choose,
    /// A link or its end.
    Link,
    /// A monitor, and perhaps its end.
    Monitor,
    /// Trapping exits.
    Trap,
    /// An end in between.
    Exit,
    /// An exit signal.
    Signal,
    /// A name is registered or given up.
    Name,
    /// A message to a name, or a question who has it.
    ToName,
    /// A timer, and perhaps its end.
    Timer,
    /// An alias, passed on to somebody, and perhaps its end.
    Alias,
    /// An operation on the shared table.
    Table,
    /// A question about a process.
    Inspect,
    /// An assertion or check about what was received.
    Test,
    /// A process is made.
    Spawn,
}

/// Which programs are made.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    /// Its name on the command line.
    pub name: &'static str,
    /// The phrases; one that occurs twice is twice as likely.
    pub phrases: &'static [Phrase],
}

/// All profiles.
pub const PROFILES: &[Profile] = {
    use Phrase::*;
    &[
        Profile { name: "sends", phrases: &[Send, Send, Receive] },
        Profile { name: "timeouts", phrases: &[Send, Send, Receive, Timeout] },
        Profile { name: "branches", phrases: &[Send, Send, Receive, Branch, Forward, Timeout] },
        Profile { name: "choices", phrases: &[Send, Send, Receive, Choose, Branch] },
        Profile { name: "spawns", phrases: &[Send, Send, Receive, Timeout, Spawn, Forward] },
        Profile { name: "tests", phrases: &[Send, Send, Receive, Test, Timeout, Branch] },
        Profile { name: "links", phrases: &[Send, Receive, Timeout, Link, Trap, Exit] },
        Profile { name: "monitors", phrases: &[Send, Receive, Timeout, Monitor, Monitor, Exit] },
        Profile { name: "signals", phrases: &[Send, Receive, Timeout, Signal, Trap, Link] },
        Profile { name: "names", phrases: &[Send, Receive, Timeout, Name, ToName, ToName] },
        Profile { name: "timers", phrases: &[Send, Receive, Timeout, Timer, Timer] },
        Profile { name: "aliases", phrases: &[Send, Receive, Timeout, Alias, Alias, Forward] },
        Profile { name: "tables", phrases: &[Send, Receive, Timeout, Table, Table, Exit] },
        Profile { name: "queries", phrases: &[Send, Receive, Timeout, Inspect, Inspect, Exit, Trap, Name, Link] },
        Profile {
            name: "ends",
            phrases: &[Send, Receive, Timeout, Link, Monitor, Trap, Exit, Signal, Name, ToName, Spawn, Table],
        },
        Profile {
            name: "everything",
            phrases: &[
                Send, Send, Receive, Receive, Timeout, Branch, Forward, Choose, Link, Monitor, Trap, Exit, Signal,
                Name, ToName, Timer, Alias, Table, Inspect, Test, Spawn,
            ],
        },
    ]
};

/// The profile with this name.
pub fn profile(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|profile| profile.name == name)
}

/// The program of a seed, with its executions for both kinds of delivery.
pub fn generate_sized(profile: &Profile, seed: u64, size: Size) -> (Program, [Known; 2]) {
    let mut rng = Rng::new(seed ^ 0x6d65_7373_6167_6573);
    loop {
        let program = generate(profile, &mut rng);
        debug_assert_eq!(program.validate(), Ok(()), "{program}");
        // Instant delivery first: it has fewer steps.
        let Some(instant) = Known::new(&program, Delivery::Instant, size) else { continue };
        let Some(fifo) = Known::new(&program, Delivery::Fifo, size) else { continue };
        return (program, [instant, fifo]);
    }
}

/// A random program.
pub fn generate(profile: &Profile, rng: &mut Rng) -> Program {
    let bodies = 2 + rng.below(3);
    let mut maker = Maker { rng, profile, bodies };
    let mut program = Program::default();
    for body in 0..bodies {
        program.bodies.push(maker.body(body));
    }
    program
}

const ANSWER: usize = 7;
const REFERENCE: usize = 6;
const VALUE: usize = 5;
const TAG: usize = 4;

fn reg(n: usize) -> Reg {
    Reg::new(n)
}

struct Maker<'a> {
    rng: &'a mut Rng,
    profile: &'a Profile,
    bodies: usize,
}

impl Maker<'_> {
    fn body(&mut self, body: usize) -> Code {
        let mut insts = Vec::new();
        if body == 0 {
            insts.push(Inst::Set { dst: reg(0), value: Operand::Me });
            for child in 1..self.bodies {
                insts.extend(self.rng.percent(95).then(|| self.spawn(child)));
            }
        }
        for _ in 0..1 + self.rng.below(3) {
            let phrase = self.rng.pick(self.profile.phrases);
            self.phrase(phrase, body, &mut insts);
        }
        Code { server: self.rng.percent(10), insts }
    }

    fn spawn(&mut self, child: usize) -> Inst {
        let has = |phrase: Phrase| self.profile.phrases.contains(&phrase);
        let (links, monitors) = (has(Phrase::Link), has(Phrase::Monitor));
        let link = links && self.rng.percent(40);
        let monitor = (monitors && self.rng.percent(30)).then(|| reg(REFERENCE));
        Inst::Spawn { dst: reg(child), body: Body::new(child), link, monitor }
    }

    fn someone(&mut self) -> Operand {
        match self.rng.below(10) {
            0 => Operand::Me,
            n if n < 5 => Operand::Reg(reg(0)),
            _ => Operand::Reg(reg(1 + self.rng.below(self.bodies - 1))),
        }
    }

    fn value(&mut self) -> Operand {
        match self.rng.below(6) {
            0 => Operand::Me,
            1 => Operand::Reg(reg(VALUE)),
            2 => self.someone(),
            n => Operand::Int(n as i64 - 3),
        }
    }

    fn tag(&mut self) -> u8 {
        1 + self.rng.below(3) as u8
    }

    fn send(&mut self) -> Inst {
        Inst::Send { to: Dest::Value(self.someone()), tag: self.tag(), value: self.value() }
    }

    fn clauses(&mut self) -> Vec<Clause<Operand>> {
        if self.rng.percent(35) {
            return vec![Clause::Any];
        }
        (0..1 + self.rng.below(2)).map(|_| self.clause()).collect()
    }

    fn clause(&mut self) -> Clause<Operand> {
        let has = |phrase: Phrase| self.profile.phrases.contains(&phrase);
        let (exits, downs) = (has(Phrase::Trap), has(Phrase::Monitor));
        match self.rng.below(8) {
            0 | 1 => Clause::Exactly(self.tag(), self.value()),
            2 if exits => Clause::Exit,
            3 if exits => Clause::ExitOf(self.someone()),
            4 if downs => Clause::Down,
            5 if downs => Clause::DownOf(Operand::Reg(reg(REFERENCE))),
            _ => Clause::Tag(self.tag()),
        }
    }

    fn receive(&mut self, timeout: bool) -> Inst {
        let clauses = if timeout && self.rng.percent(5) { Vec::new() } else { self.clauses() };
        Inst::Receive { tag: Some(reg(TAG)), value: Some(reg(VALUE)), clauses, timeout }
    }

    /// What is received most often: tags, or that nothing came.
    fn test(&mut self, on: usize) -> Test {
        let value = match (on, self.rng.below(5)) {
            (TAG, 0) => tags::TIMEOUT,
            (TAG, _) => i64::from(self.tag()),
            (_, n) => n as i64 % 2,
        };
        Test { reg: reg(on), equal: self.rng.percent(60), value: Operand::Int(value) }
    }

    /// Skips a short phrase, if so.
    fn guarded(&mut self, on: usize, body: usize, insts: &mut Vec<Inst>) {
        let when = Some(self.test(on));
        let mut inner = Vec::new();
        let phrase = self.rng.pick(self.profile.phrases);
        match phrase {
            Phrase::Branch | Phrase::Choose | Phrase::Spawn => inner.push(self.send()),
            phrase => self.phrase(phrase, body, &mut inner),
        }
        insts.push(Inst::Skip { count: inner.len() as u16, when });
        insts.extend(inner);
    }

    fn phrase(&mut self, phrase: Phrase, body: usize, insts: &mut Vec<Inst>) {
        let answer = self.rng.percent(50).then(|| reg(ANSWER));
        let reference = Operand::Reg(reg(REFERENCE));
        match phrase {
            Phrase::Send => insts.push(self.send()),
            Phrase::Receive => {
                let inst = self.receive(false);
                insts.push(inst);
            }
            Phrase::Timeout => {
                let inst = self.receive(true);
                insts.push(inst);
            }
            Phrase::Branch => {
                let timeout = self.rng.percent(20);
                insts.push(self.receive(timeout));
                self.guarded(TAG, body, insts);
            }
            Phrase::Forward => {
                let (tag, value) = (self.tag(), self.value());
                let to = Dest::Value(Operand::Reg(reg(VALUE)));
                insts.push(Inst::Send { to, tag, value });
            }
            Phrase::Choose => {
                insts.push(Inst::Choose { dst: reg(ANSWER), alternatives: 2 });
                self.guarded(ANSWER, body, insts);
            }
            Phrase::Link => {
                let to = self.someone();
                insts.push(if self.rng.percent(60) { Inst::Link(to) } else { Inst::Unlink(to) });
            }
            Phrase::Monitor => self.monitor(answer, insts),
            Phrase::Trap => insts.push(Inst::Trap { dst: answer, on: self.rng.percent(80) }),
            Phrase::Exit => {
                let why = self.why();
                insts.push(Inst::Exit(why));
            }
            Phrase::Signal => {
                let (to, why) = (self.someone(), self.why());
                insts.push(Inst::Signal { to, why });
            }
            Phrase::Name => self.name(answer, insts),
            Phrase::ToName => self.use_name(insts),
            Phrase::Timer => {
                let (to, tag, value) = (Dest::Value(self.someone()), self.tag(), self.value());
                insts.push(Inst::Timer { dst: reg(REFERENCE), to, tag, value });
                match self.rng.below(4) {
                    0 => insts.push(Inst::Cancel { dst: answer, timer: reference }),
                    1 => insts.push(Inst::ReadTimer { dst: reg(ANSWER), timer: reference }),
                    2 => insts.extend([self.send(), Inst::Cancel { dst: answer, timer: reference }]),
                    _ => {}
                }
            }
            Phrase::Alias => {
                insts.push(Inst::Alias { dst: reg(REFERENCE), reply: self.rng.percent(50) });
                let (to, tag) = (Dest::Value(self.someone()), self.tag());
                insts.push(Inst::Send { to, tag, value: reference });
                insts.extend(self.rng.percent(50).then_some(Inst::Unalias { dst: answer, reference }));
            }
            Phrase::Table => {
                let inst = self.table(answer);
                insts.push(inst);
            }
            Phrase::Inspect => {
                let all = [Query::Alive, Query::QueueLength, Query::RegisteredName, Query::TrapExit, Query::Links];
                let (target, query) = (self.someone(), self.rng.pick(&all));
                insts.push(Inst::Inspect { dst: reg(ANSWER), target, query });
            }
            Phrase::Test => {
                let test = self.test(TAG);
                insts.push(if self.rng.percent(50) { Inst::Assert(test) } else { Inst::Check(test) });
            }
            Phrase::Spawn if body + 1 < self.bodies => {
                let child = body + 1 + self.rng.below(self.bodies - body - 1);
                insts.push(self.spawn(child));
            }
            Phrase::Spawn => insts.push(self.send()),
        }
    }

    fn why(&mut self) -> Why {
        match self.rng.below(5) {
            0 => Why::Kill,
            1 => Why::Normal,
            _ => Why::Other(1 + self.rng.below(2) as u8),
        }
    }

    fn monitor(&mut self, answer: Option<Reg>, insts: &mut Vec<Inst>) {
        let names = self.profile.phrases.contains(&Phrase::Name);
        let target = if names && self.rng.percent(30) { Dest::Name(Name::new(0)) } else { Dest::Value(self.someone()) };
        let aliases = [AliasEnd::Unalias, AliasEnd::Demonitor, AliasEnd::Reply];
        let alias = self.rng.percent(25).then(|| self.rng.pick(&aliases));
        insts.push(Inst::Monitor { dst: reg(REFERENCE), target, alias });
        let reference = Operand::Reg(reg(REFERENCE));
        if alias.is_some() && self.rng.percent(70) {
            let (to, tag) = (Dest::Value(self.someone()), self.tag());
            insts.push(Inst::Send { to, tag, value: reference });
        }
        if self.rng.percent(40) {
            insts.push(Inst::Demonitor { dst: answer, reference, flush: self.rng.percent(50) });
        }
    }

    fn name(&mut self, answer: Option<Reg>, insts: &mut Vec<Inst>) {
        let name = Name::new(self.rng.below(2));
        let inst = if self.rng.percent(70) {
            Inst::Register { dst: answer, name, pid: self.someone() }
        } else {
            Inst::Unregister { dst: answer, name }
        };
        insts.push(inst);
    }

    fn use_name(&mut self, insts: &mut Vec<Inst>) {
        let name = Name::new(self.rng.below(2));
        let inst = if self.rng.percent(60) {
            Inst::Send { to: Dest::Name(name), tag: self.tag(), value: self.value() }
        } else {
            Inst::Whereis { dst: reg(ANSWER), name }
        };
        insts.push(inst);
    }

    fn table(&mut self, answer: Option<Reg>) -> Inst {
        let cell = Cell::new(self.rng.below(2));
        match self.rng.below(10) {
            0..=3 => Inst::Put { cell, value: self.value() },
            4 | 5 => Inst::Get { dst: reg(ANSWER), cell },
            6 => Inst::Bump { dst: answer, cell },
            7 => Inst::Fill { value: self.value() },
            8 => Inst::Scan { dst: reg(ANSWER) },
            _ => Inst::Own { cell },
        }
    }
}
