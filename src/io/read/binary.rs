//! Fixed-width values in either byte order.

use crate::number::Format;

/// Values converted before they are handed over.
const BATCH: usize = 1024;

/// Hands the values of `bytes`, a whole number of them, to `sink`.
pub(crate) fn values(format: Format, bytes: &[u8], mut sink: impl FnMut(&[u64])) {
    let mut batch = [0_u64; BATCH];
    match format {
        Format::Text | Format::Noted(_) => {}
        Format::U32Le => convert(bytes, &mut batch, |b| u32::from_le_bytes(b).into(), &mut sink),
        Format::U32Be => convert(bytes, &mut batch, |b| u32::from_be_bytes(b).into(), &mut sink),
        Format::U64Le => convert(bytes, &mut batch, u64::from_le_bytes, &mut sink),
        Format::U64Be => convert(bytes, &mut batch, u64::from_be_bytes, &mut sink),
    }
}

fn convert<const WIDTH: usize>(
    bytes: &[u8],
    batch: &mut [u64; BATCH],
    value: impl Fn([u8; WIDTH]) -> u64,
    sink: &mut impl FnMut(&[u64]),
) {
    let (values, _) = bytes.as_chunks::<WIDTH>();
    for part in values.chunks(BATCH) {
        for (slot, bytes) in batch.iter_mut().zip(part) {
            *slot = value(*bytes);
        }
        sink(&batch[..part.len()]);
    }
}
