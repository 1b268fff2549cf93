//! Any text as part of a Mermaid label, and back.
//!
//! A character that some Mermaid release (9.4 to 12.3) would take for syntax, drop or change is written as its decimal
//! entity `#N;`, which Mermaid itself draws as that character. `;` is always written so; therefore a raw `#` can never
//! be taken for the start of an entity, and decoding is one pass.

/// Which part of a label a text becomes; each has one more character that would end it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    /// The first word of a label: no spaces.
    Tool,
    /// Between the tool and the separator `=>`.
    Arguments,
    /// After the separator; nothing follows.
    Result,
    /// The text of `state "…" as id`.
    Description,
    /// A value in the header: no spaces.
    Value,
}

/// An empty tool name: not a number that [`escape`] ever writes.
const EMPTY: &str = "#00;";

fn is_space(point: u32) -> bool {
    // What JavaScript's trim() removes.
    matches!(
        point,
        0x09..=0x0D | 0x20 | 0xA0 | 0x1680 | 0x2000..=0x200A | 0x2028 | 0x2029 | 0x202F | 0x205F | 0x3000 | 0xFEFF
    )
}

/// The code point that starts at `bytes[at]` and its length; `bytes` is generalized UTF-8.
fn point_at(bytes: &[u8], at: usize) -> (u32, usize) {
    let byte = |offset: usize| u32::from(bytes.get(at + offset).copied().unwrap_or(0x80) & 0x3F);
    match bytes.get(at).copied().unwrap_or(0) {
        b @ 0x00..=0x7F => (u32::from(b), 1),
        b @ 0x80..=0xDF => ((u32::from(b & 0x1F) << 6) | byte(1), 2),
        b @ 0xE0..=0xEF => ((u32::from(b & 0x0F) << 12) | (byte(1) << 6) | byte(2), 3),
        b => (
            (u32::from(b & 0x07) << 18) | (byte(1) << 12) | (byte(2) << 6) | byte(3),
            4,
        ),
    }
}

fn push_entity(out: &mut String, point: u32) {
    let mut digits = [0u8; 10];
    let mut at = digits.len();
    let mut rest = point;
    loop {
        at -= 1;
        if let Some(slot) = digits.get_mut(at) {
            *slot = b'0' + (rest % 10) as u8;
        }
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.push('#');
    for digit in digits.get(at..).unwrap_or_default() {
        out.push(char::from(*digit));
    }
    out.push(';');
}

/// Bytes that need a look; everything else is copied in runs.
const LOOK: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        table[byte] = true;
        byte += 1;
    }
    table[0x7F] = true;
    let marks = b";:<&%dD[=\" >";
    let mut index = 0;
    while index < marks.len() {
        table[marks[index] as usize] = true;
        index += 1;
    }
    // Lead bytes of U+0080..U+00BF, U+1680, U+2000.., U+3000, surrogates, U+FB02 and U+FEFF.
    table[0xC2] = true;
    table[0xE1] = true;
    table[0xE2] = true;
    table[0xE3] = true;
    table[0xED] = true;
    table[0xEF] = true;
    table
};

/// Whether `direction` and what may follow it stand here: one such word makes the whole line a direction statement.
fn is_direction(bytes: &[u8], at: usize) -> bool {
    let Some(word) = bytes.get(at..at + 9) else {
        return false;
    };
    word.eq_ignore_ascii_case(b"direction")
        && (at + 9 == bytes.len() || is_space(point_at(bytes, at + 9).0))
}

fn is_fork(bytes: &[u8], at: usize) -> bool {
    let rest = bytes.get(at..).unwrap_or_default();
    [&b"[[fork]]"[..], b"[[join]]", b"[[choice]]"]
        .iter()
        .any(|word| {
            rest.len() >= word.len()
                && rest
                    .iter()
                    .zip(*word)
                    .all(|(a, b)| a.eq_ignore_ascii_case(b))
        })
}

/// Appends `text` (generalized UTF-8) to a label so that every Mermaid release shows it and [`unescape`] gives it back.
pub(super) fn escape(out: &mut String, text: &[u8], slot: Slot) {
    if text.is_empty() && slot == Slot::Tool {
        out.push_str(EMPTY);
        return;
    }
    let trimmed_end = trailing_space(text);
    let mut leading = true;
    let mut run = 0;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        if !leading && at < trimmed_end && !LOOK.get(usize::from(byte)).copied().unwrap_or(true) {
            at += 1;
            continue;
        }
        let (point, length) = point_at(text, at);
        let space = is_space(point);
        leading &= space;
        let next = text.get(at + 1).copied();
        let hidden = match point {
            // Controls, `:` `;` `<`, line separators, lone surrogates and Mermaid's own placeholder marks.
            0..=0x1F
            | 0x3A..=0x3C
            | 0x7F..=0x9F
            | 0xB6
            | 0x2028
            | 0x2029
            | 0xD800..=0xDFFF
            | 0xFB02 => true,
            0x20 if matches!(slot, Slot::Tool | Slot::Value) => true,
            0x26 => next.is_some_and(|b| b.is_ascii_alphanumeric() || b == b'#'),
            0x25 => next == Some(b'%'),
            0x44 | 0x64 => is_direction(text, at),
            0x5B => is_fork(text, at),
            0x22 => slot == Slot::Description,
            0x3D => slot == Slot::Arguments && next == Some(b'>'),
            _ => space && (leading || at >= trimmed_end),
        };
        if hidden {
            push_run(out, text, run, at);
            push_entity(out, point);
            run = at + length;
        }
        at += length;
    }
    push_run(out, text, run, text.len());
}

fn push_run(out: &mut String, text: &[u8], from: usize, to: usize) {
    if let Some(bytes) = text.get(from..to) {
        match std::str::from_utf8(bytes) {
            Ok(run) => out.push_str(run),
            Err(_) => out.push_str(&String::from_utf8_lossy(bytes)),
        }
    }
}

/// Where the trailing white space begins.
fn trailing_space(text: &[u8]) -> usize {
    let mut end = text.len();
    while end > 0 {
        let mut start = end - 1;
        while start > 0 && text.get(start).is_some_and(|b| b & 0xC0 == 0x80) {
            start -= 1;
        }
        if !is_space(point_at(text, start).0) {
            break;
        }
        end = start;
    }
    end
}

/// Escapes the first character of an ok result whose first word would read as a status.
pub(super) fn escape_result(out: &mut String, text: &str, is_ok: bool) {
    if is_ok {
        for word in ["FAIL", "PENDING"] {
            if let Some(rest) = text.strip_prefix(word)
                && (rest.is_empty() || rest.starts_with(' '))
            {
                push_entity(
                    out,
                    u32::from(text.as_bytes().first().copied().unwrap_or(0)),
                );
                escape(
                    out,
                    text.as_bytes().get(1..).unwrap_or_default(),
                    Slot::Result,
                );
                return;
            }
        }
    }
    escape(out, text.as_bytes(), Slot::Result);
}

/// Why a label can't be decoded, and at which byte.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Undecodable {
    pub(super) at: usize,
    pub(super) reason: &'static str,
}

/// Decodes a label's text to generalized UTF-8; a tool's empty name is [`EMPTY`].
pub(super) fn unescape(text: &str, slot: Slot) -> Result<Vec<u8>, Undecodable> {
    if slot == Slot::Tool && text == EMPTY {
        return Ok(Vec::new());
    }
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut run = 0;
    let mut at = 0;
    // The last `#` since which there were only digits.
    let mut hash: Option<usize> = None;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'#' => hash = Some(at),
            b'0'..=b'9' => {}
            b';' => {
                let start = hash.filter(|start| *start + 1 < at);
                let Some(start) = start else {
                    return Err(Undecodable {
                        at,
                        reason: "a `;` that ends no entity; write it as #59;",
                    });
                };
                let digits = text.get(start + 1..at).unwrap_or_default();
                let point = digits
                    .parse::<u32>()
                    .ok()
                    .filter(|point| *point <= 0x10_FFFF);
                let Some(point) = point.filter(|_| digits == "0" || !digits.starts_with('0'))
                else {
                    return Err(Undecodable {
                        at: start,
                        reason: "an entity that is no Unicode code point",
                    });
                };
                out.extend_from_slice(bytes.get(run..start).unwrap_or_default());
                push_point(&mut out, point, start, slot)?;
                run = at + 1;
                hash = None;
            }
            0x00..=0x1F | 0x7F => {
                return Err(Undecodable {
                    at,
                    reason: "a control character; it is written as an entity",
                });
            }
            _ => hash = None,
        }
        at += 1;
    }
    out.extend_from_slice(bytes.get(run..).unwrap_or_default());
    Ok(out)
}

fn push_point(out: &mut Vec<u8>, point: u32, at: usize, slot: Slot) -> Result<(), Undecodable> {
    if let Some(character) = char::from_u32(point) {
        let mut buffer = [0; 4];
        out.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
        return Ok(());
    }
    if !matches!(slot, Slot::Tool | Slot::Description) {
        return Err(Undecodable {
            at,
            reason: "half of a surrogate pair, which only a tool's name may hold",
        });
    }
    out.extend([
        0xE0 | (point >> 12) as u8,
        0x80 | (point >> 6 & 0x3F) as u8,
        0x80 | (point & 0x3F) as u8,
    ]);
    Ok(())
}

/// [`unescape`] for a text that holds no surrogates.
pub(super) fn unescape_text(text: &str, slot: Slot) -> Result<String, Undecodable> {
    if !text.bytes().any(|b| b == b';' || b < 0x20 || b == 0x7F) {
        return Ok(text.to_owned());
    }
    let bytes = unescape(text, slot)?;
    String::from_utf8(bytes).map_err(|_| Undecodable {
        at: 0,
        reason: "text that is not UTF-8",
    })
}
