%% entry: test(3)
%% expect: verified, 6 interleavings without observers (n!), 3 with them (n)
-module(first_message).
-export([test/1]).

%% Only the first message is ever looked at.
test(N) ->
    Self = self(),
    _ = [spawn(fun() -> Self ! I end) || I <- lists:seq(1, N)],
    receive X -> X end.
