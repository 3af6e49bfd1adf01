//! Asks a client of the eras of 2025: a request is sent to it, and its answer awaited.

use std::borrow::Cow;
use std::time::Duration;

use entreat_core::{CancelReason, ElicitationId, Form, Outcome, Presented, Timeout, UnixTime};
use entreat_engine::{ActError, Ask as EngineAsk, Channel, Elicitation, Snapshot, Wait};
use rmcp::RoleServer;
use rmcp::model::{
    ClientResult, CustomNotification, CustomRequest, ElicitationAction, GetExtensions as _,
    ProgressNotificationParam, ServerNotification, ServerRequest,
};
use rmcp::service::{OriginatingRequestId, PeerRequestOptions, ServiceError};
use serde_json::{Map, Value, json};

use crate::call::{Asked, Call, Ended, Given, Subject, with_errors};
use crate::drive::Link;
use crate::error::AskError;
use crate::in_flight::InFlight;
use crate::wire::{Action, COMPLETE, CREATE, ElicitRequest, ElicitResult};

impl Call {
    /// Asks a form, again with the errors if the answer is not valid.
    pub(crate) async fn push_form(&self, asked: &Asked, form: &Form) -> Result<Ended, AskError> {
        let ask = self.engine_ask(asked, form, Channel::NativeForm);
        let question = self.connection.ask(ask).await?;
        let person = self.person(&question);
        let id = self.has_control().then(|| question.id());
        let mut settled = question.outcome();
        let mut message = asked.message.to_string();
        loop {
            let request = self.form_request(form, &message, id);
            let (reply, sent) = match self
                .push(CREATE, request.into_params(), &mut settled)
                .await?
            {
                Pushed::Settled(snapshot) => return Ended::of(&snapshot),
                Pushed::Replied(reply, sent) => (elicited(reply)?, sent),
            };
            let content = reply.content.unwrap_or_else(|| Map::new().into());
            let done = match reply.action {
                Action::Accept => person.submit_and_read(&content).await.map(|answers| {
                    let answers = Given::Answers(answers.into_owned());
                    Ok(Ended::Answered(answers))
                }),
                Action::Decline => self.declined(&person, sent).await.map(|it| Ended::of(&it)),
                Action::Cancel => self.cancelled(&person, sent).await.map(|it| Ended::of(&it)),
            };
            match done {
                Ok(ended) => return ended,
                Err(ActError::Invalid(refusal)) if refusal.retry_allowed => {
                    message = with_errors(&asked.message, &refusal.errors);
                }
                // It ended by its deadline, or was settled elsewhere; either way it is over.
                Err(
                    ActError::Invalid(_) | ActError::Settled { .. } | ActError::TimedOut { .. },
                ) => {
                    return Ended::of(&settled.await?);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Sends the person to a URL.
    pub(crate) async fn push_url(&self, asked: &Asked, url: &str) -> Result<Ended, AskError> {
        let ask = EngineAsk::url(url)
            .message(&asked.message)
            .timeout(asked.timeout)
            .channel(Channel::NativeUrl);
        let question = self.connection.ask(ask).await?;
        let person = self.person(&question);
        let mut settled = question.outcome();
        let id = question.id().to_string();
        let request = ElicitRequest::url(&asked.message, url, Some(&id));
        let (reply, sent) = match self
            .push(CREATE, request.into_params(), &mut settled)
            .await?
        {
            Pushed::Settled(snapshot) => return Ended::of(&snapshot),
            Pushed::Replied(reply, sent) => (elicited(reply)?, sent),
        };
        let done = match reply.action {
            Action::Accept => person.complete(&Value::Null).await,
            Action::Decline => self.declined(&person, sent).await,
            Action::Cancel => self.cancelled(&person, sent).await,
        };
        match done {
            Ok(snapshot) => Ended::of(&snapshot),
            Err(_) => Ended::of(&settled.await?),
        }
    }

    /// Sends the person to the page of a form, and waits until it is answered there.
    pub(crate) async fn push_page(&self, asked: &Asked, form: &Form) -> Result<Ended, AskError> {
        let ask = self.engine_ask(asked, form, Channel::NativeUrl);
        let question = self.connection.ask(ask).await?;
        let person = self.person(&question);
        let mut settled = question.outcome();
        let url = self.page_of(&question).await?;
        let id = question.id().to_string();
        let request = ElicitRequest::url(&asked.message, &url, Some(&id));
        let (reply, sent) = match self
            .push(CREATE, request.into_params(), &mut settled)
            .await?
        {
            Pushed::Settled(snapshot) => {
                self.tell_complete(&id, &snapshot).await;
                return Ended::of(&snapshot);
            }
            Pushed::Replied(reply, sent) => (elicited(reply)?, sent),
        };
        let ended = match reply.action {
            Action::Accept => {
                let snapshot = self.with_progress(&mut settled).await?;
                self.tell_complete(&id, &snapshot).await;
                return Ended::of(&snapshot);
            }
            Action::Decline => self.declined(&person, sent).await,
            Action::Cancel => self.cancelled(&person, sent).await,
        };
        match ended {
            Ok(snapshot) => Ended::of(&snapshot),
            Err(_) => Ended::of(&settled.await?),
        }
    }

    /// Fails the call with the address of a page; the next call finds what was answered there.
    pub(crate) async fn page_by_error(
        &self,
        asked: &Asked,
        form: &Form,
    ) -> Result<Ended, AskError> {
        let subject = Subject::Form(form.clone());
        let binding = &self.binding;
        // The same question of the same call, by whoever it was.
        let key = json!([
            binding.principal,
            binding.target,
            format!("{:?}", binding.arguments),
            asked.key,
            format!("{:?}", self.digest(asked, &subject)),
        ]);
        let ask = self
            .engine_ask(asked, form, Channel::NativeUrl)
            .idempotency_key(&blake3::hash(key.to_string().as_bytes()).to_hex());
        let question = self.asker.ask(ask).await?;
        let id = question.id().to_string();
        let snapshot = question.outcome_within(Duration::ZERO).await?;
        if snapshot.outcome().is_some() {
            return Ended::of(&snapshot);
        }
        let url = self.page_of(&question).await?;
        self.tell_when_complete(&question);
        let request = ElicitRequest::url(&asked.message, &url, Some(&id)).into_params();
        Err(AskError::UrlRequired {
            key: asked.key.clone(),
            request,
        })
    }

    /// Opens the page of a form in the browser of this machine.
    pub(crate) async fn open_page(&self, asked: &Asked, form: &Form) -> Result<Ended, AskError> {
        let ask = self.engine_ask(asked, form, Channel::Page);
        let question = self.connection.ask(ask).await?;
        self.mcp().open_browser(&self.page_of(&question).await?);
        let mut settled = question.outcome();
        Ended::of(&self.with_progress(&mut settled).await?)
    }

    /// Has the address of a form's page told in the result of the tool.
    pub(crate) async fn link_page(&self, asked: &Asked, form: &Form) -> Result<Ended, AskError> {
        let ask = self.engine_ask(asked, form, Channel::Link);
        let question = self.connection.ask(ask).await?;
        self.run.tell_link(Link {
            message: asked.message.to_string(),
            url: self.page_of(&question).await?,
        });
        Ended::of(&question.outcome().await?)
    }

    /// Leaves a question to its page, which outlives the call.
    pub(crate) async fn leave(
        &self,
        form: &Form,
        message: &str,
        timeout: Timeout,
    ) -> Result<(ElicitationId, String), AskError> {
        let asked = Asked {
            key: "question".to_owned(),
            message: Cow::Owned(message.to_owned()),
            timeout,
            by_error: false,
        };
        if !self.mcp().has_page_for(self.client()) {
            return Err(AskError::NoWay {
                key: asked.key,
                needs: "there is no page that its person could open",
                required: json!({}),
            });
        }
        let ask = self.engine_ask(&asked, form, Channel::Link).durable();
        let question = self.asker.ask(ask).await?;
        let url = self.page_of(&question).await?;
        Ok((question.id(), url))
    }

    /// Asks something else than a person.
    pub(crate) async fn push_other(&self, method: &str, params: &Value) -> Result<Ended, AskError> {
        let mut sent = self.send(method, params.clone()).await?;
        let reply = sent.response().await.map_err(gone)?;
        Ok(Ended::Answered(Given::Other(to_value(reply)?)))
    }

    /// The page of a question.
    pub(crate) async fn page_of(&self, question: &Elicitation) -> Result<String, AskError> {
        let page = match &self.mcp().links {
            Some(links) => links.open(self.person(question)).await,
            None => None,
        };
        if let Some(page) = page {
            return Ok(page);
        }
        // Nobody could answer it; that it may have ended by itself does not matter.
        let reason = CancelReason::AskerCancelled;
        drop(self.person(question).cancel(reason).await);
        Err(AskError::NoPage)
    }

    /// The question as the person sees it, who is not charged for answering.
    pub(crate) fn person(&self, question: &Elicitation) -> Elicitation {
        self.mcp().asker.engine().elicitation(question.id())
    }

    /// The person decided against a question that was sent then.
    pub(crate) async fn declined(
        &self,
        person: &Elicitation,
        sent: UnixTime,
    ) -> Result<Snapshot, ActError> {
        person.decline_as(self.presented(sent)).await
    }

    /// The person decided nothing about a question that was sent then.
    pub(crate) async fn cancelled(
        &self,
        person: &Elicitation,
        sent: UnixTime,
    ) -> Result<Snapshot, ActError> {
        let reason = CancelReason::UserCancelled;
        person.cancel_as(reason, self.presented(sent)).await
    }

    /// Whether a question that came back at once can have been on a screen.
    pub(crate) fn presented(&self, sent: UnixTime) -> Presented {
        self.mcp().presented(sent)
    }

    /// Sends a request and waits for its reply, or until the question has settled by itself.
    async fn push(
        &self,
        method: &str,
        params: Value,
        settled: &mut Wait,
    ) -> Result<Pushed, AskError> {
        let now = self.mcp().asker.engine().now();
        let mut sent = self.send(method, params).await?;
        tokio::select! {
            biased;
            reply = sent.response() => Ok(Pushed::Replied(reply.map_err(gone)?, now)),
            // Dropping the request closes the client's dialog.
            snapshot = self.with_progress(settled) => Ok(Pushed::Settled(snapshot?)),
        }
    }

    async fn send(&self, method: &str, params: Value) -> Result<InFlight<RoleServer>, AskError> {
        let mut request = CustomRequest::new(method, Some(params));
        // rmcp would find it by itself, but not in a task of the handler's own.
        let origin = OriginatingRequestId(self.id.clone());
        request.extensions_mut().insert(origin);
        let request = ServerRequest::CustomRequest(request);
        let options = PeerRequestOptions::no_options();
        let handle = self.peer.send_cancellable_request(request, options).await;
        let handle = handle.map_err(gone)?;
        let tasks = self.mcp().tasks.clone();
        Ok(InFlight::new(handle, tasks, "the question is off"))
    }

    /// Waits for an outcome, and tells the client now and then that it is being worked on.
    pub(crate) async fn with_progress(&self, settled: &mut Wait) -> Result<Snapshot, ActError> {
        let Some(token) = &self.client().progress else {
            return settled.await;
        };
        let mcp = self.mcp();
        let mut progress = 0.0;
        loop {
            tokio::select! {
                biased;
                snapshot = &mut *settled => return snapshot,
                () = mcp.asker.engine().sleep(mcp.settings.progress_every) => {}
            }
            progress += 1.0;
            let mut note = ProgressNotificationParam::new(token.clone(), progress);
            note.message = Some("waiting for a person".to_owned());
            // A client that is gone ends the call in another way.
            let _ = self.peer.notify_progress(note).await;
        }
    }

    /// Tells the client that a person is done with a page; with one that timed out nobody is.
    async fn tell_complete(&self, id: &str, settled: &Snapshot) {
        if settled.outcome() != Some(Outcome::TimedOut) {
            // A client that is gone needs not be told.
            let _ = self.peer.send_notification(complete(id)).await;
        }
    }

    /// Tells the client when a page has what it wanted, after the call has ended.
    fn tell_when_complete(&self, question: &Elicitation) {
        // Who calls again and again is told by the first calls.
        let Ok(place) = self.mcp().notices.take(question.id()) else {
            return;
        };
        let peer = self.peer.clone();
        let (settled, id) = (question.outcome(), question.id().to_string());
        let stop = self.mcp().stop.clone();
        self.mcp().tasks.spawn(async move {
            let told = async {
                if settled.await.is_ok() {
                    let _ = peer.send_notification(complete(&id)).await;
                }
            };
            stop.run_until_cancelled(told).await;
            drop(place);
        });
    }
}

/// What came first.
enum Pushed {
    Replied(ClientResult, UnixTime),
    Settled(Snapshot),
}

fn complete(id: &str) -> ServerNotification {
    let params = json!({"elicitationId": id});
    ServerNotification::CustomNotification(CustomNotification::new(COMPLETE, Some(params)))
}

/// What a client says to a question.
struct Reply {
    action: Action,
    content: Option<Value>,
}

fn elicited(reply: ClientResult) -> Result<Reply, AskError> {
    // Taken as it is where rmcp understood it: all that it drops there is what nobody asks for.
    if let ClientResult::ElicitResult(result) = reply {
        let action = match result.action {
            ElicitationAction::Accept => Action::Accept,
            ElicitationAction::Decline => Action::Decline,
            _ => Action::Cancel,
        };
        let content = result.content;
        return Ok(Reply { action, content });
    }
    let result = ElicitResult::from_value(to_value(reply)?);
    let result = result.map_err(|error| AskError::Client(error.to_string()))?;
    Ok(Reply {
        action: result.action(),
        content: result.into_content(),
    })
}

fn to_value(reply: ClientResult) -> Result<Value, AskError> {
    match reply {
        ClientResult::CustomResult(result) => Ok(result.0),
        other => serde_json::to_value(other).map_err(|error| AskError::Client(error.to_string())),
    }
}

fn gone(error: ServiceError) -> AskError {
    match error {
        ServiceError::McpError(error) => AskError::Client(error.message.to_string()),
        _ => AskError::Disconnected,
    }
}
