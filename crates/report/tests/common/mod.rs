//! Executions made by hand, for the tests of the renderers.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use selvedge_ir::{EntityRef, Order};
use selvedge_machine::schedule::{EventRecord, Link, Replay, Schedule, ScheduleStep, Source, ThreadEnd};
use selvedge_machine::verdict::{Exploration, Found, Interruption};
use selvedge_machine::{
    Access, AccessKind, Addr, Cond, Done, Op, Purpose, Site, SourceSpan, Status, Stop, ThreadId, Violation,
    ViolationKind,
};
use selvedge_report::verdict::{Program, RunOptions};
use selvedge_report::{Layout, Question, Shown, Verdict};

pub fn t(n: usize) -> ThreadId {
    ThreadId::new(n)
}

pub fn span(line: u32, column: u32) -> SourceSpan {
    SourceSpan { file: "counter.c".into(), line, column, function: "worker".into() }
}

pub fn site(line: u32, column: u32, object: &str, call: &str) -> Site {
    Site { span: span(line, column), object: object.into(), call: call.into(), signed: true, ..Site::default() }
}

pub fn access(addr: u64, kind: AccessKind) -> Access {
    Access::new(Addr(addr), 4, Order::Plain, kind)
}

/// An execution that is written down step by step.
#[derive(Default)]
pub struct Script {
    pub events: Vec<EventRecord>,
    pub ends: Vec<ThreadEnd>,
}

impl Script {
    pub fn thread(mut self, n: usize, name: &str, status: Status) -> Script {
        self.ends.push(ThreadEnd {
            thread: t(n),
            name: name.into(),
            status,
            waiting: None,
            enabled: false,
            spins: None,
        });
        self
    }

    pub fn waiting(mut self, n: usize, name: &str, op: Op, site: Site) -> Script {
        let waiting = Some((op, site));
        self.ends.push(ThreadEnd {
            thread: t(n),
            name: name.into(),
            status: Status::Ready,
            waiting,
            enabled: false,
            spins: None,
        });
        self
    }

    pub fn step(mut self, thread: usize, op: Op, done: Done, site: Site) -> Script {
        self.events.push(EventRecord {
            thread: t(thread),
            op,
            done,
            section: Vec::new(),
            choice: 0,
            site,
            link: Link::default(),
            missed: None,
        });
        self
    }

    pub fn sync(self, thread: usize, op: Op, site: Site) -> Script {
        self.step(thread, op, Done { old: 0, new: None }, site)
    }

    pub fn read(self, thread: usize, addr: u64, value: u64, site: Site) -> Script {
        self.step(thread, Op::Access(access(addr, AccessKind::Load)), Done { old: value, new: None }, site)
    }

    pub fn write(self, thread: usize, addr: u64, old: u64, value: u64, site: Site) -> Script {
        let done = Done { old, new: Some(value) };
        self.step(thread, Op::Access(access(addr, AccessKind::Store { value })), done, site)
    }

    /// The last step reads from a step (from 1) or from the initial value (0).
    pub fn from(mut self, step: usize) -> Script {
        let last = self.events.last_mut().expect("there is a step");
        last.link.from = Some(step.checked_sub(1).map_or(Source::Initial, Source::Step));
        self
    }

    /// The last step writes at this place of the coherence order.
    pub fn at(mut self, place: u32) -> Script {
        self.events.last_mut().expect("there is a step").link.place = place;
        self
    }

    /// The last step does not see a step, from 1.
    pub fn missing(mut self, step: usize) -> Script {
        self.events.last_mut().expect("there is a step").missed = Some(step - 1);
        self
    }

    /// The accesses so far are atomic with this order.
    pub fn atomic(mut self, with: Order) -> Script {
        for event in &mut self.events {
            if let Op::Access(access) = &mut event.op {
                access.order = with;
            }
        }
        self
    }

    pub fn lock(self, thread: usize, addr: u64, line: u32, name: &str) -> Script {
        let op = lock_op(addr);
        self.step(thread, op, Done { old: 0, new: Some(1) }, site(line, 3, name, "pthread_mutex_lock"))
    }

    pub fn unlock(self, thread: usize, addr: u64, line: u32, name: &str) -> Script {
        let op = Op::Access(Access { purpose: Purpose::Unlock, ..access(addr, AccessKind::Store { value: 0 }) });
        self.step(thread, op, Done { old: 1, new: Some(0) }, site(line, 3, name, "pthread_mutex_unlock"))
    }

    pub fn spawn(self, thread: usize, child: usize, line: u32) -> Script {
        self.sync(thread, Op::Spawn { child: t(child) }, site(line, 3, "", "pthread_create"))
    }

    pub fn replay(self) -> Replay {
        Replay { events: self.events, stop: None, threads: self.ends, output: String::new(), weak: false }
    }
}

pub fn lock_op(addr: u64) -> Op {
    let until = Some(Cond::new(selvedge_ir::CmpOp::Eq, 0));
    Op::Access(Access { purpose: Purpose::Lock, until, ..access(addr, AccessKind::Store { value: 1 }) })
}

pub fn question() -> Question {
    Question {
        program: Program {
            inputs: vec!["counter.c".into()],
            directory: "/home/me".into(),
            defines: vec!["N=2".into()],
            hash: "0123456789abcdef".into(),
            ..Program::default()
        },
        options: RunOptions { max_events: 10_000, data_races: true, deadlocks: true, ..RunOptions::default() },
        model: "sc".into(),
        engine: "trace".into(),
        algorithm: "optimal".into(),
        ..Question::default()
    }
}

/// A verdict with one violation, shown by this execution.
pub fn verdict(violation: Violation, replay: Replay) -> Verdict {
    let threads = vec![vec![], vec![0], vec![1]];
    let step = |e: &EventRecord| ScheduleStep { thread: threads[e.thread.index()].clone(), choice: e.choice };
    let links = replay.weak.then(|| replay.events.iter().map(|e| e.link).collect());
    let schedule = Schedule { steps: replay.events.iter().map(step).collect(), threads: threads.clone(), links };
    let exploration = Exploration {
        complete: 1,
        blocked: 2,
        violations: vec![Found { violation: violation.clone(), schedule }],
        interruption: Some(Interruption::FirstViolation),
        longest: replay.events.len(),
        steps: 40,
        ..Exploration::default()
    };
    let shown = vec![Shown { violation, replay: Ok(replay) }];
    Verdict {
        question: question(),
        exploration,
        shown,
        failure: None,
        seconds: 0.012,
        cpu_seconds: Some(0.01),
        load_seconds: 0.2,
        peak_memory_kib: Some(5000),
    }
}

pub fn violation(kind: ViolationKind, message: &str, places: &[(u32, u32, &str)]) -> Violation {
    let places = places.iter().map(|&(line, column, note)| (span(line, column), note.to_owned())).collect();
    Violation { kind, message: message.into(), places }
}

pub const SOURCE: &str = "\
#include <pthread.h>

int count;
pthread_mutex_t a, b;

void *worker(void *arg) {
  count++;
  return 0;
}
void *left(void *arg) {
  pthread_mutex_lock(&a);
  pthread_mutex_lock(&b);

  count++;
  pthread_mutex_unlock(&b);
  pthread_mutex_unlock(&a);
  return 0;
}
void *right(void *arg) {
  pthread_mutex_lock(&b);
  pthread_mutex_lock(&a);
  return 0;
}
";

pub fn source(file: &str) -> Option<String> {
    (file == "counter.c").then(|| SOURCE.to_owned())
}

pub fn layout() -> Layout<'static> {
    Layout { sources: &source, ..Layout::default() }
}

/// Two increments of one counter without a lock.
pub fn race() -> Verdict {
    let replay = Script::default()
        .thread(0, "main", Status::Ready)
        .thread(1, "worker#1", Status::Finished)
        .thread(2, "worker#2", Status::Stopped)
        .spawn(0, 1, 12)
        .spawn(0, 2, 13)
        .read(1, 0x1000, 0, site(7, 3, "count", ""))
        .read(2, 0x1000, 0, site(7, 3, "count", ""))
        .write(1, 0x1000, 0, 1, site(7, 8, "count", ""))
        .write(2, 0x1000, 1, 1, site(7, 8, "count", ""))
        .replay();
    let v = violation(
        ViolationKind::DataRace,
        "data race on count: worker#1 writes it while worker#2 reads it",
        &[(7, 8, "worker#1 writes"), (7, 3, "worker#2 reads")],
    );
    verdict(v, Replay { output: "starting\n".into(), ..replay })
}

/// Two threads that lock two mutexes in opposite order.
pub fn deadlock() -> Verdict {
    let replay = Script::default()
        .waiting(0, "main", Op::Join { thread: t(1) }, site(30, 3, "", "pthread_join"))
        .waiting(1, "left", lock_op(0x3000), site(12, 3, "b", "pthread_mutex_lock"))
        .waiting(2, "right", lock_op(0x2000), site(21, 3, "a", "pthread_mutex_lock"))
        .spawn(0, 1, 28)
        .spawn(0, 2, 29)
        .lock(1, 0x2000, 11, "a")
        .lock(2, 0x3000, 20, "b")
        .replay();
    let v = violation(
        ViolationKind::Deadlock,
        "deadlock: left and right wait for each other",
        &[(12, 3, "left waits here"), (21, 3, "right waits here")],
    );
    verdict(v, replay)
}

/// Two threads that each announce themselves and do not see each other.
pub fn store_buffering() -> Verdict {
    let replay = Script::default()
        .thread(0, "main", Status::Ready)
        .thread(1, "left", Status::Finished)
        .thread(2, "right", Status::Stopped)
        .spawn(0, 1, 28)
        .spawn(0, 2, 29)
        .write(1, 0x1000, 0, 1, site(11, 3, "x", ""))
        .at(1)
        .read(1, 0x2000, 0, site(12, 3, "y", ""))
        .from(0)
        .write(2, 0x2000, 0, 1, site(20, 3, "y", ""))
        .at(1)
        .read(2, 0x1000, 0, site(21, 3, "x", ""))
        .from(0)
        .missing(3)
        .atomic(Order::Relaxed)
        .replay();
    let v = violation(ViolationKind::Assertion, "assertion `left or right` failed", &[(22, 3, "")]);
    let stop = Some((t(2), Stop::Violation(Box::new(v.clone()))));
    let mut verdict = verdict(v, Replay { stop, weak: true, ..replay });
    (verdict.question.model, verdict.question.engine) = ("rc11".into(), "graph".into());
    verdict
}

/// Two threads that each write two variables in opposite order, and what each wrote first is what stays.
pub fn crossed_writes() -> (Replay, Violation) {
    let replay = Script::default()
        .thread(0, "main", Status::Stopped)
        .thread(1, "left", Status::Finished)
        .thread(2, "right", Status::Finished)
        .spawn(0, 1, 28)
        .spawn(0, 2, 29)
        .write(1, 0x1000, 0, 1, site(11, 3, "x", ""))
        .at(2)
        .write(1, 0x2000, 0, 2, site(12, 3, "y", ""))
        .at(1)
        .write(2, 0x2000, 2, 1, site(20, 3, "y", ""))
        .at(2)
        .write(2, 0x1000, 1, 2, site(21, 3, "x", ""))
        .at(1)
        .atomic(Order::Release)
        .read(0, 0x1000, 1, site(30, 3, "x", ""))
        .from(3)
        .replay();
    let v = violation(ViolationKind::Assertion, "assertion `x == 2` failed", &[(30, 3, "")]);
    (Replay { stop: Some((t(0), Stop::Violation(Box::new(v.clone())))), weak: true, ..replay }, v)
}
