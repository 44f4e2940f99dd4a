//! A parameter as serde's types read it: a text that stands for the value of any type.

use std::borrow::Cow;
use std::str::FromStr;

use serde::de::value::CowStrDeserializer;
use serde::de::{Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

use super::error::ParameterError;

/// The name of a parameter.
pub(super) struct Name<'a>(pub Cow<'a, str>);

impl<'de> IntoDeserializer<'de, ParameterError> for Name<'de> {
    type Deserializer = CowStrDeserializer<'de, ParameterError>;

    fn into_deserializer(self) -> Self::Deserializer {
        CowStrDeserializer::new(self.0)
    }
}

/// A parameter with its text, decoded.
pub(super) struct Written<'a> {
    pub name: Cow<'a, str>,
    pub text: Cow<'a, str>,
}

impl<'de> Written<'de> {
    /// Lets a type read the text, and names the parameter in its error.
    fn read<T>(
        self,
        read: impl FnOnce(Cow<'de, str>) -> Result<T, ParameterError>,
    ) -> Result<T, ParameterError> {
        let Self { name, text } = self;
        read(text.clone()).map_err(|error| error.of(&name, &text))
    }
}

impl<'de> IntoDeserializer<'de, ParameterError> for Written<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

macro_rules! parsed {
    ($($method:ident => $visit:ident, $type:ty, $error:expr;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ParameterError> {
            self.read(|text| visitor.$visit(<$type>::from_str(&text).map_err($error)?))
        }
    )*};
}

impl<'de> Deserializer<'de> for Written<'de> {
    type Error = ParameterError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ParameterError> {
        self.read(|text| match text {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        })
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ParameterError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ParameterError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ParameterError> {
        self.read(|text| visitor.visit_enum(CowStrDeserializer::new(text)))
    }

    parsed! {
        deserialize_bool => visit_bool, bool, |_| ParameterError::none_of(&["true", "false"]);
        deserialize_u8 => visit_u8, u8, |error| ParameterError::not_whole(error.kind());
        deserialize_u16 => visit_u16, u16, |error| ParameterError::not_whole(error.kind());
        deserialize_u32 => visit_u32, u32, |error| ParameterError::not_whole(error.kind());
        deserialize_u64 => visit_u64, u64, |error| ParameterError::not_whole(error.kind());
        deserialize_i32 => visit_i32, i32, |error| ParameterError::not_whole(error.kind());
        deserialize_i64 => visit_i64, i64, |error| ParameterError::not_whole(error.kind());
        deserialize_f32 => visit_f32, f32, |_| ParameterError::not_number();
        deserialize_f64 => visit_f64, f64, |_| ParameterError::not_number();
    }

    forward_to_deserialize_any! {
        i8 i16 i128 u128 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
}
