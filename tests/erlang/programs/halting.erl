%% entry: test() expect: verified; 1 interleavings with and without observers
%% entry: others_may_fail_first() expect: violation: at line 21
%% entry: with_status() expect: violation: at line 27
%% entry: in_time() expect: verified
%% halt ends all processes: who waits then does not wait forever, and no end is abnormal because of it.
-module(halting).
-export([test/0, others_may_fail_first/0, with_status/0, in_time/0]).

test() ->
    spawn(fun() -> receive never -> ok end end),
    halt().

in_time() ->
    Self = self(),
    spawn(fun() -> Self ! done, receive never -> ok end end),
    receive done -> halt(0) end.

%% The other process may come to its error before the system is halted.
others_may_fail_first() ->
    spawn(fun() ->
        error(oops)
    end),
    halt(0).

with_status() ->
    spawn(fun() -> receive never -> ok end end),
    halt(3).
