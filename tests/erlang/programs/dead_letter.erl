%% entry: test()
%% expect: verified: a message to a process that has ended is lost, and that is no error
-module(dead_letter).
-export([test/0]).

test() ->
    Pid = spawn(fun() -> ok end),
    Monitor = monitor(process, Pid),
    receive {'DOWN', Monitor, process, _, _} -> ok end,
    hello = Pid ! hello,
    false = is_process_alive(Pid),
    ok.
