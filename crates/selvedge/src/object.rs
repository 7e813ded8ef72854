//! Objects that threads share: where the engine keeps them.
//!
//! An object that is made inside a model gets its address there and then, derived from who made it and how many that
//! thread had made before, so that it has the same address in every execution. It carries the address with it, wherever
//! it is moved. That is why `new` is no `const fn`: if an object got its address when it is first used, the address would
//! depend on who comes first, and the engine could take one object for two. It also tells the engine when the object came
//! into being, so that an access which does not happen after that is a data race.
//!
//! An object that was made elsewhere (a `static`, or something that the model's closure has captured) is known by where it
//! is in memory: it does not move while the model runs. It starts every execution with its first value.

use crate::runtime::{self, At};
use selvedge_ir::Order;
use selvedge_machine::{Access, AccessKind, Addr, Cond, Op, Outcome, Purpose};

/// A word of memory that threads share.
#[derive(Debug)]
pub(crate) struct Word {
    run: u64,
    addr: Addr,
    init: u64,
    size: u8,
}

impl Word {
    /// A word with its first value.
    #[track_caller]
    pub fn new(what: &'static str, size: u8, init: u64) -> Word {
        let at = std::panic::Location::caller();
        match runtime::current() {
            None => Word::fixed(size, init),
            Some(_) if std::thread::panicking() => Word::fixed(size, init),
            Some(thread) => runtime::shared(|shared| {
                let addr = shared.create(thread, size, init);
                shared.origins.insert(addr, (what, at));
                Word { run: shared.run, addr, init, size }
            }),
        }
    }

    /// A word that is not of any run.
    pub const fn fixed(size: u8, init: u64) -> Word {
        Word { run: 0, addr: Addr(0), init, size }
    }

    /// Where it is.
    #[track_caller]
    pub fn addr(&self) -> Addr {
        self.addr_with(|| self.init)
    }

    /// Where it is, if its first value is to be found out when it is first met.
    #[track_caller]
    pub fn addr_with(&self, init: impl FnOnce() -> u64) -> Addr {
        if runtime::shared(|shared| shared.run == self.run) {
            return self.addr;
        }
        let init = init();
        runtime::shared(|shared| shared.outside(std::ptr::from_ref(self).addr(), self.size, init))
    }

    /// Stops the thread unless the word was made in this run: what it protects would not start again with its first
    /// value.
    #[track_caller]
    pub fn must_be_of_this_run(&self, at: At) {
        if !std::thread::panicking() && runtime::shared(|shared| shared.run != self.run) {
            let feature = "a lock or cell that was made outside of the model: what is in it would be kept from one \
                           execution to the next. Make it in the model's closure"
                .to_owned();
            runtime::stop(feature, at);
        }
    }

    /// The same word once more.
    pub fn copy(&self) -> Word {
        Word { run: self.run, addr: self.addr, init: self.init, size: self.size }
    }

    /// Accesses it.
    #[track_caller]
    pub fn access(&self, order: Order, kind: AccessKind, at: At) -> Outcome {
        runtime::perform(Op::Access(Access::new(self.addr(), self.size, order, kind)), at)
    }

    /// Accesses it for a lock or the like.
    #[track_caller]
    pub fn synchronise(
        &self,
        order: Order,
        kind: AccessKind,
        until: Option<Cond>,
        purpose: Purpose,
        at: At,
    ) -> Outcome {
        let access = Access::new(self.addr(), self.size, order, kind);
        runtime::perform(Op::Access(Access { purpose, until, ..access }), at)
    }
}
