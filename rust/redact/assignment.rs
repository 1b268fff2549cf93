//! `key = value`, in code, configuration, headers, command lines, XML, JSON (escaped or not) and plain sentences.

use super::Redaction;
use super::judge::{Separator, Strength, is_placeholder, is_secret};

/// Keys, in any case, that end a name: `db_password`, `apiKey`. They may be followed by a suffix of `SUFFIXES`.
pub(super) static KEYS: &[(&[&str], Strength)] = &[
    (
        &[
            "password",
            "passwd",
            "passphrase",
            "passcode",
            "pwd",
            "_pass",
            "mật khẩu",
            "密码",
            "口令",
            "パスワード",
        ],
        Strength::Password,
    ),
    (
        &[
            "token",
            "secret",
            "credential",
            "credentials",
            "apikey",
            "api_key",
            "api-key",
            "api key",
            "accesskey",
            "access_key",
            "access-key",
            "access key",
            "secretkey",
            "secret_key",
            "secret-key",
            "privatekey",
            "private_key",
            "private-key",
            "authkey",
            "auth_key",
            "auth-key",
            "encryption_key",
            "encryptionkey",
            "signing_key",
            "signingkey",
            "master_key",
            "masterkey",
            "service_key",
            "admin_key",
            "license_key",
            "client_key",
            "account_key",
            "webhook_key",
            "hmac_key",
            "jwt_key",
            "app_key",
            "authorization",
        ],
        Strength::Token,
    ),
    (
        &["accountkey", "sharedaccesskey", "sig="],
        Strength::Storage,
    ),
];

/// What may follow a key in its name.
const SUFFIXES: &[&str] = &[
    "_base",
    "_prod",
    "_production",
    "_dev",
    "_staging",
    "_test",
    "_live",
    "_value",
    "_1",
    "_2",
    "1",
    "2",
];
/// Names that end like keys of secrets and are none.
const HARMLESS: &[&str] = &[
    "page",
    "next",
    "continuation",
    "sync",
    "pad",
    "eos",
    "bos",
    "unk",
    "sep",
    "cls",
    "mask",
    "cancellation",
    "public",
    "primary",
    "foreign",
    "cache",
    "stop",
    "start",
    "end",
    "prev",
    "previous",
    "page_size",
];
/// Longest value.
const MAX_VALUE: usize = 512;
/// Most blanks between a key, its separator and its value.
const MAX_BLANKS: usize = 16;

fn byte(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or(0)
}

fn starts(bytes: &[u8], at: usize, prefix: &[u8]) -> bool {
    bytes.get(at..).is_some_and(|rest| rest.starts_with(prefix))
}

fn skip_blanks(bytes: &[u8], mut at: usize) -> usize {
    let limit = at + MAX_BLANKS;
    while at < limit && matches!(byte(bytes, at), b' ' | b'\t') {
        at += 1;
    }
    at
}

/// The secret value of the key at `start..end`, if it has one.
pub(super) fn span(
    bytes: &[u8],
    start: usize,
    end: usize,
    strength: Strength,
) -> Option<Redaction> {
    let at = name_end(bytes, end)?;
    let name_start = bytes[..start]
        .iter()
        .rev()
        .take(64)
        .take_while(|&&b| is_name(b))
        .count();
    let before = bytes.get(start - name_start..start)?;
    if HARMLESS.iter().any(|word| ends_with_word(before, word)) {
        return None;
    }
    let flag = before.starts_with(b"--");
    let markup = byte(bytes, (start - name_start).wrapping_sub(1)) == b'<';
    let (separator, mut at) = separator(bytes, at, flag, markup)?;
    if separator == Separator::Colon {
        at = after_type(bytes, at);
    }
    let (from, to, quoted) = value(bytes, at, separator)?;
    let found = bytes.get(from..to)?;
    if separator == Separator::Markup && !starts(bytes, to, b"</") {
        return None;
    }
    let environment = bytes
        .get(start..end)?
        .iter()
        .all(|b| b.is_ascii_uppercase() || *b == b'_')
        && !before.iter().any(u8::is_ascii_lowercase);
    // In a connection string, or all in capitals as in the environment: then any word is a value.
    let bare_words = separator == Separator::Equals
        && (environment
            || byte(bytes, to) == b';'
            || byte(bytes, (start - name_start).wrapping_sub(1)) == b';');
    if is_placeholder(found) || !is_secret(found, strength, separator, bare_words, quoted) {
        return None;
    }
    let name = bytes.get(start - name_start..end)?;
    let kind = match strength {
        Strength::Password => "password",
        Strength::Storage => "azure-key",
        Strength::Token if name.to_ascii_lowercase().ends_with(b"authorization") => "authorization",
        Strength::Token if found.len() == 40 && is_aws(name) => "aws-secret-key",
        Strength::Token => "secret",
    };
    Some(Redaction {
        start: from,
        end: to,
        kind,
    })
}

fn is_name(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.')
}

fn is_aws(name: &[u8]) -> bool {
    let name = name.to_ascii_lowercase();
    name.windows(3).any(|part| part == b"aws") || name.starts_with(b"secret")
}

/// Whether a name ends with a word, whatever joins it to what follows.
fn ends_with_word(name: &[u8], word: &str) -> bool {
    let name = name
        .strip_suffix(b"_")
        .or_else(|| name.strip_suffix(b"-"))
        .unwrap_or(name);
    let Some(from) = name.len().checked_sub(word.len()) else {
        return false;
    };
    let tail = &name[from..];
    let separate =
        !byte(name, from.wrapping_sub(1)).is_ascii_alphabetic() || tail[0].is_ascii_uppercase();
    tail.eq_ignore_ascii_case(word.as_bytes()) && separate
}

/// The end of the name that the key at `..end` belongs to; `None` if it goes on as another word.
fn name_end(bytes: &[u8], end: usize) -> Option<usize> {
    // `sig=` brings its separator along.
    if byte(bytes, end - 1) == b'=' {
        return Some(end - 1);
    }
    let rest = bytes.get(end..)?;
    let suffix = rest
        .iter()
        .take(16)
        .take_while(|&&b| b.is_ascii_alphanumeric() || b == b'_')
        .count();
    let suffix = &rest[..suffix];
    (suffix.is_empty()
        || SUFFIXES
            .iter()
            .any(|known| suffix.eq_ignore_ascii_case(known.as_bytes())))
    .then_some(end + suffix.len())
}

/// Finds the separator after a name and the place after it.
fn separator(bytes: &[u8], mut at: usize, flag: bool, markup: bool) -> Option<(Separator, usize)> {
    if markup {
        return (byte(bytes, at) == b'>').then_some((Separator::Markup, at + 1));
    }
    // The name's own closing quote and bracket: `"token":`, `\"token\":`, `env["TOKEN"] =`.
    let mut closed = false;
    for _ in 0..4 {
        if matches!(byte(bytes, at), b'"' | b'\'' | b'`' | b']' | b'\\' | b'*') {
            at += 1;
            closed = true;
        }
    }
    let tight = at;
    at = skip_blanks(bytes, at);
    let fullwidth = ["：", "＝"]
        .iter()
        .any(|sign| starts(bytes, at, sign.as_bytes()));
    match byte(bytes, at) {
        _ if fullwidth => Some((Separator::Colon, at + 3)),
        b'=' if !matches!(byte(bytes, at + 1), b'=' | b'~') => Some((
            Separator::Equals,
            at + if byte(bytes, at + 1) == b'>' { 2 } else { 1 },
        )),
        b':' if byte(bytes, at + 1) == b'=' => Some((Separator::Equals, at + 2)),
        b':' if byte(bytes, at + 1) != b':' => Some((Separator::Colon, at + 1)),
        _ if flag && !closed && at > tight => Some((Separator::Flag, at)),
        _ => {
            let word = [" is ", " was ", " là ", "是", "为", "は"]
                .iter()
                .find(|word| starts(bytes, tight, word.as_bytes()))?;
            let after = skip_blanks(bytes, tight + word.len());
            Some((
                Separator::Sentence,
                if byte(bytes, after) == b':' {
                    after + 1
                } else {
                    after
                },
            ))
        }
    }
}

/// In `password: str = "…"` the value stands after the equals sign.
fn after_type(bytes: &[u8], at: usize) -> usize {
    let from = skip_blanks(bytes, at);
    let rest = bytes.get(from..).unwrap_or_default();
    let length = rest
        .iter()
        .take(40)
        .take_while(|&&b| {
            b.is_ascii_alphanumeric() || matches!(b, b'_' | b'[' | b']' | b'&' | b'.')
        })
        .count();
    let after = skip_blanks(bytes, from + length);
    let spaced =
        after > from + length && byte(bytes, after) == b'=' && byte(bytes, after + 1) != b'=';
    if length > 0 && spaced { after + 1 } else { at }
}

/// Finds the value at `at`: its span without quotes, and whether it has quotes.
fn value(bytes: &[u8], at: usize, separator: Separator) -> Option<(usize, usize, bool)> {
    let mut at = skip_blanks(bytes, at);
    if matches!(byte(bytes, at), b'f' | b'b' | b'r') && matches!(byte(bytes, at + 1), b'"' | b'\'')
    {
        at += 1;
    }
    let escaped = byte(bytes, at) == b'\\' && matches!(byte(bytes, at + 1), b'"' | b'\'');
    let at = at + usize::from(escaped);
    let quote = byte(bytes, at);
    let quoted = matches!(quote, b'"' | b'\'' | b'`');
    let mut from = if quoted { at + 1 } else { at };
    for scheme in ["bearer ", "basic ", "token "] {
        if bytes
            .get(from..from + scheme.len())
            .is_some_and(|word| word.eq_ignore_ascii_case(scheme.as_bytes()))
        {
            from += scheme.len();
        }
    }
    if quoted {
        let end = value_end(bytes, from, |b| {
            matches!(b, b'\n' | b'\r') || b == if escaped { b'\\' } else { quote }
        });
        if let Some(to) = end.filter(|&to| to > from && (escaped || byte(bytes, to) == quote)) {
            return Some((from, to, true));
        }
    }
    // Without quotes, or with one that never closes because the text was cut.
    let mut to = value_end(bytes, from, |b| match b {
        // Only `key=value` stands in the query of an address.
        b'&' => separator == Separator::Equals,
        b'"' | b'\'' | b'`' | b'<' | b'>' | b',' | b';' | b')' | b']' | b'}' | b'|' | b'\\' => true,
        _ => b <= b' ',
    })?;
    // Ideographic punctuation ends a value as a full stop does.
    if let Ok(text) = std::str::from_utf8(bytes.get(from..to)?)
        && let Some(stop) = text.find(['，', '。', '；', '、', '\u{3000}', '\u{a0}', '“', '”'])
    {
        to = from + stop;
    }
    while to > from && matches!(byte(bytes, to - 1), b'.' | b':') {
        to -= 1;
    }
    (to > from).then_some((from, to, false))
}

/// The end of the value at `from`: where `stops` says or the text ends; `None` if it is too long for a secret.
fn value_end(bytes: &[u8], from: usize, stops: impl Fn(u8) -> bool) -> Option<usize> {
    let rest = bytes.get(from..)?;
    let window = rest.get(..=MAX_VALUE).unwrap_or(rest);
    match window.iter().position(|&b| stops(b)) {
        Some(length) => Some(from + length),
        None => (rest.len() <= MAX_VALUE).then_some(bytes.len()),
    }
}
