%% entry: test()
%% expect: violation: deadlock; the main process waits at line 15 for {second, _}
-module(deadlock).
-export([test/0]).

%% The second answer is only sent if the first question came first.
test() ->
    Self = self(),
    Server = spawn(fun() -> server(Self) end),
    _ = spawn(fun() -> Server ! a end),
    _ = spawn(fun() -> Server ! b end),
    receive
        {first, _} -> ok
    end,
    receive
        {second, _} -> ok
    end.

server(Client) ->
    receive
        a ->
            Client ! {first, a},
            receive b -> Client ! {second, b} end;
        b ->
            Client ! {first, b}
    end.
