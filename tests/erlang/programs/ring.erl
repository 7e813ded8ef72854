%% entry: test()
%% entry: careless() expect: violation: badmatch at line 18, two leaders
%% expect: verified
-module(ring).
-export([test/0, careless/0]).

%% Leader election in a ring: each sends its number on, and passes on only numbers that are greater than its own. Whoever
%% gets its own number back leads.
test() -> elect(fun(Number, Own) -> Number > Own end).

%% Passes on every number that is not its own.
careless() -> elect(fun(_, _) -> true end).

elect(PassOn) ->
    Self = self(),
    [First | _] = Ring = [spawn(fun() -> member(Self, Own, PassOn) end) || Own <- [2, 3, 1]],
    [Pid ! {next, Next} || {Pid, Next} <- lists:zip(Ring, tl(Ring) ++ [First])],
    [3] = leaders(3, []),
    ok.

leaders(0, Leaders) -> Leaders;
leaders(Left, Leaders) ->
    receive
        {leader, Own} -> leaders(Left - 1, [Own | Leaders]);
        follower -> leaders(Left - 1, Leaders)
    end.

member(Parent, Own, PassOn) ->
    receive {next, Next} -> ok end,
    Next ! {number, Own},
    Parent ! listen(Next, Own, PassOn).

listen(Next, Own, PassOn) ->
    receive
        {number, Own} -> Next ! stop, {leader, Own};
        {number, Number} ->
            case PassOn(Number, Own) of true -> Next ! {number, Number}; false -> ok end,
            listen(Next, Own, PassOn);
        stop -> Next ! stop, follower
    end.
