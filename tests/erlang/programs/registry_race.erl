%% entry: test()
%% expect: violation: badarg of register/2 at line 23
-module(registry_race).
-export([test/0]).

%% Two processes want to be the one that has a name; both look first, which is not enough.
test() ->
    Self = self(),
    Pids = [spawn(fun() -> claimant(Self) end) || _ <- [1, 2]],
    Claims = [receive {Pid, Claim} -> Claim end || Pid <- Pids],
    [Pid ! stop || Pid <- Pids],
    [taken, won] = lists:sort(Claims),
    ok.

claimant(Parent) ->
    Parent ! {self(), claim()},
    receive stop -> ok end.

claim() ->
    case whereis(boss) of
        undefined ->
            %% Somebody else may be here as well.
            register(boss, self()),
            won;
        _ ->
            taken
    end.
