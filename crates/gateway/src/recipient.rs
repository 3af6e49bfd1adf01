//! A client as questions see it: what it shows, and how it is asked, in either era.

use std::sync::Arc;
use std::time::Duration;

use entreat_core::schema::Era;
use entreat_core::{ElicitationId, UnixTime};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::call::{Call, Link, Method};
use crate::capability::Capabilities;
use crate::flow::{Flow, PageGuard};
use crate::json::{RawObject, quoted};
use crate::lost_answers::{self, DeliveredAnswer, EarlierAnswer, QuestionKey, QuestionKeys};
use crate::observe::QuestionWatch;
use crate::page_asker::PageAsker;
use crate::policy::Policy;
use crate::reply::Reply;
use crate::session::Session;
use crate::settings::GatewaySettings;
use crate::tasks::AbortOnDrop;
use crate::trust::{ClientKey, Trust};

/// Whom a question is asked.
pub(crate) enum Recipient {
    /// A client that is asked by requests.
    Pushed(PushedRecipient),
    /// A client that is asked in the results of its calls.
    Rounds(RoundsRecipient),
}

/// A client of 2026-07-28.
pub(crate) struct RoundsRecipient {
    /// The call that the question belongs to, or the oldest one.
    pub(crate) flow: Arc<Flow>,
    /// Whether the question certainly belongs to the call. If not, it is not the client's to answer
    /// there, and goes to a page.
    pub(crate) is_certain: bool,
    /// Fires when nobody waits for the answer any more.
    pub(crate) cancelled: CancellationToken,
}

/// A client of 2025.
pub(crate) struct PushedRecipient {
    pub(crate) session: Arc<Session>,
    /// The call that the question belongs to, if that is known.
    pub(crate) call: Option<Arc<Call>>,
    /// The call whose result can have a link: that of the question, or the oldest one.
    pub(crate) linkable: Option<Arc<Call>>,
    /// Fires when nobody waits for the answer any more.
    pub(crate) cancelled: CancellationToken,
}

impl Recipient {
    /// The client of a call that stays open while it is asked.
    pub(crate) fn of_call(session: &Arc<Session>, call: &Arc<Call>) -> Self {
        Self::Pushed(PushedRecipient {
            session: session.clone(),
            call: Some(call.clone()),
            linkable: Some(call.clone()),
            cancelled: call.cancelled.clone(),
        })
    }

    /// The client of a call of several rounds.
    pub(crate) fn of_flow(flow: &Arc<Flow>) -> Self {
        Self::Rounds(RoundsRecipient {
            flow: flow.clone(),
            is_certain: true,
            cancelled: flow.cancelled.clone(),
        })
    }

    fn session(&self) -> &Arc<Session> {
        match self {
            Self::Pushed(recipient) => &recipient.session,
            Self::Rounds(recipient) => &recipient.flow.session,
        }
    }

    /// Begins to look at a question.
    pub(crate) fn watch(&self) -> QuestionWatch {
        QuestionWatch::new(self.session().observed.clone())
    }

    /// Counts a question towards the upstream's rate; returns what it gets beyond that.
    pub(crate) fn admit(&self) -> Option<Reply> {
        self.session().admit_question()
    }

    /// Reports progress while a person answers, until the guard is dropped.
    pub(crate) fn keep_alive(&self) -> Option<AbortOnDrop> {
        match self {
            Self::Pushed(recipient) => {
                let (session, call) = (recipient.session.clone(), recipient.call.clone());
                if call.as_ref().is_some_and(|call| !call.has_token()) {
                    return None;
                }
                Some(AbortOnDrop::spawn(async move {
                    loop {
                        session.sleep(session.settings().progress_every).await;
                        session.keep_alive(call.as_ref());
                    }
                }))
            }
            // Each round reports for itself.
            Self::Rounds(_) => None,
        }
    }

    pub(crate) fn capabilities(&self) -> Capabilities {
        match self {
            Self::Pushed(recipient) => recipient.session.client_info().capabilities,
            Self::Rounds(recipient) if recipient.is_certain => recipient.flow.capabilities(),
            Self::Rounds(_) => Capabilities::default(),
        }
    }

    pub(crate) fn has_rounds(&self) -> bool {
        matches!(self, Self::Rounds(_))
    }

    /// Whether the client knows fewer words for forms than the server.
    pub(crate) fn needs_downgrade(&self) -> bool {
        let session = self.session();
        session.client_info().era == Some(Era::V2025_06_18)
            && session.upstream_era() != Some(Era::V2025_06_18)
    }

    fn trust(&self) -> Trust {
        match self {
            Self::Pushed(recipient) => recipient.session.trust(&ClientKey::default()),
            Self::Rounds(recipient) => recipient.flow.session.trust(&recipient.flow.client),
        }
    }

    fn set_trust(&self, change: impl FnOnce(&mut Trust)) {
        match self {
            Self::Pushed(recipient) => recipient.session.set_trust(&ClientKey::default(), change),
            Self::Rounds(recipient) => recipient
                .flow
                .session
                .set_trust(&recipient.flow.client, change),
        }
    }

    pub(crate) fn distrusts_native(&self) -> bool {
        self.trust().is_distrusted
    }

    pub(crate) fn distrust_native(&self) {
        self.set_trust(|trust| trust.is_distrusted = true);
    }

    /// Whether the client has ever answered a question in this session.
    pub(crate) fn has_answered(&self) -> bool {
        self.trust().has_answered
    }

    pub(crate) fn note_answered(&self) {
        self.set_trust(|trust| {
            trust.has_answered = true;
            trust.is_silent = false;
            trust.is_silent_about_urls = false;
        });
    }

    /// Notes that the client has not answered a form in time. It may have declared what it does not
    /// show.
    pub(crate) fn note_silence(&self) {
        self.set_trust(|trust| trust.is_silent = true);
    }

    /// Notes that the client has not answered a URL in time.
    pub(crate) fn note_silence_about_urls(&self) {
        self.set_trust(|trust| trust.is_silent_about_urls = true);
    }

    /// Whether the client is asked to show the URL of a page. One that was silent about a form is
    /// likely to be silent about a URL too, so a browser is better.
    pub(crate) fn shows_urls(&self) -> bool {
        let trust = self.trust();
        let has_browser = self.page_asker().browser.is_some();
        let is_silent = trust.is_silent_about_urls || trust.is_silent && has_browser;
        self.capabilities().url && !trust.is_distrusted && !is_silent
    }

    /// Whether a page can reach the person past the client.
    pub(crate) fn has_way_past_client(&self) -> bool {
        let settings = self.settings();
        let can_show = self.page_asker().browser.is_some() || self.can_link();
        settings.fulfils && self.page_asker().has_pages() && can_show
    }

    /// Whether there is any way past the client's own forms.
    pub(crate) fn has_own_way(&self) -> bool {
        self.settings().fulfils
            && self.page_asker().has_pages()
            && (self.capabilities().url || self.page_asker().browser.is_some() || self.can_link())
    }

    pub(crate) fn settings(&self) -> &GatewaySettings {
        self.session().settings()
    }

    pub(crate) fn page_asker(&self) -> &PageAsker {
        &self.session().page_asker
    }

    /// What the server may ask.
    pub(crate) fn policy(&self) -> &Policy {
        &self.session().policy
    }

    pub(crate) fn server(&self) -> String {
        self.session().server_name()
    }

    /// The upstream's own address: URLs on other hosts get a warning.
    pub(crate) fn origin(&self) -> Option<&str> {
        self.session().upstream_url.as_deref()
    }

    pub(crate) fn now(&self) -> UnixTime {
        self.session().engine().now()
    }

    pub(crate) async fn sleep(&self, time: Duration) {
        self.session().sleep(time).await;
    }

    pub(crate) fn new_id(&self) -> String {
        self.session().new_id()
    }

    /// Fires when nobody waits for the answer any more.
    pub(crate) fn cancelled(&self) -> CancellationToken {
        match self {
            Self::Pushed(recipient) => recipient.cancelled.clone(),
            Self::Rounds(recipient) => recipient.cancelled.clone(),
        }
    }

    /// Fires when the session ends.
    pub(crate) fn ended(&self) -> CancellationToken {
        self.session().stop.clone()
    }

    /// Asks the client itself. A cancelled call cancels its questions.
    pub(crate) async fn push(&self, method: &str, params: &str) -> Reply {
        self.push_keyed(method, params, None).await
    }

    /// Asks the client itself. `key` says which question it is, if its answer is kept should the
    /// call be lost.
    pub(crate) async fn push_keyed(
        &self,
        method: &str,
        params: &str,
        key: Option<&QuestionKey>,
    ) -> Reply {
        let reply = async {
            match self {
                Self::Pushed(recipient) => {
                    let call = recipient.call.as_ref().or(recipient.linkable.as_ref());
                    recipient.session.ask_client(call, method, params).await
                }
                Self::Rounds(recipient) => recipient.flow.ask_client(method, params, key).await,
            }
        };
        let cancelled = self.cancelled();
        tokio::select! {
            biased;
            reply = reply => reply,
            () = cancelled.cancelled() => Reply::cancel_action(),
        }
    }

    /// Which question of which tools this is.
    pub(crate) fn keys(&self, message: &str, schema: &Value) -> QuestionKeys {
        let session = self.session();
        let tools = match self {
            Self::Rounds(recipient) if recipient.is_certain => vec![recipient.flow.target.clone()],
            Self::Rounds(_) => session.targets(),
            Self::Pushed(recipient) => match &recipient.call {
                Some(call) => vec![call.target()],
                None => session.targets(),
            },
        };
        let principal = &session.person.principal;
        lost_answers::question_keys(principal, &session.fallback_name, &tools, message, schema)
    }

    /// What was answered to a question that was asked before, if no server got it.
    pub(crate) async fn find_earlier(&self, keys: &[QuestionKey]) -> Option<EarlierAnswer> {
        let page_asker = self.page_asker();
        page_asker.lost_answers.recover().await;
        page_asker.lost_answers.find(&page_asker.asker, keys).await
    }

    /// Notes that a person has decided on what was offered to them again.
    pub(crate) async fn earlier_decided(&self, earlier: EarlierAnswer) {
        self.page_asker().lost_answers.decided(earlier).await;
    }

    /// Notes a question whose answer the server gets.
    pub(crate) fn note_answer(&self, id: ElicitationId) {
        let answer = DeliveredAnswer::new(id);
        match self {
            Self::Pushed(recipient) => match &recipient.call {
                Some(call) => call.note_answer(answer),
                None => recipient.session.note_answer(answer),
            },
            Self::Rounds(recipient) if recipient.is_certain => recipient.flow.note_answer(answer),
            Self::Rounds(recipient) => recipient.flow.session.note_answer(answer),
        }
    }

    /// Notes how the server has ended a call.
    pub(crate) fn answers_used(&self, reply: &Reply) {
        let answers = match self {
            Self::Pushed(recipient) => recipient.call.as_ref().map(|call| call.take_answers()),
            Self::Rounds(recipient) => Some(recipient.flow.take_answers()),
        };
        self.session()
            .answers_used(reply, answers.unwrap_or_default());
    }

    /// The parameters of a question with a URL, in the client's era: only those of 2025 have ids.
    /// Returns the id too, if it is ours.
    pub(crate) fn url_params(&self, raw: &str, url: &str) -> (String, Option<String>) {
        let Some(mut params) = RawObject::parse(raw) else {
            return (raw.to_owned(), None);
        };
        let has_id = params.get("elicitationId").is_some();
        match self {
            Self::Pushed(recipient) if !has_id => {
                let known = recipient.call.as_ref().and_then(|call| call.visit_of(url));
                let id = known.unwrap_or_else(|| self.new_id());
                params.set("elicitationId", quoted(&id));
                (params.to_string(), Some(id))
            }
            Self::Rounds(_) if has_id => {
                params.remove("elicitationId");
                (params.to_string(), None)
            }
            Self::Pushed(_) | Self::Rounds(_) => (raw.to_owned(), None),
        }
    }

    /// Notes a URL that the client opens under an id of ours.
    pub(crate) fn note_visit(&self, url: &str, id: &str) {
        if let Self::Pushed(PushedRecipient {
            call: Some(call), ..
        }) = self
        {
            call.note_visit(url, id);
        }
    }

    /// Tells the client that URLs which it opens are complete, if the server does not ask for them
    /// any more: a server of 2026-07-28 says it in no other way.
    pub(crate) fn end_visits(&self, is_asked: impl Fn(&str) -> bool) {
        if let Self::Pushed(PushedRecipient {
            call: Some(call), ..
        }) = self
        {
            for id in call.take_visits(|url| !is_asked(url)) {
                self.completed(&id);
            }
        }
    }

    /// Whether the client's result can have a link.
    pub(crate) fn can_link(&self) -> bool {
        match self {
            Self::Pushed(recipient) => recipient
                .linkable
                .as_ref()
                .is_some_and(|call| call.method == Method::CallTool),
            Self::Rounds(recipient) => recipient.flow.method == Method::CallTool,
        }
    }

    /// Whether the client keeps waiting as long as it gets progress reports.
    pub(crate) fn has_token(&self) -> bool {
        match self {
            Self::Pushed(recipient) => recipient
                .linkable
                .as_ref()
                .is_some_and(|call| call.has_token()),
            // Its rounds end by themselves.
            Self::Rounds(_) => true,
        }
    }

    /// Gives the client the link to a page, in the result of its call.
    pub(crate) async fn offer(&self, link: Link) {
        // What the result looks like depends on the tool.
        self.session().know_tools().await;
        match self {
            Self::Pushed(recipient) => {
                if let Some(call) = &recipient.linkable {
                    recipient.session.answer_with_link(call, &link);
                }
            }
            Self::Rounds(recipient) => recipient.flow.offer(link),
        }
    }

    /// Notes that a page is open in front of the person, until the guard is dropped.
    pub(crate) fn page_opened(&self) -> Option<PageGuard> {
        match self {
            Self::Pushed(_) => None,
            Self::Rounds(recipient) => Some(recipient.flow.page_opened()),
        }
    }

    /// Whether there are roots besides the client's.
    pub(crate) fn has_configured_roots(&self) -> bool {
        self.session().has_configured_roots()
    }

    /// A list of roots with the configured ones behind it.
    pub(crate) fn with_configured_roots(&self, result: &str) -> String {
        self.session().with_configured_roots(result)
    }

    /// Whether the question comes from a server of the other era, so that its answer is checked
    /// here.
    pub(crate) fn translates(&self) -> bool {
        matches!(
            self.session().state.lock().pair,
            crate::session::Pair::Raised | crate::session::Pair::Lowered
        )
    }

    /// Tells the client that a URL which it has shown is complete.
    pub(crate) fn completed(&self, id: &str) {
        match self {
            Self::Pushed(recipient) => recipient.session.notify_complete(id),
            Self::Rounds(_) => {}
        }
    }
}
