//! Numbers from text, and small arithmetic of `<stdlib.h>`.

use super::Step;
use super::call::{Answer, Call, Pause, int, models};
use super::errno::{EINVAL, ERANGE};
use crate::{Addr, ViolationKind};
use selvedge_ir::{BinaryOp, Type, eval};

models! {
    "strtol" | "strtoll" | "strtoimax" | "strtoq" | "__isoc23_strtol" | "__isoc23_strtoll" / 3 => |c| to_integer(c, true),
    "strtoul" | "strtoull" | "strtoumax" | "strtouq" | "__isoc23_strtoul" | "__isoc23_strtoull" / 3 => |c| to_integer(c, false),
    "strtod" / 2 => |c| to_double(c).map(f64::to_bits),
    "strtof" / 2 => |c| to_double(c).map(|value| u64::from((value as f32).to_bits())),
    "atoi" / 1 => |c| decimal(c).map(|value| int(value as i32)),
    "atol" | "atoll" / 1 => decimal,
    "atof" / 1 => |c| to_double(c).map(f64::to_bits),
    "abs" / 1 => |c| Ok(int(c.int(0).wrapping_abs())),
    "labs" | "llabs" | "imaxabs" / 1 => |c| Ok((c.arg(0) as i64).unsigned_abs()),
    "div" / 2 => div,
    "ldiv" | "lldiv" | "imaxdiv" / 2 => long_div,
    "ffs" / 1 => |c| Ok(u64::from(match c.int(0) { 0 => 0, x => x.trailing_zeros() + 1 })),
    "ffsl" | "ffsll" / 1 => |c| Ok(u64::from(match c.arg(0) { 0 => 0, x => x.trailing_zeros() + 1 })),
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | 9..=13)
}

/// A number as it stands in text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Integer {
    /// Its value without sign; at most `u64::MAX`.
    pub magnitude: u64,
    /// Whether it starts with a minus sign.
    pub negative: bool,
    /// Whether the value does not fit into 64 bits.
    pub overflow: bool,
    /// How many bytes it takes, with spaces and sign; 0 if there is no number.
    pub length: usize,
}

/// Reads bytes from an address as they are needed, each once.
struct Reader {
    start: Addr,
    seen: Vec<u8>,
}

impl Reader {
    fn new(start: Addr) -> Reader {
        Reader { start, seen: Vec::new() }
    }

    /// The byte at a place; places are asked for in order, and only behind bytes that are not the end.
    fn at(&mut self, call: &mut Call<'_>, place: usize) -> Answer<u8> {
        while self.seen.len() <= place {
            let byte = call.load(self.start.plus(self.seen.len() as u64), 1)?;
            self.seen.push(byte as u8);
        }
        Ok(self.seen[place])
    }
}

/// Reads spaces and a sign; gives where the digits start and whether the sign is a minus.
fn sign(call: &mut Call<'_>, text: &mut Reader) -> Answer<(usize, bool)> {
    let mut at = 0;
    while is_space(text.at(call, at)?) {
        at += 1;
    }
    let sign = text.at(call, at)?;
    Ok((at + usize::from(matches!(sign, b'-' | b'+')), sign == b'-'))
}

fn integer(call: &mut Call<'_>, start: Addr, mut base: u32) -> Answer<Integer> {
    let mut text = Reader::new(start);
    let (mut at, negative) = sign(call, &mut text)?;
    let mut value = Integer { magnitude: 0, negative, overflow: false, length: 0 };
    if text.at(call, at)? == b'0' && matches!(base, 0 | 16) {
        let prefixed =
            matches!(text.at(call, at + 1)?, b'x' | b'X') && (text.at(call, at + 2)? as char).is_ascii_hexdigit();
        match (prefixed, base) {
            (true, _) => (base, at) = (16, at + 2),
            (false, 0) => base = 8,
            _ => {}
        }
    }
    let base = if base == 0 { 10 } else { base };
    while let Some(digit) = (text.at(call, at)? as char).to_digit(base) {
        match value.magnitude.checked_mul(u64::from(base)).and_then(|v| v.checked_add(u64::from(digit))) {
            Some(magnitude) => value.magnitude = magnitude,
            None => value.overflow = true,
        }
        at += 1;
        value.length = at;
    }
    Ok(value)
}

/// `strtol` and `strtoul`, which are 64 bits wide.
fn to_integer(call: &mut Call<'_>, signed: bool) -> Answer {
    let (start, end, base) = (call.ptr(0), call.ptr(1), call.int(2));
    if base != 0 && !(2..=36).contains(&base) {
        call.set_errno(EINVAL)?;
        return Ok(0);
    }
    let number = integer(call, start, base as u32)?;
    let (value, out_of_range) = clamp(&number, signed);
    if end.0 != 0 {
        call.store(end, 8, start.plus(number.length as u64).0)?;
    }
    if out_of_range {
        call.set_errno(ERANGE)?;
    }
    Ok(value)
}

/// The value in 64 bits, and whether it had to be cut to fit.
fn clamp(number: &Integer, signed: bool) -> (u64, bool) {
    let Integer { magnitude, negative, overflow, .. } = *number;
    let limit = match (signed, negative) {
        (false, _) => u64::MAX,
        (true, false) => i64::MAX as u64,
        (true, true) => 1 << 63,
    };
    match (overflow || magnitude > limit, signed, negative) {
        (true, false, _) => (u64::MAX, true),
        (true, true, _) => (limit, true),
        (false, _, true) => (magnitude.wrapping_neg(), false),
        (false, _, false) => (magnitude, false),
    }
}

/// `atol`: no errors.
fn decimal(call: &mut Call<'_>) -> Answer {
    let number = integer(call, call.ptr(0), 10)?;
    Ok(clamp(&number, true).0)
}

/// `strtod`; `atof` has no second argument.
fn to_double(call: &mut Call<'_>) -> Answer<f64> {
    let (start, end) = (call.ptr(0), call.ptr(1));
    let mut text = Reader::new(start);
    let (from, negative) = sign(call, &mut text)?;
    let (value, length) = match word(call, &mut text, from)? {
        Some(found) => found,
        None => digits(call, &mut text, from)?,
    };
    if end.0 != 0 {
        call.store(end, 8, start.plus(length as u64).0)?;
    }
    if value.is_infinite() && text.seen[from].is_ascii_digit() {
        call.set_errno(ERANGE)?;
    }
    Ok(if negative { -value } else { value })
}

/// `inf`, `infinity` or `nan`, and where it ends.
fn word(call: &mut Call<'_>, text: &mut Reader, from: usize) -> Answer<Option<(f64, usize)>> {
    for (word, value) in [("infinity", f64::INFINITY), ("inf", f64::INFINITY), ("nan", f64::NAN)] {
        let mut matched = 0;
        for expected in word.bytes() {
            if text.at(call, from + matched)?.to_ascii_lowercase() != expected {
                break;
            }
            matched += 1;
        }
        if matched == word.len() {
            return Ok(Some((value, from + matched)));
        }
    }
    Ok(None)
}

/// A decimal number without sign and where it ends: digits, a point, digits, an exponent.
fn digits(call: &mut Call<'_>, text: &mut Reader, from: usize) -> Answer<(f64, usize)> {
    if text.at(call, from)? == b'0' && matches!(text.at(call, from + 1)?, b'x' | b'X') {
        return call.unsupported("hexadecimal floating-point numbers in text");
    }
    let mut at = from;
    let mut count = 0;
    let mut point = false;
    loop {
        match text.at(call, at)? {
            b'0'..=b'9' => count += 1,
            b'.' if !point => point = true,
            _ => break,
        }
        at += 1;
    }
    if count == 0 {
        return Ok((0.0, 0));
    }
    let end = exponent(call, text, at)?;
    let number = String::from_utf8_lossy(&text.seen[from..end]).into_owned();
    Ok((number.parse().unwrap_or(0.0), end))
}

/// The end of the exponent that may start here.
fn exponent(call: &mut Call<'_>, text: &mut Reader, at: usize) -> Answer<usize> {
    if !matches!(text.at(call, at)?, b'e' | b'E') {
        return Ok(at);
    }
    let mut end = at + 1;
    if matches!(text.at(call, end)?, b'+' | b'-') {
        end += 1;
    }
    let first = end;
    while text.at(call, end)?.is_ascii_digit() {
        end += 1;
    }
    Ok(if end == first { at } else { end })
}

/// Quotient and remainder.
fn divide(call: &Call<'_>, ty: Type) -> Answer<[u64; 2]> {
    let [a, b] = [0, 1].map(|n| call.arg(n) & ty.mask());
    let operation = |op| eval::binary(op, ty, a, b);
    match (operation(BinaryOp::SDiv), operation(BinaryOp::SRem)) {
        (Ok(quotient), Ok(remainder)) => Ok([quotient, remainder]),
        _ => {
            let [a, b] = [a, b].map(|bits| eval::sign_extend(ty, bits));
            call.violation(ViolationKind::Arithmetic, format!("the division of {a} by {b} has no result"))
        }
    }
}

/// `div` gives both results in one register.
fn div(call: &mut Call<'_>) -> Answer {
    let [quotient, remainder] = divide(call, Type::I32)?;
    Ok(quotient | remainder << 32)
}

fn long_div(call: &mut Call<'_>) -> Answer {
    Err(Pause::Step(Step::ReturnTwo(divide(call, Type::I64)?)))
}

#[cfg(test)]
mod tests {
    use crate::models::Step;
    use crate::models::testing::Fake;
    use crate::{Addr, ViolationKind};

    fn errno(host: &mut Fake) -> u64 {
        let place = host.call("__errno_location", &[]);
        host.load(Addr(place), 4)
    }

    #[test]
    fn integers_in_every_base() {
        let cases: &[(&str, u64, i64, &str)] = &[
            ("  -0x1Fz", 0, -31, "z"),
            ("0xg", 16, 0, "xg"),
            ("0x", 0, 0, "x"),
            ("077 ", 0, 63, " "),
            ("zz", 36, 1295, ""),
            ("12", 3, 5, ""),
            ("+7", 10, 7, ""),
            ("abc", 10, 0, "abc"),
            ("-9223372036854775808", 10, i64::MIN, ""),
        ];
        for &(text, base, value, rest) in cases {
            let mut host = Fake::new();
            let (string, end) = (host.string(text), host.heap(8));
            assert_eq!(host.call("strtol", &[string, end.0, base]) as i64, value, "{text}");
            let end = host.load(end, 8);
            assert_eq!(host.text_at(end), rest, "{text}");
            assert_eq!(errno(&mut host), 0);
        }
    }

    #[test]
    fn numbers_out_of_range_are_cut_and_reported() {
        let mut host = Fake::new();
        let text = host.string("99999999999999999999");
        assert_eq!(host.call("strtol", &[text, 0, 10]), i64::MAX as u64);
        assert_eq!(errno(&mut host), 34);
        assert_eq!(host.call("strtoul", &[text, 0, 10]), u64::MAX);
        let minus = host.string("-1");
        assert_eq!(host.call("strtoul", &[minus, 0, 10]), u64::MAX);
        assert_eq!(host.int("atoi", &[minus]), -1);
    }

    #[test]
    fn floating_point_numbers() {
        let cases: &[(&str, f64, &str)] = &[
            ("  1.5e3x", 1500.0, "x"),
            ("1e+", 1.0, "e+"),
            (".e", 0.0, ".e"),
            ("-.5", -0.5, ""),
            ("-inF!", f64::NEG_INFINITY, "!"),
        ];
        for &(text, value, rest) in cases {
            let mut host = Fake::new();
            let (string, end) = (host.string(text), host.heap(8));
            assert_eq!(f64::from_bits(host.call("strtod", &[string, end.0])), value, "{text}");
            let end = host.load(end, 8);
            let rest = if value == 0.0 { text } else { rest };
            assert_eq!(host.text_at(end), rest, "{text}");
        }
        let mut host = Fake::new();
        let hexadecimal = host.string("0x1p3");
        assert!(host.unsupported("strtod", &[hexadecimal, 0]).contains("hexadecimal"));
    }

    #[test]
    fn division_gives_both_results() {
        let mut host = Fake::new();
        let minus_seven = u64::from(-7i32 as u32);
        assert_eq!(host.call("div", &[minus_seven, 2]), u64::from(-3i32 as u32) | u64::from(-1i32 as u32) << 32);
        let two = host.run("ldiv", &[-7i64 as u64, 2]).unwrap();
        assert!(matches!(two, Step::ReturnTwo([q, r]) if (q as i64, r as i64) == (-3, -1)), "{two:?}");
        assert_eq!(host.violation("div", &[1, 0]).0, ViolationKind::Arithmetic);
        assert_eq!(host.violation("lldiv", &[1 << 63, u64::MAX]).0, ViolationKind::Arithmetic);
    }
}
