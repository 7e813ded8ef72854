%% entry: test()
%% expect: incomplete: a process computes without end (step bound)
-module(endless).
-export([test/0]).

test() -> loop(0).

loop(N) -> loop(N + 1).
