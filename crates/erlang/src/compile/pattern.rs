//! `case`: patterns as tests that jump to the next clause.

use super::{Body, Compiler, Result, Want, leave};
use crate::code::{Handler, Instr, MatchSegment, Operand, Pc, Reg};
use crate::core::{Clause, Expr, Kind, Pattern, Segment, SegmentKind};
use crate::term::Term;
use crate::{atom::Atom, core::CoreError};

impl Compiler<'_> {
    pub(super) fn case(&mut self, body: &mut Body, arg: &Expr, clauses: &[Clause], want: &Want) -> Result<()> {
        let values = self.scrutinee(body, arg, clauses)?;
        let mut leaving = Vec::new();
        let mut open = true;
        for clause in clauses {
            if clause.patterns.len() != values.len() {
                return Err(CoreError("a clause with another number of patterns".into()));
            }
            let mark = body.next;
            let mut fails = Vec::new();
            for (pattern, reg) in clause.patterns.iter().zip(&values) {
                self.pattern(body, pattern, *reg, &mut fails)?;
            }
            self.guard(body, &clause.guard, &mut fails)?;
            self.expr(body, &clause.body, want)?;
            leaving.extend(leave(body, want));
            for fail in &fails {
                body.land_fail(*fail);
            }
            body.next = mark;
            if fails.is_empty() {
                // Nothing gets behind this clause.
                open = false;
                break;
            }
        }
        if open {
            // The compiler adds a clause that always matches; should it ever leave it out, this is what happens.
            body.emit(Instr::MatchFail(Operand::Const(Term::Atom(Atom::CASE_CLAUSE))));
        }
        for pc in leaving {
            body.land(pc);
        }
        Ok(())
    }

    /// The values that are matched, each in a register.
    fn scrutinee(&mut self, body: &mut Body, arg: &Expr, clauses: &[Clause]) -> Result<Vec<Reg>> {
        if let Kind::Var(var) = &arg.kind {
            return Ok(vec![body.registers[var]]);
        }
        if let Kind::Values(values) = &arg.kind {
            let mut regs = Vec::new();
            for value in values {
                regs.push(match self.operand(body, value)? {
                    Operand::Reg(reg) => reg,
                    constant @ Operand::Const(_) => {
                        let reg = body.fresh();
                        body.emit(Instr::Move(reg, constant));
                        reg
                    }
                });
            }
            return Ok(regs);
        }
        let count = clauses.first().map_or(1, |clause| clause.patterns.len());
        let regs: Vec<Reg> = (0..count).map(|_| body.fresh()).collect();
        self.expr(body, arg, &Want::Regs(regs.clone()))?;
        Ok(regs)
    }

    fn guard(&mut self, body: &mut Body, guard: &Expr, fails: &mut Vec<Fail>) -> Result<()> {
        if matches!(guard.kind, Kind::Literal(Term::Atom(Atom::TRUE))) {
            return Ok(());
        }
        let start = body.here();
        let holds = self.operand(body, guard)?;
        let end = body.here();
        if start != end {
            // A guard that raises an exception fails. The aim is set with those of the tests.
            body.handlers.push(Handler { start, end, target: Pc(u32::MAX), registers: None });
            fails.push(Fail::Handler(body.handlers.len() - 1));
        }
        fails.push(Fail::Test(body.emit(Instr::TestTrue(holds, Pc(u32::MAX)))));
        Ok(())
    }

    fn pattern(&mut self, body: &mut Body, pattern: &Pattern, value: Reg, fails: &mut Vec<Fail>) -> Result<()> {
        let later = Pc(u32::MAX);
        match pattern {
            Pattern::Var(var) => {
                // Registers are written once, so the variable can live where the value is.
                body.registers.insert(*var, value);
            }
            Pattern::Literal(term) => fails.push(Fail::Test(body.emit(Instr::TestLiteral(value, term.clone(), later)))),
            Pattern::Cons(head, tail) => {
                let (head_reg, tail_reg) = (body.fresh(), body.fresh());
                fails.push(Fail::Test(body.emit(Instr::TestCons(value, head_reg, tail_reg, later))));
                self.pattern(body, head, head_reg, fails)?;
                self.pattern(body, tail, tail_reg, fails)?;
            }
            Pattern::Tuple(items) => {
                let arity = u32::try_from(items.len()).expect("fewer elements than numbers");
                fails.push(Fail::Test(body.emit(Instr::TestTuple(value, arity, later))));
                for (item, index) in items.iter().zip(0..) {
                    let reg = body.fresh();
                    body.emit(Instr::Element(reg, value, index));
                    self.pattern(body, item, reg, fails)?;
                }
            }
            Pattern::Map(pairs) => {
                fails.push(Fail::Test(body.emit(Instr::TestMap(value, later))));
                for (key, pattern) in pairs {
                    let key = self.operand(body, key)?;
                    let reg = body.fresh();
                    fails.push(Fail::Test(body.emit(Instr::TestKey(value, key, reg, later))));
                    self.pattern(body, pattern, reg, fails)?;
                }
            }
            Pattern::Binary(segments) => self.binary_pattern(body, segments, value, fails)?,
            Pattern::Alias(var, pattern) => {
                body.registers.insert(*var, value);
                self.pattern(body, pattern, value, fails)?;
            }
        }
        Ok(())
    }

    fn binary_pattern(
        &mut self,
        body: &mut Body,
        segments: &[Segment<Pattern>],
        source: Reg,
        fails: &mut Vec<Fail>,
    ) -> Result<()> {
        let fail = Pc(u32::MAX);
        let position = body.fresh();
        fails.push(Fail::Test(body.emit(Instr::TestBits(source, position, fail))));
        for segment in segments {
            let size = self.size(body, &segment.size)?;
            let dst = body.fresh();
            let test = MatchSegment {
                source,
                position,
                dst,
                size,
                unit: segment.unit,
                kind: segment.kind,
                signed: segment.signed,
                little: segment.little,
                fail,
            };
            fails.push(Fail::Test(body.emit(Instr::TestSegment(Box::new(test)))));
            match &segment.value {
                // `<<1.0/float>>` may be written as `<<1/float>>`.
                Pattern::Literal(Term::Int(value)) if segment.kind == SegmentKind::Float => {
                    #[allow(clippy::cast_precision_loss)]
                    let literal = Term::Float(*value as f64);
                    fails.push(Fail::Test(body.emit(Instr::TestLiteral(dst, literal, fail))));
                }
                value => self.pattern(body, value, dst, fails)?,
            }
        }
        fails.push(Fail::Test(body.emit(Instr::TestBitsEnd(source, position, fail))));
        Ok(())
    }
}

/// What leads to the next clause.
#[derive(Clone, Copy)]
pub(super) enum Fail {
    Test(Pc),
    Handler(usize),
}

impl Body {
    pub(super) fn land_fail(&mut self, fail: Fail) {
        match fail {
            Fail::Test(pc) => self.land(pc),
            Fail::Handler(index) => self.handlers[index].target = self.here(),
        }
    }
}
