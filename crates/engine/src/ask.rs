//! A question before it is asked.

use entreat_core::{Form, Mode, Problems, Script, TextFormat, Timeout, Unknown};
use serde_json::{Value, json};

use crate::record::{Channel, Extras, Principal, RespondentAuth, Subject, Unwritten};

/// A question and the terms on which it is asked.
///
/// ```
/// use std::time::Duration;
/// use entreat_core::{Form, Timeout};
/// use entreat_engine::Ask;
/// use serde_json::json;
///
/// let form = Form::from_value(&json!({"id": "go", "title": "Deploy?", "fields": [
///     {"id": "sure", "type": "boolean", "label": "Are you sure?", "required": true}]}))?;
/// let ask = Ask::form(form)
///     .message("Version 7 is ready")
///     .timeout(Timeout::of(Duration::from_secs(120)));
/// # Ok::<(), entreat_core::Problems>(())
/// ```
#[derive(Clone, Debug)]
pub struct Ask {
    pub(crate) mode: Mode,
    pub(crate) subject: Subject,
    pub(crate) timeout: Timeout,
    pub(crate) size_limit: Option<u64>,
    pub(crate) channel: Channel,
    pub(crate) unknown: Unknown,
    pub(crate) durable: bool,
    pub(crate) wipe: bool,
    /// Boxed, because most questions have none and `Ask` is moved often.
    pub(crate) extras: Option<Box<Extras>>,
}

/// The id of the only field of a question in inline mode.
pub const INLINE_FIELD: &str = "value";
/// Maximum label length in characters; a longer prompt goes into the description in full.
const LABEL: usize = 256;

impl Ask {
    fn new(mode: Mode, subject: Subject) -> Self {
        Self {
            mode,
            subject,
            timeout: Timeout::default(),
            size_limit: None,
            channel: Channel::default(),
            unknown: Unknown::default(),
            durable: false,
            wipe: false,
            extras: None,
        }
    }

    /// Asks the person to fill in a form.
    pub fn form(form: Form) -> Self {
        Self::new(Mode::Form, Subject::Form(form))
    }

    /// Asks the person to fill in a form in a terminal.
    pub fn terminal(form: Form) -> Self {
        Self::new(Mode::Terminal, Subject::Form(form))
    }

    /// Runs a script in a terminal.
    pub fn script(script: &Script) -> Self {
        let mut ask = Self::terminal(script.form().clone());
        ask.extras().script = Some(script.definition().clone());
        ask
    }

    /// Asks for one line of text; the result is that text.
    ///
    /// Fails if the prompt is not a valid label, such as an empty one.
    pub fn inline(prompt: &str) -> Result<Self, Problems> {
        Self::one_line(prompt, false)
    }

    /// Asks for one line of sensitive text: masked on input, sealed in the store.
    pub fn secret(prompt: &str) -> Result<Self, Problems> {
        Self::one_line(prompt, true)
    }

    fn one_line(prompt: &str, sensitive: bool) -> Result<Self, Problems> {
        let mut field = json!({
            "id": INLINE_FIELD, "type": "text", "label": prompt, "required": true,
            "sensitive": sensitive,
        });
        if prompt.chars().count() > LABEL {
            let start: String = prompt.chars().take(LABEL - 1).collect();
            field["label"] = format!("{start}…").into();
            field["description"] = prompt.into();
        }
        let title = field["label"].clone();
        let form = Form::from_value(&json!({"id": "inline", "title": title, "fields": [field]}))?;
        Ok(Self::new(Mode::Inline, Subject::Form(form)))
    }

    /// Sends the respondent to a URL; see [`Elicitation::complete`](crate::Elicitation::complete).
    pub fn url(url: &str) -> Self {
        Self::new(Mode::Url, Subject::Url(url.into()))
    }

    /// Sets a message that tells the respondent why this is asked. It may be Markdown.
    #[must_use]
    pub fn message(mut self, message: &str) -> Self {
        self.extras().message = Some(message.into());
        self
    }

    /// Sets a message that no store may write down, in place of one set before: it stays in this
    /// process, and is gone after a restart. For messages that quote the data of others, such as
    /// the arguments of a call.
    #[must_use]
    pub fn confidential_message(mut self, message: &str) -> Self {
        let extras = self.extras();
        extras.message = None;
        extras.confidential_message = Some(Unwritten::new(message));
        self
    }

    /// Sets how the message and the descriptions in the form are formatted. Texts of others, who
    /// did not write for Entreat, are better shown as they are.
    #[must_use]
    pub fn text_format(mut self, format: TextFormat) -> Self {
        self.extras().text_format = format;
        self
    }

    /// Sets the name under which a program asks that the asker speaks for, such as a client of an
    /// MCP server. It is the program's own word: people see it marked as such.
    #[must_use]
    pub fn introduced_as(mut self, name: &str) -> Self {
        self.extras().introduced_as = Some(name.into());
        self
    }

    /// Sets the timeout; overrides the form's.
    #[must_use]
    pub fn timeout(mut self, timeout: Timeout) -> Self {
        self.timeout = timeout;
        self
    }

    /// Limits the size of the result, in bytes of JSON without files.
    #[must_use]
    pub fn size_limit(mut self, bytes: u64) -> Self {
        self.size_limit = Some(bytes);
        self
    }

    /// Sets how the question will reach the respondent.
    #[must_use]
    pub fn channel(mut self, channel: Channel) -> Self {
        self.channel = channel;
        self
    }

    /// Sets what happens to answers to unknown fields.
    #[must_use]
    pub fn unknown(mut self, unknown: Unknown) -> Self {
        self.unknown = unknown;
        self
    }

    /// Keeps the question live when the connection it was asked on is dropped.
    #[must_use]
    pub fn durable(mut self) -> Self {
        self.durable = true;
        self
    }

    /// Wipes secrets from the store once the asker has read them.
    #[must_use]
    pub fn wipe_after_delivery(mut self) -> Self {
        self.wipe = true;
        self
    }

    /// Sets who may answer.
    #[must_use]
    pub fn respondent(mut self, respondent: &str) -> Self {
        self.extras().respondent = Some(respondent.into());
        self
    }

    /// Sets what the sign-in of whoever answers on a page has to be.
    #[must_use]
    pub fn respondent_auth(mut self, auth: RespondentAuth) -> Self {
        self.extras().respondent_auth = Some(auth);
        self
    }

    /// Sets the URL that the outcome is posted to.
    #[must_use]
    pub fn callback(mut self, url: &str) -> Self {
        self.extras().callback = Some(url.into());
        self
    }

    /// Attaches opaque metadata, returned unchanged.
    #[must_use]
    pub fn metadata(mut self, metadata: Value) -> Self {
        self.extras().metadata = Some(metadata);
        self
    }

    /// Sets an idempotency key: asking again with it returns the first question.
    #[must_use]
    pub fn idempotency_key(mut self, key: &str) -> Self {
        self.extras().idempotency_key = Some(key.into());
        self
    }

    pub(crate) fn callback_url(&self) -> Option<&str> {
        self.extras.as_ref()?.callback.as_deref()
    }

    /// Whether it has URLs to be checked by the URL guard.
    pub(crate) fn has_urls(&self) -> bool {
        matches!(self.subject, Subject::Url(_)) || self.callback_url().is_some()
    }

    /// Assigns the question to a principal, and scopes its idempotency key to that principal.
    pub(crate) fn set_principal(&mut self, principal: &str) {
        let extras = self.extras();
        extras.principal = Some(Principal(principal.into()));
        if let Some(key) = &mut extras.idempotency_key {
            // Length-prefixed against ambiguous concatenation; hashed, because a principal must not
            // be stored in clear text here.
            let scoped = format!("{}:{principal}{key}", principal.len());
            *key = blake3::hash(scoped.as_bytes()).to_hex().as_str().into();
        }
    }

    fn extras(&mut self) -> &mut Extras {
        self.extras.get_or_insert_default()
    }
}
