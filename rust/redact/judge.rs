//! Judging a value: random enough for a secret, or a placeholder, a name, a path, a word.

/// What a key says about its value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Strength {
    /// Chosen by a person: short, may be any text.
    Password,
    /// Made by a machine: long and random.
    Token,
    /// A key of a storage account: base64 of 32 or more bytes.
    Storage,
}

/// What stands between key and value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Separator {
    Equals,
    Colon,
    Markup,
    /// `--password VALUE`.
    Flag,
    /// `the password is VALUE`.
    Sentence,
}

/// Values that say that the value is elsewhere, absent or to be filled in; and names of algorithms.
const PLACEHOLDERS: &[&str] = &[
    "none",
    "null",
    "nil",
    "true",
    "false",
    "undefined",
    "required",
    "optional",
    "string",
    "password",
    "passwd",
    "secret",
    "token",
    "hidden",
    "changeme",
    "change-me",
    "change_me",
    "placeholder",
    "redacted",
    "example",
    "prompt",
    "empty",
    "sha1",
    "sha256",
    "sha-256",
    "sha512",
    "sha-512",
    "md5",
    "bcrypt",
    "argon2",
    "argon2id",
    "argon2i",
    "pbkdf2",
    "base64",
    "aes256",
    "aes-256",
    "utf8",
    "utf-8",
    "oauth2",
    "rs256",
    "hs256",
    "es256",
    "ed25519",
    "scrypt",
    "x509",
    "username",
    "process",
    "basic",
    "bearer",
];

/// Whether a value only stands for one: variables, calls, fillers, instructions, replacements.
pub(super) fn is_placeholder(value: &[u8]) -> bool {
    let contains = |part: &[u8]| {
        value
            .windows(part.len())
            .any(|window| window.eq_ignore_ascii_case(part))
    };
    let variable = match value {
        [
            b'$',
            b'{' | b'(' | b'A'..=b'Z' | b'a'..=b'z' | b'_',
            rest @ ..,
        ] => rest.iter().all(|b| {
            b.is_ascii_alphanumeric() || matches!(b, b'_' | b'}' | b')' | b'.' | b':' | b'-' | b' ')
        }),
        [b'%', b's' | b'd' | b'(', ..] | [b'{' | b'<' | b'[', ..] => true,
        [b'%', middle @ .., b'%'] => middle
            .iter()
            .all(|b| b.is_ascii_alphanumeric() || *b == b'_'),
        _ => false,
    };
    let known = PLACEHOLDERS
        .iter()
        .any(|word| value.eq_ignore_ascii_case(word.as_bytes()));
    let filler = value
        .iter()
        .all(|b| matches!(b, b'*' | b'x' | b'X' | b'.' | b'-' | b'_' | b'?' | b'#'));
    let bullets = std::str::from_utf8(value)
        .is_ok_and(|text| text.chars().all(|c| matches!(c, '•' | '●' | '…')));
    variable
        || known
        || filler
        || bullets
        || contains(b"[redacted")
        || [
            &b"your_"[..],
            b"your-",
            b"<your",
            b"xxxxx",
            b"changeme",
            b"placeholder",
        ]
        .iter()
        .any(|part| contains(part))
}

/// Whether a value reads as words joined by punctuation (`kube-system-token-2`, `settings.API_KEY`): each part is
/// letters or digits only. One word of letters counts too.
pub(super) fn is_wordy(value: &[u8]) -> bool {
    value
        .split(|b| matches!(b, b'_' | b'-' | b'.' | b'/' | b':' | b'+' | b'=' | b'~'))
        .all(|part| {
            let short = part.len() <= 24;
            short
                && (part.iter().all(u8::is_ascii_alphabetic)
                    || (part.len() <= 4 && part.iter().all(u8::is_ascii_digit)))
        })
}

/// Shannon entropy of the bytes' distribution, in bits a byte.
fn entropy(value: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for &b in value {
        counts[usize::from(b)] += 1;
    }
    let total = value.len() as f64;
    counts
        .iter()
        .filter(|&&count| count > 0)
        .map(|&count| f64::from(count) / total)
        .map(|share| -share * share.log2())
        .sum()
}

/// Whether a value, given what its key and separator promise, is a secret. `bare_words` says that any word may be one.
pub(super) fn is_secret(
    value: &[u8],
    strength: Strength,
    separator: Separator,
    bare_words: bool,
    quoted: bool,
) -> bool {
    let count = |test: fn(&u8) -> bool| value.iter().filter(|b| test(b)).count();
    let (lower, upper) = (count(u8::is_ascii_lowercase), count(u8::is_ascii_uppercase));
    let digits = count(u8::is_ascii_digit);
    let letters = lower + upper;
    let signs =
        count(|b| b.is_ascii_punctuation() && !matches!(b, b'_' | b'-' | b'.' | b'/' | b'\''));
    let blank = value.iter().any(u8::is_ascii_whitespace);
    let slashed = matches!(
        value,
        [b'/', ..] | [b'.' | b'~', b'/', ..] | [b'.', b'.', b'/', ..]
    );
    let path = slashed && value.len() != 40;
    let called = value
        .iter()
        .position(|b| matches!(b, b'(' | b'[' | b'{'))
        .is_some_and(|at| {
            at > 0
                && value[..at]
                    .iter()
                    .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.'))
        })
        && !quoted;
    let address = value.windows(3).any(|part| part == b"://");
    if blank || path || called || address {
        return false;
    }
    match strength {
        Strength::Password => {
            let dotted_name = !quoted && value.contains(&b'.') && is_wordy(value);
            let rule =
                value.contains(&b'|') || (quoted && value.contains(&b':') && is_wordy(value));
            let mixed = (letters > 0 && digits > 0)
                || (letters > 0 && signs > 0 && separator != Separator::Sentence);
            let number = digits == value.len() && separator != Separator::Sentence;
            (6..=128).contains(&value.len())
                && !dotted_name
                && !rule
                && (mixed || number || (bare_words && letters > 0 && !value.contains(&b'_')))
        }
        Strength::Token => {
            let random = entropy(value);
            let all = digits > 0 && letters > 0 && value.len() >= 16 && random >= 3.0;
            let long = letters == value.len()
                && value.len() >= 24
                && upper * 4 >= letters
                && lower * 4 >= letters
                && random >= 3.5;
            let short = (10..16).contains(&value.len())
                && lower > 0
                && upper > 0
                && digits > 1
                && (quoted || separator != Separator::Sentence);
            let number = digits >= 24 && letters == 0;
            (all || long || short || number) && (long || number || !is_wordy(value))
        }
        Strength::Storage => {
            let plain = value.iter().all(|b| {
                b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=' | b'%' | b'-' | b'_')
            });
            value.len() >= 40 && plain && digits > 0 && upper > 0 && lower > 0
        }
    }
}
