/* Waiting in the benchmarks.
 *
 * AWAIT(c) waits until c holds. As it stands it is an assumption: executions in which c does not hold yet are blocked,
 * so that every program is bounded. With -DSPIN it is the loop that a real program would have. */
#ifndef AWAIT_H
#define AWAIT_H

#ifdef SPIN
#define AWAIT(c)                                                                                                       \
    do {                                                                                                               \
    } while (!(c))
#else
void __VERIFIER_assume(int);
#define AWAIT(c) __VERIFIER_assume(c)
#endif

#endif
