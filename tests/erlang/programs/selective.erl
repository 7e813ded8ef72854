%% entry: test(3)
%% expect: verified, 6 interleavings without observers (n!), 1 with them
-module(selective).
-export([test/1]).

%% N processes send to one, which asks for their messages one after the other.
test(N) ->
    Self = self(),
    Senders = [spawn(fun() -> Self ! {self(), I} end) || I <- lists:seq(1, N)],
    Received = [receive {Sender, I} -> I end || Sender <- Senders],
    Received = lists:seq(1, N),
    ok.
