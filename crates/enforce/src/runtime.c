/* The run-time that keeps a program to its schedule.
 *
 * Compiled with the program, behind the tables that `tables.rs` writes; all numbers below come from those tables, which
 * were checked when the schedule was read, and all indices stay within them.
 *
 * Every thread has a word on a cache line of its own: the number of the section instance that it is in, and how many of
 * its signals in that section it has given. To wait is to look at the word of another thread until it is large
 * enough: by spinning for a while, then by a futex. Nobody waits for a lock. Sections follow each other: the thread that
 * has the first event of the next section, its leader, waits for all signals of the last one (Definition 37: all events of
 * a section come before the first event of the next) and then announces the next, in a second word on its line. Who leads
 * next is known from the section before, so everybody knows whose line to look at. A thread that has no part in some
 * sections may find a later announcement there: one that it has a part in cannot have been passed by.
 *
 * A wake-up may come between the look at a word and the futex call of a thread that goes to sleep, and be missed, since
 * there is no fence between the store of a word and the look at its sleepers. So nobody sleeps for longer than NAP. */
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define BITS 20 /* of a word that count signals, or name a section */
#define NAP 1000000 /* nanoseconds */
#define ANY 0xffffffffu
#define MOST_THREADS 4096

/* ---- threads, counts of useful iterations, inputs ---- */

struct self {
  _Atomic uint64_t useful;
  uint64_t random;
  int id; /* number in the schedule, -1 if it has none */
#if SELVEDGE_SCHEDULED
  const struct step *next, *end;
  uint64_t instance; /* section instance, shifted */
  uint64_t now;      /* section instance and section */
  uint64_t pending;  /* an announcement that goes out with the next signal */
  int choice;        /* what is being decided, -1 if nothing is */
#endif
};

static struct self selves[MOST_THREADS];
static _Atomic uint32_t created = 1; /* the first is the main thread */
static _Thread_local struct self *self;
static double seconds;
static int limited; /* whether inputs are: from `lowest`, so many */
static long long lowest;
static uint64_t width;

static _Noreturn void give_up(const char *message) {
  fflush(stdout);
  fprintf(stderr, "selvedge: %s\n", message);
  _exit(4);
}

static void prepare(struct self *me, uint32_t number) {
  const char *seed = getenv("SELVEDGE_SEED");
  me->random = (seed ? strtoull(seed, 0, 10) : 1) * 0x9e3779b97f4a7c15u + number * 0xbf58476d1ce4e5b9u + 1;
  me->id = -1;
#if SELVEDGE_SCHEDULED
  me->choice = -1;
  me->now = NO_SECTION;
  for (int n = 0; n < THREADS; n++)
    if (starts[n] == number)
      me->id = n;
#endif
  self = me;
  /* For measurements: which threads share a processor must not depend on what else the machine does. */
  const char *pin = getenv("SELVEDGE_PIN");
  if (pin && *pin == '1' && number > 0) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET((number - 1) % (uint32_t)sysconf(_SC_NPROCESSORS_ONLN), &cpus);
    sched_setaffinity(0, sizeof cpus, &cpus);
  }
}

void selvedge_useful(void) {
  uint64_t count = atomic_load_explicit(&self->useful, memory_order_relaxed);
  atomic_store_explicit(&self->useful, count + 1, memory_order_relaxed);
}

static uint32_t thread_count(void) { return created < MOST_THREADS ? created : MOST_THREADS; }

static uint64_t total(void) {
  uint64_t sum = 0;
  for (uint32_t n = 0; n < thread_count(); n++)
    sum += selves[n].useful;
  return sum;
}

static void report(void) {
  fflush(stdout);
  fprintf(stderr, "selvedge: useful iterations: %llu (", (unsigned long long)total());
  for (uint32_t n = 1; n < thread_count(); n++)
    fprintf(stderr, "%s%llu", n > 1 ? ", " : "", (unsigned long long)selves[n].useful);
  fprintf(stderr, ")\n");
}

static void sleep_for(double time) {
  struct timespec left = {(time_t)time, (long)((time - (double)(time_t)time) * 1e9)};
  while (nanosleep(&left, &left))
    ;
}

/* Ends the program when its time is over. */
static void *watch(void *arg) {
  sleep_for(seconds / 2);
  uint64_t before = total();
  sleep_for(seconds / 2);
  report();
  /* On a busy machine, less time says nothing. */
  if (seconds >= 1 && before && total() == before)
    give_up("nothing useful happened in the second half of the time: the program is stuck");
  _exit(0);
  return arg;
}

__attribute__((constructor(101))) static void begin(void) {
  prepare(&selves[0], 0);
  const char *limit = getenv("SELVEDGE_SECONDS");
  const char *inputs = getenv("SELVEDGE_NONDET");
  long long highest;
  if (inputs && sscanf(inputs, "%lld..%lld", &lowest, &highest) == 2) {
    limited = 1;
    width = (uint64_t)highest - (uint64_t)lowest + 1;
  }
  pthread_t watcher;
  if (limit && (seconds = strtod(limit, 0)) > 0 && pthread_create(&watcher, 0, watch, 0) == 0)
    pthread_detach(watcher);
}

static uint64_t next_random(void) {
  uint64_t x = self->random;
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  self->random = x;
  return x * 0x2545f4914f6cdd1du;
}

/* An input: any number, or one between the two that SELVEDGE_NONDET gives. */
static uint64_t input(void) {
  uint64_t x = next_random() >> 3;
  return limited ? (uint64_t)lowest + (width ? x % width : x) : x;
}

#define NONDET(name, type)                                                                                             \
  __attribute__((weak)) type __VERIFIER_nondet_##name(void) { return (type)input(); }
NONDET(bool, _Bool)
NONDET(char, signed char)
NONDET(uchar, unsigned char)
NONDET(short, short)
NONDET(ushort, unsigned short)
NONDET(int, int)
NONDET(uint, unsigned)
NONDET(unsigned, unsigned)
NONDET(long, long)
NONDET(ulong, unsigned long)
NONDET(longlong, long long)
NONDET(ulonglong, unsigned long long)
NONDET(u32, uint32_t)
NONDET(u64, uint64_t)
NONDET(size_t, size_t)
NONDET(loff_t, long)
NONDET(unsigned_int, unsigned)
NONDET(unsigned_long, unsigned long)

/* Without a schedule, an atomic block is one under a lock. With one, the schedule keeps others out. */
static pthread_mutex_t atomic_block = PTHREAD_MUTEX_INITIALIZER;
__attribute__((weak)) void __VERIFIER_atomic_begin(void) { pthread_mutex_lock(&atomic_block); }
__attribute__((weak)) void __VERIFIER_atomic_end(void) { pthread_mutex_unlock(&atomic_block); }

__attribute__((weak)) void __VERIFIER_assume(int condition) {
  if (LIKELY(condition))
    return;
#if SELVEDGE_SCHEDULED
  give_up("an assumption does not hold, although the schedule was made so that it does");
#else
  /* An execution that breaks an assumption does not count. */
  while (1)
    pause();
#endif
}

__attribute__((weak)) void __VERIFIER_error(void) { abort(); }

_Noreturn void __selvedge_unsupported(void) { give_up("the program came to something that is not supported"); }

/* ---- the schedule ---- */

#if SELVEDGE_SCHEDULED

struct line {
  _Alignas(128) _Atomic uint64_t word;
  _Atomic uint64_t announced;
  _Atomic uint32_t sleepers; /* who wait for either of them */
  _Atomic uint32_t ended;
};

static struct line lines[THREADS];
static _Atomic int unconstrained;

/* How long a thread spins before it gives its processor away: longer if that was enough the last time, shorter if the one
 * that it waits for needs the processor. */
#define LEAST_SPINS 16
#define MOST_SPINS 4000
#define YIELDS 50
static _Thread_local int spins = 500;

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

static inline void cpu_relax(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static void wake(_Atomic uint64_t *word) {
  syscall(SYS_futex, (uint32_t *)word, FUTEX_WAKE_PRIVATE, 1 << 30, 0, 0, 0);
}

/* Waits until a word of a thread is large enough. */
static __attribute__((noinline)) void wait_slowly(int writer, _Atomic uint64_t *word, uint64_t value, uint32_t site) {
  for (int n = 0; n < spins; n++) {
    if (atomic_load_explicit(word, memory_order_acquire) >= value) {
      spins = spins * 2 < MOST_SPINS ? spins * 2 : MOST_SPINS;
      return;
    }
    cpu_relax();
  }
  spins = spins / 2 > LEAST_SPINS ? spins / 2 : LEAST_SPINS;
  for (int n = 0; n < YIELDS; n++) {
    if (atomic_load_explicit(word, memory_order_acquire) >= value)
      return;
    sched_yield();
  }
  struct line *line = &lines[writer];
  atomic_fetch_add(&line->sleepers, 1);
  while (!atomic_load(&unconstrained)) {
    int over = atomic_load(&line->ended);
    uint64_t found = atomic_load_explicit(word, memory_order_acquire);
    if (found >= value)
      break;
    if (over) {
      leave(site, "it waits for a thread that has ended");
      break;
    }
    struct timespec nap = {0, NAP};
    /* The lower half of the word changes whenever it is written. */
    syscall(SYS_futex, (uint32_t *)word, FUTEX_WAIT_PRIVATE, (uint32_t)found, &nap, 0, 0);
  }
  atomic_fetch_sub(&line->sleepers, 1);
}

static inline void wait_for(int writer, _Atomic uint64_t *word, uint64_t value, uint32_t site) {
  if (LIKELY(atomic_load_explicit(word, memory_order_acquire) >= value))
    return;
  wait_slowly(writer, word, value, site);
}

static void announce(struct line *line, uint64_t value) {
  atomic_store_explicit(&line->announced, value, memory_order_release);
  if (!LIKELY(atomic_load_explicit(&line->sleepers, memory_order_relaxed) == 0))
    wake(&line->announced);
}

static inline void give_signal(struct self *me, uint32_t signal) {
  struct line *line = &lines[me->id];
  if (me->pending) {
    announce(line, me->pending);
    me->pending = 0;
  }
  atomic_store_explicit(&line->word, me->instance | signal, memory_order_release);
  if (!LIKELY(atomic_load_explicit(&line->sleepers, memory_order_relaxed) == 0))
    wake(&line->word);
}

static void enter(struct self *me, uint64_t instance, uint32_t section, uint32_t skip) {
  const struct part *part = &parts[section * THREADS + me->id];
  me->instance = instance << BITS;
  me->now = instance << BITS | section;
  me->next = &steps[part->first + skip];
  me->end = &steps[part->first + part->count];
}

/* The leader announces the next section: at once, or, if all others wait for a signal of its first, with that one. */
static void start(struct self *me, uint32_t section, uint32_t skip) {
  uint64_t instance = (me->now >> BITS) + 1;
  if (instance >> (63 - BITS))
    give_up("the program ran for so long that sections cannot be counted any more");
  me->choice = -1;
  if (section_waits[section])
    me->pending = instance << BITS | section;
  else
    announce(&lines[me->id], instance << BITS | section);
  enter(me, instance, section, skip);
}

static void follow(struct self *me, struct next next, uint32_t site) {
  if (next.kind == TO_SECTION)
    start(me, next.a, next.b);
  else if (next.kind == TO_CHOICE)
    me->choice = (int)next.a;
  else
    leave(site, "it went a way that was not verified");
}

/* A thread that has nothing more to do in its section waits for the next one that it has a part in. */
static __attribute__((noinline)) void next_section(struct self *me, uint32_t site) {
  while (!atomic_load_explicit(&unconstrained, memory_order_relaxed)) {
    uint32_t section = me->now & ((1u << BITS) - 1);
    uint64_t instance = me->now >> BITS;
    const struct node *node = &nodes[section_ends[section]];
    if (node->leader < 0) {
      leave(site, "the schedule ends before");
      return;
    }
    if (node->leader == me->id) {
      for (int other = 0; other < THREADS; other++) {
        uint32_t signals = parts[section * THREADS + other].signals;
        if (other != me->id && signals)
          wait_for(other, &lines[other].word, instance << BITS | signals, site);
      }
      follow(me, node->next, site);
      return;
    }
    struct line *leader = &lines[node->leader];
    wait_for(node->leader, &leader->announced, (instance + 1) << BITS, site);
    uint64_t announced = atomic_load_explicit(&leader->announced, memory_order_acquire);
    if (announced >> BITS <= instance)
      continue;
    me->now = announced;
    section = announced & ((1u << BITS) - 1);
    if (parts[section * THREADS + me->id].count) {
      enter(me, announced >> BITS, section, 0);
      return;
    }
  }
}

static inline int unscheduled(struct self *me, uint32_t site) {
  if (!LIKELY(me->id >= 0) && !atomic_load_explicit(&unconstrained, memory_order_relaxed))
    leave(site, "it has no part in it");
  return !LIKELY(me->id >= 0);
}

void __selvedge_at(uint32_t site) {
  struct self *me = self;
  if (!LIKELY(!atomic_load_explicit(&unconstrained, memory_order_relaxed)) || unscheduled(me, site))
    return;
  if (me->next == me->end && me->choice < 0) {
    next_section(me, site);
    if (atomic_load_explicit(&unconstrained, memory_order_relaxed))
      return;
  }
  if (me->choice >= 0) {
    if (choices[me->choice].site != site || choices[me->choice].branch)
      leave(site, "another instruction was expected");
    return;
  }
  const struct step *step = me->next;
  if (!LIKELY(step->site == site)) {
    leave(site, "another instruction was expected");
    return;
  }
  for (uint32_t n = 0; n < step->wait_count; n++) {
    struct wait wait = waits[step->first_wait + n];
    wait_for((int)wait.thread, &lines[wait.thread].word, me->instance | wait.signals, site);
  }
}

void __selvedge_done(uint32_t site) {
  struct self *me = self;
  if (!LIKELY(!atomic_load_explicit(&unconstrained, memory_order_relaxed)) || !LIKELY(me->id >= 0))
    return;
  if (!LIKELY(me->choice < 0)) {
    follow(me, nexts[choices[me->choice].first], site);
    return;
  }
  uint32_t signal = me->next++->signal;
  if (signal)
    give_signal(me, signal);
}

void __selvedge_branch(uint32_t site, uint32_t successor) {
  struct self *me = self;
  if (!LIKELY(!atomic_load_explicit(&unconstrained, memory_order_relaxed)) || unscheduled(me, site))
    return;
  if (me->next == me->end && me->choice < 0) {
    next_section(me, site);
    if (atomic_load_explicit(&unconstrained, memory_order_relaxed))
      return;
  }
  if (me->choice >= 0) {
    const struct choice *choice = &choices[me->choice];
    if (choice->site != site || !choice->branch)
      leave(site, "another instruction was expected");
    else if (successor >= choice->count)
      leave(site, "it went a way that was not verified");
    else {
      follow(me, nexts[choice->first + successor], site);
      /* The branch was the last step of its event: what it signals stands at the step before. */
      if (me->choice < 0 && !atomic_load_explicit(&unconstrained, memory_order_relaxed) && me->next[-1].signal)
        give_signal(me, me->next[-1].signal);
    }
    return;
  }
  const struct step *step = me->next;
  if (!LIKELY(step->site == site)) {
    leave(site, "another instruction was expected");
    return;
  }
  for (uint32_t n = 0; n < step->wait_count; n++) {
    struct wait wait = waits[step->first_wait + n];
    wait_for((int)wait.thread, &lines[wait.thread].word, me->instance | wait.signals, site);
  }
  if (!LIKELY(step->successor == successor || step->successor == ANY)) {
    leave(site, "it went a way that was not verified");
    return;
  }
  me->next++;
  if (step->signal)
    give_signal(me, step->signal);
}

static void ended(void) {
  if (self->id >= 0)
    atomic_store(&lines[self->id].ended, 1);
}

#else
static void ended(void) {}
#endif

/* ---- creation of threads ---- */

struct beginning {
  void *(*routine)(void *);
  void *argument;
  uint32_t number;
};

static void run_ended(void *arg) {
  (void)arg;
  ended();
}

static void *run(void *arg) {
  struct beginning beginning = *(struct beginning *)arg;
  free(arg);
  prepare(&selves[beginning.number], beginning.number);
  void *result;
  pthread_cleanup_push(run_ended, 0);
  result = beginning.routine(beginning.argument);
  pthread_cleanup_pop(1);
  return result;
}

int __selvedge_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*routine)(void *), void *arg) {
  struct beginning *beginning = malloc(sizeof *beginning);
  uint32_t number = atomic_fetch_add(&created, 1);
  if (!beginning || number >= MOST_THREADS)
    give_up("too many threads");
  *beginning = (struct beginning){routine, arg, number};
  return pthread_create(thread, attr, run, beginning);
}
