//! Redaction: secrets of many shapes go, what only looks like one stays, and the laws hold for any text.

mod secrets;

use std::time::Instant;

use agentmem::redact::{find, redact};
use proptest::prelude::*;
use secrets::{ALPHABET, characters, key, secrets};

#[test]
fn secrets_go_and_only_they() {
    let cases = secrets();
    assert!(cases.len() >= 60, "{}", cases.len());
    for (kind, before, secret, after) in cases {
        // A plain quote closes what the case opened.
        let text = format!("note. {before}{secret}{after}");
        let Some((output, spans)) = redact(&text) else {
            panic!("{kind} not found in {text:?}")
        };
        assert_eq!(
            output,
            format!("note. {before}[redacted:{kind}]{after}"),
            "{text:?}"
        );
        let start = "note. ".len() + before.len();
        assert_eq!(
            (spans[0].start, spans[0].end, spans.len()),
            (start, start + secret.len(), 1),
            "{text:?}"
        );
        assert!(redact(&output).is_none(), "{output:?}");
    }
}

#[test]
fn harmless_text_stays() {
    let cases = [
        "the password is stored in vault",
        "password: stored in vault",
        "Password must contain at least 8 characters.",
        "\"password\": \"must be at least 8 characters\"",
        "token: none",
        "token = null",
        "api_key = None",
        "secret: true",
        "password: required",
        "'password' => 'required|min:8'",
        "password = getpass.getpass()",
        "password = input('Password: ')",
        "password=password, token=token",
        "password=user.password",
        "password = settings.DB_PASSWORD",
        "password = os.environ['DB_PASSWORD2']",
        "token = process.env.TOKEN_1",
        "token = get_token(123)",
        "const token = await fetchToken2(user);",
        "api_key=$API_KEY",
        "api_key=${API_KEY_2}",
        "api_key: {{ vault_api_key_2 }}",
        "api_key: <your-api-key-1>",
        "API_KEY=your_api_key_123456",
        "password: ********",
        "password: xxxxxxxx",
        "password = \"changeme\"",
        "token: [redacted:secret]",
        "password_hash = bcrypt2b10abcdef",
        "max_tokens: 4096",
        "tokens=128000",
        "token_count = 1234567890123456789",
        "tokenizer: cl100k_base_2024_version1",
        "next_page_token: CAEQAhoIabc123XYZ789abc",
        "pageToken=CAEQAhoIabc123XYZ789abc",
        "if token == 'abc123abc123abc123a1':",
        "use token::Kind2 as K;",
        "pub_key and public_key: abc",
        "primary_key=user_id_2",
        "the secret of good tea is time",
        "secret santa: 24 December",
        "bearer of bad news",
        "Bearer authentication-is-required-here",
        "Basic authentication is not enough",
        "Basic YWJjZGVm",
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "id 550e8400-e29b-41d4-a716-446655440000",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4",
        "<div class=\"sk-folding-cube sk-cube-grid sk-fading-circle-animation-delay-2\">",
        "task-management-system-for-large-teams-2024",
        "risk-assessment-of-the-project-number-17",
        "https://example.com/a/b?x=1#frag",
        "http://host:8080/path@2x.png",
        "http://host:8080?mail=a@b.org",
        "ssh://git@github.com:22/x.git",
        "mailto:someone@example.com",
        "postgres://user:${DB_PASS}@host/db",
        "postgres://user:<password>@host/db",
        "postgres://user:%s@host/db",
        "postgres://user:***@host/db",
        "-----BEGIN CERTIFICATE-----\nMIIB0123456789\n-----END CERTIFICATE-----",
        "-----BEGIN PUBLIC KEY-----\nMIIB0123456789\n-----END PUBLIC KEY-----",
        "eyJ is how a JSON web token begins",
        "ghp_ is GitHub's prefix, AKIA is Amazon's",
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "password hashed with: sha256",
        "the password is SHA256 hashed",
        "password: N/A",
        "path: /home/user/.config/secret/file1",
        "secret: /run/secrets/db_password_1",
        "token: kube-system-token-2",
        "stateDiagram-v2\n[*] --> s1: read_file auth.ts:42",
        "Passwort vergessen? Mật khẩu quên rồi. 忘记密码了。",
        "",
    ];
    assert!(cases.len() >= 60);
    for text in cases {
        assert_eq!(find(text), [], "{text:?}");
        assert!(redact(text).is_none());
    }
}

#[test]
fn several_secrets_in_one_text() {
    let first = format!("ghp_{}", key(36));
    let text = format!(
        "é {first} 密 password={first} и postgres://u:{}@h",
        "pw12345"
    );
    let (output, spans) = redact(&text).expect("secrets");
    assert_eq!(
        output,
        "é [redacted:github-token] 密 password=[redacted:github-token] и postgres://u:[redacted:url-password]@h"
    );
    assert_eq!(spans.len(), 3);
}

#[test]
fn secrets_in_escaped_and_encoded_text() {
    let token = format!("ghp_{}", key(36));
    for (before, after) in [
        ("{\"log\":\"a\\n", "\\nb\"}"),
        ("x%3D", "%26"),
        ("`", "`"),
        ("【", "】"),
    ] {
        assert_eq!(
            find(&format!("{before}{token}{after}")).len(),
            1,
            "{before}"
        );
    }
}

#[test]
fn hostile_texts_take_linear_time() {
    let bytes = 1 << 17;
    for unit in [
        "sk-",
        "eyJ",
        "eyJaaaaaaaaaaaa.",
        "password=",
        "password:\"",
        "token ",
        "://",
        "a://b:c",
        "-----BEGIN ",
        "-----BEGIN PRIVATE KEY-----",
        "[redacted:",
        "[redacted:secret]",
        "bearer ",
        "Basic YTpi",
        "SG.",
        "a1",
        "\0",
        "密码",
        "AccountKey=",
        ":aa",
        "1234567890:AA",
        "ghp_",
        "[redacted:password]=a1b2c3d4 ",
    ] {
        let text = unit.repeat(bytes / unit.len());
        let started = Instant::now();
        let _ = redact(&text);
        assert!(
            started.elapsed().as_secs() < 30,
            "{unit:?} {:?}",
            started.elapsed()
        );
    }
}

/// Fragments that set rules off, glued in any way.
fn texts() -> impl Strategy<Value = String> {
    let tokens = prop::sample::select(secrets())
        .prop_map(|(_, before, secret, after)| format!("{before}{secret}{after}"));
    let bare = prop::sample::select(secrets()).prop_map(|(_, _, secret, _)| secret);
    let fragments = prop::sample::select(vec![
        "password",
        "token",
        "secret",
        "=",
        ": ",
        " is ",
        "\"",
        "'",
        "\\\"",
        "]",
        "[",
        "[redacted:",
        "[redacted:password]",
        "[redacted:github-token]",
        "://",
        "@",
        "user:",
        "https",
        "Bearer ",
        "Basic ",
        "Authorization: ",
        "--",
        "<",
        ">",
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
        "eyJ",
        ".",
        "é",
        "密码",
        "：",
        "，",
        " ",
        "\n",
        "\\n",
        "a1B2c3D4",
        "api_key",
        "sk-",
        "AKIA",
        "$",
        "{",
        "}",
        ";",
        "&",
        "%3D",
        "jwt",
        "private-key",
    ]);
    let piece = prop_oneof![2 => tokens, 2 => bare, 8 => fragments.prop_map(str::to_owned), 1 => any::<String>(), 1 => "[a-zA-Z0-9]{1,20}"];
    prop::collection::vec(piece, 0..10).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn redacting_twice_changes_nothing(text in texts()) {
        if let Some((output, _)) = redact(&text) {
            prop_assert_eq!(redact(&output), None, "{:?}", output);
        }
    }

    #[test]
    fn spans_are_sound_and_the_rest_is_untouched(text in texts()) {
        let spans = find(&text);
        let mut from = 0;
        let mut expected = String::new();
        for span in &spans {
            prop_assert!(from <= span.start && span.start < span.end && span.end <= text.len());
            prop_assert!(text.is_char_boundary(span.start) && text.is_char_boundary(span.end));
            expected += &text[from..span.start];
            expected.extend(["[redacted:", span.kind, "]"]);
            from = span.end;
        }
        expected += &text[from..];
        prop_assert_eq!(redact(&text).map(|(output, _)| output), (!spans.is_empty()).then_some(expected));
    }

    #[test]
    fn a_known_key_never_survives(text in texts(), at in 0_usize..100) {
        let at = (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        let token = format!("ghp_{}", characters(ALPHABET, 36, 99));
        let text = format!("{} {token} {}", &text[..at], &text[at..]);
        prop_assert!(redact(&text).is_some_and(|(output, _)| !output.contains(&token)));
    }
}
