//! The inverted index of a segment: tantivy's term dictionary and postings, without its queries and scoring.
//!
//! Both fields take ready terms: a value is a run of `LENGTH:TERM`, so that text is analysed once, at apply.

use std::fmt::Write as _;
use std::path::Path;

use tantivy::directory::{MmapDirectory, OwnedBytes};
use tantivy::fastfield::AliveBitSet;
use tantivy::index::{IndexSettings, InvertedIndexReader, SegmentReader};
use tantivy::indexer::merge_filtered_segments;
use tantivy::postings::{BlockSegmentPostings, TermInfo};
use tantivy::schema::{Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::{Token, TokenStream, Tokenizer, TokenizerManager};
use tantivy::{Index, Segment, SingleSegmentIndexWriter, TERMINATED, TantivyDocument};

use crate::ann::Scored;
use crate::bits::Bitset;
use crate::bm25::{Norms, Scores, Top, with_scores};
use crate::error::{Error, Result};
use crate::files::corrupt;
use crate::source::{RowSet, Selection, Verdict};

const TERMS: &str = "terms";
/// Fewer allowed rows than this share of a posting list are sought one by one.
const SEEK_SHARE: usize = 16;
/// Looking up what remains is worth a try where its postings are more than this share of the rows.
const PENDING_SHARE: usize = 4;
/// Looking up costs a pass over the sums first; it is tried once, where what was summed outweighs what remains so much.
const PROMISING: f32 = 4.0;

fn engine(error: impl std::fmt::Display) -> Error {
    Error::Engine(error.to_string())
}

fn schema() -> (Schema, Field, Field) {
    let mut schema = Schema::builder();
    let field = |option| {
        TextOptions::default().set_indexing_options(
            TextFieldIndexing::default()
                .set_tokenizer(TERMS)
                .set_index_option(option)
                .set_fieldnorms(false),
        )
    };
    let text = schema.add_text_field("text", field(IndexRecordOption::WithFreqs));
    let label = schema.add_text_field("label", field(IndexRecordOption::Basic));
    (schema.build(), text, label)
}

fn settings() -> IndexSettings {
    IndexSettings {
        docstore_compress_dedicated_thread: false,
        ..IndexSettings::default()
    }
}

/// Appends a term, `times` times, to a field's value.
pub(crate) fn push_term(value: &mut String, term: &str, times: u32) {
    for _ in 0..times {
        match u8::try_from(term.len()) {
            Ok(length @ 0..10) => value.push(char::from(b'0' + length)),
            Ok(length @ 10..100) => {
                value.push(char::from(b'0' + length / 10));
                value.push(char::from(b'0' + length % 10));
            }
            _ => {
                let _ = write!(value, "{}", term.len());
            }
        }
        value.push(':');
        value.push_str(term);
    }
}

/// Reads what [`push_term`] wrote.
#[derive(Clone, Default)]
struct ReadyTerms(Token);

struct ReadyStream<'a> {
    rest: &'a str,
    token: &'a mut Token,
}

impl Tokenizer for ReadyTerms {
    type TokenStream<'a> = ReadyStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Self::TokenStream<'a> {
        self.0.reset();
        ReadyStream {
            rest: text,
            token: &mut self.0,
        }
    }
}

impl TokenStream for ReadyStream<'_> {
    fn advance(&mut self) -> bool {
        let Some((length, rest)) = self.rest.split_once(':') else {
            return false;
        };
        let Some((term, rest)) = length
            .parse()
            .ok()
            .and_then(|length| rest.split_at_checked(length))
        else {
            return false;
        };
        self.rest = rest;
        self.token.text.clear();
        self.token.text.push_str(term);
        self.token.position = self.token.position.wrapping_add(1);
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

/// Writes the inverted index of a segment into an empty folder; documents are numbered in order.
pub(crate) struct LexicalWriter {
    writer: SingleSegmentIndexWriter,
    text: Field,
    label: Field,
}

impl LexicalWriter {
    pub(crate) fn create(dir: &Path, rows: usize) -> Result<Self> {
        let (schema, text, label) = schema();
        let tokenizers = TokenizerManager::new();
        tokenizers.register(TERMS, ReadyTerms::default());
        // The budget only sizes the term table; it grows as needed.
        let budget = (rows * 600).clamp(15_000_000, 128_000_000);
        let writer = Index::builder()
            .schema(schema)
            .settings(settings())
            .tokenizers(tokenizers)
            .single_segment_index_writer(MmapDirectory::open(dir).map_err(engine)?, budget)
            .map_err(engine)?;
        Ok(Self {
            writer,
            text,
            label,
        })
    }

    pub(crate) fn push(&mut self, terms: &str, labels: &str) -> Result<()> {
        let mut document = TantivyDocument::new();
        document.add_text(self.text, terms);
        document.add_text(self.label, labels);
        self.writer.add_document(document).map_err(engine)
    }

    pub(crate) fn finish(self) -> Result<()> {
        self.writer.finalize().map_err(engine)?;
        Ok(())
    }
}

/// The inverted index of a segment, open.
pub(crate) struct Lexical {
    segment: Segment,
    text: std::sync::Arc<InvertedIndexReader>,
    label: std::sync::Arc<InvertedIndexReader>,
}

impl Lexical {
    pub(crate) fn open(dir: &Path, rows: usize) -> Result<Self> {
        let broken = |error: tantivy::TantivyError| corrupt(dir, error.to_string());
        let directory =
            MmapDirectory::open(dir).map_err(|error| corrupt(dir, error.to_string()))?;
        let index = Index::open(directory).map_err(broken)?;
        let (expected, text, label) = schema();
        let segment = match index.searchable_segments().map_err(broken)?.as_slice() {
            [segment] if segment.schema() == expected => segment.clone(),
            _ => return Err(corrupt(dir, "does not hold one segment of our schema")),
        };
        let reader = SegmentReader::open(&segment).map_err(broken)?;
        if reader.max_doc() as usize != rows || reader.num_docs() as usize != rows {
            return Err(corrupt(
                dir,
                format!("has {} documents for {rows} rows", reader.max_doc()),
            ));
        }
        Ok(Self {
            text: reader.inverted_index(text).map_err(broken)?,
            label: reader.inverted_index(label).map_err(broken)?,
            segment,
        })
    }

    /// Concatenates segments without their dead rows, in order.
    pub(crate) fn merge(parts: &[(&Self, &Bitset)], dir: &Path) -> Result<()> {
        let segments: Vec<Segment> = parts
            .iter()
            .map(|(lexical, _)| lexical.segment.clone())
            .collect();
        let alive = parts
            .iter()
            .map(|(lexical, dead)| {
                (dead.count() > 0).then(|| alive(lexical.segment.meta().max_doc(), dead))
            })
            .collect();
        let directory = MmapDirectory::open(dir).map_err(engine)?;
        merge_filtered_segments(&segments, settings(), alive, directory).map_err(engine)?;
        Ok(())
    }

    /// Whether a row holds a term.
    pub(crate) fn holds(&self, info: &TermInfo, row: u32) -> Result<bool> {
        let text = &self.text;
        let mut postings =
            text.read_block_postings_from_terminfo(info, IndexRecordOption::Basic)?;
        let at = postings.seek(row);
        Ok(postings.docs().get(at) == Some(&row))
    }

    pub(crate) fn lookup(&self, term: &str) -> Result<Option<TermInfo>> {
        Ok(self.text.terms().get(term.as_bytes())?)
    }

    pub(crate) fn label(&self, label: &str, out: &mut RowSet) -> Result<()> {
        if let Some(info) = self.label.terms().get(label.as_bytes())? {
            collect(&self.label, &info, out)?;
        }
        Ok(())
    }

    pub(crate) fn label_range(
        &self,
        from: &str,
        to: &str,
        visit: &mut dyn FnMut(&str) -> Verdict,
        yes: &mut RowSet,
        unsure: &mut RowSet,
    ) -> Result<()> {
        let mut stream = self.label.terms().range().ge(from).lt(to).into_stream()?;
        while stream.advance() {
            let Ok(label) = std::str::from_utf8(stream.key()) else {
                return Err(engine("a label is not UTF-8"));
            };
            let out = match visit(label) {
                Verdict::Yes => &mut *yes,
                Verdict::Unsure => &mut *unsure,
                Verdict::No => continue,
            };
            collect(&self.label, stream.value(), out)?;
        }
        Ok(())
    }

    pub(crate) fn bm25(
        &self,
        terms: &[(&TermInfo, f32)],
        norms: &Norms,
        lengths: &[u8],
        keys: &[u64],
        depth: usize,
        selection: &Selection,
    ) -> Result<Vec<Scored>> {
        let ranked = Ranked {
            lexical: self,
            norms,
            lengths,
            keys,
            depth,
        };
        match selection {
            Selection::Rows(rows) => ranked.few(terms, rows, vec![0.0; rows.len()]),
            Selection::Bits(bits) => ranked.many(terms, Some(&|row| bits.contains(row))),
            Selection::All => ranked.many(terms, None),
        }
    }
}

/// One ranking of a segment's rows.
struct Ranked<'a> {
    lexical: &'a Lexical,
    norms: &'a Norms,
    lengths: &'a [u8],
    keys: &'a [u64],
    depth: usize,
}

impl Ranked<'_> {
    fn open(&self, info: &TermInfo) -> Result<BlockSegmentPostings> {
        let text = &self.lexical.text;
        Ok(text.read_block_postings_from_terminfo(info, IndexRecordOption::WithFreqs)?)
    }

    /// Sums terms densely until those that remain, all together, lift no other row among the best (`MaxScore`, Turtle
    /// and Flood 1995); they are then looked up for the rows that may still be. The result is that of all sums.
    fn many(
        &self,
        terms: &[(&TermInfo, f32)],
        allow: Option<&dyn Fn(u32) -> bool>,
    ) -> Result<Vec<Scored>> {
        let top = |scores: &Scores| match allow {
            Some(allow) => scores.top_of(self.depth, self.keys, allow),
            None => scores.top(self.depth, self.keys),
        };
        with_scores(self.keys.len(), |scores| {
            let (mut summed, mut has_tried) = (0_usize, false);
            let mut above = 0.0_f32;
            for (number, (info, weight)) in terms.iter().enumerate() {
                let rest = terms.get(number..).unwrap_or_default();
                let pending: usize = rest.iter().map(|(info, _)| info.doc_freq as usize).sum();
                // A part is below its weight; the factor covers the rounding of the sums.
                let reach = rest.iter().map(|(_, weight)| weight).sum::<f32>() * 1.000_1;
                let is_promising =
                    above > PROMISING * reach && pending > self.keys.len() / PENDING_SHARE;
                if is_promising && summed >= self.depth && !has_tried {
                    has_tried = true;
                    let best = top(scores);
                    if let Some(last) = best.get(self.depth - 1)
                        && last.score > reach
                    {
                        let (rows, sums) = scores.at_least(last.score - reach, |row| {
                            allow.is_none_or(|allow| allow(row))
                        });
                        if rows.len() < pending / SEEK_SHARE {
                            return self.few(rest, &rows, sums);
                        }
                    }
                }
                let mut postings = self.open(info)?;
                let impact = self.norms.impact(*weight);
                while !postings.docs().is_empty() {
                    scores.add(&impact, self.lengths, postings.docs(), postings.freqs());
                    postings.advance();
                }
                summed += info.doc_freq as usize;
                above += weight;
            }
            Ok(top(scores))
        })
    }

    /// Adds terms to the sums of a list of rows, in the same order, and ranks those.
    fn few(
        &self,
        terms: &[(&TermInfo, f32)],
        rows: &[u32],
        mut sums: Vec<f32>,
    ) -> Result<Vec<Scored>> {
        let length = |row: u32| self.lengths.get(row as usize).copied().unwrap_or(0);
        for (info, weight) in terms {
            let mut postings = self.open(info)?;
            if rows.len() < info.doc_freq as usize / SEEK_SHARE {
                for (&row, sum) in rows.iter().zip(&mut sums) {
                    let at = postings.seek(row);
                    if postings.docs().get(at) == Some(&row) {
                        *sum += self.norms.part(*weight, postings.freq(at), length(row));
                    }
                }
                continue;
            }
            let mut place = 0;
            while !postings.docs().is_empty() && place < rows.len() {
                for (&doc, &frequency) in postings.docs().iter().zip(postings.freqs()) {
                    while rows.get(place).is_some_and(|&row| row < doc) {
                        place += 1;
                    }
                    if rows.get(place) == Some(&doc)
                        && let Some(sum) = sums.get_mut(place)
                    {
                        *sum += self.norms.part(*weight, frequency, length(doc));
                    }
                }
                postings.advance();
            }
        }
        let mut top = Top::new(self.depth, self.keys);
        for (&row, &score) in rows.iter().zip(&sums) {
            if score > 0.0 && score >= top.threshold {
                top.push(Scored { row, score });
            }
        }
        Ok(top.finish())
    }
}

fn collect(index: &InvertedIndexReader, info: &TermInfo, out: &mut RowSet) -> Result<()> {
    let mut postings = index.read_block_postings_from_terminfo(info, IndexRecordOption::Basic)?;
    while !postings.docs().is_empty() {
        debug_assert!(!postings.docs().contains(&TERMINATED));
        out.extend(postings.docs());
        postings.advance();
    }
    Ok(())
}

/// tantivy's own form of a set of live documents: their number, then 64-bit words, little-endian.
fn alive(rows: u32, dead: &Bitset) -> AliveBitSet {
    let mut live = Bitset::full(rows as usize);
    live.subtract(dead);
    let mut bytes = rows.to_le_bytes().to_vec();
    for word in live.words() {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    AliveBitSet::open(OwnedBytes::new(bytes))
}
