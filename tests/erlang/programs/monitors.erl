%% entry: test()
%% expect: verified
-module(monitors).
-export([test/0]).

%% Whether a process has ended before or after it is monitored, DOWN comes; the reason tells.
test() ->
    Pid = spawn(fun() -> ok end),
    Monitor = monitor(process, Pid),
    receive
        {'DOWN', Monitor, process, Pid, normal} -> ok;
        {'DOWN', Monitor, process, Pid, noproc} -> ok
    end,
    Other = spawn(fun() -> ok end),
    Gone = monitor(process, Other),
    true = demonitor(Gone, [flush]),
    receive {'DOWN', Gone, _, _, _} -> error(flushed) after 0 -> ok end.
