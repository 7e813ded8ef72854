//! Two programs that a user would write, each right and with a mistake that is found, shown and run again: the election of a
//! leader in a ring, and a pool of workers that crash and are started again.

use selvedge_actors::{Builder, Down, ExitReason, Pid, ProcessId, check, process, replay};

/// What goes round the ring.
#[derive(Clone, Debug, PartialEq)]
enum Ring {
    /// Who comes next.
    Next(Pid<Ring>),
    /// A candidate.
    Elect(u32),
    /// The leader is known.
    Leader(u32),
}

/// Chang and Roberts: a process forwards larger numbers and swallows smaller ones; whose number comes back is the leader.
/// With the mistake, every number is forwarded.
fn ring(numbers: &'static [u32], forwards_all: bool) {
    let main = process::me::<(u32, u32)>();
    let members: Vec<Pid<Ring>> = numbers
        .iter()
        .map(|&own| {
            process::spawn_named(&format!("member {own}"), move || {
                let Ring::Next(next) = process::receive_match(|m| matches!(m, Ring::Next(_))) else { unreachable!() };
                next.send(Ring::Elect(own));
                loop {
                    match process::receive_match(|m: &Ring| !matches!(m, Ring::Next(_))) {
                        Ring::Elect(other) if other == own => {
                            next.send(Ring::Leader(own));
                            main.send((own, own));
                            return;
                        }
                        Ring::Elect(other) if other > own || forwards_all => next.send(Ring::Elect(other)),
                        Ring::Elect(_) | Ring::Next(_) => {}
                        Ring::Leader(leader) => {
                            next.send(Ring::Leader(leader));
                            main.send((own, leader));
                            return;
                        }
                    }
                }
            })
        })
        .collect();
    for (n, member) in members.iter().enumerate() {
        member.send(Ring::Next(members[(n + 1) % members.len()]));
    }
    let leader = numbers.iter().copied().max().expect("there are members");
    for _ in numbers {
        let (member, elected) = process::receive::<(u32, u32)>();
        assert_eq!(elected, leader, "member {member} has elected {elected}");
    }
}

#[test]
fn a_ring_elects_its_largest_member() {
    check(|| ring(&[3, 1, 2], false));
}

#[test]
fn a_ring_that_forwards_too_much_elects_another_one() {
    let program = || ring(&[1, 2], true);
    let stats = Builder::new().explore(program);
    let failure = stats.failure.expect("a smaller number comes back, too");
    assert!(failure.contains("has elected 1"), "{failure}");
    assert!(failure.contains("Elect(1)"), "{failure}");
    let again = replay(&stats.schedule.expect("a failure has a schedule"), program).expect("it can be run again");
    assert!(again.contains("has elected 1"), "{again}");
    // The chart has a lifeline for everybody, and arrows.
    assert!(again.lines().next().is_some_and(|line| line.contains("member 1") && line.contains("main")), "{again}");
    assert!(again.contains("*--") && again.contains("-<") || again.contains("<-"), "{again}");
    let svg = stats.chart.expect("a failure has a chart");
    assert!(svg.starts_with("<svg") && svg.contains("Elect(1)") && svg.ends_with("</svg>\n"), "{svg}");
}

#[derive(Clone, Debug, PartialEq)]
enum Pool {
    /// A worker has done a job.
    Done(u32),
    /// A worker is gone.
    Gone(ProcessId, ExitReason),
}

/// A worker does its jobs one by one, and may crash once before one of them.
fn worker(pool: Pid<Pool>, job: u32, crashes: bool) {
    if crashes && process::nondet_bool() {
        process::exit(ExitReason::Error("out of luck".to_owned()));
    }
    pool.send(Pool::Done(job));
}

fn start(job: u32, crashes: bool) -> ProcessId {
    let pool = process::me::<Pool>();
    let (pid, _) = process::spawn_monitor::<(), _>(
        &format!("worker {job}"),
        move || worker(pool, job, crashes),
        move |down: Down| Pool::Gone(down.process, down.reason),
    );
    pid.id()
}

/// A pool gives every job to a worker, and starts a worker again that has crashed. With the mistake it starts every worker
/// again that is gone, whatever the reason: a job is done twice.
fn pool(jobs: u32, starts_all: bool) {
    let mut workers: Vec<(ProcessId, u32)> = (0..jobs).map(|job| (start(job, true), job)).collect();
    let mut done = vec![0; jobs as usize];
    let mut gone = 0;
    while gone < workers.len() {
        match process::receive() {
            Pool::Done(job) => {
                done[job as usize] += 1;
                assert!(done[job as usize] == 1, "job {job} is done twice");
            }
            Pool::Gone(pid, reason) => {
                gone += 1;
                let job = workers.iter().find(|(worker, _)| *worker == pid).map(|(_, job)| *job);
                let job = job.expect("who is gone was started");
                if reason != ExitReason::Normal || (starts_all && gone == 1) {
                    workers.push((start(job, false), job));
                }
            }
        }
    }
    assert!(done.iter().all(|&times| times == 1), "a job was not done: {done:?}");
}

#[test]
fn a_pool_does_every_job_once() {
    check(|| pool(2, false));
}

#[test]
fn a_pool_that_starts_too_much_does_a_job_twice() {
    let program = || pool(2, true);
    let stats = Builder::new().explore(program);
    let failure = stats.failure.expect("a worker that is done is started again");
    assert!(failure.contains("is done twice"), "{failure}");
    assert!(failure.contains("is down: normal"), "{failure}");
    assert!(failure.contains("to run it again: SELVEDGE_REPLAY='"), "{failure}");
    let again = replay(&stats.schedule.expect("a failure has a schedule"), program).expect("it can be run again");
    assert!(again.contains("is done twice"), "{again}");
}

#[test]
fn a_crash_reaches_those_who_are_linked() {
    // Who is linked with a process that crashes ends too; who traps exits is told.
    #[derive(Clone, Debug, PartialEq)]
    struct Left(ProcessId, ExitReason);
    check(|| {
        process::trap_exits(|exit| Left(exit.from, exit.reason));
        let middle = process::spawn_link::<()>("middle", || {
            process::spawn_link::<()>("inner", || process::exit(ExitReason::Error("boom".to_owned())));
            process::receive::<()>();
        });
        let left = process::receive::<Left>();
        assert_eq!(left, Left(middle.id(), ExitReason::Error("boom".to_owned())));
    });
}
