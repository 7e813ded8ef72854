%% entry: test(2)
%% expect: verified, 4 interleavings without observers, 3 with them
-module(first_or_timeout).
-export([test/1]).

test(N) ->
    Self = self(),
    _ = [spawn(fun() -> Self ! I end) || I <- lists:seq(1, N)],
    receive X -> X after 100 -> timeout end.
