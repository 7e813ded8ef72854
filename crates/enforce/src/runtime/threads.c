/* The run-time of a program: its threads, counts of useful iterations, and inputs.
 *
 * Compiled with the program, behind the tables that `tables.rs` writes, with the other files of this directory behind it; all
 * numbers come from those tables, which were checked when the schedule was read, and all indices stay within them. */
#include <errno.h>
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
#define ANY 0xffffffffu
#define MOST_THREADS 4096

struct self {
  /* On lines of its own: every thread writes here all the time. */
  _Alignas(128) _Atomic uint64_t useful;
  uint64_t random;
  int id; /* number in the schedule, -1 if it has none */
  uint32_t children; /* how many threads it has created */
#if SELVEDGE_SCHEDULED
  const struct step *next, *end;
  uint64_t instance; /* of the section that it has a part in, shifted */
  uint64_t place;    /* of that section, if it is alone in it: larger than those of all before */
  uint64_t now;      /* the last section instance that it has heard of, and which section that was */
  uint64_t pending;  /* an announcement that goes out with the next signal */
  uint64_t parked;   /* the turn that it left for others to take, if `position` is PARKED */
  uint64_t seen;     /* a turn that was there to be taken when it looked last */
  uint32_t section;  /* the one that it has a part in */
  uint32_t signals;  /* how many signals it gives in it before its tail */
  uint32_t class;    /* of its tail in it */
  uint32_t tail;     /* how many it gives in all, if it has a tail; else 0 */
  int alone;         /* whether nobody else has a part in it */
  int stayed;        /* how many turns it has had in a row */
  int wrote;         /* whether it wrote what is shared since its turn began */
  int asks;          /* whether it takes an input before it comes to its next step */
  int busy;          /* whether that took long the last time */
  uint64_t since;    /* when it began to */
  int lost;          /* whether it is in charge, but has let somebody else take its turn */
  int position;      /* where it goes on: PARKED, or 0 if it has to wait */
  int offer;         /* where it goes on if its parked turn is still there */
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

/* A thread starts: the `nth` that the thread `creator` of the schedule creates. The main thread is creator MAIN, whether or not
 * the schedule has it; nobody creates it, and who else is not in the schedule creates none that is. */
enum { MAIN = -1, NOBODY = -2, STRANGER = -3 };

static void prepare(struct self *me, uint32_t number, int creator, uint32_t nth) {
  const char *seed = getenv("SELVEDGE_SEED");
  me->random = (seed ? strtoull(seed, 0, 10) : 1) * 0x9e3779b97f4a7c15u + number * 0xbf58476d1ce4e5b9u + 1;
  me->id = -1;
#if SELVEDGE_SCHEDULED
  me->choice = -1;
  me->busy = 1;
  me->now = NO_SECTION;
  for (int n = 0; n < THREADS; n++)
    if (starts[n].creator == creator && starts[n].nth == nth)
      me->id = n;
#else
  (void)creator, (void)nth;
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

/* Threads go on meanwhile: all is looked at before anything is written. */
static void report(void) {
  static uint64_t counts[MOST_THREADS];
  uint64_t sum = 0;
  uint32_t threads = thread_count();
  for (uint32_t n = 0; n < threads; n++)
    counts[n] = selves[n].useful;
  for (uint32_t n = 0; n < threads; n++)
    sum += counts[n];
  fflush(stdout);
  fprintf(stderr, "selvedge: useful iterations: %llu (", (unsigned long long)sum);
  for (uint32_t n = 1; n < threads; n++)
    fprintf(stderr, "%s%llu", n > 1 ? ", " : "", (unsigned long long)counts[n]);
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

static int processors = 1;

__attribute__((constructor(101))) static void begin(void) {
  cpu_set_t cpus;
  if (sched_getaffinity(0, sizeof cpus, &cpus) == 0)
    processors = CPU_COUNT(&cpus);
  prepare(&selves[0], 0, NOBODY, 0);
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
