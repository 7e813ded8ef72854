//! Atoms: interned names.
//!
//! An atom is a number; atoms that the interpreter itself knows have fixed numbers and are constants here.

use std::collections::HashMap;
use std::fmt;
use std::sync::{LazyLock, RwLock};

/// An interned name.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Atom(u32);

struct Table {
    names: Vec<&'static str>,
    numbers: HashMap<&'static str, u32>,
}

static TABLE: LazyLock<RwLock<Table>> = LazyLock::new(|| {
    let mut table = Table { names: Vec::new(), numbers: HashMap::new() };
    for name in KNOWN {
        table.add(name);
    }
    RwLock::new(table)
});

impl Table {
    fn add(&mut self, name: &'static str) -> u32 {
        let number = u32::try_from(self.names.len()).expect("fewer atoms than numbers");
        self.names.push(name);
        self.numbers.insert(name, number);
        number
    }
}

impl Atom {
    /// The atom of this name.
    pub fn new(name: &str) -> Atom {
        if let Some(&number) = TABLE.read().expect("no one panics with the table").numbers.get(name) {
            return Atom(number);
        }
        let mut table = TABLE.write().expect("no one panics with the table");
        if let Some(&number) = table.numbers.get(name) {
            return Atom(number);
        }
        // Atoms are never given back, as in the virtual machine.
        Atom(table.add(Box::leak(name.to_owned().into_boxed_str())))
    }

    /// The atom of this name, if there is one already.
    pub fn existing(name: &str) -> Option<Atom> {
        TABLE.read().expect("no one panics with the table").numbers.get(name).map(|&number| Atom(number))
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        TABLE.read().expect("no one panics with the table").names[self.0 as usize]
    }

    /// Its number.
    pub fn number(self) -> usize {
        self.0 as usize
    }

    /// The atom with a number that [`Atom::number`] gave.
    pub fn from_number(number: usize) -> Atom {
        Atom(u32::try_from(number).expect("the number of an atom"))
    }

    /// `true` or `false`.
    pub fn from_bool(value: bool) -> Atom {
        if value { Atom::TRUE } else { Atom::FALSE }
    }
}

impl fmt::Debug for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}'", self.name())
    }
}

impl fmt::Display for Atom {
    /// As Erlang writes it: quoted where it must be.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name();
        if is_plain(name) {
            return f.write_str(name);
        }
        f.write_str("'")?;
        for c in name.chars() {
            match c {
                '\'' => f.write_str("\\'")?,
                '\\' => f.write_str("\\\\")?,
                '\n' => f.write_str("\\n")?,
                '\t' => f.write_str("\\t")?,
                '\r' => f.write_str("\\r")?,
                '\x08' => f.write_str("\\b")?,
                '\x0b' => f.write_str("\\v")?,
                '\x0c' => f.write_str("\\f")?,
                '\x1b' => f.write_str("\\e")?,
                '\x7f' => f.write_str("\\d")?,
                c if (c as u32) < 32 || (0x80..0xa0).contains(&(c as u32)) => write!(f, "\\{:03o}", c as u32)?,
                c => write!(f, "{c}")?,
            }
        }
        f.write_str("'")
    }
}

/// Words that are no atoms without quotes.
pub const RESERVED: &[&str] = &[
    "after", "and", "andalso", "band", "begin", "bnot", "bor", "bsl", "bsr", "bxor", "case", "catch", "cond", "div",
    "end", "fun", "if", "let", "not", "of", "or", "orelse", "receive", "rem", "try", "when", "xor",
];

fn is_plain(name: &str) -> bool {
    let mut chars = name.chars();
    let lower = |c: char| c.is_ascii_lowercase() || (('\u{df}'..='\u{ff}').contains(&c) && c != '\u{f7}');
    let first = chars.next().is_some_and(lower);
    let letter = |c: char| {
        c.is_ascii_alphanumeric()
            || c == '_'
            || c == '@'
            || lower(c)
            || ('\u{c0}'..='\u{de}').contains(&c) && c != '\u{d7}'
    };
    first && chars.all(letter) && !RESERVED.contains(&name)
}

macro_rules! known {
    ($($constant:ident $name:literal)*) => {
        const KNOWN: &[&str] = &[$($name),*];
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        enum Number { $($constant),* }
        impl Atom {
            $(
                #[doc = concat!("`", $name, "`")]
                pub const $constant: Atom = Atom(Number::$constant as u32);
            )*
        }
    };
}

known! {
    TRUE "true" FALSE "false" OK "ok" ERROR "error" EXIT "exit" THROW "throw" UNDEFINED "undefined" NORMAL "normal"
    ERLANG "erlang" BADARG "badarg" BADARITH "badarith" BADMATCH "badmatch" CASE_CLAUSE "case_clause" UNDEF "undef"
    FUNCTION_CLAUSE "function_clause" IF_CLAUSE "if_clause" TRY_CLAUSE "try_clause" BADFUN "badfun" BADARITY "badarity"
    BADMAP "badmap" BADKEY "badkey" NOCATCH "nocatch" SYSTEM_LIMIT "system_limit" TIMEOUT_VALUE "timeout_value"
    EXIT_SIGNAL "EXIT" DOWN "DOWN" INFINITY "infinity" KILL "kill" KILLED "killed" NOPROC "noproc" NOCONNECTION "noconnection"
    FILE "file" LINE "line" PROCESS "process" TIMEOUT "timeout" NONE "none" ALL "all" UNIT "unit" INTEGER "integer"
    FLOAT "float" BINARY "binary" BITSTRING "bitstring" UTF8 "utf8" UTF16 "utf16" UTF32 "utf32" SIGNED "signed"
    UNSIGNED "unsigned" LITTLE "little" BIG "big" NATIVE "native" ASSOC "assoc" EXACT "exact" FUNCTION "function"
    ID "id" LETREC_GOTO "letrec_goto" RAW_TRACE "$trace" EMPTY "" NONODE "nonode@nohost" BAD_GENERATOR "bad_generator"
    ATOM "atom" LIST "list" TUPLE "tuple" MAP "map" TRAP_EXIT "trap_exit" LINK "link" MONITOR "monitor" ALIAS "alias"
    LISTS "lists" MAPS "maps" ETS "ets" ITERATOR "iterator" FLUSH "flush" INFO "info" END_OF_TABLE "$end_of_table"
    STAR "*" PLUS "+" MINUS "-" MODULE_INFO "module_info" ERROR_INFO "error_info" MODULE "module" BADRECORD "badrecord"
    BADFILE "badfile" TOO_LARGE "$too_large"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_atom_has_one_number() {
        assert_eq!(Atom::new("ok"), Atom::OK);
        assert_eq!(Atom::new("badfile"), Atom::BADFILE);
        assert_eq!(Atom::new("some new atom"), Atom::new("some new atom"));
        assert_eq!(Atom::existing("never made before"), None);
    }

    #[test]
    fn atoms_are_quoted_where_erlang_quotes_them() {
        let shown = |name: &str| Atom::new(name).to_string();
        assert_eq!(shown("a_B1@"), "a_B1@");
        assert_eq!(shown("A"), "'A'");
        assert_eq!(shown(""), "''");
        assert_eq!(shown("receive"), "'receive'");
        assert_eq!(shown("it's"), "'it\\'s'");
    }
}
