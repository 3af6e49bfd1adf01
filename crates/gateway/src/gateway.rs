//! The gateway: what its sessions share.

use std::fmt;
use std::sync::Arc;

use entreat_engine::{Asker, Links};
use entreat_wire::seal::Sealer;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::approvals::Approved;
use crate::client::{ClientSender, Watcher};
use crate::era::{LegacyAskers, UpstreamEra};
use crate::front::{Circuits, Route};
use crate::log::LoggedNames;
use crate::lost_answers::LostAnswers;
use crate::memory::Memory;
use crate::observe::Observer;
use crate::page_asker::{OpenBrowser, PageAsker};
use crate::policy::Policy;
use crate::session::{Ended, HERE, Person, Session};
use crate::settings::GatewaySettings;
use crate::side::lines::{LineSource, MAX_MESSAGE, Outbox};
use crate::side::{Closed, UpstreamEvent, UpstreamReceiver, UpstreamSender};
use crate::tasks::AbortOnDrop;
use crate::trace::Trace;
use crate::union::Union;

/// The purpose of the keys that seal the states of calls.
const STATE_PURPOSE: &str = "entreat gateway request state";

/// Stands between clients and servers. Cheap to share in an [`Arc`].
pub struct Gateway {
    pub(crate) page_asker: PageAsker,
    pub(crate) settings: GatewaySettings,
    pub(crate) sealer: Sealer,
    pub(crate) approved: Approved,
    pub(crate) memory: Memory,
    pub(crate) legacy_askers: LegacyAskers,
    /// What is known of the upstreams, if anybody wants to know.
    pub(crate) observer: Option<Observer>,
    /// Where messages are written down, if they are.
    pub(crate) trace: Option<Trace>,
    /// The names of which the log says that two servers in front of one client would have them.
    pub(crate) logged_collisions: LoggedNames,
}

/// Builds a [`Gateway`].
#[must_use = "nothing is relayed until it is built"]
pub struct Builder {
    page_asker: PageAsker,
    settings: GatewaySettings,
    is_observed: bool,
    trace: Option<Trace>,
}

/// An upstream server: its two directions, and what it is called.
#[derive(Debug)]
pub struct Upstream {
    /// Where messages for it go.
    pub sender: UpstreamSender,
    /// Where its messages come from.
    pub receiver: UpstreamReceiver,
    /// What it is called until it says its name.
    pub name: String,
    /// Whether a person has chosen that name. Pages then show it before the one that the server
    /// gives itself, which could be that of another.
    pub is_named: bool,
    /// Its URL, if it is not a child process.
    pub url: Option<String>,
    /// What it may offer and ask.
    pub policy: Policy,
    /// Which versions it is spoken to in.
    pub era: UpstreamEra,
}

impl Gateway {
    /// Returns a builder for a gateway whose questions are asked by `asker`.
    pub fn builder(asker: Asker) -> Builder {
        Builder {
            page_asker: PageAsker {
                lost_answers: Arc::new(LostAnswers::new(asker.clone())),
                asker,
                principal: HERE.into(),
                links: None,
                browser: None,
                respondent: None,
            },
            settings: GatewaySettings::default(),
            is_observed: false,
            trace: None,
        }
    }

    /// The protocol version that an upstream has spoken, by its [name](Upstream::name), after its
    /// connection has ended; `None` without [`observed`](Builder::observed).
    pub fn version_of(&self, upstream: &str) -> Option<&'static str> {
        self.observer.as_ref()?.of(upstream).version()
    }

    /// Takes over what an earlier process has left in the store.
    pub(crate) async fn recover(&self) {
        self.page_asker.lost_answers.recover().await;
    }

    /// Stands between one client, which speaks on `reader` and `writer`, and one upstream, until
    /// one of them ends. Returns how the upstream ended.
    pub async fn wrap<R, W>(
        self: &Arc<Self>,
        reader: R,
        writer: W,
        mut upstream: Upstream,
    ) -> Closed
    where
        R: AsyncRead + Send + Unpin,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let recovering = AbortOnDrop::spawn({
            let gateway = self.clone();
            async move { gateway.recover().await }
        });
        let client = Outbox::new(writer);
        let sender = ClientSender::Lines(client.clone());
        let session = Session::new(
            self.clone(),
            match &self.trace {
                Some(trace) => sender.watched(Watcher::Trace(trace.clone())),
                None => sender,
            },
            &upstream,
            Person::here(),
        );
        let source = LineSource::new(reader, MAX_MESSAGE);
        let ended = session.run(source, &mut upstream.receiver).await;
        session.end().await;
        drop(recovering);
        client.flush_and_close().await;
        match ended {
            Ended::ByUpstream(closed) => closed,
            Ended::ByClient => upstream.close().await,
        }
    }

    /// Stands between one client, which speaks on `reader` and `writer`, and several upstreams as
    /// one server, until the client ends.
    pub async fn unite<R, W>(self: &Arc<Self>, reader: R, writer: W, routes: Vec<Route>)
    where
        R: AsyncRead + Send + Unpin,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let client = Outbox::new(writer);
        let circuits = Circuits::default();
        let person = Person::here();
        let sources = routes
            .iter()
            .map(|route| circuits.guard(self, route, &person));
        let union = Union::new(
            self.clone(),
            ClientSender::Lines(client.clone()),
            sources.collect(),
            Person::here(),
        );
        union.run(LineSource::new(reader, MAX_MESSAGE)).await;
        union.end().await;
        client.flush_and_close().await;
    }
}

impl Upstream {
    /// Ends the connection, and waits until the server is gone.
    pub(crate) async fn close(self) -> Closed {
        let mut receiver = self.receiver;
        let closed = async {
            loop {
                if let UpstreamEvent::Closed(closed) = receiver.next().await {
                    return closed;
                }
            }
        };
        let ((), closed) = tokio::join!(self.sender.close(), closed);
        closed
    }
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway").finish_non_exhaustive()
    }
}

impl Builder {
    /// Sets how long the gateway waits, and how much it allows.
    pub fn settings(mut self, settings: GatewaySettings) -> Self {
        self.settings = settings;
        self
    }

    /// Sets the pages on which people answer what clients cannot show.
    pub fn pages(mut self, links: Arc<dyn Links>) -> Self {
        self.page_asker.links = Some(links);
        self
    }

    /// Sets how to open a page in the browser of this machine, where the person is.
    pub fn browser(mut self, open: impl Fn(&str) + Send + Sync + 'static) -> Self {
        let open: OpenBrowser = Arc::new(open);
        self.page_asker.browser = Some(open);
        self
    }

    /// Counts calls and questions, and keeps the state of each upstream for
    /// [`Front::status`](crate::front::Front::status).
    pub fn observed(mut self) -> Self {
        self.is_observed = true;
        self
    }

    /// Sets where the messages of [`Gateway::wrap`] are written down.
    pub fn trace(mut self, trace: Trace) -> Self {
        self.trace = Some(trace);
        self
    }

    /// Builds the gateway.
    pub fn build(self) -> Arc<Gateway> {
        let sealer = Sealer::new(self.page_asker.asker.engine().clone(), STATE_PURPOSE);
        Arc::new(Gateway {
            memory: Memory::new(self.settings.memory, self.settings.principal_share),
            page_asker: self.page_asker,
            settings: self.settings,
            sealer,
            approved: Approved::default(),
            legacy_askers: LegacyAskers::default(),
            observer: self.is_observed.then(Observer::new),
            trace: self.trace,
            logged_collisions: LoggedNames::default(),
        })
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").finish_non_exhaustive()
    }
}
