%% entry: test(3)
%% expect: verified, 6 interleavings with and without observers (n!)
-module(not_selective).
-export([test/1]).

%% N processes send to one, which takes whatever comes.
test(N) ->
    Self = self(),
    _ = [spawn(fun() -> Self ! I end) || I <- lists:seq(1, N)],
    _ = [receive X -> X end || _ <- lists:seq(1, N)],
    ok.
