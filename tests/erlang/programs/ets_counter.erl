%% entry: test()
%% entry: lost_update() expect: violation: badmatch at line 19
%% expect: verified
-module(ets_counter).
-export([test/0, lost_update/0]).

test() ->
    Table = ets:new(counter, [public, set]),
    ets:insert(Table, {n, 0}),
    in_parallel(2, fun() -> ets:update_counter(Table, n, 1) end),
    [{n, 2}] = ets:lookup(Table, n),
    ok.

%% A lookup and an insert are two steps.
lost_update() ->
    Table = ets:new(counter, [public, set]),
    ets:insert(Table, {n, 0}),
    in_parallel(2, fun() -> [{n, N}] = ets:lookup(Table, n), ets:insert(Table, {n, N + 1}) end),
    [{n, 2}] = ets:lookup(Table, n),
    ok.

in_parallel(N, Fun) ->
    Self = self(),
    Pids = [spawn(fun() -> Fun(), Self ! {done, self()} end) || _ <- lists:seq(1, N)],
    [receive {done, Pid} -> ok end || Pid <- Pids],
    ok.
