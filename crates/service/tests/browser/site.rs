//! A service with pages on a loopback port, with a simulated clock and DNS.

use std::collections::HashMap;
use std::time::Duration;

use entreat_core::{Form, Mode, TimeoutBounds, UnixTime};
use entreat_engine::{
    Ask, Asker, Elicitation, Engine, EngineSettings, Limits, Snapshot, SystemEntropy,
};
use entreat_service::http::Http;
use entreat_service::page::{Brand, PageSettings, Pages};
use entreat_service::rpc::Rpc;
use entreat_service::{Askers, Role, UploadSettings, Uploads};
use entreat_testkit::{ScriptedResolver, VirtualClock};
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;

use crate::{GLANCE, PATIENCE};

/// The key of an operator.
pub(crate) const OPERATOR_KEY: &str = "key-of-the-night-watch";

const START: u64 = 1_706_889_000_000;
const MINUTES_5: Duration = Duration::from_secs(300);
pub(crate) const DAY: Duration = Duration::from_secs(86_400);

pub(crate) struct Site {
    pub(crate) engine: Engine,
    pub(crate) pages: Pages,
    pub(crate) asker: Asker,
    clock: VirtualClock,
}

impl Site {
    /// It serves until its runtime ends.
    pub(crate) async fn new() -> Self {
        Self::asked_by("Deploy Bot").await
    }

    /// A site whose asker has this name.
    pub(crate) async fn asked_by(name: &str) -> Self {
        let mut settings = EngineSettings::default();
        settings.asker.limits = Limits::none();
        let bounds = TimeoutBounds::new(MINUTES_5, Duration::from_secs(1), 2 * DAY).unwrap();
        settings.asker.timeouts.set_bounds(Mode::Form, bounds);
        let clock = VirtualClock::new(UnixTime::from_millis(START));
        let resolver = ScriptedResolver::new()
            .answers("example.com", &["93.184.215.14"])
            .answers("inside.example.com", &["10.0.0.5"]);
        let engine = Engine::builder()
            .clock(clock.clone())
            .entropy(SystemEntropy::new().unwrap())
            .resolver(resolver)
            .settings(settings)
            .start()
            .await
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let uploads = Uploads::temporary(engine.clone(), UploadSettings::default()).unwrap();
        let mut settings = PageSettings {
            poll: Duration::from_millis(300),
            ..PageSettings::default()
        };
        let brand = Brand {
            name: Some(name.to_owned()),
            color: None,
        };
        settings.brands = HashMap::from([("deployer".to_owned(), brand)]);
        settings.uploads = Some(uploads);
        let pages = Pages::new(engine.clone(), &url, settings).unwrap();
        let asker = engine.asker("deployer");
        let rpc = Rpc::new(engine.clone()).with_links(pages.clone());
        let operator = engine.asker("night-watch");
        let askers = Askers::none().with_local(asker.clone()).with_role(
            OPERATOR_KEY,
            operator,
            Role::Operator,
        );
        let http = Http::new(rpc, askers).with_pages(pages.clone());
        tokio::spawn(http.serve(listener, std::future::pending()));
        Self {
            engine,
            pages,
            asker,
            clock,
        }
    }

    /// The address of the board.
    pub(crate) fn board(&self) -> String {
        let inbox = self.pages.inbox_link();
        let (site, _) = inbox.split_once("/inbox").unwrap();
        format!("{site}/board")
    }

    /// Advances the clock and lets the engine process what is due.
    pub(crate) async fn pass(&self, duration: Duration) {
        self.clock.advance(duration);
        self.engine.catch_up().await.unwrap();
    }

    /// Asks a form.
    pub(crate) async fn ask(&self, form: Value) -> Question {
        self.ask_with(form, |ask| ask).await
    }

    pub(crate) async fn ask_with(&self, form: Value, change: impl FnOnce(Ask) -> Ask) -> Question {
        let form = Form::from_value(&form).unwrap();
        let elicitation = self.asker.ask(change(Ask::form(form))).await.unwrap();
        Question {
            link: self.pages.link(elicitation.id()),
            elicitation,
        }
    }

    /// Asks a form of these fields.
    pub(crate) async fn ask_fields(&self, fields: Value) -> Question {
        self.ask(form(fields)).await
    }
}

/// A form of these fields.
pub(crate) fn form(fields: Value) -> Value {
    json!({"id": "release", "title": "Release 1.4", "fields": fields})
}

/// A question, from the asker's side.
pub(crate) struct Question {
    pub(crate) elicitation: Elicitation,
    pub(crate) link: String,
}

impl Question {
    /// How it ended.
    pub(crate) async fn outcome(&self) -> Snapshot {
        let settled = tokio::time::timeout(PATIENCE, self.elicitation.outcome()).await;
        settled.expect("it settles").unwrap()
    }

    /// What was answered, for the asker.
    pub(crate) async fn result(&self) -> Value {
        let settled = self.outcome().await;
        settled
            .result()
            .unwrap_or_else(|| panic!("no result: {settled:?}"))
    }

    pub(crate) async fn is_live(&self) -> bool {
        self.elicitation.status().await.unwrap().outcome().is_none()
    }

    /// Waits until this draft is saved.
    pub(crate) async fn keeps(&self, field: &str, value: Value) {
        let kept = async {
            while self.draft().await.get(field) != Some(&value) {
                tokio::time::sleep(GLANCE).await;
            }
        };
        let kept = tokio::time::timeout(PATIENCE, kept).await;
        let draft = self.draft().await;
        assert!(kept.is_ok(), "{field} is not kept as {value}: {draft:?}");
    }

    async fn draft(&self) -> Map<String, Value> {
        self.elicitation.read_draft().await.unwrap()
    }
}
