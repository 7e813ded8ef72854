%% entry: test()
%% entry: lost_update() expect: violation: badmatch at line 28
%% expect: verified
-module(counter).
-behaviour(gen_server).
-export([test/0, lost_update/0]).
-export([init/1, handle_call/3, handle_cast/2]).

%% Two clients count with calls that the server serialises.
test() ->
    {ok, Counter} = gen_server:start(?MODULE, 0, []),
    in_parallel(2, fun() -> gen_server:call(Counter, increment) end),
    2 = gen_server:call(Counter, get),
    gen_server:stop(Counter).

%% Two clients read, add and write back.
lost_update() ->
    {ok, Counter} = gen_server:start(?MODULE, 0, []),
    in_parallel(2, fun() ->
        N = gen_server:call(Counter, get),
        gen_server:cast(Counter, {set, N + 1}),
        %% A cast comes before a later call of the same process.
        gen_server:call(Counter, get)
    end),
    Total = gen_server:call(Counter, get),
    gen_server:stop(Counter),
    %% One update may have been lost.
    2 = Total.

in_parallel(N, Fun) ->
    Self = self(),
    Pids = [spawn(fun() -> Fun(), Self ! {done, self()} end) || _ <- lists:seq(1, N)],
    [receive {done, Pid} -> ok end || Pid <- Pids],
    ok.

init(N) -> {ok, N}.

handle_call(increment, _From, N) -> {reply, N + 1, N + 1};
handle_call(get, _From, N) -> {reply, N, N}.

handle_cast({set, N}, _) -> {noreply, N}.
