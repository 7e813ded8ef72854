//! Values in bytes.

#[inline]
pub(super) fn read8(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

#[inline]
pub(super) fn write8(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

/// The low `size` bytes, 1 to 8, of a value.
#[inline]
pub(super) fn mask(value: u64, size: u8) -> u64 {
    debug_assert!((1..=8).contains(&size), "accesses have 1 to 8 bytes");
    value & (u64::MAX >> ((64 - 8 * u32::from(size)) & 63))
}

/// The low `size` bytes of `new`, the others of `old`.
#[inline]
pub(super) fn blend(old: u64, new: u64, size: u8) -> u64 {
    let keep = !mask(u64::MAX, size);
    (old & keep) | (new & !keep)
}

/// One byte per bit.
pub(super) fn spread(bits: u8) -> u64 {
    (0..8).fold(0, |bytes, n| bytes | u64::from(bits >> n & 1) << (8 * n))
}
