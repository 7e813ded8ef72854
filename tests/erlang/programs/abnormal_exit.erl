%% entry: test()
%% expect: violation: a process exits abnormally with {badmatch, 2} at line 13
-module(abnormal_exit).
-export([test/0]).

test() ->
    Self = self(),
    _ = spawn(fun() -> Self ! 1 end),
    _ = spawn(fun() -> Self ! 2 end),
    First = receive X -> X end,
    receive _ -> ok end,
    %% Whoever was faster.
    1 = First.
