/* Whose turn it is.
 *
 * Sections follow each other, all events of one before the first event of the next (Definition 37). Behind each section a
 * thread is in charge, which everybody who knows the section knows; it announces what comes next on its line.
 *
 * - A section with events of several threads: the thread that is in charge waits for all of its signals. It is the one that
 *   starts the next section, if there is one such thread; it then announces that section, at once, or, if all others
 *   wait for a signal of it first, with that one.
 * - A section of one thread alone is not announced. When the thread is through and somebody else is to go on, it says so:
 *   a *hand-over* is announced like a section, and names a position, which is a node and who goes on there.
 *
 * A thread that has no part in some sections may find a later announcement on a line: one that it has a part in cannot have
 * been passed by, since that would need its signals or its own announcement.
 *
 * The next section begins when all threads have given their signals up to their tails (`tails.rs`). A thread says on its line
 * of which section it owes its tail, before it gives the last signal in front of it, until the tail is done. Whoever comes to an
 * event that depends on such a tail waits as long as one of an earlier section is owed.
 *
 * At an open node, where several threads may go on, the one in charge decides. It stays itself as long as it has something to
 * do, since every change costs time: it leaves its turn in `baton`, and takes it again when it comes to its next step.
 * Meanwhile another thread may take it, if it finds the turn untouched for a while: a thread that is busy with something of its
 * own keeps nobody waiting. If it takes an input, and was long busy with that the last time, it does not wait for that: it hands its
 * turn to a thread that waits. A turn in which nothing shared was written was in vain, most likely: then the turn is handed to a
 * thread that waits, unless that one has tried in vain itself since something was written last; so it is after STAY
 * turns. And a thread that has waited for a few milliseconds gets the next turn that it can have, before those that had theirs later: so nobody is left
 * out for ever (Lemma 7). */
#if SELVEDGE_SCHEDULED

#define STAY 4096 /* turns in a row, while others wait */
#define LOOKS 64  /* between two looks at the baton */
#define PARKED (-1)
#define FREE 1u
#define EAGER 2u /* its owner does not want it */
#define NODE_SHIFT 2
#define TURN_SHIFT (NODE_SHIFT + BITS)

static struct {
  /* Number of the turn, its node, EAGER and FREE. Who is in charge has all of it, unless FREE is set: then whoever
   * resets that. */
  _Alignas(128) _Atomic uint64_t word;
  uint64_t now; /* of its owner */
  int owner;
  uint64_t turns, written;
} baton;

/* Who is in charge behind a section or a hand-over. */
static int in_charge(uint32_t section) {
  return section > NO_SECTION ? positions[section - NO_SECTION - 1].leader : in_charge_behind[section];
}

static uint64_t next_instance(uint64_t now) {
  uint64_t instance = (now >> BITS) + 1;
  if (instance >> (63 - BITS))
    give_up("the program ran for so long that sections cannot be counted any more");
  return instance;
}

/* The turn goes to a position, on the line of whoever was in charge. */
static uint64_t hand_over(int owner, uint64_t now, uint32_t position) {
  uint64_t announced = next_instance(now) << BITS | (NO_SECTION + 1 + position);
  atomic_store(&lines[owner].announced, announced);
  int to = positions[position].leader;
  if (to >= 0 && to != self->id)
    ring(to);
  return announced;
}

/* Announces a section of several threads. */
static void announce(struct self *me, uint64_t value) {
  atomic_store(&lines[me->id].announced, value);
  uint32_t section = value & MASK;
  for (int other = 0; other < THREADS; other++)
    if (other != me->id && parts[section * THREADS + other].count)
      ring(other);
}

static void enter(struct self *me, uint32_t section, uint32_t skip) {
  const struct part *part = &parts[section * THREADS + me->id];
  me->section = section;
  me->alone = section_flags[section] & ALONE;
  me->signals = part->signals;
  me->class = part->class;
  me->tail = part->total != part->signals ? part->total : 0;
  me->place = (me->now >> BITS) + 1;
  me->next = &steps[part->first + skip];
  me->end = &steps[part->first + part->count];
}

static void start(struct self *me, uint32_t section, uint32_t skip) {
  me->choice = -1;
  enter(me, section, skip);
  if (me->alone)
    return;
  me->now = next_instance(me->now) << BITS | section;
  me->instance = me->now >> BITS << BITS;
  if (section_flags[section] & WAITS)
    me->pending = me->now;
  else
    announce(me, me->now);
}

static void follow(struct self *me, struct next next, uint32_t site) {
  if (next.kind == TO_SECTION)
    start(me, next.a, next.b);
  else if (next.kind == TO_CHOICE)
    me->choice = (int)next.a;
  else
    leave(site, "it went a way that was not verified");
}

/* How good it is to give a thread the turn: one that spins on another processor goes on at once, one that waits on another
 * processor does not take the place of this one. */
static int readiness(const struct door *door, uint32_t state, int processor) {
  if (atomic_load_explicit(&door->processor, memory_order_relaxed) == processor)
    return 1;
  return state == SPINNING ? 3 : 2;
}

/* A thread that waits and that the turn should go to; 0 if there is none. Of several that are as good, the one that had its
 * last turn first. */
static uint32_t successor(struct self *me, const struct node *node, int wanted) {
  uint32_t best = 0, overdue = 0;
  int most = 0, processor = sched_getcpu();
  uint64_t longest = 0, best_waited = 0;
  for (uint32_t p = node->first; p < node->first + node->count; p++) {
    int thread = positions[p].leader;
    struct door *door = &doors[thread];
    uint32_t state = atomic_load_explicit(&door->state, memory_order_acquire);
    if (thread == me->id || state == RUNNING)
      continue;
    uint64_t waited = 1 + baton.turns - atomic_load_explicit(&door->last, memory_order_relaxed);
    if (waited > longest && atomic_load_explicit(&door->impatient, memory_order_relaxed)) {
      longest = waited;
      overdue = p;
    }
    int ready = readiness(door, state, processor);
    int tried = atomic_load_explicit(&door->in_vain, memory_order_relaxed) == baton.written + 1;
    if (!tried && (ready > most || (ready == most && waited > best_waited))) {
      most = ready;
      best_waited = waited;
      best = p;
    }
  }
  return overdue ? overdue : wanted ? best : 0;
}

/* Whether somebody else than the next one has waited for too long. */
static int still_impatient(uint32_t position) {
  for (int thread = 0; thread < THREADS; thread++)
    if (atomic_load_explicit(&doors[thread].impatient, memory_order_relaxed) && thread != positions[position].leader)
      return 1;
  return 0;
}

/* Leaves the turn for whoever comes first. */
static void park(struct self *me, uint32_t node, uint64_t flags) {
  uint64_t turn = (atomic_load_explicit(&baton.word, memory_order_relaxed) >> TURN_SHIFT) + 1;
  me->parked = turn << TURN_SHIFT | (uint64_t)node << NODE_SHIFT | flags | FREE;
  baton.owner = me->id;
  baton.now = me->now;
  atomic_store_explicit(&baton.word, me->parked, memory_order_release);
}

static int take(uint64_t word) {
  return atomic_compare_exchange_strong_explicit(&baton.word, &word, word & ~(uint64_t)FREE, memory_order_acq_rel,
                                                 memory_order_relaxed);
}

static uint32_t offer_to(struct self *me, uint32_t node) {
  for (uint32_t p = nodes[node].first; p < nodes[node].first + nodes[node].count; p++)
    if (positions[p].leader == me->id)
      return p;
  return 0;
}

/* The one in charge is at an open node. */
static void decide(struct self *me, uint32_t number) {
  const struct node *node = &nodes[number];
  int in_vain = !me->wrote;
  me->wrote = 0;
  baton.turns++;
  baton.written += !in_vain;
  me->offer = (int)offer_to(me, number);
  int called = atomic_load_explicit(&impatience, memory_order_relaxed);
  int enough = ++me->stayed >= STAY;
  int busy = me->asks && me->busy;
  if (me->asks)
    me->since = ticks();
  if (!LIKELY(!in_vain && !called && !enough && !busy && me->offer)) {
    me->stayed = 0;
    struct door *door = &doors[me->id];
    atomic_store_explicit(&door->last, baton.turns, memory_order_relaxed);
    if (in_vain)
      atomic_store_explicit(&door->in_vain, baton.written + 1, memory_order_relaxed);
    if (called)
      atomic_store_explicit(&impatience, 0, memory_order_relaxed);
    uint32_t position = successor(me, node, in_vain || enough || busy || !me->offer);
    if (called && still_impatient(position))
      atomic_store_explicit(&impatience, 1, memory_order_relaxed);
    if (position) {
      me->now = hand_over(me->id, me->now, position);
      return;
    }
  }
  park(me, number, in_vain || busy || !me->offer ? EAGER : 0);
  me->position = me->offer ? PARKED : 0;
  me->lost = !me->offer;
}

/* All of a section is done, and this thread is in charge. */
static void settle(struct self *me, uint32_t number) {
  const struct node *node = &nodes[number];
  if (node->count > 1)
    decide(me, number);
  else if (node->count == 1 && positions[node->first].leader == me->id)
    me->position = (int)node->first;
  else
    /* Position 0 is the end of the schedule. */
    me->now = hand_over(me->id, me->now, node->count ? node->first : 0);
}

/* A thread is through with a section in which it is alone. */
static void through(struct self *me) {
  if (section_flags[me->section] & WRITES)
    me->wrote = 1;
  me->asks = section_flags[me->section] & ASKS;
  settle(me, section_ends[me->section]);
}

/* Takes a turn that another thread has parked and does not come back for; its position, or 0. */
static uint32_t take_parked(struct self *me) {
  uint64_t word = atomic_load_explicit(&baton.word, memory_order_relaxed);
  int again = word == me->seen;
  me->seen = word;
  if (!(word & FREE) || !(again || word & EAGER))
    return 0;
  uint32_t position = offer_to(me, word >> NODE_SHIFT & MASK);
  if (!position || !take(word))
    return 0;
  me->now = hand_over(baton.owner, baton.now, position);
  return position;
}

/* Whether this thread is in charge behind the last section that it has heard of; if so, it sees to it that things go on. */
static int sees_to_it(struct self *me, uint32_t section, uint64_t instance, uint32_t site) {
  if (section > NO_SECTION) {
    me->position = (int)(section - NO_SECTION - 1);
    return 1;
  }
  for (int other = 0; other < THREADS; other++) {
    uint32_t signals = parts[section * THREADS + other].signals;
    if (other != me->id && signals)
      wait_for(other, instance << BITS | signals, site);
  }
  me->wrote = 1;
  me->asks = 0;
  settle(me, section_ends[section]);
  return me->position != 0;
}

/* Goes where it may go on, if it may. */
static int goes_on(struct self *me, uint32_t site) {
  if (me->position == PARKED) {
    int there = take(me->parked);
    me->position = there ? me->offer : 0;
    me->lost = !there;
  }
  if (me->position <= 0)
    return 0;
  uint32_t position = (uint32_t)me->position;
  me->position = 0;
  follow(me, positions[position].next, site);
  return 1;
}

/* A thread that has nothing more to do in its section waits for its turn, or for a section that it has a part in. */
static __attribute__((noinline)) void wait_for_turn(struct self *me, uint32_t site) {
  struct door *door = &doors[me->id];
  uint32_t looks = 0, bell = 0, position;
  while (!is_unconstrained()) {
    uint32_t section = me->now & MASK;
    uint64_t instance = me->now >> BITS;
    int who = in_charge(section);
    if (who < 0) {
      leave(site, "the schedule ends before");
      break;
    }
    int over = atomic_load_explicit(&lines[who].ended, memory_order_acquire);
    uint64_t announced = atomic_load(&lines[who].announced);
    if (announced >> BITS > instance) {
      me->now = announced;
      me->lost = 0;
      section = announced & MASK;
      if (section < NO_SECTION && parts[section * THREADS + me->id].count) {
        enter(me, section, 0);
        me->instance = announced >> BITS << BITS;
        break;
      }
      continue;
    }
    if (who == me->id && !me->lost) {
      if (sees_to_it(me, section, instance, site) && goes_on(me, site))
        break;
      continue;
    }
    if ((looks % LOOKS == LOOKS - 1 || looks >= spins) && (position = take_parked(me)) != 0) {
      follow(me, positions[position].next, site);
      break;
    }
    if (over && !(atomic_load(&baton.word) & FREE) && atomic_load(&lines[who].announced) == announced) {
      leave(site, "it waits for a thread that has ended");
      break;
    }
    looks = wait_at_door(door, looks, &bell);
  }
  if (looks > 0) {
    if (looks < spins)
      spin_longer();
    atomic_store_explicit(&door->impatient, 0, memory_order_relaxed);
    atomic_store_explicit(&door->state, RUNNING, memory_order_relaxed);
  }
}

static inline void next_section(struct self *me, uint32_t site) {
  if (!LIKELY(!me->asks)) {
    me->busy = ticks() - me->since > BUSY;
    me->asks = 0;
  }
  if (!LIKELY(goes_on(me, site)))
    wait_for_turn(me, site);
}

#endif
