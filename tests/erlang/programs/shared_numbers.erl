%% entry: test() expect: verified; 4 interleavings without observers, 2 with them
%% entry: unread() expect: verified; 2 interleavings without observers, 1 with them
%% entry: lost_update() expect: violation: badmatch at line 31
%% entry: settings() expect: verified; 6 interleavings without observers, 5 with them
%% entry: forgotten_setting() expect: violation: badarg at line 41
%% servers: hold/0
%% Counters, atomics and persistent terms are steps.
-module(shared_numbers).
-export([test/0, unread/0, lost_update/0, settings/0, forgotten_setting/0]).

test() ->
    C = counters:new(1, []),
    in_parallel([fun() -> counters:add(C, 1, I) end || I <- [1, 2]]),
    3 = counters:get(C, 1),
    ok.

%% Two puts that nobody looks at.
unread() ->
    A = atomics:new(1, []),
    [spawn(fun() -> atomics:put(A, 1, I) end) || I <- [1, 2]],
    hold().

hold() ->
    receive stop -> ok end.

%% A get and a put are two steps.
lost_update() ->
    A = atomics:new(1, []),
    in_parallel([fun() -> atomics:put(A, 1, atomics:get(A, 1) + 1) end || _ <- [1, 2]]),
    %% Both may have found 0.
    2 = atomics:get(A, 1),
    ok.

settings() ->
    [spawn(fun() -> persistent_term:put(setting, I) end) || I <- [1, 2]],
    spawn(fun() -> persistent_term:get(setting, 0) end),
    hold().

forgotten_setting() ->
    spawn(fun() -> persistent_term:put(setting, 1) end),
    persistent_term:get(setting).

in_parallel(Funs) ->
    Monitors = [spawn_monitor(Fun) || Fun <- Funs],
    [receive {'DOWN', Monitor, _, _, _} -> ok end || {_, Monitor} <- Monitors],
    ok.
