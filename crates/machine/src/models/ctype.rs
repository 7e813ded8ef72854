//! Classes of characters, in the "C" locale.
//!
//! The macros of the GNU C library look into tables with an entry for every number from -128 to 255; the address of
//! entry 0 is found through `__ctype_b_loc` and its kin. Each thread has its own tables, made when it asks for them.

use super::call::{Answer, Call, int, models};
use super::facts::CTYPE;
use crate::Addr;
use crate::memory::ObjectKind;

models! {
    "isalpha" / 1 => |c| is(c, ALPHA),
    "isdigit" / 1 => |c| is(c, DIGIT),
    "isalnum" / 1 => |c| is(c, ALNUM),
    "isspace" / 1 => |c| is(c, SPACE),
    "isupper" / 1 => |c| is(c, UPPER),
    "islower" / 1 => |c| is(c, LOWER),
    "isxdigit" / 1 => |c| is(c, XDIGIT),
    "ispunct" / 1 => |c| is(c, PUNCT),
    "isprint" / 1 => |c| is(c, PRINT),
    "isgraph" / 1 => |c| is(c, GRAPH),
    "iscntrl" / 1 => |c| is(c, CNTRL),
    "isblank" / 1 => |c| is(c, BLANK),
    "isascii" / 1 => |c| Ok(u64::from((0..128).contains(&c.int(0)))),
    "toascii" / 1 => |c| Ok(c.arg(0) & 0x7f),
    "tolower" / 1 => |c| Ok(int(lower(c.int(0)))),
    "toupper" / 1 => |c| Ok(int(upper(c.int(0)))),
    "__ctype_b_loc" / 0 => |c| table(c, 0),
    "__ctype_tolower_loc" / 0 => |c| table(c, 1),
    "__ctype_toupper_loc" / 0 => |c| table(c, 2),
}

/// The bits of the GNU C library's table on machines with the low byte first.
const UPPER: u16 = 0x100;
const LOWER: u16 = 0x200;
const ALPHA: u16 = 0x400;
const DIGIT: u16 = 0x800;
const XDIGIT: u16 = 0x1000;
const SPACE: u16 = 0x2000;
const PRINT: u16 = 0x4000;
const GRAPH: u16 = 0x8000;
const BLANK: u16 = 0x1;
const CNTRL: u16 = 0x2;
const PUNCT: u16 = 0x4;
const ALNUM: u16 = 0x8;

fn classes(character: i32) -> u16 {
    let Some(byte) = u8::try_from(character).ok().filter(u8::is_ascii) else { return 0 };
    [
        (byte.is_ascii_uppercase(), UPPER),
        (byte.is_ascii_lowercase(), LOWER),
        (byte.is_ascii_alphabetic(), ALPHA),
        (byte.is_ascii_digit(), DIGIT),
        (byte.is_ascii_hexdigit(), XDIGIT),
        (matches!(byte, b' ' | 9..=13), SPACE),
        (matches!(byte, b' '..=b'~'), PRINT),
        (byte.is_ascii_graphic(), GRAPH),
        (matches!(byte, b' ' | b'\t'), BLANK),
        (byte.is_ascii_control(), CNTRL),
        (byte.is_ascii_punctuation(), PUNCT),
        (byte.is_ascii_alphanumeric(), ALNUM),
    ]
    .into_iter()
    .fold(0, |bits, (is, bit)| if is { bits | bit } else { bits })
}

fn is(call: &mut Call<'_>, class: u16) -> Answer {
    Ok(u64::from(classes(call.int(0)) & class))
}

fn lower(character: i32) -> i32 {
    if (65..=90).contains(&character) { character + 32 } else { character }
}

fn upper(character: i32) -> i32 {
    if (97..=122).contains(&character) { character - 32 } else { character }
}

/// The address of a pointer to entry 0 of a table.
fn table(call: &mut Call<'_>, which: u64) -> Answer {
    call.effect(|host| {
        let known = host.fact((CTYPE, which));
        if known != 0 {
            return Ok(known);
        }
        let (bytes, width) = contents(which);
        let table = host.library_object("character table", ObjectKind::Constant, bytes.len() as u64)?;
        host.memory().initialise(table, &bytes);
        let pointer = host.library_object("pointer to a character table", ObjectKind::ThreadLocal, 8)?;
        host.store_private(pointer, 8, table.plus(128 * width).0)?;
        host.set_fact((CTYPE, which), pointer.0);
        Ok(pointer.0)
    })
    .map(|pointer| Addr(pointer).0)
}

/// The bytes of a table and the size of an entry.
fn contents(which: u64) -> (Vec<u8>, u64) {
    let characters = -128..256;
    match which {
        0 => (characters.flat_map(|c| classes(c).to_le_bytes()).collect(), 2),
        1 => (characters.flat_map(|c| lower(c).to_le_bytes()).collect(), 4),
        _ => (characters.flat_map(|c| upper(c).to_le_bytes()).collect(), 4),
    }
}

#[cfg(test)]
mod tests {
    use crate::Addr;
    use crate::models::testing::Fake;

    #[test]
    fn tables_and_functions_agree() {
        let mut host = Fake::new();
        let [classes, lower] = ["__ctype_b_loc", "__ctype_tolower_loc"].map(|name| host.call(name, &[]));
        let (classes, lower) = (host.load(Addr(classes), 8), host.load(Addr(lower), 8));
        for byte in 0..256u64 {
            assert_eq!(host.load(Addr(classes + 2 * byte), 2) & 0x400, host.call("isalpha", &[byte]));
            assert_eq!(host.load(Addr(lower + 4 * byte), 4), host.call("tolower", &[byte]));
        }
        assert_eq!(host.load(Addr(classes.wrapping_sub(256)), 2), 0, "entry -128");
        assert_ne!(host.call("isspace", &[11]), 0);
        assert_eq!(host.call("isspace", &[u64::from(-1i32 as u32)]), 0);
        assert_eq!(host.call("toupper", &[u64::from(b'z')]), u64::from(b'Z'));
    }
}
