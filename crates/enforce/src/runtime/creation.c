/* Creation of threads. The schedule knows a thread by who creates it, and how many that one has created before. */

#if SELVEDGE_SCHEDULED
static void ended(void) {
  if (self->id >= 0)
    atomic_store(&lines[self->id].ended, 1);
}
#else
static void ended(void) {}
#endif

struct beginning {
  void *(*routine)(void *);
  void *argument;
  uint32_t number;
  int creator;
  uint32_t nth;
};

static void run_ended(void *arg) {
  (void)arg;
  ended();
}

static void *run(void *arg) {
  struct beginning beginning = *(struct beginning *)arg;
  free(arg);
  prepare(&selves[beginning.number], beginning.number, beginning.creator, beginning.nth);
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
  int creator = self == &selves[0] ? MAIN : self->id >= 0 ? self->id : STRANGER;
  *beginning = (struct beginning){routine, arg, number, creator, self->children++};
  return pthread_create(thread, attr, run, beginning);
}
