%% entry: test()
%% expect: verified
-module(registry_safe).
-export([test/0]).

%% The loser of the race for a name notices. The winner keeps the name until both are done.
test() ->
    Self = self(),
    Pids = [spawn(fun() -> claimant(Self) end) || _ <- [1, 2]],
    Claims = [receive {Pid, Claim} -> Claim end || Pid <- Pids],
    [Pid ! stop || Pid <- Pids],
    [taken, won] = lists:sort(Claims),
    ok.

claimant(Parent) ->
    Claim = try register(boss, self()) of true -> won catch error:badarg -> taken end,
    Parent ! {self(), Claim},
    receive stop -> ok end.
