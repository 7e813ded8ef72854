//! The order of terms.
//!
//! number < atom < reference < fun < pid < tuple < map < nil < list < bit string. There are two orders: the one of `<`
//! and `==`, in which `1` equals `1.0`, and the exact one of `=:=` and of map keys, in which an integer comes before
//! the float of the same value. Both are total; Rust's `Ord` and `Eq` of [`Term`] are the exact one.

use crate::atom::Atom;
use crate::term::{Fun, Map, Term};
use num_bigint::BigInt;
use num_traits::{FromPrimitive, Signed};
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

/// Which of the two orders.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Numbers {
    ByValue,
    Exact,
}

/// The order of `<`; `Equal` is `==`.
pub fn compare(a: &Term, b: &Term) -> Ordering {
    order(a, b, Numbers::ByValue)
}

impl PartialEq for Term {
    fn eq(&self, other: &Term) -> bool {
        match (self, other) {
            (Term::Int(a), Term::Int(b)) => a == b,
            (Term::Atom(a), Term::Atom(b)) => a == b,
            (Term::Tuple(a), Term::Tuple(b)) => std::ptr::eq(&**a, &**b) || a == b,
            _ => order(self, other, Numbers::Exact) == Ordering::Equal,
        }
    }
}

impl Eq for Term {}

impl PartialOrd for Term {
    fn partial_cmp(&self, other: &Term) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Term {
    fn cmp(&self, other: &Term) -> Ordering {
        order(self, other, Numbers::Exact)
    }
}

impl Hash for Term {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Term::Int(value) => value.hash(state),
            Term::Big(value) => value.hash(state),
            // 0.0 and -0.0 are the same term.
            Term::Float(value) => (if *value == 0.0 { 0.0 } else { *value }).to_bits().hash(state),
            Term::Atom(atom) => atom.hash(state),
            Term::Nil => 0u8.hash(state),
            Term::Cons(_) => {
                let mut items = self.items();
                for item in items.by_ref() {
                    item.hash(state);
                }
                items.at.hash(state);
            }
            Term::Tuple(items) => items.hash(state),
            Term::Map(map) => map.hash(state),
            Term::Bits(bits) => bits.hash(state),
            Term::Fun(fun) => fun.arity().hash(state),
            Term::Pid(pid) => pid.hash(state),
            Term::Ref(reference) => reference.hash(state),
        }
    }
}

fn rank(term: &Term) -> u8 {
    match term {
        Term::Int(_) | Term::Big(_) | Term::Float(_) => 0,
        Term::Atom(_) => 1,
        Term::Ref(_) => 2,
        Term::Fun(_) => 3,
        Term::Pid(_) => 4,
        Term::Tuple(_) => 5,
        Term::Map(_) => 6,
        Term::Nil => 7,
        Term::Cons(_) => 8,
        Term::Bits(_) => 9,
    }
}

fn order(a: &Term, b: &Term, numbers: Numbers) -> Ordering {
    match (a, b) {
        (Term::Int(a), Term::Int(b)) => a.cmp(b),
        (Term::Atom(a), Term::Atom(b)) => order_atoms(*a, *b),
        (Term::Cons(_), Term::Cons(_)) => order_lists(a, b, numbers),
        (Term::Tuple(a), Term::Tuple(b)) => a.len().cmp(&b.len()).then_with(|| {
            a.iter().zip(b.iter()).map(|(a, b)| order(a, b, numbers)).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
        }),
        (Term::Map(a), Term::Map(b)) => order_maps(a, b, numbers),
        (Term::Bits(a), Term::Bits(b)) => a.cmp(b),
        (Term::Pid(a), Term::Pid(b)) => a.cmp(b),
        (Term::Ref(a), Term::Ref(b)) => a.cmp(b),
        (Term::Fun(a), Term::Fun(b)) => order_funs(a, b),
        _ => match rank(a).cmp(&rank(b)) {
            Ordering::Equal if rank(a) == 0 => order_numbers(a, b, numbers),
            ordering => ordering,
        },
    }
}

fn order_atoms(a: Atom, b: Atom) -> Ordering {
    if a == b { Ordering::Equal } else { a.name().chars().cmp(b.name().chars()) }
}

fn order_lists(a: &Term, b: &Term, numbers: Numbers) -> Ordering {
    let (mut a, mut b) = (a, b);
    while let (Term::Cons(left), Term::Cons(right)) = (a, b) {
        if std::rc::Rc::ptr_eq(left, right) {
            return Ordering::Equal;
        }
        let ordering = order(&left.head, &right.head, numbers);
        if ordering.is_ne() {
            return ordering;
        }
        (a, b) = (&left.tail, &right.tail);
    }
    order(a, b, numbers)
}

/// By size, then by keys (always exactly), then by values.
fn order_maps(a: &Map, b: &Map, numbers: Numbers) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.keys().cmp(b.keys())).then_with(|| {
        a.values().zip(b.values()).map(|(a, b)| order(a, b, numbers)).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
    })
}

fn order_funs(a: &Fun, b: &Fun) -> Ordering {
    match (a, b) {
        (
            Fun::Local { code: code_a, module: module_a, captured: captured_a, .. },
            Fun::Local { code: code_b, module: module_b, captured: captured_b, .. },
        ) => order_atoms(*module_a, *module_b).then(code_a.cmp(code_b)).then_with(|| captured_a.cmp(captured_b)),
        (Fun::Local { .. }, Fun::External { .. }) => Ordering::Less,
        (Fun::External { .. }, Fun::Local { .. }) => Ordering::Greater,
        (
            Fun::External { module: module_a, name: name_a, arity: arity_a },
            Fun::External { module: module_b, name: name_b, arity: arity_b },
        ) => order_atoms(*module_a, *module_b).then(order_atoms(*name_a, *name_b)).then(arity_a.cmp(arity_b)),
    }
}

fn order_numbers(a: &Term, b: &Term, numbers: Numbers) -> Ordering {
    match (a, b) {
        (Term::Float(a), Term::Float(b)) => a.partial_cmp(b).expect("floats are finite"),
        (Term::Float(float), _) => order_with_float(b, *float, numbers).reverse(),
        (_, Term::Float(float)) => order_with_float(a, *float, numbers),
        (Term::Big(a), Term::Big(b)) => a.cmp(b),
        // A big integer is beyond all small ones, on its side of zero.
        (Term::Big(a), _) => {
            if a.is_negative() {
                Ordering::Less
            } else {
                Ordering::Greater
            }
        }
        (_, Term::Big(b)) => {
            if b.is_negative() {
                Ordering::Greater
            } else {
                Ordering::Less
            }
        }
        (Term::Int(a), Term::Int(b)) => a.cmp(b),
        _ => unreachable!("both are numbers"),
    }
}

/// An integer against a float, by their exact values.
fn order_with_float(integer: &Term, float: f64, numbers: Numbers) -> Ordering {
    const EXACT: i64 = 1 << 53;
    let by_value = match integer {
        Term::Int(value) if (-EXACT..=EXACT).contains(value) =>
        {
            #[allow(clippy::cast_precision_loss)]
            (*value as f64).partial_cmp(&float).expect("floats are finite")
        }
        Term::Int(value) => order_big_with_float(&BigInt::from(*value), float),
        Term::Big(value) => order_big_with_float(value, float),
        _ => unreachable!("it is an integer"),
    };
    match numbers {
        Numbers::Exact => by_value.then(Ordering::Less),
        Numbers::ByValue => by_value,
    }
}

fn order_big_with_float(integer: &BigInt, float: f64) -> Ordering {
    let whole = BigInt::from_f64(float.trunc()).expect("floats are finite");
    integer.cmp(&whole).then_with(|| 0.0f64.partial_cmp(&float.fract()).expect("floats are finite"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_come_in_erlangs_order() {
        let terms = [
            Term::Int(5),
            Term::atom("a"),
            Term::Fun(std::rc::Rc::new(Fun::External { module: Atom::OK, name: Atom::OK, arity: 0 })),
            Term::Pid(crate::term::Pid(1)),
            Term::tuple([]),
            Term::map(Map::new()),
            Term::Nil,
            Term::list([Term::Int(1)]),
            Term::binary(b""),
        ];
        for (i, a) in terms.iter().enumerate() {
            for (j, b) in terms.iter().enumerate() {
                assert_eq!(compare(a, b), i.cmp(&j));
            }
        }
    }

    #[test]
    fn an_integer_equals_a_float_by_value_but_not_exactly() {
        assert_eq!(compare(&Term::Int(1), &Term::Float(1.0)), Ordering::Equal);
        assert_ne!(Term::Int(1), Term::Float(1.0));
        assert_eq!(compare(&Term::Int((1 << 53) + 1), &Term::Float(9_007_199_254_740_992.0)), Ordering::Greater);
        let big = Term::integer(BigInt::from(10).pow(30));
        assert_eq!(
            compare(&big, &Term::Float(1.0e30)),
            BigInt::from(10).pow(30).cmp(&BigInt::from_f64(1.0e30).unwrap())
        );
        assert_eq!(compare(&big, &Term::Float(f64::MAX)), Ordering::Less);
    }

    #[test]
    fn lists_are_compared_element_by_element() {
        let list = |items: &[i64]| Term::list(items.iter().map(|&i| Term::Int(i)).collect::<Vec<_>>());
        assert_eq!(compare(&list(&[1, 2]), &list(&[1, 2, 3])), Ordering::Less);
        assert_eq!(compare(&list(&[2]), &list(&[1, 2, 3])), Ordering::Greater);
        assert_eq!(list(&[1, 2]), list(&[1, 2]));
    }
}
