//! The 10,000 groups of four digits, as ASCII.

/// `FOUR_DIGITS[42]` is `b"0042"`.
#[expect(clippy::cast_possible_truncation, reason = "digits")]
pub(super) static FOUR_DIGITS: [[u8; 4]; 10_000] = {
    let mut table = [[0; 4]; 10_000];
    let mut value = 0;
    while value < 10_000 {
        table[value] = [
            b'0' + (value / 1000) as u8,
            b'0' + (value / 100 % 10) as u8,
            b'0' + (value / 10 % 10) as u8,
            b'0' + (value % 10) as u8,
        ];
        value += 1;
    }
    table
};
