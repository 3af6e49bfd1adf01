//! Prints answers for shell scripts.

use std::io::{self, Write};

use anyhow::{bail, ensure};
use entreat::Form;
use entreat::core::{Field, closest};
use serde_json::Value;

use super::question::{ANSWER, LINE};
use crate::output;

/// How to print the answers.
pub(super) enum Print {
    /// One line of JSON, or the bare text of a single-line prompt.
    Result,
    /// One line per variable: its name and the field's id.
    Variables(Vec<(String, String)>),
    /// The answer to this field.
    Field(String),
    /// The answer to a single question, in the words of a shell.
    Answer,
}

/// Names that shells or loaders act on. A form must not be able to set them.
const RESERVED: &[&str] = &[
    "BASHOPTS",
    "BASH_ENV",
    "CDPATH",
    "ENV",
    "EUID",
    "FPATH",
    "GLOBIGNORE",
    "HOME",
    "IFS",
    "OPTIND",
    "PATH",
    "PERL5LIB",
    "PERL5OPT",
    "PPID",
    "PROMPT_COMMAND",
    "PS4",
    "PWD",
    "PYTHONPATH",
    "SHELL",
    "SHELLOPTS",
    "UID",
];
const RESERVED_PREFIXES: &[&str] = &["BASH_FUNC", "DYLD_", "GIT_", "LD_"];

impl Print {
    /// Prints variables named after a form's fields. Fails, before anything is asked, if two names
    /// collide or one is reserved by the shell.
    pub(super) fn variables(form: Option<&Form>) -> anyhow::Result<Self> {
        let mut variables: Vec<(String, String)> = Vec::new();
        for id in ids(form) {
            let name = variable(id);
            let is_reserved = RESERVED.contains(&&*name)
                || RESERVED_PREFIXES
                    .iter()
                    .any(|start| name.starts_with(start));
            ensure!(
                !is_reserved,
                "--env would set {name} for the field `{id}`, but your shell uses that variable: \
                 print JSON instead"
            );
            if let Some((_, other)) = variables.iter().find(|(taken, _)| *taken == name) {
                bail!("--env would set {name} twice, for the fields `{other}` and `{id}`");
            }
            variables.push((name, id.to_owned()));
        }
        Ok(Self::Variables(variables))
    }

    /// Prints one field of a form. Fails if the form does not have it.
    pub(super) fn field(form: Option<&Form>, id: &str) -> anyhow::Result<Self> {
        let known: Vec<&str> = ids(form).collect();
        if known.contains(&id) {
            return Ok(Self::Field(id.to_owned()));
        }
        let suggestion = closest(id, &known).map(|id| format!("; did you mean `{id}`?"));
        bail!(
            "--field: the form has no field `{}`{}",
            output::sanitize(id),
            suggestion.unwrap_or_default()
        );
    }

    /// Prints a result.
    pub(super) fn print(&self, result: &Value, out: &mut dyn Write) -> io::Result<()> {
        let answer = |id: &str| match result {
            Value::Object(answers) => answers.get(id),
            line if id == LINE => Some(line),
            _ => None,
        };
        match self {
            Self::Result => match result {
                Value::String(line) => writeln!(out, "{line}"),
                result => output::line(out, result),
            },
            Self::Variables(variables) => variables.iter().try_for_each(|(name, id)| {
                let text = answer(id).map(text).unwrap_or_default();
                writeln!(out, "{name}={}", quoted(&text))
            }),
            Self::Field(id) => match answer(id) {
                Some(answer) => writeln!(out, "{}", text(answer)),
                None => Ok(()),
            },
            Self::Answer => match answer(ANSWER) {
                Some(Value::Bool(true)) => writeln!(out, "yes"),
                Some(Value::Bool(false)) => writeln!(out, "no"),
                Some(answer) => writeln!(out, "{}", text(answer)),
                None => Ok(()),
            },
        }
    }
}

fn ids(form: Option<&Form>) -> impl Iterator<Item = &str> {
    let line = form.is_none().then_some(LINE);
    let fields = form.into_iter().flat_map(Form::fields);
    fields.map(Field::id).chain(line)
}

/// Returns the variable of a field: `api-key` is `API_KEY`.
fn variable(id: &str) -> String {
    let name: String = id
        .chars()
        .map(|c| match c {
            c if c.is_ascii_alphanumeric() => c.to_ascii_uppercase(),
            _ => '_',
        })
        .collect();
    match name.as_bytes().first() {
        Some(b'0'..=b'9') | None => format!("_{name}"),
        Some(_) => name,
    }
}

/// Formats an answer as text: lists have one item per line, files and other objects are JSON.
fn text(answer: &Value) -> String {
    match answer {
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(text).collect();
            items.join("\n")
        }
        other => other.to_string(),
    }
}

/// Quotes a text for any POSIX shell. NUL, which no variable can hold, is dropped.
fn quoted(text: &str) -> String {
    let text = text.replace('\0', "");
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn form(ids: &[&str]) -> Form {
        let field = |id: &&str| json!({"id": id, "type": "text", "label": "L"});
        let fields: Vec<Value> = ids.iter().map(field).collect();
        Form::from_value(&json!({"id": "f", "title": "F", "fields": fields})).unwrap()
    }

    fn printed(print: &Print, result: &Value) -> String {
        let mut out = Vec::new();
        print.print(result, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_field_has_a_variable_even_without_an_answer() {
        let form = form(&["api-key", "2nd", "list", "none"]);
        let print = Print::variables(Some(&form)).unwrap();
        let result = json!({"api-key": "a'b $(c)\n", "2nd": true, "list": ["x", "y z"]});
        assert_eq!(
            printed(&print, &result),
            "API_KEY='a'\\''b $(c)\n'\n_2ND='true'\nLIST='x\ny z'\nNONE=''\n"
        );
    }

    #[test]
    fn no_form_can_take_over_the_shell_or_say_one_thing_twice() {
        for id in ["path", "LD_preload", "ifs", "bash-env", "git_dir"] {
            assert!(Print::variables(Some(&form(&[id]))).is_err(), "{id}");
        }
        let error = Print::variables(Some(&form(&["a-b", "A_b"])))
            .err()
            .unwrap();
        assert!(error.to_string().contains("A_B twice"), "{error}");
    }

    #[test]
    fn one_field_is_printed_as_it_is_and_an_unknown_one_is_refused_beforehand() {
        let form = form(&["name", "age"]);
        let print = Print::field(Some(&form), "name").unwrap();
        assert_eq!(printed(&print, &json!({"name": "a\"b"})), "a\"b\n");
        assert_eq!(printed(&print, &json!({})), "");
        let error = Print::field(Some(&form), "nmae").err().unwrap();
        assert!(
            error.to_string().contains("did you mean `name`?"),
            "{error}"
        );
    }

    #[test]
    fn a_single_answer_is_a_word() {
        let print = |answer: Value| printed(&Print::Answer, &json!({"answer": answer}));
        assert_eq!(print(json!(true)), "yes\n");
        assert_eq!(print(json!(false)), "no\n");
        assert_eq!(print(json!("eu")), "eu\n");
    }

    #[test]
    fn a_single_line_is_itself() {
        let line = json!("Ada");
        assert_eq!(printed(&Print::Result, &line), "Ada\n");
        assert_eq!(
            printed(&Print::variables(None).unwrap(), &line),
            "VALUE='Ada'\n"
        );
    }
}
