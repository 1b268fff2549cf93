//! Secrets of every shape that a rule knows, with what stands around them.
//!
//! Each is put together at run time from halves, so that no scanner takes this file for a leak.

pub(super) const ALPHABET: &[u8] =
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// Reproducible characters of `alphabet`, with digits and letters among them.
pub(super) fn characters(alphabet: &[u8], length: usize, seed: u64) -> String {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    (0..length)
        .map(|at| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let index = if at == 2 {
                alphabet.len() - 3
            } else {
                (state >> 20) as usize % alphabet.len()
            };
            char::from(alphabet[index])
        })
        .collect()
}

pub(super) fn key(length: usize) -> String {
    characters(ALPHABET, length, length as u64 + 7)
}

fn hex(length: usize) -> String {
    characters(b"abcdef0123456789", length, length as u64 + 3)
}

fn capitals(length: usize) -> String {
    characters(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", length, length as u64)
}

/// Kind, what stands before, the secret, what stands after.
#[expect(clippy::too_many_lines, reason = "a table")]
pub(super) fn secrets() -> Vec<(&'static str, String, String, &'static str)> {
    let mut cases: Vec<(&'static str, String, String, &'static str)> = Vec::new();
    let mut add = |kind, before: &str, secret: String, after| {
        cases.push((kind, before.to_owned(), secret, after));
    };
    for prefix in ["AKIA", "ASIA"] {
        add(
            "aws-access-key",
            "id ",
            format!("{prefix}{}", capitals(16)),
            " ok",
        );
    }
    add(
        "aws-secret-key",
        "aws_secret_access_key = ",
        format!("{}/{}+{}", key(15), key(12), key(11)),
        "\n",
    );
    add(
        "aws-secret-key",
        "\"SecretAccessKey\": \"",
        format!("/{}", key(39)),
        "\"",
    );
    for prefix in ["ghp", "gho", "ghu", "ghs", "ghr"] {
        add(
            "github-token",
            "export GH=",
            format!("{prefix}_{}", key(36)),
            "\n",
        );
    }
    add(
        "github-token",
        "pat: ",
        format!("github_{}_{}_{}", "pat", key(22), key(59)),
        ".",
    );
    add("gitlab-token", "", format!("gl{}-{}", "pat", key(20)), "");
    add(
        "slack-token",
        "(",
        format!("xo{}-{}-{}", "xb", "123456789012", key(24)),
        ")",
    );
    add(
        "slack-token",
        "",
        format!("xo{}-{}-{}", "xp", "998877665544", key(32)),
        "",
    );
    add(
        "webhook",
        "https://hooks.slack.com/services/",
        format!("T{}/B{}/{}", capitals(8), capitals(8), key(24)),
        "",
    );
    add(
        "stripe-key",
        "stripe ",
        format!("sk_{}_{}", "live", key(24)),
        ",",
    );
    add("stripe-key", "", format!("rk_{}_{}", "test", key(24)), "");
    add("stripe-key", "", format!("wh{}_{}", "sec", key(32)), "");
    add(
        "anthropic-key",
        "use ",
        format!("sk-{}-api03-{}", "ant", key(90)),
        " now",
    );
    add(
        "openai-key",
        "OPENAI=",
        format!("sk-{}-{}", "proj", key(48)),
        "",
    );
    add("api-key", "key ", format!("sk{}{}", "-", key(48)), "");
    add("api-key", "", format!("sk-or-v1-{}", hex(64)), "");
    add(
        "google-key",
        "?key=",
        format!("AI{}{}", "za", key(35)),
        "&x=1",
    );
    add("google-key", "", format!("GOC{}-{}", "SPX", key(28)), "");
    add(
        "npm-token",
        "//registry/:_authToken=",
        format!("np{}_{}", "m", key(36)),
        "",
    );
    add(
        "pypi-token",
        "",
        format!("py{}-AgEIcHlwaS5vcmc{}", "pi", key(70)),
        "",
    );
    add(
        "huggingface-token",
        "login ",
        format!("h{}_{}", "f", key(34)),
        "",
    );
    add(
        "sendgrid-key",
        "",
        format!("S{}.{}.{}", "G", key(22), key(43)),
        "",
    );
    add("twilio-key", "", format!("S{}{}", "K", hex(32)), "");
    add("secret", "TWILIO_AUTH_TOKEN=", hex(32), "\n");
    add("mailgun-key", "", format!("k{}-{}", "ey", hex(32)), "");
    add(
        "digitalocean-token",
        "",
        format!("do{}_v1_{}", "p", hex(64)),
        "",
    );
    add("shopify-token", "", format!("sh{}_{}", "pat", hex(32)), "");
    add("databricks-token", "", format!("da{}{}", "pi", hex(32)), "");
    add(
        "docker-token",
        "",
        format!("dck{}_pat_{}", "r", key(27)),
        "",
    );
    add("vault-token", "", format!("hv{}.{}", "s", key(90)), "");
    add("groq-key", "", format!("gs{}_{}", "k", key(52)), "");
    add(
        "telegram-token",
        "bot ",
        format!("1234567890:A{}{}", "A", key(33)),
        "",
    );
    let token = format!("ey{}{}.eyJ{}.{}", "J", key(20), key(40), key(43));
    add("jwt", "cookie ", token.clone(), ";");
    add("jwt", "Authorization: Bearer ", token, "\r\n");
    add("authorization", "Authorization: Bearer ", key(40), "\r\n");
    add("authorization", "-H 'authorization: bearer ", hex(32), "'");
    add(
        "authorization",
        "Authorization: Basic ",
        format!("dXNlcjpw{}", "YXNzd29yZA=="),
        "",
    );
    let body = format!("{}\n{}\n", key(64), key(40));
    for label in [
        "RSA PRIVATE",
        "EC PRIVATE",
        "PRIVATE",
        "OPENSSH PRIVATE",
        "ENCRYPTED PRIVATE",
    ] {
        let block = format!(
            "-----{} {label} KEY-----\n{body}-----END {label} KEY-----",
            "BEGIN"
        );
        add("private-key", "here:\n", block, "\nend");
    }
    add(
        "private-key",
        "",
        format!("-----{} PRIVATE KEY-----\\n{}\\n", "BEGIN", key(60)),
        "\" cut",
    );
    for scheme in ["postgres", "mysql", "redis", "amqp", "mongodb+srv", "https"] {
        add(
            "url-password",
            &format!("{scheme}://user:"),
            "s3cr3tPa55".to_owned(),
            "@db.host:5432/x",
        );
    }
    add("url-password", "redis://:", "hunter2".to_owned(), "@cache");
    add("url-password", "https://", key(40), "@git.host/x.git");
    for (before, value, after) in [
        ("password = \"", "hunter2x", "\""),
        ("password: ", "Tr0ub4dor&3", ""),
        ("DB_PASSWORD=", "swordfish", "\n"),
        ("PGPASSWORD=", "abc123def", " psql"),
        ("{\"password\":\"", "p@ssw0rd!", "\"}"),
        ("{\\\"password\\\":\\\"", "s3cr3tvalue", "\\\"}"),
        ("mysql --password ", "hunter22", " db"),
        ("--password=", "hunter22", ""),
        ("<password>", "hunter22", "</password>"),
        ("Server=db;User=sa;Password=", "Swordfish", ";Encrypt=true"),
        ("host=db password=", "sw0rdfish", " dbname=x"),
        ("my password is ", "Tr0ub4dor", "."),
        ("Mật khẩu: ", "hoa12345", ""),
        ("密码：", "abc12345", "。"),
        ("password: str = '", "hunter22", "'"),
        ("user['passwd'] = '", "l33tl33t", "'"),
        ("smtp_pass: ", "x9y8z7w6", ""),
    ] {
        add("password", before, value.to_owned(), after);
    }
    for before in [
        "api_key = '",
        "API_KEY=",
        "apiKey: \"",
        "x-api-key: ",
        "secret: ",
        "client_secret=",
        "\"access_token\": \"",
        "token=",
        "os.environ[\"SERVICE_TOKEN\"] = \"",
        "SECRET_KEY_BASE=",
        "auth_token: ",
        "--token ",
        "<secret>",
        "Encryption_Key := ",
    ] {
        let after = if before.starts_with('<') {
            "</secret>"
        } else {
            "\n\"' <"
        };
        add("secret", before, key(32), after);
    }
    add(
        "secret",
        "api_key=",
        "550e8400-e29b-41d4-a716-446655440000".to_owned(),
        "",
    );
    add(
        "azure-key",
        "AccountName=a;AccountKey=",
        format!("{}==", key(86)),
        ";EndpointSuffix=x",
    );
    add("azure-key", "SharedAccessKey=", format!("{}=", key(43)), "");
    cases
}
