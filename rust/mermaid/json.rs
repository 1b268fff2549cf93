//! JSON in brief: one pass that keeps the outer two levels and counts the rest.

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// Fields or items of one value that are kept.
const KEPT_ITEMS: usize = 48;

/// Fields that most objects do not exceed.
const USUAL_FIELDS: usize = 8;

/// A JSON value, cut at depth and number.
pub(super) enum Brief<'a> {
    Null,
    Bool(bool),
    Number(Number),
    Text(Cow<'a, str>),
    Array {
        length: usize,
        items: Vec<Brief<'a>>,
    },
    Object {
        length: usize,
        fields: Vec<(Cow<'a, str>, Brief<'a>)>,
    },
}

/// A number, shown as JSON has it.
#[derive(Clone, Copy)]
pub(super) enum Number {
    Signed(i64),
    Unsigned(u64),
    Float(f64),
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Signed(value) => value.fmt(f),
            Self::Unsigned(value) => value.fmt(f),
            Self::Float(value) => write!(f, "{value:?}"),
        }
    }
}

/// Reads one JSON value and keeps its outer `levels`, below them only lengths; `None` if the text is anything else (or nests deeper than `serde_json` goes).
pub(super) fn read(text: &str, levels: u8) -> Option<Brief<'_>> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = Seed { levels }.deserialize(&mut reader).ok()?;
    reader.end().ok()?;
    Some(value)
}

impl<'a> Brief<'a> {
    pub(super) fn fields(&self) -> &[(Cow<'a, str>, Brief<'a>)] {
        match self {
            Self::Object { fields, .. } => fields,
            _ => &[],
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        self.fields()
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value)
    }

    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The text of the first of these fields that holds one.
    pub(super) fn text_of(&self, keys: &[&str]) -> Option<&str> {
        keys.iter()
            .find_map(|key| self.get(key).and_then(Brief::text))
    }
}

#[derive(Clone, Copy)]
struct Seed {
    levels: u8,
}

impl<'de> DeserializeSeed<'de> for Seed {
    type Value = Brief<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Brief<'de>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed {
    type Value = Brief<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Brief<'de>, E> {
        Ok(Brief::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Brief<'de>, E> {
        Ok(Brief::Number(Number::Signed(value)))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Brief<'de>, E> {
        Ok(Brief::Number(Number::Unsigned(value)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Brief<'de>, E> {
        Ok(Brief::Number(Number::Float(value)))
    }

    fn visit_unit<E>(self) -> Result<Brief<'de>, E> {
        Ok(Brief::Null)
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Brief<'de>, E> {
        Ok(Brief::Text(Cow::Borrowed(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Brief<'de>, E> {
        Ok(Brief::Text(Cow::Owned(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Brief<'de>, A::Error> {
        let mut items = Vec::new();
        let mut length = 0;
        if self.levels > 0 {
            while items.len() < KEPT_ITEMS {
                let Some(item) = access.next_element_seed(Self {
                    levels: self.levels - 1,
                })?
                else {
                    return Ok(Brief::Array { length, items });
                };
                items.push(item);
                length += 1;
            }
        }
        while access.next_element::<IgnoredAny>()?.is_some() {
            length += 1;
        }
        Ok(Brief::Array { length, items })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Brief<'de>, A::Error> {
        let mut fields = Vec::new();
        let mut length = 0;
        if self.levels > 0 {
            fields.reserve(USUAL_FIELDS);
            while fields.len() < KEPT_ITEMS {
                let Some(Key(key)) = access.next_key::<Key<'de>>()? else {
                    return Ok(Brief::Object { length, fields });
                };
                let value = access.next_value_seed(Self {
                    levels: self.levels - 1,
                })?;
                fields.push((key, value));
                length += 1;
            }
        }
        while access.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            length += 1;
        }
        Ok(Brief::Object { length, fields })
    }
}

/// A key that borrows where it can.
struct Key<'a>(Cow<'a, str>);

impl<'de> serde::Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }
            fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Borrowed(value)))
            }
            fn visit_str<E>(self, value: &str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(value.to_owned())))
            }
        }
        deserializer.deserialize_str(KeyVisitor)
    }
}
