%% try, catch, throw, error, exit: class and reason, order of evaluation, after.
-module(exceptions).
-compile([export_all, nowarn_export_all]).

id(X) -> X.
boom(error) -> error(boom); boom(throw) -> throw(boom); boom(exit) -> exit(boom); boom(X) -> X.
shape([{M, F, A, _} | _]) when is_integer(A) -> {M, F, A};
shape([{M, F, A, _} | _]) -> {M, F, length(A), args}.

uncaught_error() -> error(reason).
uncaught_throw() -> throw({some, reason}).
uncaught_exit() -> exit(reason).
error_with_args() -> error(badarg, [1, 2]).
catch_all() -> [try boom(X) of R -> {value, R} catch C:R -> {C, R} end || X <- [error, throw, exit, ok]].
catch_default_is_throw() -> try throw(x) catch R -> {thrown, R} end.
catch_default_lets_error_pass() -> try error(x) catch R -> {thrown, R} end.
catch_guard() -> try throw(5) catch throw:X when X > 3 -> big; throw:_ -> small end.
catch_no_clause() -> try throw(5) catch throw:6 -> no end.
catch_pattern() -> try error({bad, 7}) catch error:{bad, X} -> X end.
after_runs() -> try boom(ok) after put(k, 1) end, get(k).
after_runs_on_error() -> catch try boom(error) after put(k, 2) end, get(k).
after_error_wins() -> try try error(a) after error(b) end catch error:X -> X end.
after_value_ignored() -> try 1 after 2 end.
of_not_protected() -> try try ok of ok -> throw(x) catch throw:x -> inner end catch throw:x -> outer end.
try_clause() -> try id(5) of 6 -> ok catch _:_ -> caught end.
try_clause_caught_outside() -> try try id(5) of 6 -> ok catch throw:_ -> a end catch C:R -> {C, R} end.
nested() -> try try throw(a) catch throw:a -> throw(b) end catch throw:b -> b end.
rethrow() -> try try error(x) catch C:R:S -> erlang:raise(C, R, S) end catch error:Y -> {again, Y} end.
raise_bad() -> catch erlang:raise(foo, bar, []).
old_catch_value() -> catch id(5).
old_catch_throw() -> catch throw(ball).
old_catch_exit() -> catch exit(bye).
old_catch_error() -> {'EXIT', {R, [_ | _]}} = (catch error(oops)), R.
old_catch_badarith() -> {'EXIT', {R, _}} = (catch 1 + id(a)), R.
badarg_atom() -> atom_to_list(id(1)).
badarg_element() -> element(id(5), {a, b}).
badarg_hd() -> hd(id([])).
badarg_tl() -> tl(id(a)).
badarg_length() -> length(id([1 | 2])).
badarith_() -> id(a) * 2.
badmap() -> maps:get(a, id([])).
badmap_update() -> X = id([]), X#{a => 1}.
badkey() -> maps:get(zz, id(#{})).
badkey_update() -> X = id(#{}), X#{a := 1}.
badfun() -> X = id(5), X(1).
badarity() -> X = id(fun(A) -> A end), X(1, 2).
undef_remote() -> no_such_module:f(1).
undef_function() -> lists:no_such_function(1).
undef_caught() -> try lists:no_such_function(1, 2) catch error:undef:S -> shape(S) end.
stack_of_function_clause() -> try g(id(3)) catch error:function_clause:S -> shape(S) end.
g(1) -> 1.
stack_of_badmatch() -> try h(id(3)) catch error:{badmatch, V}:S -> {V, shape(S)} end.
h(X) -> {ok, Y} = {error, X}, Y.
stack_of_error() -> try deep(3) catch error:bottom:S -> shape(S) end.
deep(0) -> error(bottom); deep(N) -> 1 + deep(N - 1).
stack_line() -> try deep(0) catch _:_:S -> {_, _, _, L} = hd(S), proplists:is_defined(line, L) end.
error_3() -> try error(r, [a], [{error_info, #{}}]) catch C:R -> {C, R} end.
exit_in_fun() -> F = fun() -> exit(f) end, try F() catch exit:R -> R end.
throw_through_lists() -> try lists:foreach(fun(X) when X > 2 -> throw({found, X}); (_) -> ok end, [1, 2, 3, 4]) catch {found, X} -> X end.
error_in_comprehension() -> try [1 div X || X <- [2, 1, 0]] catch error:R -> R end.
order_left_to_right() -> put(o, []), F = fun(X) -> put(o, [X | get(o)]), X end, _ = {F(1), [F(2) | F(3)], F(4)}, lists:reverse(get(o)).
order_of_call() -> put(o, []), F = fun(X) -> put(o, [X | get(o)]), X end, _ = max(F(1), F(2)), lists:reverse(get(o)).
order_of_error() -> try {error(first), error(second)} catch error:X -> X end.
catch_in_guarded_case() -> case catch error(z) of {'EXIT', {z, _}} -> ok; X -> X end.
exit_normal() -> try exit(normal) catch exit:R -> R end.
tuple_throw() -> try throw({a, b, c}) catch throw:{a, X, _} -> X end.
not_all_caught() -> try error(x) catch throw:_ -> t; exit:_ -> e end.
value_of_try() -> 1 + try 2 catch _:_ -> 0 end.
deep_try(0) -> throw(done); deep_try(N) -> try deep_try(N - 1) catch error:_ -> no end.
through_many() -> try deep_try(1000) catch throw:X -> X end.
function_clause_of_fun() -> F = fun(1) -> one end, try F(id(2)) catch error:R -> R end.
case_clause_value() -> try case id({x, 1}) of y -> ok end catch error:R -> R end.
if_clause_value() -> try if_none(id(1)) catch error:R -> R end.
if_none(X) -> if X > 5 -> ok end.
badrecord() -> try element(3, setelement(9, id({r, 1}), x)) catch error:R -> R end.
process_flag_bad() -> try process_flag(id(no_such_flag), true) catch error:R -> R end.
list_to_atom_bad() -> try list_to_atom(id([a])) catch error:R -> R end.
binary_bad() -> try binary_to_integer(id(<<"x">>)) catch error:R -> R end.
