//! The smallest program that still fails.
//!
//! Delta debugging in the manner of Zeller and Hildebrandt ("Simplifying and isolating failure-inducing input", 2002):
//! whole bodies are dropped, then instructions, and then what is left is made plainer, until nothing helps any more. Jumps
//! keep jumping over the same instructions.

use super::program::{Body, Clause, Inst, Operand, Program};
use selvedge_ir::EntityRef;

/// Makes a failing program as small as possible. `fails` is asked about valid programs only.
pub fn shrink(program: &Program, mut fails: impl FnMut(&Program) -> bool) -> Program {
    let mut best = program.clone();
    while let Some(smaller) = candidates(&best).into_iter().find(|next| next.validate().is_ok() && fails(next)) {
        best = smaller;
    }
    best
}

/// Programs that are smaller by one change, the largest changes first.
fn candidates(program: &Program) -> Vec<Program> {
    let mut all: Vec<Program> = (1..program.bodies.len()).rev().map(|body| without_body(program, body)).collect();
    for body in 0..program.bodies.len() {
        for at in (0..program.bodies[body].insts.len()).rev() {
            let mut next = program.clone();
            remove(&mut next.bodies[body].insts, at);
            all.push(next);
        }
    }
    for body in 0..program.bodies.len() {
        if program.bodies[body].server {
            let mut next = program.clone();
            next.bodies[body].server = false;
            all.push(next);
        }
        for at in 0..program.bodies[body].insts.len() {
            for inst in plainer(&program.bodies[body].insts[at]) {
                let mut next = program.clone();
                next.bodies[body].insts[at] = inst;
                all.push(next);
            }
        }
    }
    all
}

/// The program without a body, and without the processes that run it.
fn without_body(program: &Program, gone: usize) -> Program {
    let mut program = program.clone();
    program.bodies.remove(gone);
    for code in &mut program.bodies {
        for at in (0..code.insts.len()).rev() {
            match &mut code.insts[at] {
                Inst::Spawn { body, .. } if body.index() == gone => remove(&mut code.insts, at),
                Inst::Spawn { body, .. } if body.index() > gone => *body = Body::new(body.index() - 1),
                _ => {}
            }
        }
    }
    program
}

/// Removes an instruction; jumps over it become shorter.
fn remove(insts: &mut Vec<Inst>, gone: usize) {
    for (at, inst) in insts.iter_mut().enumerate() {
        match inst {
            Inst::Skip { count, .. } if at < gone && gone <= at + usize::from(*count) => *count -= 1,
            Inst::Back { count, .. } if gone < at && at - usize::from(*count) <= gone => *count -= 1,
            _ => {}
        }
    }
    insts.remove(gone);
}

/// Instructions that are plainer than this one; none is reachable from itself.
fn plainer(inst: &Inst) -> Vec<Inst> {
    let mut all = Vec::new();
    match inst.clone() {
        Inst::Spawn { dst, body, link, monitor } => {
            all.extend(link.then_some(Inst::Spawn { dst, body, link: false, monitor }));
            all.extend(monitor.map(|_| Inst::Spawn { dst, body, link, monitor: None }));
        }
        Inst::Send { to, tag, value } => {
            all.extend((value != Operand::Int(0)).then_some(Inst::Send { to, tag, value: Operand::Int(0) }));
            all.extend((tag > 1).then_some(Inst::Send { to, tag: 1, value }));
        }
        Inst::Receive { tag, value, clauses, timeout } => {
            let with = |clauses: Vec<Clause<Operand>>, timeout| Inst::Receive { tag, value, clauses, timeout };
            all.extend(timeout.then(|| with(clauses.clone(), false)));
            all.extend((!clauses.is_empty() && clauses != [Clause::Any]).then(|| with(vec![Clause::Any], timeout)));
            for at in 0..clauses.len() {
                let mut fewer = clauses.clone();
                fewer.remove(at);
                all.extend((!fewer.is_empty()).then(|| with(fewer, timeout)));
                if let Clause::Exactly(tag, _) = clauses[at] {
                    let mut wider = clauses.clone();
                    wider[at] = Clause::Tag(tag);
                    all.push(with(wider, timeout));
                }
            }
            let unused = Inst::Receive { tag: None, value: None, clauses, timeout };
            all.extend((tag.is_some() || value.is_some()).then_some(unused));
        }
        Inst::Monitor { dst, target, alias: Some(_) } => all.push(Inst::Monitor { dst, target, alias: None }),
        Inst::Demonitor { dst, reference, flush } => {
            all.extend(flush.then_some(Inst::Demonitor { dst, reference, flush: false }));
            all.extend(dst.map(|_| Inst::Demonitor { dst: None, reference, flush }));
        }
        Inst::Trap { dst: Some(_), on } => all.push(Inst::Trap { dst: None, on }),
        Inst::Register { dst: Some(_), name, pid } => all.push(Inst::Register { dst: None, name, pid }),
        Inst::Unregister { dst: Some(_), name } => all.push(Inst::Unregister { dst: None, name }),
        Inst::Unalias { dst: Some(_), reference } => all.push(Inst::Unalias { dst: None, reference }),
        Inst::Cancel { dst: Some(_), timer } => all.push(Inst::Cancel { dst: None, timer }),
        Inst::Bump { dst: Some(_), cell } => all.push(Inst::Bump { dst: None, cell }),
        Inst::Alias { dst, reply: true } => all.push(Inst::Alias { dst, reply: false }),
        Inst::Back { count, max } if max > 1 => all.push(Inst::Back { count, max: 1 }),
        Inst::Skip { count, when: Some(_) } => all.push(Inst::Skip { count, when: None }),
        _ => {}
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_matter_is_dropped() {
        let text = "
body b0
  r1 = spawn b1 link
  r2 = spawn b2
  r3 r4 = receive tag 1 | tag 2 r1 | timeout
  skip 2 if r3 eq 1
  send r2 7 me
  send r1 7 me
  exit kill
body b1 server
  send r0 1 me
body b2
  trap on
";
        let program: Program = text.parse().unwrap();
        let small = shrink(&program, |candidate| candidate.to_string().contains("send r1"));
        assert_eq!(small.to_string(), "body b0\n  send r1 1 0\n");
        let jumps = shrink(&program, |candidate| {
            let text = candidate.to_string();
            text.contains("skip 1 if") && text.contains("send r2")
        });
        assert_eq!(jumps.to_string(), "body b0\n  skip 1 if r3 eq 1\n  send r2 1 0\n");
    }
}
