-compile([export_all, nowarn_export_all]).
-record(point, {x = 0, y = 0}).

run(F) ->
    try {ok, clean(?MODULE:F())}
    catch Class:Reason -> {Class, clean(Reason)}
    end.

%% What has no meaning outside becomes a word; traces are another test's business.
clean({'EXIT', {Reason, [{_, _, _, _} | _]}}) -> {'EXIT', clean(Reason)};
clean(T) when is_function(T) -> a_fun;
clean(T) when is_pid(T) -> a_pid;
clean(T) when is_reference(T) -> a_reference;
clean([H | T]) -> [clean(H) | clean(T)];
clean(T) when is_tuple(T) -> list_to_tuple(clean(tuple_to_list(T)));
clean(T) when is_map(T) -> maps:from_list([{clean(K), clean(V)} || {K, V} <- maps:to_list(T)]);
clean(T) -> T.

id(X) -> X.

%% A table with these rows.
table(Kind, Rows) ->
    T = ets:new(some_table, [Kind, public]),
    true = ets:insert(T, Rows),
    T.

%% The rows of a table in an order that does not depend on its kind.
rows(T) -> lists:sort(ets:tab2list(T)).

fact(0) -> 1;
fact(N) when N > 0 -> N * fact(N - 1).

fib(N) -> fib(N, 0, 1).
fib(0, A, _) -> A;
fib(N, A, B) -> fib(N - 1, B, A + B).

gcd(A, 0) -> A;
gcd(A, B) -> gcd(B, A rem B).

power(_, 0) -> 1;
power(X, N) when N rem 2 =:= 0 -> power(X * X, N div 2);
power(X, N) -> X * power(X, N - 1).

count(0) -> done;
count(N) -> count(N - 1).

deep(0) -> 0;
deep(N) -> 1 + deep(N - 1).

nested(0) -> [];
nested(N) -> [[nested(M) || M <- lists:seq(0, N - 1)] | N].

mutual_even(0) -> true;
mutual_even(N) -> mutual_odd(N - 1).
mutual_odd(0) -> false;
mutual_odd(N) -> mutual_even(N - 1).

hanoi(0) -> 0;
hanoi(N) -> hanoi(N - 1) + 1 + hanoi(N - 1).

primes(N) -> sieve(lists:seq(2, N)).
sieve([]) -> [];
sieve([P | R]) -> [P | sieve([X || X <- R, X rem P =/= 0])].

quicksort([]) -> [];
quicksort([P | R]) -> quicksort([X || X <- R, X < P]) ++ [P] ++ quicksort([X || X <- R, X >= P]).

ackermann(0, N) -> N + 1;
ackermann(M, 0) -> ackermann(M - 1, 1);
ackermann(M, N) -> ackermann(M - 1, ackermann(M, N - 1)).

collatz(1) -> 0;
collatz(N) when N band 1 =:= 0 -> 1 + collatz(N bsr 1);
collatz(N) -> 1 + collatz(3 * N + 1).

tree_insert(X, leaf) -> {leaf, X, leaf};
tree_insert(X, {L, Y, R}) when X < Y -> {tree_insert(X, L), Y, R};
tree_insert(X, {L, Y, R}) -> {L, Y, tree_insert(X, R)}.
tree_sum(leaf) -> 0;
tree_sum({L, X, R}) -> tree_sum(L) + X + tree_sum(R).

compose(Fs, X) -> lists:foldl(fun(F, A) -> F(A) end, X, Fs).

record_test() ->
    P = #point{x = 1},
    Q = P#point{y = 5},
    {Q#point.x, Q#point.y, Q, is_record(Q, point), #point.y, catch (id(x))#point.x}.

word_count(Text) ->
    Add = fun(W, M) -> maps:update_with(W, fun(N) -> N + 1 end, 1, M) end,
    lists:foldl(Add, #{}, string:tokens(Text, " ")).

guard_kinds(L) -> [kind(X) || X <- L].
kind(X) when is_integer(X) -> integer;
kind(X) when is_float(X) -> float;
kind(X) when is_atom(X) -> atom;
kind(X) when is_list(X) -> list;
kind(X) when is_tuple(X), tuple_size(X) > 0 -> tuple;
kind(X) when is_map(X) -> map;
kind(X) when is_binary(X) -> binary;
kind(X) when is_function(X, 1) -> function.

letters(A, B) when A > B -> [];
letters(A, B) -> [A | letters(A + 1, B)].

function_clause(X) when X < 3 -> X.
