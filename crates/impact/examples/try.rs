//! scratch
use selvedge_impact::{build::build, iterate::Yield, solver::Embedded, verifier::{Limits, Verifier}};
use std::time::{Duration, Instant};
fn main() {
    let mut args = std::env::args().skip(1);
    let file = args.next().unwrap();
    let n: usize = args.next().map_or(1, |n| n.parse().unwrap());
    let dump = args.next().is_some();
    let defines: Vec<String> = std::env::var("DEFS").map(|d| d.split(',').map(str::to_owned).collect()).unwrap_or_default();
    let options = selvedge_llvm::ClangOptions { defines, ..Default::default() };
    let mut module = selvedge_llvm::load(&[file.into()], &options).unwrap();
    selvedge_analysis::prepare(&mut module, &selvedge_analysis::Options::default()).unwrap();
    let start = Instant::now();
    let program = match build(&module) {
        Ok(p) => p,
        Err(e) => { println!("{e} at line {}", module.locs[e.loc].line); return; }
    };
    println!("threads {} locations {} transitions {} built in {:?}", program.threads.len(), program.locations.len(), program.transitions.len(), start.elapsed());
    if dump {
        for (id, t) in program.transitions.iter() {
            let g: Vec<_> = t.guard.iter().map(|&g| program.terms.text(g)).collect();
            let u: Vec<_> = t.updates.iter().map(|&(s, v)| format!("{}:={}", program.terms.symbols[s].name, program.terms.text(v))).collect();
            println!("{id} {} {}->{} [{}] {} | {} {} {} {}", program.threads[t.thread].name, t.from, t.to, g.join(","), u.join(" "), t.text, if t.may_block {"B"} else {""}, if t.back_jump {"J"} else {""}, t.error.as_ref().map_or(String::new(), |e| e.message.clone()));
        }
    }
    let start = Instant::now();
    let limits = Limits { deadline: Some(Instant::now() + Duration::from_secs(10)), ..Default::default() };
    let mut v = Verifier::new(program, Box::new(Embedded::new(Duration::from_secs(20), None)), limits);
    let mut last = None;
    let mut count = 0;
    loop {
        let r = v.next(last.as_ref());
        let s = v.solver.statistics();
        println!("{:?} nodes {} queries {} rewritten {} sat time {:?} terms {}", start.elapsed(), v.art.nodes.len(), s.queries, s.rewritten, s.time, v.program.terms.len());
        match r {
            Ok(Yield::Safe(ivr)) => { println!("SAFE IVR with {} nodes", ivr.len()); last = Some(ivr); count += 1; }
            Ok(Yield::Unsafe(c)) => {
                println!("UNSAFE {:?}", c.error.as_ref().map(|e| &e.message));
                let path = v.art.path(c.node);
                let text: Vec<String> = path[1..].iter().map(|&n| { let e = v.art.nodes[n].parent.unwrap(); format!("{}:{}", v.program.threads[e.thread].name, v.program.transitions[e.transition].text) }).collect();
                println!("  {}", text.join(" / "));
            }
            Ok(Yield::Done(verdict)) => { println!("DONE {verdict:?}"); break; }
            Err(h) => { println!("HALT {h:?}"); break; }
        }
        if count >= n { break; }
    }
    if dump {
        for (id, n) in v.art.nodes.iter() {
            let l: Vec<_> = n.label.iter().map(|&g| v.program.terms.text(g)).collect();
            println!("{}{id} {} {{{}}} cov {:?}", "  ".repeat(n.depth.min(30)), n.parent.map_or(String::new(), |e| format!("{} {}", v.program.threads[e.thread].name, v.program.transitions[e.transition].text)), l.join(" & "), n.covered_by);
        }
    }
}
