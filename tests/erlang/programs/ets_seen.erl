%% entry: test(3)
%% expect: verified; 36 interleavings without observers (n! orders of the writes, n! of the messages), 3 with them
-module(ets_seen).
-export([test/1]).

test(N) ->
    Table = ets:new(log, [public, set]),
    Self = self(),
    Pids = [spawn(fun() -> ets:insert(Table, {last, I}), Self ! {done, self()} end) || I <- lists:seq(1, N)],
    [receive {done, Pid} -> ok end || Pid <- Pids],
    [{last, I}] = ets:lookup(Table, last),
    true = lists:member(I, lists:seq(1, N)),
    ok.
