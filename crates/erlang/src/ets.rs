//! The functions of `ets`, on tables.

use crate::atom::Atom;
use crate::bif::{Raised, badarg, pure};
use crate::match_spec::{self, Spec};
use crate::table::{Access, Effect, Protection, Spot, Table, TableKind, TableOp, Tables};
use crate::term::{Pid, Ref, Term};
use std::collections::BTreeMap;
use std::rc::Rc;

type Result<T> = std::result::Result<T, Box<Raised>>;

/// Whether a call can be performed at all; if not, what is not supported.
pub fn unsupported(function: &str, args: &[Term]) -> Option<String> {
    if function != "new" {
        return None;
    }
    let heir = |option: &Term| matches!(option.as_tuple(), Some([Term::Atom(key), ..]) if key.name() == "heir");
    let inherits = |option: &&Term| {
        heir(option) && option.as_tuple().and_then(|pair| pair.get(1)) != Some(&Term::Atom(Atom::NONE))
    };
    args.get(1)?.items().find(inherits).map(|option| format!("ets:new/2 with {option}"))
}

/// Does what an operation says.
pub fn perform(op: &TableOp, tables: &mut Tables, pid: Pid, effect: &mut Effect) -> Result<Term> {
    let args = &op.args;
    match (op.function.name(), args.as_slice()) {
        ("new", [name, options]) => new(tables, pid, op.fresh, name, options, effect),
        ("whereis", [name]) => {
            let Term::Atom(atom) = name else { return badarg() };
            effect.touch(Spot::Name(*atom), Access::Read);
            Ok(tables.find(name).map_or(Term::Atom(Atom::UNDEFINED), |table| table.id.into()))
        }
        ("info", [table, ..]) if tables.find(table).is_none() => {
            missing(table, effect);
            Ok(Term::Atom(Atom::UNDEFINED))
        }
        (function, [table, ..]) => {
            let Some(found) = tables.find(table).cloned() else {
                missing(table, effect);
                return badarg();
            };
            effect.exists(&found, Access::Read);
            let allowed = match found.protection {
                Protection::Public => true,
                Protection::Protected => !writes(function, args.len()),
                Protection::Private => function == "info",
            };
            if !allowed && found.owner != pid {
                return badarg();
            }
            on_table(function, args, &found, tables, effect)
        }
        _ => badarg(),
    }
}

/// A table that is not there: it may come.
fn missing(table: &Term, effect: &mut Effect) {
    match table {
        Term::Atom(name) => effect.touch(Spot::Name(*name), Access::Read),
        Term::Ref(id) => effect.touch(Spot::Exists(*id), Access::Read),
        _ => {}
    }
}

fn writes(function: &str, arity: usize) -> bool {
    match function {
        "delete" => arity > 0,
        "insert" | "insert_new" | "delete_object" | "delete_all_objects" | "update_counter" | "update_element"
        | "take" | "rename" | "match_delete" | "select_delete" => true,
        _ => false,
    }
}

fn new(
    tables: &mut Tables,
    pid: Pid,
    fresh: Option<Ref>,
    name: &Term,
    options: &Term,
    effect: &mut Effect,
) -> Result<Term> {
    let (Term::Atom(name), Some(options), Some(id)) = (name, options.to_vec(), fresh) else { return badarg() };
    let mut table = Table {
        name: *name,
        named: false,
        id,
        owner: pid,
        kind: TableKind::Set,
        key_position: 1,
        protection: Protection::Protected,
        rows: BTreeMap::new(),
    };
    for option in options {
        match (&option, option.as_tuple()) {
            (Term::Atom(option), _) => match option.name() {
                "set" => table.kind = TableKind::Set,
                "ordered_set" => table.kind = TableKind::OrderedSet,
                "bag" => table.kind = TableKind::Bag,
                "duplicate_bag" => table.kind = TableKind::DuplicateBag,
                "public" => table.protection = Protection::Public,
                "protected" => table.protection = Protection::Protected,
                "private" => table.protection = Protection::Private,
                "named_table" => table.named = true,
                "compressed" => {}
                _ => return badarg(),
            },
            (_, Some([Term::Atom(key), value])) => match (key.name(), value) {
                ("keypos", Term::Int(position)) if *position > 0 => {
                    table.key_position = usize::try_from(*position).unwrap_or(usize::MAX);
                }
                ("heir", Term::Atom(Atom::NONE)) => {}
                ("read_concurrency" | "write_concurrency" | "decentralized_counters", _) => {}
                _ => return badarg(),
            },
            _ => return badarg(),
        }
    }
    let result = if table.named { Term::Atom(*name) } else { id.into() };
    effect.exists(&table, Access::Write(None));
    match tables.add(table) {
        Some(()) => Ok(result),
        None => {
            // The name is taken: that was only a look.
            *effect = Effect::default();
            effect.touch(Spot::Name(*name), Access::Read);
            badarg()
        }
    }
}

fn change<'a>(tables: &'a mut Tables, table: &Table) -> &'a mut Table {
    tables.change(table.id).expect("it was found just now")
}

fn rows_of(table: &Table, key: &Term) -> Vec<Term> {
    table.rows.get(&table.key(key)).cloned().unwrap_or_default()
}

fn read_key(table: &Table, key: &Term, effect: &mut Effect) -> Vec<Term> {
    effect.touch(Spot::Key(table.id, table.key(key)), Access::Read);
    rows_of(table, key)
}

fn on_table(
    function: &str,
    args: &[Term],
    table: &Rc<Table>,
    tables: &mut Tables,
    effect: &mut Effect,
) -> Result<Term> {
    match (function, &args[1..]) {
        ("insert", [rows]) => {
            let mut rows = row_list(table, rows)?;
            if table.kind == TableKind::Bag {
                // So does the run-time system.
                rows.reverse();
            }
            insert(table, tables, &rows, effect);
            Ok(Term::bool(true))
        }
        ("insert_new", [rows]) => {
            let rows = row_list(table, rows)?;
            let keys: Vec<_> = rows.iter().filter_map(|row| table.key_of(row)).collect();
            if keys.iter().any(|key| table.rows.contains_key(key)) {
                for key in keys {
                    effect.touch(Spot::Key(table.id, key), Access::Read);
                }
                return Ok(Term::bool(false));
            }
            for key in keys {
                effect.touch(Spot::Key(table.id, key), Access::Write(None));
            }
            for row in &rows {
                let _ = change(tables, table).insert(row);
            }
            Ok(Term::bool(true))
        }
        ("lookup", [key]) => Ok(Term::list(read_key(table, key, effect))),
        ("member", [key]) => Ok(Term::bool(!read_key(table, key, effect).is_empty())),
        ("lookup_element", [key, position]) => lookup_element(table, key, position, effect),
        ("take", [key]) => {
            let rows = take_key(table, tables, key, effect);
            Ok(Term::list(rows))
        }
        ("delete", []) => {
            effect.exists(table, Access::Write(None));
            tables.remove(table.id);
            Ok(Term::bool(true))
        }
        ("delete", [key]) => {
            let key = table.key(key);
            change(tables, table).rows.remove(&key);
            effect.touch(Spot::Key(table.id, key), Access::Write(Some(Term::Nil)));
            Ok(Term::bool(true))
        }
        ("delete_object", [row]) => {
            let Some(key) = table.key_of(row) else { return badarg() };
            remove_rows(table, tables, std::slice::from_ref(row), effect);
            if !table.rows.contains_key(&key) {
                effect.touch(Spot::Key(table.id, key), Access::Read);
            }
            Ok(Term::bool(true))
        }
        ("delete_all_objects", []) => {
            effect.touch(Spot::Whole(table.id), Access::Write(None));
            change(tables, table).rows.clear();
            Ok(Term::bool(true))
        }
        ("update_counter", [key, ops]) => update_counter(table, tables, key, ops, None, effect),
        ("update_counter", [key, ops, default]) => update_counter(table, tables, key, ops, Some(default), effect),
        ("update_element", [key, changes]) => update_element(table, tables, key, changes, effect),
        ("rename", [Term::Atom(name)]) => {
            effect.exists(table, Access::Write(None));
            effect.touch(Spot::Name(*name), Access::Write(None));
            match tables.rename(table.id, *name) {
                Some(()) => Ok(Term::Atom(*name)),
                None => badarg(),
            }
        }
        ("tab2list", []) => {
            effect.touch(Spot::Whole(table.id), Access::Read);
            Ok(Term::list(table.all().cloned().collect::<Vec<_>>()))
        }
        ("first" | "last" | "next" | "prev", rest) => walk(function, rest, table, effect),
        ("info", []) => {
            effect.touch(Spot::Whole(table.id), Access::Read);
            let items = ["name", "owner", "size", "type", "keypos", "protection", "named_table", "node", "id"];
            let pair = |item: &str| Some(Term::tuple([Term::atom(item), info(table, item)?]));
            Ok(Term::list(items.iter().filter_map(|item| pair(item)).collect::<Vec<_>>()))
        }
        ("info", [Term::Atom(item)]) => {
            if item.name() == "size" || item.name() == "memory" {
                effect.touch(Spot::Whole(table.id), Access::Read);
            }
            info(table, item.name()).map_or_else(badarg, Ok)
        }
        (
            "match" | "match_object" | "match_delete" | "select" | "select_count" | "select_delete" | "select_reverse",
            [spec],
        ) => search(function, table, tables, spec, effect),
        _ => badarg(),
    }
}

/// One row or a list of rows, each with a key.
fn row_list(table: &Table, rows: &Term) -> Result<Vec<Term>> {
    let rows = match rows {
        Term::Tuple(_) => vec![rows.clone()],
        other => match other.to_vec() {
            Some(rows) => rows,
            None => return badarg(),
        },
    };
    if rows.iter().all(|row| table.key_of(row).is_some()) { Ok(rows) } else { badarg() }
}

fn insert(table: &Table, tables: &mut Tables, rows: &[Term], effect: &mut Effect) {
    for row in rows {
        let key = table.key_of(row).expect("checked before");
        effect.write_row(table, key, row);
        let _ = change(tables, table).insert(row);
    }
}

/// Deletes the rows of a key and gives them; a look, if there are none.
fn take_key(table: &Table, tables: &mut Tables, key: &Term, effect: &mut Effect) -> Vec<Term> {
    let key = table.key(key);
    let there = table.rows.contains_key(&key);
    let access = if there { Access::Write(None) } else { Access::Read };
    effect.touch(Spot::Key(table.id, key.clone()), access);
    if there { change(tables, table).rows.remove(&key).unwrap_or_default() } else { Vec::new() }
}

fn remove_rows(table: &Table, tables: &mut Tables, rows: &[Term], effect: &mut Effect) {
    for row in rows {
        let Some(key) = table.key_of(row) else { continue };
        let own = change(tables, table);
        let Some(there) = own.rows.get_mut(&key) else { continue };
        there.retain(|other| other != row);
        if there.is_empty() {
            own.rows.remove(&key);
        }
        effect.touch(Spot::Key(table.id, key), Access::Write(None));
    }
}

fn lookup_element(table: &Table, key: &Term, position: &Term, effect: &mut Effect) -> Result<Term> {
    let rows = read_key(table, key, effect);
    let Some(index) = position.as_count().and_then(|position| position.checked_sub(1)) else { return badarg() };
    let elements: Option<Vec<Term>> = rows.iter().map(|row| row.as_tuple()?.get(index).cloned()).collect();
    match elements {
        Some(elements) if !elements.is_empty() => Ok(match table.kind {
            TableKind::Set | TableKind::OrderedSet => elements[0].clone(),
            TableKind::Bag | TableKind::DuplicateBag => Term::list(elements),
        }),
        _ => badarg(),
    }
}

/// `Increment`, `{Position, Increment}`, `{Position, Increment, Threshold, Value}`, or a list of those.
fn update_counter(
    table: &Table,
    tables: &mut Tables,
    key: &Term,
    ops: &Term,
    default: Option<&Term>,
    effect: &mut Effect,
) -> Result<Term> {
    if !matches!(table.kind, TableKind::Set | TableKind::OrderedSet) {
        return badarg();
    }
    effect.touch(Spot::Key(table.id, table.key(key)), Access::Write(None));
    let mut row = match (rows_of(table, key).first(), default) {
        (Some(Term::Tuple(row)), _) => row.to_vec(),
        (None, Some(Term::Tuple(row))) if row.len() >= table.key_position => {
            let mut row = row.to_vec();
            row[table.key_position - 1] = key.clone();
            row
        }
        _ => return badarg(),
    };
    let (many, list) = match ops {
        Term::Nil | Term::Cons(_) => (true, ops.to_vec()),
        one => (false, Some(vec![one.clone()])),
    };
    let Some(list) = list else { return badarg() };
    let mut results = Vec::new();
    for op in list {
        let (position, by, wrap) = match (&op, op.as_tuple()) {
            (Term::Int(_) | Term::Big(_), _) => (table.key_position + 1, op.clone(), None),
            (_, Some([position, by])) => (position.as_count().unwrap_or(0), by.clone(), None),
            (_, Some([position, by, threshold, value])) => {
                (position.as_count().unwrap_or(0), by.clone(), Some((threshold.clone(), value.clone())))
            }
            _ => return badarg(),
        };
        let integer = |term: &Term| matches!(term, Term::Int(_) | Term::Big(_));
        if position == 0
            || position > row.len()
            || position == table.key_position
            || !integer(&row[position - 1])
            || !integer(&by)
        {
            return badarg();
        }
        let plus = pure(Atom::ERLANG, Atom::PLUS, 2).expect("addition is native");
        let mut sum = plus(&[row[position - 1].clone(), by.clone()])?;
        if let Some((threshold, value)) = wrap {
            let over = if by < Term::Int(0) { sum < threshold } else { sum > threshold };
            sum = if over { value } else { sum };
        }
        row[position - 1] = sum.clone();
        results.push(sum);
    }
    let _ = change(tables, table).insert(&Term::tuple_of(row));
    Ok(if many { Term::list(results) } else { results.remove(0) })
}

fn update_element(table: &Table, tables: &mut Tables, key: &Term, changes: &Term, effect: &mut Effect) -> Result<Term> {
    let changes = match changes {
        Term::Tuple(_) => vec![changes.clone()],
        other => match other.to_vec() {
            Some(changes) => changes,
            None => return badarg(),
        },
    };
    let found = rows_of(table, key).first().cloned();
    let access = if found.is_some() { Access::Write(None) } else { Access::Read };
    effect.touch(Spot::Key(table.id, table.key(key)), access);
    let Some(Term::Tuple(row)) = found else { return Ok(Term::bool(false)) };
    let mut row = row.to_vec();
    for change in changes {
        let Some([position, value]) = change.as_tuple() else { return badarg() };
        match position.as_count() {
            Some(position) if position > 0 && position <= row.len() && position != table.key_position => {
                row[position - 1] = value.clone();
            }
            _ => return badarg(),
        }
    }
    let _ = change(tables, table).insert(&Term::tuple_of(row));
    Ok(Term::bool(true))
}

fn walk(function: &str, rest: &[Term], table: &Table, effect: &mut Effect) -> Result<Term> {
    effect.touch(Spot::Whole(table.id), Access::Read);
    let found = match (function, rest) {
        ("first", []) => table.rows.keys().next(),
        ("last", []) => table.rows.keys().next_back(),
        ("next" | "prev", [key]) => {
            let key = table.key(key);
            if table.kind != TableKind::OrderedSet && !table.rows.contains_key(&key) {
                return badarg();
            }
            use std::ops::Bound::{Excluded, Unbounded};
            match function {
                "next" => table.rows.range((Excluded(key), Unbounded)).next().map(|(key, _)| key),
                _ => table.rows.range((Unbounded, Excluded(key))).next_back().map(|(key, _)| key),
            }
        }
        _ => return badarg(),
    };
    Ok(found.map_or(Term::Atom(Atom::END_OF_TABLE), |key| key.term.clone()))
}

fn info(table: &Table, item: &str) -> Option<Term> {
    Some(match item {
        "name" => Term::Atom(table.name),
        "owner" => table.owner.into(),
        "size" => Term::count(table.all().count()),
        "type" => Term::atom(match table.kind {
            TableKind::Set => "set",
            TableKind::OrderedSet => "ordered_set",
            TableKind::Bag => "bag",
            TableKind::DuplicateBag => "duplicate_bag",
        }),
        "keypos" => Term::count(table.key_position),
        "protection" => Term::atom(match table.protection {
            Protection::Public => "public",
            Protection::Protected => "protected",
            Protection::Private => "private",
        }),
        "named_table" => Term::bool(table.named),
        "node" => Term::Atom(Atom::NONODE),
        "id" => table.id.into(),
        _ => return None,
    })
}

/// Patterns and match specifications. If they fix the key, only its rows are looked at.
fn search(function: &str, table: &Table, tables: &mut Tables, spec: &Term, effect: &mut Effect) -> Result<Term> {
    let spec = match function {
        "match" => Spec::of_pattern(spec, Term::list([Term::atom("$$")])),
        "match_object" => Spec::of_pattern(spec, Term::list([Term::atom("$_")])),
        "match_delete" => Spec::of_pattern(spec, Term::list([Term::Atom(Atom::TRUE)])),
        _ => Spec::parse(spec),
    };
    let Some(spec) = spec else { return badarg() };
    let rows: Vec<Term> = match spec.fixed_key(table.key_position - 1) {
        Some(key) => read_key(table, &key, effect),
        None => {
            effect.touch(Spot::Whole(table.id), Access::Read);
            table.all().cloned().collect()
        }
    };
    let results: Vec<(Term, Term)> =
        rows.iter().filter_map(|row| match_spec::run(&spec, row).map(|result| (row.clone(), result))).collect();
    let is_true = |result: &Term| result.is(Atom::TRUE);
    Ok(match function {
        "select_count" => Term::count(results.iter().filter(|(_, result)| is_true(result)).count()),
        "select_delete" | "match_delete" => {
            let gone: Vec<Term> =
                results.into_iter().filter(|(_, result)| is_true(result)).map(|(row, _)| row).collect();
            remove_rows(table, tables, &gone, effect);
            if function == "match_delete" { Term::bool(true) } else { Term::count(gone.len()) }
        }
        "select_reverse" => Term::list(results.into_iter().rev().map(|(_, result)| result).collect::<Vec<_>>()),
        _ => Term::list(results.into_iter().map(|(_, result)| result).collect::<Vec<_>>()),
    })
}
