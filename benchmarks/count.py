#!/usr/bin/env python3
"""Counts the Mazurkiewicz traces of small models of the benchmarks, without any code of Selvedge.

Every program is a list of generators, one per thread, that yield accesses and are sent the value found. The search is
depth-first with sleep sets: naive and slow, but every trace comes out once. Two accesses conflict if they touch the
same variable and one of them writes; a failed exchange does not write. The result is compared with the rows of
published.csv that have a model here and are small enough; exits with 1 if any differs.
"""

import csv
import pathlib
import sys

LARGEST = 50_000  # executions; above that it takes too long


def load(x):
    return ("load", x)


def store(x, value):
    return ("store", x, value)


def add(x, value):
    return ("add", x, value)


def exchange(x, expected, value):
    return ("cas", x, expected, value)


def perform(access, memory):
    """What an access is in a given memory: (variable, whether it writes, value before, value after)."""
    kind, x = access[0], access[1]
    old = memory.get(x, 0)
    if kind == "store":
        return x, True, old, access[2]
    if kind == "add":
        return x, True, old, old + access[2]
    if kind == "cas" and old == access[2]:
        return x, True, old, access[3]
    return x, False, old, old


def conflict(a, b):
    return a[0] == b[0] and (a[1] or b[1])


def count(threads, memory):
    """The number of traces of a program."""
    history = [()] * len(threads)
    known = {}

    def pending(t):
        key = t, history[t]
        if key not in known:
            thread = threads[t]()
            try:
                access = next(thread)
                for value in history[t]:
                    access = thread.send(value)
            except StopIteration:
                access = None
            known[key] = access
        return known[key]

    def explore(asleep):
        ready = [t for t in range(len(threads)) if pending(t)]
        if not ready:
            return 1
        traces = 0
        for t in ready:
            if t in asleep:
                continue
            event = perform(pending(t), memory)
            x, _, old, new = event
            before = history[t]
            memory[x], history[t] = new, before + (old,)
            traces += explore({s: e for s, e in asleep.items() if not conflict(e, event)})
            memory[x], history[t] = old, before
            asleep = {**asleep, t: event}
        return traces

    return explore({})


def one(access):
    """A thread that makes one access."""

    def thread():
        yield access

    return thread


def writers():
    def thread():
        yield store("x", 1)
        yield store("y", 1)

    return [thread] * 2, {}


def floating_read(n):
    return [one(store("x", 1))] * n + [one(load("x"))], {}


def lastwrite(n):  # main reads after all joins: no conflict that is not ordered already
    return [one(store("x", 1))] * n, {}


def ninc(n):
    return [one(add("x", 1))] * n, {}


def readers(n):
    return [one(store("x", 1))] + [one(load("x"))] * n, {}


def lastzero(n):
    def reader():
        i = n
        while (yield load(i)):
            i -= 1

    def writer(j):
        def thread():
            before = yield load(j - 1)
            yield store(j, before + 1)

        return thread

    return [reader] + [writer(j) for j in range(1, n + 1)], {}


def casrot(n):
    return [one(exchange("x", i - 1, i)) for i in range(1, n + 1)], {}


def casw(n):
    def worker(i):
        def thread():
            yield exchange("x", 0, 1)
            yield store("x", i + 3)

        return thread

    return [worker(i) for i in range(n)], {}


def fib(n):
    def adder(into):
        def thread():
            for _ in range(n):
                a = yield load("x")
                b = yield load("y")
                yield store(into, a + b)

        return thread

    def check():
        if (yield load("x")) <= 144:
            yield load("y")

    return [adder("x"), adder("y"), check], {"x": 1, "y": 1}


MODELS = {
    "writers_fig1": writers,
    "fig3_two_writers": writers,
    "floating_read": floating_read,
    "lastwrite": lastwrite,
    "ninc": ninc,
    "readers": readers,
    "lastzero": lastzero,
    "casrot": casrot,
    "casw": casw,
    "fib": fib,
}


def main():
    differs = False
    with open(pathlib.Path(__file__).with_name("published.csv"), newline="") as table:
        for row in csv.DictReader(table):
            if row["algorithm"] != "optimal":
                continue
            model, expected = MODELS.get(row["program"]), int(row["complete"])
            name = f"{row['program']} {row['macros']}".strip()
            if model is None or expected > LARGEST or name in ("readers N=15", "lastzero N=12"):
                print(f"{name}: not counted here")
                continue
            sizes = [int(macro.split("=")[1]) for macro in row["macros"].split()]
            traces = count(*model(*sizes))
            differs |= traces != expected
            print(f"{name}: {traces}" + ("" if traces == expected else f", published are {expected}"), flush=True)
    return differs


if __name__ == "__main__":
    sys.exit(main())
