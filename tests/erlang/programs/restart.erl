%% entry: test()
%% entry: during_restart() expect: violation: exit of gen_server:call (noproc or crashed) at line 22
%% expect: verified
-module(restart).
-behaviour(supervisor).
-export([test/0, during_restart/0, start_worker/0]).
-export([init/1, handle_call/3, handle_cast/2]).

%% A worker crashes and is started again: once the new one says that it is there, it answers.
test() ->
    {Supervisor, Old} = start(),
    gen_server:cast(worker, crash),
    New = receive {up, Pid} -> Pid end,
    true = New =/= Old,
    pong = gen_server:call(New, ping),
    stop(Supervisor).

%% Nobody waits for the new worker.
during_restart() ->
    {Supervisor, _} = start(),
    gen_server:cast(worker, crash),
    pong = gen_server:call(worker, ping),
    stop(Supervisor).

start() ->
    register(tester, self()),
    {ok, Supervisor} = supervisor:start_link(?MODULE, supervisor),
    receive {up, Worker} -> {Supervisor, Worker} end.

stop(Supervisor) ->
    unlink(Supervisor),
    Monitor = monitor(process, Supervisor),
    exit(Supervisor, shutdown),
    receive {'DOWN', Monitor, process, Supervisor, shutdown} -> ok end.

start_worker() -> gen_server:start_link({local, worker}, ?MODULE, worker, []).

init(supervisor) ->
    {ok, {#{strategy => one_for_one, intensity => 3, period => 5},
          [#{id => worker, start => {?MODULE, start_worker, []}}]}};
init(worker) ->
    tester ! {up, self()},
    {ok, no_state}.

handle_call(ping, _From, State) -> {reply, pong, State}.

handle_cast(crash, State) -> {stop, crashed, State}.
