//! How the signals become one ranking: the lists, their weights, and the small terms after them.

use super::confidence::Confidence;
use crate::date::Span;
use crate::error::{Error, Result};
use crate::rrf;

/// Recall's constant of RRF where no candidate stands in a session. Measured: with it the right fact is among the
/// first ten as often as with the paper's 60, and evidence of real conversations more often.
pub const RECALL_K: f64 = 20.0;
/// The constant where one does.
const GROUPED_K: f64 = 10.0;

/// One number for each signal.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Signals {
    /// The lexical signal.
    pub bm25: f64,
    /// The vector signal.
    pub ann: f64,
}

impl Signals {
    /// Both numbers.
    #[must_use]
    pub const fn new(bm25: f64, ann: f64) -> Self {
        Self { bm25, ann }
    }

    fn both(self) -> [f64; 2] {
        [self.bm25, self.ann]
    }
}

/// How the lists are added up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Method {
    /// Reciprocal Rank Fusion: a part is `weight / (k + rank)`.
    Rrf {
        /// The constant where no candidate stands in a session.
        lone: f64,
        /// The constant where one does: many rows share little there, and first places tell more.
        grouped: f64,
    },
    /// Min-max scores: a part is `weight` times the score brought to 0..1 over the list.
    Score,
}

impl Default for Method {
    fn default() -> Self {
        Self::Rrf {
            lone: rrf::K,
            grouped: rrf::K,
        }
    }
}

/// What the rows of a session lend one another, within one signal.
///
/// With `x` a candidate's score above the list's floor, the supported score is
/// `x[i] + Σ decay^(d-1) · (before · x[i-d] + after · x[i+d])`, d = 1 and 2 places in the session, plus `session` times
/// the session's best `x`. Only candidates lend, so the cost is bounded by the depth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Support {
    /// Share lent by the row before.
    pub before: f64,
    /// Share lent by the row after.
    pub after: f64,
    /// What remains of the share at two places.
    pub decay: f64,
    /// Share lent by the session's best row to all its rows.
    pub session: f64,
}

impl Default for Support {
    fn default() -> Self {
        Self {
            before: 0.0,
            after: 0.0,
            decay: 0.6,
            session: 0.0,
        }
    }
}

/// Small terms that favour rows for what they are. Each is at most its weight times a first place of one signal.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Terms {
    /// Weight of `2^(-age / half_life)`.
    pub recency: f64,
    /// Milliseconds after which recency is half.
    pub half_life_ms: f64,
    /// Weight of `priority / 100`.
    pub priority: f64,
    /// 0: off. Else the largest share of the hits that one session may fill, rounded up; rows beyond it come after
    /// all others.
    pub diversity: f64,
}

/// A logistic model of the chance that a hit answers the query, over features of 0..1; see `hybrid::relevance`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Relevance {
    /// The constant.
    pub bias: f64,
    /// One weight a feature.
    pub weights: [f64; super::relevance::FEATURES],
}

/// See the module. The default is plain RRF of two lists.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranking {
    /// How parts are made.
    pub method: Method,
    /// Rows without a session: the signals alone.
    pub lone: Signals,
    /// Rows in a session: the signals alone.
    pub own: Signals,
    /// Rows in a session: the signals with support.
    pub near: Signals,
    /// Rows in a session: the rank of the session.
    pub session: f64,
    /// The first row of each signal, once more, where any candidate stands in a session: neither signal is outvoted.
    pub first: f64,
    /// The signals with support among rows of the time that the query names.
    pub hinted: Signals,
    /// The signals with support among rows whose subject the query names.
    pub named: Signals,
    /// What is lent.
    pub support: Support,
    /// Lets the words weigh less where they say little; `None` leaves the weights as they are.
    pub confidence: Option<Confidence>,
    /// Small terms.
    pub terms: Terms,
    /// Makes `Hit::relevance`.
    pub relevance: Option<Relevance>,
}

impl Default for Ranking {
    fn default() -> Self {
        Self {
            method: Method::default(),
            lone: Signals::new(1.0, 1.0),
            own: Signals::new(1.0, 1.0),
            near: Signals::default(),
            session: 0.0,
            first: 0.0,
            hinted: Signals::default(),
            named: Signals::default(),
            support: Support::default(),
            confidence: None,
            terms: Terms::default(),
            relevance: None,
        }
    }
}

impl Ranking {
    /// Plain RRF of both signals.
    #[must_use]
    pub fn plain(k: f64) -> Self {
        Self {
            method: Method::Rrf {
                lone: k,
                grouped: k,
            },
            ..Self::default()
        }
    }

    /// What was measured to find evidence best (`docs/quality.md`); `lone` is the constant without sessions.
    #[must_use]
    pub fn measured(lone: f64) -> Self {
        Self {
            method: Method::Rrf {
                lone,
                grouped: GROUPED_K,
            },
            lone: Signals::new(1.0, 1.0),
            own: Signals::new(0.5, 0.5),
            near: Signals::new(1.0, 0.5),
            session: 0.5,
            first: 1.0,
            hinted: Signals::new(3.0, 1.5),
            named: Signals::new(0.25, 0.25),
            support: Support {
                before: 0.5,
                after: 0.35,
                decay: 0.6,
                session: 2.0,
            },
            confidence: None,
            terms: Terms::default(),
            relevance: None,
        }
    }

    /// Whether sessions matter.
    pub(super) fn is_grouped(&self) -> bool {
        self.near != Signals::default() || self.session > 0.0 || self.own != self.lone
    }

    /// Whether spans of time matter.
    pub(super) fn is_hinted(&self) -> bool {
        self.hinted != Signals::default()
    }

    /// Whether named subjects matter.
    #[must_use]
    pub fn is_named(&self) -> bool {
        self.named != Signals::default()
    }

    /// Checks all numbers.
    ///
    /// # Errors
    /// `InvalidInput` for a number that is negative, infinite or NaN.
    pub fn check(&self) -> Result<()> {
        let wrong = |what: String| Err(Error::InvalidInput(what));
        if let Method::Rrf { lone, grouped } = self.method {
            for k in [lone, grouped] {
                if !(k.is_finite() && k > 0.0) {
                    return wrong(format!("rrf_k is {k}; a finite number above 0 is needed"));
                }
            }
        }
        let lists = [self.lone, self.own, self.near, self.hinted, self.named];
        let numbers = lists.into_iter().flat_map(Signals::both).chain([
            self.session,
            self.first,
            self.support.before,
            self.support.after,
            self.support.decay,
            self.support.session,
            self.terms.recency,
            self.terms.priority,
        ]);
        let confidence = self
            .confidence
            .map(Confidence::numbers)
            .into_iter()
            .flatten();
        for number in numbers.chain(confidence) {
            if !(number.is_finite() && number >= 0.0) {
                return wrong(format!(
                    "a number of the ranking is {number}; finite ones of at least 0 are needed"
                ));
            }
        }
        if let Some(Confidence {
            full,
            some,
            rare,
            apart,
            ..
        }) = self.confidence
            && full.min(some).min(rare).min(apart) <= 0.0
        {
            return wrong(format!(
                "the bounds of confidence are {full}, {some}, {rare} and {apart}; numbers above 0 are needed"
            ));
        }
        let Terms {
            recency,
            half_life_ms,
            diversity,
            ..
        } = self.terms;
        if recency > 0.0 && !(half_life_ms.is_finite() && half_life_ms > 0.0) {
            return wrong(format!(
                "the half-life is {half_life_ms} ms; a finite number above 0 is needed"
            ));
        }
        if !(0.0..=1.0).contains(&diversity) {
            return wrong(format!("diversity is {diversity}; 0 to 1 is allowed"));
        }
        Ok(())
    }
}

/// Spans of time that a query names: the first group that holds any row counts, as one.
pub type Hints = Vec<Vec<Span>>;
