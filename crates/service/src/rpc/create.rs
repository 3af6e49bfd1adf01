//! `elicitation/create`: builds a question from the parameters.

use entreat_core::{
    ElicitationId, Field, Form, Mode, Script, TextFormat, UnixTime, Unknown, closest,
};
use entreat_engine::{Ask, Channel, RespondentAuth, Snapshot};
use serde::Serialize;
use serde_json::{Map, Value};

use super::answer::{Work, to_text};
use super::error::RpcError;
use super::forms::{load, valid_template};
use super::method::Call;
use super::params::{Param, Params};
use super::shape::{Shape, one_of};
use super::{MAX_RESPONDENT, Rpc};

/// What is asked; exactly one of these parameters must be present.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Subject {
    FormDefinition,
    Template,
    Prompt,
    Url,
    Script,
}

impl Subject {
    const ALL: [Self; 5] = [
        Self::FormDefinition,
        Self::Template,
        Self::Prompt,
        Self::Url,
        Self::Script,
    ];

    /// The name of the parameter.
    fn name(self) -> &'static str {
        match self {
            Self::FormDefinition => "formDefinition",
            Self::Template => "template",
            Self::Prompt => "prompt",
            Self::Url => "url",
            Self::Script => "script",
        }
    }

    /// The modes that allow it, the default first.
    fn modes(self) -> &'static [Mode] {
        match self {
            Self::FormDefinition | Self::Template => &[Mode::Form, Mode::Terminal],
            Self::Prompt => &[Mode::Inline],
            Self::Url => &[Mode::Url],
            Self::Script => &[Mode::Terminal],
        }
    }

    fn is_form(self) -> bool {
        match self {
            Self::FormDefinition | Self::Template => true,
            Self::Prompt | Self::Url | Self::Script => false,
        }
    }
}

pub(super) const CREATE: &[Param] = &[
    Param::optional(
        "mode",
        Shape::Word(modes),
        "The mode; by default, it follows from the question.",
    ),
    Param::optional("formDefinition", Shape::Object, "A form."),
    Param::optional("template", Shape::Text(256), "The name of a template."),
    Param::optional("values", Shape::Object, "Initial values of the fields."),
    Param::optional(
        "prompt",
        Shape::Text(64 * 1024),
        "A question that is answered with one line of text.",
    ),
    Param::optional(
        "url",
        Shape::Text(64 * 1024),
        "The URL that the respondent is sent to.",
    ),
    Param::optional(
        "script",
        Shape::List,
        "The steps that a terminal shows and asks.",
    ),
    Param::optional(
        "message",
        Shape::Text(16 * 1024),
        "Why you ask, shown to the respondent.",
    ),
    Param::optional(
        "messageConfidential",
        Shape::Flag,
        "Whether the message stays in memory: no store writes it, and it is gone after a restart.",
    ),
    Param::optional(
        "textFormat",
        Shape::Word(text_formats),
        "How the message and the form's descriptions are formatted; `markdown` by default.",
    ),
    Param::optional(
        "introducedAs",
        Shape::Text(256),
        "The name of the program you ask for, as it gives it.",
    ),
    Param::optional(
        "timeout",
        Shape::Timeout,
        "How long the question waits, in milliseconds, or as an object.",
    ),
    Param::optional(
        "size_limit",
        Shape::Count {
            least: 0,
            most: u64::MAX,
        },
        "The maximum size of the result, in bytes of JSON.",
    ),
    Param::optional(
        "respondent",
        Shape::Text(MAX_RESPONDENT),
        "The person who may answer, or `group:NAME` for everybody in a group.",
    ),
    Param::optional(
        "respondentAuth",
        Shape::SignIn,
        "How recently the person must have signed in, and how, to send an answer on a page.",
    ),
    Param::optional(
        "durable",
        Shape::Flag,
        "Whether the question outlives the connection.",
    ),
    Param::optional(
        "callback",
        Shape::Text(64 * 1024),
        "A URL that receives the outcome.",
    ),
    Param::optional(
        "metadata",
        Shape::SmallObject(64 * 1024),
        "Metadata of the asker, returned unchanged.",
    ),
    Param::optional(
        "unknown",
        Shape::Word(|| vec!["error", "ignore"]),
        "How to treat unknown fields.",
    ),
    Param::optional(
        "sensitive",
        Shape::Flag,
        "With a prompt: whether the answer is masked and encrypted.",
    ),
    Param::optional(
        "idempotencyKey",
        Shape::Text(256),
        "A second call with the same key returns the first elicitation.",
    ),
];

pub(super) fn modes() -> Vec<&'static str> {
    Mode::ALL.iter().map(|mode| mode.as_str()).collect()
}

pub(super) fn text_formats() -> Vec<&'static str> {
    TextFormat::ALL.map(TextFormat::as_str).to_vec()
}

pub(super) fn create(call: &Call<'_>) -> Result<Work, RpcError> {
    let ask = read_ask(call)?;
    let (rpc, session) = (call.rpc.clone(), call.session.clone());
    Ok(Work::later(async move {
        let created = session.create(ask).await?;
        to_text(&describe(&rpc, &created))
    }))
}

/// The result of `elicitation/create`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CreateResult<'s> {
    elicitation_id: ElicitationId,
    mode: Mode,
    status: &'static str,
    created_at: UnixTime,
    timeout_at: UnixTime,
    #[serde(skip_serializing_if = "Option::is_none")]
    form_definition: Option<&'s Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<String>,
}

fn describe<'s>(rpc: &Rpc, created: &'s Snapshot) -> CreateResult<'s> {
    let request = &created.record().request;
    let is_script = request.extras.as_ref().is_some_and(|e| e.script.is_some());
    let (shows_form, has_page) = match request.mode {
        Mode::Form => (true, true),
        // The form of a script is derived from the script, which the asker has.
        Mode::Terminal => (!is_script, true),
        Mode::Inline => (false, true),
        Mode::Url => (false, false),
    };
    let form = request.subject.form().filter(|_| shows_form);
    let links = rpc.links.as_ref().filter(|_| has_page);
    CreateResult {
        elicitation_id: created.id(),
        mode: created.mode(),
        status: created.status().as_str(),
        created_at: created.lifecycle().created(),
        timeout_at: created.lifecycle().deadline(),
        form_definition: form.map(Form::definition),
        page: links.and_then(|links| links.page(created.id())),
    }
}

fn read_ask(call: &Call<'_>) -> Result<Ask, RpcError> {
    let params = &call.params;
    let subject = subject_of(params)?;
    let mode = mode_of(params, subject)?;
    reject_unused(params, subject)?;
    require_respondent(call.rpc, params)?;
    let respondent_auth = respondent_auth(call.rpc, params)?;
    let mut ask = match subject {
        Subject::FormDefinition | Subject::Template => {
            let form = read_form(call.rpc, params)?;
            match mode {
                Mode::Terminal => Ask::terminal(form),
                Mode::Form | Mode::Inline | Mode::Url => Ask::form(form),
            }
        }
        Subject::Prompt => {
            let prompt = params.text("prompt").unwrap_or_default();
            let ask = if params.flag("sensitive") {
                Ask::secret(&prompt)
            } else {
                Ask::inline(&prompt)
            };
            ask.map_err(|problems| RpcError::problems("prompt", &problems))?
        }
        Subject::Url => Ask::url(&params.text("url").unwrap_or_default()),
        Subject::Script => {
            let script = params.value("script").unwrap_or_default();
            let script = Script::from_value(&script);
            Ask::script(&script.map_err(|problems| RpcError::problems("script", &problems))?)
        }
    };
    if let Some(timeout) = params.value("timeout") {
        ask = ask.timeout(call.session.asker().read_timeout(mode, &timeout)?);
    }
    if let Some(auth) = respondent_auth {
        ask = ask.respondent_auth(auth);
    }
    if call.rpc.links.is_some() && subject != Subject::Url {
        ask = ask.channel(Channel::Page);
    }
    Ok(with_extras(ask, params))
}

fn with_extras(mut ask: Ask, params: &Params<'_>) -> Ask {
    if let Some(message) = params.text("message") {
        ask = if params.flag("messageConfidential") {
            ask.confidential_message(&message)
        } else {
            ask.message(&message)
        };
    }
    let format = params.text("textFormat");
    if let Some(format) = format.and_then(|name| TextFormat::from_name(&name)) {
        ask = ask.text_format(format);
    }
    if let Some(name) = params.text("introducedAs") {
        ask = ask.introduced_as(&name);
    }
    if let Some(bytes) = params.count("size_limit") {
        ask = ask.size_limit(bytes);
    }
    if let Some(respondent) = params.text("respondent") {
        ask = ask.respondent(&respondent);
    }
    if params.flag("durable") {
        ask = ask.durable();
    }
    if let Some(url) = params.text("callback") {
        ask = ask.callback(&url);
    }
    if let Some(metadata) = params.value("metadata") {
        ask = ask.metadata(metadata);
    }
    if params.text("unknown").as_deref() == Some("ignore") {
        ask = ask.unknown(Unknown::Ignore);
    }
    if let Some(key) = params.text("idempotencyKey") {
        ask = ask.idempotency_key(&key);
    }
    ask
}

/// Finds the one parameter that says what is asked.
fn subject_of(params: &Params<'_>) -> Result<Subject, RpcError> {
    let is_present = |subject: &Subject| params.has(subject.name());
    let mut present = Subject::ALL.into_iter().filter(is_present);
    let one_of_all = || one_of(&Subject::ALL.map(Subject::name));
    match (present.next(), present.next()) {
        (Some(subject), None) => Ok(subject),
        (Some(first), Some(second)) => {
            let (first, second) = (first.name(), second.name());
            let all = one_of_all();
            let message = format!("`{first}` and `{second}` were both given; give one of {all}.");
            Err(RpcError::params("two_subjects", message))
        }
        (None, _) => {
            let message = format!("Nothing to ask; give {}.", one_of_all());
            Err(RpcError::params("no_subject", message))
        }
    }
}

/// The requested mode, if it is compatible with the subject, or the subject's default mode.
fn mode_of(params: &Params<'_>, subject: Subject) -> Result<Mode, RpcError> {
    let suitable = subject.modes();
    let Some(word) = params.text("mode") else {
        return Ok(suitable[0]);
    };
    let mode = suitable.iter().find(|mode| mode.as_str() == word);
    mode.copied().ok_or_else(|| {
        let suitable: Vec<&str> = suitable.iter().map(|mode| mode.as_str()).collect();
        let (subject, suitable) = (subject.name(), one_of(&suitable));
        let message = format!("`mode` is `{word}`, but `{subject}` is asked in {suitable} mode.");
        RpcError::param("mode", "mode_mismatch", message)
    })
}

/// Rejects parameters that have no effect with this subject.
fn reject_unused(params: &Params<'_>, subject: Subject) -> Result<(), RpcError> {
    if params.has("values") && !subject.is_form() {
        let message = "`values` requires `formDefinition` or `template`.";
        return Err(RpcError::param("values", "stray_param", message));
    }
    if params.flag("sensitive") && subject != Subject::Prompt {
        let message = "`sensitive` requires `prompt`; in a form, set it on each field.";
        return Err(RpcError::param("sensitive", "stray_param", message));
    }
    Ok(())
}

/// Rejects a question without a respondent if people sign in.
fn require_respondent(rpc: &Rpc, params: &Params<'_>) -> Result<(), RpcError> {
    let is_needed = rpc.links.as_ref().is_some_and(|l| l.needs_respondent());
    let is_present = params
        .text("respondent")
        .is_some_and(|name| !name.is_empty());
    if is_present || !is_needed {
        return Ok(());
    }
    let message = "`respondent` is missing: people sign in here, and each question must name who \
                   may answer it.";
    Err(RpcError::param("respondent", "missing_param", message))
}

/// Reads what the sign-in of the respondent has to be. Refused where nobody can be asked to sign in
/// again: an answer could never be sent.
fn respondent_auth(rpc: &Rpc, params: &Params<'_>) -> Result<Option<RespondentAuth>, RpcError> {
    let Some(value) = params.value("respondentAuth") else {
        return Ok(None);
    };
    let can_ask = rpc.links.as_ref().is_some_and(|l| l.can_ask_to_sign_in());
    if !can_ask {
        let message = "`respondentAuth` requires that people sign in at the service itself \
                       (`identity.kind` = oidc).";
        return Err(RpcError::param("respondentAuth", "no_sign_in", message));
    }
    let max_age = value["maxAge"].as_u64();
    Ok(Some(RespondentAuth {
        max_age: max_age.map(|seconds| u32::try_from(seconds).unwrap_or(u32::MAX)),
        acr: value["acr"].as_str().map(Box::from),
    }))
}

fn read_form(rpc: &Rpc, params: &Params<'_>) -> Result<Form, RpcError> {
    let form = match params.raw("formDefinition") {
        Some(raw) => {
            load(rpc, raw).map_err(|problems| RpcError::problems("formDefinition", &problems))?
        }
        None => valid_template(rpc, &params.text("template").unwrap_or_default())?,
    };
    match params.value("values") {
        Some(Value::Object(values)) => prefilled(rpc, &form, values),
        _ => Ok(form),
    }
}

/// Returns the form with these values as its defaults. A draft was rejected: other channels do not
/// show it, and it would look as if somebody had begun to answer.
fn prefilled(rpc: &Rpc, form: &Form, values: Map<String, Value>) -> Result<Form, RpcError> {
    let mut definition = form.definition().clone();
    for (id, value) in values {
        let ids: Vec<&str> = form.fields().iter().map(Field::id).collect();
        let Some(index) = ids.iter().position(|other| *other == id) else {
            return Err(RpcError::unknown_value(&id, closest(&id, &ids)));
        };
        if form.fields()[index].is_sensitive() {
            let message = format!("`values` contains `{id}`, but a secret cannot be prefilled.");
            return Err(RpcError::param("values", "sensitive_value", message));
        }
        let field = definition["fields"][index].as_object_mut();
        let Some(field) = field else { continue };
        if value.is_null() {
            field.remove("default");
        } else {
            field.insert("default".to_owned(), value);
        }
    }
    // The form was valid before, so the problems are in the values.
    Form::with_validators(&definition, &rpc.validators)
        .map_err(|problems| RpcError::problems("values", &problems))
}
