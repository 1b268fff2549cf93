//! The analyzer: what becomes of words, identifiers, scripts, and the laws that hold for any text.

use std::collections::HashSet;
use std::time::Instant;

use agentmem::text::{Analyzer, MAX_QUERY_TERMS, MAX_TERM_BYTES, digest, fold};
use proptest::prelude::*;

fn document(text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    Analyzer::new().document(text, |term| terms.push(term.to_owned()));
    terms
}

fn query(text: &str) -> Vec<String> {
    Analyzer::new().query(text)
}

/// Whether a query and a document share a term.
fn finds(asked: &str, text: &str) -> bool {
    let terms: HashSet<String> = document(text).into_iter().collect();
    query(asked).iter().any(|term| terms.contains(term))
}

fn count_common(asked: &str, text: &str) -> usize {
    let terms: HashSet<String> = document(text).into_iter().collect();
    query(asked)
        .iter()
        .filter(|term| terms.contains(*term))
        .count()
}

#[test]
fn documents_give_these_terms() {
    let cases: &[(&str, &[&str])] = &[
        ("", &[]),
        (" \t\n\0 ...!?,", &[]),
        ("Running runs RUN", &["run", "run", "run"]),
        ("Anna's dogs' we'll James's", &["anna", "dog", "we", "jame"]),
        ("don't don’t dont", &["dont", "dont", "dont"]),
        ("O'Brien", &["obrien", "brien"]),
        ("auth.ts:42", &["auth.ts:42", "auth.ts", "auth", "ts", "42"]),
        ("gpt-4o", &["gpt-4o", "gpt", "4o"]),
        ("snake_case", &["snake_case", "snake", "case"]),
        ("camelCase", &["camelcas", "camel", "case"]),
        ("HTTPServer2", &["httpserver2", "http", "server", "2"]),
        ("C++, C#.", &["c++", "c", "c#", "c"]),
        ("v1.2.3", &["v1.2.3", "v1", "2", "3"]),
        ("U.S.A. e.g.", &["usa", "eg"]),
        ("1,000,000 1,2", &["1000000", "1", "2"]),
        ("1,000€", &["1000"]),
        (
            "j.doe@mail.org",
            &[
                "j.doe@mail.org",
                "j.doe",
                "j",
                "doe",
                "mail.org",
                "mail",
                "org",
            ],
        ),
        ("Nẵng", &["nang", "nẵng"]),
        ("Đà", &["da", "đà"]),
        ("cafe\u{301}", &["cafe", "café"]),
        ("STRASSE Straße", &["strass", "strass"]),
        ("ＡＢＣ ﬁle", &["abc", "file"]),
        (
            "部署方案",
            &["部", "部署", "署", "署方", "方", "方案", "案"],
        ),
        ("ｶﾞ", &["ガ"]),
        ("iPhone手机", &["iphon", "i", "phone", "手", "手机", "机"]),
        ("ok👍🏽 ❤️ 🇻🇳", &["ok", "👍", "❤", "🇻🇳"]),
        ("👩‍💻", &["👩", "💻"]),
        ("soft\u{ad}ly zero\u{200b}width", &["soft", "zero", "width"]),
        ("Acme™", &["acm"]),
        ("(see [this] \"here\")", &["see", "this", "here"]),
        ("ёлка", &["елка", "ёлка"]),
        ("हिन्दी", &["हिन्दी"]),
    ];
    for (text, expected) in cases {
        assert_eq!(document(text), *expected, "terms of {text:?}");
    }
}

#[test]
fn queries_drop_stop_words_but_are_never_emptied() {
    assert_eq!(query("What is the capital of France?"), ["capit", "franc"]);
    assert_eq!(query("to be or not to be"), ["to", "be", "or", "not"]);
    assert_eq!(query("the"), ["the"]);
    assert_eq!(query("là gì"), ["la", "là", "gi", "gì"]);
    assert_eq!(query("的"), ["的"]);
    assert_eq!(query("dogs dog DOG"), ["dog"], "terms are unique");
}

#[test]
fn names_that_look_like_stop_words_stay() {
    assert_eq!(
        query("What did Will say to the WHO?"),
        ["will", "say", "who"]
    );
    assert_eq!(
        query("I like tea. What do I drink?"),
        ["like", "tea", "drink"]
    );
    assert_eq!(query("WHAT IS THE PLAN"), ["plan"]);
}

#[test]
fn queries_are_bounded() {
    let long: Vec<String> = (0..4_000).map(|number| format!("word{number}x")).collect();
    assert_eq!(query(&long.join(" ")).len(), MAX_QUERY_TERMS);
    assert_eq!(query(&"部署".repeat(2_000)).len(), 4);
}

#[test]
fn spellings_meet() {
    let cases = [
        ("da nang", "Đà Nẵng rất đẹp"),
        ("Đà Nẵng", "da nang rat dep"),
        ("Đà Nẵng", "\u{110}a\u{300} Na\u{306}\u{303}ng"),
        ("ca phe", "Cà phê sữa đá"),
        ("部署", "今天讨论了部署方案"),
        ("猫", "养了一只猫"),
        ("我喜欢猫", "一只猫"),
        ("テスト", "日本語のテストです"),
        ("한국", "한국어 테스트"),
        ("ไทย", "ภาษาไทยง่าย"),
        ("auth.ts", "fixed in src/auth.ts:42 today"),
        ("auth", "fixed in src/auth.ts:42 today"),
        ("login", "see LoginHandler"),
        ("user id", "the field userId"),
        ("userid", "the field userId"),
        ("user_id", "the field userId"),
        ("gpt4o", "we use gpt-4o"),
        ("c++", "written in C++."),
        ("c#", "C#, not Java"),
        ("O'Brien", "obrien called"),
        ("dont", "please don't"),
        ("1000", "costs $1,000."),
        ("1.2.3", "release v1.2.3"),
        (
            "550e8400-e29b-41d4-a716-446655440000",
            "id=550e8400-e29b-41d4-a716-446655440000;",
        ),
        ("john.doe@example.com", "mail <John.Doe@Example.com>"),
        ("🙂", "fine🙂ok"),
        ("👍", "done 👍🏿"),
        ("STRASSE", "die Straße"),
        ("naive", "naïve Bayes"),
        ("привет", "ПРИВЕТ мир"),
        ("شكرا", "شُكْراً لك"),
        ("istanbul", "İSTANBUL"),
    ];
    for (asked, text) in cases {
        assert!(
            finds(asked, text),
            "{asked:?} finds {text:?}: {:?} {:?}",
            query(asked),
            document(text)
        );
    }
}

#[test]
fn exact_diacritics_agree_in_more_terms() {
    assert!(count_common("má", "má") > count_common("má", "ma"));
    assert!(count_common("má", "má") > count_common("má", "mà"));
    assert!(count_common("ma", "mà") >= 1);
}

#[test]
fn long_words_are_cut_not_dropped() {
    for text in [
        "a".repeat(300),
        "é".repeat(300),
        "0123456789abcdef".repeat(40),
        "x-".repeat(200),
        "नि".repeat(100),
    ] {
        assert!(
            document(&text)
                .iter()
                .all(|term| term.len() <= MAX_TERM_BYTES)
        );
        assert!(finds(&text, &text));
    }
}

#[test]
fn folding_for_duplicates() {
    assert_eq!(fold("  Two\t\n words\u{a0}"), "two words");
    assert_eq!(fold("Ｄà  Nẵng"), "dà nẵng");
    assert_eq!(fold("\u{b}a\u{b}b\u{c}"), "a b");
    assert_eq!(fold("ΣΊΣΥΦΟΣ"), fold("σίσυφος"));
    assert_eq!(digest("Deploy  to Fly.io"), digest("deploy to fly.io"));
    assert_ne!(digest("deploy to fly.io"), digest("deploy to fly io"));
    assert_eq!(digest(""), digest(" \n "));
}

#[test]
fn hostile_texts_take_linear_time() {
    let bytes = 1 << 18;
    for unit in [
        "a",
        "(",
        "\0",
        "'",
        "s'",
        "a.",
        "aB",
        "1,000",
        "a/b.c-",
        "\u{301}",
        "a\u{301}\u{323}",
        "\u{200d}",
        "部",
        "ẵ",
        "é.",
        "\u{1f1e6}",
        "\u{1100}\u{1161}\u{11a8}",
        "\u{fdfa}",
        "🙂",
    ] {
        let text = unit.repeat(bytes / unit.len());
        let started = Instant::now();
        let terms = document(&text);
        assert!(
            terms
                .iter()
                .all(|term| term.len() <= MAX_TERM_BYTES && !term.is_empty())
        );
        assert!(query(&text).len() <= MAX_QUERY_TERMS);
        let _ = fold(&text);
        // A debug build takes some seconds for the worst; anything quadratic would take hours.
        assert!(started.elapsed().as_secs() < 60, "{unit:?}");
    }
}

/// Words of every script, joiners, breaks, marks, invisible characters: more telling than uniform characters.
fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-zA-Z]{1,12}",
        1 => "[0-9]{1,5}",
        2 => "[-._+/\\\\:@#&', ()=\"\n\t]{1,3}",
        1 => "[àáâãèéêìíòóôõùúýăđĩũơưạảấầẩẫậẵẸÑßİıſΣς]{1,4}",
        1 => "[\u{300}-\u{310}\u{323}\u{200b}\u{200d}\u{ad}\u{fe0f}’‐™ﬁ①Ａ，]{1,3}",
        1 => "[一-三部署日本のテスト한국กา]{1,4}",
        1 => "[🙂👍🏽🇻🇳❤\u{1f1e6}]{1,2}",
        1 => any::<String>(),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn terms_are_well_formed(text in texts()) {
        for term in document(&text) {
            prop_assert!(!term.is_empty() && term.len() <= MAX_TERM_BYTES);
            prop_assert!(!term.contains(char::is_whitespace), "{:?}", term);
        }
    }

    #[test]
    fn a_text_finds_itself(text in texts()) {
        prop_assert_eq!(query(&text).is_empty(), document(&text).is_empty());
        prop_assert!(query(&text).is_empty() || finds(&text, &text), "{:?}", text);
    }

    #[test]
    fn every_word_of_a_text_finds_it(text in texts()) {
        for word in text.split_whitespace() {
            prop_assert!(query(word).is_empty() || finds(word, &text), "{:?} in {:?}", word, text);
        }
    }

    #[test]
    fn queries_use_only_terms_of_the_index(text in texts()) {
        let indexed: HashSet<String> = document(&text).into_iter().collect();
        for term in query(&text) {
            prop_assert!(indexed.contains(&term), "{:?}", term);
        }
    }

    #[test]
    fn a_used_analyzer_says_the_same_as_a_new_one(texts in prop::collection::vec(texts(), 1..6)) {
        let mut used = Analyzer::new();
        for text in &texts {
            let mut terms = Vec::new();
            used.document(text, |term| terms.push(term.to_owned()));
            prop_assert_eq!(terms, document(text));
            prop_assert_eq!(used.query(text), query(text));
        }
    }

    #[test]
    fn case_does_not_matter_to_plain_words(words in prop::collection::vec("[a-zà-öø-ýạ-ỹ]{1,10}", 1..6)) {
        let text = words.join(" ");
        prop_assert!(finds(&text.to_uppercase(), &text));
    }

    #[test]
    fn folding_is_idempotent(text in texts()) {
        let folded = fold(&text);
        prop_assert_eq!(fold(&folded), folded.clone());
        prop_assert_eq!(digest(&folded), digest(&text));
    }

    #[test]
    fn folding_ignores_case(text in "[a-zA-Zà-öø-ýạ-ỹßΑ-ΡΣ-Ωα-ω ]{0,30}") {
        prop_assert_eq!(fold(&text.to_uppercase()), fold(&text.to_lowercase()));
    }
}
