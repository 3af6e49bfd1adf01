//! How a server's question reaches a person, and the answer the server.
//!
//! Per question, the first way that fits: the client shows it; the client shows the URL of our
//! page; the page opens in the browser of this machine; the tool's result has the link. Only a
//! person, or a cancelled call, declines or cancels; all else is an error that says what happened.

use entreat_core::Form;
use entreat_wire::message::{Action, CREATE, ElicitMode, ElicitRequest, ElicitResult};
use serde_json::{Map, Value, json};

use crate::call::Link;
use crate::desk::{Decided, NotAsked, OpenPage, Sheet, consent_form, form_of};
use crate::downgrade::Downgraded;
use crate::face::Face;
use crate::json::{RawObject, quoted};
use crate::kept::{self, Earlier, Key};
use crate::observe::{Asking, Way};
use crate::reply::{Reply, code};
use crate::secrets;

/// A question that a server asks with `elicitation/create`.
pub(crate) struct Question {
    pub(crate) request: ElicitRequest,
    /// The parameters as they came.
    pub(crate) raw: String,
}

impl Question {
    /// Reads the parameters of a question.
    pub(crate) fn read(raw: &str) -> Result<Self, Reply> {
        let params: Value = serde_json::from_str(raw)
            .map_err(|_| Reply::error(code::INVALID_PARAMS, "params: is not an object"))?;
        let request = ElicitRequest::from_params(params)
            .map_err(|error| Reply::error(code::INVALID_PARAMS, &error.to_string()))?;
        Ok(Self {
            request,
            raw: raw.to_owned(),
        })
    }
}

/// What a client did with a question that it was asked to show.
enum Shown {
    Replied(Reply),
    /// Nobody has seen it.
    Unshown,
}

/// Asks a server's question and returns what the server gets.
pub(crate) async fn answer(face: &Face, question: &Question) -> Reply {
    let asking = face.asking();
    let reply = answer_somehow(face, question, &asking).await;
    asking.ended(&reply);
    reply
}

async fn answer_somehow(face: &Face, question: &Question, asking: &Asking) -> Reply {
    if let Some(refusal) = face.admit() {
        return refusal;
    }
    let policy = face.policy();
    let is_allowed = match question.request.mode() {
        Ok(ElicitMode::Form { .. }) => policy.may_ask_forms,
        Ok(ElicitMode::Url { .. }) => policy.may_ask_urls,
        Err(_) => true,
    };
    if !is_allowed {
        return Reply::failed("this server may not ask that here", "not_allowed");
    }
    let _alive = face.keep_alive();
    match question.request.mode() {
        Ok(ElicitMode::Form { schema }) => answer_form(face, question, schema, asking).await,
        Ok(ElicitMode::Url { url, .. }) => Box::pin(answer_url(face, question, url, asking)).await,
        Err(error) => Reply::error(code::INVALID_PARAMS, &error.to_string()),
    }
}

async fn answer_form(face: &Face, question: &Question, schema: &Value, asking: &Asking) -> Reply {
    let keys = face.keys(question.request.message(), schema);
    let earlier = face.find_kept(&keys).await;
    let reply = ask_form(face, question, schema, &keys, earlier.as_ref(), asking).await;
    let is_decided = matches!(reply, Reply::Result(_)) && !face.cancelled().is_cancelled();
    if let Some(earlier) = earlier.filter(|_| is_decided) {
        face.kept_decided(earlier).await;
    }
    reply
}

async fn ask_form(
    face: &Face,
    question: &Question,
    schema: &Value,
    keys: &[Key],
    earlier: Option<&Earlier>,
    asking: &Asking,
) -> Reply {
    let message = question.request.message();
    let is_secret = secrets::asks_for_secret(schema);
    // Boxed, since most questions do not need it and thousands may wait.
    let own = || {
        Box::pin(own_form(
            face, message, schema, is_secret, keys, earlier, asking,
        ))
    };
    if !face.capabilities().form || is_secret || face.distrusts_native() {
        return own().await;
    }
    let by_client = async {
        if face.needs_downgrade() {
            return match Downgraded::of(message, schema) {
                Some(downgraded) => ask_checked(face, schema, &downgraded, keys).await,
                None => Shown::Unshown,
            };
        }
        if face.translates() {
            let filled = earlier.and_then(|it| kept::filled_in(&question.raw, schema, it));
            let untouched = Untouched {
                message,
                raw: filled.as_deref().unwrap_or(&question.raw),
            };
            return ask_checked(face, schema, &untouched, keys).await;
        }
        ask_native(face, &question.raw, keys).await
    };
    let native = async {
        let shown = by_client.await;
        if matches!(shown, Shown::Replied(_)) {
            asking.by(Way::Form);
        }
        shown
    };
    let has_other_way = face.has_own_way();
    if !has_other_way {
        return match native.await {
            Shown::Replied(reply) => reply,
            Shown::Unshown => not_shown(&NotAsked::NoPages),
        };
    }
    let mut native = std::pin::pin!(native);
    if !face.has_answered() {
        // It may have declared what it does not show: then a page opens too.
        tokio::select! {
            biased;
            shown = &mut native => match shown {
                Shown::Replied(reply) => return reply,
                Shown::Unshown => return own().await,
            },
            () = face.sleep(face.settings().native_silence) => {}
        }
        face.note_silence();
        let mut own = std::pin::pin!(own());
        tokio::select! {
            biased;
            shown = &mut native => match shown {
                Shown::Replied(reply) => return reply,
                Shown::Unshown => {}
            },
            reply = &mut own => {
                face.distrust_native();
                return reply;
            }
        }
        return own.await;
    }
    match native.await {
        Shown::Replied(reply) => reply,
        Shown::Unshown => own().await,
    }
}

/// Has the client show the question as it came.
async fn ask_native(face: &Face, raw: &str, keys: &[Key]) -> Shown {
    let asked = face.now();
    let reply = face.push_kept(CREATE, raw, keys.first()).await;
    let was_read = face.now().since(asked) >= face.settings().reading_time;
    judge(face, reply, was_read)
}

/// Decides whether a client has shown a question.
fn judge(face: &Face, reply: Reply, was_read: bool) -> Shown {
    let Reply::Result(result) = &reply else {
        if face.has_own_way() {
            // The client cannot, whatever it declared; unless it does not know of the question.
            if !reply.is_unread() {
                face.distrust_native();
            }
            return Shown::Unshown;
        }
        return Shown::Replied(reply);
    };
    let has_content = RawObject::parse(result)
        .is_some_and(|result| result.get("content").is_some_and(|text| text != "null"));
    if was_read || has_content {
        face.note_answered();
        return Shown::Replied(reply);
    }
    if face.has_own_way() {
        tracing::info!("the client answered faster than a person reads: asking on a page instead");
        face.distrust_native();
        return Shown::Unshown;
    }
    Shown::Replied(reply)
}

/// A question as a client gets it, whose answer is checked here.
trait Wording: Sync {
    fn message(&self) -> &str;

    /// The parameters of the question with this message.
    fn params(&self, message: &str) -> String;

    /// Restores what the wording changes in answers.
    fn restore(&self, content: Value) -> Value;
}

impl Wording for Downgraded {
    fn message(&self) -> &str {
        &self.message
    }

    fn params(&self, message: &str) -> String {
        Self::params(self, message).to_string()
    }

    fn restore(&self, content: Value) -> Value {
        Self::restore(self, content)
    }
}

/// A question in the server's own words, which the client's version has too.
struct Untouched<'a> {
    message: &'a str,
    raw: &'a str,
}

impl Wording for Untouched<'_> {
    fn message(&self) -> &str {
        self.message
    }

    fn params(&self, message: &str) -> String {
        match RawObject::parse(self.raw) {
            Some(mut params) if message != self.message => {
                params.set("message", quoted(message));
                params.to_string()
            }
            _ => self.raw.to_owned(),
        }
    }

    fn restore(&self, content: Value) -> Value {
        content
    }
}

/// Has the client show a question that was translated, and checks the answer: what the server could
/// say to its own client about it is lost on the way.
async fn ask_checked(face: &Face, schema: &Value, wording: &impl Wording, keys: &[Key]) -> Shown {
    let Ok((form, _)) = form_of("", schema) else {
        return Shown::Unshown;
    };
    let mut message = wording.message().to_owned();
    for _ in 0..face.settings().attempts.max(1) {
        let result = match ask_native(face, &wording.params(&message), keys).await {
            Shown::Replied(Reply::Result(result)) => result,
            other => return other,
        };
        let parsed = serde_json::from_str(&result).ok();
        let Some(parsed) = parsed.and_then(|value| ElicitResult::from_value(value).ok()) else {
            return Shown::Replied(Reply::failed(
                "the client's answer is invalid",
                "bad_answer",
            ));
        };
        if parsed.action() != Action::Accept {
            return Shown::Replied(Reply::Result(result));
        }
        let content = parsed.into_content().unwrap_or_else(|| json!({}));
        let mut restored = wording.restore(content.clone());
        if let Value::Object(members) = &mut restored {
            // Members that nobody asked for are the client's, who cannot mend them.
            members.retain(|name, _| form.field(name).is_some());
        }
        match check(&form, &restored) {
            Ok(()) if restored == content => return Shown::Replied(Reply::Result(result)),
            Ok(()) => return Shown::Replied(with_content(&result, &restored)),
            Err(errors) => message = format!("{}\n\n{errors}", wording.message()),
        }
    }
    Shown::Replied(Reply::failed(
        "the answer does not match the schema",
        "invalid_answers",
    ))
}

/// An answer with other content; all else stays.
fn with_content(result: &str, content: &Value) -> Reply {
    let mut result = RawObject::parse(result).unwrap_or_default();
    result.set_value("content", content);
    Reply::Result(result.to_string())
}

/// Checks the content of a client's answer; an error tells the person what to correct.
fn check(form: &Form, content: &Value) -> Result<(), String> {
    let Err(violations) = form.check(content) else {
        return Ok(());
    };
    let messages = entreat_core::Catalogue::default().messages(["en"]);
    let mut text = "Please correct:".to_owned();
    for error in violations.errors(&messages) {
        text.push_str("\n- ");
        text.push_str(&error.message);
    }
    Err(text)
}

/// Asks a form on our page.
async fn own_form(
    face: &Face,
    message: &str,
    schema: &Value,
    is_secret: bool,
    keys: &[Key],
    earlier: Option<&Earlier>,
    asking: &Asking,
) -> Reply {
    let (form, mut text) = match form_of(message, schema) {
        Ok(form) => form,
        Err(error) => return not_shown(&error),
    };
    if is_secret {
        add(
            &mut text,
            "This server asks for a secret. It gets what you enter here in plain text.",
        );
    }
    if earlier.is_some() {
        add(
            &mut text,
            "Your earlier answer did not arrive. It is filled in here: check it and send it.",
        );
    }
    let sheet = Sheet {
        keys: keys.to_vec(),
        filled: earlier
            .map(|earlier| earlier.content.clone())
            .unwrap_or_default(),
        ..Sheet::of_server(face.server(), text, form)
    };
    match ask_sheet(face, message, sheet, asking).await {
        Ok(decided) => reply_of(decided),
        Err(error) => not_shown(&error),
    }
}

fn add(text: &mut String, paragraph: &str) {
    if !text.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(paragraph);
}

/// Asks whether to open a URL.
async fn answer_url(face: &Face, question: &Question, url: &str, asking: &Asking) -> Reply {
    let own = || async {
        match consent(face, question.request.message(), url, asking).await {
            Ok(Decided::Answered(_)) => {
                face.desk().open(url);
                Reply::Result(json!({"action": "accept"}).to_string())
            }
            Ok(decided) => reply_of(decided),
            Err(error) => not_shown(&error),
        }
    };
    let has_way_past = face.has_way_past_client();
    if !face.capabilities().url || has_way_past && !face.shows_urls() {
        return own().await;
    }
    let native = async {
        let (params, id) = face.url_params(&question.raw, url);
        let reply = face.push(CREATE, &params).await;
        let Reply::Result(result) = &reply else {
            return Shown::Unshown;
        };
        face.note_answered();
        asking.by(Way::Url);
        let action = RawObject::parse(result).and_then(|result| result.string("action"));
        if let Some(id) = id
            && action.is_some_and(|action| action == "accept")
        {
            face.note_visit(url, &id);
        }
        Shown::Replied(reply)
    };
    let mut native = std::pin::pin!(native);
    if has_way_past && !face.has_answered() {
        tokio::select! {
            biased;
            shown = &mut native => return match shown {
                Shown::Replied(reply) => reply,
                Shown::Unshown => own().await,
            },
            () = face.sleep(face.settings().native_silence) => {}
        }
        face.note_silence_about_urls();
        let mut own = std::pin::pin!(own());
        tokio::select! {
            biased;
            shown = &mut native => if let Shown::Replied(reply) = shown {
                return reply;
            },
            reply = &mut own => return reply,
        }
        return own.await;
    }
    match native.await {
        Shown::Replied(reply) => reply,
        Shown::Unshown => own().await,
    }
}

/// Asks on our page whether a URL may be opened.
pub(crate) async fn consent(
    face: &Face,
    message: &str,
    url: &str,
    asking: &Asking,
) -> Result<Decided, NotAsked> {
    let (form, may_open) = consent_form(url, face.origin(), face.desk().browser.is_some())?;
    let decided = ask_on_page(face, message, form, message.to_owned(), asking).await?;
    Ok(match decided {
        Decided::Answered(_) if !may_open => Decided::Cancelled,
        decided => decided,
    })
}

/// Asks on our page, which the person reaches by the first way that this client has.
pub(crate) async fn ask_on_page(
    face: &Face,
    message: &str,
    form: Form,
    text: String,
    asking: &Asking,
) -> Result<Decided, NotAsked> {
    let sheet = Sheet::of_server(face.server(), text, form);
    ask_sheet(face, message, sheet, asking).await
}

/// Asks a question on our page; `message` is what the client shows with its address.
pub(crate) async fn ask_sheet(
    face: &Face,
    message: &str,
    sheet: Sheet,
    asking: &Asking,
) -> Result<Decided, NotAsked> {
    if !face.settings().fulfils {
        return Err(NotAsked::NoPages);
    }
    let can_link = face.can_link();
    let by_client = face.shows_urls();
    let has_browser = face.desk().browser.is_some();
    if !by_client && !has_browser && !can_link {
        return Err(NotAsked::NoPages);
    }
    let sheet = Sheet {
        // The client may give up long before the person answers.
        is_linked: can_link && !by_client,
        ..sheet
    };
    let is_kept = !sheet.keys.is_empty();
    let server = sheet.is_of_server().then(|| sheet.server.clone());
    let page = face.desk().ask(sheet, face.cancelled()).await?;
    let id = page.id();
    let link = Link {
        server,
        message: message.to_owned(),
        url: page.url.clone(),
    };
    let decided = lead_to(face, link, page, asking).await?;
    if is_kept && matches!(decided, Decided::Answered(_)) {
        face.note_answer(id);
    }
    Ok(decided)
}

/// Leads the person to a page, by the first way that this client has.
async fn lead_to(
    face: &Face,
    link: Link,
    mut page: OpenPage,
    asking: &Asking,
) -> Result<Decided, NotAsked> {
    let can_link = face.can_link();
    let by_client = face.shows_urls();
    let has_browser = face.desk().browser.is_some();
    if by_client {
        let id = face.new_id();
        let params = page_params(face, &link.message, &page.url, &id);
        let has_other_way = has_browser || can_link;
        let silence = async {
            if face.has_answered() || !has_other_way {
                return std::future::pending().await;
            }
            face.sleep(face.settings().native_silence / 2).await;
        };
        tokio::select! {
            biased;
            reply = face.push(CREATE, &params) => match reply {
                Reply::Result(result) => {
                    asking.by(Way::Url);
                    return Ok(follow(face, page, &result, &id).await);
                }
                Reply::Error(_) if !has_other_way => return Err(NotAsked::NoPages),
                Reply::Error(_) => {}
            },
            () = silence => face.note_silence_about_urls(),
        }
    }
    if has_browser {
        face.desk().open(&page.url);
        asking.by(Way::Page);
        let _open = face.page_opened();
        if can_link && !face.has_token() {
            tokio::select! {
                biased;
                decided = page.decision() => return Ok(decided),
                () = face.sleep(face.settings().patience) => {
                    asking.by(Way::Link);
                    face.offer(link);
                }
            }
        }
        return Ok(page.decision().await);
    }
    asking.by(Way::Link);
    face.offer(link);
    Ok(page.decision().await)
}

/// The parameters of a question that leads to our page.
fn page_params(face: &Face, message: &str, url: &str, id: &str) -> String {
    let (message, url) = (quoted(message), quoted(url));
    let id = if face.has_rounds() {
        String::new()
    } else {
        format!(r#""elicitationId":{},"#, quoted(id))
    };
    format!(r#"{{"mode":"url",{id}"message":{message},"url":{url}}}"#)
}

/// Waits for the page of a question whose URL the client has shown.
async fn follow(face: &Face, mut page: OpenPage, result: &str, id: &str) -> Decided {
    let action = RawObject::parse(result).and_then(|result| result.string("action"));
    let refused = match action.as_deref() {
        Some("accept") => {
            face.note_answered();
            let _open = face.page_opened();
            let decided = page.decision().await;
            face.completed(id);
            return decided;
        }
        Some("decline") => Decided::Declined,
        _ => Decided::Cancelled,
    };
    // Somebody may have answered on the page all the same.
    match page.withdraw().await {
        answered @ Decided::Answered(_) => answered,
        _ => refused,
    }
}

fn accept(content: Map<String, Value>) -> Reply {
    Reply::Result(ElicitResult::accept(content).into_value().to_string())
}

/// What a server gets for a decision.
pub(crate) fn reply_of(decided: Decided) -> Reply {
    let of = |action| Reply::Result(ElicitResult::of(action).into_value().to_string());
    match decided {
        Decided::Answered(content) => accept(content),
        Decided::Declined => of(Action::Decline),
        Decided::Cancelled => of(Action::Cancel),
        Decided::TimedOut => Reply::failed("nobody answered in time", "timeout"),
        Decided::Invalid => Reply::failed(
            "the person's answers did not match the schema",
            "invalid_answers",
        ),
        Decided::Withdrawn => Reply::failed("the question was withdrawn", "withdrawn"),
    }
}

fn not_shown(error: &NotAsked) -> Reply {
    tracing::warn!(%error, "a server's question reached nobody");
    Reply::failed(&error.to_string(), "not_shown")
}
