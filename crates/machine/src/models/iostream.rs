//! `std::cout` and `std::cerr`: plain output with `<<`.
//!
//! Streams are addresses and nothing more: numbers are shown as by a stream in its initial state, and manipulators other
//! than `std::endl`, `std::flush` and `std::ends` are not supported.

use super::call::{Answer, Call, models};
use super::format::{self, Amount, Spec};
use super::stdio::show;
use crate::Addr;

models! {
    "_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc" | "_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKa"
        | "_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKh" / 2 => text,
    "_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_c" | "_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_a"
        | "_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_h" | "_ZNSo3putEc" / 2 => |c| {
        let byte = c.arg(1) as u8;
        put(c, &[byte])
    },
    "_ZStlsIcSt11char_traitsIcESaIcEERSt13basic_ostreamIT_T0_ES7_RKNSt7__cxx1112basic_stringIS4_S5_T1_EE" / 2 => string,
    "_ZSt16__ostream_insertIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_PKS3_l" | "_ZNSo5writeEPKcl" / 3 => |c| bytes(c, c.ptr(1), c.arg(2)),
    "_ZNSolsEb" / 2 => |c| number(c, b'u', 1),
    "_ZNSolsEs" / 2 => |c| number(c, b'd', 2),
    "_ZNSolsEt" / 2 => |c| number(c, b'u', 2),
    "_ZNSolsEi" / 2 => |c| number(c, b'd', 4),
    "_ZNSolsEj" / 2 => |c| number(c, b'u', 4),
    "_ZNSolsEl" | "_ZNSolsEx" / 2 => |c| number(c, b'd', 8),
    "_ZNSolsEm" | "_ZNSolsEy" / 2 => |c| number(c, b'u', 8),
    "_ZNSolsEf" / 2 => |c| float(c, f64::from(f32::from_bits(c.arg(1) as u32))),
    "_ZNSolsEd" / 2 => |c| float(c, f64::from_bits(c.arg(1))),
    "_ZNSolsEPKv" / 2 => pointer,
    "_ZNSolsEe" / 0 => |c| c.unsupported("`long double`"),
    "_ZNSolsEPFRSoS_E" / 2 => |c| {
        c.call(c.ptr(1), &[c.arg(0)])?;
        Ok(c.arg(0))
    },
    "_ZNSolsEPFRSt8ios_baseS0_E" | "_ZNSolsEPFRSt9basic_iosIcSt11char_traitsIcEES3_E" / 0 => |c| c.unsupported("manipulators of streams"),
    "_ZSt4endlIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_" / 1 => |c| put(c, b"\n"),
    "_ZSt4endsIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_" / 1 => |c| put(c, b"\0"),
    "_ZSt5flushIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_" | "_ZNSo5flushEv" / 1 => |c| Ok(c.arg(0)),
}

/// Shows bytes and gives the stream.
fn put(call: &mut Call<'_>, bytes: &[u8]) -> Answer {
    show(call, bytes)?;
    Ok(call.arg(0))
}

fn text(call: &mut Call<'_>) -> Answer {
    let text = call.read_string(call.ptr(1), u64::MAX)?;
    put(call, &text)
}

fn bytes(call: &mut Call<'_>, start: Addr, length: u64) -> Answer {
    if length > 0 {
        call.effect(|host| host.is_visible(start, length).map(u64::from))?;
    }
    let mut bytes = Vec::new();
    for at in 0..length {
        bytes.push(call.load(start.plus(at), 1)? as u8);
    }
    put(call, &bytes)
}

/// A `std::string` starts with the address of its characters and their number.
fn string(call: &mut Call<'_>) -> Answer {
    let string = call.ptr(1);
    let start = Addr(call.load(string, 8)?);
    let length = call.load(string.plus(8), 8)?;
    bytes(call, start, length)
}

fn number(call: &mut Call<'_>, letter: u8, size: u8) -> Answer {
    let digits = format::integer(&Spec { letter, size, ..Spec::default() }, call.arg(1));
    put(call, &digits)
}

fn float(call: &mut Call<'_>, value: f64) -> Answer {
    let spec = Spec { letter: b'g', size: 8, precision: Amount::Given(6), ..Spec::default() };
    put(call, &format::float(&spec, value))
}

fn pointer(call: &mut Call<'_>) -> Answer {
    let value = call.arg(1);
    put(call, if value == 0 { "0".to_owned() } else { format!("{value:#x}") }.as_bytes())
}

#[cfg(test)]
mod tests {
    use crate::Addr;
    use crate::models::testing::Fake;

    #[test]
    fn values_are_shown_as_by_a_fresh_stream() {
        let mut host = Fake::new();
        let (stream, text) = (host.global(512).0, host.string("x="));
        assert_eq!(host.call("_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc", &[stream, text]), stream);
        host.call("_ZNSolsEi", &[stream, u64::from(-3i32 as u32)]);
        host.call("_ZNSolsEd", &[stream, 0.1f64.to_bits()]);
        host.call("_ZNSolsEb", &[stream, 1]);
        host.call("_ZSt4endlIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_", &[stream]);
        host.call("_ZNSolsEPFRSoS_E", &[stream, 0x7000]);
        assert_eq!(host.output, "x=-30.11\n");
        assert_eq!(host.calls, [(Addr(0x7000), vec![stream])]);
    }
}
