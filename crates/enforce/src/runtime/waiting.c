/* How threads wait for each other.
 *
 * Every thread has two words on a cache line of its own. One counts its signals: the number of the section instance that it
 * has a part in, and how many of its signals in that section it has given. The other is its last announcement: the
 * number of a section instance, and which section that is. To wait is to look at a word of another thread until it is
 * large enough: by spinning for a while, then by a futex. Nobody waits for a lock.
 *
 * A wake-up may come between the look at a signal and the futex call of a thread that goes to sleep, and be missed, since
 * there is no fence between the store of a signal and the look at its sleepers. So nobody sleeps for longer than NAP. */
#if SELVEDGE_SCHEDULED

#define MASK ((1u << BITS) - 1)
#define NAP 1000000 /* nanoseconds */
#define BUSY 50000   /* ticks, some ten microseconds: about what it takes to wake a thread */
#define LONG 4000000 /* how long a thread waits for its turn before it says so */

struct line {
  _Alignas(128) _Atomic uint64_t word;
  _Atomic uint64_t announced;
  _Atomic uint64_t owes;     /* which section instance it has not done its tail of, plus 1, and its class; 0 if nothing */
  _Atomic uint32_t sleepers; /* who wait for signals or for a tail */
  _Atomic uint32_t ended;
};

/* Where a thread waits for its next turn. */
enum { RUNNING, SPINNING, ASLEEP };
struct door {
  _Alignas(128) _Atomic uint32_t state;
  _Atomic int processor;    /* where it began to wait */
  _Atomic int impatient;    /* whether it has waited for LONG */
  _Atomic uint32_t bell;    /* rung to wake it */
  _Atomic uint64_t last;    /* when it had its last turn */
  _Atomic uint64_t in_vain; /* how much had been written when it found nothing to write, plus 1 */
};

static struct line lines[THREADS];
static struct door doors[THREADS];
static _Atomic int unconstrained;
/* Whether some thread is impatient. It is read at the end of every turn and mostly stays as it is. */
static _Alignas(128) _Atomic int impatience;

/* How long a thread spins before it gives its processor away: longer if that was enough the last time, shorter if the one
 * that it waits for needs the processor. If there are more threads than processors, somebody always does. In any case about as long
 * as it takes to fall asleep and to be woken. A processor is given away by sleeping only: on a busy machine, who yields stands
 * behind everybody else, for tens of milliseconds. */
#define LEAST_SPINS 200
#define MOST_SPINS 4000
#define MOST_CROWDED 400
static _Thread_local uint32_t spins = LEAST_SPINS;

static void spin_longer(void) {
  uint32_t most = (int)created > processors + 1 ? MOST_CROWDED : MOST_SPINS;
  spins = spins * 2 < most ? spins * 2 : most;
}

static void spin_less(void) { spins = spins / 2 > LEAST_SPINS ? spins / 2 : LEAST_SPINS; }

static void leave(uint32_t site, const char *why) {
  static _Atomic int said;
  if (!atomic_exchange(&said, 1)) {
    const char *thread = self->id >= 0 ? thread_names[self->id] : "a thread that the schedule does not know";
    const char *place = site < SITES ? site_names[site] : "its end";
    fflush(stdout);
    fprintf(stderr, "selvedge: %s left its schedule at %s: %s\n", thread, place, why);
    if (!CONTINUE)
      _exit(4);
    fprintf(stderr, "selvedge: the program goes on without a schedule\n");
  }
  atomic_store(&unconstrained, 1);
}

static int is_unconstrained(void) { return !LIKELY(!atomic_load_explicit(&unconstrained, memory_order_relaxed)); }

static inline void cpu_relax(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/* A clock that costs little. */
static inline uint64_t ticks(void) {
#if defined(__x86_64__) || defined(__i386__)
  return __builtin_ia32_rdtsc();
#else
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
#endif
}

/* Whether the time is over before somebody wakes it. */
static int futex_wait(void *word, uint32_t value, long nanoseconds) {
  struct timespec time = {0, nanoseconds};
  return syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &time, 0, 0) && errno == ETIMEDOUT;
}

static void futex_wake(void *word) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1 << 30, 0, 0, 0); }

/* Waits until a thread has given a signal. */
static __attribute__((noinline)) void wait_slowly(int writer, uint64_t value, uint32_t site) {
  struct line *line = &lines[writer];
  for (uint32_t n = 0; n < spins; n++) {
    if (atomic_load_explicit(&line->word, memory_order_acquire) >= value) {
      spin_longer();
      return;
    }
    cpu_relax();
  }
  spin_less();
  atomic_fetch_add(&line->sleepers, 1);
  while (!is_unconstrained()) {
    int over = atomic_load(&line->ended);
    uint64_t found = atomic_load_explicit(&line->word, memory_order_acquire);
    if (found >= value)
      break;
    if (over) {
      leave(site, "it waits for a thread that has ended");
      break;
    }
    /* The lower half of the word changes whenever it is written. */
    futex_wait(&line->word, (uint32_t)found, NAP);
  }
  atomic_fetch_sub(&line->sleepers, 1);
}

static inline void wait_for(int writer, uint64_t value, uint32_t site) {
  if (LIKELY(atomic_load_explicit(&lines[writer].word, memory_order_acquire) >= value))
    return;
  wait_slowly(writer, value, site);
}

#define CLASS_BITS 5

static int is_owed(uint64_t owed, uint32_t classes, uint64_t place) {
  return owed && owed >> CLASS_BITS <= place && classes >> (owed & ((1u << CLASS_BITS) - 1)) & 1;
}

/* Waits until a thread owes no tail of these classes of a section before this place. */
static __attribute__((noinline)) void wait_for_tail(int writer, uint32_t classes, uint64_t place) {
  struct line *line = &lines[writer];
  uint64_t owed;
  for (uint32_t n = 0; n < spins; n++) {
    owed = atomic_load_explicit(&line->owes, memory_order_acquire);
    if (!is_owed(owed, classes, place))
      return;
    cpu_relax();
  }
  atomic_fetch_add(&line->sleepers, 1);
  while (!is_unconstrained()) {
    owed = atomic_load_explicit(&line->owes, memory_order_acquire);
    if (!is_owed(owed, classes, place))
      break;
    futex_wait(&line->owes, (uint32_t)owed, NAP);
  }
  atomic_fetch_sub(&line->sleepers, 1);
}

/* Wakes a thread that waits for its turn. */
static inline void ring(int thread) {
  struct door *door = &doors[thread];
  if (LIKELY(atomic_load(&door->state) != ASLEEP))
    return;
  atomic_fetch_add(&door->bell, 1);
  futex_wake(&door->bell);
}

/* A thread that has looked for its turn so many times, and did not find it, waits for a while. Before it sleeps it
 * says so and looks once more, and whoever gives it a turn does that before it looks whether it sleeps: one of them
 * sees the other. */
static uint32_t wait_at_door(struct door *door, uint32_t looks, uint32_t *bell) {
  if (looks == 0) {
    atomic_store_explicit(&door->processor, sched_getcpu(), memory_order_relaxed);
    atomic_store_explicit(&door->state, SPINNING, memory_order_release);
  }
  if (looks < spins) {
    cpu_relax();
    return looks + 1;
  }
  if (atomic_load_explicit(&door->state, memory_order_relaxed) != ASLEEP) {
    *bell = atomic_load(&door->bell);
    atomic_store(&door->state, ASLEEP);
    atomic_thread_fence(memory_order_seq_cst);
    return looks;
  }
  spin_less();
  if (futex_wait(&door->bell, *bell, LONG)) {
    atomic_store_explicit(&door->impatient, 1, memory_order_relaxed);
    atomic_store_explicit(&impatience, 1, memory_order_release);
  }
  atomic_store(&door->state, SPINNING);
  return 1;
}

#endif
