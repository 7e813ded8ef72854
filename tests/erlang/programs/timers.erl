%% entry: test()
%% entry: forgotten() expect: violation: badmatch at line 22
%% expect: verified
-module(timers).
-export([test/0, forgotten/0]).

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
