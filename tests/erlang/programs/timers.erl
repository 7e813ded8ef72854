%% entry: test()
%% entry: forgotten() expect: violation: badmatch at line 23
%% entry: for_one_who_has_ended() expect: verified
%% expect: verified
-module(timers).
-export([test/0, forgotten/0, for_one_who_has_ended/0]).

%% A timer that was cancelled in time leaves no message; otherwise the message is there.
test() ->
    Timer = erlang:send_after(10, self(), ring),
    case erlang:cancel_timer(Timer) of
        false -> receive ring -> ok end;
        Left when is_integer(Left) -> receive ring -> error(rang) after 0 -> ok end
    end.

%% The message of a timer that fired before it was cancelled is still in the mailbox.
forgotten() ->
    Timer = erlang:send_after(10, self(), ring),
    erlang:cancel_timer(Timer),
    self() ! real,
    First = receive Message -> Message end,
    %% It may be the timer's.
    real = First.

%% The end of the process that a timer is for stops it: to cancel it then is to find none. (It may fire before.)
for_one_who_has_ended() ->
    {Pid, Monitor} = spawn_monitor(fun() -> receive ring -> ok end end),
    Timer = erlang:send_after(10, Pid, ring),
    exit(Pid, kill),
    receive {'DOWN', Monitor, _, _, _} -> ok end,
    false = erlang:read_timer(Timer),
    false = erlang:cancel_timer(Timer),
    ok.
