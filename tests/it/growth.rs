//! Ten times the input takes about ten times the work, counted in steps.

use crate::workspace::Workspace;
use std::fmt::Write;

/// Steps that a run took, of a build that counts them.
fn steps(work: &Workspace, line: &str, input: &str) -> Option<u64> {
    let ran = work.set(&format!("{line} --stats=json"), input);
    assert!(matches!(ran.code, Some(0 | 1)), "{line}: {ran:?}");
    let (_, rest) = ran.err.split_once("\"steps\":")?;
    rest.split([',', '}']).next().unwrap().parse().ok()
}

fn text(values: impl Iterator<Item = u64>) -> String {
    values.fold(String::new(), |mut text, value| {
        writeln!(text, "{value}").unwrap();
        text
    })
}

/// Values that neither ascend nor repeat much, of a universe as large as their number asks.
fn scattered(count: u64, salt: u64) -> impl Iterator<Item = u64> {
    (0..count).map(move |i| ((i + salt).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20) % (count * 50))
}

/// Commands; `N` stands for the size, `MANY` for as many sets.
const COMMANDS: &str = "\
build textN -o new
build textN --to roaring -o new
contains setN 5
contains setN < textN
filter setN textN
filter otherN textN
info setN
info denseN
plot setN -o map.png
count setN
count setN 5 100000
min setN
max setN
rank setN 100000
select setN 1000
range setN 0 18446744073709551615
range denseN 0 18446744073709551615
gaps setN
gaps denseN
sample setN wantedN
sample denseN wantedN
and setN otherN
or setN otherN
xor setN otherN
andnot setN otherN
or MANY
xor MANY
andnot MANY
cat MANY
and MANY
at-least 2 MANY
eval 'a&(b|c)-d' a=setN b=otherN c=denseN d=setN
compare setN otherN
diff setN otherN
diff denseN setN
apply setN diffN
add setN < textN
remove setN < textN
cat setN
convert rawN --from bitmap-lsb -o new
verify setN
verify denseN
identify setN
group rowsN --key 1 --column 2 -o new.sets
overlap keyedN.sets --top 1
overlap keyedN.sets --top 1 --by lift
overlap keyedN.sets --top 1 --by jaccard
overlap hotN.sets --top 1
overlap hotN.sets --top 1 --by jaccard
keys-of keyedN.sets 16777259
info keyedN.sets
verify keyedN.sets
or keyedN.sets keyedN.sets -o new.sets
bloom build textN -o new.bloom -n 100000
bloom contains filterN < textN
bloom filter filterN textN
bloom dedup textN
bloom common textN textN";

#[test]
fn ten_times_the_input_takes_ten_times_the_work() {
    let work = Workspace::new();
    let sizes = [2000_u64, 20_000];
    for size in sizes {
        work.write(&format!("text{size}"), text(scattered(size, 0)));
        work.write(&format!("apart{size}"), text(scattered(size, size / 2)));
        for (from, to) in [("text", "set"), ("apart", "other")] {
            work.set(&format!("build {from}{size} -o {to}{size}"), "").quiet();
        }
        work.set(&format!("eval 0..{} -o dense{size} --to dense", size * 400), "").quiet();
        let diff = work.set(&format!("diff set{size} other{size}"), "");
        work.write(&format!("diff{size}"), diff.out);
        let bytes: Vec<u8> = scattered(size, 1).map(|value| value.to_le_bytes()[0]).collect();
        work.write(&format!("raw{size}"), bytes);
        // Sets of two ids that no other container has, each shared by two sets.
        let rows =
            (0..size).map(|row| format!("k{},{}\n", row / 2, (row / 2 + row % 2) * 16_777_259));
        work.write(&format!("rows{size}"), rows.collect::<String>());
        let group = format!("group rows{size} --key 1 --column 2 -o keyed{size}.sets");
        work.set(&group, "").quiet();
        // Sets of an id that all have, one that two have, and one of their own.
        let rows = (0..2 * size)
            .map(|key| format!("k{key},5\nk{key},{}\nk{key},{}\n", 100 + key / 2, 1_000_000 + key));
        let group = format!("group - --key 1 --column 2 -o hot{size}.sets");
        work.set(&group, &rows.collect::<String>()).quiet();
        work.set(&format!("bloom build text{size} -n 20000 -o filter{size}"), "").quiet();
        for set in 0..size / 100 {
            // Of its own keys and of keys that all have.
            let values = scattered(100, set).chain((0..100).map(|i| (set << 20) + i * 3000));
            work.set(&format!("build - -o {size}-{set}"), &text(values)).quiet();
        }
    }
    let mut counted = 0;
    for line in COMMANDS.lines() {
        let [small, large] = sizes.map(|size| {
            let many: Vec<_> = (0..size / 100).map(|set| format!("{size}-{set}")).collect();
            let line =
                line.replace("MANY", &many.join(" ")).replace("wantedN", &(size / 10).to_string());
            let line = line.replace('N', &size.to_string());
            let (line, input) = line.split_once(" < ").unwrap_or((&line, ""));
            let input = if input.is_empty() { String::new() } else { work.read(input) };
            steps(&work, line, &input)
        });
        let Some((small, large)) = small.zip(large) else { continue };
        counted += 1;
        // Some more than ten times: few values may take a way of less work.
        assert!(large <= 14 * small + 3000, "{line}: {small} and {large} steps");
    }
    println!("{counted} commands counted their steps");
    // A release build counts none.
    assert!(counted > 50 || !cfg!(debug_assertions), "{counted}");
}

/// Every line is the second one of a record that goes on to the end of the file, and
/// begins such a record.
#[test]
fn records_that_never_end_are_not_read_again_for_each_of_their_lines() {
    let work = Workspace::new();
    work.set("build - -o set", "7\n").quiet();
    // Several blocks of records, as more than one is what was read again.
    let sizes = [4 << 20, 16 << 20];
    for size in sizes {
        work.write(&format!("text{size}"), "x\",\"y\n".repeat(size / 6));
    }
    for line in [
        "build textN --column 1 --skip-invalid -o new",
        "filter set textN --column 1 --skip-invalid",
        "bloom filter keys textN --column 1",
    ] {
        work.set("bloom build - -o keys -n 10", "7\n").quiet();
        let [small, large] =
            sizes.map(|size| steps(&work, &line.replace('N', &size.to_string()), ""));
        let Some((small, large)) = small.zip(large) else { continue };
        assert!(small > 0 && large <= 5 * small, "{line}: {small} and {large} steps");
    }
}

/// A set that is read as ranges comes to its file in runs, in place of values.
#[test]
fn numbers_in_a_notation_with_ranges_take_about_as_much_work_as_others() {
    let work = Workspace::new();
    work.write("text", text(scattered(20_000, 0).map(|value| value << 12)));
    let [plain, ranges] =
        ["", " --ranges"].map(|notation| steps(&work, &format!("build text -o new{notation}"), ""));
    let Some((plain, ranges)) = plain.zip(ranges) else { return };
    assert!(ranges <= 4 * plain + 3000, "{plain} and {ranges} steps");
    assert_eq!(work.set("cat new", "").out.lines().count(), 20_000);
}
