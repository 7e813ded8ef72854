//! Bit strings: binaries and everything that is not a multiple of eight bits.
//!
//! A bit string is a range of bits in bytes that are shared with the bit string it was cut from.

use num_bigint::{BigInt, Sign};
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

/// A bit string.
#[derive(Clone, Debug)]
pub struct Bits {
    data: Rc<[u8]>,
    start: usize,
    len: usize,
}

/// Which byte of an integer comes first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Endian {
    /// The most significant one.
    Big,
    /// The least significant one.
    Little,
}

impl Bits {
    /// A binary.
    pub fn from_bytes(bytes: &[u8]) -> Bits {
        Bits { data: bytes.into(), start: 0, len: bytes.len() * 8 }
    }

    /// Its length in bits.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no bits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether it is a binary.
    pub fn is_binary(&self) -> bool {
        self.len.is_multiple_of(8)
    }

    /// Bits `from..from + len` of it.
    pub fn slice(&self, from: usize, len: usize) -> Bits {
        debug_assert!(from + len <= self.len);
        Bits { data: self.data.clone(), start: self.start + from, len }
    }

    /// One bit.
    pub fn bit(&self, index: usize) -> bool {
        let at = self.start + index;
        self.data[at / 8] & (0x80 >> (at % 8)) != 0
    }

    /// Byte number `index`; the missing bits of the last one are zero.
    pub fn byte(&self, index: usize) -> u8 {
        let at = self.start + index * 8;
        let shift = at % 8;
        let high = self.data[at / 8] << shift;
        let low = if shift == 0 { 0 } else { self.data.get(at / 8 + 1).map_or(0, |byte| byte >> (8 - shift)) };
        let byte = high | low;
        let left = self.len - index * 8;
        if left >= 8 { byte } else { byte & !(0xff >> left) }
    }

    /// All bytes; the missing bits of the last one are zero.
    pub fn to_bytes(&self) -> Vec<u8> {
        if self.start.is_multiple_of(8) && self.is_binary() {
            return self.data[self.start / 8..(self.start + self.len) / 8].to_vec();
        }
        (0..self.len.div_ceil(8)).map(|index| self.byte(index)).collect()
    }

    /// Bits `from..from + size` as an integer.
    pub fn integer(&self, from: usize, size: usize, endian: Endian, signed: bool) -> BigInt {
        let mut bytes = self.slice(from, size).to_bytes();
        let partial = size % 8;
        let negative = match endian {
            Endian::Big => size > 0 && self.bit(from),
            Endian::Little if partial == 0 => size > 0 && self.bit(from + size - 8),
            Endian::Little => self.bit(from + size - partial),
        };
        // What remains of the last byte stands at its upper end.
        let value = match endian {
            Endian::Big => BigInt::from_bytes_be(Sign::Plus, &bytes) >> ((8 - partial) % 8),
            Endian::Little => {
                if partial != 0 {
                    *bytes.last_mut().expect("a partial byte") >>= 8 - partial;
                }
                BigInt::from_bytes_le(Sign::Plus, &bytes)
            }
        };
        if signed && negative { value - (BigInt::from(1) << size) } else { value }
    }

    /// Whether `other` stands at bit `from`.
    pub fn contains_at(&self, from: usize, other: &Bits) -> bool {
        from + other.len <= self.len && self.slice(from, other.len) == *other
    }
}

impl PartialEq for Bits {
    fn eq(&self, other: &Bits) -> bool {
        self.len == other.len && (0..self.len.div_ceil(8)).all(|index| self.byte(index) == other.byte(index))
    }
}

impl Eq for Bits {}

impl PartialOrd for Bits {
    fn partial_cmp(&self, other: &Bits) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Bits {
    /// Bit by bit; a prefix comes first.
    fn cmp(&self, other: &Bits) -> Ordering {
        let common = self.len.min(other.len);
        let (a, b) = (self.slice(0, common), other.slice(0, common));
        let bytes = 0..common.div_ceil(8);
        let difference = bytes.map(|index| a.byte(index).cmp(&b.byte(index))).find(|ordering| ordering.is_ne());
        difference.unwrap_or_else(|| self.len.cmp(&other.len))
    }
}

impl Hash for Bits {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.len.hash(state);
        self.to_bytes().hash(state);
    }
}

/// A bit string that is being put together.
#[derive(Clone, Default, Debug)]
pub struct Builder {
    bytes: Vec<u8>,
    len: usize,
}

impl Builder {
    /// Its length in bits so far.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing has been put in.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends the upper `count` bits of a byte.
    fn push_bits(&mut self, byte: u8, count: usize) {
        let byte = if count >= 8 { byte } else { byte & !(0xff >> count) };
        let shift = self.len % 8;
        if shift == 0 {
            self.bytes.push(byte);
        } else {
            *self.bytes.last_mut().expect("a partial byte") |= byte >> shift;
            if shift + count > 8 {
                self.bytes.push(byte << (8 - shift));
            }
        }
        self.len += count;
    }

    /// Appends bytes.
    pub fn push_bytes(&mut self, bytes: &[u8]) {
        if self.len.is_multiple_of(8) {
            self.bytes.extend_from_slice(bytes);
            self.len += bytes.len() * 8;
        } else {
            for &byte in bytes {
                self.push_bits(byte, 8);
            }
        }
    }

    /// Appends a bit string.
    pub fn push(&mut self, bits: &Bits) {
        if bits.is_binary() {
            self.push_bytes(&bits.to_bytes());
            return;
        }
        for index in 0..bits.len().div_ceil(8) {
            self.push_bits(bits.byte(index), (bits.len() - index * 8).min(8));
        }
    }

    /// Appends the lower `size` bits of an integer.
    pub fn push_integer(&mut self, value: &BigInt, size: usize, endian: Endian) {
        let modulus = BigInt::from(1) << size;
        let mut value = value % &modulus;
        if value.sign() == Sign::Minus {
            value += modulus;
        }
        let (_, little) = value.to_bytes_le();
        let mut bytes = little;
        bytes.resize(size.div_ceil(8), 0);
        let partial = size % 8;
        match endian {
            Endian::Little => {
                if partial != 0 {
                    let last = bytes.last_mut().expect("a partial byte");
                    *last <<= 8 - partial;
                }
                for (index, byte) in bytes.iter().enumerate() {
                    self.push_bits(*byte, (size - index * 8).min(8));
                }
            }
            Endian::Big => {
                bytes.reverse();
                let mut rest = bytes.as_slice();
                if partial != 0 {
                    self.push_bits(bytes[0] << (8 - partial), partial);
                    rest = &bytes[1..];
                }
                self.push_bytes(rest);
            }
        }
    }

    /// The bit string.
    pub fn finish(self) -> Bits {
        Bits { data: self.bytes.into(), start: 0, len: self.len }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_any_size_come_back() {
        for size in 1..40 {
            for endian in [Endian::Big, Endian::Little] {
                for offset in 0..9 {
                    let value = BigInt::from(0x5a_c3_96_e1_7du64) % (BigInt::from(1) << size);
                    let mut builder = Builder::default();
                    builder.push_integer(&BigInt::from(0), offset, Endian::Big);
                    builder.push_integer(&value, size, endian);
                    let bits = builder.finish();
                    assert_eq!(bits.len(), offset + size);
                    assert_eq!(bits.integer(offset, size, endian, false), value, "{size} bits at {offset}, {endian:?}");
                }
            }
        }
    }

    #[test]
    fn a_signed_integer_is_its_twos_complement() {
        let mut builder = Builder::default();
        builder.push_integer(&BigInt::from(-3), 12, Endian::Big);
        builder.push_integer(&BigInt::from(-3), 12, Endian::Little);
        let bits = builder.finish();
        assert_eq!(bits.integer(0, 12, Endian::Big, true), BigInt::from(-3));
        assert_eq!(bits.integer(12, 12, Endian::Little, true), BigInt::from(-3));
    }

    #[test]
    fn slices_compare_by_their_bits() {
        let bytes = Bits::from_bytes(&[0b1010_1010, 0b1010_1010]);
        assert_eq!(bytes.slice(0, 7), bytes.slice(2, 7));
        assert_ne!(bytes.slice(0, 7), bytes.slice(1, 7));
        assert!(bytes.slice(0, 7) < bytes.slice(0, 8));
    }
}
