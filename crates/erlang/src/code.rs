//! Compiled functions: instructions over registers.
//!
//! A function has one array of registers per call; `let`, `case` and receive loops are jumps in it. So the state of a
//! process is a chain of frames (`process.rs`), which is cheap to copy, and deep recursion costs no stack of ours.
//! Exceptions are caught by ranges of instructions, innermost first; outside of `try` they cost nothing.

use crate::atom::Atom;
use crate::bif::Native;
use crate::core::{MapOp, Place, SegmentKind};
use crate::term::{CodeId, Term};

/// A register of a frame.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Reg(pub u16);

/// A place in a function's code.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Pc(pub u32);

/// A value that an instruction uses.
#[derive(Clone, Debug)]
pub enum Operand {
    /// What is in a register.
    Reg(Reg),
    /// A constant.
    Const(Term),
}

/// Where the result of a call goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dst {
    /// Into a register.
    Reg(Reg),
    /// It is the result of the function itself.
    Return,
}

/// A segment of a bit string that is built.
#[derive(Clone, Debug)]
pub struct BuildSegment {
    /// What goes in.
    pub value: Operand,
    /// How many units; none: as the type says.
    pub size: Size,
    /// Bits per unit.
    pub unit: u32,
    /// As what.
    pub kind: SegmentKind,
    /// Least significant byte first.
    pub little: bool,
}

/// The size of a segment.
#[derive(Clone, Debug)]
pub enum Size {
    /// All that there is.
    All,
    /// What the type says.
    Implied,
    /// So many units.
    Units(Operand),
}

/// A segment that is matched.
#[derive(Clone, Debug)]
pub struct MatchSegment {
    /// The bit string.
    pub source: Reg,
    /// How many bits of it have been matched.
    pub position: Reg,
    /// Where the value goes.
    pub dst: Reg,
    /// How many units.
    pub size: Size,
    /// Bits per unit.
    pub unit: u32,
    /// As what.
    pub kind: SegmentKind,
    /// Whether an integer has a sign.
    pub signed: bool,
    /// Least significant byte first.
    pub little: bool,
    /// Where to go if it does not match.
    pub fail: Pc,
}

/// A call of a function in another module (or of a built-in one).
#[derive(Clone, Debug)]
pub struct RemoteCall {
    /// The module.
    pub module: Atom,
    /// The function.
    pub name: Atom,
    /// The arguments.
    pub args: Box<[Operand]>,
    /// Where the result goes.
    pub dst: Dst,
}

/// A `fun` that is made.
#[derive(Clone, Debug)]
pub struct Lambda {
    /// Its code.
    pub code: CodeId,
    /// Its name.
    pub name: Atom,
    /// How many arguments it takes.
    pub arity: u8,
    /// The values that it keeps.
    pub captured: Box<[Operand]>,
}

/// An instruction.
#[derive(Clone, Debug)]
pub enum Instr {
    /// Copies a value.
    Move(Reg, Operand),
    /// `[Head | Tail]`
    Cons(Reg, Operand, Operand),
    /// `{...}`
    Tuple(Reg, Box<[Operand]>),
    /// A map, from another and pairs.
    Map(Reg, Operand, Box<[(MapOp, Operand, Operand)]>),
    /// A bit string.
    Bits(Reg, Box<[BuildSegment]>),
    /// A `fun`.
    Closure(Reg, Box<Lambda>),
    /// A call of a function whose code is known.
    Call(Dst, CodeId, Box<[Operand]>),
    /// A call of a native function without effects.
    Native(Reg, Native, Box<[Operand]>, (Atom, Atom)),
    /// A call by module and name.
    CallRemote(Box<RemoteCall>),
    /// A call whose module or name is computed.
    CallComputed(Dst, Operand, Operand, Box<[Operand]>),
    /// A call of a function value.
    Apply(Dst, Operand, Box<[Operand]>),
    /// The function's result.
    Return(Operand),
    /// Goes somewhere else.
    Jump(Pc),
    /// Goes on if the value is this constant.
    TestLiteral(Reg, Term, Pc),
    /// Goes on if it is a tuple of this size.
    TestTuple(Reg, u32, Pc),
    /// Goes on if it is `[_ | _]`; its parts go into two registers.
    TestCons(Reg, Reg, Reg, Pc),
    /// Goes on if it is a map.
    TestMap(Reg, Pc),
    /// Goes on if the map has the key; its value goes into a register.
    TestKey(Reg, Operand, Reg, Pc),
    /// Goes on if it is a bit string; the position is set to its start.
    TestBits(Reg, Reg, Pc),
    /// Goes on if the segment matches.
    TestSegment(Box<MatchSegment>),
    /// Goes on if all bits have been matched.
    TestBitsEnd(Reg, Reg, Pc),
    /// Goes on if it is `true`.
    TestTrue(Operand, Pc),
    /// An element of a tuple, from 0.
    Element(Reg, Reg, u32),
    /// No clause matches.
    MatchFail(Operand),
    /// Raises an exception again: what was caught, and the reason.
    Raise(Operand, Operand),
    /// Raises an exception: class, reason, and what was caught or a stack trace.
    RawRaise(Operand, Operand, Operand),
    /// The stack trace of what was caught.
    Stacktrace(Reg, Operand),
    /// What `catch` gives for an exception: class, reason, what was caught.
    CatchValue(Reg, Reg, Reg, Reg),
    /// Is there a message? Which?
    PeekMessage(Reg, Reg),
    /// Takes the message.
    RemoveMessage,
    /// Leaves the message.
    NextMessage,
    /// Waits for a message; `true` if the time is over.
    WaitTimeout(Reg, Operand),
    /// A primop that is not known: its name.
    Unknown(Atom),
}

impl Instr {
    /// Whether a process may wait here for a message.
    pub fn is_receive(&self) -> bool {
        matches!(self, Instr::PeekMessage(..) | Instr::WaitTimeout(..))
    }
}

/// A range of instructions whose exceptions are caught.
#[derive(Clone, Debug)]
pub struct Handler {
    /// The first instruction.
    pub start: Pc,
    /// The first behind it.
    pub end: Pc,
    /// Where to go.
    pub target: Pc,
    /// Where class, reason and what was caught go; a guard that fails tells nothing.
    pub registers: Option<[Reg; 3]>,
}

/// A compiled function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its module.
    pub module: Atom,
    /// Its name.
    pub name: Atom,
    /// The number of its parameters, kept values included (which come last).
    pub arity: u8,
    /// The number of values that a `fun` keeps.
    pub captured: u8,
    /// How many registers a frame has.
    pub registers: u16,
    /// The instructions.
    pub code: Box<[Instr]>,
    /// Where each instruction stands in the source.
    pub places: Box<[Place]>,
    /// Innermost first.
    pub handlers: Box<[Handler]>,
    /// Where its receives are, and their patterns as text.
    pub receives: Box<[(Pc, String)]>,
    /// Where the function itself stands.
    pub place: Place,
}
