//! Pages on which people answer.
//!
//! HTML that the server makes, whole without a script; the script only spares round trips. Every
//! rule is the core's: the page asks, and shows what it hears. Nothing comes from elsewhere: the
//! style, the script and the icon are in the binary.
//!
//! One file for each page, its template under `templates/`.

mod accent;
mod act;
mod assets;
mod calendar;
mod closing;
mod control;
mod drawn;
mod field;
mod file_view;
mod files;
mod frame;
mod guard;
mod inbox;
mod keep;
mod key;
mod live;
mod posted;
mod question;
mod review;
mod said;
mod settings;
mod shown;
mod visit;
mod words;

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use axum::Router;
use axum::middleware::map_response_with_state;
use axum::routing::{any, get, post};
use entreat_core::{Catalogue, ElicitationId};
use entreat_engine::{Engine, Entropy, SystemEntropy};
use parking_lot::Mutex;

pub(crate) use self::posted::Reading;
pub use self::settings::{Brand, Color, NoColor, PageSettings};

use self::accent::Accent;
use self::drawn::Drawings;
use self::key::{Door, Keys};
use crate::guesses::Guesses;
use crate::identity::Identity;
use crate::local::is_of_this_machine;
use crate::memory::Memory;
use crate::rpc::Links;
use crate::upload::Uploads;

/// So many links that open nothing are answered for one address; then guesses cost it time.
const GUESSES_PER_SECOND: NonZeroU32 = NonZeroU32::new(5).unwrap();
const GUESSES_AT_ONCE: NonZeroU32 = NonZeroU32::new(30).unwrap();

/// Pages for the questions of an engine. Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct Pages(Arc<Site>);

pub(crate) struct Site {
    engine: Engine,
    keys: Keys,
    entropy: SystemEntropy,
    /// Where the service is reached, without a slash at the end.
    url: String,
    /// The path of that, without a slash at the end: mostly empty.
    root: String,
    /// Nobody could be told from those whom a proxy lets through, so that nobody is let in.
    is_for_nobody: bool,
    settings: PageSettings,
    accents: HashMap<String, Accent>,
    uploads: Option<Uploads>,
    /// For forms that are being received, by question.
    memory: Memory,
    catalogue: Catalogue,
    drawings: Drawings,
    guesses: Guesses,
    /// Questions that were put anew, and as what: for whoever works on a form.
    successors: Mutex<HashMap<ElicitationId, ElicitationId>>,
}

/// How many questions that were put anew are remembered: those of a long afternoon.
const SUCCESSORS: usize = 1024;

impl Pages {
    /// Pages that are reached under this URL.
    ///
    /// Where people are known by being at this machine, a URL of another leaves nobody who may
    /// open one: a proxy would have to be in front, and might let anybody through.
    ///
    /// Fails if the system gives no randomness.
    pub fn new(engine: Engine, url: &str, settings: PageSettings) -> std::io::Result<Self> {
        let url = url.trim_end_matches('/');
        let path = url::Url::parse(url).map(|url| url.path().to_owned());
        let colors = settings.brands.iter().filter_map(|(name, brand)| {
            let accent = Accent::from(brand.color?);
            Some((name.clone(), accent))
        });
        Ok(Self(Arc::new(Site {
            keys: Keys::new(&engine),
            entropy: SystemEntropy::new()?,
            is_for_nobody: !settings.identity.needs_respondent() && !is_of_this_machine(url),
            url: url.to_owned(),
            root: path.unwrap_or_default().trim_end_matches('/').to_owned(),
            accents: colors.collect(),
            uploads: settings.uploads.clone(),
            memory: Memory::new(settings.body_memory, settings.body_memory / 4),
            settings,
            catalogue: Catalogue::default(),
            drawings: Drawings::default(),
            guesses: Guesses::new(GUESSES_PER_SECOND, GUESSES_AT_ONCE),
            successors: Mutex::default(),
            engine,
        })))
    }

    /// The link to a question's page.
    pub fn link(&self, id: ElicitationId) -> String {
        let token = self.0.keys.link(Door::Question(id));
        format!("{}/e/{id}/{token}", self.0.url)
    }

    /// How people are told apart.
    pub(crate) fn identity(&self) -> &Identity {
        &self.0.settings.identity
    }

    /// Where files are kept that people send.
    pub(crate) fn uploads(&self) -> Option<&Uploads> {
        self.0.uploads.as_ref()
    }

    /// The link to the inbox.
    pub fn inbox_link(&self) -> String {
        if self.0.settings.identity.needs_respondent() {
            return format!("{}/inbox", self.0.url);
        }
        let token = self.0.keys.link(Door::Inbox);
        format!("{}/inbox/{token}", self.0.url)
    }

    /// Sends whoever looks at one question to another, once the first is over: a form that was
    /// changed is asked anew.
    pub fn succeed(&self, id: ElicitationId, successor: ElicitationId) {
        let mut successors = self.0.successors.lock();
        if successors.len() >= SUCCESSORS {
            successors.clear();
        }
        successors.insert(id, successor);
    }

    pub(crate) fn router(&self) -> Router {
        let site = &self.0;
        let questions = Router::new()
            .route("/{id}/{key}", get(question::show).post(act::act))
            .route("/{id}/{key}/review", get(review::show))
            .route("/{id}/{key}/state", get(live::state))
            .route("/{id}/{key}/draft", post(live::draft))
            .route("/{id}/{key}/files/{field}", post(files::upload))
            .route("/{id}/{key}/files/{field}/{location}", get(files::preview))
            .fallback(visit::nothing_here)
            .method_not_allowed_fallback(visit::not_so)
            .with_state(site.clone());
        let inbox = Router::new()
            .route("/", get(inbox::show))
            .route("/list", get(inbox::list))
            .route("/{key}", get(inbox::show))
            .route("/{key}/list", get(inbox::list))
            .fallback(visit::nothing_here)
            .method_not_allowed_fallback(visit::not_so)
            .with_state(site.clone());
        Router::new()
            .nest("/e", questions)
            .nest("/inbox", inbox)
            .route("/e/", any(visit::nothing_here).with_state(site.clone()))
            .route("/inbox/", any(visit::nothing_here).with_state(site.clone()))
            .route(
                "/assets/{name}",
                get(assets::serve).with_state(site.clone()),
            )
            .layer(map_response_with_state(site.clone(), guard::protect))
    }
}

impl Links for Pages {
    fn page(&self, id: ElicitationId) -> Option<String> {
        (!self.0.is_for_nobody).then(|| self.link(id))
    }

    fn needs_respondent(&self) -> bool {
        self.0.settings.identity.needs_respondent()
    }
}

impl Site {
    fn is_secure(&self) -> bool {
        self.url.starts_with("https://")
    }

    fn successor(&self, id: ElicitationId) -> Option<ElicitationId> {
        self.successors.lock().get(&id).copied()
    }

    fn random(&self) -> key::Browser {
        key::Browser::new(&self.entropy as &dyn Entropy)
    }
}

impl std::fmt::Debug for Pages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pages")
            .field("url", &self.0.url)
            .field("settings", &self.0.settings)
            .finish_non_exhaustive()
    }
}
