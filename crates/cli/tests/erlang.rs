//! The command on Erlang modules: violations with source lines and replay, and bad input.

mod common;

use common::Place;

fn program(name: &str) -> String {
    format!("{}/../../tests/erlang/programs/{name}.erl", env!("CARGO_MANIFEST_DIR"))
}

fn check(place: &Place, args: &[&str]) -> common::Ended {
    place.run(&[&["check"], args].concat())
}

#[test]
fn a_lock_is_verified_if_it_may_wait_forever() {
    let place = Place::new();
    let lock = program("lock");
    let args = [lock.as_str(), "--entry", "test(3)"];
    check(&place, &[&args[..], &["--server", "lock/0"]].concat()).exits_with(0).says(&["verified", "6 interleavings"]);
    let without = check(&place, &[&args[..], &["--server", "lock", "--reductions", "none"]].concat());
    without.exits_with(0).says(&["30 interleavings", "without observers"]);
    check(&place, &args).exits_with(1).says(&["error[deadlock]", "lock#1 waits", "{acquire, _}"]);
    let fifo = check(&place, &[&args[..], &["--server", "lock/0", "--delivery", "fifo"]].concat());
    fifo.exits_with(0).says(&["in order per sender"]);
}

/// Each with its source line in the report, and again by its trace.
#[test]
fn seeded_bugs_are_found_shown_and_replayed() {
    let bugs = [
        ("counter", "lost_update()", "counter.erl:28"),
        ("restart", "during_restart()", "restart.erl:22"),
        ("door", "impatient()", "door.erl:27"),
        ("registry_race", "test()", "registry_race.erl:23"),
        ("ets_counter", "lost_update()", "ets_counter.erl:19"),
        ("timers", "forgotten()", "timers.erl:23"),
    ];
    for (name, entry, line) in bugs {
        let place = Place::new();
        let found = check(&place, &[&program(name), "--entry", entry]);
        found.exits_with(1).says(&["Interleaving:", line, "Replay: selvedge replay selvedge-trace.json"]);
        let again = place.run(&["replay", "selvedge-trace.json"]);
        again.exits_with(1).says(&["Interleaving:", line]);
        let report = |text: &str| text.split("Replay:").next().unwrap_or_default().trim_end().to_owned();
        assert_eq!(report(&found.out), report(&again.out), "{name}: the same execution");
    }
}

#[test]
fn operations_on_tables_are_shown_as_calls() {
    let ended = check(&Place::new(), &[&program("ets_counter"), "--entry", "lost_update()"]);
    ended.exits_with(1).says(&["ets:lookup(#Ref<0.0.0>, n)", "ets:insert(#Ref<0.0.0>, {n,1})"]);
}

#[test]
fn a_report_for_scripts_has_counts_and_schedules() {
    let place = Place::new();
    let ended = check(&place, &[&program("not_selective"), "--entry", "test(4)", "--json", "-"]);
    let json = ended.exits_with(0).json();
    assert_eq!(json["runs"][0]["complete"], 24);
    assert_eq!(json["runs"][0]["answer"], "verified");
    assert_eq!(json["runs"][0]["entry"], "not_selective:test(4)");
    let ended = check(&place, &[&program("abnormal_exit"), "--json", "-"]);
    let json = ended.exits_with(1).json();
    assert_eq!(json["runs"][0]["violations"][0]["places"][0]["line"], 13);
    assert!(!json["runs"][0]["violations"][0]["schedule"].as_str().unwrap().is_empty());
}

#[test]
fn tests_are_found_by_their_names() {
    let eunit = "-module(e).\n-export([a_test/0, b_test/0, other/0]).\n\
                 a_test() -> ok.\nb_test() -> 1 = 2, ok.\nother() -> error(never_run).\n";
    let place = Place::with("e.erl", eunit);
    check(&place, &["e.erl"]).exits_with(1).says(&["(e:a_test())", "e.erl:4", "{badmatch,2}"]);
    let scenarios = "-module(s).\n-export([scenarios/0, f/1]).\nscenarios() -> [{f, [1]}, {f, [2]}].\nf(X) -> X.\n";
    place.write("s.erl", scenarios);
    check(&place, &["s.erl"]).exits_with(0).says(&["(s:f(1))", "(s:f(2))"]);
}

#[test]
fn several_files_headers_and_compiled_modules_make_one_program() {
    let place = Place::new();
    std::fs::create_dir(place.path("inc")).unwrap();
    std::fs::create_dir(place.path("ebin")).unwrap();
    place.write("inc/n.hrl", "-define(N, 2).\n");
    place.write(
        "a.erl",
        "-module(a).\n-export([test/0]).\n-include(\"n.hrl\").\ntest() -> 5 = b:f(?N) + library:g(), ok.\n",
    );
    place.write("b.erl", "-module(b).\n-export([f/1]).\nf(X) -> X * ?M.\n");
    place.write("library.erl", "-module(library).\n-export([g/0]).\ng() -> 1.\n");
    let erlc = |flag: &[&str]| {
        let mut command = std::process::Command::new("erlc");
        command.args(flag).args(["-o", "ebin", "library.erl"]).current_dir(place.path(""));
        assert!(command.status().unwrap().success());
    };
    let args = ["a.erl", "b.erl", "-I", "inc", "-D", "M=2", "-pa", "ebin"];
    erlc(&["+debug_info"]);
    check(&place, &args).exits_with(0).says(&["verified"]);
    erlc(&["+no_debug_info"]);
    check(&place, &args).exits_with(3).says(&["module library", "no abstract code", "a.erl:4"]);
}

#[test]
fn what_a_process_prints_is_part_of_the_report() {
    let text = "-module(p).\n-export([test/0]).\ntest() -> io:format(\"x is ~p~n\", [{a, \"b\"}]), exit(bad).\n";
    let place = Place::with("p.erl", text);
    check(&place, &["p.erl"]).exits_with(1).says(&["| x is {a,\"b\"}", "exits abnormally: bad"]);
}

// Bad input.

#[test]
fn without_erlang_it_says_how_to_get_it() {
    let place = Place::with("m.erl", "-module(m).\n").without_programs();
    check(&place, &["m.erl"]).fails_with(3, &["erl", "apt-get install erlang-base"]);
}

#[test]
fn a_module_that_does_not_compile_is_shown_with_the_compilers_words() {
    let place = Place::with("m.erl", "-module(m).\n-export([test/0]).\ntest() -> X.\n");
    check(&place, &["m.erl"]).fails_with(3, &["m.erl:3", "variable 'X' is unbound"]);
    place.write("m.erl", "");
    check(&place, &["m.erl"]).fails_with(3, &["m.erl"]);
    place.write("m.erl", b"-module(m).\n-export([test/0]).\ntest() -> \"\xff\xfe\".\n");
    check(&place, &["m.erl"]).fails_with(3, &["m.erl:3"]);
    // A mark of the byte order is no Erlang.
    place.write("m.erl", "\u{feff}-module(m).\n-export([test/0]).\ntest() -> ok.\n");
    check(&place, &["m.erl"]).fails_with(3, &["m.erl:1"]);
    std::fs::create_dir(place.path("d.erl")).unwrap();
    check(&place, &["d.erl"]).fails_with(3, &["d.erl", "directory"]);
}

#[test]
fn a_function_that_is_replaced_by_native_code_is_named() {
    let text = "-module(m).\n-export([test/0, f/0]).\n-on_load(init/0).\ninit() -> erlang:load_nif(\"./m\", 0).\n\
                f() -> erlang:nif_error(not_loaded).\ntest() -> f().\n";
    let place = Place::with("m.erl", text);
    check(&place, &["m.erl"]).exits_with(3).says(&["not supported: m:f/0 (native code)", "m.erl:5"]);
}

#[test]
fn who_halts_the_system_ends_the_execution() {
    let program = program("halting");
    check(&Place::new(), &[&program, "--entry", "test()"]).exits_with(0).says(&["verified"]);
    let status = check(&Place::new(), &[&program, "--entry", "with_status()"]);
    status.exits_with(1).says(&["process main halts the system with 3", "halting.erl:27"]);
    let before = check(&Place::new(), &[&program, "--entry", "others_may_fail_first()"]);
    before.exits_with(1).says(&["oops", "halting.erl:21"]);
}

#[test]
fn files_and_calls_that_are_not_there_are_named() {
    let place = Place::with("m.erl", "-module(m).\n-export([f/1]).\nf(X) -> X.\n");
    check(&place, &["no.erl"]).fails_with(2, &["no.erl"]);
    check(&place, &["m.erl"]).fails_with(2, &["nothing to run", "--entry"]);
    check(&place, &["m.erl", "--entry", "f()"]).fails_with(2, &["m exports no function f/0", "f/1"]);
    check(&place, &["m.erl", "--entry", "n:f(1)"]).fails_with(2, &["there is no module n"]);
    check(&place, &["m.erl", "--entry", "f(X)"]).fails_with(2, &["--entry", "f(X)"]);
    check(&place, &["m.erl", "--model", "tso"]).fails_with(2, &["--model", "Erlang"]);
    check(&place, &["m.erl", "x.c"]).fails_with(2, &["x.c"]);
}

#[test]
fn unknown_functions_are_errors_of_the_program_and_unsupported_ones_are_named_with_their_place() {
    let module = |body: &str| format!("-module(m).\n-export([test/0]).\ntest() ->\n    {body}.\n");
    let unknown = [
        ("no_such_module:f(1)", "no_such_module:f/1"),
        ("lists:map(1)", "lists:map/1"),
        ("lists:no_such_function()", "lists:no_such_function/0"),
    ];
    for (call, named) in unknown {
        let place = Place::with("m.erl", &module(call));
        check(&place, &["m.erl"]).exits_with(1).says(&["undef", named, "m.erl:4"]);
    }
    let unsupported = [
        ("erlang:trace(all, true, [call])", "erlang:trace/3"),
        ("open_port({spawn, \"ls\"}, [])", "a port"),
        ("erlang:load_nif(\"x\", 0)", "native code"),
        ("erlang:phash2(x)", "erlang:phash2/1"),
        ("init:stop()", "init:stop/0"),
        ("ets:give_away(ets:new(t, []), self(), x)", "ets:give_away/3"),
        ("process_info(self(), [links, message_queue_len])", "links and message_queue_len"),
        ("{x, 'a@b'} ! hello", "another node"),
        ("ets:new(t, [{heir, self(), x}])", "heir"),
    ];
    for (call, named) in unsupported {
        let place = Place::with("m.erl", &module(call));
        check(&place, &["m.erl"]).exits_with(3).says(&["not supported", named, "m.erl:4"]);
    }
}

#[test]
fn endless_and_large_computations_are_bounded() {
    let module = |body: &str| format!("-module(m).\n-export([test/0]).\ntest() -> loop([]).\nloop(X) -> {body}.\n");
    let place = Place::with("m.erl", &module("loop(X)"));
    check(&place, &["m.erl", "--max-calls", "100000"]).exits_with(4).says(&["incomplete", "100000 calls", "m.erl:4"]);
    // A deep recursion and a deep term need no stack.
    let place = Place::with("m.erl", &module("1 + loop(X)"));
    check(&place, &["m.erl", "--max-calls", "300000"]).exits_with(4);
    let place = Place::with("m.erl", &module("loop({X})"));
    check(&place, &["m.erl", "--max-calls", "300000"]).exits_with(4);
    for body in ["<<0:(1 bsl 60)>>", "1 bsl (1 bsl 60)", "lists:seq(1, 1 bsl 50)"] {
        let place = Place::with("m.erl", &module(body));
        check(&place, &["m.erl"]).exits_with(1).says(&["system_limit"]);
    }
    // What a larger machine could do is not the program's fault, and cannot be caught.
    for body in [
        "lists:seq(1, 100000000)",
        "try <<0:8000000000>> catch _:_ -> ok end",
        "binary:copy(<<0>>, 1 bsl 30)",
        "loop(case X of [] -> [1]; _ -> X ++ X end)",
    ] {
        let place = Place::with("m.erl", &module(body));
        check(&place, &["m.erl"]).exits_with(4).says(&["incomplete", "lists to 4194304 elements", "m.erl:4"]);
    }
    let place = Place::with("m.erl", &module("receive _ -> ok after 10 -> loop(X) end"));
    check(&place, &["m.erl", "--max-events", "200"]).exits_with(4).says(&["incomplete", "200 steps"]);
}

#[test]
fn a_trace_belongs_to_its_program() {
    let place = Place::with("m.erl", "-module(m).\n-export([test/0]).\ntest() -> exit(bad).\n");
    check(&place, &["m.erl", "--trace", "t.json"]).exits_with(1);
    place.run(&["replay", "t.json"]).exits_with(1).says(&["exits abnormally: bad"]);
    place.run(&["replay", "t.json", "--violation", "2"]).fails_with(2, &["no number 2"]);
    place.write("m.erl", "-module(m).\n-export([test/0]).\ntest() -> ok, exit(bad).\n");
    place.run(&["replay", "t.json"]).fails_with(3, &["has changed since"]);
    let text = place.read("t.json").replace("\"schedule\": \"", "\"schedule\": \"x");
    place.write("t.json", text);
    place.run(&["replay", "t.json"]).fails_with(3, &["t.json"]);
}
