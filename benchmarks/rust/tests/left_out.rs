//! What loom leaves out where it has fewer executions than Selvedge: assertions that hold in all executions that loom explores,
//! and fail in one that Selvedge does. `cargo xtask bench rust` runs this first.

/// Models that hold in loom.
macro_rules! models {
    ($library:ident) => {
        pub mod $library {
            use ::$library::sync::mpsc;
            use ::$library::thread::{self, ThreadId};

            /// `senders` threads send a message each while this one looks so many times: it never finds any.
            fn never_finds_a_message(senders: usize, looks: usize) {
                let (sender, receiver) = mpsc::channel();
                let send = |sender: mpsc::Sender<usize>| thread::spawn(move || sender.send(1).unwrap());
                let handles: Vec<_> = std::iter::repeat_n(sender, senders).map(send).collect();
                (0..looks).for_each(|_| assert!(receiver.try_recv().is_err(), "there is a message"));
                handles.into_iter().for_each(|handle| handle.join().unwrap());
            }

            pub fn one_look() {
                never_finds_a_message(1, 1);
            }

            pub fn two_looks() {
                never_finds_a_message(1, 2);
            }

            pub fn two_senders() {
                never_finds_a_message(2, 1);
            }

            ::$library::lazy_static! {
                static ref MADE_BY: ThreadId = thread::current().id();
            }

            /// Two threads use a value that is made when it is used: it is always this one that makes it.
            pub fn lazy_static() {
                let handle = thread::spawn(|| *MADE_BY);
                assert_eq!(*MADE_BY, thread::current().id(), "another thread has made it");
                handle.join().unwrap();
            }
        }
    };
}

models!(loom);
models!(selvedge);

/// A model holds in loom, and Selvedge says why it does not.
fn is_left_out(in_loom: fn(), in_selvedge: fn(), why: &str) {
    ::loom::model(in_loom);
    let failure = ::selvedge::Builder::new().explore(in_selvedge).failure.expect("Selvedge finds what loom leaves out");
    assert!(failure.contains(why), "{failure}");
}

#[test]
fn messages_that_looks_find() {
    is_left_out(loom::one_look, selvedge::one_look, "there is a message");
    is_left_out(loom::two_looks, selvedge::two_looks, "there is a message");
    is_left_out(loom::two_senders, selvedge::two_senders, "there is a message");
}

#[test]
fn who_makes_a_lazy_static() {
    is_left_out(loom::lazy_static, selvedge::lazy_static, "another thread has made it");
}
