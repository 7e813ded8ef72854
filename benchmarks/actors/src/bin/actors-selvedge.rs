//! The programs under Selvedge.

use selvedge_actors::{Builder, Pid, process};

fn explore(program: impl Fn() + Send + Sync + 'static) -> u64 {
    let stats = Builder::new().explore(program);
    assert_eq!(stats.failure, None);
    stats.complete
}

fn not_selective(n: u32) {
    let me = process::me::<u32>();
    for i in 0..n {
        process::spawn::<()>(move || me.send(i));
    }
    for _ in 0..n {
        process::receive::<u32>();
    }
}

fn selective(n: u32) {
    let me = process::me::<u32>();
    for i in 0..n {
        process::spawn::<()>(move || me.send(i));
    }
    for i in 0..n {
        process::receive_match(move |m: &u32| *m == i);
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Lock {
    Acquire(Pid<()>),
    Release,
}

fn lock(n: u32) {
    let lock: Pid<Lock> = process::spawn(|| {
        process::server();
        loop {
            let Lock::Acquire(who) = process::receive_match(|m| matches!(m, Lock::Acquire(_))) else { unreachable!() };
            who.send(());
            process::receive_match(|m: &Lock| *m == Lock::Release);
        }
    });
    for _ in 0..n {
        process::spawn::<()>(move || {
            lock.send(Lock::Acquire(process::me()));
            process::receive::<()>();
            lock.send(Lock::Release);
        });
    }
}

fn ping_pong(clients: u32) {
    let server = process::spawn(move || {
        for _ in 0..2 * clients {
            process::receive::<Pid<()>>().send(());
        }
    });
    for _ in 0..clients {
        process::spawn::<()>(move || {
            for _ in 0..2 {
                server.send(process::me::<()>());
                process::receive::<()>();
            }
        });
    }
}

fn main() {
    selvedge_actor_peers::main(&[
        ("not_selective", |n| explore(move || not_selective(n))),
        ("selective", |n| explore(move || selective(n))),
        ("lock", |n| explore(move || lock(n))),
        ("ping_pong", |n| explore(move || ping_pong(n))),
    ]);
}
