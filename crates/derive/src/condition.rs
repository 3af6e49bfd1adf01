//! Translates `show_if(…)`, a condition in Rust syntax, into the form language.

use proc_macro2::Span;
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{BinOp, Expr, ExprBinary, ExprMethodCall, Ident, UnOp};

use crate::errors::Errors;
use crate::field::FieldSpec;
use crate::json::Json;
use crate::literal::{Literal, LiteralValue};
use crate::shape::Family;
use crate::words::did_you_mean;

/// A condition and the fields that it refers to.
pub(crate) struct Condition {
    pub(crate) json: Json,
    pub(crate) references: Vec<Ident>,
    pub(crate) span: Span,
}

/// Reads the condition of the field `owner` and reports its errors.
pub(crate) fn read(
    errors: &mut Errors,
    expr: &Expr,
    owner: &Ident,
    fields: &[FieldSpec],
) -> Option<Condition> {
    let mut reader = Reader {
        errors,
        owner,
        fields,
        references: Vec::new(),
    };
    let json = reader.condition(expr)?;
    Some(Condition {
        json,
        references: reader.references,
        span: expr.span(),
    })
}

pub(crate) fn unknown_field(name: &str, span: Span, fields: &[FieldSpec]) -> syn::Error {
    let names: Vec<String> = fields.iter().map(|f| f.ident.unraw().to_string()).collect();
    let hint = did_you_mean(name, names.iter().map(String::as_str));
    syn::Error::new(span, format!("this struct has no field `{name}`{hint}"))
}

struct Reader<'r> {
    errors: &'r mut Errors,
    owner: &'r Ident,
    fields: &'r [FieldSpec],
    references: Vec<Ident>,
}

const KNOWN: &str = "a condition is `field == value` (or `!=`, `<`, `<=`, `>`, `>=`), \
    `field.is_empty()`, `field.contains(\"…\")`, `field.matches(\"…\")`, `field.is_in([…])`, \
    a `bool` field, or several of these with `&&`, `||`, `!`";

impl<'r> Reader<'r> {
    fn condition(&mut self, expr: &Expr) -> Option<Json> {
        match expr {
            Expr::Paren(paren) => self.condition(&paren.expr),
            Expr::Group(group) => self.condition(&group.expr),
            Expr::Unary(unary) if matches!(unary.op, UnOp::Not(_)) => self.negation(&unary.expr),
            Expr::Binary(binary) => self.binary(binary),
            Expr::MethodCall(call) => self.call(call, false),
            Expr::Path(_) => {
                let field = self.field(expr)?;
                if !field.shape.may_be(&[Family::Boolean]) {
                    let message = "only a `bool` field is a condition by itself; compare this one \
                                   with a value, or ask `!field.is_empty()`";
                    self.errors.add(expr.span(), message);
                    return None;
                }
                Some(test("equals", field, Some(Json::Flag(true))))
            }
            other => {
                self.errors.add(other.span(), KNOWN);
                None
            }
        }
    }

    /// `!…`, as the opposite operator if there is one.
    fn negation(&mut self, expr: &Expr) -> Option<Json> {
        match expr {
            Expr::Paren(paren) => self.negation(&paren.expr),
            Expr::MethodCall(call) if call.method == "is_empty" || call.method == "is_in" => {
                self.call(call, true)
            }
            expr => {
                let inner = self.condition(expr)?;
                Some(Json::Object(vec![
                    ("operator", Json::Text("not".to_owned())),
                    ("condition", inner),
                ]))
            }
        }
    }

    fn binary(&mut self, binary: &ExprBinary) -> Option<Json> {
        let operator = match binary.op {
            BinOp::And(_) | BinOp::Or(_) => return self.junction(binary),
            BinOp::Eq(_) => "equals",
            BinOp::Ne(_) => "not_equals",
            BinOp::Lt(_) => "lt",
            BinOp::Le(_) => "lte",
            BinOp::Gt(_) => "gt",
            BinOp::Ge(_) => "gte",
            _ => {
                self.errors.add(binary.op.span(), KNOWN);
                return None;
            }
        };
        if matches!(&*binary.left, Expr::Lit(_)) {
            let message = "write the field first, then the value it is compared with";
            self.errors.add(binary.left.span(), message);
            return None;
        }
        let field = self.field(&binary.left)?;
        let families: &[Family] = match operator {
            "equals" | "not_equals" => &[
                Family::Text,
                Family::Number,
                Family::Boolean,
                Family::Date,
                Family::Select,
                Family::MultiSelect,
                Family::Url,
            ],
            _ => &[Family::Number, Family::Date],
        };
        self.fits(field, families, binary.op.span())?;
        let value = self.errors.take(Literal::read(&binary.right))?;
        field.shape.check_value(self.errors, &value);
        Some(test(
            operator,
            field,
            Some(value.to_json(&field.shape.inner)),
        ))
    }

    /// `a && b && c` as one list; the parser nests them.
    fn junction(&mut self, binary: &ExprBinary) -> Option<Json> {
        let is_and = matches!(binary.op, BinOp::And(_));
        let mut parts = vec![&*binary.right];
        let mut left = &*binary.left;
        while let Expr::Binary(inner) = left
            && (matches!(inner.op, BinOp::And(_)) == is_and)
            && matches!(inner.op, BinOp::And(_) | BinOp::Or(_))
        {
            parts.push(&inner.right);
            left = &inner.left;
        }
        parts.push(left);
        // All parts are read, so that each reports its errors.
        let read: Vec<_> = parts
            .iter()
            .rev()
            .map(|part| self.condition(part))
            .collect();
        let operator = if is_and { "and" } else { "or" };
        Some(Json::Object(vec![
            ("operator", Json::Text(operator.to_owned())),
            (
                "conditions",
                Json::List(read.into_iter().collect::<Option<_>>()?),
            ),
        ]))
    }

    fn call(&mut self, call: &ExprMethodCall, is_negated: bool) -> Option<Json> {
        let method = call.method.to_string();
        let (operator, families): (_, &[Family]) = match (method.as_str(), is_negated) {
            ("is_empty", false) => ("is_empty", &[]),
            ("is_empty", true) => ("is_not_empty", &[]),
            ("contains", _) => (
                "contains",
                &[Family::Text, Family::Url, Family::MultiSelect],
            ),
            ("matches", _) => ("regex", &[Family::Text, Family::Url, Family::Select]),
            ("is_in", _) => (
                if is_negated { "not_in" } else { "in" },
                &[
                    Family::Text,
                    Family::Number,
                    Family::Boolean,
                    Family::Date,
                    Family::Select,
                    Family::Url,
                ],
            ),
            (other, _) => {
                let known = ["is_empty", "contains", "matches", "is_in"];
                let hint = did_you_mean(other, known);
                let message = format!(
                    "conditions have no `{other}`, only `is_empty`, `contains`, `matches` and \
                     `is_in`{hint}"
                );
                self.errors.add(call.method.span(), message);
                return None;
            }
        };
        let field = self.field(&call.receiver)?;
        if !families.is_empty() {
            self.fits(field, families, call.method.span())?;
        }
        let value = match (method.as_str(), call.args.len()) {
            ("is_empty", 0) => None,
            ("contains" | "matches" | "is_in", 1) => {
                Some(self.argument(field, &method, &call.args[0])?)
            }
            (_, 0) => {
                let message = format!("say what: `{method}(…)`");
                self.errors.add(call.method.span(), message);
                return None;
            }
            _ => {
                let message = format!("too many values for `{method}`");
                self.errors.add(call.args.span(), message);
                return None;
            }
        };
        Some(test(operator, field, value))
    }

    fn argument(&mut self, field: &FieldSpec, method: &str, expr: &Expr) -> Option<Json> {
        let value = self.errors.take(Literal::read(expr))?;
        match (method, &value.value) {
            ("is_in", LiteralValue::List(items)) => {
                for item in items {
                    field.shape.check_item(self.errors, item);
                }
            }
            ("contains", LiteralValue::Variant(_)) if field.shape.is_list => {}
            ("contains" | "matches", LiteralValue::Text(_)) => {}
            ("is_in", _) => {
                self.errors.add(value.span, "write a list: `is_in([…])`");
                return None;
            }
            _ => {
                self.errors
                    .add(value.span, format!("`{method}` takes a text, `\"…\"`"));
                return None;
            }
        }
        Some(value.to_json(&field.shape.inner))
    }

    /// The field that an expression names.
    fn field(&mut self, expr: &Expr) -> Option<&'r FieldSpec> {
        let ident = match expr {
            Expr::Path(path) => path.path.get_ident(),
            Expr::Group(group) => return self.field(&group.expr),
            _ => None,
        };
        let Some(ident) = ident else {
            self.errors
                .add(expr.span(), "name a field of this struct here");
            return None;
        };
        if ident == self.owner {
            let message = "whether a field is shown cannot depend on the field itself";
            self.errors.add(ident.span(), message);
            return None;
        }
        let Some(field) = self.fields.iter().find(|field| field.ident == *ident) else {
            let name = ident.unraw().to_string();
            self.errors
                .push(unknown_field(&name, ident.span(), self.fields));
            return None;
        };
        self.references.push(ident.clone());
        Some(field)
    }

    fn fits(&mut self, field: &FieldSpec, families: &[Family], span: Span) -> Option<()> {
        if field.shape.may_be(families) {
            return Some(());
        }
        let actual = field.shape.family().map_or("something else", Family::noun);
        let message = format!(
            "this cannot be asked of `{}`, which takes {actual}",
            field.ident
        );
        self.errors.add(span, message);
        None
    }
}

fn test(operator: &str, field: &FieldSpec, value: Option<Json>) -> Json {
    let mut entries = vec![
        ("operator", Json::Text(operator.to_owned())),
        ("field", Json::Text(field.id.clone())),
    ];
    entries.extend(value.map(|value| ("value", value)));
    Json::Object(entries)
}
