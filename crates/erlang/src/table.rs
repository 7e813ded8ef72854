//! ETS tables: what they hold, and which operations can be swapped.
//!
//! An operation is a step of its own, performed by the engine's call of [`TableOp::perform`], which also says what was
//! touched: a key of a table, a whole table, or the existence of one. Two operations can be swapped if whatever both
//! touch is only read by both, or is written in the same way by both. A failed `insert_new` is a read. The order of the rows
//! of a table that is no `ordered_set` is not specified by Erlang; here they come in the order of their keys.
//!
//! **Stores.** An `insert` of one row into a set, and a `delete` of a key from any table, leave something there that does not
//! depend on what was there, and do not say what that was: with observers, two of them matter to each other only if
//! somebody looks at the key afterwards ([`Effect::store`]; `stores.rs` says for which keys). Everything that has to do with the key and is not such a write
//! looks at it: also an `insert` into a bag, which adds to what is there, or `info(Table, size)`. What becomes of a table
//! that is deleted, or whose owner ends, nobody sees: that is no look.

use crate::atom::Atom;
use crate::bif::Raised;
use crate::order::compare;
use crate::shared::{self, Shared};
use crate::term::{Pid, Ref, Term};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::rc::Rc;

/// What kind of table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TableKind {
    /// One row per key.
    Set,
    /// One row per key; keys are equal if `==` says so.
    OrderedSet,
    /// Different rows may have the same key.
    Bag,
    /// Any rows.
    DuplicateBag,
}

/// Who may do what besides the owner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protection {
    /// Everything.
    Public,
    /// Reading.
    Protected,
    /// Nothing.
    Private,
}

/// A key, in the order of its table.
#[derive(Clone, Debug)]
pub struct Key {
    /// The key itself.
    pub term: Term,
    by_value: bool,
}

impl Key {
    /// A key that is equal only to the same term.
    pub fn exact(term: Term) -> Key {
        Key { term, by_value: false }
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Key {}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Key) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Key) -> Ordering {
        if self.by_value { compare(&self.term, &other.term) } else { self.term.cmp(&other.term) }
    }
}

/// A table.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its name, which need not be registered.
    pub name: Atom,
    /// Whether it is known by its name.
    pub named: bool,
    /// Its identity.
    pub id: Ref,
    /// Who owns it.
    pub owner: Pid,
    /// Its kind.
    pub kind: TableKind,
    /// Which element is the key, from 1.
    pub key_position: usize,
    /// Who may do what.
    pub protection: Protection,
    /// The rows.
    pub rows: BTreeMap<Key, Vec<Term>>,
}

impl Table {
    /// A key of this table.
    pub fn key(&self, term: &Term) -> Key {
        Key { term: term.clone(), by_value: self.kind == TableKind::OrderedSet }
    }

    /// The key of a row; none if it has too few elements or is no tuple.
    pub fn key_of(&self, row: &Term) -> Option<Key> {
        row.as_tuple()?.get(self.key_position - 1).map(|term| self.key(term))
    }

    /// All rows.
    pub fn all(&self) -> impl DoubleEndedIterator<Item = &Term> {
        self.rows.values().flatten()
    }

    /// Adds a row as the table's kind has it.
    pub fn insert(&mut self, row: &Term) -> Option<()> {
        let key = self.key_of(row)?;
        let kind = self.kind;
        let rows = self.rows.entry(key).or_default();
        match kind {
            TableKind::Set | TableKind::OrderedSet => *rows = vec![row.clone()],
            TableKind::Bag if rows.contains(row) => {}
            TableKind::Bag | TableKind::DuplicateBag => rows.push(row.clone()),
        }
        Some(())
    }

    /// What a row that is written under a key leaves there, if that does not depend on what was there.
    fn stamp(&self, row: &Term) -> Option<Term> {
        match self.kind {
            TableKind::Set | TableKind::OrderedSet => Some(row.clone()),
            TableKind::Bag | TableKind::DuplicateBag => None,
        }
    }
}

/// All tables, and what else is shared. A copy is a counter.
#[derive(Clone, Default, Debug)]
pub struct Tables {
    /// What is shared besides tables.
    pub shared: Shared,
    all: Rc<BTreeMap<Ref, Rc<Table>>>,
    names: Rc<BTreeMap<u32, Ref>>,
}

fn number(name: Atom) -> u32 {
    u32::try_from(name.number()).expect("atoms have small numbers")
}

impl Tables {
    /// The table that a term names.
    pub fn find(&self, term: &Term) -> Option<&Rc<Table>> {
        let id = match term {
            Term::Ref(id) => *id,
            Term::Atom(name) => *self.names.get(&number(*name))?,
            _ => return None,
        };
        self.all.get(&id)
    }

    /// The table with this identity, to be changed.
    pub fn change(&mut self, id: Ref) -> Option<&mut Table> {
        Rc::make_mut(&mut self.all).get_mut(&id).map(Rc::make_mut)
    }

    /// Adds a table; `None` if its name is taken.
    pub fn add(&mut self, table: Table) -> Option<()> {
        if table.named {
            if self.names.contains_key(&number(table.name)) {
                return None;
            }
            Rc::make_mut(&mut self.names).insert(number(table.name), table.id);
        }
        Rc::make_mut(&mut self.all).insert(table.id, Rc::new(table));
        Some(())
    }

    /// Removes a table.
    pub fn remove(&mut self, id: Ref) {
        if let Some(table) = Rc::make_mut(&mut self.all).remove(&id)
            && table.named
        {
            Rc::make_mut(&mut self.names).remove(&number(table.name));
        }
    }

    /// Gives a table another name; `None` if that is taken.
    pub fn rename(&mut self, id: Ref, name: Atom) -> Option<()> {
        let table = self.all.get(&id)?.clone();
        if table.named {
            if self.names.contains_key(&number(name)) {
                return None;
            }
            let names = Rc::make_mut(&mut self.names);
            names.remove(&number(table.name));
            names.insert(number(name), id);
        }
        self.change(id)?.name = name;
        Some(())
    }

    /// Whether a process has tables.
    pub fn owns_any(&self, owner: Pid) -> bool {
        self.all.values().any(|table| table.owner == owner)
    }

    /// The tables of a process that has ended go with it.
    pub fn owner_ended(&mut self, owner: Pid) -> Effect {
        let owned: Vec<Rc<Table>> = self.all.values().filter(|table| table.owner == owner).cloned().collect();
        let mut effect = Effect::default();
        for table in owned {
            effect.exists(&table, Access::Write(None));
            self.remove(table.id);
        }
        effect
    }
}

/// What an operation does to what it touches.
#[derive(Clone, PartialEq, Debug)]
pub enum Access {
    /// Looks at it.
    Read,
    /// Changes it; with what is there afterwards, if that does not depend on what was there before.
    Write(Option<Term>),
}

/// Something that operations touch.
#[derive(Clone, PartialEq, Debug)]
pub enum Spot {
    /// Whether a name stands for a table, and for which.
    Name(Atom),
    /// Whether a table is there.
    Exists(Ref),
    /// The rows of a key (the key in its table's own form: `1` for `1.0` in an ordered set).
    Key(Ref, Key),
    /// All rows.
    Whole(Ref),
}

impl Spot {
    fn overlaps(&self, other: &Spot) -> bool {
        match (self, other) {
            (Spot::Name(a), Spot::Name(b)) => a == b,
            (Spot::Exists(a), Spot::Exists(b)) | (Spot::Whole(a), Spot::Whole(b)) => a == b,
            (Spot::Key(a, key_a), Spot::Key(b, key_b)) => a == b && key_a == key_b,
            (Spot::Key(a, _), Spot::Whole(b)) | (Spot::Whole(a), Spot::Key(b, _)) => a == b,
            _ => false,
        }
    }
}

/// What an operation has touched.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Effect {
    /// Each spot, and how.
    pub touches: Vec<(Spot, Access)>,
}

impl Effect {
    /// Adds a spot.
    pub fn touch(&mut self, spot: Spot, access: Access) {
        self.touches.push((spot, access));
    }

    /// The existence of a table, and what its name stands for.
    pub fn exists(&mut self, table: &Table, access: Access) {
        if table.named {
            self.touch(Spot::Name(table.name), access.clone());
        }
        self.touch(Spot::Exists(table.id), access);
    }

    /// A row is written.
    pub fn write_row(&mut self, table: &Table, key: Key, row: &Term) {
        self.touch(Spot::Key(table.id, key), Access::Write(table.stamp(row)));
    }

    /// The one spot that is written, and what is left there, if all else is only looked at and that does not depend on what
    /// was there before.
    pub fn store(&self) -> Option<(&Spot, &Term)> {
        let mut writes = self.touches.iter().filter(|(_, access)| *access != Access::Read);
        match (writes.next(), writes.next()) {
            (Some((spot @ Spot::Key(..), Access::Write(Some(left)))), None) => Some((spot, left)),
            _ => None,
        }
    }

    /// How this operation has to do with a spot: whether it only overwrites it; none if not at all.
    pub fn overwrites(&self, spot: &Spot) -> Option<bool> {
        let touches = self.touches.iter().filter(|(own, _)| own.overlaps(spot));
        let blind = touches.map(|(own, access)| own == spot && matches!(access, Access::Write(Some(_))));
        blind.reduce(|a, b| a && b)
    }

    /// Whether this operation and one next to it can be swapped.
    pub fn commutes_with(&self, other: &Effect) -> bool {
        let conflict = |(spot, access): &(Spot, Access), (other_spot, other_access): &(Spot, Access)| {
            let harmless = match (access, other_access) {
                (Access::Read, Access::Read) => true,
                (Access::Write(Some(a)), Access::Write(Some(b))) => a == b,
                _ => false,
            };
            !harmless && spot.overlaps(other_spot)
        };
        !self.touches.iter().any(|touch| other.touches.iter().any(|other| conflict(touch, other)))
    }
}

/// An operation on what is shared: the function of `ets` or of another module, its arguments, and what came of it.
#[derive(Clone, Debug)]
pub struct TableOp {
    /// The function's module.
    pub module: Atom,
    /// The function's name.
    pub function: Atom,
    /// Its arguments.
    pub args: Vec<Term>,
    /// The identity of a table or array that it may create.
    pub fresh: Option<Ref>,
    /// Its result.
    pub outcome: Option<Result<Term, Raised>>,
}

impl TableOp {
    /// Does it.
    pub fn perform(&mut self, tables: &mut Tables, pid: Pid) -> Effect {
        let mut effect = Effect::default();
        let result = match self.module.name() {
            "ets" => crate::ets::perform(self, tables, pid, &mut effect),
            _ => shared::perform(self, tables, &mut effect),
        };
        self.outcome = Some(result.map_err(|raised| *raised));
        effect
    }

    /// What came of it.
    pub fn result(&self) -> Result<Term, Raised> {
        self.outcome.clone().expect("it has been performed")
    }
}
