%% entry: test()
%% entry: forgetful() expect: violation: deadlock, the main process waits in the receive of line 24 for the result of the killed worker
%% expect: verified
-module(pool).
-export([test/0, forgetful/0]).

%% A pool of two workers, one of which crashes on its first job. A job whose worker has crashed is given to a new one.
test() -> run(fun(Job) -> start(Job) end).

%% The crash is noticed, but nobody does the job again.
forgetful() -> run(fun(_) -> ok end).

run(AfterCrash) ->
    Jobs = [1, 2],
    [start(Job) || Job <- Jobs],
    Main = self(),
    Crasher = spawn(fun() -> receive {victim, Pid} -> exit(Pid, kill), Main ! shot end end),
    Crasher ! {victim, get({worker, 2})},
    receive shot -> ok end,
    [2, 4] = [result(Job, AfterCrash) || Job <- Jobs],
    ok.

result(Job, AfterCrash) ->
    receive
        {result, Job, Value} -> Value;
        {'DOWN', _, process, _, killed} -> AfterCrash(2), result(Job, AfterCrash)
    end.

start(Job) ->
    Self = self(),
    {Pid, _} = spawn_monitor(fun() -> Self ! {result, Job, 2 * Job} end),
    put({worker, Job}, Pid).
