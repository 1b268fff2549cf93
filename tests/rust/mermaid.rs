//! The tool log through the crate's public names, without Python.

use agentmem::Error;
use agentmem::mermaid::{
    Arguments, Call, Level, Log, MAX_DEPTH, Options, Outcome, Step, parse, references, tools_view,
};
use proptest::prelude::*;

#[derive(Clone, Debug)]
struct Owned {
    name: String,
    arguments: String,
    result: Option<String>,
    is_error: bool,
    batch: Option<i64>,
    parent: Option<usize>,
}

impl Owned {
    fn as_call(&self) -> Call<'_> {
        Call {
            name: self.name.as_bytes(),
            arguments: Arguments::Text(&self.arguments),
            result: self.result.as_deref(),
            is_error: self.is_error,
            batch: self.batch,
            parent: self.parent,
        }
    }
}

fn log_of(calls: &[Owned]) -> Log {
    let mut log = Log::default();
    for call in calls {
        log.append(&call.as_call())
            .expect("fewer calls than a log may have");
    }
    log
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        "[;:#&%<=>\"\\[\\]{} \n\tdirecton TBLRFAIL019_/-]{0,14}",
        "\\PC{0,8}",
        any::<String>(),
        Just("FAIL x".to_owned()),
        Just("change direction".to_owned()),
    ]
}

fn call() -> impl Strategy<Value = Owned> {
    (
        word(),
        word(),
        prop::option::of(word()),
        any::<bool>(),
        prop::option::of(0i64..3),
        prop::option::of(0usize..20),
    )
        .prop_map(|(name, arguments, result, is_error, batch, parent)| Owned {
            name,
            arguments,
            result,
            is_error,
            batch,
            parent,
        })
}

/// Calls of which some come several times in a row, so that loops are met.
fn calls() -> impl Strategy<Value = Vec<Owned>> {
    prop::collection::vec((call(), 1usize..4), 0..14).prop_map(|list| {
        list.into_iter()
            .flat_map(|(call, times)| std::iter::repeat_n(call, times))
            .collect()
    })
}

fn text_of(log: &mut Log, level: Level) -> (String, Vec<Step>) {
    let canvas = log.canvas(Options {
        level,
        budget_tokens: None,
        is_exact: true,
    });
    (
        canvas.pages.iter().map(|page| page.text.as_str()).collect(),
        canvas.steps,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_level_and_view_reads_back(calls in calls()) {
        let mut log = log_of(&calls);
        for level in Level::ALL {
            let (text, steps) = text_of(&mut log, level);
            let document = parse(&text).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
            prop_assert_eq!(&document.steps, &steps);
            prop_assert_eq!(document.to_text(), text);
            let view = tools_view(&steps);
            let document = parse(&view).map_err(|error| TestCaseError::fail(format!("{error}\n{view}")))?;
            prop_assert_eq!(document.steps, steps);
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in any::<String>(), body in "[c0-9_ >:{}%=#;\n\\[\\]*-]{0,80}") {
        let _ = parse(&text);
        let _ = parse(&format!("stateDiagram-v2\n{body}"));
    }
}

fn plain(name: &str, result: &str) -> Owned {
    Owned {
        name: name.to_owned(),
        arguments: String::new(),
        result: Some(result.to_owned()),
        is_error: false,
        batch: None,
        parent: None,
    }
}

#[test]
fn every_page_reads_alone_and_all_together() {
    // Parallel sub-agents whose runs go over the page's end, the hardest place to cut.
    let mut calls = vec![plain("start", "")];
    for batch in 0..3 {
        let first = calls.len();
        for member in 0..3 {
            calls.push(Owned {
                batch: Some(batch),
                ..plain("Task", &format!("agent {member}"))
            });
        }
        for number in 0..240 {
            for member in 0..3 {
                let text = format!("{batch}-{member}-{number}");
                calls.push(Owned {
                    parent: Some(first + member),
                    batch: Some(number / 2),
                    ..plain("Read", &text)
                });
            }
        }
    }
    let canvas = log_of(&calls).canvas(Options {
        level: Level::Standard,
        budget_tokens: None,
        is_exact: true,
    });
    assert!(canvas.pages.len() > 4, "{} pages", canvas.pages.len());
    let whole: String = canvas.pages.iter().map(|page| page.text.as_str()).collect();
    assert_eq!(parse(&whole).expect("all pages").steps, canvas.steps);
    let all = references(&canvas.steps, &[0], &[]);
    for page in &canvas.pages {
        assert!(page.text.len() <= 45_000);
        let document = parse(&page.text).expect("one page");
        assert_eq!(document.steps, canvas.steps[page.start..page.end]);
        assert_eq!(document.to_text(), page.text);
        let own = references(&document.steps, &document.before, &document.open);
        for (own, whole) in own.iter().zip(&all[page.start..page.end]) {
            assert_eq!(own.id, whole.id);
            // A batch that only goes on after the page's end can't be known from the page.
            if own.group.is_some() {
                assert_eq!(own.group, whole.group);
            }
        }
    }
}

#[test]
fn repeats_cost_one_line_and_nothing_else() {
    let calls: Vec<Owned> = (0..100_000).map(|_| plain("poll", "waiting")).collect();
    let canvas = log_of(&calls).canvas(Options::default());
    assert_eq!(canvas.pages.len(), 1);
    assert!(canvas.bytes < 200);
    assert_eq!(
        parse(&canvas.pages[0].text).expect("a loop").steps.len(),
        100_000
    );
}

#[test]
fn a_repeat_can_not_make_more_calls_than_a_log_may_have() {
    let bomb = "stateDiagram-v2\n[*] --> c1: x\nc1 --> c1: repeat 4000000000 to c4000000001\n";
    assert!(matches!(
        parse(bomb),
        Err(Error::MermaidParse { line: 3, .. })
    ));
}

#[test]
fn a_thousand_levels_of_sub_agents_stay_linear() {
    let calls: Vec<Owned> = (0..1_000)
        .map(|level: usize| Owned {
            parent: level.checked_sub(1),
            ..plain("Task", &level.to_string())
        })
        .collect();
    let (text, steps) = text_of(&mut log_of(&calls), Level::Standard);
    assert_eq!(
        steps.iter().map(|step| step.place.depth).max(),
        Some(MAX_DEPTH)
    );
    assert_eq!(parse(&text).expect("deep").steps, steps);
}

#[test]
fn lone_surrogates_in_a_name_come_back_byte_for_byte() {
    let mut log = Log::default();
    let name = [b'a', 0xED, 0xA0, 0xBD, b'b'];
    let call = Call {
        name: &name,
        arguments: Arguments::Text(""),
        result: None,
        is_error: false,
        batch: None,
        parent: None,
    };
    log.append(&call).expect("one call");
    let (text, _) = text_of(&mut log, Level::Names);
    assert!(text.contains("a#55357;b"));
    let document = parse(&text).expect("an entity");
    assert_eq!(document.steps[0].tool.as_bytes(), name);
    assert_eq!(document.steps[0].outcome, Outcome::Pending);
}

#[test]
fn a_cut_diagram_is_refused_with_its_place() {
    let (text, _) = text_of(
        &mut log_of(&[plain("a", "1"), plain("b", "2")]),
        Level::Standard,
    );
    let cut = &text[..text.find("%% calls").expect("a trailer")];
    assert!(parse(cut).is_err());
    let dropped = text.replace("[*] --> c1: a => 1\n", "");
    assert!(matches!(
        parse(&dropped),
        Err(Error::MermaidParse { line: 3, .. })
    ));
}
