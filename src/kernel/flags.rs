//! Eight flags, a byte each, as the bits of one byte.

/// The bits of eight bytes that are 0 or 1: byte k of `flags`, from the lowest on, becomes bit k.
#[inline]
pub(crate) fn packed(flags: u64) -> u8 {
    // The product has byte k at bit 56 + k, and no two bits meet.
    flags.wrapping_mul(0x0102_0408_1020_4080).to_be_bytes()[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_has_its_bit() {
        for bits in 0..=u8::MAX {
            let bytes = std::array::from_fn(|byte| bits >> byte & 1);
            assert_eq!(packed(u64::from_le_bytes(bytes)), bits);
        }
    }
}
