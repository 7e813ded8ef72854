%% Maps, binaries, bit syntax, strings, atoms, conversions.
-module(maps_and_binaries).
-compile([export_all, nowarn_export_all]).

id(X) -> X.
map_literal() -> #{a => 1, "b" => [2], {c} => #{}}.
map_update() -> X = id(#{a => 1}), X#{b => 2, a := 3}.
map_get_() -> {maps:get(a, #{a => 1}), maps:get(b, #{a => 1}, none), map_get(a, #{a => 2})}.
map_find() -> {maps:find(a, #{a => 1}), maps:find(b, #{a => 1})}.
map_put_remove() -> maps:remove(a, maps:put(b, 2, #{a => 1})).
map_keys_values() -> M = #{c => 3, a => 1, b => 2}, {lists:sort(maps:keys(M)), lists:sort(maps:values(M))}.
map_to_list() -> lists:sort(maps:to_list(#{x => 1, y => 2, 3 => z})).
map_from_list() -> maps:from_list([{a, 1}, {b, 2}, {a, 3}]).
map_fold() -> maps:fold(fun(_, V, A) -> V + A end, 0, #{a => 1, b => 2}).
map_map() -> maps:map(fun(K, V) -> {K, V} end, #{a => 1, b => 2}).
map_filter() -> maps:filter(fun(_, V) -> V > 1 end, #{a => 1, b => 2}).
map_merge() -> maps:merge(#{a => 1, b => 2}, #{b => 3, c => 4}).
map_update_with() -> {maps:update_with(a, fun(X) -> X + 1 end, #{a => 1}), maps:update_with(z, fun(X) -> X end, 0, #{a => 1})}.
map_take() -> {maps:take(a, #{a => 1, b => 2}), maps:take(c, #{})}.
map_without() -> {maps:without([a], #{a => 1, b => 2}), maps:with([a, z], #{a => 1, b => 2})}.
map_size_() -> {map_size(#{}), maps:size(#{a => 1})}.
map_is_key() -> {maps:is_key(a, #{a => 1}), is_map_key(b, #{a => 1})}.
map_equal() -> #{a => 1, b => 2} =:= maps:put(a, 1, #{b => 2}).
map_order_of_many() -> lists:sort(maps:keys(maps:from_list([{X * 7 rem 101, X} || X <- lists:seq(1, 60)]))).
map_groups() -> lists:foldl(fun(X, M) -> maps:update_with(X rem 3, fun(L) -> [X | L] end, [X], M) end, #{}, lists:seq(1, 9)).
map_nested() -> M = #{a => #{b => 1}}, M#{a := (maps:get(a, M))#{b := 2}}.
map_iterator() -> lists:sort(maps:to_list(maps:map(fun(_, V) -> V * 2 end, #{1 => 1, 2 => 2}))).
bin_literal() -> <<1, 2, "abc", 300:16>>.
bin_sizes() -> {byte_size(<<1, 2, 3>>), bit_size(<<1:5>>), byte_size(<<1:9>>), size(<<1, 2>>)}.
bin_build() -> X = id(16#1234), <<X:16, X:16/little, X:8, (-1):8, 1.5/float>>.
bin_build_bits() -> <<5:3, 2:2, 7:3>>.
bin_build_unaligned() -> <<1:1, 0:1, 1:3>>.
bin_build_binary() -> B = id(<<1, 2>>), <<B/binary, 3, B:1/binary>>.
bin_build_bad() -> B = id(a), <<B:8>>.
bin_build_bad_binary() -> B = id([1]), <<B/binary>>.
bin_match() -> <<A:8, B:16, Rest/binary>> = id(<<1, 2, 3, 4, 5>>), {A, B, Rest}.
bin_match_little() -> <<A:16/little, B:16/big-signed>> = id(<<1, 2, 255, 254>>), {A, B}.
bin_match_size() -> <<N, B:N/binary, T/binary>> = id(<<2, "abcd">>), {N, B, T}.
bin_match_bits() -> <<A:3, B:5, C/bitstring>> = id(<<2#10110011, 1:3>>), {A, B, C}.
bin_match_float() -> <<F/float>> = id(<<2.5/float>>), F.
bin_match_fails() -> <<A:16>> = id(<<1>>), A.
bin_match_case() -> [case B of <<"GET ", P/binary>> -> {get, P}; <<"PUT ", P/binary>> -> {put, P}; _ -> other end || B <- [<<"GET /x">>, <<"PUT y">>, <<"Z">>]].
bin_match_utf8() -> <<C/utf8, R/binary>> = id(<<"é!"/utf8>>), {C, R}.
bin_utf8() -> <<955/utf8, $a/utf8>>.
bin_signed() -> <<X:4/signed, Y:4/unsigned>> = id(<<16#F9>>), {X, Y}.
bin_unit() -> <<X:2/unit:8>> = id(<<1, 0>>), X.
bin_loop() -> sum(<<1, 2, 3, 250>>, 0).
sum(<<X, R/binary>>, S) -> sum(R, S + X); sum(<<>>, S) -> S.
bin_append_loop() -> build(5, <<>>).
build(0, B) -> B; build(N, B) -> build(N - 1, <<B/binary, N>>).
bin_part() -> {binary:part(<<"hello">>, 1, 3), binary_part(<<"hello">>, {0, 2})}.
bin_split() -> {binary:split(<<"a,b,c">>, <<",">>), binary:split(<<"a,b,c">>, <<",">>, [global])}.
bin_to_list() -> {binary_to_list(<<1, 2, 3>>), list_to_binary([1, <<2>>, [3]])}.
bin_list_bad() -> list_to_binary(id([256])).
bin_int() -> {binary_to_integer(<<"-42">>), integer_to_binary(42), integer_to_binary(255, 16)}.
bin_atom() -> {atom_to_binary(abc), binary_to_atom(<<"xyz">>)}.
bin_concat() -> <<(id(<<"ab">>))/binary, "cd">>.
bin_compare() -> {<<1, 2>> < <<1, 3>>, <<1>> < <<1, 0>>, <<"b">> > <<"abc">>}.
bin_copy() -> {binary:copy(<<"ab">>, 3), binary:first(<<"ab">>), binary:last(<<"ab">>), binary:at(<<"abc">>, 1)}.
bin_match_() -> {binary:match(<<"hello">>, <<"l">>), binary:matches(<<"hello">>, <<"l">>), binary:match(<<"x">>, <<"y">>)}.
bits_rest() -> <<_:3, R/bits>> = id(<<255, 0>>), R.
bin_skip() -> <<_, X, _/binary>> = id(<<1, 2, 3>>), X.
bin_big_field() -> <<(id(1 bsl 100)):128>>.
bin_big_read() -> <<X:128>> = id(<<0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7>>), X.
bin_negative_field() -> <<(id(-2)):16/signed>>.
bin_truncated_field() -> <<(id(16#ABCDE)):12>>.
bin_string_match() -> case id(<<"abc">>) of <<"ab", C>> -> C; _ -> no end.
is_bits() -> {is_binary(<<1:3>>), is_bitstring(<<1:3>>), is_binary(<<>>)}.
atoms() -> {atom_to_list('hello world'), list_to_atom("x y"), abc < abd, 'A' =:= list_to_existing_atom("A")}.
strings() -> {string:to_upper("abc"), string:length("abc"), string:trim("  a "), string:concat("a", "b")}.
string_tokens() -> {string:tokens("a b  c", " "), string:split("a-b-c", "-"), string:join(["a", "b"], ", ")}.
string_find() -> {string:str("hello", "l"), string:find("hello", "ll")}.
string_to_int() -> {string:to_integer("12abc"), string:to_integer("x")}.
io_lib_() -> lists:flatten(io_lib:format("~p ~w ~s ~b ~c~n", [{a, "str"}, "str", "str", 42, $z])).
io_lib_more() -> lists:flatten(io_lib:format("~5w|~-5w|~5.2f|~~|~.16b|~e", [ab, ab, 3.14159, 255, 1.5])).
io_lib_p() -> lists:flatten(io_lib:format("~p ~p ~p ~p", [[1, 2], "ab", <<"bin">>, #{a => 1}])).
io_lib_w() -> lists:flatten(io_lib:format("~w ~w ~w", ['A b', [], {1.0, -0.0}])).
proplists_() -> {proplists:get_value(a, [{a, 1}, b]), proplists:get_value(b, [{a, 1}, b]), proplists:get_value(c, [], d)}.
orddict_() -> orddict:store(b, 2, orddict:from_list([{c, 3}, {a, 1}])).
dict_() -> lists:sort(dict:to_list(dict:append(a, 2, dict:from_list([{a, [1]}, {b, []}])))).
sets_() -> lists:sort(sets:to_list(sets:union(sets:from_list([1, 2]), sets:from_list([2, 3])))).
ordsets_() -> {ordsets:from_list([3, 1, 2, 1]), ordsets:is_element(2, [1, 2]), ordsets:subtract([1, 2, 3], [2])}.
gb_trees_() -> gb_trees:to_list(gb_trees:insert(b, 2, gb_trees:insert(a, 1, gb_trees:empty()))).
gb_sets_() -> gb_sets:to_list(gb_sets:add(1, gb_sets:from_list([3, 2]))).
queue_() -> {{value, A}, Q} = queue:out(queue:in(2, queue:in(1, queue:new()))), {A, queue:to_list(Q)}.
array_() -> array:to_list(array:set(1, x, array:new(3, {default, d}))).
term_to_binary_() -> [binary_to_term(term_to_binary(X)) || X <- [a, 1, -1, 1.5, 1 bsl 80, -(1 bsl 80), "s", [a | b], {1, {2}}, #{a => [1]}, <<1, 2>>, <<1:3>>]].
phash() -> erlang:phash2({a, 1}) =:= erlang:phash2({a, 1}).
split_binary_() -> split_binary(<<1, 2, 3>>, 1).
tuple_calls() -> {tuple_size({1, 2}), element(1, {a}), list_to_tuple([])}.
unicode_() -> {unicode:characters_to_binary([955, $a]), unicode:characters_to_list(<<206, 187>>)}.
