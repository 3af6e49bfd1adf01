//! What the name of a field's Rust type tells the macro.
//!
//! Only a hint, to reject at compile time what cannot work. An unknown name may be a choice or
//! any alias, and is never rejected. `FieldType` decides what a type actually asks for.

use proc_macro2::Span;
use syn::{GenericArgument, PathArguments, Type};

use crate::errors::Errors;
use crate::literal::{Literal, LiteralValue};

/// A field's type, as far as its name reveals it.
pub(crate) struct Shape {
    /// `Option<…>`.
    pub(crate) is_option: bool,
    /// `Vec<…>`, possibly inside an `Option`.
    pub(crate) is_list: bool,
    pub(crate) name: TypeName,
    /// The type inside `Option` and `Vec`.
    pub(crate) inner: Type,
}

/// A type that is known by name.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum TypeName {
    Text,
    /// A whole number within these bounds.
    Whole(i128, i128),
    Number,
    Boolean,
    Date,
    Moment,
    Url,
    File,
    /// A choice, an alias, or a type that no field can have.
    Other,
}

/// A group of field types that rules apply to.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Family {
    Text,
    Number,
    Boolean,
    Date,
    Select,
    MultiSelect,
    Url,
    File,
    Files,
}

impl Family {
    /// The name of this family in errors.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Number => "numbers",
            Self::Boolean => "booleans",
            Self::Date => "dates",
            Self::Select => "choices",
            Self::MultiSelect => "lists of choices",
            Self::Url => "URLs",
            Self::File => "a file",
            Self::Files => "lists of files",
        }
    }
}

impl Shape {
    pub(crate) fn of(ty: &Type) -> Self {
        let (is_option, within) = match argument(ty, "Option") {
            Some(within) => (true, within),
            None => (false, ty),
        };
        let (is_list, inner) = match argument(within, "Vec") {
            Some(inner) => (true, inner),
            None => (false, within),
        };
        Self {
            is_option,
            is_list,
            name: type_name(inner),
            inner: inner.clone(),
        }
    }

    /// The family, if the name reveals it.
    pub(crate) fn family(&self) -> Option<Family> {
        Some(match (self.name, self.is_list) {
            (TypeName::File, true) => Family::Files,
            (TypeName::Other, true) => Family::MultiSelect,
            (TypeName::Text, _) => Family::Text,
            (TypeName::Whole(..) | TypeName::Number, _) => Family::Number,
            (TypeName::Boolean, _) => Family::Boolean,
            (TypeName::Date | TypeName::Moment, _) => Family::Date,
            (TypeName::Url, _) => Family::Url,
            (TypeName::File, false) => Family::File,
            (TypeName::Other, false) => return None,
        })
    }

    /// Whether the field may be of one of these families.
    pub(crate) fn may_be(&self, families: &[Family]) -> bool {
        self.family()
            .is_none_or(|family| families.contains(&family))
    }

    /// Rejects a type that no field can have, if its name reveals that.
    pub(crate) fn check(&self, errors: &mut Errors, span: Span) {
        if self.is_list && !matches!(self.name, TypeName::Other | TypeName::File) {
            errors.add(
                span,
                "a form can ask for several choices or files, not for several of these; \
                 use a `Vec` of an enum with `#[derive(Form)]` or of `Upload`",
            );
        }
        if self.is_option && argument(&self.inner, "Option").is_some() {
            errors.add(
                span,
                "one `Option` is enough: a field has an answer or has none",
            );
        }
    }

    /// Rejects a value that a field of this type can never have.
    pub(crate) fn check_value(&self, errors: &mut Errors, value: &Literal) {
        if self.is_list {
            let LiteralValue::List(items) = &value.value else {
                errors.add(
                    value.span,
                    "this field takes several values: write a list, `[…]`",
                );
                return;
            };
            for item in items {
                self.check_item(errors, item);
            }
        } else {
            self.check_item(errors, value);
        }
    }

    /// Rejects a value that a field of this type, or an item of its list, can never be.
    pub(crate) fn check_item(&self, errors: &mut Errors, item: &Literal) {
        use LiteralValue::{Flag, Fraction, List, Text, Variant, Whole};
        let wanted = match (self.name, &item.value) {
            (TypeName::Text, Text(_))
            | (TypeName::Number, Whole(_) | Fraction(_))
            | (TypeName::Boolean, Flag(_))
            // An enum may be named `Date` or `Url` too.
            | (TypeName::Date | TypeName::Moment | TypeName::Url, Text(_) | Variant(_)) => return,
            (TypeName::Whole(low, high), Whole(number)) if (low..=high).contains(number) => return,
            (TypeName::Other, value) if !matches!(value, List(_)) => return,
            (TypeName::Whole(low, high), Whole(_)) => {
                let message = format!("this type holds numbers from {low} to {high}; use one of them");
                errors.add(item.span, message);
                return;
            }
            (TypeName::Text, _) => "a text, `\"…\"`",
            (TypeName::Whole(..), _) => "a whole number",
            (TypeName::Number, _) => "a number",
            (TypeName::Boolean, _) => "`true` or `false`",
            (TypeName::Date, _) => "a date, `\"2026-12-31\"`",
            (TypeName::Moment, _) => "a moment, `\"2026-12-31T12:00:00Z\"`",
            (TypeName::Url, _) => "a URL, `\"https://…\"`",
            (TypeName::File, _) => {
                errors.add(item.span, "a file cannot be written in an attribute");
                return;
            }
            (TypeName::Other, _) => "one value",
        };
        errors.add(item.span, format!("this field takes {wanted}"));
    }
}

/// The `T` of `Option<T>`, with any path to `Option`.
fn argument<'t>(ty: &'t Type, outer: &str) -> Option<&'t Type> {
    let Type::Path(path) = ungroup(ty) else {
        return None;
    };
    let last = path
        .path
        .segments
        .last()
        .filter(|last| last.ident == outer)?;
    match &last.arguments {
        PathArguments::AngleBracketed(arguments) => match arguments.args.first()? {
            GenericArgument::Type(ty) => Some(ungroup(ty)),
            _ => None,
        },
        _ => None,
    }
}

fn ungroup(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => ungroup(&group.elem),
        Type::Paren(paren) => ungroup(&paren.elem),
        ty => ty,
    }
}

fn type_name(ty: &Type) -> TypeName {
    let Type::Path(path) = ungroup(ty) else {
        return TypeName::Other;
    };
    let Some(last) = path.path.segments.last() else {
        return TypeName::Other;
    };
    let whole = |low: i128, high: i128| TypeName::Whole(low, high);
    match last.ident.to_string().as_str() {
        "String" => TypeName::Text,
        "u8" => whole(0, u8::MAX.into()),
        "u16" => whole(0, u16::MAX.into()),
        "u32" => whole(0, u32::MAX.into()),
        "u64" => whole(0, u64::MAX.into()),
        // The pointer size of the target is unknown to the macro.
        "u128" | "usize" => whole(0, i128::MAX),
        "i8" => whole(i8::MIN.into(), i8::MAX.into()),
        "i16" => whole(i16::MIN.into(), i16::MAX.into()),
        "i32" => whole(i32::MIN.into(), i32::MAX.into()),
        "i64" => whole(i64::MIN.into(), i64::MAX.into()),
        "i128" | "isize" => whole(i128::MIN, i128::MAX),
        "f32" | "f64" | "Number" => TypeName::Number,
        "bool" => TypeName::Boolean,
        "Date" => TypeName::Date,
        "Timestamp" | "Moment" => TypeName::Moment,
        "Url" => TypeName::Url,
        "Upload" => TypeName::File,
        _ => TypeName::Other,
    }
}
