//! Pages on which people answer.
//!
//! Server-rendered HTML that works without JavaScript; the script only saves round trips. All rules
//! are in the core. The style sheet, script and icon are embedded in the binary, and nothing is
//! loaded from other origins.
//!
//! One file per page, with its template under `templates/`.

mod accent;
mod account;
mod action;
mod answer_text;
mod assets;
mod board;
mod calendar;
mod closing;
mod control;
mod draft;
mod field;
mod file_view;
mod files;
mod frame;
mod guard;
mod home;
mod inbox;
mod live;
mod moment;
mod posted;
mod prose;
mod question;
mod rendered;
mod review;
mod sanitize;
mod settings;
#[cfg(feature = "sign-in")]
mod sign_in;
mod small_form;
mod texts;
mod token;
mod visit;

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use axum::Router;
#[cfg(feature = "sign-in")]
use axum::middleware::from_fn_with_state;
use axum::middleware::map_response_with_state;
use axum::routing::{any, get, post};
use entreat_core::{Catalogue, ElicitationId};
use entreat_engine::{Engine, Entropy, InboxLink, SystemEntropy};
use parking_lot::Mutex;

pub(crate) use self::posted::FormReader;
pub use self::settings::{Brand, Color, InvalidColor, PageSettings};

use self::accent::Accent;
use self::rendered::RenderCache;
use self::token::{Target, TokenKeys};
use crate::askers::Askers;
use crate::guess_limiter::GuessLimiter;
use crate::identity::Identity;
#[cfg(feature = "sign-in")]
use crate::identity::oidc::SignIn;
use crate::local::is_loopback_url;
use crate::memory::MemoryQuota;
use crate::rpc::Links;
use crate::upload::Uploads;

/// Rate limit per address for requests with wrong links.
const GUESSES_PER_SECOND: NonZeroU32 = NonZeroU32::new(5).unwrap();
const GUESSES_AT_ONCE: NonZeroU32 = NonZeroU32::new(30).unwrap();

/// The pages for the questions of an engine. Clones share one state.
#[derive(Clone)]
pub struct Pages(Arc<Site>);

pub(crate) struct Site {
    engine: Engine,
    keys: TokenKeys,
    entropy: SystemEntropy,
    /// The public URL, without a trailing slash.
    url: String,
    /// The path of that URL, without a trailing slash; usually empty.
    root: String,
    /// Rejects everyone, because local users could not be told apart from users of a proxy.
    rejects_everyone: bool,
    #[cfg(feature = "sign-in")]
    sign_in: Option<SignIn>,
    settings: PageSettings,
    accents: HashMap<String, Accent>,
    uploads: Option<Uploads>,
    /// For forms being received, by question.
    memory: MemoryQuota,
    catalogue: Catalogue,
    render_cache: RenderCache,
    guess_limiter: GuessLimiter,
    /// Questions replaced by a new one, for live preview of a form.
    successors: Mutex<HashMap<ElicitationId, ElicitationId>>,
}

/// Maximum number of replaced questions to remember.
const SUCCESSORS: usize = 1024;

impl Pages {
    /// Creates pages that are reached under this URL.
    ///
    /// With [`Identity::Local`], a URL of another machine makes the pages reject everyone: it
    /// implies a proxy in front, which might let anyone through.
    ///
    /// Fails if the system has no randomness.
    pub fn new(engine: Engine, url: &str, settings: PageSettings) -> std::io::Result<Self> {
        let url = url.trim_end_matches('/');
        let path = url::Url::parse(url).map(|url| url.path().to_owned());
        let colors = settings.brands.iter().filter_map(|(name, brand)| {
            let accent = Accent::from(brand.color?);
            Some((name.clone(), accent))
        });
        Ok(Self(Arc::new(Site {
            keys: TokenKeys::new(&engine),
            entropy: SystemEntropy::new()?,
            rejects_everyone: !settings.identity.needs_respondent() && !is_loopback_url(url),
            url: url.to_owned(),
            root: path.unwrap_or_default().trim_end_matches('/').to_owned(),
            accents: colors.collect(),
            uploads: settings.uploads.clone(),
            memory: MemoryQuota::new(settings.body_memory, settings.body_memory / 4),
            #[cfg(feature = "sign-in")]
            sign_in: match &settings.identity {
                Identity::Oidc(oidc) => Some(SignIn::new((**oidc).clone(), engine.clone(), url)),
                Identity::Local
                | Identity::Header(_)
                | Identity::Host(_)
                | Identity::Assertion(_) => None,
            },
            settings,
            catalogue: Catalogue::default(),
            render_cache: RenderCache::default(),
            guess_limiter: GuessLimiter::new(GUESSES_PER_SECOND, GUESSES_AT_ONCE),
            successors: Mutex::default(),
            engine,
        })))
    }

    /// Returns the link to a question's page.
    pub fn link(&self, id: ElicitationId) -> String {
        let token = self.0.keys.link(Target::Question(id));
        format!("{}/e/{id}/{token}", self.0.url)
    }

    /// How people are identified.
    pub(crate) fn identity(&self) -> &Identity {
        &self.0.settings.identity
    }

    /// Where uploaded files are stored.
    pub fn uploads(&self) -> Option<&Uploads> {
        self.0.uploads.as_ref()
    }

    /// Returns the link to the inbox.
    pub fn inbox_link(&self) -> String {
        if self.0.settings.identity.needs_respondent() {
            return format!("{}/inbox", self.0.url);
        }
        let token = self.0.keys.link(Target::Inbox);
        format!("{}/inbox/{token}", self.0.url)
    }

    /// Redirects viewers of a settled question to another one, for example when a changed form is
    /// asked again.
    pub fn set_successor(&self, id: ElicitationId, successor: ElicitationId) {
        let mut successors = self.0.successors.lock();
        if successors.len() >= SUCCESSORS {
            successors.clear();
        }
        successors.insert(id, successor);
    }

    /// The routes. Operators' keys let people into the board.
    pub(crate) fn router(&self, askers: Arc<Askers>) -> Router {
        let site = &self.0;
        let questions = Router::new();
        #[cfg(feature = "sign-in")]
        let questions = questions.route("/{id}/{key}/again", get(sign_in::again));
        let questions = questions
            .route("/{id}/{key}", get(question::show).post(action::handle))
            .route("/{id}/{key}/review", get(review::show))
            .route("/{id}/{key}/state", get(live::state))
            .route("/{id}/{key}/draft", post(live::draft))
            .route("/{id}/{key}/files/{field}", post(files::upload))
            .route("/{id}/{key}/files/{field}/{location}", get(files::preview))
            .fallback(visit::not_found_fallback)
            .method_not_allowed_fallback(visit::method_not_allowed)
            .with_state(site.clone());
        let inbox = Router::new()
            .route("/", get(inbox::show))
            .route("/list", get(inbox::list))
            .route("/{key}", get(inbox::show))
            .route("/{key}/list", get(inbox::list))
            .fallback(visit::not_found_fallback)
            .method_not_allowed_fallback(visit::method_not_allowed)
            .with_state(site.clone());
        let router = Router::new()
            .route(
                "/",
                get(home::show)
                    .fallback(visit::method_not_allowed)
                    .with_state(site.clone()),
            )
            .nest("/e", questions)
            .nest("/inbox", inbox)
            .nest("/board", board::router(site, askers))
            .route(
                "/e/",
                any(visit::not_found_fallback).with_state(site.clone()),
            )
            .route(
                "/inbox/",
                any(visit::not_found_fallback).with_state(site.clone()),
            )
            .route(
                "/board/",
                any(visit::not_found_fallback).with_state(site.clone()),
            )
            .route(
                "/assets/{name}",
                get(assets::serve).with_state(site.clone()),
            );
        #[cfg(feature = "sign-in")]
        let router = self.with_sign_in(router);
        router.layer(map_response_with_state(
            site.clone(),
            guard::add_security_headers,
        ))
    }
}

#[cfg(feature = "sign-in")]
impl Pages {
    /// Adds what people need to sign in and out.
    fn with_sign_in(&self, router: Router) -> Router {
        let site = &self.0;
        if site.sign_in.is_none() {
            return router;
        }
        let sign_in = Router::new()
            .route("/sign-in/callback", get(sign_in::callback))
            .route(
                "/sign-in/back-channel-logout",
                post(sign_in::back_channel_logout),
            )
            .route("/sign-out", post(sign_in::sign_out))
            .route("/signed-out", get(sign_in::signed_out))
            .with_state(site.clone());
        router
            .merge(sign_in)
            .layer(from_fn_with_state(site.clone(), sign_in::intercept))
    }
}

impl Links for Pages {
    fn page(&self, id: ElicitationId) -> Option<String> {
        (!self.0.rejects_everyone).then(|| self.link(id))
    }

    fn inbox(&self) -> Option<InboxLink> {
        (!self.0.rejects_everyone).then(|| InboxLink {
            url: self.inbox_link(),
            is_secret: !self.0.settings.identity.needs_respondent(),
        })
    }

    fn needs_respondent(&self) -> bool {
        self.0.settings.identity.needs_respondent()
    }

    #[cfg(feature = "sign-in")]
    fn can_ask_to_sign_in(&self) -> bool {
        self.0.sign_in.is_some()
    }
}

impl Site {
    fn is_secure(&self) -> bool {
        self.url.starts_with("https://")
    }

    fn successor(&self, id: ElicitationId) -> Option<ElicitationId> {
        self.successors.lock().get(&id).copied()
    }

    fn new_browser(&self) -> token::Browser {
        token::Browser::new(&self.entropy as &dyn Entropy)
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
