//! How many faults were injected, and how many were survived.

/// Counts by category, and what went wrong.
#[derive(Default)]
pub(super) struct Tally {
    rows: Vec<Row>,
    /// Rows that were printed.
    printed: usize,
    wrong: Vec<String>,
}

struct Row {
    category: &'static str,
    injected: u32,
    survived: u32,
    /// Faults that came in time: the run did not end as if there were none.
    felt: u32,
}

/// What a run made of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Survived {
    /// It ended as it would have without.
    Unmoved,
    /// It ended early or otherwise, as it should.
    Felt,
}

impl Tally {
    pub(super) fn count(&mut self, category: &'static str, outcome: Result<Survived, String>) {
        let row = if let Some(index) = self.rows.iter().position(|row| row.category == category) {
            &mut self.rows[index]
        } else {
            self.rows.push(Row { category, injected: 0, survived: 0, felt: 0 });
            self.rows.last_mut().unwrap()
        };
        row.injected += 1;
        match outcome {
            Ok(survived) => {
                row.survived += 1;
                row.felt += u32::from(survived == Survived::Felt);
            }
            Err(what) => self.wrong.push(format!("{category}: {what}")),
        }
    }

    /// Prints what was not printed before.
    pub(super) fn print(&mut self) {
        for row in &self.rows[self.printed..] {
            let Row { category, injected, survived, felt } = row;
            println!(
                "{category:<40} injected {injected:>4}, felt {felt:>4}, survived {survived:>4}"
            );
        }
        self.printed = self.rows.len();
    }

    /// Prints the sum; fails if a fault was not survived, or, among many, none
    /// of a category was felt.
    pub(super) fn close(mut self, many: bool) {
        self.print();
        let sum = |count: fn(&Row) -> u32| self.rows.iter().map(count).sum::<u32>();
        let (injected, survived) = (sum(|row| row.injected), sum(|row| row.survived));
        println!("faults injected {injected}, survived {survived}");
        assert!(self.wrong.is_empty(), "{}", self.wrong.join("\n"));
        for row in &self.rows {
            assert!(row.felt > 0 || !many, "{}: no run felt it", row.category);
        }
    }
}
