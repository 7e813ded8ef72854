%% entry: test(3)
%% servers: lock/0
%% expect: verified, 30 interleavings without observers, 6 with them (n!)
-module(lock).
-export([test/1]).

%% A process plays the part of a lock; N workers take it and give it back.
test(N) ->
    Lock = spawn(fun lock/0),
    _ = [spawn(fun() -> acquire(Lock), release(Lock) end) || _ <- lists:seq(1, N)],
    ok.

lock() ->
    receive
        {acquire, Worker} ->
            Worker ! acquired,
            receive
                release -> lock()
            end
    end.

acquire(Lock) ->
    Lock ! {acquire, self()},
    receive acquired -> ok end.

release(Lock) ->
    Lock ! release.
