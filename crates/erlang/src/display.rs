//! Terms as text.
//!
//! `{}` shows a term as `~p` does, on one line; `{:#}` as `~w` does (strings are lists of numbers).

use crate::term::{Fun, Term};
use std::fmt::{self, Write};

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pretty = !f.alternate();
        write(self, f, pretty)
    }
}

fn write(term: &Term, f: &mut fmt::Formatter<'_>, pretty: bool) -> fmt::Result {
    match term {
        Term::Int(value) => write!(f, "{value}"),
        Term::Big(value) => write!(f, "{value}"),
        Term::Float(value) => f.write_str(&shortest_float(*value)),
        Term::Atom(atom) => write!(f, "{atom}"),
        Term::Nil => f.write_str("[]"),
        Term::Cons(_) => write_list(term, f, pretty),
        Term::Tuple(items) => {
            f.write_char('{')?;
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    f.write_char(',')?;
                }
                write(item, f, pretty)?;
            }
            f.write_char('}')
        }
        Term::Map(map) => {
            f.write_str("#{")?;
            for (index, (key, value)) in map.iter().enumerate() {
                if index > 0 {
                    f.write_char(',')?;
                }
                write(key, f, pretty)?;
                f.write_str(" => ")?;
                write(value, f, pretty)?;
            }
            f.write_char('}')
        }
        Term::Bits(bits) => {
            let bytes = bits.to_bytes();
            if pretty && bits.is_binary() && !bytes.is_empty() && bytes.iter().all(|&byte| printable(char::from(byte)))
            {
                let text: String = bytes.iter().map(|&byte| char::from(byte)).collect();
                return write!(f, "<<{}>>", quoted(&text));
            }
            f.write_str("<<")?;
            for (index, byte) in bytes.iter().enumerate() {
                if index > 0 {
                    f.write_char(',')?;
                }
                let left = bits.len() - index * 8;
                if left >= 8 { write!(f, "{byte}")? } else { write!(f, "{}:{left}", byte >> (8 - left))? }
            }
            f.write_str(">>")
        }
        Term::Fun(fun) => match &**fun {
            Fun::External { module, name, arity } => write!(f, "fun {module}:{name}/{arity}"),
            Fun::Local { module, code, .. } => write!(f, "#Fun<{module}.{}>", code.0),
        },
        Term::Pid(pid) => write!(f, "{pid}"),
        Term::Ref(reference) => write!(f, "#Ref<0.{}.{}>", reference.maker.0, reference.number),
    }
}

fn write_list(term: &Term, f: &mut fmt::Formatter<'_>, pretty: bool) -> fmt::Result {
    if pretty
        && let Some(text) = term.to_text()
        && text.chars().all(printable)
    {
        return f.write_str(&quoted(&text));
    }
    f.write_char('[')?;
    let mut items = term.items();
    for (index, item) in items.by_ref().enumerate() {
        if index > 0 {
            f.write_char(',')?;
        }
        write(item, f, pretty)?;
    }
    if !matches!(items.at, Term::Nil) {
        f.write_char('|')?;
        write(items.at, f, pretty)?;
    }
    f.write_char(']')
}

/// Characters that `~p` takes for text (Latin-1).
pub fn printable(c: char) -> bool {
    matches!(c, ' '..='~' | '\u{a0}'..='\u{ff}' | '\n' | '\r' | '\t' | '\x0b' | '\x08' | '\x0c' | '\x1b')
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\x0b' => out.push_str("\\v"),
            '\x08' => out.push_str("\\b"),
            '\x0c' => out.push_str("\\f"),
            '\x1b' => out.push_str("\\e"),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// The shortest decimal number that is read back as the same float; without exponent if that is not longer, and if
/// every integer near it is a float.
pub fn shortest_float(value: f64) -> String {
    let shown = format!("{value:e}");
    let (mantissa, exponent) = shown.split_once('e').expect("the form of an exponent");
    let point = if mantissa.contains('.') { "" } else { ".0" };
    let scientific = format!("{mantissa}{point}e{exponent}");
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.abs() >= EXACT {
        return scientific;
    }
    let plain = format!("{value}");
    let plain = if plain.contains('.') { plain } else { format!("{plain}.0") };
    // 0 has no exponent worth showing.
    if plain.len() <= scientific.len() { plain } else { scientific }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_shown_as_the_run_time_system_shows_them() {
        let cases = [
            (1000.0, "1.0e3"),
            (100.0, "100.0"),
            (0.0001, "0.0001"),
            (1.5e-5, "1.5e-5"),
            (123_456.0, "123456.0"),
            (1.0e20, "1.0e20"),
            (9_007_199_254_740_991.0, "9007199254740991.0"),
            (9_007_199_254_740_992.0, "9.007199254740992e15"),
            (-0.0, "-0.0"),
            (5.0e-324, "5.0e-324"),
            (120_000.0, "1.2e5"),
            (1_234_500_000.0, "1.2345e9"),
            (0.00123, "0.00123"),
        ];
        for (value, shown) in cases {
            assert_eq!(shortest_float(value), shown);
        }
    }

    #[test]
    fn strings_are_shown_as_text_or_as_lists() {
        let term = Term::tuple([Term::string("a\n"), Term::binary(b"b"), Term::list([Term::Int(1)])]);
        assert_eq!(format!("{term}"), "{\"a\\n\",<<\"b\">>,[1]}");
        assert_eq!(format!("{term:#}"), "{[97,10],<<98>>,[1]}");
    }
}
