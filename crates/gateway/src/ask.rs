//! How a server's question reaches a person, and the answer the server.
//!
//! Per question, the first way that fits: the client shows it; the client shows the URL of our
//! page; the page opens in the browser of this machine; the tool's result has the link. Only a
//! person, or a cancelled call, declines or cancels; all else is an error that says what happened.

use std::pin::pin;
use std::sync::Arc;

use entreat_core::Form;
use entreat_wire::message::{Action, CREATE, ElicitMode, ElicitRequest, ElicitResult};
use serde_json::{Map, Value, json};

use crate::call::{Link, token_in};
use crate::client_first::{Shows, client_first};
use crate::downgrade::Downgraded;
use crate::envelope::{self, RawId};
use crate::json::{RawObject, quoted};
use crate::lost_answers::{self, EarlierAnswer, QuestionKey};
use crate::observe::{QuestionWatch, Way};
use crate::page_asker::{NotAsked, OpenPage, PageDecision, PageQuestion, consent_form, form_of};
use crate::recipient::Recipient;
use crate::reply::{Reply, action_in};
use crate::secrets;
use crate::session::{ServingSlot, Session};
use crate::tasks::AbortOnDrop;

/// A question that a server asks with `elicitation/create`.
pub(crate) struct Question {
    pub(crate) request: ElicitRequest,
    /// The parameters as they came.
    pub(crate) raw: String,
}

impl Question {
    /// Reads the parameters of a question.
    pub(crate) fn read(raw: &str) -> Result<Self, Reply> {
        let params: Value = serde_json::from_str(raw).map_err(|_| Reply::not_an_object())?;
        let request = ElicitRequest::from_params(params)
            .map_err(|error| Reply::invalid_params(&error.to_string()))?;
        Ok(Self {
            request,
            raw: raw.to_owned(),
        })
    }
}

impl Session {
    /// Asks a question of the upstream, and answers it, unless the upstream withdraws it.
    pub(crate) fn ask(
        self: &Arc<Self>,
        id: RawId,
        params: &str,
        recipient: Recipient,
        slot: ServingSlot,
    ) {
        let withdrawn = recipient.cancelled();
        self.state.lock().asks.insert(id.clone(), withdrawn.clone());
        let (session, params) = (self.clone(), params.to_owned());
        self.spawn(async move {
            let _waiting = session.keep_server_waiting(&params);
            let question = Question::read(&params);
            drop(params);
            // To its end also if it is cancelled: an answer may be on its way.
            let reply = match question {
                Ok(question) => answer(&recipient, &question).await,
                Err(error) => error,
            };
            let reply = match reply {
                Reply::Error(_) if withdrawn.is_cancelled() => Reply::cancel_action(),
                reply => reply,
            };
            let is_open = session.state.lock().asks.remove(&id).is_some();
            if is_open {
                session.reply_upstream(&id, &reply).await;
            }
            drop(slot);
        });
    }

    /// Reports progress on a question to the server, if it asked for that, until the guard is
    /// dropped: a server's own clock may be short.
    fn keep_server_waiting(self: &Arc<Self>, params: &str) -> Option<AbortOnDrop> {
        let token = token_in(params)?;
        let session = self.clone();
        Some(AbortOnDrop::spawn(async move {
            for progress in 1_u64.. {
                session.sleep(session.settings().progress_every).await;
                let params = format!(r#"{{"progressToken":{token},"progress":{progress}}}"#);
                let message = envelope::notification("notifications/progress", &params);
                session.upstream.send(message).await;
            }
        }))
    }
}

/// What a client replied to a question that it was asked to show; an error if nobody has seen it.
type Shown = Result<Reply, NotShown>;

/// Nobody has seen the question.
struct NotShown;

/// Asks a server's question and returns what the server gets.
pub(crate) async fn answer(recipient: &Recipient, question: &Question) -> Reply {
    let watch = recipient.watch();
    let reply = answer_somehow(recipient, question, &watch).await;
    watch.ended(&reply);
    reply
}

async fn answer_somehow(
    recipient: &Recipient,
    question: &Question,
    watch: &QuestionWatch,
) -> Reply {
    if let Some(refusal) = recipient.admit() {
        return refusal;
    }
    let policy = recipient.policy();
    let is_allowed = match question.request.mode() {
        Ok(ElicitMode::Form { .. }) => policy.may_ask_forms,
        Ok(ElicitMode::Url { .. }) => policy.may_ask_urls,
        Err(_) => true,
    };
    if !is_allowed {
        return Reply::failed("this server may not ask that here", "not_allowed");
    }
    let _alive = recipient.keep_alive();
    match question.request.mode() {
        Ok(ElicitMode::Form { schema }) => answer_form(recipient, question, schema, watch).await,
        Ok(ElicitMode::Url { url, .. }) => {
            Box::pin(answer_url(recipient, question, url, watch)).await
        }
        Err(error) => Reply::invalid_params(&error.to_string()),
    }
}

async fn answer_form(
    recipient: &Recipient,
    question: &Question,
    schema: &Value,
    watch: &QuestionWatch,
) -> Reply {
    let keys = recipient.keys(question.request.message(), schema);
    let earlier = recipient.find_earlier(&keys).await;
    let reply = ask_form(recipient, question, schema, &keys, earlier.as_ref(), watch).await;
    let is_decided = matches!(reply, Reply::Result(_)) && !recipient.cancelled().is_cancelled();
    if let Some(earlier) = earlier.filter(|_| is_decided) {
        recipient.earlier_decided(earlier).await;
    }
    reply
}

async fn ask_form(
    recipient: &Recipient,
    question: &Question,
    schema: &Value,
    keys: &[QuestionKey],
    earlier: Option<&EarlierAnswer>,
    watch: &QuestionWatch,
) -> Reply {
    let message = question.request.message();
    let is_secret = secrets::asks_for_secret(schema);
    // Boxed, since most questions do not need it and thousands may wait.
    let own = || {
        Box::pin(own_form(
            recipient, message, schema, is_secret, keys, earlier, watch,
        ))
    };
    if !recipient.capabilities().form || is_secret || recipient.distrusts_native() {
        return own().await;
    }
    let by_client = async {
        if recipient.needs_downgrade() {
            return match Downgraded::of(message, schema) {
                Some(downgraded) => ask_checked(recipient, schema, &downgraded, keys).await,
                None => Err(NotShown),
            };
        }
        if recipient.translates() {
            let filled = earlier.and_then(|it| lost_answers::filled_in(&question.raw, schema, it));
            let untouched = Untouched {
                message,
                raw: filled.as_deref().unwrap_or(&question.raw),
            };
            return ask_checked(recipient, schema, &untouched, keys).await;
        }
        ask_native(recipient, &question.raw, keys).await
    };
    let native = async {
        let shown = by_client.await;
        if shown.is_ok() {
            watch.by(Way::Form);
        }
        shown
    };
    let native = pin!(native);
    let page = recipient.has_own_way().then_some(own);
    client_first(recipient, Shows::Form, native, page)
        .await
        .unwrap_or_else(|NotShown| not_shown(&NotAsked::NoPages))
}

/// Has the client show the question as it came.
async fn ask_native(recipient: &Recipient, raw: &str, keys: &[QuestionKey]) -> Shown {
    let asked = recipient.now();
    let reply = recipient.push_keyed(CREATE, raw, keys.first()).await;
    let was_read = recipient.now().since(asked) >= recipient.settings().reading_time;
    judge(recipient, reply, was_read)
}

/// Decides whether a client has shown a question.
fn judge(recipient: &Recipient, reply: Reply, was_read: bool) -> Shown {
    let Reply::Result(result) = &reply else {
        if recipient.has_own_way() {
            // The client cannot, whatever it declared; unless it does not know of the question.
            if !reply.is_unread() {
                recipient.distrust_native();
            }
            return Err(NotShown);
        }
        return Ok(reply);
    };
    let has_content = RawObject::parse(result)
        .is_some_and(|result| result.get("content").is_some_and(|text| text != "null"));
    if was_read || has_content {
        recipient.note_answered();
        return Ok(reply);
    }
    if recipient.has_own_way() {
        tracing::info!("the client answered faster than a person reads: asking on a page instead");
        recipient.distrust_native();
        return Err(NotShown);
    }
    Ok(reply)
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
async fn ask_checked(
    recipient: &Recipient,
    schema: &Value,
    wording: &impl Wording,
    keys: &[QuestionKey],
) -> Shown {
    let Ok((form, _)) = form_of("", schema) else {
        return Err(NotShown);
    };
    let mut message = wording.message().to_owned();
    for _ in 0..recipient.settings().attempts.max(1) {
        let result = match ask_native(recipient, &wording.params(&message), keys).await {
            Ok(Reply::Result(result)) => result,
            other => return other,
        };
        let parsed = serde_json::from_str(&result).ok();
        let Some(parsed) = parsed.and_then(|value| ElicitResult::from_value(value).ok()) else {
            return Ok(Reply::failed(
                "the client's answer is invalid",
                "bad_answer",
            ));
        };
        if parsed.action() != Action::Accept {
            return Ok(Reply::Result(result));
        }
        let content = parsed.into_content().unwrap_or_else(|| json!({}));
        let mut restored = wording.restore(content.clone());
        if let Value::Object(members) = &mut restored {
            // Members that nobody asked for are the client's, who cannot mend them.
            members.retain(|name, _| form.field(name).is_some());
        }
        match check(&form, &restored) {
            Ok(()) if restored == content => return Ok(Reply::Result(result)),
            Ok(()) => return Ok(with_content(&result, &restored)),
            Err(errors) => message = format!("{}\n\n{errors}", wording.message()),
        }
    }
    Ok(Reply::failed(
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
    recipient: &Recipient,
    message: &str,
    schema: &Value,
    is_secret: bool,
    keys: &[QuestionKey],
    earlier: Option<&EarlierAnswer>,
    watch: &QuestionWatch,
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
    let question = PageQuestion {
        keys: keys.to_vec(),
        filled: earlier
            .map(|earlier| earlier.content.clone())
            .unwrap_or_default(),
        ..PageQuestion::of_server(recipient.server(), text, form)
    };
    match ask_on_page(recipient, message, question, watch).await {
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
async fn answer_url(
    recipient: &Recipient,
    question: &Question,
    url: &str,
    watch: &QuestionWatch,
) -> Reply {
    let own = || async {
        match consent(recipient, question.request.message(), url, watch).await {
            Ok(PageDecision::Answered(_)) => {
                recipient.page_asker().open(url);
                Reply::Result(json!({"action": "accept"}).to_string())
            }
            Ok(decided) => reply_of(decided),
            Err(error) => not_shown(&error),
        }
    };
    let has_way_past = recipient.has_way_past_client();
    if !recipient.capabilities().url || has_way_past && !recipient.shows_urls() {
        return own().await;
    }
    let native = async {
        let (params, id) = recipient.url_params(&question.raw, url);
        let reply = recipient.push(CREATE, &params).await;
        let Reply::Result(result) = &reply else {
            return Err(NotShown);
        };
        recipient.note_answered();
        watch.by(Way::Url);
        let action = action_in(result);
        if let Some(id) = id
            && action.is_some_and(|action| action == "accept")
        {
            recipient.note_visit(url, &id);
        }
        Ok(reply)
    };
    let native = pin!(native);
    match client_first(recipient, Shows::Url, native, has_way_past.then_some(own)).await {
        Ok(reply) => reply,
        Err(NotShown) => own().await,
    }
}

/// Asks on our page whether a URL may be opened.
pub(crate) async fn consent(
    recipient: &Recipient,
    message: &str,
    url: &str,
    watch: &QuestionWatch,
) -> Result<PageDecision, NotAsked> {
    let (form, may_open) = consent_form(
        url,
        recipient.origin(),
        recipient.page_asker().browser.is_some(),
    )?;
    let question = PageQuestion::of_server(recipient.server(), message.to_owned(), form);
    let decided = ask_on_page(recipient, message, question, watch).await?;
    Ok(match decided {
        PageDecision::Answered(_) if !may_open => PageDecision::Cancelled,
        decided => decided,
    })
}

/// Asks a question on our page, which the person reaches by the first way that this client has;
/// `message` is what the client shows with its address.
pub(crate) async fn ask_on_page(
    recipient: &Recipient,
    message: &str,
    question: PageQuestion,
    watch: &QuestionWatch,
) -> Result<PageDecision, NotAsked> {
    if !recipient.settings().fulfils {
        return Err(NotAsked::NoPages);
    }
    let can_link = recipient.can_link();
    let by_client = recipient.shows_urls();
    let has_browser = recipient.page_asker().browser.is_some();
    if !by_client && !has_browser && !can_link {
        return Err(NotAsked::NoPages);
    }
    let question = PageQuestion {
        // The client may give up long before the person answers.
        is_linked: can_link && !by_client,
        ..question
    };
    let is_kept = !question.keys.is_empty();
    let server = question.is_of_server().then(|| question.server.clone());
    let page = recipient
        .page_asker()
        .ask(question, recipient.cancelled(), recipient.ended())
        .await?;
    let id = page.id();
    let link = Link {
        server,
        message: message.to_owned(),
        url: page.url.clone(),
    };
    let decided = lead_to(recipient, link, page, watch).await?;
    if is_kept && matches!(decided, PageDecision::Answered(_)) {
        recipient.note_answer(id);
    }
    Ok(decided)
}

/// Leads the person to a page, by the first way that this client has.
async fn lead_to(
    recipient: &Recipient,
    link: Link,
    mut page: OpenPage,
    watch: &QuestionWatch,
) -> Result<PageDecision, NotAsked> {
    let can_link = recipient.can_link();
    let by_client = recipient.shows_urls();
    let has_browser = recipient.page_asker().browser.is_some();
    if by_client {
        let id = recipient.new_id();
        let params = page_params(recipient, &link.message, &page.url, &id);
        let has_other_way = has_browser || can_link;
        let silence = async {
            if recipient.has_answered() || !has_other_way {
                return std::future::pending().await;
            }
            recipient
                .sleep(recipient.settings().native_silence / 2)
                .await;
        };
        tokio::select! {
            biased;
            reply = recipient.push(CREATE, &params) => match reply {
                Reply::Result(result) => {
                    watch.by(Way::Url);
                    return Ok(follow(recipient, page, &result, &id).await);
                }
                Reply::Error(_) if !has_other_way => return Err(NotAsked::NoPages),
                Reply::Error(_) => {}
            },
            () = silence => recipient.note_silence_about_urls(),
        }
    }
    if has_browser {
        recipient.page_asker().open(&page.url);
        watch.by(Way::Page);
        let _open = recipient.page_opened();
        if can_link && !recipient.has_token() {
            tokio::select! {
                biased;
                decided = page.decision() => return Ok(decided),
                () = recipient.sleep(recipient.settings().patience) => {
                    watch.by(Way::Link);
                    recipient.offer(link).await;
                }
            }
        }
        return Ok(page.decision().await);
    }
    watch.by(Way::Link);
    recipient.offer(link).await;
    Ok(page.decision().await)
}

/// The parameters of a question that leads to our page.
fn page_params(recipient: &Recipient, message: &str, url: &str, id: &str) -> String {
    let (message, url) = (quoted(message), quoted(url));
    let id = if recipient.has_rounds() {
        String::new()
    } else {
        format!(r#""elicitationId":{},"#, quoted(id))
    };
    format!(r#"{{"mode":"url",{id}"message":{message},"url":{url}}}"#)
}

/// Waits for the page of a question whose URL the client has shown.
async fn follow(recipient: &Recipient, mut page: OpenPage, result: &str, id: &str) -> PageDecision {
    let action = action_in(result);
    let refused = match action.as_deref() {
        Some("accept") => {
            recipient.note_answered();
            let _open = recipient.page_opened();
            let decided = page.decision().await;
            recipient.completed(id);
            return decided;
        }
        Some("decline") => PageDecision::Declined,
        _ => PageDecision::Cancelled,
    };
    // Somebody may have answered on the page all the same.
    match page.withdraw().await {
        answered @ PageDecision::Answered(_) => answered,
        _ => refused,
    }
}

fn accept(content: Map<String, Value>) -> Reply {
    Reply::Result(ElicitResult::accept(content).into_value().to_string())
}

/// What a server gets for a decision.
pub(crate) fn reply_of(decided: PageDecision) -> Reply {
    let of = |action| Reply::Result(ElicitResult::of(action).into_value().to_string());
    match decided {
        PageDecision::Answered(content) => accept(content),
        PageDecision::Declined => of(Action::Decline),
        PageDecision::Cancelled => of(Action::Cancel),
        PageDecision::TimedOut => Reply::failed("nobody answered in time", "timeout"),
        PageDecision::Invalid => Reply::failed(
            "the person's answers did not match the schema",
            "invalid_answers",
        ),
        PageDecision::Withdrawn => Reply::failed("the question was withdrawn", "withdrawn"),
    }
}

fn not_shown(error: &NotAsked) -> Reply {
    tracing::warn!(%error, "a server's question reached nobody");
    Reply::failed(&error.to_string(), "not_shown")
}
