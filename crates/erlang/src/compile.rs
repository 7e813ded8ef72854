//! From Core Erlang to instructions.
//!
//! Every variable gets a register; registers are used again when what they hold goes out of scope. Functions of a `letrec`
//! that are only jumped to (`letrec_goto`: receive loops and shared failures) are labels in the same function; other
//! local functions become functions of their own that get what they use from around them as further arguments.

mod free;
mod pattern;
mod receive;

use crate::atom::Atom;
use crate::bif;
use crate::code::{BuildSegment, Dst, Function, Handler, Instr, Lambda, Operand, Pc, Reg, RemoteCall, Size};
use crate::core::{CoreError, Expr, FunDef, Kind, LocalFn, Place, Segment, Var};
use crate::term::{CodeId, Fun, Term};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// Where compiled functions go, and where those of the module are found.
pub trait CodeTable {
    /// A new place for a function.
    fn reserve(&mut self) -> CodeId;
    /// Fills a place.
    fn define(&mut self, code: CodeId, function: Function);
    /// A function of the module that is being compiled.
    fn module_function(&self, name: Atom, arity: u8) -> Option<CodeId>;
}

/// A local function that has become one of its own.
#[derive(Clone, Debug)]
struct Lifted {
    code: CodeId,
    captures: Vec<Var>,
    name: Atom,
    arity: u8,
}

/// A local function that is jumped to.
#[derive(Clone, Debug)]
struct Label {
    pc: Pc,
    params: Vec<Reg>,
}

/// Where the values of an expression go.
#[derive(Clone, Debug)]
enum Want {
    /// They are the function's result.
    Return,
    /// Into registers.
    Regs(Vec<Reg>),
}

type Result<T> = std::result::Result<T, CoreError>;

/// Compiles a function of a module into its place.
pub fn function(table: &mut dyn CodeTable, module: Atom, name: Atom, code: CodeId, definition: &FunDef) -> Result<()> {
    let mut compiler = Compiler { table, module, lifted: FxHashMap::default() };
    let compiled = compiler.function(name, definition, &[])?;
    compiler.table.define(code, compiled);
    Ok(())
}

struct Compiler<'a> {
    table: &'a mut dyn CodeTable,
    module: Atom,
    lifted: FxHashMap<LocalFn, Lifted>,
}

/// A function that is being compiled.
struct Body {
    name: Atom,
    code: Vec<Instr>,
    places: Vec<Place>,
    handlers: Vec<Handler>,
    registers: FxHashMap<Var, Reg>,
    next: u16,
    most: u16,
    labels: FxHashMap<LocalFn, Label>,
    receives: Vec<(Pc, String)>,
    place: Place,
}

impl Body {
    fn fresh(&mut self) -> Reg {
        let reg = Reg(self.next);
        self.next = self.next.checked_add(1).expect("fewer variables than registers");
        self.most = self.most.max(self.next);
        reg
    }

    fn bind(&mut self, var: Var) -> Reg {
        let reg = self.fresh();
        self.registers.insert(var, reg);
        reg
    }

    fn emit(&mut self, instr: Instr) -> Pc {
        let pc = self.here();
        self.code.push(instr);
        self.places.push(self.place);
        pc
    }

    fn here(&self) -> Pc {
        Pc(u32::try_from(self.code.len()).expect("fewer instructions than numbers"))
    }

    /// Emits a jump whose aim is not known yet.
    fn jump_later(&mut self) -> Pc {
        self.emit(Instr::Jump(Pc(u32::MAX)))
    }

    /// Makes the jump (or test) at `pc` go here.
    fn land(&mut self, pc: Pc) {
        let here = self.here();
        match &mut self.code[pc.0 as usize] {
            Instr::Jump(aim)
            | Instr::TestLiteral(_, _, aim)
            | Instr::TestTuple(_, _, aim)
            | Instr::TestCons(_, _, _, aim)
            | Instr::TestMap(_, aim)
            | Instr::TestKey(_, _, _, aim)
            | Instr::TestBits(_, _, aim)
            | Instr::TestBitsEnd(_, _, aim)
            | Instr::TestTrue(_, aim) => *aim = here,
            Instr::TestSegment(segment) => segment.fail = here,
            other => unreachable!("no jump: {other:?}"),
        }
    }
}

impl Compiler<'_> {
    fn function(&mut self, name: Atom, definition: &FunDef, captures: &[Var]) -> Result<Function> {
        let mut body = Body {
            name,
            code: Vec::new(),
            places: Vec::new(),
            handlers: Vec::new(),
            registers: FxHashMap::default(),
            next: 0,
            most: 0,
            labels: FxHashMap::default(),
            receives: Vec::new(),
            place: definition.body.place,
        };
        for var in definition.params.iter().chain(captures) {
            body.bind(*var);
        }
        let arity = body.next;
        self.expr(&mut body, &definition.body, &Want::Return)?;
        Ok(Function {
            module: self.module,
            name,
            arity: u8::try_from(arity).map_err(|_| CoreError(format!("{name} has more than 255 arguments")))?,
            captured: u8::try_from(captures.len())
                .map_err(|_| CoreError(format!("{name} has more than 255 variables")))?,
            registers: body.most,
            code: body.code.into(),
            places: body.places.into(),
            handlers: body.handlers.into(),
            receives: body.receives.into(),
            place: definition.body.place,
        })
    }

    /// Compiles an expression so that its values come where they are wanted.
    fn expr(&mut self, body: &mut Body, expr: &Expr, want: &Want) -> Result<()> {
        let before = body.place;
        if expr.place.line != 0 {
            body.place = expr.place;
        }
        let mark = body.next;
        self.kind(body, &expr.kind, want)?;
        body.next = mark;
        body.place = before;
        Ok(())
    }

    fn kind(&mut self, body: &mut Body, kind: &Kind, want: &Want) -> Result<()> {
        match kind {
            Kind::Literal(_) | Kind::Var(_) => {
                let operand = self.simple(body, kind).expect("it is simple");
                deliver(body, operand, want);
            }
            Kind::ModuleFn(name, arity) => {
                let fun = self.module_fun(*name, *arity)?;
                deliver(body, Operand::Const(fun), want);
            }
            Kind::LocalFn(id) => {
                let lifted = self.lifted.get(id).cloned().ok_or_else(|| CoreError("a label as a value".into()))?;
                let Lifted { code, captures, name, arity } = lifted;
                let lambda = Lambda { code, name, arity, captured: captured(body, &captures)? };
                deliver_with(body, want, |reg| Instr::Closure(reg, Box::new(lambda)));
            }
            Kind::Cons(head, tail) => {
                let head = self.operand(body, head)?;
                let tail = self.operand(body, tail)?;
                deliver_with(body, want, |reg| Instr::Cons(reg, head, tail));
            }
            Kind::Tuple(items) => {
                let items = self.operands(body, items)?;
                deliver_with(body, want, |reg| Instr::Tuple(reg, items));
            }
            Kind::Map(base, pairs) => {
                let base = self.operand(body, base)?;
                let mut all = Vec::new();
                for (op, key, value) in pairs {
                    all.push((*op, self.operand(body, key)?, self.operand(body, value)?));
                }
                deliver_with(body, want, |reg| Instr::Map(reg, base, all.into()));
            }
            Kind::Binary(segments) => {
                let mut all = Vec::new();
                for segment in segments {
                    all.push(self.build_segment(body, segment)?);
                }
                deliver_with(body, want, |reg| Instr::Bits(reg, all.into()));
            }
            Kind::Fun(definition) => self.fun(body, definition, want)?,
            Kind::Values(values) => self.values(body, values, want)?,
            Kind::Let(vars, arg, then) => {
                let regs: Vec<Reg> = vars.iter().map(|_| body.fresh()).collect();
                if let Some((place, patterns)) = receive::of(arg, then) {
                    body.place = place;
                    body.receives.push((body.here(), patterns));
                }
                self.expr(body, arg, &Want::Regs(regs.clone()))?;
                body.registers.extend(vars.iter().copied().zip(regs));
                self.expr(body, then, want)?;
            }
            Kind::Seq(first, then) => {
                let ignored = body.fresh();
                self.expr(body, first, &Want::Regs(vec![ignored]))?;
                self.expr(body, then, want)?;
            }
            Kind::Letrec(definitions, then, true) => self.labels(body, definitions, then, want)?,
            Kind::Letrec(definitions, then, false) => {
                self.lift(body, definitions)?;
                self.expr(body, then, want)?;
            }
            Kind::Case(arg, clauses) => self.case(body, arg, clauses, want)?,
            Kind::Apply(function, args) => self.apply(body, function, args, want)?,
            Kind::Call(module, name, args) => self.call(body, module, name, args, want)?,
            Kind::Primop(name, args) => self.primop(body, *name, args, want)?,
            Kind::Try(arg, vars, then, evars, handler) => {
                let regs: Vec<Reg> = vars.iter().map(|_| body.fresh()).collect();
                // Two variables if nobody wants the trace.
                let caught = [body.fresh(), body.fresh(), body.fresh()];
                let start = body.here();
                self.expr(body, arg, &Want::Regs(regs.clone()))?;
                let end = body.here();
                body.registers.extend(vars.iter().copied().zip(regs));
                self.expr(body, then, want)?;
                let over = leave(body, want);
                let target = body.here();
                body.handlers.push(Handler { start, end, target, registers: Some(caught) });
                body.registers.extend(evars.iter().copied().zip(caught));
                self.expr(body, handler, want)?;
                arrive(body, over);
            }
            Kind::Catch(arg) => {
                let value = body.fresh();
                let caught = [body.fresh(), body.fresh(), body.fresh()];
                let start = body.here();
                self.expr(body, arg, &Want::Regs(vec![value]))?;
                let end = body.here();
                let over = body.jump_later();
                let target = body.here();
                body.handlers.push(Handler { start, end, target, registers: Some(caught) });
                let [class, reason, trace] = caught;
                body.emit(Instr::CatchValue(value, class, reason, trace));
                body.land(over);
                deliver(body, Operand::Reg(value), want);
            }
        }
        Ok(())
    }

    /// A constant or variable, without any instruction.
    fn simple(&mut self, body: &Body, kind: &Kind) -> Option<Operand> {
        match kind {
            Kind::Literal(term) => Some(Operand::Const(term.clone())),
            Kind::Var(var) => Some(Operand::Reg(body.registers[var])),
            _ => None,
        }
    }

    /// The value of an expression, for use in an instruction.
    fn operand(&mut self, body: &mut Body, expr: &Expr) -> Result<Operand> {
        if let Some(operand) = self.simple(body, &expr.kind) {
            return Ok(operand);
        }
        let reg = body.fresh();
        self.expr(body, expr, &Want::Regs(vec![reg]))?;
        Ok(Operand::Reg(reg))
    }

    fn operands(&mut self, body: &mut Body, exprs: &[Expr]) -> Result<Box<[Operand]>> {
        exprs.iter().map(|expr| self.operand(body, expr)).collect()
    }

    /// `fun name/arity` of the module, as a constant.
    fn module_fun(&mut self, name: Atom, arity: u8) -> Result<Term> {
        let code = self.module_code(name, arity)?;
        let captured = Box::new([]);
        Ok(Term::Fun(Rc::new(Fun::Local { code, module: self.module, name, arity, captured })))
    }

    fn module_code(&self, name: Atom, arity: u8) -> Result<CodeId> {
        let found = self.table.module_function(name, arity);
        found.ok_or_else(|| CoreError(format!("there is no function {name}/{arity} in {}", self.module)))
    }

    fn values(&mut self, body: &mut Body, values: &[Expr], want: &Want) -> Result<()> {
        match want {
            Want::Regs(regs) if regs.len() == values.len() => {
                // All are computed before any is set: one may be used by another.
                let operands = self.operands(body, values)?;
                for (reg, operand) in regs.clone().into_iter().zip(operands) {
                    body.emit(Instr::Move(reg, operand));
                }
                Ok(())
            }
            _ => match values {
                [one] => self.expr(body, one, want),
                _ => Err(CoreError("several values where one is wanted".into())),
            },
        }
    }

    fn fun(&mut self, body: &mut Body, definition: &FunDef, want: &Want) -> Result<()> {
        let captures = self.captures(std::iter::once(definition), &[]);
        let name = definition.name.unwrap_or_else(|| Atom::new(&format!("-{}-fun-", body.name)));
        let code = self.table.reserve();
        let compiled = self.function(name, definition, &captures)?;
        self.table.define(code, compiled);
        let arity = u8::try_from(definition.params.len()).map_err(|_| CoreError("too many arguments".into()))?;
        let lambda = Lambda { code, name, arity, captured: captured(body, &captures)? };
        deliver_with(body, want, |reg| Instr::Closure(reg, Box::new(lambda)));
        Ok(())
    }

    fn lift(&mut self, body: &mut Body, definitions: &[(LocalFn, FunDef)]) -> Result<()> {
        let own: Vec<LocalFn> = definitions.iter().map(|(id, _)| *id).collect();
        let captures = self.captures(definitions.iter().map(|(_, definition)| definition), &own);
        for (id, definition) in definitions {
            let short = definition.name.map_or("", Atom::name);
            let name = if short.starts_with('-') { short.to_owned() } else { format!("-{}-{short}-", body.name) };
            let arity = u8::try_from(definition.params.len()).map_err(|_| CoreError("too many arguments".into()))?;
            let code = self.table.reserve();
            self.lifted.insert(*id, Lifted { code, captures: captures.clone(), name: Atom::new(&name), arity });
        }
        for (id, definition) in definitions {
            let Lifted { code, name, .. } = self.lifted[id];
            let compiled = self.function(name, definition, &captures)?;
            self.table.define(code, compiled);
        }
        Ok(())
    }

    /// What functions use from around them: their free variables, and what other local functions need that they call.
    fn captures<'a>(&self, definitions: impl Iterator<Item = &'a FunDef>, own: &[LocalFn]) -> Vec<Var> {
        let mut free = free::Free::default();
        for definition in definitions {
            free.fun(definition);
        }
        let mut captures: Vec<Var> = free.variables().collect();
        for function in free.functions().filter(|function| !own.contains(function)) {
            if let Some(lifted) = self.lifted.get(&function) {
                captures.extend(&lifted.captures);
            }
        }
        captures.sort_unstable();
        captures.dedup();
        captures
    }

    fn labels(&mut self, body: &mut Body, definitions: &[(LocalFn, FunDef)], then: &Expr, want: &Want) -> Result<()> {
        let over = body.jump_later();
        let mut params = Vec::new();
        for (_, definition) in definitions {
            params.push(definition.params.iter().map(|param| body.bind(*param)).collect::<Vec<_>>());
        }
        let mut leaving = Vec::new();
        // A label may be jumped to from one that comes before it, so all stand at jumps of their own.
        let mut stubs = Vec::new();
        for ((id, _), params) in definitions.iter().zip(params) {
            let pc = body.jump_later();
            stubs.push(pc);
            body.labels.insert(*id, Label { pc, params });
        }
        for ((_, definition), stub) in definitions.iter().zip(stubs) {
            body.land(stub);
            self.expr(body, &definition.body, want)?;
            leaving.extend(leave(body, want));
        }
        body.land(over);
        self.expr(body, then, want)?;
        for pc in leaving {
            body.land(pc);
        }
        Ok(())
    }

    fn apply(&mut self, body: &mut Body, function: &Expr, args: &[Expr], want: &Want) -> Result<()> {
        match &function.kind {
            Kind::LocalFn(id) if body.labels.contains_key(id) => {
                let label = body.labels[id].clone();
                let operands = self.operands(body, args)?;
                let copies: Vec<Reg> = operands.iter().map(|_| body.fresh()).collect();
                for (copy, operand) in copies.iter().zip(operands) {
                    body.emit(Instr::Move(*copy, operand));
                }
                for (param, copy) in label.params.iter().zip(copies) {
                    body.emit(Instr::Move(*param, Operand::Reg(copy)));
                }
                body.emit(Instr::Jump(label.pc));
            }
            Kind::LocalFn(id) => {
                let lifted = self.lifted.get(id).cloned().ok_or_else(|| CoreError("a function out of scope".into()))?;
                if usize::from(lifted.arity) != args.len() {
                    return Err(CoreError(format!("{} is called with {} arguments", lifted.name, args.len())));
                }
                let mut operands = self.operands(body, args)?.into_vec();
                operands.extend(captured(body, &lifted.captures)?);
                call(body, want, |dst| Instr::Call(dst, lifted.code, operands.into()));
            }
            Kind::ModuleFn(name, arity) if usize::from(*arity) == args.len() => {
                let code = self.module_code(*name, *arity)?;
                let operands = self.operands(body, args)?;
                call(body, want, |dst| Instr::Call(dst, code, operands));
            }
            _ => {
                let function = self.operand(body, function)?;
                let operands = self.operands(body, args)?;
                call(body, want, |dst| Instr::Apply(dst, function, operands));
            }
        }
        Ok(())
    }

    fn call(&mut self, body: &mut Body, module: &Expr, name: &Expr, args: &[Expr], want: &Want) -> Result<()> {
        if let (Kind::Literal(Term::Atom(module)), Kind::Literal(Term::Atom(name))) = (&module.kind, &name.kind) {
            let operands = self.operands(body, args)?;
            let arity = u8::try_from(args.len()).map_err(|_| CoreError("too many arguments".into()))?;
            match bif::pure(*module, *name, arity) {
                Some(native) => deliver_with(body, want, |reg| Instr::Native(reg, native, operands, (*module, *name))),
                None => {
                    let (module, name) = (*module, *name);
                    call(body, want, |dst| {
                        Instr::CallRemote(Box::new(RemoteCall { module, name, args: operands, dst }))
                    });
                }
            }
            return Ok(());
        }
        let module = self.operand(body, module)?;
        let name = self.operand(body, name)?;
        let operands = self.operands(body, args)?;
        call(body, want, |dst| Instr::CallComputed(dst, module, name, operands));
        Ok(())
    }

    fn primop(&mut self, body: &mut Body, name: Atom, args: &[Expr], want: &Want) -> Result<()> {
        let mut operands = self.operands(body, args)?.into_vec();
        match (name.name(), operands.as_mut_slice()) {
            ("match_fail", [reason]) => {
                let reason = reason.clone();
                body.emit(Instr::MatchFail(reason));
            }
            ("raise", [caught, reason]) => {
                let (caught, reason) = (caught.clone(), reason.clone());
                body.emit(Instr::Raise(caught, reason));
            }
            ("raw_raise", [class, reason, caught]) => {
                let instr = Instr::RawRaise(class.clone(), reason.clone(), caught.clone());
                body.emit(instr);
            }
            ("build_stacktrace", [caught]) => {
                let caught = caught.clone();
                deliver_with(body, want, |reg| Instr::Stacktrace(reg, caught));
            }
            ("recv_peek_message", []) => match want {
                Want::Regs(regs) if regs.len() == 2 => {
                    let (found, message) = (regs[0], regs[1]);
                    body.emit(Instr::PeekMessage(found, message));
                }
                _ => return Err(CoreError("recv_peek_message has two results".into())),
            },
            ("remove_message", []) => {
                body.emit(Instr::RemoveMessage);
                deliver(body, Operand::Const(Term::Atom(Atom::TRUE)), want);
            }
            ("recv_next", []) => {
                body.emit(Instr::NextMessage);
                deliver(body, Operand::Const(Term::Atom(Atom::TRUE)), want);
            }
            ("recv_wait_timeout", [time]) => {
                let time = time.clone();
                deliver_with(body, want, |reg| Instr::WaitTimeout(reg, time));
            }
            ("bs_init_writable", [_]) => deliver(body, Operand::Const(Term::binary(&[])), want),
            _ => {
                body.emit(Instr::Unknown(name));
            }
        }
        Ok(())
    }

    fn build_segment(&mut self, body: &mut Body, segment: &Segment<Expr>) -> Result<BuildSegment> {
        let value = self.operand(body, &segment.value)?;
        let size = self.size(body, &segment.size)?;
        Ok(BuildSegment { value, size, unit: segment.unit, kind: segment.kind, little: segment.little })
    }

    fn size(&mut self, body: &mut Body, size: &Expr) -> Result<Size> {
        Ok(match &size.kind {
            Kind::Literal(Term::Atom(Atom::ALL)) => Size::All,
            Kind::Literal(Term::Atom(Atom::UNDEFINED)) => Size::Implied,
            _ => Size::Units(self.operand(body, size)?),
        })
    }
}

/// The values that a function keeps, from where they are in this one.
fn captured(body: &Body, captures: &[Var]) -> Result<Box<[Operand]>> {
    let find = |var: &Var| body.registers.get(var).map(|reg| Operand::Reg(*reg));
    captures.iter().map(|var| find(var).ok_or_else(|| CoreError("a variable out of scope".into()))).collect()
}

/// Brings one value where it is wanted.
fn deliver(body: &mut Body, operand: Operand, want: &Want) {
    match want {
        Want::Return => {
            body.emit(Instr::Return(operand));
        }
        Want::Regs(regs) => {
            if let [reg] = regs[..] {
                body.emit(Instr::Move(reg, operand));
            }
        }
    }
}

/// Brings the result of an instruction where it is wanted.
fn deliver_with(body: &mut Body, want: &Want, instr: impl FnOnce(Reg) -> Instr) {
    match want {
        Want::Regs(regs) if regs.len() == 1 => {
            body.emit(instr(regs[0]));
        }
        _ => {
            let reg = body.fresh();
            body.emit(instr(reg));
            deliver(body, Operand::Reg(reg), want);
        }
    }
}

/// Brings the result of a call where it is wanted; a call whose result is the function's is the last thing it does.
fn call(body: &mut Body, want: &Want, instr: impl FnOnce(Dst) -> Instr) {
    let dst = match want {
        Want::Return => Dst::Return,
        Want::Regs(regs) if regs.len() == 1 => Dst::Reg(regs[0]),
        Want::Regs(_) => Dst::Reg(body.fresh()),
    };
    body.emit(instr(dst));
}

/// Leaves a branch whose values have been delivered; nothing to do if the function is left too.
fn leave(body: &mut Body, want: &Want) -> Option<Pc> {
    match want {
        Want::Return => None,
        Want::Regs(_) => Some(body.jump_later()),
    }
}

fn arrive(body: &mut Body, pc: Option<Pc>) {
    if let Some(pc) = pc {
        body.land(pc);
    }
}
