"""The English word lists: closed classes, and verbs by what a sentence with them tells."""

# ruff: noqa: E501 - a pattern or a list is read more easily whole
from __future__ import annotations

from functools import lru_cache
from typing import Final

from agentmem.tiers.word_list import words

CONTRACTIONS: Final = {
    "can't": ("can", "not"), "cannot": ("can", "not"), "won't": ("will", "not"), "i'm": ("i", "am"),
    "im": ("i", "am"), "ive": ("i", "have"), "let's": ("let", "us"), "gonna": ("going", "to"),
    "dont": ("do", "not"), "doesnt": ("does", "not"), "didnt": ("did", "not"), "cant": ("can", "not"),
}  # fmt: skip
SUFFIXES: Final = {
    "n't": "not", "'m": "am", "'re": "are", "'ve": "have", "'ll": "will", "'d": "would",
}  # fmt: skip
IS_AFTER: Final = words("he she it that there who what where how here this")

PUNCTUATION: Final = words(", ; : — – - ( ) [ ] { } \" “ ” … / | • * ' ‘")
JOINING: Final = words("and but so then yet or plus also")
SUBORDINATING: Final = words(
    "because since although though as while after before that which who when where until once "

                            "for whose")  # fmt: skip
HYPOTHETICAL: Final = words("if unless whether suppose supposing imagine provided assuming lest")
INTERROGATIVE: Final = words(
    "what which who whom whose when where why how is are am was were do does did can could would "
    "will "

                            "should shall may might have has had any")  # fmt: skip
BE: Final = words("am is are was were be been being")
AUXILIARY: Final = BE | words(
    "have has had having do does did will would can could may might must should shall not"
)
HEDGES: Final = words("might may could perhaps maybe probably possibly")
ADVERBS: Final = words(
    "also really usually always never still just already recently currently actually probably "
    "generally particularly "
    "personally often sometimes rarely seldom normally typically mostly even only finally "
    "definitely certainly simply "
    "now then therefore thus too very quite rather originally initially tentatively officially successfully "
    "especially absolutely truly honestly frankly basically mainly primarily specifically "
    "genuinely strongly deeply "
    "firmly gladly kindly please have ever both all lately occasionally regularly today yesterday "
    "tomorrow tonight "
    "eventually temporarily previously formerly jointly mutually unanimously ultimately together "
    "either similarly "
    "quickly slowly carefully immediately accidentally unfortunately luckily thankfully kinda "
    "sorta totally pretty "
    "highly extremely incredibly increasingly"
) - {"have"}  # fmt: skip
FREQUENT: Final = words("usually always often never rarely seldom normally typically mostly generally regularly "
                       "occasionally sometimes")  # fmt: skip
COMPLETED: Final = words("just already recently finally")
NEGATIONS: Final = words("not never hardly barely")
TIME_WORDS: Final = words(
    "today tomorrow yesterday tonight morning afternoon evening night noon week month year weekend "
    "monday tuesday wednesday "
    "thursday friday saturday sunday recently lately now currently again ago days weeks months "
    "years day hello hi hey "
    "okay ok yes yeah yep no well sure alright honestly actually great thanks oh ah hmm however "
    "moreover therefore first "
    "second third lastly finally meanwhile anyway besides exactly right"
)  # fmt: skip

KIN: Final = words(
    "brothers sisters cats dogs daughters nephews nieces cousins grandchildren grandson "
    "granddaughter twins wife husband son daughter father mother dad mom mum parents brother "
    "sister boss manager "
    "colleague friend friends kids "
    "children family cat dog roommate partner girlfriend boyfriend fiance fiancee uncle aunt "
    "cousin grandmother grandfather "
    "grandma grandpa nephew niece baby teammate mentor supervisor sons daughters boy girl child "
    "master teacher doctor "
    "neighbor neighbour sibling siblings coworker in-laws"
)  # fmt: skip
TEAMS: Final = words(
    "team squad company group department client customer project crew engineering management "
    "office "

                    "backend frontend we board startup organization organisation firm")  # fmt: skip
TEAM_CONTEXT: Final = words(
    "team repo repository sprint deploy deploys deployment commit commits branch merge api backend "
    "frontend staging production "
    "release ci pipeline codebase database server servers framework library python typescript "
    "javascript rust kubernetes docker "
    "postgres redis linter tests migrations merge build endpoints graphql prod microservice "
    "refactor bug yaml json docs sdk sprints roadmap retro standups backlog hotfix kanban endpoint "
    "pull-request pr prs standup"
)  # fmt: skip

# Verbs by what a sentence with them tells.
LIKES: Final = {
    "prefer": "likes", "like": "likes", "love": "likes", "enjoy": "likes", "adore": "likes", "favor": "likes",
    "favour": "likes", "hate": "dislikes", "dislike": "dislikes", "detest": "dislikes", "loathe": "dislikes",
    "despise": "dislikes",
}  # fmt: skip
HABITS: Final = words("tend avoid refuse")
SKILLS: Final = words("know speak understand master")
TRAITS: Final = (
    "good at", "bad at", "terrible at", "great at", "poor at", "skilled", "familiar with", "unfamiliar with", "clumsy",
    "cautious", "careful", "afraid of", "scared of", "interested in", "keen on", "passionate about", "fond of", "into",
    "as into", "fluent", "proficient", "comfortable with", "obsessed with", "addicted to", "fan", "big fan", "huge fan",
    "a fan", "a big fan", "a huge fan", "vegetarian", "vegan", "a vegetarian", "a vegan", "an introvert", "an extrovert",
    "introverted", "extroverted", "a morning person", "a night owl", "an early bird", "a perfectionist", "picky",
    "left-handed", "color-blind", "colour-blind", "colorblind", "used to", "more of", "a visual learner", "shy", "patient",
    "impatient", "open to", "particular about", "meticulous", "pragmatic", "frugal", "a person who", "someone who",
    "a beginner", "new to", "not a", "experienced", "sensitive to", "the type", "the kind", "a coffee", "a tea", "lazy",
    "optimistic", "handy", "talkative", "sociable", "social", "punctual", "messy", "tidy", "tall", "short-sighted", "nearsighted", "creative", "analytical", "sensitive", "competitive", "ambitious", "religious", "traditional", "hardworking", "hard-working", "forgetful", "easygoing", "easy-going", "laid-back", "independent", "emotional", "serious", "straightforward", "direct", "superstitious", "flexible", "active", "loyal", "mindful", "selective", "conservative", "thrifty", "generous", "stubborn", "disciplined", "organized", "organised", "detail-oriented", "diligent", "health-conscious", "spontaneous", "practical", "romantic", "sentimental", "outgoing", "well versed", "well-versed", "inclined to", "a dog person", "a cat person", "strict about",
)  # fmt: skip
TRAIT_NOUNS: Final = words(
    "personality habit habits tendency preference fear phobia taste temper knack passion weakness "

                          "interest")  # fmt: skip
STATES: Final = words(
    "suffer work live reside study own belong teach manage lead run operate commute weigh earn use "
    "play train stay "

                     "specialize specialise rent drive suffer wear keep")  # fmt: skip
DECIDES: Final = words(
    "decide choose agree settle opt resolve adopt select commit pick standardize standardise"
)
PLANS: Final = words("plan intend aim")
EVENTS: Final = words(
    "flood burn leak buy purchase book schedule reschedule cancel sign move receive finish complete start begin "
    "join leave quit resign marry "
    "die graduate win lose break fall sell pay visit attend meet launch ship release deploy submit "
    "apply register enroll "
    "enrol adopt hire fix repair make cook bake go take travel fly arrive return try pass fail "
    "install replace order open "
    "close sprain injure crash upgrade migrate merge switch rent renew celebrate host present "
    "publish announce approve "
    "reject accept turn get give bring send spend invest deposit withdraw harvest plant paint "
    "clean build set create draft "
    "arrange confirm postpone delay drop scrap save watch read hold land drive climb hike swim run "
    "walk eat drink see "
    "bring come interview promote transfer relocate retire recover undergo donate lend borrow hurt "
    "catch reserve prepare "
    "learn discover notice spot hit achieve reach earn raise reduce cut stop decline refuse wrap "
    "resolve solve conduct test "
    "negotiate discuss talk call speak chat teach record collect pick add ask invite help "
    "participate complete finalize "
    "develop write design organize organise participate perform stay play"
)  # fmt: skip
# Happenings that need neither a date nor a word like "just" to be worth keeping.
MILESTONES: Final = words(
    "buy purchase book schedule reschedule cancel sign move quit resign marry die graduate win "
    "sell launch release hire "
    "sprain injure crash migrate adopt relocate retire donate break pass postpone renew enroll "
    "enrol register scrap "
    "announce approve receive install replace submit"
)  # fmt: skip
RULE_VERBS: Final = words(
    "tag prefix wrap lint mock cc hardcode reuse document validate escape share reveal capitalize "
    "indent apologize invent guess use push commit add touch edit delete deploy merge write "
    "mention send call ask change run "
    "include answer reply respond "
    "keep format explain speak talk address avoid put show start name skip remove rename modify "
    "create install suggest "
    "recommend assume log store commit give round translate quote cite link tell remind address "
    "refer store save print "
    "check test review squash rebase make do list summarize summarise limit stick stop book order sign end begin"
)  # fmt: skip
STYLE_NOUNS: Final = words(
    "answers answer replies reply responses response explanations explanation comments comment "
    "commits messages message "
    "summaries code tests titles names emails docs documentation functions variables branches indentation"
)  # fmt: skip
STYLE_WORDS: Final = words(
    "short brief concise simple formal informal polite plain english vietnamese chinese french "
    "german spanish japanese korean "
    "metric celsius bullet bullets markdown tabs spaces emojis emoji euros dollars"
)  # fmt: skip
ONE_OFF: Final = (
    "this time", "just this", "for this", "right now", "just once", "this once", "only this", "for now", "in this case",
    "this one", "this run", "this session", "for today", "today only", "this message", "this answer", "this question",
    "in this reply", "for the moment", "one-off",
)  # fmt: skip
LASTING: Final = (
    "from now on", "from today", "going forward", "from here on", "in the future", "in future",
    "by default", "at all times", "as a rule", "unless i say", "all future", "from this point", "starting today", "as of now",
    "as of today", "until further notice", "for good", "at any time", "without asking", "without my", "unless i ask",
    "from tomorrow", "starting now", "henceforth", "any more", "starting from",
)  # fmt: skip
LASTING_WORDS: Final = words("always never whenever ever anymore everytime")
PLAY: Final = words("pretend roleplay role-play pretending roleplaying")
HEARSAY: Final = words(
    "said says heard hear apparently reportedly supposedly told rumor rumour allegedly"
)
MOODS: Final = words(
    "happy sad excited worried glad sorry afraid sure tired grateful curious confused nervous "
    "anxious ready wondering "
    "looking thinking trying relieved busy aware thankful free back fine okay ok here there done "
    "hoping curious feeling "
    "considering asking calling writing having willing able going concerned stuck lost pleased "
    "honored impressed confident "
    "satisfied unsure uncertain hesitant torn eager inspired touched proud moved surprised"
)  # fmt: skip
PAST_OF: Final = {
    past: base
    for base, pasts in {
        "buy": "bought", "go": "went gone", "make": "made", "take": "took taken", "get": "got gotten", "give": "gave given",
        "bring": "brought", "send": "sent", "spend": "spent", "build": "built", "hold": "held", "drive": "drove driven",
        "swim": "swam swum", "run": "ran", "eat": "ate eaten", "drink": "drank drunk", "see": "saw seen", "come": "came",
        "leave": "left", "begin": "began begun", "win": "won", "lose": "lost", "break": "broke broken", "fall": "fell fallen",
        "sell": "sold", "pay": "paid", "meet": "met", "fly": "flew flown", "lend": "lent", "catch": "caught",
        "choose": "chose chosen", "speak": "spoke spoken", "write": "wrote written", "know": "knew known", "have": "had",
        "keep": "kept", "wear": "wore worn", "teach": "taught", "lead": "led", "find": "found", "think": "thought",
        "feel": "felt", "grow": "grew grown", "become": "became", "tell": "told", "say": "said", "stick": "stuck",
        "undergo": "underwent", "withdraw": "withdrew withdrawn", "draw": "drew drawn", "ride": "rode ridden",
        "do": "did done", "be": "was were been", "wake": "woke", "forget": "forgot", "sleep": "slept", "steal": "stole stolen",
        "hurt": "hurt", "put": "put", "cut": "cut", "set": "set", "hit": "hit", "quit": "quit", "read": "read", "let": "let",
        "die": "died", "plan": "planned", "prefer": "preferred", "stop": "stopped", "ship": "shipped",
        "drop": "dropped", "commit": "committed", "scrap": "scrapped", "wrap": "wrapped", "spot": "spotted", "opt": "opted",
        "chat": "chatted", "enrol": "enrolled", "rent": "rented", "understand": "understood", "stand": "stood", "sit": "sat",
        "cancel": "cancelled canceled", "travel": "travelled traveled", "refer": "referred", "sing": "sang sung", "pass": "passed",
    }.items()
    for past in pasts.split()
}  # fmt: skip
UNCHANGED: Final = words("hurt put cut set hit quit read let")
VERBS: Final = (
    frozenset(LIKES) | HABITS | SKILLS | STATES | DECIDES | PLANS | EVENTS | RULE_VERBS
    | words("be have do find think feel want need hope become say tell mean seem look require live remain arrive grow "
           "wake care expect continue stick focus change shift happen matter taste allow let put "
           "resolve wish consider "
           "believe wonder guess suppose support sleep freeze expire sit fit cost belong last "
           "contain love end own draw "
           "tag prefix wrap lint mock hardcode reuse document validate escape share reveal "
           "capitalize indent apologize invent guess flood burn leak raise lower double host store "
           "track slip worsen improve deteriorate heal value prioritize prioritise convert "
           "deprecate learn train suffer rotate support "
           "provide offer worry rely miss suit forget steal sing ride occur handle involve flare "
           "take-over replace "
           "switch stand act major serve head weigh measure count total chase ache swell turn")
)  # fmt: skip


_THIRD: Final = {"has": "have", "does": "do", "goes": "go"}


@lru_cache(maxsize=8192)
def lemma(word: str) -> tuple[str, str]:
    """Return ``(base, form)`` of a verb form; form is base, s, past, ing or "" for no known verb."""
    if word in _THIRD:
        return _THIRD[word], "s"
    if word in VERBS:
        return word, "base"
    if word in PAST_OF:
        return PAST_OF[word], "past"
    for suffix, form in (
        ("ing", "ing"),
        ("ied", "past"),
        ("ed", "past"),
        ("ies", "s"),
        ("es", "s"),
        ("s", "s"),
    ):
        if not word.endswith(suffix):
            continue
        stem = word[: -len(suffix)]
        doubled = stem[:-1] if len(stem) > 2 and stem[-1] == stem[-2] else stem  # noqa: PLR2004
        tries = (f"{stem}y",) if suffix in {"ied", "ies"} else (stem, f"{stem}e", doubled)
        for base in tries:
            if base in VERBS:
                return base, form
    return word, ""
