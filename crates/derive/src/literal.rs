//! Values in attributes: literals, lists of literals, and variants of a choice.

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::{Expr, ExprArray, ExprLit, ExprUnary, Lit, Path, Type, UnOp};

use crate::json::Json;

/// A value in an attribute.
#[derive(Clone)]
pub(crate) struct Literal {
    pub(crate) value: LiteralValue,
    pub(crate) span: Span,
}

#[derive(Clone)]
pub(crate) enum LiteralValue {
    Text(String),
    Whole(i128),
    Fraction(f64),
    Flag(bool),
    List(Vec<Literal>),
    /// `Region::EuCentral`.
    Variant(Path),
}

impl Literal {
    pub(crate) fn read(expr: &Expr) -> syn::Result<Self> {
        let span = expr.span();
        let value = match expr {
            Expr::Lit(ExprLit { lit, .. }) => read_lit(lit, "")?,
            Expr::Unary(ExprUnary {
                op: UnOp::Neg(_),
                expr,
                ..
            }) => match &**expr {
                Expr::Lit(ExprLit {
                    lit: lit @ (Lit::Int(_) | Lit::Float(_)),
                    ..
                }) => read_lit(lit, "-")?,
                _ => return Err(not_a_literal(span)),
            },
            Expr::Array(ExprArray { elems, .. }) => {
                LiteralValue::List(elems.iter().map(Self::read).collect::<syn::Result<_>>()?)
            }
            Expr::Reference(reference) => return Self::read(&reference.expr),
            // Macros put invisible groups around literals they pass on.
            Expr::Group(group) => return Self::read(&group.expr),
            Expr::Path(path) if path.qself.is_none() && is_variant(&path.path) => {
                LiteralValue::Variant(path.path.clone())
            }
            _ => return Err(not_a_literal(span)),
        };
        Ok(Self { value, span })
    }

    /// The value in a definition; `choice` is the type of variants.
    pub(crate) fn to_json(&self, choice: &Type) -> Json {
        match &self.value {
            LiteralValue::Text(text) => Json::Text(text.clone()),
            LiteralValue::Whole(number) => Json::Whole(*number),
            LiteralValue::Fraction(number) => Json::Fraction(*number),
            LiteralValue::Flag(flag) => Json::Flag(*flag),
            LiteralValue::List(items) => {
                Json::List(items.iter().map(|item| item.to_json(choice)).collect())
            }
            LiteralValue::Variant(path) => Json::Variant(path.clone(), Box::new(choice.clone())),
        }
    }

    /// The number, if it is one, to compare bounds.
    #[expect(
        clippy::cast_precision_loss,
        reason = "two bounds that differ beyond 53 bits are compared again when the form loads"
    )]
    pub(crate) fn as_number(&self) -> Option<f64> {
        match self.value {
            LiteralValue::Whole(number) => Some(number as f64),
            LiteralValue::Fraction(number) => Some(number),
            _ => None,
        }
    }

    /// The value as a length, count or size.
    pub(crate) fn as_count(&self) -> Option<u64> {
        match self.value {
            LiteralValue::Whole(number) => u64::try_from(number).ok(),
            _ => None,
        }
    }
}

fn not_a_literal(span: Span) -> syn::Error {
    let message = "write a literal here, a list of literals, or a variant such as `Region::Eu`";
    syn::Error::new(span, message)
}

fn read_lit(lit: &Lit, sign: &str) -> syn::Result<LiteralValue> {
    match lit {
        Lit::Str(text) => Ok(LiteralValue::Text(text.value())),
        Lit::Bool(flag) => Ok(LiteralValue::Flag(flag.value)),
        Lit::Int(number) => {
            let value: i128 = format!("{sign}{}", number.base10_digits())
                .parse()
                .map_err(|_| too_large(lit))?;
            if i64::try_from(value).is_err() && u64::try_from(value).is_err() {
                return Err(too_large(lit));
            }
            Ok(LiteralValue::Whole(value))
        }
        Lit::Float(number) => {
            let value: f64 = format!("{sign}{}", number.base10_digits())
                .parse()
                .map_err(|_| too_large(lit))?;
            if !value.is_finite() {
                return Err(too_large(lit));
            }
            Ok(LiteralValue::Fraction(value))
        }
        other => Err(not_a_literal(other.span())),
    }
}

fn too_large(lit: &Lit) -> syn::Error {
    syn::Error::new(
        lit.span(),
        "this number does not fit into 64 bits; use a smaller one",
    )
}

/// Whether a path looks like a variant: `Region::Eu`, or `Eu` if it is imported.
fn is_variant(path: &Path) -> bool {
    let starts_upper = |text: String| text.starts_with(char::is_uppercase);
    path.segments
        .last()
        .is_some_and(|last| starts_upper(last.ident.to_string()))
}
