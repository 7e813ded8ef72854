//! Small programs of processes that pass messages, as data.
//!
//! A program is a list of bodies; the first process runs body `b0`, and `spawn` makes a process that runs a body, with a
//! copy of its parent's registers. Registers hold integers, processes and references. All jumps but `back` go forward, and
//! `back` says how often at most, so every process comes to an end or waits.
//!
//! What makes no sense (a message to a number, a name that nobody has where no result is asked for) ends the process with
//! the reason [`BAD`], as Erlang's `badarg` does.

use selvedge_ir::{EntityRef, entity};
use selvedge_messages::{AliasEnd, Name, Pid, Query, Ref};

entity! {
    /// A register of a process.
    Reg, "r"
}

entity! {
    /// What processes run.
    Body, "b"
}

entity! {
    /// A place of the table that all processes share.
    Cell, "c"
}

/// Every process has this many registers; they start as 0.
pub const REGISTERS: usize = 8;
/// There are so many names.
pub const NAMES: usize = 4;
/// And so many places in the shared table.
pub const CELLS: usize = 4;
/// The reason with which a process ends that did something that makes no sense.
pub const BAD: u8 = 99;
/// The reason with which a process ends whose check failed.
pub const FAILED: u8 = 98;

/// What a register holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Value {
    /// A number.
    Int(i64),
    /// A process.
    Pid(Pid),
    /// A reference.
    Ref(Ref),
}

/// Where a value comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operand {
    /// A constant.
    Int(i64),
    /// A register.
    Reg(Reg),
    /// The process itself.
    Me,
}

/// To whom something is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dest {
    /// The process or alias that this is.
    Value(Operand),
    /// Whoever has the name.
    Name(Name),
}

/// Which messages a receive takes: those that fit one of its clauses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clause<V> {
    /// Any.
    Any,
    /// What was sent with this tag.
    Tag(u8),
    /// What was sent with this tag and value.
    Exactly(u8, V),
    /// An exit signal.
    Exit,
    /// An exit signal of this process.
    ExitOf(V),
    /// Any `DOWN`.
    Down,
    /// The `DOWN` of this monitor.
    DownOf(V),
}

/// Why a process ends, as programs say it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// `normal`.
    Normal,
    /// `kill`.
    Kill,
    /// Something else.
    Other(u8),
}

/// Whether a register is equal to something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Test {
    /// The register.
    pub reg: Reg,
    /// Whether it has to be equal, or has not to be.
    pub equal: bool,
    /// To what.
    pub value: Operand,
}

/// What a receive puts into its first register: the tag, or one of these (exit signals and `DOWN` plus the reason).
pub mod tags {
    /// Nothing came.
    pub const TIMEOUT: i64 = 300;
    /// An exit signal; the second register gets the process that it is of.
    pub const EXIT: i64 = 400;
    /// A `DOWN`; the second register gets the reference.
    pub const DOWN: i64 = 700;
}

/// An instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Inst {
    /// Makes a process that runs `body`.
    Spawn { dst: Reg, body: Body, link: bool, monitor: Option<Reg> },
    /// Sends a message.
    Send { to: Dest, tag: u8, value: Operand },
    /// Receives; the registers get tag and value.
    Receive { tag: Option<Reg>, value: Option<Reg>, clauses: Vec<Clause<Operand>>, timeout: bool },
    /// Ends the process.
    Exit(Why),
    /// Links.
    Link(Operand),
    /// Ends a link.
    Unlink(Operand),
    /// Monitors.
    Monitor { dst: Reg, target: Dest, alias: Option<AliasEnd> },
    /// Ends a monitor; asks whether it was there iff there is a register for the answer.
    Demonitor { dst: Option<Reg>, reference: Operand, flush: bool },
    /// Traps exits or does not.
    Trap { dst: Option<Reg>, on: bool },
    /// Sends an exit signal.
    Signal { to: Operand, why: Why },
    /// Registers a name; 1 or 0. If the answer is not asked for, 0 ends the process.
    Register { dst: Option<Reg>, name: Name, pid: Operand },
    /// Takes a name back, likewise.
    Unregister { dst: Option<Reg>, name: Name },
    /// Who has a name; 0 if nobody has.
    Whereis { dst: Reg, name: Name },
    /// Makes an alias.
    Alias { dst: Reg, reply: bool },
    /// Ends it.
    Unalias { dst: Option<Reg>, reference: Operand },
    /// Starts a timer.
    Timer { dst: Reg, to: Dest, tag: u8, value: Operand },
    /// Stops it.
    Cancel { dst: Option<Reg>, timer: Operand },
    /// Whether it runs.
    ReadTimer { dst: Reg, timer: Operand },
    /// Any number below.
    Choose { dst: Reg, alternatives: u32 },
    /// Asks something of a process.
    Inspect { dst: Reg, target: Operand, query: Query },
    /// Writes to the shared table.
    Put { cell: Cell, value: Operand },
    /// Reads it.
    Get { dst: Reg, cell: Cell },
    /// Adds one; gives the old value if asked for.
    Bump { dst: Option<Reg>, cell: Cell },
    /// Writes to all places.
    Fill { value: Operand },
    /// Reads all places: how many hold something other than 0.
    Scan { dst: Reg },
    /// From now on the place is set to 0 when this process ends.
    Own { cell: Cell },
    /// Sets a register.
    Set { dst: Reg, value: Operand },
    /// Jumps forward.
    Skip { count: u16, when: Option<Test> },
    /// Jumps back, at most so many times.
    Back { count: u16, max: u16 },
    /// If the test fails: a violation, and the process is stuck.
    Assert(Test),
    /// If the test fails: a violation, and the process ends with the reason [`FAILED`].
    Check(Test),
}

/// A process body.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Code {
    /// Whether it may wait forever.
    pub server: bool,
    /// What it does.
    pub insts: Vec<Inst>,
}

/// A program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Program {
    /// The bodies; the first process runs the first one.
    pub bodies: Vec<Code>,
}

impl Program {
    /// Whether the program makes sense; if not, why.
    pub fn validate(&self) -> Result<(), String> {
        if self.bodies.is_empty() {
            return Err("there is no body".to_owned());
        }
        for (n, code) in self.bodies.iter().enumerate() {
            for (at, inst) in code.insts.iter().enumerate() {
                self.validate_inst(n, at, inst).map_err(|why| format!("{}, instruction {at}: {why}", Body::new(n)))?;
            }
        }
        Ok(())
    }

    fn validate_inst(&self, body: usize, at: usize, inst: &Inst) -> Result<(), String> {
        let left = self.bodies[body].insts.len() - at - 1;
        match inst {
            // Bodies make processes of later bodies only: the number of processes is bounded.
            Inst::Spawn { body: child, .. } if child.index() <= body || child.index() >= self.bodies.len() => {
                Err(format!("{child} is not a later body"))
            }
            Inst::Skip { count, .. } if usize::from(*count) > left => Err("the jump leads out of the body".to_owned()),
            Inst::Back { count, .. } if usize::from(*count) > at => Err("the jump leads out of the body".to_owned()),
            Inst::Choose { alternatives: 0, .. } => Err("there is nothing to choose".to_owned()),
            Inst::Receive { clauses, timeout: false, .. } if clauses.is_empty() => {
                Err("nothing can be received, and there is no timeout".to_owned())
            }
            Inst::Signal { to: Operand::Int(_), .. } => Err("a number is no process".to_owned()),
            Inst::Receive { clauses, .. } if clauses.contains(&Clause::Any) && clauses.len() > 1 => {
                Err("`any` stands alone".to_owned())
            }
            _ => self.validate_entities(inst),
        }
    }

    fn validate_entities(&self, inst: &Inst) -> Result<(), String> {
        let text = inst.to_string();
        // The text form names every register, name and place: what is printed has to be in range.
        for word in text.split(|c: char| !c.is_ascii_alphanumeric()) {
            let digits = word.trim_start_matches(|c: char| c.is_ascii_alphabetic());
            let Ok(n) = digits.parse::<usize>() else { continue };
            let (limit, what) = match word.strip_suffix(digits).unwrap_or_default() {
                "r" => (REGISTERS, "registers"),
                "name" => (NAMES, "names"),
                "c" => (CELLS, "places"),
                _ => continue,
            };
            if n >= limit {
                return Err(format!("{word}: there are only {limit} {what}"));
            }
        }
        Ok(())
    }
}
