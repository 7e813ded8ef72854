%% Lists, comprehensions, funs, closures, the lists module.
-module(lists_and_funs).
-compile([export_all, nowarn_export_all]).

id(X) -> X.
cons() -> [1 | id([2, 3])].
improper() -> [1, 2 | id(3)].
append() -> id([1, 2]) ++ [3] ++ id([]).
append_improper_tail() -> id([1]) ++ id(2).
append_bad() -> id(a) ++ [1].
subtract() -> id([1, 2, 3, 2, 1]) -- [2, 1, 5].
subtract_right_associative() -> id([1, 2, 3]) -- id([1, 2]) -- id([1]).
comp() -> [X * 2 || X <- lists:seq(1, 5)].
comp_filter() -> [X || X <- lists:seq(1, 10), X rem 2 =:= 0, X > 4].
comp_two() -> [{X, Y} || X <- [1, 2, 3], Y <- [a, b]].
comp_dependent() -> [{X, Y} || X <- lists:seq(1, 4), Y <- lists:seq(X, 4), X + Y =:= 5].
comp_pattern() -> [X || {ok, X} <- [{ok, 1}, {error, 2}, {ok, 3}, x]].
comp_shadow() -> X = 5, _ = X, [Y || Y <- [1, 2]].
comp_bad_generator() -> [X || X <- id(5)].
comp_bad_filter() -> [X || X <- [1, 2], id(maybe_)].
comp_filter_guard_fails() -> [X || X <- [1, a, 2], X + 1 > 0].
comp_improper() -> [X || X <- id([1 | 2])].
comp_nested() -> [[Y || Y <- lists:seq(1, X)] || X <- lists:seq(1, 3)].
comp_string() -> [C - 32 || C <- "abc"].
comp_from_binary() -> [X || <<X>> <= <<1, 2, 3>>].
comp_bits() -> [X || <<X:4>> <= <<16#12, 16#34>>].
comp_binary_of() -> << <<(X + 1)>> || X <- [1, 2, 3] >>.
comp_binary_binary() -> << <<Y, X>> || <<X, Y>> <= <<1, 2, 3, 4, 5>> >>.
primes() -> sieve(lists:seq(2, 50)).
sieve([]) -> []; sieve([P | T]) -> [P | sieve([X || X <- T, X rem P =/= 0])].
qsort([]) -> []; qsort([P | T]) -> qsort([X || X <- T, X < P]) ++ [P] ++ qsort([X || X <- T, X >= P]).
sorted() -> qsort([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5]).
perms([]) -> [[]]; perms(L) -> [[H | T] || H <- L, T <- perms(L -- [H])].
permutations() -> perms([1, 2, 3]).
queens(0, _) -> [[]]; queens(K, N) -> [[Q | B] || B <- queens(K - 1, N), Q <- lists:seq(1, N), safe(Q, 1, B)].
safe(_, _, []) -> true; safe(Q, D, [X | T]) -> Q =/= X andalso abs(Q - X) =/= D andalso safe(Q, D + 1, T).
queens6() -> queens(6, 6).
fun_call() -> (fun(X) -> X + 1 end)(id(4)).
fun_closure() -> Y = id(10), F = fun(X) -> X + Y end, F(5).
fun_of_fun() -> Add = fun(X) -> fun(Y) -> X + Y end end, (Add(3))(4).
fun_local() -> F = fun id/1, F(7).
fun_remote() -> F = fun lists:reverse/1, F([1, 2, 3]).
fun_remote_equal() -> fun lists:reverse/1 =:= fun lists:reverse/1.
fun_remote_variable() -> M = id(lists), F = id(sum), M:F([1, 2, 3]).
fun_apply() -> {apply(lists, max, [[1, 5, 2]]), apply(fun(X, Y) -> X - Y end, [5, 3])}.
fun_apply_bad() -> apply(id(lists), reverse, id(a)).
fun_named() -> F = fun Fac(0) -> 1; Fac(N) -> N * Fac(N - 1) end, F(10).
fun_clauses() -> F = fun(0) -> zero; (N) when N < 0 -> negative; (_) -> positive end, [F(X) || X <- [0, -3, 8]].
fun_shadow() -> X = 1, F = fun(X) -> X * 100 end, {X, F(2)}.
fun_arity() -> {arity, 2} = erlang:fun_info(fun(_, _) -> ok end, arity).
fun_is() -> {is_function(fun id/1), is_function(fun id/1, 1), is_function(fun id/1, 2)}.
compose() -> C = fun(F, G) -> fun(X) -> F(G(X)) end end, H = C(fun(X) -> X * 2 end, fun(X) -> X + 1 end), H(5).
fold_left() -> lists:foldl(fun(X, A) -> [X | A] end, [], [1, 2, 3]).
fold_right() -> lists:foldr(fun(X, A) -> [X | A] end, [], [1, 2, 3]).
map_() -> lists:map(fun(X) -> X * X end, [1, 2, 3]).
filter_() -> lists:filter(fun(X) -> X > 1 end, [1, 2, 3]).
mapfoldl_() -> lists:mapfoldl(fun(X, S) -> {X * 2, S + X} end, 0, [1, 2, 3]).
zip_() -> lists:zip([1, 2, 3], [a, b, c]).
zip_bad() -> lists:zip([1, 2], [a]).
unzip_() -> lists:unzip([{1, a}, {2, b}]).
keyfind_() -> {lists:keyfind(b, 1, [{a, 1}, {b, 2}]), lists:keyfind(c, 1, [{a, 1}])}.
keyfind_compares_equal() -> lists:keyfind(1.0, 1, [{1, x}]).
keystore_() -> lists:keystore(b, 1, [{a, 1}, {b, 2}], {b, 3}).
keydelete_() -> lists:keydelete(a, 1, [{a, 1}, {b, 2}]).
keysort_() -> lists:keysort(2, [{a, 3}, {b, 1}, {c, 2}]).
keymember_() -> lists:keymember(b, 1, [{a, 1}, {b, 2}]).
member_() -> {lists:member(2, [1, 2, 3]), lists:member(2.0, [1, 2, 3])}.
sort_stable() -> lists:sort(fun({A, _}, {B, _}) -> A =< B end, [{2, a}, {1, b}, {2, c}, {1, d}]).
usort_() -> lists:usort([3, 1, 2, 1, 3, 1.0]).
reverse_() -> {lists:reverse([1, 2, 3]), lists:reverse([1, 2], [3])}.
nth_() -> {lists:nth(2, [a, b, c]), lists:nthtail(1, [a, b, c])}.
nth_bad() -> lists:nth(5, [a]).
last_() -> lists:last([1, 2, 3]).
seq_() -> {lists:seq(1, 5), lists:seq(10, 1, -3), lists:seq(1, 0)}.
seq_bad() -> lists:seq(1, id(a)).
sum_max_min() -> {lists:sum([1, 2.5]), lists:max([1, a, 2]), lists:min([b, 1.0, 1])}.
max_empty() -> lists:max(id([])).
flatten_() -> lists:flatten([1, [2, [3, []], 4], [[[5]]]]).
duplicate_() -> lists:duplicate(3, x).
partition_() -> lists:partition(fun(X) -> X rem 2 =:= 0 end, [1, 2, 3, 4]).
splitwith_() -> lists:splitwith(fun(X) -> X < 3 end, [1, 2, 3, 1]).
split_() -> lists:split(2, [1, 2, 3, 4]).
takewhile_() -> {lists:takewhile(fun(X) -> X < 3 end, [1, 2, 3, 1]), lists:dropwhile(fun(X) -> X < 3 end, [1, 2, 3, 1])}.
all_any() -> {lists:all(fun is_atom/1, [a, b]), lists:any(fun is_atom/1, [1, 2])}.
delete_() -> lists:delete(2, [1, 2, 3, 2]).
sublist_() -> {lists:sublist([1, 2, 3, 4], 2), lists:sublist([1, 2, 3, 4], 2, 2)}.
prefix_suffix() -> {lists:prefix("ab", "abc"), lists:suffix("bc", "abc")}.
merge_() -> lists:merge([1, 3, 5], [2, 4]).
concat_() -> {lists:concat([a, 1, "s", 2.5]), lists:append([[1], [2, 3], []])}.
foldl_bad() -> lists:foldl(fun(X, A) -> X + A end, 0, [1, a]).
flatmap_() -> lists:flatmap(fun(X) -> [X, X] end, [1, 2]).
filtermap_() -> lists:filtermap(fun(X) when X > 1 -> {true, X * 10}; (1) -> true; (_) -> false end, [0, 1, 2]).
search_() -> {lists:search(fun(X) -> X > 1 end, [1, 2, 3]), lists:search(fun(X) -> X > 9 end, [1])}.
enumerate_() -> lists:enumerate([a, b]).
hd_tl() -> {hd([1, 2]), tl([1, 2])}.
length_() -> length([1, 2, 3]).
list_to_tuple_() -> list_to_tuple([1, 2, 3]).
tuple_to_list_() -> tuple_to_list({1, 2, 3}).
element_set() -> setelement(2, {a, b, c}, x).
make_tuple_() -> erlang:make_tuple(3, x).
append_element_() -> erlang:append_element({1, 2}, 3).
insert_delete_element() -> {erlang:insert_element(2, {a, b}, x), erlang:delete_element(1, {a, b})}.
iolist() -> {iolist_to_binary(["ab", <<"c">>, [$d, ["e"]]]), iolist_size(["ab", <<"cde">>])}.
process_dictionary() -> {put(a, 1), put(a, 2), get(a), get(zz), erase(a), get(a)}.
