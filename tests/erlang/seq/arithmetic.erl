%% Numbers: small and large integers, floats, conversions, bit operations.
-module(arithmetic).
-compile([export_all, nowarn_export_all]).

id(X) -> X.
fact(0) -> 1;
fact(N) -> N * fact(N - 1).
pow(_, 0) -> 1;
pow(B, N) -> B * pow(B, N - 1).
gcd(A, 0) -> A;
gcd(A, B) -> gcd(B, A rem B).

add() -> id(1) + 2.
sub_below_zero() -> id(1) - 2.
mul() -> id(-7) * 6.
div_towards_zero() -> [id(7) div 2, id(-7) div 2, id(7) div -2, id(-7) div -2].
rem_has_sign_of_dividend() -> [id(7) rem 2, id(-7) rem 2, id(7) rem -2, id(-7) rem -2].
slash_is_float() -> id(6) / 3.
mixed() -> id(1) + 2.5.
mixed_sub() -> 10.0 - id(3).
neg() -> -id(5).
neg_float() -> -id(5.5).
plus_unary() -> +id(5).
add_overflows_small() -> id(16#7FFFFFFFFFFFFFFF) + 1.
add_overflows_erlang_small() -> id(16#7FFFFFFFFFFFFFF) + 1.
sub_overflows() -> id(-16#8000000000000000) - 1.
mul_overflows() -> id(16#7FFFFFFFFFFFFFFF) * id(16#7FFFFFFFFFFFFFFF).
big_back_to_small() -> (id(1 bsl 100) bsr 99) - 1.
big_minus_itself() -> X = id(1 bsl 100), X - X.
fact20() -> fact(20).
fact21() -> fact(21).
fact50() -> fact(50).
pow_negative() -> pow(-3, 77).
big_div() -> fact(30) div fact(28).
big_div_negative() -> -fact(30) div fact(25).
big_rem() -> fact(30) rem 1000000007.
big_rem_negative() -> (-fact(30)) rem 1000000007.
big_rem_big() -> (pow(7, 60)) rem (pow(5, 40)).
big_gcd() -> gcd(fact(25), pow(6, 40)).
big_compare() -> {fact(25) < fact(26), -fact(25) < fact(3), fact(25) =:= fact(25), fact(25) == fact(25) + 0}.
big_to_float() -> float(pow(2, 90)).
big_plus_float() -> pow(2, 70) + 0.5.
big_div_float() -> pow(10, 30) / pow(10, 28).
float_too_large() -> float(pow(2, 2000)).
div_zero() -> id(1) div id(0).
rem_zero() -> id(1) rem id(0).
slash_zero() -> id(1) / id(0).
slash_zero_float() -> id(1.0) / id(0.0).
add_atom() -> id(1) + id(a).
neg_atom() -> -id(a).
div_float() -> id(1.0) div 2.
band_() -> id(2#1100) band 2#1010.
bor_() -> id(2#1100) bor 2#1010.
bxor_() -> id(2#1100) bxor 2#1010.
bnot_() -> bnot id(0).
band_negative() -> id(-4) band 16#FF.
bor_negative() -> id(-256) bor 3.
bxor_negative() -> id(-1) bxor 16#F0F0.
band_big() -> id(pow(2, 100) - 1) band pow(2, 70).
band_big_negative() -> id(-pow(2, 100)) band (pow(2, 101) - 1).
bor_big() -> id(pow(2, 100)) bor 1.
bxor_big() -> id(pow(2, 100)) bxor (pow(2, 100) + 5).
bnot_big() -> bnot id(pow(2, 100)).
bsl_() -> id(1) bsl 70.
bsl_negative_count() -> id(1024) bsl -3.
bsr_() -> id(-5) bsr 1.
bsr_all() -> {id(-5) bsr 100, id(5) bsr 100}.
bsr_big() -> id(-pow(2, 100) - 1) bsr 90.
bsl_badarith() -> id(1.0) bsl 2.
abs_() -> {abs(id(-3)), abs(id(-3.5)), abs(id(-pow(2, 70)))}.
float_shortest() -> [0.1, 0.2 + id(0.1), 1.0, 100.0, 1.0e10, 1.0e21, 1.0e22, 1.0e23, 123456789.123, 1.0e-5, 0.0001, 5.0e-324].
float_negative_zero_equal() -> id(0.0) == -id(0.0).
float_add() -> id(0.1) + 0.2.
float_compare() -> {id(1) == 1.0, id(1) =:= 1.0, id(1) =/= 1.0, id(1) /= 1.0, id(1) < 1.5}.
float_big_compare() -> {id(pow(2, 60)) == 1152921504606846976.0, id(pow(2, 60) + 1) > 1152921504606846976.0, id(pow(2, 60) + 1) == 1152921504606846976.0}.
trunc_() -> {trunc(id(2.7)), trunc(id(-2.7)), trunc(id(1.0e30))}.
round_() -> {round(id(2.5)), round(id(-2.5)), round(id(2.4)), round(id(3.5))}.
ceil_floor() -> {ceil(id(2.1)), floor(id(2.9)), ceil(id(-2.1)), floor(id(-2.1)), floor(id(7))}.
trunc_atom() -> trunc(id(a)).
min_max() -> {min(id(1), 1.0), max(id(1), 1.0), min(a, id("b")), max({1}, id([]))}.
int_to_list() -> {integer_to_list(id(-123)), integer_to_list(id(255), 16), integer_to_list(fact(22))}.
list_to_int() -> {list_to_integer(id("-123")), list_to_integer("ff", 16), list_to_integer("123456789012345678901234567890")}.
list_to_int_bad() -> list_to_integer(id("12x")).
list_to_int_empty() -> list_to_integer(id("")).
float_to_list_short() -> float_to_list(id(2.5), [short]).
float_to_list_decimals() -> {float_to_list(id(2.456), [{decimals, 2}]), float_to_list(id(2.0), [{decimals, 3}, compact])}.
list_to_float_() -> list_to_float(id("2.50")).
list_to_float_bad() -> list_to_float(id("2")).
math_() -> {math:sqrt(id(16)), math:pow(2, 10), math:pi() > 3.14}.
math_bad() -> math:sqrt(id(-1)).
char() -> $a + id(1).
based() -> {16#ff, 2#101, 36#zz, 1_000_000}.
is_checks() -> [{is_integer(X), is_float(X), is_number(X)} || X <- [1, 1.0, fact(30), a, "1"]].
sum_large() -> lists:sum([fact(N) || N <- lists:seq(1, 25)]).
fib(0) -> 0; fib(1) -> 1; fib(N) -> fib(N - 1) + fib(N - 2).
fib15() -> fib(15).
fib_fast(0, A, _) -> A; fib_fast(N, A, B) -> fib_fast(N - 1, B, A + B).
fib300() -> fib_fast(300, 0, 1).
digits() -> digits(fact(30), 0).
digits(0, S) -> S; digits(N, S) -> digits(N div 10, S + N rem 10).
deep() -> deep(100000).
deep(0) -> 0; deep(N) -> 1 + deep(N - 1).
collatz() -> collatz(27, 0).
collatz(1, N) -> N; collatz(X, N) when X rem 2 =:= 0 -> collatz(X div 2, N + 1); collatz(X, N) -> collatz(3 * X + 1, N + 1).
