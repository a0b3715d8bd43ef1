//! Arrow IPC, as a file or as a stream in a file: record batches.

use super::bytes::FileBytes;
use super::columns::{
    Candidate, KEYS, Opened, Refused, Stored, Which, choose, choose_numbers, invalid, of_packed,
    unsupported,
};
use super::{Rows, TableOptions, TakeText, too_large};
use crate::io::caught::caught;
use crate::kernel::in_usize;
use arrow_array::cast::AsArray;
use arrow_array::types as kinds;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType};
use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::{FileDecoder, read_footer_length, read_record_batch};
use arrow_ipc::{Block, Message, MessageHeader, MetadataVersion, root_as_footer, root_as_message};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;

const MAGIC: &[u8] = b"ARROW1";
/// The magic number, padded.
const HEAD_BYTES: u64 = 8;
/// The bytes of the footer, and the magic number.
const TAIL_BYTES: u64 = 10;
/// The mark at the end of a stream.
const END_BYTES: u64 = 8;
/// Stands before the length of a message.
const CONTINUATION: [u8; 4] = [0xFF; 4];

/// One column of a file.
#[derive(Debug)]
pub(super) struct ArrowTable {
    bytes: FileBytes,
    values: Reader,
    stored: Stored,
    keys: Option<Box<Reader>>,
    batches: Vec<Block>,
    /// About the bytes of the schema in memory.
    schema_bytes: u64,
    dictionary_bytes: u64,
}

/// How a column is decoded.
#[derive(Debug)]
struct Reader {
    /// The decoder of the column; of a column with a dictionary, it gives the places in it.
    decoder: FileDecoder,
    dictionary: Option<Dictionary>,
    buffers: ColumnBuffers,
}

/// Which buffers of a batch a column has. The texts of a column of views lie in any
/// number of buffers.
#[derive(Debug, Clone, Copy)]
struct ColumnBuffers {
    /// The buffers of the columns before it, without those of the texts of views, and how many of
    /// these columns have views; none if nobody can tell.
    before: Option<(usize, usize)>,
    /// The same of the column.
    own: Option<(usize, usize)>,
}

impl ColumnBuffers {
    fn of(schema: &Schema, column: usize) -> Self {
        let fields = schema.fields();
        let [before, own] = [0..column, column..column + 1]
            .map(|columns| buffers_of(columns.filter_map(|column| fields.get(column))));
        Self { before, own }
    }

    fn has_views(self) -> bool {
        self.own.is_some_and(|(_, views)| views > 0)
    }

    /// The numbers of the buffers in `batch`; all if nobody can tell.
    fn range(self, batch: &arrow_ipc::RecordBatch<'_>) -> Range<usize> {
        let range = || {
            let ((fixed, views), (own_fixed, own_views)) = self.before.zip(self.own)?;
            let mut counts = batch.variadicBufferCounts().into_iter().flatten().map(in_usize);
            // A batch that says too few of them is refused when it is decoded.
            let mut texts = |views| counts.by_ref().take(views).fold(0, usize::saturating_add);
            let first = fixed.saturating_add(texts(views));
            Some(first..first.saturating_add(own_fixed).saturating_add(texts(own_views)))
        };
        range().unwrap_or(0..usize::MAX)
    }
}

/// Refuses runs in these fields in an old version of the format: some writers give them a buffer that
/// the decoder does not pass over.
fn check_runs(version: MetadataVersion, fields: &[Arc<Field>]) -> io::Result<()> {
    let schema = Schema::new(fields.to_vec());
    let mut fields = schema.flattened_fields().into_iter();
    let has_runs = |field: &Field| matches!(field.data_type(), DataType::RunEndEncoded(..));
    if version < MetadataVersion::V5 && fields.any(has_runs) {
        let what = "a column of runs in an old version of the format: write it in version 5";
        return Err(unsupported(what));
    }
    Ok(())
}

/// The buffers of fields, without those of the texts of views, and the number of columns of views.
fn buffers_of<'f>(fields: impl IntoIterator<Item = &'f Arc<Field>>) -> Option<(usize, usize)> {
    let mut all = (0, 0);
    for field in fields {
        let (own, children) = match field.data_type() {
            DataType::Null => (0, Vec::new()),
            DataType::Utf8View | DataType::BinaryView => {
                all.1 += 1;
                (2, Vec::new())
            }
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary => {
                (3, Vec::new())
            }
            DataType::List(child) | DataType::LargeList(child) | DataType::Map(child, _) => {
                (2, vec![child])
            }
            DataType::ListView(child) | DataType::LargeListView(child) => (3, vec![child]),
            DataType::FixedSizeList(child, _) => (1, vec![child]),
            DataType::Struct(children) => (1, children.iter().collect()),
            DataType::RunEndEncoded(ends, values) => (0, vec![ends, values]),
            DataType::Union(..) => return None, // it depends on the version
            _ => (2, Vec::new()),
        };
        let inner = buffers_of(children)?;
        all = (all.0 + own + inner.0, all.1 + inner.1);
    }
    Some(all)
}

/// The values of a column that is encoded: one array after the other.
type Dictionary = Arc<[ArrayRef]>;

/// A column of a record batch.
pub(super) struct BatchColumn {
    column: ArrayRef,
    dictionary: Option<Dictionary>,
    at: usize,
}

/// The schema and the batches of a file.
struct Outline {
    schema: Schema,
    version: MetadataVersion,
    /// The dictionaries of the columns, by their numbers.
    encodings: Vec<Option<i64>>,
    batches: Vec<Block>,
    /// The blocks of the dictionaries. In a stream, what a later one appends may come behind batches.
    dictionaries: Vec<Block>,
    /// How many of them come before the batches of a stream, so that the last one of a column counts.
    early: usize,
    rows: Vec<u64>,
    /// Whether a batch is packed.
    is_packed: bool,
}

fn error(error: ArrowError) -> io::Error {
    match error {
        ArrowError::IoError(_, cause) => of_packed(cause),
        ArrowError::IpcError(what) | ArrowError::ParseError(what) => invalid(what),
        other => invalid(other.to_string()),
    }
}

/// The schema of a file. Its bytes are sound: an error says what the crate does not know.
fn schema_of(schema: arrow_ipc::Schema<'_>) -> io::Result<Schema> {
    try_fb_to_schema(schema).map_err(|found| match found {
        ArrowError::ParseError(what) => unsupported(what),
        other => error(other),
    })
}

/// A message as it lies in a file.
struct Framed {
    /// The metadata, without its prefix.
    metadata: Vec<u8>,
    /// Bytes of the metadata and its prefix.
    head_bytes: u64,
}

/// The message at `at`; nothing at the end of a stream.
fn framed(bytes: &FileBytes, at: u64) -> io::Result<Option<Framed>> {
    if at == bytes.len {
        return Ok(None); // the stream ends without the mark, which may be left out
    }
    let word = |at: u64| -> io::Result<[u8; 4]> {
        bytes.at(at, 4)?.try_into().map_err(|_| invalid("a word is cut off"))
    };
    let first = word(at)?;
    let (prefix, len) = if first == CONTINUATION { (8, word(at + 4)?) } else { (4, first) };
    let len = u32::from_le_bytes(len);
    if len == 0 {
        return Ok(None);
    }
    let metadata = bytes.at(at + prefix, len.into())?;
    Ok(Some(Framed { metadata, head_bytes: prefix + u64::from(len) }))
}

fn message(metadata: &[u8]) -> io::Result<Message<'_>> {
    root_as_message(metadata).map_err(|error| invalid(error.to_string()))
}

/// Place of a message, and the bytes of its metadata and of the whole.
fn place_of(block: &Block) -> io::Result<(u64, u64, u64)> {
    let negative = |_| invalid("a record batch lies before the beginning of the file");
    let at = u64::try_from(block.offset()).map_err(negative)?;
    let head_bytes = u64::try_from(block.metaDataLength()).map_err(negative)?;
    let body_bytes = u64::try_from(block.bodyLength()).map_err(negative)?;
    Ok((at, head_bytes, head_bytes.saturating_add(body_bytes)))
}

/// Rows of a record batch, and whether it is packed; fails if the message is no record batch.
fn rows_of(message: &Message<'_>) -> io::Result<(u64, bool)> {
    let batch = message.header_as_record_batch();
    let rows = batch.and_then(|batch| {
        Some((u64::try_from(batch.length()).ok()?, batch.compression().is_some()))
    });
    rows.ok_or_else(|| invalid("a message is no record batch"))
}

/// For each column, the number of its dictionary, if it has one.
fn encodings_of(schema: &arrow_ipc::Schema<'_>) -> Vec<Option<i64>> {
    let fields = schema.fields();
    let id = |field: arrow_ipc::Field<'_>| field.dictionary().map(|encoding| encoding.id());
    fields.iter().flatten().map(id).collect()
}

/// Refuses numbers in another byte order than that of this machine: the decoder does not change it.
fn check_byte_order(schema: &arrow_ipc::Schema<'_>) -> io::Result<()> {
    if schema.endianness().equals_to_target_endianness() {
        return Ok(());
    }
    Err(unsupported("its numbers are in the byte order of another machine"))
}

/// Refuses an outline of so many batches that takes too much memory.
fn check_batches(count: usize, limit_bytes: u64) -> io::Result<()> {
    let outline_bytes = (count * (size_of::<Block>() + size_of::<u64>())) as u64;
    if outline_bytes > limit_bytes {
        return Err(too_large("its outline", outline_bytes, limit_bytes));
    }
    Ok(())
}

impl Outline {
    /// Reads the outline from the footer of a file.
    fn of_file(bytes: &FileBytes) -> io::Result<Self> {
        let tail_at = bytes.len.saturating_sub(TAIL_BYTES);
        let tail = bytes.at(tail_at, TAIL_BYTES)?;
        let tail = tail.try_into().map_err(|_| invalid("the file is cut off"))?;
        let footer_bytes = read_footer_length(tail).map_err(error)? as u64;
        let footer_at = tail_at.checked_sub(footer_bytes);
        let footer_at = footer_at.ok_or_else(|| invalid("the footer is longer than the file"))?;
        let footer = bytes.at(footer_at, footer_bytes)?;
        let footer = root_as_footer(&footer).map_err(|error| invalid(error.to_string()))?;
        let schema = footer.schema().ok_or_else(|| invalid("the file has no schema"))?;
        check_byte_order(&schema)?;
        let encodings = encodings_of(&schema);
        let schema = schema_of(schema)?;
        let batches: Vec<Block> = footer.recordBatches().iter().flatten().copied().collect();
        check_batches(batches.len(), bytes.limit_bytes)?;
        let mut rows = Vec::with_capacity(batches.len());
        // Some writers give the footer a newer version than the messages.
        let (mut version, mut is_packed) = (footer.version(), false);
        for block in &batches {
            let at = u64::try_from(block.offset()).map_err(|_| invalid("a negative offset"))?;
            let found = framed(bytes, at)?.ok_or_else(|| invalid("a record batch is missing"))?;
            if i64::from(block.metaDataLength()) != found.head_bytes.cast_signed() {
                return Err(invalid("the footer does not fit its record batches"));
            }
            let message = message(&found.metadata)?;
            version = message.version();
            let (count, packed) = rows_of(&message)?;
            rows.push(count);
            is_packed |= packed;
        }
        let dictionaries = footer.dictionaries().iter().flatten().copied().collect();
        Ok(Self { schema, version, encodings, batches, dictionaries, early: 0, rows, is_packed })
    }

    /// Reads the outline of a file or a stream. It stays in memory, so it takes no more than it needs.
    fn of(bytes: &FileBytes) -> io::Result<Self> {
        let head = bytes.at(0, HEAD_BYTES.min(bytes.len))?;
        let is_file = head.starts_with(MAGIC);
        let mut outline = if is_file { Self::of_file(bytes) } else { Self::of_stream(bytes) }?;
        outline.batches.shrink_to_fit();
        outline.rows.shrink_to_fit();
        Ok(outline)
    }

    /// Reads the outline from the messages of a stream.
    fn of_stream(bytes: &FileBytes) -> io::Result<Self> {
        let first = framed(bytes, 0)?.ok_or_else(|| invalid("the stream is empty"))?;
        let head = message(&first.metadata)?;
        let schema = head.header_as_schema().ok_or_else(|| invalid("the stream has no schema"))?;
        check_byte_order(&schema)?;
        let encodings = encodings_of(&schema);
        let (schema, version) = (schema_of(schema)?, head.version());
        let (mut batches, mut dictionaries, mut rows) = (Vec::new(), Vec::new(), Vec::new());
        let (mut at, mut early, mut is_packed) = (first.head_bytes, 0, false);
        while let Some(found) = framed(bytes, at)? {
            let message = message(&found.metadata)?;
            let body = u64::try_from(message.bodyLength());
            let body = body.ok().filter(|&body| body <= bytes.len);
            let body = body.ok_or_else(|| invalid("a message has no length"))?;
            let head_bytes = i32::try_from(found.head_bytes);
            let head_bytes = head_bytes.map_err(|_| invalid("a message is too long"))?;
            let block = Block::new(at.cast_signed(), head_bytes, body.cast_signed());
            match message.header_type() {
                MessageHeader::RecordBatch => {
                    let (count, packed) = rows_of(&message)?;
                    rows.push(count);
                    is_packed |= packed;
                    batches.push(block);
                    check_batches(batches.len(), bytes.limit_bytes)?;
                }
                MessageHeader::DictionaryBatch => {
                    dictionaries.push(block);
                    early += usize::from(batches.is_empty());
                    check_batches(dictionaries.len(), bytes.limit_bytes)?;
                }
                _ => {}
            }
            at += found.head_bytes + body;
        }
        if bytes.len > at.saturating_add(END_BYTES) {
            return Err(unsupported(
                "something follows the end of the stream: make it a file of its own",
            ));
        }
        Ok(Self { schema, version, encodings, batches, dictionaries, early, rows, is_packed })
    }
}

/// The columns of a schema, each with its type if that is none of the wanted ones.
fn candidates(schema: &Schema, is_right: impl Fn(&DataType) -> bool) -> Vec<Candidate> {
    let candidate = |field: &Arc<Field>| {
        let kind = field.data_type();
        let other = (!is_right(kind)).then(|| kind.to_string());
        let (is_text, is_decimal) = (is_text(kind), is_decimal(kind));
        Candidate { name: field.name().clone(), other, is_text, is_decimal }
    };
    schema.fields().iter().map(candidate).collect()
}

impl ArrowTable {
    pub(super) fn file(&self) -> &std::fs::File {
        &self.bytes.file
    }

    pub(super) fn open(
        mut bytes: FileBytes,
        options: TableOptions<'_>,
    ) -> Result<Opened<Self>, Refused> {
        let TableOptions { column: wanted, keys, .. } = options;
        let outline = caught(|| Outline::of(&bytes))?;
        let Outline { schema, version, encodings, batches, dictionaries, early, rows, is_packed } =
            outline;
        // Integers that are values of a dictionary may be codes of names: prefer plain ones.
        let has_plain = schema.fields().iter().any(|field| field.data_type().is_integer());
        let takes_encoded = wanted.is_some() || !has_plain;
        let is_id =
            |kind: &DataType| kind.is_integer() || takes_encoded && is_encoded_integer(kind);
        let (column, stored) = choose_numbers(&candidates(&schema, is_id), wanted)?;
        let may_be_keys = |kind: &DataType| kind.is_integer() || is_key(kind);
        let choose_keys = |wanted| choose(&candidates(&schema, may_be_keys), Some(wanted), KEYS);
        let keys = keys.map(choose_keys).transpose()?;
        check_runs(version, &schema.fields()[..=column.max(keys.unwrap_or(0))])?;
        let places = Arc::new(with_places(&schema));
        let mut left = options.memory_bytes / 2;
        let mut reader = |column: usize| -> io::Result<Reader> {
            let decoder = FileDecoder::new(Arc::clone(&places), version);
            let decoder = decoder.with_projection(vec![column]);
            let kind = schema.field(column).data_type();
            let dictionary = match kind {
                // A file without rows may have no dictionaries.
                DataType::Dictionary(..) if rows.iter().all(|&rows| rows == 0) => {
                    Some(Vec::new().into())
                }
                DataType::Dictionary(_, values) => {
                    let id = encodings.get(column).copied().flatten();
                    let bytes = FileBytes { limit_bytes: left, ..bytes.clone() };
                    let blocks = dictionaries.split_at(early);
                    let (dictionary, taken) = read_dictionary(&bytes, id, values, blocks)?;
                    left -= taken;
                    Some(dictionary)
                }
                _ => None,
            };
            Ok(Reader { decoder, dictionary, buffers: ColumnBuffers::of(&schema, column) })
        };
        let values = reader(column)?;
        let keys = keys.map(&mut reader).transpose()?.map(Box::new);
        // All threads have the dictionaries together, and share what these leave.
        let taken = options.memory_bytes / 2 - left;
        let options = TableOptions { memory_bytes: options.memory_bytes - taken, ..options };
        let sizes = batches.iter().filter_map(|block| place_of(block).ok());
        let packed_bytes = sizes.map(|(_, _, whole)| whole).max().unwrap_or(0);
        let readers = std::iter::once(&values).chain(keys.as_deref());
        let columns: Vec<_> = readers.map(|reader| reader.buffers).collect();
        let unpacked_bytes =
            if is_packed { unpacked_bytes(&bytes, &batches, &rows, &columns) } else { 0 };
        let page_bytes = packed_bytes.max(unpacked_bytes).max(TableOptions::USUAL_PAGE_BYTES);
        let share = options.share_of_pages(page_bytes);
        bytes.limit_bytes = options.page_bytes(share);
        // The decoder has a schema, and so has that of the keys.
        let schema_bytes = (schema.fields().size() * (1 + usize::from(keys.is_some()))) as u64;
        let table =
            Self { bytes, values, stored, keys, batches, schema_bytes, dictionary_bytes: taken };
        Ok(Opened { table, rows, share })
    }

    /// About the bytes that it takes in memory.
    pub(super) fn held_bytes(&self) -> u64 {
        let places = (self.batches.capacity() * size_of::<Block>()) as u64;
        places.saturating_add(self.schema_bytes).saturating_add(self.dictionary_bytes)
    }

    /// How the numbers are stored; [`BatchColumn::texts`] gives all but integers.
    pub(super) fn stored(&self) -> Stored {
        self.stored
    }

    /// Begins to read a column of a piece.
    pub(super) fn column(&self, which: Which, piece: usize, rows: u64) -> io::Result<BatchColumn> {
        let reader = match which {
            Which::Numbers => &self.values,
            Which::Keys => {
                self.keys.as_ref().ok_or_else(|| invalid("no column of keys is chosen"))?
            }
        };
        self.part(reader, piece, rows)
    }

    /// The column of `reader` in a record batch.
    fn part(&self, reader: &Reader, piece: usize, rows: u64) -> io::Result<BatchColumn> {
        let block = self.batches.get(piece).ok_or_else(|| invalid("a record batch is missing"))?;
        let (at, head_bytes, whole) = place_of(block)?;
        if whole > self.bytes.limit_bytes && at.saturating_add(whole) <= self.bytes.len {
            return Err(too_large("a record batch", whole, self.bytes.limit_bytes));
        }
        let buffer = Buffer::from_vec(self.bytes.at(at, whole)?);
        let (limit_bytes, own) = (self.bytes.limit_bytes, reader.buffers);
        let unpacked =
            check(&buffer, head_bytes, MessageHeader::RecordBatch, limit_bytes, |batch| {
                own.range(batch)
            })?;
        // The texts of views lie in many buffers, which are only together too large.
        if own.has_views() && unpacked > limit_bytes {
            return Err(too_large("a column of a record batch", unpacked, limit_bytes));
        }
        let batch = caught(|| reader.decoder.read_record_batch(block, &buffer).map_err(error))?;
        let column = batch.and_then(|batch| batch.columns().first().cloned());
        let column = column.ok_or_else(|| invalid("a record batch lacks the column"))?;
        if column.len() as u64 != rows {
            return Err(invalid("a record batch has another number of rows than it says"));
        }
        Ok(BatchColumn { column, dictionary: reader.dictionary.clone(), at: 0 })
    }
}

/// Reads the dictionary of this number, which stays in memory, and passes over others. It may grow; those
/// in the first of `blocks` may also take each other's place. Also gives the bytes that it takes,
/// packed and unpacked together: at most the limit of `bytes`.
fn read_dictionary(
    bytes: &FileBytes,
    id: Option<i64>,
    values: &DataType,
    (early, late): (&[Block], &[Block]),
) -> io::Result<(Dictionary, u64)> {
    let schema = Arc::new(Schema::new(vec![Field::new("values", values.clone(), true)]));
    let (mut parts, mut taken) = (Vec::new(), 0_u64);
    let mut take = |more: u64| {
        taken = taken.saturating_add(more);
        if taken > bytes.limit_bytes {
            return Err(too_large("a dictionary", taken, bytes.limit_bytes));
        }
        Ok(())
    };
    for (index, block) in early.iter().chain(late).enumerate() {
        let (at, head_bytes, whole) = place_of(block)?;
        let found = framed(bytes, at)?.ok_or_else(|| invalid("a dictionary is missing"))?;
        let head = message(&found.metadata)?;
        let batch = head.header_as_dictionary_batch();
        let batch = batch.ok_or_else(|| invalid("a message is no dictionary"))?;
        if Some(batch.id()) != id {
            continue;
        }
        if found.head_bytes != head_bytes {
            return Err(invalid("the footer does not fit its dictionaries"));
        }
        if at.saturating_add(whole) <= bytes.len {
            take(whole)?;
        }
        let buffer = Buffer::from_vec(bytes.at(at, whole)?);
        let kind = MessageHeader::DictionaryBatch;
        take(check(&buffer, head_bytes, kind, bytes.limit_bytes, |_| 0..usize::MAX)?)?;
        let values = batch.data().ok_or_else(|| invalid("a dictionary has no values"))?;
        let head_bytes = in_usize(head_bytes); // `of_stream` has checked it
        let (body, none) = (buffer.slice(head_bytes), HashMap::new());
        let schema = Arc::clone(&schema);
        let read = caught(|| {
            read_record_batch(&body, values, schema, &none, None, &head.version()).map_err(error)
        })?;
        if !batch.isDelta() && !parts.is_empty() {
            if index >= early.len() {
                let what = "the dictionary of the column is replaced, and earlier rows would lose \
                            theirs: write the column without one";
                return Err(unsupported(what));
            }
            parts.clear();
        }
        parts.extend(read.columns().first().cloned());
    }
    if parts.is_empty() {
        return Err(invalid("a column has no dictionary"));
    }
    Ok((parts.into(), taken))
}

/// The most bytes that a buffer of these columns takes after unpacking, or all buffers of a column of
/// views, by a look at the batches with the most rows. Damage is an error when a batch is
/// read, and so is one that takes more.
fn unpacked_bytes(
    bytes: &FileBytes,
    batches: &[Block],
    rows: &[u64],
    columns: &[ColumnBuffers],
) -> u64 {
    /// Batches to look at.
    const MOST: usize = 1 << 10;
    let mut order: Vec<usize> = (0..batches.len()).collect();
    let most = MOST.min(order.len());
    if most < order.len() {
        order.select_nth_unstable_by_key(most, |&batch| std::cmp::Reverse(rows[batch]));
    }
    let look = |&batch: &usize| -> io::Result<u64> {
        let (at, head_bytes, _) = place_of(&batches[batch])?;
        let found = framed(bytes, at)?.ok_or_else(|| invalid("a record batch is missing"))?;
        let message = message(&found.metadata)?;
        let batch = message.header_as_record_batch();
        let batch = batch.ok_or_else(|| invalid("a message is no record batch"))?;
        if batch.compression().is_none() {
            return Ok(0);
        }
        let unpacked = |buffer: &arrow_ipc::Buffer| -> io::Result<u64> {
            let start = u64::try_from(buffer.offset()).map_err(|_| invalid("a negative offset"))?;
            let start = at.saturating_add(head_bytes).saturating_add(start);
            let is_packed = buffer.length() >= 8;
            Ok(if is_packed { unpacked_len(&bytes.at(start, 8)?).unwrap_or(0) } else { 0 })
        };
        let mut most = 0;
        for own in columns {
            let range = own.range(&batch);
            let buffers = batch.buffers().into_iter().flatten();
            let mut sizes = buffers.skip(range.start).take(range.len()).map(unpacked);
            let join = if own.has_views() { u64::saturating_add } else { u64::max };
            most = sizes.try_fold(0, |sum, size| Ok::<_, io::Error>(join(sum, size?)))?.max(most);
        }
        Ok(most)
    };
    order[..most].iter().filter_map(|batch| caught(|| look(batch)).ok()).max().unwrap_or(0)
}

/// The length of a packed buffer after unpacking; none if it is not packed.
fn unpacked_len(packed: &[u8]) -> Option<u64> {
    u64::try_from(i64::from_le_bytes(*packed.first_chunk()?)).ok()
}

/// Refuses buffers that lie outside of their message, and those in `wanted`, a range of their numbers,
/// that take too much after unpacking; others are not unpacked. Gives the bytes that these take if they
/// are packed.
fn check(
    buffer: &Buffer,
    head_bytes: u64,
    kind: MessageHeader,
    limit_bytes: u64,
    wanted: impl Fn(&arrow_ipc::RecordBatch<'_>) -> Range<usize>,
) -> io::Result<u64> {
    let prefix = if buffer.starts_with(&CONTINUATION) { 8 } else { 4 };
    let head = in_usize(head_bytes);
    let metadata = buffer.get(prefix..head).ok_or_else(|| invalid("a message is cut off"))?;
    let message = message(metadata)?;
    let batch = match kind {
        MessageHeader::DictionaryBatch => {
            message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data())
        }
        _ => message.header_as_record_batch(),
    };
    let batch = batch.ok_or_else(|| invalid("a message is no record batch"))?;
    let body = buffer.get(head..).unwrap_or_default();
    let (mut sum, wanted) = (0_u64, wanted(&batch));
    for (number, place) in batch.buffers().iter().flatten().enumerate() {
        let range = usize::try_from(place.offset()).ok().zip(usize::try_from(place.length()).ok());
        let bytes = range.and_then(|(at, len)| body.get(at..at.checked_add(len)?));
        let bytes = bytes.ok_or_else(|| invalid("a buffer lies outside of its message"))?;
        if batch.compression().is_some()
            && wanted.contains(&number)
            && let Some(unpacked) = unpacked_len(bytes)
        {
            if unpacked > limit_bytes {
                return Err(too_large("a buffer", unpacked, limit_bytes));
            }
            sum = sum.saturating_add(unpacked);
        }
    }
    Ok(sum)
}

impl BatchColumn {
    /// The next `count` rows, or fewer at the end.
    fn next(&mut self, count: usize) -> ArrayRef {
        let count = count.min(self.column.len() - self.at);
        let rows = self.column.slice(self.at, count);
        self.at += count;
        rows
    }

    /// Appends the next `count` rows, or fewer at the end.
    pub(super) fn numbers(&mut self, count: usize, rows: &mut Rows) -> io::Result<()> {
        let part = self.next(count);
        let dictionary = self.dictionary.as_deref();
        let column = match dictionary {
            None => Integers::Plain(&part),
            Some(values) => Integers::Encoded(values, places_in(&part, values)?),
        };
        let values = dictionary.and_then(<[_]>::first).unwrap_or(&part);
        let signed = |value: i64| u64::try_from(value).map_err(|_| value);
        match values.data_type() {
            DataType::UInt8 => column.push::<kinds::UInt8Type>(rows, |v| Ok(v.into())),
            DataType::UInt16 => column.push::<kinds::UInt16Type>(rows, |v| Ok(v.into())),
            DataType::UInt32 => column.push::<kinds::UInt32Type>(rows, |v| Ok(v.into())),
            DataType::UInt64 => column.push::<kinds::UInt64Type>(rows, Ok),
            DataType::Int8 => column.push::<kinds::Int8Type>(rows, |v| signed(v.into())),
            DataType::Int16 => column.push::<kinds::Int16Type>(rows, |v| signed(v.into())),
            DataType::Int32 => column.push::<kinds::Int32Type>(rows, |v| signed(v.into())),
            DataType::Int64 => column.push::<kinds::Int64Type>(rows, signed),
            _ => None,
        }
        .ok_or_else(|| invalid("the column holds no integers"))
    }

    /// Hands over the texts or keys of the next `count` rows, or of fewer at the end.
    pub(super) fn texts(&mut self, count: usize, take: TakeText<'_>) -> io::Result<()> {
        let part = self.next(count);
        let Some(dictionary) = &self.dictionary else {
            return each_key(take, &part, 0..part.len());
        };
        // A place behind the last value stands for null.
        let places = places_in(&part, dictionary)?;
        let places = places.into_iter().map(|place| place.unwrap_or(usize::MAX));
        if let [values] = &dictionary[..] {
            return each_key(take, values, places);
        }
        for place in places {
            match value_at(dictionary, place) {
                Some((part, place)) => each_key(take, part, std::iter::once(place))?,
                None => take(None)?,
            }
        }
        Ok(())
    }
}

fn is_encoded_integer(kind: &DataType) -> bool {
    matches!(kind, DataType::Dictionary(_, values) if values.is_integer())
}

/// Whether a column of this type can have keys other than integers: strings, bytes, or any keys in
/// a dictionary.
fn is_key(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(_, values) => is_encoded_integer(kind) || is_key(values),
        DataType::FixedSizeBinary(_) => true,
        other => is_text(other),
    }
}

/// Whether a column of this type has texts or bytes of any length, or places of them.
fn is_text(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(_, values) => is_text(values),
        other => matches!(
            other,
            DataType::Utf8
                | DataType::LargeUtf8
                | DataType::Utf8View
                | DataType::Binary
                | DataType::LargeBinary
                | DataType::BinaryView
        ),
    }
}

fn is_decimal(kind: &DataType) -> bool {
    matches!(
        kind,
        DataType::Decimal32(_, 0)
            | DataType::Decimal64(_, 0)
            | DataType::Decimal128(_, 0)
            | DataType::Decimal256(_, 0)
    )
}

/// The schema, with places instead of values in the columns that have a dictionary.
fn with_places(schema: &Schema) -> Schema {
    let fields = schema.fields().iter().map(|field| match field.data_type() {
        DataType::Dictionary(places, _) => {
            field.as_ref().clone().with_data_type(places.as_ref().clone())
        }
        _ => field.as_ref().clone(),
    });
    Schema::new(fields.collect::<Vec<_>>())
}

/// The array of a dictionary that has the value of `place`, and the place in that array.
fn value_at<A: Array>(dictionary: &[A], mut place: usize) -> Option<(&A, usize)> {
    for part in dictionary {
        if place < part.len() {
            return Some((part, place));
        }
        place -= part.len();
    }
    None
}

/// The places that `array` has in a dictionary; none for a null.
fn places_in(array: &ArrayRef, dictionary: &[ArrayRef]) -> io::Result<Vec<Option<usize>>> {
    let places = places_of(array).ok_or_else(|| invalid("places are no integers"))?;
    let len = dictionary.iter().map(Array::len).sum();
    if places.iter().flatten().any(|place| *place >= len) {
        return Err(invalid("a value is not in the dictionary"));
    }
    Ok(places)
}

/// The places in an array of integers; none for a null. A negative place becomes one behind all
/// values.
fn places_of(array: &ArrayRef) -> Option<Vec<Option<usize>>> {
    macro_rules! places {
        ($kind:ty) => {{
            let places = array.as_primitive_opt::<$kind>()?.iter();
            let place = |place| in_usize(place);
            Some(places.map(|found| found.map(place)).collect())
        }};
    }
    match array.data_type() {
        DataType::UInt8 => places!(kinds::UInt8Type),
        DataType::UInt16 => places!(kinds::UInt16Type),
        DataType::UInt32 => places!(kinds::UInt32Type),
        DataType::UInt64 => places!(kinds::UInt64Type),
        DataType::Int8 => places!(kinds::Int8Type),
        DataType::Int16 => places!(kinds::Int16Type),
        DataType::Int32 => places!(kinds::Int32Type),
        DataType::Int64 => places!(kinds::Int64Type),
        _ => None,
    }
}

/// Hands over values of an array as keys, and a null where there is no value.
fn each_key(
    take: TakeText<'_>,
    array: &ArrayRef,
    places: impl Iterator<Item = usize>,
) -> io::Result<()> {
    fn each<T: AsRef<[u8]>>(
        take: TakeText<'_>,
        array: &ArrayRef,
        places: impl Iterator<Item = usize>,
        value: impl Fn(usize) -> T,
    ) -> io::Result<()> {
        for at in places {
            let is_there = at < array.len() && array.is_valid(at);
            let key = is_there.then(|| value(at));
            take(key.as_ref().map(AsRef::as_ref))?;
        }
        Ok(())
    }
    macro_rules! each {
        ($values:expr) => {{
            let values = $values;
            each(take, array, places, |at| values.value(at))
        }};
        (number $kind:ty) => {{
            let values = array.as_primitive::<$kind>();
            each(take, array, places, |at| values.value(at).to_string())
        }};
    }
    match array.data_type() {
        DataType::Utf8 => each!(array.as_string::<i32>()),
        DataType::LargeUtf8 => each!(array.as_string::<i64>()),
        DataType::Utf8View => each!(array.as_string_view()),
        DataType::Binary => each!(array.as_binary::<i32>()),
        DataType::LargeBinary => each!(array.as_binary::<i64>()),
        DataType::BinaryView => each!(array.as_binary_view()),
        DataType::FixedSizeBinary(_) => each!(array.as_fixed_size_binary()),
        DataType::UInt8 => each!(number kinds::UInt8Type),
        DataType::UInt16 => each!(number kinds::UInt16Type),
        DataType::UInt32 => each!(number kinds::UInt32Type),
        DataType::UInt64 => each!(number kinds::UInt64Type),
        DataType::Int8 => each!(number kinds::Int8Type),
        DataType::Int16 => each!(number kinds::Int16Type),
        DataType::Int32 => each!(number kinds::Int32Type),
        DataType::Int64 => each!(number kinds::Int64Type),
        DataType::Decimal32(..) => each!(number kinds::Decimal32Type),
        DataType::Decimal64(..) => each!(number kinds::Decimal64Type),
        DataType::Decimal128(..) => each!(number kinds::Decimal128Type),
        DataType::Decimal256(..) => each!(number kinds::Decimal256Type),
        _ => Err(invalid("the column holds no strings and no integers")),
    }
}

/// Rows of integers.
enum Integers<'a> {
    Plain(&'a ArrayRef),
    /// A dictionary, and the places in it.
    Encoded(&'a [ArrayRef], Vec<Option<usize>>),
}

impl Integers<'_> {
    /// Appends the rows, if they are of this type.
    fn push<T: ArrowPrimitiveType>(
        self,
        rows: &mut Rows,
        natural: impl Fn(T::Native) -> Result<u64, i64>,
    ) -> Option<()> {
        match self {
            Self::Plain(array) => {
                let array = array.as_primitive_opt::<T>()?;
                if array.null_count() == 0 {
                    rows.extend(array.values(), natural);
                } else {
                    rows.extend_some(array.iter(), natural);
                }
            }
            Self::Encoded(dictionary, places) => {
                let values = dictionary.iter().map(AsArray::as_primitive_opt::<T>);
                let values = values.collect::<Option<Vec<_>>>()?;
                let value = |place: usize| {
                    let (part, at) = value_at(&values, place)?;
                    part.is_valid(at).then(|| part.value(at))
                };
                rows.extend_some(places.into_iter().map(|place| value(place?)), natural);
            }
        }
        Some(())
    }
}
