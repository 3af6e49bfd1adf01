//! Asks clients of the 2025 protocol versions: sends a request and waits for the response.

use std::time::Duration;

use entreat_core::{CancelReason, ElicitationId, Form, Mode, Outcome, Presented, UnixTime};
use entreat_engine::{ActError, Ask as EngineAsk, Channel, Elicitation, NoPage, Snapshot, Wait};
use entreat_wire::message::{Action, COMPLETE, CREATE, ElicitRequest, ElicitResult};
use rmcp::RoleServer;
use rmcp::model::{
    ClientResult, CustomNotification, CustomRequest, ElicitationAction, GetExtensions as _,
    ProgressNotificationParam, ServerNotification, ServerRequest,
};
use rmcp::service::{OriginatingRequestId, PeerRequestOptions, ServiceError};
use serde_json::{Value, json};

use crate::call::{
    AnswerPayload, AskOptions, AskOutcome, Call, DetachedQuestion, Subject, with_errors,
};
use crate::client_content;
use crate::drive::Link;
use crate::error::AskError;
use crate::in_flight::InFlight;
use crate::question_service::ServiceAsk;

impl Call {
    /// Asks a form; repeats it with the errors while the answer is invalid.
    pub(crate) async fn push_form(
        &self,
        options: &AskOptions,
        form: &Form,
    ) -> Result<AskOutcome, AskError> {
        let ask = self.engine_ask(options, form, Channel::NativeForm);
        let question = self.connection.ask(ask).await?;
        let respondent = self.respondent(&question);
        let id = self.has_control().then(|| question.id());
        let mut settled = question.outcome();
        let mut message = options.message.to_string();
        loop {
            let request = self.form_request(form, &message, id);
            let (reply, sent) = match self
                .push(CREATE, request.into_params(), &mut settled)
                .await?
            {
                Pushed::Settled(snapshot) => return self.settled(&snapshot),
                Pushed::Replied(reply, sent) => (reply, sent),
            };
            let content = client_content::answers_in(form, reply.content);
            let done = match reply.action {
                Action::Accept => respondent.submit_and_read(&content).await.map(|answers| {
                    let answers = AnswerPayload::Answers(answers.into_owned());
                    Ok(AskOutcome::Answered(answers))
                }),
                Action::Decline => self
                    .decline(&respondent, sent)
                    .await
                    .map(|it| self.settled(&it)),
                Action::Cancel => self
                    .cancel(&respondent, sent)
                    .await
                    .map(|it| self.settled(&it)),
            };
            match done {
                Ok(outcome) => return outcome,
                Err(ActError::Invalid(refusal)) if refusal.retry_allowed => {
                    message = with_errors(&options.message, &refusal.errors);
                }
                // The deadline passed, or it was settled elsewhere.
                Err(
                    ActError::Invalid(_) | ActError::Settled { .. } | ActError::TimedOut { .. },
                ) => {
                    return self.settled(&settled.await?);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Asks the person to visit a URL.
    pub(crate) async fn push_url(
        &self,
        options: &AskOptions,
        url: &str,
    ) -> Result<AskOutcome, AskError> {
        let ask = EngineAsk::url(url)
            .message(&options.message)
            .timeout(options.timeout)
            .channel(Channel::NativeUrl);
        let question = self.connection.ask(ask).await?;
        let mut settled = question.outcome();
        let snapshot = match self
            .push_visit(options, &question, url, &mut settled)
            .await?
        {
            Visit::Settled(snapshot) | Visit::Refused(snapshot) => snapshot,
            Visit::Agreed => match self.respondent(&question).complete(&Value::Null).await {
                Ok(snapshot) => snapshot,
                Err(_) => settled.await?,
            },
        };
        self.settled(&snapshot)
    }

    /// Asks the person to visit the page of a form, and waits until it is answered.
    pub(crate) async fn push_page(
        &self,
        options: &AskOptions,
        form: &Form,
    ) -> Result<AskOutcome, AskError> {
        let ask = self.engine_ask(options, form, Channel::NativeUrl);
        let question = self.connection.ask(ask).await?;
        let mut settled = question.outcome();
        let url = self.page_of(&question).await?;
        let snapshot = match self
            .push_visit(options, &question, &url, &mut settled)
            .await?
        {
            Visit::Refused(snapshot) => return self.settled(&snapshot),
            Visit::Settled(snapshot) => snapshot,
            Visit::Agreed => self.with_progress(&mut settled).await?,
        };
        self.notify_complete(question.id(), &snapshot).await;
        self.settled(&snapshot)
    }

    /// Asks the client to show a URL.
    async fn push_visit(
        &self,
        options: &AskOptions,
        question: &Elicitation,
        url: &str,
        settled: &mut Wait,
    ) -> Result<Visit, AskError> {
        let id = question.id().to_string();
        let request = ElicitRequest::url(&options.message, url, Some(&id));
        let (action, sent) = match self.push(CREATE, request.into_params(), settled).await? {
            Pushed::Settled(snapshot) => return Ok(Visit::Settled(snapshot)),
            Pushed::Replied(reply, sent) => (reply.action, sent),
        };
        let respondent = self.respondent(question);
        let refused = match action {
            Action::Accept => return Ok(Visit::Agreed),
            Action::Decline => self.decline(&respondent, sent).await,
            Action::Cancel => self.cancel(&respondent, sent).await,
        };
        Ok(Visit::Refused(match refused {
            Ok(snapshot) => snapshot,
            Err(_) => settled.await?,
        }))
    }

    /// Fails the call with the URL of a page; a repeated call finds the answer given there.
    pub(crate) async fn page_by_error(
        &self,
        options: &AskOptions,
        form: &Form,
    ) -> Result<AskOutcome, AskError> {
        let subject = Subject::Form(form.clone());
        let binding = &self.binding;
        // Repeated calls of one principal with equal arguments find the same question.
        let key = json!([
            binding.principal,
            binding.target,
            format!("{:?}", binding.arguments),
            options.key,
            format!("{:?}", self.digest(options, &subject)),
        ]);
        let ask = self
            .engine_ask(options, form, Channel::NativeUrl)
            .idempotency_key(&blake3::hash(key.to_string().as_bytes()).to_hex());
        let question = self.asker.ask(ask).await?;
        let id = question.id().to_string();
        let snapshot = question.outcome_within(Duration::ZERO).await?;
        if snapshot.outcome().is_some() {
            return self.settled(&snapshot);
        }
        let url = self.page_of(&question).await?;
        self.notify_when_complete(&question);
        let request = ElicitRequest::url(&options.message, &url, Some(&id)).into_params();
        Err(AskError::UrlRequired {
            key: options.key.clone(),
            request,
        })
    }

    /// Opens the page of a form in the browser of this machine, and waits for the answer.
    pub(crate) async fn open_page(
        &self,
        options: &AskOptions,
        form: &Form,
    ) -> Result<AskOutcome, AskError> {
        let ask = self.engine_ask(options, form, Channel::Page);
        let question = self.connection.ask(ask).await?;
        self.mcp().open_browser(&self.page_of(&question).await?);
        let mut settled = question.outcome();
        self.settled(&self.with_progress(&mut settled).await?)
    }

    /// Returns the URL of a form's page in the tool's result, and waits for the answer.
    pub(crate) async fn link_page(
        &self,
        options: &AskOptions,
        form: &Form,
    ) -> Result<AskOutcome, AskError> {
        let ask = self.engine_ask_by_link(options, form);
        let question = self.connection.ask(ask).await?;
        self.run.offer_link(Link {
            message: options.message.to_string(),
            url: self.page_of(&question).await?,
        });
        self.settled(&question.outcome().await?)
    }

    /// Asks on a page, with a question that outlives the call.
    pub(crate) async fn ask_detached(
        &self,
        options: &AskOptions,
        form: &Form,
        metadata: Value,
    ) -> Result<DetachedQuestion, AskError> {
        if !self.mcp().has_page_for(self.client()) {
            return Err(AskError::NoRoute {
                key: options.key.clone(),
                needs: "there is no page that its person could open",
                required: json!({}),
            });
        }
        if let Some(service) = &self.mcp().service {
            let ask = self.service_ask(options, form, metadata)?;
            let asked = service.ask(ask).await.map_err(AskError::Service)?;
            return Ok(DetachedQuestion {
                id: asked.id,
                url: asked.url,
                is_durable: true,
            });
        }
        let ask = self
            .engine_ask_by_link(options, form)
            .durable()
            .metadata(metadata);
        let question = self.asker.ask(ask).await?;
        Ok(DetachedQuestion {
            id: question.id().to_string(),
            url: self.page_of(&question).await?,
            is_durable: self.asker.engine().is_durable(),
        })
    }

    fn service_ask(
        &self,
        options: &AskOptions,
        form: &Form,
        metadata: Value,
    ) -> Result<ServiceAsk, AskError> {
        let timeout = self.timeout_by_link(options, form);
        let links = self.mcp().links.as_ref();
        let names_people = links.is_some_and(|links| links.needs_respondent());
        let client = self.client();
        Ok(ServiceAsk {
            form: form.clone(),
            message: options.message.to_string(),
            timeout: self.asker.time_for(Mode::Form, timeout)?,
            is_default_timeout: options.timeout.or(form.timeout()).initial.is_none(),
            introduced_as: client.name.clone().filter(|_| options.as_client),
            respondent: client
                .respondent
                .as_deref()
                .filter(|_| names_people)
                .map(str::to_owned),
            metadata,
        })
    }

    /// Sends a request that is not for a person: sampling or roots.
    pub(crate) async fn push_other(
        &self,
        method: &str,
        params: &Value,
    ) -> Result<AskOutcome, AskError> {
        let mut sent = self.send(method, params.clone()).await?;
        let reply = sent.response().await.map_err(client_error)?;
        Ok(AskOutcome::Answered(AnswerPayload::Other(to_value(reply)?)))
    }

    /// Returns the URL of a question's page.
    pub(crate) async fn page_of(&self, question: &Elicitation) -> Result<String, AskError> {
        let page = match &self.mcp().links {
            Some(links) => links.open(self.respondent(question)).await,
            None => Err(NoPage("there are no pages".to_owned())),
        };
        let error = match page {
            Ok(page) => return Ok(page),
            Err(error) => error,
        };
        // Nobody could answer it. Ignore the error if it has already settled.
        let reason = CancelReason::AskerCancelled;
        drop(self.respondent(question).cancel(reason).await);
        Err(AskError::NoPage(error))
    }

    /// The question as seen by the respondent, whose actions are not rate limited.
    pub(crate) fn respondent(&self, question: &Elicitation) -> Elicitation {
        self.mcp().asker.engine().elicitation(question.id())
    }

    /// Settles a question sent at `sent` as declined.
    pub(crate) async fn decline(
        &self,
        respondent: &Elicitation,
        sent: UnixTime,
    ) -> Result<Snapshot, ActError> {
        respondent.decline_as(self.presented(sent)).await
    }

    /// Settles a question sent at `sent` as cancelled.
    pub(crate) async fn cancel(
        &self,
        respondent: &Elicitation,
        sent: UnixTime,
    ) -> Result<Snapshot, ActError> {
        let reason = CancelReason::UserCancelled;
        respondent.cancel_as(reason, self.presented(sent)).await
    }

    /// Whether the question was on screen long enough to be read.
    pub(crate) fn presented(&self, sent: UnixTime) -> Presented {
        self.mcp().presented(sent)
    }

    /// Sends a request and waits for the response, or until the question settles otherwise.
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
            reply = sent.response() => {
                Ok(Pushed::Replied(parse_reply(reply.map_err(client_error)?)?, now))
            }
            // Dropping the request closes the client's dialog.
            snapshot = self.with_progress(settled) => Ok(Pushed::Settled(snapshot?)),
        }
    }

    async fn send(&self, method: &str, params: Value) -> Result<InFlight<RoleServer>, AskError> {
        let mut request = CustomRequest::new(method, Some(params));
        // rmcp sets this itself, but not in tasks spawned by the handler.
        let origin = OriginatingRequestId(self.id.clone());
        request.extensions_mut().insert(origin);
        let request = ServerRequest::CustomRequest(request);
        let options = PeerRequestOptions::no_options();
        let handle = self.peer.send_cancellable_request(request, options).await;
        let handle = handle.map_err(client_error)?;
        let tasks = self.mcp().tasks.clone();
        Ok(InFlight::new(handle, tasks, "the question was withdrawn"))
    }

    /// Waits for the outcome, sending progress notifications if the client requested them.
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
            let mut notification = ProgressNotificationParam::new(token.clone(), progress);
            notification.message = Some("waiting for a person".to_owned());
            // A disconnected client ends the call elsewhere.
            let _ = self.peer.notify_progress(notification).await;
        }
    }

    /// Notifies the client that a page is complete. A timeout completes nothing.
    async fn notify_complete(&self, id: ElicitationId, settled: &Snapshot) {
        if settled.outcome() != Some(Outcome::TimedOut) {
            // A disconnected client needs no notification.
            let _ = self.peer.send_notification(complete_notification(id)).await;
        }
    }

    /// Notifies the client when a page is complete, after the call has ended.
    fn notify_when_complete(&self, question: &Elicitation) {
        // At the limit, earlier calls already deliver the notification.
        let Ok(place) = self.mcp().completions.take(question.id()) else {
            return;
        };
        let peer = self.peer.clone();
        let (settled, id) = (question.outcome(), question.id());
        let stop = self.mcp().stop.clone();
        self.mcp().tasks.spawn(async move {
            let notify = async {
                if settled.await.is_ok() {
                    let _ = peer.send_notification(complete_notification(id)).await;
                }
            };
            stop.run_until_cancelled(notify).await;
            drop(place);
        });
    }
}

/// Which came first.
enum Pushed {
    Replied(Reply, UnixTime),
    Settled(Snapshot),
}

/// What became of a request to visit a URL.
enum Visit {
    /// The person agreed.
    Agreed,
    /// The person declined or cancelled, and the question is settled so.
    Refused(Snapshot),
    /// The question settled before the client replied.
    Settled(Snapshot),
}

fn complete_notification(id: ElicitationId) -> ServerNotification {
    let params = json!({"elicitationId": id});
    ServerNotification::CustomNotification(CustomNotification::new(COMPLETE, Some(params)))
}

/// A client's response to a question.
struct Reply {
    action: Action,
    content: Option<Value>,
}

fn parse_reply(reply: ClientResult) -> Result<Reply, AskError> {
    // Used directly if rmcp parsed it: the members it drops are not needed.
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

fn client_error(error: ServiceError) -> AskError {
    match error {
        ServiceError::McpError(error) => AskError::Client(error.message.to_string()),
        _ => AskError::Disconnected,
    }
}
