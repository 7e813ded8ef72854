//! Erlang terms.
//!
//! Terms are immutable and shared: a clone costs a counter. Equality (`==` of Rust) is Erlang's `=:=`; the two orders of
//! terms are in `order.rs`.

use crate::atom::Atom;
use crate::bits::Bits;
use num_bigint::BigInt;
use num_traits::ToPrimitive;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

/// A process. Numbers are given by the machine in the order in which processes are started.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Pid(pub u32);

/// A reference: the process that made it, and which of its references it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ref {
    /// Who made it.
    pub maker: Pid,
    /// The how manieth it made.
    pub number: u32,
}

/// A compiled function, by its place in the table of all code.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CodeId(pub u32);

/// A map: keys are exact (`1` and `1.0` are two keys) and sorted.
pub type Map = BTreeMap<Term, Term>;

/// A function as a value.
#[derive(Clone, Debug)]
pub enum Fun {
    /// `fun(X) -> ... end` or `fun name/1`.
    Local {
        /// Its code.
        code: CodeId,
        /// The module it is in.
        module: Atom,
        /// Its name there.
        name: Atom,
        /// How many arguments it takes.
        arity: u8,
        /// The values of its free variables.
        captured: Box<[Term]>,
    },
    /// `fun module:name/1`.
    External {
        /// The module.
        module: Atom,
        /// The function.
        name: Atom,
        /// How many arguments it takes.
        arity: u8,
    },
}

impl Fun {
    /// How many arguments it takes.
    pub fn arity(&self) -> u8 {
        match self {
            Fun::Local { arity, .. } | Fun::External { arity, .. } => *arity,
        }
    }
}

/// A cell of a list.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The element.
    pub head: Term,
    /// The rest.
    pub tail: Term,
}

impl Drop for Cell {
    /// Long lists are taken apart in a loop, not in a recursion.
    fn drop(&mut self) {
        let mut next = std::mem::replace(&mut self.tail, Term::Nil);
        while let Term::Cons(cell) = next {
            match Rc::try_unwrap(cell) {
                Ok(mut cell) => next = std::mem::replace(&mut cell.tail, Term::Nil),
                Err(_) => break,
            }
        }
    }
}

/// A term.
#[derive(Clone, Debug)]
pub enum Term {
    /// An integer that fits.
    Int(i64),
    /// One that does not.
    Big(Rc<BigInt>),
    /// A float; always finite.
    Float(f64),
    /// An atom.
    Atom(Atom),
    /// `[]`
    Nil,
    /// `[Head | Tail]`
    Cons(Rc<Cell>),
    /// `{A, B}`
    Tuple(Rc<[Term]>),
    /// `#{K => V}`
    Map(Rc<Map>),
    /// A binary or bit string.
    Bits(Rc<Bits>),
    /// A function.
    Fun(Rc<Fun>),
    /// A process.
    Pid(Pid),
    /// A reference.
    Ref(Ref),
}

impl Term {
    /// A cell of a list.
    pub fn cons(head: Term, tail: Term) -> Term {
        Term::Cons(Rc::new(Cell { head, tail }))
    }

    /// A proper list.
    pub fn list<I: IntoIterator<Item = Term>>(items: I) -> Term
    where
        I::IntoIter: DoubleEndedIterator,
    {
        Term::list_with_tail(items, Term::Nil)
    }

    /// A list that ends in `tail`.
    pub fn list_with_tail<I: IntoIterator<Item = Term>>(items: I, tail: Term) -> Term
    where
        I::IntoIter: DoubleEndedIterator,
    {
        items.into_iter().rev().fold(tail, |tail, head| Term::cons(head, tail))
    }

    /// A tuple.
    pub fn tuple<const N: usize>(items: [Term; N]) -> Term {
        Term::Tuple(Rc::new(items))
    }

    /// A tuple of any size.
    pub fn tuple_of(items: Vec<Term>) -> Term {
        Term::Tuple(items.into())
    }

    /// A list of characters.
    pub fn string(text: &str) -> Term {
        Term::list(text.chars().map(|c| Term::Int(i64::from(c as u32))).collect::<Vec<_>>())
    }

    /// An atom by its name.
    pub fn atom(name: &str) -> Term {
        Term::Atom(Atom::new(name))
    }

    /// `true` or `false`.
    pub fn bool(value: bool) -> Term {
        Term::Atom(Atom::from_bool(value))
    }

    /// An integer, in its smallest form.
    pub fn integer(value: BigInt) -> Term {
        match value.to_i64() {
            Some(small) => Term::Int(small),
            None => Term::Big(Rc::new(value)),
        }
    }

    /// A number of things.
    pub fn count(value: usize) -> Term {
        Term::Int(i64::try_from(value).expect("fewer things than numbers"))
    }

    /// A map.
    pub fn map(map: Map) -> Term {
        Term::Map(Rc::new(map))
    }

    /// A binary.
    pub fn binary(bytes: &[u8]) -> Term {
        Term::Bits(Rc::new(Bits::from_bytes(bytes)))
    }

    /// The atom, if it is one.
    pub fn as_atom(&self) -> Option<Atom> {
        match self {
            Term::Atom(atom) => Some(*atom),
            _ => None,
        }
    }

    /// The elements, if it is a tuple.
    pub fn as_tuple(&self) -> Option<&[Term]> {
        match self {
            Term::Tuple(items) => Some(items),
            _ => None,
        }
    }

    /// The integer, if it is one that fits.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Term::Int(value) => Some(*value),
            _ => None,
        }
    }

    /// A size or count, if it is one.
    pub fn as_count(&self) -> Option<usize> {
        self.as_int().and_then(|value| usize::try_from(value).ok())
    }

    /// Whether it is this atom.
    pub fn is(&self, atom: Atom) -> bool {
        matches!(self, Term::Atom(own) if *own == atom)
    }

    /// Its elements, if it is a proper list.
    pub fn to_vec(&self) -> Option<Vec<Term>> {
        let mut items = Vec::new();
        let mut at = self;
        loop {
            match at {
                Term::Nil => return Some(items),
                Term::Cons(cell) => {
                    items.push(cell.head.clone());
                    at = &cell.tail;
                }
                _ => return None,
            }
        }
    }

    /// The elements of a list, up to whatever it ends in.
    pub fn items(&self) -> Items<'_> {
        Items { at: self }
    }

    /// The text of a list of characters.
    pub fn to_text(&self) -> Option<String> {
        let mut text = String::new();
        let mut items = self.items();
        for item in items.by_ref() {
            text.push(char::from_u32(u32::try_from(item.as_int()?).ok()?)?);
        }
        matches!(items.at, Term::Nil).then_some(text)
    }
}

/// See [`Term::items`].
#[derive(Clone, Debug)]
pub struct Items<'a> {
    /// What is left.
    pub at: &'a Term,
}

impl<'a> Iterator for Items<'a> {
    type Item = &'a Term;

    fn next(&mut self) -> Option<&'a Term> {
        match self.at {
            Term::Cons(cell) => {
                self.at = &cell.tail;
                Some(&cell.head)
            }
            _ => None,
        }
    }
}

impl From<Atom> for Term {
    fn from(atom: Atom) -> Term {
        Term::Atom(atom)
    }
}

impl From<Pid> for Term {
    fn from(pid: Pid) -> Term {
        Term::Pid(pid)
    }
}

impl From<Ref> for Term {
    fn from(reference: Ref) -> Term {
        Term::Ref(reference)
    }
}

impl fmt::Display for Pid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<0.{}.0>", self.0)
    }
}
