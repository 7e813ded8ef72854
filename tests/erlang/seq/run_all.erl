%% Prints, for each function without arguments of each module, what it returns or how it fails, one line each.
-module(run_all).
-export([main/1]).

main(Modules) ->
    [line(M, F) || M <- Modules, {F, 0} <- lists:sort(M:module_info(exports)), F =/= module_info],
    halt().

%% Each in a process of its own, since some use the process dictionary.
line(M, F) ->
    Self = self(),
    Pid = spawn(fun() -> Self ! {self(), try {ok, M:F()} catch C:R -> {C, R} end} end),
    receive {Pid, Result} -> io:format("~s:~s ~w~n", [M, F, Result]) end.
