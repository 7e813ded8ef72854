%% entry: test()
%% expect: incomplete: the loop around the timeout never ends (bound)
-module(poll).
-export([test/0]).

test() ->
    Self = self(),
    _ = spawn(fun() -> Self ! done end),
    wait().

wait() ->
    receive done -> ok after 10 -> wait() end.
