//! Building and matching bit strings.

use crate::atom::Atom;
use crate::bif::{self, TERM_LIMIT};
use crate::bits::{Bits, Builder, Endian};
use crate::code::{BuildSegment, MatchSegment, Operand, Size};
use crate::core::SegmentKind;
use crate::term::Term;
use num_bigint::BigInt;
use num_traits::ToPrimitive;
use std::rc::Rc;

/// Builds a bit string; `Err` is the reason of an error.
pub fn build(segments: &[BuildSegment], value: impl Fn(&Operand) -> Term) -> Result<Term, Term> {
    let mut builder = Builder::default();
    for segment in segments {
        let size = match &segment.size {
            Size::Units(size) => {
                let units = value(size).as_count().ok_or_else(badarg)?;
                Some(units.checked_mul(segment.unit as usize).ok_or_else(limit)?)
            }
            Size::All | Size::Implied => None,
        };
        if let Some(bits) = size.map(|size| size.saturating_add(builder.len()))
            && bits > TERM_LIMIT * 8
        {
            return Err(too_large(bits));
        }
        add(&mut builder, segment, &value(&segment.value), size)?;
        if builder.len() > TERM_LIMIT * 8 {
            return Err(too_large(builder.len()));
        }
    }
    Ok(Term::Bits(Rc::new(builder.finish())))
}

fn badarg() -> Term {
    Term::Atom(Atom::BADARG)
}

fn limit() -> Term {
    Term::Atom(Atom::SYSTEM_LIMIT)
}

/// The reason if there are so many bits: the run-time system's own, or that it cannot be done here.
fn too_large(bits: usize) -> Term {
    match bif::too_large::<()>(bits / 8) {
        Err(raised) if raised.class == Atom::TOO_LARGE => Term::Atom(Atom::TOO_LARGE),
        _ => limit(),
    }
}

fn endian(little: bool) -> Endian {
    if little { Endian::Little } else { Endian::Big }
}

fn add(builder: &mut Builder, segment: &BuildSegment, value: &Term, size: Option<usize>) -> Result<(), Term> {
    match segment.kind {
        SegmentKind::Integer => {
            let number = match value {
                Term::Int(value) => BigInt::from(*value),
                Term::Big(value) => (**value).clone(),
                _ => return Err(badarg()),
            };
            builder.push_integer(&number, size.unwrap_or(8), endian(segment.little));
        }
        SegmentKind::Float => add_float(builder, value, size.unwrap_or(64), segment.little)?,
        SegmentKind::Binary => {
            let Term::Bits(bits) = value else { return Err(badarg()) };
            match size {
                None if bits.len().is_multiple_of(segment.unit.max(1) as usize) => builder.push(bits),
                Some(size) if size <= bits.len() => builder.push(&bits.slice(0, size)),
                _ => return Err(badarg()),
            }
        }
        SegmentKind::Utf8 => builder.push_bytes(character(value)?.encode_utf8(&mut [0; 4]).as_bytes()),
        SegmentKind::Utf16 => {
            for unit in character(value)?.encode_utf16(&mut [0; 2]) {
                builder.push_bytes(&if segment.little { unit.to_le_bytes() } else { unit.to_be_bytes() });
            }
        }
        SegmentKind::Utf32 => {
            let code = character(value)? as u32;
            builder.push_bytes(&if segment.little { code.to_le_bytes() } else { code.to_be_bytes() });
        }
    }
    Ok(())
}

fn character(value: &Term) -> Result<char, Term> {
    value.as_int().and_then(|code| u32::try_from(code).ok()).and_then(char::from_u32).ok_or_else(badarg)
}

#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
fn add_float(builder: &mut Builder, value: &Term, size: usize, little: bool) -> Result<(), Term> {
    let value = match value {
        Term::Float(value) => *value,
        Term::Int(value) => *value as f64,
        Term::Big(value) => value.to_f64().filter(|value| value.is_finite()).ok_or_else(badarg)?,
        _ => return Err(badarg()),
    };
    let mut bytes = match size {
        64 => value.to_be_bytes().to_vec(),
        32 if (value as f32).is_finite() => (value as f32).to_be_bytes().to_vec(),
        16 => half_bits(value).ok_or_else(badarg)?.to_be_bytes().to_vec(),
        _ => return Err(badarg()),
    };
    if little {
        bytes.reverse();
    }
    builder.push_bytes(&bytes);
    Ok(())
}

/// The nearest float of 16 bits; none if it is too large.
fn half_bits(value: f64) -> Option<u16> {
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    let magnitude = value.abs();
    if magnitude == 0.0 {
        return Some(sign);
    }
    let exponent = magnitude.log2().floor().max(-14.0);
    let scaled = magnitude / exponent.exp2() * 1024.0;
    // To the nearest, ties to even.
    let mut units = scaled.round_ties_even();
    let mut exponent = exponent;
    if units >= 2048.0 {
        units /= 2.0;
        exponent += 1.0;
    }
    if exponent > 15.0 {
        return None;
    }
    let biased = if units < 1024.0 { 0.0 } else { exponent + 15.0 };
    let mantissa = if units < 1024.0 { units } else { units - 1024.0 };
    Some(sign | ((biased as u16) << 10) | mantissa as u16)
}

fn from_half(bits: u16) -> Option<f64> {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let exponent = i32::from((bits >> 10) & 0x1f);
    let mantissa = f64::from(bits & 0x3ff);
    match exponent {
        0x1f => None,
        0 => Some(sign * mantissa * (-24f64).exp2()),
        _ => Some(sign * (mantissa + 1024.0) * f64::from(exponent - 25).exp2()),
    }
}

/// Matches a segment at a position: the value and the position behind it.
pub fn match_segment(
    bits: &Bits,
    position: usize,
    segment: &MatchSegment,
    value: impl Fn(&Operand) -> Term,
) -> Option<(Term, usize)> {
    let left = bits.len().checked_sub(position)?;
    let size = match &segment.size {
        Size::Units(size) => Some(value(size).as_count()?.checked_mul(segment.unit as usize)?),
        Size::All => {
            if !left.is_multiple_of(segment.unit.max(1) as usize) {
                return None;
            }
            Some(left)
        }
        Size::Implied => None,
    };
    if size.is_some_and(|size| size > left) {
        return None;
    }
    match segment.kind {
        SegmentKind::Integer => {
            let size = size.unwrap_or(8);
            if size > left {
                return None;
            }
            let number = bits.integer(position, size, endian(segment.little), segment.signed);
            Some((Term::integer(number), position + size))
        }
        SegmentKind::Float => {
            let size = size.unwrap_or(64);
            if size > left {
                return None;
            }
            Some((match_float(&bits.slice(position, size), segment.little)?, position + size))
        }
        SegmentKind::Binary => {
            let size = size?;
            Some((Term::Bits(Rc::new(bits.slice(position, size))), position + size))
        }
        SegmentKind::Utf8 => {
            let bytes = bits.slice(position, left.min(32) / 8 * 8).to_bytes();
            let c = (1..=bytes.len()).find_map(|len| std::str::from_utf8(&bytes[..len]).ok())?.chars().next()?;
            Some((Term::Int(i64::from(c as u32)), position + c.len_utf8() * 8))
        }
        SegmentKind::Utf16 => {
            let bytes = bits.slice(position, left.min(32) / 16 * 16).to_bytes();
            let read = |pair: &[u8]| {
                let pair = [pair[0], pair[1]];
                if segment.little { u16::from_le_bytes(pair) } else { u16::from_be_bytes(pair) }
            };
            let c = char::decode_utf16(bytes.chunks_exact(2).map(read)).next()?.ok()?;
            Some((Term::Int(i64::from(c as u32)), position + c.len_utf16() * 16))
        }
        SegmentKind::Utf32 => {
            if left < 32 {
                return None;
            }
            let code = bits.integer(position, 32, endian(segment.little), false).to_u32()?;
            Some((Term::Int(i64::from(char::from_u32(code)? as u32)), position + 32))
        }
    }
}

fn match_float(bits: &Bits, little: bool) -> Option<Term> {
    let mut bytes = bits.to_bytes();
    if little {
        bytes.reverse();
    }
    let value = match bits.len() {
        64 => f64::from_be_bytes(bytes.try_into().ok()?),
        32 => f64::from(f32::from_be_bytes(bytes.try_into().ok()?)),
        16 => from_half(u16::from_be_bytes(bytes.try_into().ok()?))?,
        _ => return None,
    };
    value.is_finite().then_some(Term::Float(value))
}
