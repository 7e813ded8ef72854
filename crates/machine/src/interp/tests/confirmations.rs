//! What the marks of speculative loads and confirmations become.

use super::awaits::first_op;
use super::*;
use selvedge_ir::Speculation;

fn access(body: &str) -> Access {
    match first_op(body) {
        Op::Access(access) => access,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_load_says_with_which_values_it_is_speculative() {
    let marks = [
        ("", None),
        ("spec", Some(Speculation::Always)),
        ("spec_zero", Some(Speculation::IfZero)),
        ("spec_nonzero", Some(Speculation::IfNonzero)),
        ("spec_next", Some(Speculation::IfNext)),
    ];
    for (mark, expected) in marks {
        for load in
            [format!("v = load i32 @x, acq {mark}"), format!("p = ptradd @x, 0 * 4\n v = load i32 p, acq {mark}")]
        {
            let access = access(&load);
            assert_eq!(access.speculative, expected, "{load}");
            assert!(!access.confirms);
        }
    }
    let zero = access("v = load i32 @x, acq spec_zero");
    assert!(zero.speculates(0, None) && !zero.speculates(1, None));
    let nonzero = access("v = load i32 @x, acq spec_nonzero");
    assert!(nonzero.speculates(1, None) && !nonzero.speculates(0, None));
    let next = access("v = load i32 @x, acq spec_next");
    let confirming = Op::Access(access("o, d = cas i32 @x, 0, 1, sc, sc confirm"));
    let another = Op::Access(access("o, d = cas i32 @x, 0, 1, sc, sc"));
    assert!(next.speculates(0, Some(&confirming)));
    assert!(!next.speculates(0, Some(&another)) && !next.speculates(0, None));
    assert!(access("v = load i32 @x, acq spec").speculates(0, None));
    assert!(!access("v = load i32 @x, acq").speculates(0, None));
}

#[test]
fn a_compare_and_exchange_says_that_it_confirms_whether_it_waits_or_not() {
    for (text, confirms) in [
        ("o, d = cas i32 @x, 0, 1, sc, sc", false),
        ("o, d = cas i32 @x, 0, 1, sc, sc confirm", true),
        ("o, d = await cas i32 @x, 0, 1, sc, sc until eq 0 retry 0", false),
        ("o, d = await cas i32 @x, 0, 1, sc, sc confirm until eq 0 retry 0", true),
    ] {
        let access = access(text);
        assert_eq!(access.confirms, confirms, "{text}");
        assert_eq!(access.speculative, None, "{text}");
    }
}
