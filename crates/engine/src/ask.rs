//! What an asker wants to know, before it is asked.

use entreat_core::{Form, Mode, Problems, Script, Timeout, Unknown};
use serde_json::{Value, json};

use crate::record::{Channel, Extras, Principal, Subject};

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
    /// Behind a pointer: most questions have none, and every question is moved about.
    pub(crate) extras: Option<Box<Extras>>,
}

/// The id of the only field of a question in inline mode.
pub const INLINE_FIELD: &str = "value";
/// A label holds so many characters; a longer prompt is repeated whole as the description.
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

    /// Asks a form.
    pub fn form(form: Form) -> Self {
        Self::new(Mode::Form, Subject::Form(form))
    }

    /// Asks a form in a terminal.
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
    /// The problems name what is wrong with the prompt: it may not be empty.
    pub fn inline(prompt: &str) -> Result<Self, Problems> {
        Self::one_line(prompt, false)
    }

    /// Asks for one line of text that nobody else may see: masked and sealed.
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

    /// Sends the respondent to a URL; the result, if there is one, comes from elsewhere.
    pub fn url(url: &str) -> Self {
        Self::new(Mode::Url, Subject::Url(url.into()))
    }

    /// Why it is asked, in words for the respondent.
    #[must_use]
    pub fn message(mut self, message: &str) -> Self {
        self.extras().message = Some(message.into());
        self
    }

    /// How long it waits; wins over what the form says.
    #[must_use]
    pub fn timeout(mut self, timeout: Timeout) -> Self {
        self.timeout = timeout;
        self
    }

    /// How large the result may be, in bytes of JSON without files.
    #[must_use]
    pub fn size_limit(mut self, bytes: u64) -> Self {
        self.size_limit = Some(bytes);
        self
    }

    /// How the question will reach the respondent.
    #[must_use]
    pub fn channel(mut self, channel: Channel) -> Self {
        self.channel = channel;
        self
    }

    /// What happens to answers that no field asked for.
    #[must_use]
    pub fn unknown(mut self, unknown: Unknown) -> Self {
        self.unknown = unknown;
        self
    }

    /// It outlives the connection on which it was asked.
    #[must_use]
    pub fn durable(mut self) -> Self {
        self.durable = true;
        self
    }

    /// Its secrets are wiped from the store once the asker has them.
    #[must_use]
    pub fn wipe_after_delivery(mut self) -> Self {
        self.wipe = true;
        self
    }

    /// Who is to answer.
    #[must_use]
    pub fn respondent(mut self, respondent: &str) -> Self {
        self.extras().respondent = Some(respondent.into());
        self
    }

    /// Where the outcome is to be posted.
    #[must_use]
    pub fn callback(mut self, url: &str) -> Self {
        self.extras().callback = Some(url.into());
        self
    }

    /// Notes of the asker's own, returned untouched.
    #[must_use]
    pub fn metadata(mut self, metadata: Value) -> Self {
        self.extras().metadata = Some(metadata);
        self
    }

    /// Asking again with the same key is asking once.
    #[must_use]
    pub fn idempotency_key(mut self, key: &str) -> Self {
        self.extras().idempotency_key = Some(key.into());
        self
    }

    /// Where the outcome is to be posted.
    pub(crate) fn callback_url(&self) -> Option<&str> {
        self.extras.as_ref()?.callback.as_deref()
    }

    /// Whether it brings URLs that have to be judged.
    pub(crate) fn has_urls(&self) -> bool {
        matches!(self.subject, Subject::Url(_)) || self.callback_url().is_some()
    }

    /// Makes it a question of a principal, whose keys are its own.
    pub(crate) fn belongs_to(&mut self, principal: &str) {
        let extras = self.extras();
        extras.principal = Some(Principal(principal.into()));
        if let Some(key) = &mut extras.idempotency_key {
            // With its length, so that no other principal and key come to the same; and not in
            // the open, where a principal does not belong.
            let own = format!("{}:{principal}{key}", principal.len());
            *key = blake3::hash(own.as_bytes()).to_hex().as_str().into();
        }
    }

    fn extras(&mut self) -> &mut Extras {
        self.extras.get_or_insert_default()
    }
}
