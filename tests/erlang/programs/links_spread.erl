%% entry: test()
%% expect: verified
-module(links_spread).
-export([test/0]).

%% An exit signal spreads along links to whoever does not trap it.
test() ->
    {Last, Monitor} = spawn_monitor(fun() ->
        _ = spawn_link(fun() ->
            _ = spawn_link(fun() -> exit(first) end),
            receive never -> ok end
        end),
        receive never -> ok end
    end),
    receive {'DOWN', Monitor, process, Last, first} -> ok end.
