%% entry: test()
%% expect: verified
-module(links).
-export([test/0]).

%% A process that traps exits hears of the end of those it is linked with, whatever the reason.
test() ->
    process_flag(trap_exit, true),
    Quiet = spawn_link(fun() -> ok end),
    Loud = spawn_link(fun() -> exit(loud) end),
    Victim = spawn_link(fun() -> receive never -> ok end end),
    exit(Victim, kill),
    Reasons = [receive {'EXIT', Pid, Reason} -> Reason end || Pid <- [Quiet, Loud, Victim]],
    [normal, loud, killed] = Reasons,
    ok.
