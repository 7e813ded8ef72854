%% entry: test()
%% entry: impatient() expect: violation: badmatch at line 27
%% expect: verified
-module(door).
-behaviour(gen_statem).
-export([test/0, impatient/0]).
-export([init/1, callback_mode/0, locked/3, open/3]).

%% A door with a code; the right code opens it, a push closes and locks it again.
test() ->
    {ok, Door} = gen_statem:start(?MODULE, 1234, []),
    wrong = gen_statem:call(Door, {code, 1}),
    opened = gen_statem:call(Door, {code, 1234}),
    closed = gen_statem:call(Door, push),
    refused = gen_statem:call(Door, push),
    gen_statem:stop(Door).

%% Somebody else may push the door before one has gone through.
impatient() ->
    {ok, Door} = gen_statem:start(?MODULE, 1234, []),
    Self = self(),
    Other = spawn(fun() -> Self ! {self(), gen_statem:call(Door, push)} end),
    opened = gen_statem:call(Door, {code, 1234}),
    Push = gen_statem:call(Door, push),
    receive {Other, _} -> ok end,
    gen_statem:stop(Door),
    closed = Push.

callback_mode() -> state_functions.

init(Code) -> {ok, locked, Code}.

locked({call, From}, {code, Code}, Code) -> {next_state, open, Code, {reply, From, opened}};
locked({call, From}, {code, _}, Code) -> {keep_state, Code, {reply, From, wrong}};
locked({call, From}, push, Code) -> {keep_state, Code, {reply, From, refused}}.

open({call, From}, push, Code) -> {next_state, locked, Code, {reply, From, closed}};
open({call, From}, {code, _}, Code) -> {keep_state, Code, {reply, From, opened}}.
