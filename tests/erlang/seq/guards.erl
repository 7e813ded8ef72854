%% Patterns, guards, case, if, boolean operators, term order.
-module(guards).
-compile([export_all, nowarn_export_all]).
-record(point, {x = 0, y = 0, name}).

id(X) -> X.
class(X) when is_atom(X) -> atom; class(X) when is_integer(X), X < 0 -> negative; class(X) when is_integer(X) -> integer;
class(X) when is_float(X) -> float; class(X) when is_boolean(X) -> never; class(X) when is_list(X) -> list;
class(X) when is_tuple(X) -> tuple; class(X) when is_map(X) -> map; class(X) when is_binary(X) -> binary;
class(X) when is_bitstring(X) -> bitstring; class(X) when is_function(X, 1) -> fun1; class(X) when is_function(X) -> 'fun';
class(X) when is_pid(X) -> pid; class(X) when is_reference(X) -> reference; class(_) -> other.

classes() -> [class(X) || X <- [a, true, -1, 5, 1.5, [], [1], {}, {1}, #{}, <<>>, <<1:3>>, fun(Y) -> Y end, fun() -> ok end, self(), make_ref()]].
guard_fails_quietly() -> case id(a) of X when X + 1 > 0 -> yes; _ -> no end.
guard_or() -> case id(5) of X when X < 0; X > 3 -> yes; _ -> no end.
guard_or_after_failure() -> case id(a) of X when hd(X) =:= 1; is_atom(X) -> yes; _ -> no end.
guard_orelse_failure() -> case id(a) of X when hd(X) =:= 1 orelse is_atom(X) -> yes; _ -> no end.
guard_comma() -> case id(5) of X when X > 0, X < 4 -> yes; _ -> no end.
guard_tuple_size() -> case id({1, 2, 3}) of X when tuple_size(X) =:= 3, element(2, X) =:= 2 -> yes; _ -> no end.
guard_map() -> case id(#{a => 1}) of X when is_map_key(a, X), map_get(a, X) =:= 1, map_size(X) =:= 1 -> yes; _ -> no end.
guard_length() -> case id([1, 2 | 3]) of X when length(X) > 1 -> yes; _ -> no end.
guard_not() -> case id(false) of X when not X -> yes; _ -> no end.
guard_not_bool() -> case id(a) of X when not X -> yes; _ -> no end.
guard_in_record() -> case id(#point{x = 1}) of P when P#point.x =:= 1 -> yes; _ -> no end.
case_clause() -> case id(3) of 1 -> a; 2 -> b end.
if_clause() -> if_clause(id(3)).
if_clause(X) -> if X =:= 1 -> a; X =:= 2 -> b end.
if_true() -> X = id(3), if X =:= 1 -> a; true -> b end.
function_clause() -> f(id(9)).
f(1) -> one; f(2) -> two.
badmatch() -> {ok, X} = id({error, 5}), X.
badmatch_bound() -> X = id(1), X = id(2).
match_bound() -> X = id(1), X = id(1), X.
match_float() -> X = id(1), X = id(1.0).
match_nested() -> {a, [B, {c, D} | E], F} = id({a, [1, {c, 2}, 3, 4], "s"}), {B, D, E, F}.
match_same_variable() -> case id({1, 1}) of {X, X} -> same; _ -> other end.
match_same_variable_no() -> case id({1, 1.0}) of {X, X} -> same; _ -> other end.
match_alias() -> case id({1, [2]}) of {_, [_ | _] = L} = T -> {L, T}; _ -> no end.
match_string_prefix() -> case id("hello world") of "hello " ++ Rest -> Rest; _ -> no end.
match_map() -> #{a := A, b := #{c := C}} = id(#{a => 1, b => #{c => 2}, d => 3}), {A, C}.
match_map_missing() -> #{z := Z} = id(#{a => 1}), Z.
match_map_bound_key() -> K = id(k), #{K := V} = id(#{k => v}), V.
match_record() -> #point{x = X, name = N} = id(#point{x = 4, y = 5}), {X, N}.
record_update() -> P = id(#point{}), P#point{y = 9, name = n}.
record_access_bad() -> P = id({point, 1}), P#point.x.
record_is() -> {is_record(id(#point{}), point), is_record(id({point, 1}), point), is_record(id({point, 1, 2, 3}), point, 4)}.
record_index() -> {#point.y, element(#point.y, id(#point{y = 3}))}.
record_info_() -> {record_info(fields, point), record_info(size, point)}.
andalso_() -> {id(true) andalso id(5), id(false) andalso id(5)}.
orelse_() -> {id(true) orelse id(5), id(false) orelse id(5)}.
andalso_bad() -> id(a) andalso true.
orelse_bad() -> id(7) orelse true.
and_or_xor() -> {id(true) and false, id(true) or false, id(true) xor true, not id(true)}.
and_bad() -> id(true) and id(a).
not_bad() -> not id(a).
order_of_types() -> lists:sort([<<1>>, [], {}, #{}, a, 1, 2.0, "s", self() =:= self(), {1}, [1], <<>>, #{a => 1}, fact]).
order_numbers() -> lists:sort([3, 1.0, 2, 1, 2.0, -1, 1 bsl 70, 0.5]).
order_tuples() -> lists:sort([{2}, {1, 2}, {1, 1}, {3}, {}, {1, a}]).
order_lists() -> lists:sort([[2], [1, 2], [], [1], [1 | 2], "a", [a]]).
order_maps() -> lists:sort([#{b => 1}, #{a => 1, b => 2}, #{a => 2}, #{}, #{a => 1}, #{1 => 1}, #{1.0 => 1}]).
order_binaries() -> lists:sort([<<2>>, <<1, 2>>, <<>>, <<1>>, <<1:1>>, <<0:1>>]).
order_atoms() -> lists:sort([b, a, 'B', 'a b', '', ab]).
compare_mixed() -> [{1 < a, a < {}, {} < #{}, #{} < [], [] < [1], [1] < <<>>}].
compare_exact() -> [{X, Y, X =:= Y, X == Y} || X <- [1, 1.0, {1}, [1.0]], Y <- [1, 1.0, {1.0}, [1]]].
map_keys_exact() -> maps:size(#{id(1) => a, id(1.0) => b}).
le_ge() -> {id(1) =< 1.0, id(1) >= 1.0, id(2) =< 1, id(a) >= b}.
case_order() -> case id({ok, 5}) of {ok, N} when N > 10 -> big; {ok, N} when N > 3 -> {mid, N}; {ok, _} -> small end.
nested_case() -> case id(1) of 1 -> case id(2) of 2 -> a; _ -> b end; _ -> c end.
exported_from_case() -> case id(1) of 1 -> Y = 5; _ -> Y = 6 end, Y.
if_in_list() -> [if X > 2 -> big; X > 1 -> mid; true -> small end || X <- [1, 2, 3]].
is_function_bad_arity() -> is_function(id(fun() -> ok end), 1).
underscore() -> {_, _, X} = id({1, 2, 3}), X.
block() -> begin A = id(1), B = A + 1, A * B + B end.
maybe_nested_funs() -> F = fun F(0) -> []; F(N) -> [N | F(N - 1)] end, F(5).
