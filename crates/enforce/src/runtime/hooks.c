/* What the program calls: before and after the instructions that its schedule names. */
#if SELVEDGE_SCHEDULED

/* For tests: the first steps in the order in which they are done, before anybody hears of them. Then the program ends. */
#ifdef SELVEDGE_RECORD
static struct {
  _Atomic uint32_t full;
  uint32_t thread, site, successor;
} records[SELVEDGE_RECORD];
static _Atomic uint32_t recorded;

static void record(struct self *me, uint32_t site, uint32_t successor) {
  uint32_t n = atomic_fetch_add(&recorded, 1);
  if (n < SELVEDGE_RECORD) {
    records[n].thread = (uint32_t)me->id;
    records[n].site = site;
    records[n].successor = successor;
    atomic_store(&records[n].full, 1);
  }
  if (n != SELVEDGE_RECORD)
    return;
  for (uint32_t k = 0; k < SELVEDGE_RECORD; k++) {
    /* Whoever has taken a place may not have come to fill it yet. */
    while (!atomic_load(&records[k].full))
      sched_yield();
    printf("%u %u %u\n", records[k].thread, records[k].site, records[k].successor);
  }
  fflush(stdout);
  _exit(0);
}
#else
static inline void record(struct self *me, uint32_t site, uint32_t successor) {}
#endif

/* The thread begins its tail, or is through with it. Both are releases: who finds that an old tail is no longer owed, since
 * nothing is or a later one, sees all of it. */
static __attribute__((noinline)) void owe(struct self *me, uint32_t signal) {
  struct line *line = &lines[me->id];
  if (signal == me->signals)
    atomic_store_explicit(&line->owes, (me->alone ? me->place : (me->instance >> BITS) + 1) << CLASS_BITS | me->class,
                          memory_order_release);
  if (signal != me->tail)
    return;
  atomic_store_explicit(&line->owes, 0, memory_order_release);
  if (atomic_load_explicit(&line->sleepers, memory_order_relaxed))
    futex_wake(&line->owes);
}

/* Where the thread is in the order of all sections: tails of others that stand before it are smaller. While it decides,
 * and in a section of its own, it comes behind everything that was announced when it began. */
static uint64_t place(const struct self *me) {
  return me->choice >= 0 ? (me->now >> BITS) + 1 : me->alone ? me->place : me->instance >> BITS;
}

static inline void wait_at(struct self *me, uint32_t first, uint32_t count, uint32_t site) {
  for (uint32_t n = first; n < first + count; n++) {
    struct wait wait = waits[n];
    if (LIKELY(!(wait.signals & TAIL)))
      wait_for((int)wait.thread, me->instance | wait.signals, site);
    else if (atomic_load_explicit(&lines[wait.thread].owes, memory_order_acquire))
      wait_for_tail((int)wait.thread, wait.signals & ~TAIL, place(me));
  }
}

static inline void give_signal(struct self *me, uint32_t signal) {
  if (!LIKELY(me->tail == 0))
    owe(me, signal);
  if (LIKELY(me->alone)) {
    if (signal == me->signals)
      through(me);
    return;
  }
  struct line *line = &lines[me->id];
  if (me->pending) {
    announce(me, me->pending);
    me->pending = 0;
  }
  atomic_store_explicit(&line->word, me->instance | signal, memory_order_release);
  if (!LIKELY(atomic_load_explicit(&line->sleepers, memory_order_relaxed) == 0))
    futex_wake(&line->word);
}

static inline int unscheduled(struct self *me, uint32_t site) {
  if (!LIKELY(me->id >= 0) && !is_unconstrained())
    leave(site, "it has no part in it");
  return !LIKELY(me->id >= 0);
}

/* Whether the thread is where its schedule has it, or is deciding; waits until it is its turn. */
static inline int comes_to(struct self *me, uint32_t site) {
  if (is_unconstrained() || unscheduled(me, site))
    return 0;
  if (me->next == me->end && me->choice < 0) {
    next_section(me, site);
    if (is_unconstrained())
      return 0;
  }
  return 1;
}

static inline int waits_at_step(struct self *me, uint32_t site) {
  const struct step *step = me->next;
  if (!LIKELY(step->site == site)) {
    leave(site, "another instruction was expected");
    return 0;
  }
  wait_at(me, step->first_wait, step->wait_count, site);
  return 1;
}

void __selvedge_at(uint32_t site) {
  struct self *me = self;
  if (!comes_to(me, site))
    return;
  if (me->choice < 0) {
    waits_at_step(me, site);
    return;
  }
  const struct choice *choice = &choices[me->choice];
  if (choice->site != site || choice->branch)
    leave(site, "another instruction was expected");
  wait_at(me, choice->first_wait, choice->wait_count, site);
}

void __selvedge_done(uint32_t site) {
  struct self *me = self;
  if (is_unconstrained() || !LIKELY(me->id >= 0))
    return;
  record(me, site, 0);
  if (me->choice >= 0) {
    follow(me, nexts[choices[me->choice].first], site);
    return;
  }
  uint32_t signal = me->next++->signal;
  if (signal)
    give_signal(me, signal);
}

static void decides(struct self *me, uint32_t site, uint32_t successor) {
  const struct choice *choice = &choices[me->choice];
  if (choice->site != site || !choice->branch)
    leave(site, "another instruction was expected");
  else if (successor >= choice->count)
    leave(site, "it went a way that was not verified");
  else {
    follow(me, nexts[choice->first + successor], site);
    /* The branch was the last step of its event: what it signals stands at the step before. */
    if (me->choice < 0 && !is_unconstrained() && me->next[-1].signal)
      give_signal(me, me->next[-1].signal);
  }
}

void __selvedge_branch(uint32_t site, uint32_t successor) {
  struct self *me = self;
  if (!comes_to(me, site))
    return;
  if (me->choice >= 0) {
    wait_at(me, choices[me->choice].first_wait, choices[me->choice].wait_count, site);
    record(me, site, successor);
    decides(me, site, successor);
    return;
  }
  if (!waits_at_step(me, site))
    return;
  record(me, site, successor);
  const struct step *step = me->next;
  if (!LIKELY(step->successor == successor || step->successor == ANY)) {
    leave(site, "it went a way that was not verified");
    return;
  }
  me->next++;
  if (step->signal)
    give_signal(me, step->signal);
}

#endif
