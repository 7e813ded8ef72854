//! Terms and the solver against plain computation on random expressions.

use selvedge_impact::solver::{Answer, Embedded, Solver};
use selvedge_impact::term::{Symbol, Term, Terms, Valuation};
use selvedge_oracle::generate::Rng;
use std::time::Duration;

const BITS: u8 = 4;
const MASK: u64 = 15;

fn signed(value: u64) -> i64 {
    if value & 8 == 0 { value as i64 } else { value as i64 - 16 }
}

/// A random expression twice: as a term, and as its values for all values of two variables.
fn expression(rng: &mut Rng, t: &mut Terms, symbols: [Symbol; 2], depth: u32) -> (Term, Vec<u64>) {
    let all = || (0..=MASK).flat_map(|x| (0..=MASK).map(move |y| (x, y)));
    if depth == 0 || rng.percent(15) {
        return match rng.below(3) {
            0 => (t.var(symbols[0]), all().map(|(x, _)| x).collect()),
            1 => (t.var(symbols[1]), all().map(|(_, y)| y).collect()),
            _ => {
                let number = rng.number() & MASK;
                (t.number(number, BITS), all().map(|_| number).collect())
            }
        };
    }
    let (a, x) = expression(rng, t, symbols, depth - 1);
    let (b, y) = expression(rng, t, symbols, depth - 1);
    let zip = |f: &dyn Fn(u64, u64) -> u64| x.iter().zip(&y).map(|(&x, &y)| f(x, y) & MASK).collect::<Vec<u64>>();
    match rng.below(16) {
        0 => (t.add(a, b), zip(&|x, y| x + y)),
        1 => (t.sub(a, b), zip(&|x, y| x.wrapping_sub(y))),
        2 => (t.mul(a, b), zip(&|x, y| x * y)),
        3 => (t.udiv(a, b), zip(&|x, y| x.checked_div(y).unwrap_or(MASK))),
        4 => (t.urem(a, b), zip(&|x, y| x.checked_rem(y).unwrap_or(x))),
        5 => (t.and(a, b), zip(&|x, y| x & y)),
        6 => (t.or(a, b), zip(&|x, y| x | y)),
        7 => (t.xor(a, b), zip(&|x, y| x ^ y)),
        8 => (t.shl(a, b), zip(&|x, y| if y < 4 { x << y } else { 0 })),
        9 => (t.lshr(a, b), zip(&|x, y| if y < 4 { x >> y } else { 0 })),
        10 => (t.ashr(a, b), zip(&|x, y| (signed(x) >> y.min(8)) as u64)),
        11 => (t.not(a), x.iter().map(|&x| !x & MASK).collect()),
        12 => {
            let condition = t.slt(a, b);
            (t.ite(condition, b, a), zip(&|x, y| if signed(x) < signed(y) { y } else { x }))
        }
        13 => {
            let condition = t.ult(a, b);
            (t.zext(condition, BITS), zip(&|x, y| u64::from(x < y)))
        }
        14 => {
            let condition = t.eq(a, b);
            (t.sext(condition, BITS), zip(&|x, y| if x == y { MASK } else { 0 }))
        }
        _ => {
            let low = t.extract(1, 2, a);
            (t.sext(low, BITS), x.iter().map(|&x| if x & 4 == 0 { x >> 1 & 3 } else { x >> 1 & 3 | 12 }).collect())
        }
    }
}

#[test]
fn terms_mean_what_their_operators_say_and_the_solver_agrees() {
    let mut rng = Rng::new(3);
    let mut solver = Embedded::new(Duration::from_secs(20), None);
    for _ in 0..400 {
        let mut t = Terms::default();
        let symbols = [t.symbol("x", BITS, false, false), t.symbol("y", BITS, false, false)];
        let (term, values) = expression(&mut rng, &mut t, symbols, 3);
        let mut pairs = (0..=MASK).flat_map(|x| (0..=MASK).map(move |y| (x, y)));
        for &expected in &values {
            let (x, y) = pairs.next().expect("as many values as pairs");
            let valuation =
                Valuation { values: [(symbols[0], x), (symbols[1], y)].into_iter().collect(), ..Valuation::default() };
            assert_eq!(valuation.eval(&t, term), expected, "{} at x={x} y={y}", t.text(term));
        }
        let wanted = rng.number() & MASK;
        let number = t.number(wanted, BITS);
        let equation = t.eq(term, number);
        match solver.check(&mut t, &[equation]) {
            Answer::Sat(valuation) => {
                assert_eq!(valuation.eval(&t, term), wanted, "a valuation fulfils what was asked: {}", t.text(term));
            }
            Answer::Unsat(core) => {
                assert_eq!(core, [0]);
                assert!(!values.contains(&wanted), "{} can be {wanted}", t.text(term));
            }
            Answer::Unknown => panic!("four bits are no trouble"),
        }
    }
}
