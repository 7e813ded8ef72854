//! What was done with each loop, in words.
//!
//! Conditions are shown in terms of the source: a value that was loaded by the name of what was loaded, a local variable
//! by its name. Where a name is missing the line of the computation stands for it.

use super::forward_purity::Context;
use super::guards::original;
use super::insertion::{Plan, loop_position};
use super::purity_condition::{Atom, Condition, Conjunction, TooLarge, inverse};
use super::reasons::{Reason, Why};
use crate::LoopForest;
use selvedge_ir::{
    AwaitKind, Block, CmpOp, FuncId, Function, Inst, InstKind, LocId, Module, Operand, RmwOp, Type, Value, ValueDef,
    eval,
};
use std::fmt;

/// A position in the source; line 0 if unknown.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Position {
    /// The file as the compiler named it.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str("unknown position"),
            line => write!(f, "{}:{line}:{}", self.file, self.column),
        }
    }
}

/// What became of a loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Iterations that are pure under a condition, in words, are cut off.
    Pure(String),
    /// Its iterations are never pure any more once inner loops have been treated.
    Eliminated,
    /// It was left alone, for these reasons.
    LeftAlone(Vec<String>),
    /// It is none any more: attempts that fail are cut off (`confirmation_cas/`).
    Confirmed,
}

/// What was inserted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// An assumption.
    Assume,
    /// An access became an await.
    Await,
    /// The loop has no end: the thread waits for something that never comes.
    Never,
}

/// An assumption or await, and where it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Insertion {
    /// Where.
    pub position: Position,
    /// What.
    pub kind: Kind,
    /// The condition under which the thread goes on.
    pub until: String,
}

/// What became of a loop, and where it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoopReport {
    /// The source name of the function.
    pub function: String,
    /// Where its header is.
    pub position: Position,
    /// What became of it.
    pub outcome: Outcome,
    /// What was inserted where.
    pub insertions: Vec<Insertion>,
    /// What is to be said about compare-and-exchanges in it that confirm a load.
    pub confirmations: Vec<String>,
}

impl LoopReport {
    /// A report before anything is inserted.
    pub fn new(context: &Context<'_>, condition: &Result<Condition, TooLarge>, reasons: &[Reason]) -> LoopReport {
        let words = Words { module: context.module, func: context.func };
        let outcome = match condition {
            Err(TooLarge) => Outcome::LeftAlone(vec!["its purity condition is too large".to_owned()]),
            Ok(condition) if condition.is_never() => Outcome::LeftAlone(words.reasons(reasons)),
            Ok(condition) => Outcome::Pure(words.condition(condition)),
        };
        let (function, position) = place_of_loop(context.module, context.func, context.this.header);
        LoopReport { function, position, outcome, insertions: Vec::new(), confirmations: Vec::new() }
    }
}

impl Insertion {
    /// An assumption, to begin with.
    pub fn new(context: &Context<'_>, plan: &Plan) -> Insertion {
        let words = Words { module: context.module, func: context.func };
        let mut ways: Vec<String> =
            plan.atoms.iter().map(|atom| words.atom(&Atom { op: inverse(atom.op), ..*atom })).collect();
        if plan.took {
            ways.push("an inner loop went round".to_owned());
        }
        let until = if ways.is_empty() { "never".to_owned() } else { ways.join(" or ") };
        Insertion { position: position(context.module, plan.loc), kind: Kind::Assume, until }
    }
}

impl fmt::Display for LoopReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: loop in {}", self.position, self.function)?;
        match &self.outcome {
            Outcome::Pure(condition) => writeln!(f, "  pure if {condition}")?,
            Outcome::Eliminated => writeln!(f, "  never pure once the loops in it are treated")?,
            Outcome::LeftAlone(reasons) => writeln!(f, "  left alone: {}", reasons.join("; "))?,
            Outcome::Confirmed => {}
        }
        for confirmation in &self.confirmations {
            writeln!(f, "  {confirmation}")?;
        }
        for insertion in &self.insertions {
            let Insertion { position, until, .. } = insertion;
            match insertion.kind {
                Kind::Assume => writeln!(f, "  {position}: goes on only if {until}")?,
                Kind::Await => writeln!(f, "  {position}: waits until {until}")?,
                Kind::Never => writeln!(f, "  {position}: no way out: a thread that comes here spins forever")?,
            }
        }
        Ok(())
    }
}

/// The regions of a function that are no loops.
pub fn irreducible(module: &Module, id: FuncId) -> Vec<LoopReport> {
    let func = &module.functions[id];
    let forest = LoopForest::of(func);
    let report = |&(_, to): &(Block, Block)| LoopReport {
        function: func.source_name.clone(),
        position: position(module, loop_position(module, func, to)),
        outcome: Outcome::LeftAlone(vec!["it can be entered at several places (by goto)".to_owned()]),
        insertions: Vec::new(),
        confirmations: Vec::new(),
    };
    forest.irreducible.iter().map(report).collect()
}

/// The function that the loop with this header stands in, and where.
pub fn place_of_loop(module: &Module, func: &Function, header: Block) -> (String, Position) {
    let loc = loop_position(module, func, header);
    (function_name(module, func, loc), position(module, loc))
}

/// The function that a loop stands in, in the words of the source.
fn function_name(module: &Module, func: &Function, loc: LocId) -> String {
    match module.locs[loc].function.as_str() {
        "" => func.source_name.clone(),
        home if home == func.source_name => home.to_owned(),
        home => format!("{home}, inlined into {}", func.source_name),
    }
}

/// The source position behind a position of the program: that of the innermost inlined code.
pub fn position(module: &Module, loc: LocId) -> Position {
    let data = &module.locs[loc];
    let file = data.file.map_or(String::new(), |file| module.files[file].name.clone());
    Position { file, line: data.line, column: data.column }
}

/// A function, to be spoken of in the words of the source.
pub struct Words<'a> {
    /// The program.
    pub module: &'a Module,
    /// The function.
    pub func: &'a Function,
}

impl Words<'_> {
    fn condition(&self, condition: &Condition) -> String {
        let single = condition.disjuncts.len() == 1;
        let ways: Vec<String> = condition
            .disjuncts
            .iter()
            .map(|way| match way.atoms.len() {
                0 | 1 => self.conjunction(way),
                _ if single => self.conjunction(way),
                _ => format!("({})", self.conjunction(way)),
            })
            .collect();
        ways.join(" or ")
    }

    fn conjunction(&self, conjunction: &Conjunction) -> String {
        if conjunction.atoms.is_empty() {
            return "it is entered at all".to_owned();
        }
        let atoms: Vec<String> = conjunction.atoms.iter().map(|atom| self.atom(atom)).collect();
        atoms.join(" and ")
    }

    fn atom(&self, atom: &Atom) -> String {
        if let Some(words) = self.exchange(atom) {
            return words;
        }
        if atom.ty == Type::I1 && atom.b == Operand::Const(0) {
            let name = self.operand(atom.a, atom.ty);
            return if atom.op == CmpOp::Ne { name } else { format!("not {name}") };
        }
        let (mut a, mut b) = (self.operand(atom.a, atom.ty), self.operand(atom.b, atom.ty));
        if a == b {
            a.push_str(&self.line(atom.a));
            b.push_str(&self.line(atom.b));
        }
        match atom.mask == atom.ty.mask() {
            true => format!("{a} {} {b}", symbol(atom.op)),
            false => {
                // Of a single bit one asks whether it is set.
                let bit = atom.mask.is_power_of_two() && atom.b == Operand::Const(atom.mask);
                let (op, b) = match atom.op {
                    CmpOp::Eq | CmpOp::Ne if bit => (inverse(atom.op), "0".to_owned()),
                    op => (op, b),
                };
                format!("{a} & {} {} {b}", number(atom.mask, Type::I64), symbol(op))
            }
        }
    }

    /// Where a value comes from, to tell values of one name apart.
    fn line(&self, operand: Operand) -> String {
        let Operand::Value(value) = operand else { return String::new() };
        match self.func.values[value].def {
            ValueDef::Result(inst, _) if !self.func.insts[inst].kind.is_phi() => {
                format!(" (line {})", self.module.locs[self.func.insts[inst].loc].line)
            }
            _ => " (before)".to_owned(),
        }
    }

    /// Whether a compare-and-exchange succeeded.
    fn exchange(&self, atom: &Atom) -> Option<String> {
        let Operand::Value(value) = atom.a else { return None };
        let ValueDef::Result(inst, 0) = self.func.values[value].def else { return None };
        let (InstKind::Cas { expected, .. } | InstKind::Await { access: AwaitKind::Cas { expected, .. }, .. }) =
            self.func.insts[inst].kind
        else {
            return None;
        };
        let what = format!("the compare-and-exchange of {}", self.path(inst)?);
        match atom.op {
            _ if atom.b != original(self.func, expected) => None,
            CmpOp::Eq => Some(format!("{what} succeeds")),
            CmpOp::Ne => Some(format!("{what} fails")),
            _ => None,
        }
    }

    /// What an access touches, if it has a name.
    pub fn path(&self, inst: Inst) -> Option<String> {
        self.func.insts[inst].kind.path().map(|path| self.module.paths[path].clone())
    }

    fn operand(&self, operand: Operand, ty: Type) -> String {
        match operand {
            Operand::Const(bits) => number(bits, ty),
            Operand::Undef => "0".to_owned(),
            Operand::Global(id, _) => format!("&{}", self.module.globals[id].source_name),
            Operand::Func(id) => self.module.functions[id].source_name.clone(),
            Operand::Value(value) => self.value(value),
        }
    }

    fn value(&self, value: Value) -> String {
        let data = &self.func.values[value];
        let named = |what: &str| if data.name.is_empty() { what.to_owned() } else { data.name.clone() };
        let ValueDef::Result(inst, _) = data.def else { return named("a parameter") };
        let kind = &self.func.insts[inst].kind;
        match (self.path(inst), kind) {
            (Some(path), InstKind::Rmw { .. } | InstKind::Cas { .. } | InstKind::Await { .. }) => format!("old {path}"),
            (Some(path), _) => path,
            (None, InstKind::Phi { .. }) => named("a variable"),
            (None, InstKind::Cast { a, from, .. }) => self.operand(*a, *from),
            (None, _) => {
                let line = self.module.locs[self.func.insts[inst].loc].line;
                format!("the value computed in line {line}")
            }
        }
    }

    fn reasons(&self, reasons: &[Reason]) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        for reason in reasons {
            let line = self.module.locs[reason.loc].line;
            let text = match reason.why {
                Why::Changes(value) => format!("{} changes (line {line})", self.value(value)),
                Why::AlwaysChanges => format!("a local variable always changes (line {line})"),
                Why::Acts(inst) => format!("{} (line {line})", self.act(inst)),
                Why::WaitsForChange(inst) => {
                    let path = self.path(inst).unwrap_or_else(|| "memory".to_owned());
                    format!("it has waited until {path} changes (line {line})")
                }
            };
            if !words.contains(&text) {
                words.push(text);
            }
        }
        if words.is_empty() {
            words.push("no iteration comes back to its start without going round an inner loop".to_owned());
        }
        words
    }

    /// What an instruction does that keeps an iteration from being pure.
    pub fn act(&self, inst: Inst) -> String {
        let path = self.path(inst).unwrap_or_else(|| "memory".to_owned());
        match &self.func.insts[inst].kind {
            InstKind::Call { callee: selvedge_ir::Callee::Direct(id), .. } => {
                format!("{} is called", self.module.functions[*id].source_name)
            }
            InstKind::Call { .. } => "a function is called through a pointer".to_owned(),
            InstKind::Alloca { .. } => "a local object is made".to_owned(),
            InstKind::Unsupported { feature } => format!("unsupported: {feature}"),
            InstKind::Cas { .. } | InstKind::Await { access: AwaitKind::Cas { .. }, .. } => {
                format!("{path} is exchanged whenever the loop goes round")
            }
            InstKind::Rmw { op: RmwOp::Xchg, .. } => format!("{path} is exchanged"),
            InstKind::Rmw { .. } | InstKind::Await { .. } => format!("{path} is changed"),
            InstKind::Assume { .. } => "an assumption excludes it".to_owned(),
            _ => format!("{path} is written"),
        }
    }
}

fn number(bits: u64, ty: Type) -> String {
    match ty {
        Type::Ptr if bits == 0 => "null".to_owned(),
        Type::Ptr => format!("{bits:#x}"),
        ty => eval::sign_extend(ty, bits).to_string(),
    }
}

fn symbol(op: CmpOp) -> &'static str {
    match op {
        CmpOp::Eq => "==",
        CmpOp::Ne => "!=",
        CmpOp::Ult | CmpOp::Slt => "<",
        CmpOp::Ule | CmpOp::Sle => "<=",
        CmpOp::Ugt | CmpOp::Sgt => ">",
        CmpOp::Uge | CmpOp::Sge => ">=",
        _ => "?",
    }
}
