//! Keys with a shape of their own: prefix, alphabet, length. Shapes are those their issuers document or that public
//! secret scanners agree on.

use super::Redaction;

/// One issuer's keys.
pub(super) struct Rule {
    pub(super) kind: &'static str,
    /// Exact prefixes, part of the secret.
    pub(super) prefixes: &'static [&'static str],
    /// The bytes that can follow.
    alphabet: fn(u8) -> bool,
    /// How many of them.
    shortest: usize,
    longest: usize,
    /// What else must hold of them.
    also: fn(&[u8]) -> bool,
}

fn alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}
fn word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}
fn url_safe(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}
fn dotted(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}
fn base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}
fn hex(byte: u8) -> bool {
    byte.is_ascii_hexdigit()
}
fn lower_hex(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}
fn upper(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'A'..=b'Z')
}
fn any(_: &[u8]) -> bool {
    true
}
fn has_digit(body: &[u8]) -> bool {
    body.iter().any(u8::is_ascii_digit)
}
/// A long unbroken stretch with a digit: `sk-` also begins class names such as `sk-folding-cube-2`.
fn unbroken(body: &[u8]) -> bool {
    has_digit(body)
        && body
            .split(|&byte| byte == b'-')
            .any(|part| part.len() >= 16)
}
fn two_dotted_parts(body: &[u8]) -> bool {
    let mut parts = body.split(|&byte| byte == b'.');
    matches!((parts.next(), parts.next(), parts.next()), (Some(a), Some(b), None) if a.len() >= 16 && b.len() >= 16)
}

const MAX: usize = 4096;

const fn rule(
    kind: &'static str,
    prefixes: &'static [&'static str],
    alphabet: fn(u8) -> bool,
    shortest: usize,
) -> Rule {
    Rule {
        kind,
        prefixes,
        alphabet,
        shortest,
        longest: MAX,
        also: any,
    }
}

const fn exact(
    kind: &'static str,
    prefixes: &'static [&'static str],
    alphabet: fn(u8) -> bool,
    length: usize,
) -> Rule {
    Rule {
        kind,
        prefixes,
        alphabet,
        shortest: length,
        longest: length,
        also: any,
    }
}

const fn also(mut rule: Rule, also: fn(&[u8]) -> bool) -> Rule {
    rule.also = also;
    rule
}

/// The maintained table.
pub(super) static RULES: &[Rule] = &[
    exact(
        "aws-access-key",
        &["AKIA", "ASIA", "ABIA", "ACCA"],
        upper,
        16,
    ),
    rule(
        "github-token",
        &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"],
        alphanumeric,
        30,
    ),
    rule("github-token", &["github_pat_"], word, 22),
    rule(
        "gitlab-token",
        &[
            "glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-", "glimt-",
            "glagent-", "gloas-",
        ],
        dotted,
        20,
    ),
    also(
        rule(
            "slack-token",
            &[
                "xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xoxe.",
            ],
            dotted,
            10,
        ),
        has_digit,
    ),
    also(rule("slack-token", &["xapp-"], url_safe, 20), has_digit),
    rule(
        "stripe-key",
        &["sk_live_", "sk_test_", "rk_live_", "rk_test_"],
        alphanumeric,
        16,
    ),
    rule("stripe-key", &["whsec_"], base64, 24),
    also(rule("api-key", &["sk-"], url_safe, 20), unbroken),
    also(rule("anthropic-key", &["sk-ant-"], url_safe, 20), has_digit),
    also(
        rule(
            "openai-key",
            &["sk-proj-", "sk-svcacct-", "sk-admin-"],
            url_safe,
            20,
        ),
        has_digit,
    ),
    rule("google-key", &["AIza"], url_safe, 35),
    rule("google-key", &["GOCSPX-"], url_safe, 24),
    also(rule("google-key", &["ya29."], url_safe, 20), has_digit),
    exact("npm-token", &["npm_"], alphanumeric, 36),
    rule("pypi-token", &["pypi-AgE", "pypi-AgN"], url_safe, 40),
    rule("huggingface-token", &["hf_", "api_org_"], alphanumeric, 30),
    also(rule("sendgrid-key", &["SG."], dotted, 33), two_dotted_parts),
    exact("twilio-key", &["SK"], lower_hex, 32),
    exact("mailgun-key", &["key-"], lower_hex, 32),
    exact(
        "digitalocean-token",
        &["dop_v1_", "doo_v1_", "dor_v1_"],
        lower_hex,
        64,
    ),
    exact(
        "shopify-token",
        &["shpat_", "shpca_", "shppa_", "shpss_"],
        hex,
        32,
    ),
    exact("databricks-token", &["dapi"], lower_hex, 32),
    rule("docker-token", &["dckr_pat_", "dckr_oat_"], url_safe, 20),
    rule("vault-token", &["hvs.", "hvb."], url_safe, 24),
    rule("linear-key", &["lin_api_"], alphanumeric, 32),
    rule("notion-token", &["ntn_"], alphanumeric, 40),
    rule("groq-key", &["gsk_"], alphanumeric, 40),
    rule("xai-key", &["xai-"], alphanumeric, 40),
    rule("replicate-token", &["r8_"], alphanumeric, 36),
    rule("perplexity-key", &["pplx-"], alphanumeric, 40),
    rule("grafana-token", &["glsa_", "glc_"], word, 32),
    rule("newrelic-key", &["NRAK-"], upper, 27),
    rule("postman-key", &["PMAK-"], url_safe, 40),
    rule(
        "planetscale-token",
        &["pscale_tkn_", "pscale_pw_"],
        dotted,
        32,
    ),
    rule("atlassian-token", &["ATATT3"], url_safe, 60),
    rule("rubygems-key", &["rubygems_"], lower_hex, 48),
    rule("supabase-key", &["sbp_", "sb_secret_"], url_safe, 24),
    rule("square-token", &["sq0atp-", "sq0csp-"], url_safe, 22),
    exact("age-key", &["AGE-SECRET-KEY-1"], upper, 58),
];

/// Kinds that `context` and `assignment` give.
const CONTEXT_KINDS: &[&str] = &[
    "password",
    "secret",
    "aws-secret-key",
    "azure-key",
    "authorization",
    "private-key",
    "jwt",
    "url-password",
    "telegram-token",
    "webhook",
];
/// No kind is longer.
pub(super) const LONGEST_KIND: usize = 20;

/// Whether bytes are the name of a kind.
pub(super) fn is_kind(name: &[u8]) -> bool {
    CONTEXT_KINDS.iter().any(|kind| kind.as_bytes() == name)
        || RULES.iter().any(|rule| rule.kind.as_bytes() == name)
}

impl Rule {
    /// Whether several issuers share the prefix, so that a longer one says more.
    pub(super) fn is_generic(&self) -> bool {
        self.kind == "api-key"
    }

    /// The key that begins at `start` with `prefix` (in any case so far), if there is one.
    pub(super) fn span(&self, bytes: &[u8], start: usize, prefix: &str) -> Option<Redaction> {
        let rest = bytes.get(start..)?.strip_prefix(prefix.as_bytes())?;
        // A key does not begin inside a run of its own alphabet; so runs are disjoint and their sum is linear.
        let before = start
            .checked_sub(1)
            .and_then(|at| bytes.get(at))
            .copied()
            .unwrap_or(b' ');
        if !begins_word(bytes, start)
            || (matches!(before, b'-' | b'_' | b'.') && (self.alphabet)(before))
        {
            return None;
        }
        let limit = self.longest + 1;
        let length = rest
            .iter()
            .take(limit)
            .take_while(|&&byte| (self.alphabet)(byte))
            .count();
        let after = rest.get(length).copied().unwrap_or(b' ');
        if length < self.shortest || length > self.longest {
            return None;
        }
        if self.longest < MAX && after.is_ascii_alphanumeric() {
            return None;
        }
        // A sentence's full stop is not part of the key.
        let mut body = &rest[..length];
        while let [head @ .., b'.'] = body {
            body = head;
        }
        if body.len() < self.shortest || is_filler(body) || !(self.also)(body) {
            return None;
        }
        Some(Redaction {
            start,
            end: start + prefix.len() + body.len(),
            kind: self.kind,
        })
    }
}

/// Whether a body only stands for one: `xxxx…`, `0000…`, `****`.
pub(super) fn is_filler(body: &[u8]) -> bool {
    body.first().is_none_or(|&first| {
        matches!(
            first.to_ascii_lowercase(),
            b'x' | b'*' | b'.' | b'0' | b'-' | b'_' | b'#' | b'?'
        ) && body.iter().all(|&byte| byte == first)
    })
}

/// Whether a word can begin at `at`: nothing that continues a word stands before, unless it is the end of an escape
/// (`\n`, `%3D`).
pub(super) fn begins_word(bytes: &[u8], at: usize) -> bool {
    let before = |back: usize| at.checked_sub(back).and_then(|at| bytes.get(at)).copied();
    match before(1) {
        Some(byte) if byte.is_ascii_alphanumeric() => {
            (before(2) == Some(b'\\') && matches!(byte, b'n' | b't' | b'r'))
                || (before(3) == Some(b'%')
                    && byte.is_ascii_hexdigit()
                    && before(2).is_some_and(|b| b.is_ascii_hexdigit()))
        }
        _ => true,
    }
}
