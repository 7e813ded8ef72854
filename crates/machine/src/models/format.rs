//! The formatting of `printf`: conversions of one argument each. Pure functions; `stdio.rs` finds the arguments.
//!
//! Decimal digits of floating-point numbers come from Rust's formatting, which rounds the exact binary value to the
//! asked number of digits, ties to even, as the GNU C library does.

/// One conversion specification, such as `%-8.3lf`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Spec {
    /// `-`: pad on the right.
    pub left: bool,
    /// `+`: always a sign.
    pub plus: bool,
    /// A space where a plus sign would be.
    pub space: bool,
    /// `#`: the other form.
    pub alternative: bool,
    /// `0`: pad with zeros.
    pub zero: bool,
    /// The least width; none for 0.
    pub width: Amount,
    /// The precision.
    pub precision: Amount,
    /// The width of the argument in bytes: 1, 2, 4 or 8 (`hh`, `h`, none, `l` and the like).
    pub size: u8,
    /// The conversion's letter.
    pub letter: u8,
}

/// A width or a precision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Amount {
    /// Not given.
    #[default]
    None,
    /// Given in the format.
    Given(u32),
    /// `*`: given by an argument.
    Argument,
}

/// Why a format cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BadFormat(pub String);

/// Widths and precisions are at most this large.
pub(super) const MAX_AMOUNT: u32 = 1 << 20;

/// Reads the specification behind a `%`; gives it and the number of bytes that it takes.
pub(super) fn parse(text: &[u8]) -> Result<(Spec, usize), BadFormat> {
    let mut spec = Spec { size: 4, ..Spec::default() };
    let mut at = 0;
    while let Some(flag) = text.get(at) {
        match flag {
            b'-' => spec.left = true,
            b'+' => spec.plus = true,
            b' ' => spec.space = true,
            b'#' => spec.alternative = true,
            b'0' => spec.zero = true,
            b'\'' => {}
            _ => break,
        }
        at += 1;
    }
    spec.width = amount(text, &mut at)?;
    if text.get(at) == Some(&b'$') {
        return Err(BadFormat("numbered arguments (`%1$d`)".into()));
    }
    if text.get(at) == Some(&b'.') {
        at += 1;
        // A point alone is precision 0.
        spec.precision = match amount(text, &mut at)? {
            Amount::None => Amount::Given(0),
            given => given,
        };
    }
    at += length(&text[at.min(text.len())..], &mut spec)?;
    match text.get(at) {
        Some(&letter) => spec.letter = letter,
        None => return Err(BadFormat("a format that ends within a conversion".into())),
    }
    Ok((spec, at + 1))
}

fn amount(text: &[u8], at: &mut usize) -> Result<Amount, BadFormat> {
    if text.get(*at) == Some(&b'*') {
        *at += 1;
        return Ok(Amount::Argument);
    }
    let mut amount = Amount::None;
    while let Some(digit) = text.get(*at).filter(|byte| byte.is_ascii_digit()) {
        let so_far = if let Amount::Given(n) = amount { n } else { 0 };
        let value = so_far * 10 + u32::from(digit - b'0');
        if value > MAX_AMOUNT {
            return Err(BadFormat(format!("a width or precision above {MAX_AMOUNT}")));
        }
        amount = Amount::Given(value);
        *at += 1;
    }
    Ok(amount)
}

/// Reads `hh`, `h`, `l`, `ll`, `j`, `z`, `t`; how many bytes it takes.
fn length(text: &[u8], spec: &mut Spec) -> Result<usize, BadFormat> {
    let (size, taken) = match text {
        [b'h', b'h', ..] => (1, 2),
        [b'h', ..] => (2, 1),
        [b'l', b'l', ..] => (8, 2),
        [b'l' | b'j' | b'z' | b't' | b'q', ..] => (8, 1),
        [b'L', ..] => return Err(BadFormat("`long double`".into())),
        _ => (4, 0),
    };
    spec.size = size;
    Ok(taken)
}

impl Spec {
    fn width(&self) -> usize {
        match self.width {
            Amount::Given(n) => n as usize,
            _ => 0,
        }
    }

    /// The precision, if it was given.
    pub fn precision(&self) -> Option<usize> {
        match self.precision {
            Amount::Given(n) => Some(n as usize),
            _ => None,
        }
    }

    /// Puts a width that came as an argument in place: a negative one means `-`.
    pub fn set_width(&mut self, value: i32) {
        self.left |= value < 0;
        self.width = Amount::Given(value.unsigned_abs().min(MAX_AMOUNT));
    }

    /// Puts a precision that came as an argument in place: a negative one counts as not given.
    pub fn set_precision(&mut self, value: i32) {
        self.precision = match u32::try_from(value) {
            Ok(value) => Amount::Given(value.min(MAX_AMOUNT)),
            Err(_) => Amount::None,
        };
    }

    fn sign(&self, negative: bool) -> &'static str {
        match (negative, self.plus, self.space) {
            (true, ..) => "-",
            (_, true, _) => "+",
            (_, _, true) => " ",
            _ => "",
        }
    }
}

/// Text, padded to the width.
pub(super) fn text(spec: &Spec, text: &[u8]) -> Vec<u8> {
    let shown = &text[..text.len().min(spec.precision().unwrap_or(usize::MAX))];
    padded(spec, "", shown, false)
}

/// A prefix (sign, `0x`) and a body, padded to the width: with spaces, or with zeros between the two.
fn padded(spec: &Spec, prefix: &str, body: &[u8], zeros: bool) -> Vec<u8> {
    let missing = spec.width().saturating_sub(prefix.len() + body.len());
    let mut out = Vec::with_capacity(prefix.len() + body.len() + missing);
    if !spec.left && !zeros {
        out.resize(missing, b' ');
    }
    out.extend_from_slice(prefix.as_bytes());
    if !spec.left && zeros {
        out.resize(out.len() + missing, b'0');
    }
    out.extend_from_slice(body);
    if spec.left {
        out.resize(out.len() + missing, b' ');
    }
    out
}

/// `%d`, `%i`, `%u`, `%o`, `%x`, `%X`.
pub(super) fn integer(spec: &Spec, argument: u64) -> Vec<u8> {
    let shift = 64 - 8 * u32::from(spec.size);
    let signed = matches!(spec.letter, b'd' | b'i');
    let (magnitude, negative) = if signed {
        let value = ((argument << shift) as i64) >> shift;
        (value.unsigned_abs(), value < 0)
    } else {
        (argument << shift >> shift, false)
    };
    let mut digits = match spec.letter {
        b'o' => format!("{magnitude:o}"),
        b'x' => format!("{magnitude:x}"),
        b'X' => format!("{magnitude:X}"),
        _ => magnitude.to_string(),
    };
    if spec.precision() == Some(0) && magnitude == 0 {
        digits.clear();
    }
    let mut least = spec.precision().unwrap_or(0);
    if spec.alternative && spec.letter == b'o' && !digits.starts_with('0') {
        least = least.max(digits.len() + 1);
    }
    let digits = format!("{digits:0>least$}");
    let prefix = match spec.letter {
        b'x' if spec.alternative && magnitude != 0 => "0x",
        b'X' if spec.alternative && magnitude != 0 => "0X",
        _ if signed => spec.sign(negative),
        _ => "",
    };
    padded(spec, prefix, digits.as_bytes(), spec.zero && spec.precision().is_none())
}

/// `%p`.
pub(super) fn pointer(spec: &Spec, value: u64) -> Vec<u8> {
    if value == 0 {
        return padded(spec, "", b"(nil)", false);
    }
    integer(&Spec { alternative: true, size: 8, letter: b'x', ..spec.clone() }, value)
}

/// `%f`, `%e`, `%g`, `%a` and their capital forms.
pub(super) fn float(spec: &Spec, value: f64) -> Vec<u8> {
    let sign = spec.sign(value.is_sign_negative());
    let magnitude = value.abs();
    let capital = spec.letter.is_ascii_uppercase();
    if !magnitude.is_finite() {
        let word = if magnitude.is_nan() { "nan" } else { "inf" };
        let word = if capital { word.to_uppercase() } else { word.to_owned() };
        return padded(spec, sign, word.as_bytes(), false);
    }
    let precision = spec.precision();
    let (mut prefix, mut body) = (sign.to_owned(), String::new());
    match spec.letter.to_ascii_lowercase() {
        b'f' => body.push_str(&fixed(magnitude, precision.unwrap_or(6), spec.alternative)),
        b'e' => body.push_str(&exponential(magnitude, precision.unwrap_or(6), spec.alternative)),
        b'g' => body.push_str(&general(magnitude, precision.unwrap_or(6).max(1), spec.alternative)),
        _ => {
            prefix.push_str("0x");
            body.push_str(&hexadecimal(magnitude, precision, spec.alternative));
        }
    }
    if capital {
        (prefix, body) = (prefix.to_uppercase(), body.to_uppercase());
    }
    padded(spec, &prefix, body.as_bytes(), spec.zero)
}

fn fixed(value: f64, precision: usize, point: bool) -> String {
    let mut text = format!("{value:.precision$}");
    if precision == 0 && point {
        text.push('.');
    }
    text
}

/// Mantissa and exponent in powers of ten.
fn scientific(value: f64, precision: usize) -> (String, i32) {
    let text = format!("{value:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').expect("this format has an exponent");
    (mantissa.to_owned(), exponent.parse().expect("the exponent is a number"))
}

fn exponential(value: f64, precision: usize, point: bool) -> String {
    let (mantissa, exponent) = scientific(value, precision);
    let point = if precision == 0 && point { "." } else { "" };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}{point}e{sign}{:02}", exponent.unsigned_abs())
}

fn general(value: f64, precision: usize, keep_zeros: bool) -> String {
    let (_, exponent) = scientific(value, precision - 1);
    let text = if exponent >= -4 && exponent < precision as i32 {
        fixed(value, (precision as i32 - 1 - exponent) as usize, keep_zeros)
    } else {
        exponential(value, precision - 1, keep_zeros)
    };
    if keep_zeros {
        return text;
    }
    let (mantissa, exponent) = match text.find('e') {
        Some(at) => text.split_at(at),
        None => (text.as_str(), ""),
    };
    let mantissa = if mantissa.contains('.') { mantissa.trim_end_matches('0').trim_end_matches('.') } else { mantissa };
    format!("{mantissa}{exponent}")
}

/// The digits behind `0x`: one digit, a fraction, and the exponent in powers of two.
fn hexadecimal(value: f64, precision: Option<usize>, point: bool) -> String {
    const FRACTION_BITS: u32 = 52;
    let bits = value.to_bits();
    let biased = (bits >> FRACTION_BITS) as i32 & 0x7ff;
    let fraction = bits & ((1 << FRACTION_BITS) - 1);
    let (mut mantissa, exponent) = match (biased, fraction) {
        (0, 0) => (0, 0),
        (0, _) => (fraction, -1022),
        _ => (fraction | 1 << FRACTION_BITS, biased - 1023),
    };
    let mut digits = 13;
    if let Some(wanted) = precision.filter(|&wanted| wanted < 13) {
        let dropped = 4 * (13 - wanted) as u32;
        let (kept, rest, half) = (mantissa >> dropped, mantissa & ((1 << dropped) - 1), 1u64 << (dropped - 1));
        mantissa = kept + u64::from(rest > half || (rest == half && kept & 1 == 1));
        digits = wanted;
    }
    let lead = mantissa >> (4 * digits);
    let mut text =
        if digits == 0 { String::new() } else { format!("{:0digits$x}", mantissa & ((1 << (4 * digits)) - 1)) };
    match precision {
        None => text.truncate(text.trim_end_matches('0').len()),
        Some(wanted) => text = format!("{text:0<wanted$}"),
    }
    let dot = if text.is_empty() && !point { "" } else { "." };
    format!("{lead:x}{dot}{text}p{exponent:+}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(format: &str, convert: impl Fn(&Spec) -> Vec<u8>) -> String {
        let (spec, taken) = parse(&format.as_bytes()[1..]).unwrap();
        assert_eq!(taken, format.len() - 1);
        String::from_utf8(convert(&spec)).unwrap()
    }

    #[test]
    fn integers_as_the_c_library_prints_them() {
        let cases: &[(&str, i64, &str)] = &[
            ("%d", -5, "-5"),
            ("%5d", 42, "   42"),
            ("%-5d", 42, "42   "),
            ("%05d", -42, "-0042"),
            ("%+d", 7, "+7"),
            ("% d", 7, " 7"),
            ("%.3d", 7, "007"),
            ("%08.3d", 7, "     007"),
            ("%.0d", 0, ""),
            ("%hhd", 300, "44"),
            ("%hd", 40_000, "-25536"),
            ("%d", 0xffff_ffff, "-1"),
            ("%lld", i64::MIN, "-9223372036854775808"),
            ("%u", -1, "4294967295"),
            ("%zu", -1, "18446744073709551615"),
            ("%08x", 0xbeef, "0000beef"),
            ("%#x", 255, "0xff"),
            ("%#X", 255, "0XFF"),
            ("%#x", 0, "0"),
            ("%#o", 8, "010"),
            ("%#o", 0, "0"),
            ("%#.0o", 0, "0"),
            ("%lx", -1, "ffffffffffffffff"),
        ];
        for &(format, value, expected) in cases {
            assert_eq!(shown(format, |spec| integer(spec, value as u64)), expected, "{format}");
        }
    }

    #[test]
    fn floating_point_numbers_as_the_c_library_prints_them() {
        let cases: &[(&str, f64, &str)] = &[
            ("%f", 1.0, "1.000000"),
            ("%5.2f", 2.5678, " 2.57"),
            ("%-8.1f", 2.25, "2.2     "),
            ("%08.2f", -1.5, "-0001.50"),
            ("%.0f", 0.5, "0"),
            ("%.0f", 1.5, "2"),
            ("%#.0f", 3.0, "3."),
            ("%.3f", 1e-10, "0.000"),
            ("%f", f64::NAN, "nan"),
            ("%5f", f64::NEG_INFINITY, " -inf"),
            ("%F", f64::INFINITY, "INF"),
            ("%e", 12345.678, "1.234568e+04"),
            ("%.2e", 0.00012345, "1.23e-04"),
            ("%E", 1e-200, "1.000000E-200"),
            ("%.0e", 15.0, "2e+01"),
            ("%e", 0.0, "0.000000e+00"),
            ("%g", 100_000.0, "100000"),
            ("%g", 1_000_000.0, "1e+06"),
            ("%g", 0.0001, "0.0001"),
            ("%g", 0.00001, "1e-05"),
            ("%g", 3.5, "3.5"),
            ("%.3g", 1234.5, "1.23e+03"),
            ("%.10g", 0.1, "0.1"),
            ("%#g", 1.0, "1.00000"),
            ("%g", -0.0, "-0"),
            ("%a", 1.0, "0x1p+0"),
            ("%a", 0.1, "0x1.999999999999ap-4"),
            ("%.2a", 1.999, "0x2.00p+0"),
            ("%A", 255.5, "0X1.FFP+7"),
            ("%a", 0.0, "0x0p+0"),
            ("%+.1f", 0.05, "+0.1"),
        ];
        for &(format, value, expected) in cases {
            assert_eq!(shown(format, |spec| float(spec, value)), expected, "{format} of {value}");
        }
    }

    #[test]
    fn text_and_pointers() {
        assert_eq!(shown("%-8s", |spec| text(spec, b"ab")), "ab      ");
        assert_eq!(shown("%5s", |spec| text(spec, b"ab")), "   ab");
        assert_eq!(shown("%.1s", |spec| text(spec, b"ab")), "a");
        assert_eq!(shown("%p", |spec| pointer(spec, 0x7f00)), "0x7f00");
        assert_eq!(shown("%8p", |spec| pointer(spec, 0)), "   (nil)");
    }

    #[test]
    fn formats_that_cannot_be_used_are_named() {
        for (format, word) in
            [("%1$d", "numbered"), ("%", "ends"), ("%5.", "ends"), ("%9999999999d", "width"), ("%Lf", "long")]
        {
            let error = parse(&format.as_bytes()[1..]).unwrap_err();
            assert!(error.0.contains(word), "{format}: {}", error.0);
        }
    }
}
