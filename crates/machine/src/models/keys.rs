//! Thread-specific data: `pthread_key_*` and `tss_*`.
//!
//! A key is made of the number of the thread that makes it and a count of that thread, so that it is the same in
//! equivalent executions. Values are facts of their thread. When a thread ends, the destructors of its values are
//! called, in the order in which it first set them, again for values that destructors set, at most four times.

use super::call::{Answer, Call, int, models};
use super::errno::{EAGAIN, EINVAL, thrd_status};
use super::facts::{KEY_DESTRUCTOR, KEY_EXISTS, KEY_USED, KEY_VALUE, KEYS_MADE, KEYS_USED};
use crate::Addr;

models! {
    "pthread_key_create" | "__pthread_key_create" / 2 => create,
    "pthread_key_delete" | "__pthread_key_delete" / 1 => delete,
    "pthread_getspecific" | "__pthread_getspecific" | "tss_get" / 1 => get,
    "pthread_setspecific" | "__pthread_setspecific" / 2 => set,
    "tss_create" / 2 => |c| create(c).map(thrd_status),
    "tss_delete" / 1 => delete,
    "tss_set" / 2 => |c| set(c).map(thrd_status),
}

/// Keys that one thread can make, as `PTHREAD_KEYS_MAX` of Linux.
const KEYS_PER_THREAD: u64 = 1024;
/// `PTHREAD_DESTRUCTOR_ITERATIONS`.
const ROUNDS: usize = 4;

fn key(call: &Call<'_>) -> u64 {
    call.arg(0) & 0xffff_ffff
}

fn create(call: &mut Call<'_>) -> Answer {
    let made = call.fact(KEYS_MADE.0, KEYS_MADE.1)?;
    if made == KEYS_PER_THREAD {
        return Ok(int(EAGAIN));
    }
    let key = call.thread_index() * KEYS_PER_THREAD + made;
    call.set_fact(KEYS_MADE.0, KEYS_MADE.1, made + 1)?;
    call.set_shared_fact(KEY_EXISTS, key, 1)?;
    call.set_shared_fact(KEY_DESTRUCTOR, key, call.arg(1))?;
    call.store(call.ptr(0), 4, key)?;
    Ok(0)
}

fn delete(call: &mut Call<'_>) -> Answer {
    let key = key(call);
    if call.shared_fact(KEY_EXISTS, key)? == 0 {
        return Ok(int(EINVAL));
    }
    call.set_shared_fact(KEY_EXISTS, key, 0)?;
    call.set_shared_fact(KEY_DESTRUCTOR, key, 0)?;
    Ok(0)
}

fn get(call: &mut Call<'_>) -> Answer {
    let key = key(call);
    call.fact(KEY_VALUE, key)
}

fn set(call: &mut Call<'_>) -> Answer {
    let (key, value) = (key(call), call.arg(1));
    if call.shared_fact(KEY_EXISTS, key)? == 0 {
        return Ok(int(EINVAL));
    }
    if call.fact(KEY_VALUE, key)? == 0 && value != 0 {
        note_use(call, key)?;
    }
    call.set_fact(KEY_VALUE, key, value)?;
    Ok(0)
}

/// Remembers that the thread uses a key.
fn note_use(call: &mut Call<'_>, key: u64) -> Answer<()> {
    let used = call.fact(KEYS_USED.0, KEYS_USED.1)?;
    for n in 0..used {
        if call.fact(KEY_USED, n)? == key + 1 {
            return Ok(());
        }
    }
    call.set_fact(KEY_USED, used, key + 1)?;
    call.set_fact(KEYS_USED.0, KEYS_USED.1, used + 1)
}

/// Calls the destructors of the thread's values.
pub(super) fn destroy_values(call: &mut Call<'_>) -> Answer<()> {
    for _ in 0..ROUNDS {
        let mut called = false;
        let mut n = 0;
        while n < call.fact(KEYS_USED.0, KEYS_USED.1)? {
            let key = call.fact(KEY_USED, n)? - 1;
            n += 1;
            let value = call.fact(KEY_VALUE, key)?;
            let destructor = call.shared_fact(KEY_DESTRUCTOR, key)?;
            if value != 0 && destructor != 0 {
                call.set_fact(KEY_VALUE, key, 0)?;
                call.call(Addr(destructor), &[value])?;
                called = true;
            }
        }
        if !called {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::Addr;
    use crate::models::Step;
    use crate::models::testing::Fake;

    fn key(host: &mut Fake, destructor: u64) -> u64 {
        let place = host.heap(4);
        assert_eq!(host.call("pthread_key_create", &[place.0, destructor]), 0);
        host.load(place, 4)
    }

    #[test]
    fn values_are_kept_and_destroyed_at_the_end_of_the_thread() {
        let mut host = Fake::new();
        let (a, b, c) = (key(&mut host, 0x7000), key(&mut host, 0), key(&mut host, 0x7001));
        assert_eq!(host.call("pthread_getspecific", &[a]), 0);
        for (key, value) in [(c, 30), (a, 10), (b, 20), (a, 11)] {
            assert_eq!(host.call("pthread_setspecific", &[key, value]), 0);
        }
        assert_eq!(host.call("pthread_getspecific", &[a]), 11);
        assert!(matches!(host.run("pthread_exit", &[5]), Ok(Step::ExitThread(5))));
        assert_eq!(host.calls, [(Addr(0x7001), vec![30]), (Addr(0x7000), vec![11])]);
    }

    #[test]
    fn a_deleted_key_has_no_destructor_and_no_use() {
        let mut host = Fake::new();
        let key = key(&mut host, 0x7000);
        host.call("tss_set", &[key, 1]);
        assert_eq!(host.call("pthread_key_delete", &[key]), 0);
        assert_eq!(host.call("pthread_setspecific", &[key, 1]), 22);
        host.run("pthread_exit", &[0]).unwrap();
        assert!(host.calls.is_empty());
    }
}
