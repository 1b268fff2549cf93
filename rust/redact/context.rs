//! Secrets that are known by what surrounds them, other than `key = value`.

use super::Redaction;
use super::judge::{is_placeholder, is_wordy};
use super::rules::begins_word;

/// Furthest that a host is looked for after `://`.
const MAX_AUTHORITY: usize = 512;
/// Longest private key in PEM: 16,384 bits and armour stay well below.
const MAX_PRIVATE_KEY: usize = 1 << 15;

fn run(bytes: &[u8], from: usize, limit: usize, allowed: impl Fn(u8) -> bool) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest
        .iter()
        .take(limit)
        .take_while(|&&byte| allowed(byte))
        .count()
}

fn credential(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'.' | b'_' | b'~' | b'+' | b'/' | b'=' | b'-' | b':')
}

/// Whether the words before name a header.
fn in_header(bytes: &[u8], start: usize) -> bool {
    let window = bytes
        .get(start.saturating_sub(28)..start)
        .unwrap_or_default();
    window
        .windows(13)
        .any(|part| part.eq_ignore_ascii_case(b"authorization"))
}

/// `Bearer TOKEN`.
pub(super) fn bearer(bytes: &[u8], start: usize) -> Option<Redaction> {
    let end = start + b"bearer".len();
    let mut from = run(bytes, end, 4, |byte| matches!(byte, b' ' | b'\t'));
    if from == end {
        from = bytes.get(end..)?.starts_with(b"%20").then_some(end + 3)?;
    }
    let mut to = run(bytes, from, 4096, credential);
    while to > from && matches!(bytes.get(to - 1), Some(b'.' | b':')) {
        to -= 1;
    }
    let value = bytes.get(from..to)?;
    let shortest = if in_header(bytes, start) { 8 } else { 16 };
    let random = value.iter().any(u8::is_ascii_digit) && !is_wordy(value);
    (value.len() >= shortest && random && begins_word(bytes, start) && !is_placeholder(value))
        .then_some(Redaction {
            start: from,
            end: to,
            kind: "authorization",
        })
}

/// `Basic BASE64`, where the base64 holds `user:password`.
pub(super) fn basic(bytes: &[u8], start: usize) -> Option<Redaction> {
    let end = start + b"basic ".len();
    let to = run(bytes, end, 4096, |byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
    });
    let value = bytes.get(end..to)?;
    let decoded = decode_base64(value)?;
    let printable =
        std::str::from_utf8(&decoded).is_ok_and(|text| !text.contains(char::is_control));
    (value.len() >= 6 && decoded.contains(&b':') && printable && begins_word(bytes, start))
        .then_some(Redaction {
            start: end,
            end: to,
            kind: "authorization",
        })
}

fn decode_base64(value: &[u8]) -> Option<Vec<u8>> {
    let padding = value.iter().rev().take_while(|&&byte| byte == b'=').count();
    let body = value.get(..value.len() - padding)?;
    if padding > 2 || body.len() % 4 == 1 {
        return None;
    }
    let mut decoded = Vec::with_capacity(body.len() * 3 / 4);
    let (mut bits, mut held) = (0_u32, 0);
    for &byte in body {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(six);
        held += 6;
        if held >= 8 {
            held -= 8;
            decoded.push((bits >> held) as u8);
        }
    }
    Some(decoded)
}

/// A PEM block of a private key, from its first dash to its last; without an end, as far as it looks like one.
pub(super) fn private_key(bytes: &[u8], start: usize) -> Option<Redaction> {
    let end = start + b"-----begin ".len();
    let label = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' ';
    let label_end = run(bytes, end, 40, label);
    let name = bytes.get(end..label_end)?;
    let is_private = name.ends_with(b"PRIVATE KEY") || name.ends_with(b"PRIVATE KEY BLOCK");
    if !is_private || !bytes.get(label_end..)?.starts_with(b"-----") {
        return None;
    }
    let body = label_end + 5;
    let window = bytes.get(body..(body + MAX_PRIVATE_KEY).min(bytes.len()))?;
    // The next dashes decide: an end closes the block, anything else leaves it open. So floods of beginnings, each
    // looking no further than the next, stay linear.
    let dashes = find(window, b"-----").filter(|&at| {
        window
            .get(at + 5..)
            .is_some_and(|rest| rest.starts_with(b"END "))
    });
    let to = if let Some(at) = dashes {
        run(bytes, run(bytes, body + at + 9, 48, label), 5, |byte| {
            byte == b'-'
        })
    } else {
        run(bytes, body, MAX_PRIVATE_KEY, |byte| {
            byte.is_ascii_alphanumeric()
                || matches!(byte, b'+' | b'/' | b'=' | b'\n' | b'\r' | b'\\')
        })
    };
    Some(Redaction {
        start,
        end: to,
        kind: "private-key",
    })
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack
        .windows(needle.len())
        .position(|part| part == needle)
}

/// A JSON web token: three to five parts, the first a JSON object in base64.
pub(super) fn json_web_token(bytes: &[u8], start: usize) -> Option<Redaction> {
    let joined = start
        .checked_sub(1)
        .and_then(|at| bytes.get(at))
        .is_some_and(|byte| matches!(byte, b'-' | b'_'));
    if joined || !bytes.get(start..)?.starts_with(b"eyJ") || !begins_word(bytes, start) {
        return None;
    }
    let url_safe = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let mut end = run(bytes, start, 8192, url_safe);
    if end < start + 12 {
        return None;
    }
    let mut parts = 1;
    while parts < 5 && bytes.get(end) == Some(&b'.') {
        let next = run(bytes, end + 1, 65_536, url_safe);
        // Only an encrypted token's second part can be empty.
        if next == end + 1 && parts != 1 {
            break;
        }
        end = next;
        parts += 1;
    }
    let signed = parts >= 3;
    signed.then_some(Redaction {
        start,
        end,
        kind: "jwt",
    })
}

/// The password in `scheme://user:password@host`, or a token in the user's place.
pub(super) fn url_password(bytes: &[u8], start: usize) -> Option<Redaction> {
    let end = start + b"://".len();
    if !start
        .checked_sub(1)
        .and_then(|at| bytes.get(at))
        .is_some_and(u8::is_ascii_alphanumeric)
    {
        return None;
    }
    let web = bytes.get(start.saturating_sub(5)..start)?;
    let web = web.ends_with(b"http") || web == b"https";
    let stop = run(bytes, end, MAX_AUTHORITY, |byte| match byte {
        b'/' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\' | b'(' | b')' | b',' | 0..=b' ' | 0x7f => {
            false
        }
        b'?' | b'#' => !web,
        _ => true,
    });
    let authority = bytes.get(end..stop)?;
    let at = authority.iter().rposition(|&byte| byte == b'@')?;
    let user = authority.get(..at)?;
    let span = |from: usize| {
        Some(Redaction {
            start: end + from,
            end: end + at,
            kind: "url-password",
        })
    };
    if find(user, b"[redacted:").is_some() {
        return None;
    }
    if let Some(colon) = user.iter().position(|&byte| byte == b':') {
        let password = user.get(colon + 1..)?;
        return if password.is_empty() || is_placeholder(password) {
            None
        } else {
            span(colon + 1)
        };
    }
    let random = user.len() >= 20
        && user.iter().any(u8::is_ascii_digit)
        && user.iter().any(u8::is_ascii_alphabetic)
        && user
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
        && !is_wordy(user);
    if random { span(0) } else { None }
}

/// A Telegram bot's token: `123456789:AA` and 33 more.
pub(super) fn bot_token(bytes: &[u8], colon: usize) -> Option<Redaction> {
    let digits = bytes
        .get(..colon)?
        .iter()
        .rev()
        .take(11)
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let end = run(bytes, colon + 1, 60, |byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
    });
    let start = colon - digits;
    ((8..=10).contains(&digits)
        && end == colon + 36
        && bytes.get(colon + 1..)?.starts_with(b"AA")
        && begins_word(bytes, start))
    .then_some(Redaction {
        start,
        end,
        kind: "telegram-token",
    })
}

/// The secret path of an incoming webhook.
pub(super) fn webhook(bytes: &[u8], end: usize) -> Option<Redaction> {
    let to = run(bytes, end, 256, |byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'/')
    });
    let path = bytes.get(end..to)?;
    (path.len() >= 24 && path.contains(&b'/') && path.iter().any(u8::is_ascii_digit)).then_some(
        Redaction {
            start: end,
            end: to,
            kind: "webhook",
        },
    )
}
