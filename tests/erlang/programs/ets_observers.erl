%% entry: unread(3) expect: verified; 6 interleavings without observers, 1 with them
%% entry: floating_read(2) expect: verified; 6 interleavings without observers, 5 with them
%% entry: floating_read(3) expect: verified; 24 interleavings without observers, 13 with them
%% entry: deleted() expect: verified; 6 interleavings without observers, 5 with them
%% entry: scanned() expect: verified; 6 interleavings without observers, 5 with them
%% entry: table_deleted() expect: verified; 2 interleavings without observers, 1 with them
%% entry: bag() expect: verified; 2 interleavings with and without observers
%% entry: many_rows() expect: verified; 2 interleavings with and without observers
%% entry: counted() expect: verified; 6 interleavings without observers, 5 with them
%% entry: same_row(2) expect: verified; 4 interleavings with and without observers
%% entry: initialised(2) expect: verified; 2 interleavings without observers, 1 with them
%% entry: initialised_and_read(2) expect: verified; 4 interleavings with and without observers
%% entry: last_wins(3) expect: violation: badmatch at line 90
%% servers: hold/0
%% Writes to a table as observed operations: their order matters only if somebody looks at what they leave there.
-module(ets_observers).
-export([unread/1, floating_read/1, deleted/0, scanned/0, table_deleted/0, bag/0, many_rows/0, counted/0,
         same_row/1, initialised/1, initialised_and_read/1, last_wins/1]).

%% N processes write, nobody reads.
unread(N) ->
    Table = ets:new(t, [public]),
    run([fun() -> ets:insert(Table, {k, I}) end || I <- lists:seq(1, N)]).

%% N processes write, one reads at any time: n * 2^(n-1) + 1 (the paper's Table 1).
floating_read(N) ->
    Table = ets:new(t, [public]),
    run([fun() -> ets:lookup(Table, k) end | [fun() -> ets:insert(Table, {k, I}) end || I <- lists:seq(1, N)]]).

%% A delete is a write like others.
deleted() ->
    Table = ets:new(t, [public]),
    run([fun() -> ets:insert(Table, {k, 1}) end, fun() -> ets:delete(Table, k) end, fun() -> ets:member(Table, k) end]).

%% Who looks at the whole table looks at the key.
scanned() ->
    Table = ets:new(t, [public]),
    run([fun() -> ets:insert(Table, {k, 1}) end, fun() -> ets:insert(Table, {k, 2}) end,
         fun() -> ets:tab2list(Table) end]).

%% What is in a table that is deleted, nobody sees.
table_deleted() ->
    Table = ets:new(t, [public]),
    Self = self(),
    Pids = [spawn(fun() -> ets:insert(Table, {k, I}), receive go -> ok end end) || I <- [1, 2]],
    [receive {'DOWN', _, _, Pid, _} -> ok end || Pid <- Pids, begin monitor(process, Pid), Pid ! go, true end],
    Self = ets:info(Table, owner),
    ets:delete(Table),
    ok.

%% What an insert leaves in a bag depends on what was there.
bag() ->
    Table = ets:new(t, [public, bag]),
    run([fun() -> ets:insert(Table, {k, 1}) end, fun() -> ets:insert(Table, {k, 2}) end]).

%% Several keys at once: always ordered.
many_rows() ->
    Table = ets:new(t, [public]),
    run([fun() -> ets:insert(Table, [{a, I}, {b, I}]) end || I <- [1, 2]]).

%% A counter that is updated is looked at.
counted() ->
    Table = ets:new(t, [public]),
    run([fun() -> ets:update_counter(Table, k, 1, {k, 0}) end | [fun() -> ets:insert(Table, {k, I}) end || I <- [1, 2]]]).

%% All write the same: only whether it is there when somebody looks matters.
same_row(N) ->
    Table = ets:new(t, [public]),
    run([fun() -> ets:lookup(Table, k) end | [fun() -> ets:insert(Table, {k, true}) end || _ <- lists:seq(1, N)]]).

%% What was there before the writers were created is no rival.
initialised(N) ->
    Table = ets:new(t, [public]),
    ets:insert(Table, {k, false}),
    Monitors = [spawn_monitor(fun() -> ets:insert(Table, {k, true}) end) || _ <- lists:seq(1, N)],
    [receive {'DOWN', Monitor, _, _, _} -> ok end || {_, Monitor} <- Monitors],
    [{k, true}] = ets:lookup(Table, k),
    ok.

initialised_and_read(N) ->
    Table = ets:new(t, [public]),
    ets:insert(Table, {k, false}),
    run([fun() -> ets:lookup(Table, k) end | [fun() -> ets:insert(Table, {k, true}) end || _ <- lists:seq(1, N)]]).

%% Not always the last one to be created is the last one to write.
last_wins(N) ->
    Table = ets:new(t, [public]),
    Monitors = [spawn_monitor(fun() -> ets:insert(Table, {k, I}) end) || I <- lists:seq(1, N)],
    [receive {'DOWN', Monitor, _, _, _} -> ok end || {_, Monitor} <- Monitors],
    [{k, N}] = ets:lookup(Table, k),
    ok.

run(Funs) ->
    [spawn(Fun) || Fun <- Funs],
    hold().

%% The owner of the table does not end.
hold() ->
    receive stop -> ok end.
