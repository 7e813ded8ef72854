%% entry: test(3)
%% expect: verified; 36 interleavings without observers (n! orders of the writes, n! of the messages), 1 with them
-module(ets_log).
-export([test/1]).

%% N processes write to one key, and nobody reads it. The table belongs to a process that never ends before them.
test(N) ->
    Table = ets:new(log, [public, set]),
    Self = self(),
    Pids = [spawn(fun() -> ets:insert(Table, {last, I}), Self ! {done, self()} end) || I <- lists:seq(1, N)],
    [receive {done, Pid} -> ok end || Pid <- Pids],
    ok.
