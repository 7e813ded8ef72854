//! The programs under TraceForge. Its receives see the sender and a tag: what a predicate tells apart is in the tag.

use traceforge::thread::{ThreadId, current_id, spawn, spawn_daemon};
use traceforge::{Config, recv_msg_block, recv_tagged_msg_block, send_msg, send_tagged_msg, verify};

fn explore(program: impl Fn() + Send + Sync + 'static) -> u64 {
    verify(Config::builder().build(), program).execs as u64
}

fn not_selective(n: u32) {
    let me = current_id();
    for i in 0..n {
        spawn(move || send_msg(me, i));
    }
    for _ in 0..n {
        recv_msg_block::<u32>();
    }
}

fn selective(n: u32) {
    let me = current_id();
    for i in 0..n {
        spawn(move || send_tagged_msg(me, i, i));
    }
    for i in 0..n {
        recv_tagged_msg_block::<_, u32>(move |_, tag| tag == Some(i));
    }
}

const ACQUIRE: u32 = 0;
const RELEASE: u32 = 1;

#[derive(Clone, Debug, PartialEq)]
enum Lock {
    Acquire(ThreadId),
    Release,
}

fn lock(n: u32) {
    let lock = spawn_daemon(|| {
        loop {
            let Lock::Acquire(who) = recv_tagged_msg_block(|_, tag| tag == Some(ACQUIRE)) else { unreachable!() };
            send_msg(who, ());
            recv_tagged_msg_block::<_, Lock>(|_, tag| tag == Some(RELEASE));
        }
    });
    let lock = lock.thread().id();
    for _ in 0..n {
        spawn(move || {
            send_tagged_msg(lock, ACQUIRE, Lock::Acquire(current_id()));
            recv_msg_block::<()>();
            send_tagged_msg(lock, RELEASE, Lock::Release);
        });
    }
}

fn ping_pong(clients: u32) {
    let server = spawn(move || {
        for _ in 0..2 * clients {
            send_msg(recv_msg_block::<ThreadId>(), ());
        }
    });
    let server = server.thread().id();
    for _ in 0..clients {
        spawn(move || {
            for _ in 0..2 {
                send_msg(server, current_id());
                recv_msg_block::<()>();
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
