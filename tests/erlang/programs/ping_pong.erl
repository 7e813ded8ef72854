%% entry: test(3)
%% expect: verified, 90 interleavings: two rounds of three clients
-module(ping_pong).
-export([test/1]).

test(N) ->
    Server = self(),
    _ = [spawn(fun() -> client(Server, 2) end) || _ <- lists:seq(1, N)],
    serve(2 * N).

serve(0) -> ok;
serve(Left) ->
    receive {ping, From} -> From ! pong end,
    serve(Left - 1).

client(_, 0) -> ok;
client(Server, Rounds) ->
    Server ! {ping, self()},
    receive pong -> client(Server, Rounds - 1) end.
