//! A scripted person: records what is shown, and acts as the test says.

use std::sync::Arc;

use entreat_mcp::answer::{
    Answer, Consent, FormQuestion, Modes, Presenter, PresenterError, UrlCard, VisitReply,
};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Map, Value};
use tokio::sync::{Notify, mpsc};

/// What the person does next.
#[derive(Debug)]
pub(crate) enum Does {
    /// Sends the defaults, overlaid with this.
    Fills(Value),
    Answers(Answer),
    Consents(Consent),
    Says(VisitReply),
}

/// What the person saw.
#[derive(Clone, Debug)]
pub(crate) enum Saw {
    Form(FormQuestion),
    Card(UrlCard),
    Opened,
    Waits,
    /// A prompt closed before it was answered.
    Closed,
    Notice(String),
}

#[derive(Clone)]
pub(crate) struct Person {
    modes: Modes,
    does: mpsc::UnboundedSender<Does>,
    next: Arc<tokio::sync::Mutex<mpsc::UnboundedReceiver<Does>>>,
    seen: Arc<Mutex<Vec<Saw>>>,
    something: Arc<Notify>,
}

impl Person {
    pub(crate) fn new(modes: Modes) -> Self {
        let (does, next) = mpsc::unbounded_channel();
        Self {
            modes,
            does,
            next: Arc::new(tokio::sync::Mutex::new(next)),
            seen: Arc::default(),
            something: Arc::default(),
        }
    }

    pub(crate) fn will(&self, does: Does) {
        self.does.send(does).expect("the person is there");
    }

    pub(crate) fn will_fill(&self, answers: Value) {
        self.will(Does::Fills(answers));
    }

    /// Everything seen so far.
    pub(crate) fn seen(&self) -> Vec<Saw> {
        self.seen.lock().clone()
    }

    pub(crate) fn notices(&self) -> Vec<String> {
        let seen = self.seen();
        let notices = seen.into_iter().filter_map(|saw| match saw {
            Saw::Notice(line) => Some(line),
            _ => None,
        });
        notices.collect()
    }

    pub(crate) fn forms(&self) -> Vec<FormQuestion> {
        let seen = self.seen();
        let forms = seen.into_iter().filter_map(|saw| match saw {
            Saw::Form(form) => Some(form),
            _ => None,
        });
        forms.collect()
    }

    /// The names of what was seen, in its order.
    pub(crate) fn story(&self) -> Vec<&'static str> {
        let seen = self.seen.lock();
        let names = seen.iter().map(|saw| match saw {
            Saw::Form(_) => "form",
            Saw::Card(_) => "card",
            Saw::Opened => "opened",
            Saw::Waits => "waits",
            Saw::Closed => "closed",
            Saw::Notice(_) => "notice",
        });
        names.collect()
    }

    /// Waits until this many things were shown.
    pub(crate) async fn has_seen(&self, number: usize) {
        loop {
            let something = self.something.notified();
            if self.seen.lock().len() >= number {
                return;
            }
            something.await;
        }
    }

    fn sees(&self, saw: Saw) {
        self.seen.lock().push(saw);
        self.something.notify_waiters();
    }

    async fn decides(&self) -> Does {
        let mut open = Prompt(Some(self));
        let does = self.next.lock().await.recv().await;
        open.0 = None;
        does.expect("the test holds the other end")
    }
}

struct Prompt<'a>(Option<&'a Person>);

impl Drop for Prompt<'_> {
    fn drop(&mut self) {
        if let Some(person) = self.0 {
            person.sees(Saw::Closed);
        }
    }
}

impl Presenter for Person {
    fn modes(&self) -> Modes {
        self.modes
    }

    fn form<'a>(
        &'a self,
        question: &'a FormQuestion,
    ) -> BoxFuture<'a, Result<Answer, PresenterError>> {
        let asked = async move {
            self.sees(Saw::Form(question.clone()));
            match self.decides().await {
                Does::Fills(Value::Object(over)) => {
                    let mut filled: Map<_, _> = question.draft.clone();
                    filled.extend(over);
                    Ok(Answer::Accept(filled))
                }
                Does::Answers(answer) => Ok(answer),
                other => Err(PresenterError::new(format!(
                    "{other:?} is no answer to a form"
                ))),
            }
        };
        asked.boxed()
    }

    fn consent<'a>(&'a self, card: &'a UrlCard) -> BoxFuture<'a, Result<Consent, PresenterError>> {
        let asked = async move {
            self.sees(Saw::Card(card.clone()));
            match self.decides().await {
                Does::Consents(consent) => Ok(consent),
                other => Err(PresenterError::new(format!("{other:?} is no consent"))),
            }
        };
        asked.boxed()
    }

    fn open<'a>(&'a self, _: &'a UrlCard) -> BoxFuture<'a, Result<(), PresenterError>> {
        self.sees(Saw::Opened);
        std::future::ready(Ok(())).boxed()
    }

    fn opened<'a>(&'a self, _: &'a UrlCard) -> BoxFuture<'a, Result<VisitReply, PresenterError>> {
        let asked = async move {
            self.sees(Saw::Waits);
            match self.decides().await {
                Does::Says(followed) => Ok(followed),
                other => Err(PresenterError::new(format!("{other:?} says nothing of it"))),
            }
        };
        asked.boxed()
    }

    fn notice(&self, line: &str) {
        self.sees(Saw::Notice(line.to_owned()));
    }
}
