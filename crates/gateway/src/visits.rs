//! Calls that fail with -32042 until URLs were visited, for clients that show no URLs.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde::Deserialize;
use tokio::sync::oneshot;

use crate::ask::{ask_on_page, consent};
use crate::call::Call;
use crate::observe::QuestionWatch;
use crate::page_asker::{PageDecision, PageQuestion, own_form};
use crate::recipient::Recipient;
use crate::reply::Reply;
use crate::session::Session;

/// How often a call is sent again.
const MAX_REPEATS: u32 = 3;
/// The maximum number of URLs of one call.
const MAX_URLS: usize = 10;

#[derive(Deserialize)]
struct RequiredError {
    data: Option<RequiredData>,
}

#[derive(Deserialize)]
struct RequiredData {
    #[serde(default)]
    elicitations: Vec<RequiredUrl>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RequiredUrl {
    pub(crate) elicitation_id: Option<String>,
    pub(crate) url: String,
    #[serde(default)]
    pub(crate) message: String,
}

/// The URLs that an error requires to be visited; none if they are too many to ask about.
pub(crate) fn required_urls(error: &str) -> Vec<RequiredUrl> {
    let required = serde_json::from_str::<RequiredError>(error).ok();
    let data = required.and_then(|error| error.data);
    let urls = data.map(|data| data.elicitations).unwrap_or_default();
    if urls.len() > MAX_URLS {
        return Vec::new();
    }
    urls
}

/// Leads the person to the URLs that a call requires. Returns what the client gets if the call is
/// not to be sent again.
pub(crate) async fn visit(session: &Arc<Session>, call: &Arc<Call>, error: &str) -> Option<Reply> {
    let original = || Some(Reply::Error(error.to_owned()));
    let urls = required_urls(error);
    let repeats = call.repeats.fetch_add(1, Ordering::Relaxed);
    if urls.is_empty() || repeats >= MAX_REPEATS {
        return original();
    }
    // Before anything is asked: a visit may be reported at any time.
    let urls: Vec<_> = urls
        .into_iter()
        .map(|url| {
            let visited = url.elicitation_id.as_deref().map(|id| session.visited(id));
            (url, visited)
        })
        .collect();
    let recipient = Recipient::of_call(session, call);
    if let Some(refusal) = recipient.admit() {
        return Some(refusal);
    }
    let _alive = recipient.keep_alive();
    for (url, visited) in urls {
        let watch = recipient.watch();
        let decided = consent(&recipient, &url.message, &url.url, &watch).await;
        watch.decided(decided.as_ref().ok());
        match decided {
            Ok(PageDecision::Answered(_)) => {}
            Ok(_) => return original(),
            Err(error) => return Some(Reply::failed(&error.to_string(), "not_shown")),
        }
        if !is_done(&recipient, &url, visited).await {
            return original();
        }
    }
    None
}

/// Opens a URL that has consent, and waits until it was visited: by the server's report, or because
/// the person says so.
async fn is_done(
    recipient: &Recipient,
    url: &RequiredUrl,
    visited: Option<oneshot::Receiver<()>>,
) -> bool {
    let address = if recipient.page_asker().browser.is_some() {
        format!("The address was opened: {}", url.url)
    } else {
        format!("Open this address: {}", url.url)
    };
    let Ok(form) = own_form("Continue when you are done", &address) else {
        return false;
    };
    // The question was counted when it had consent.
    let watch = QuestionWatch::new(None);
    let question = PageQuestion::of_server(recipient.server(), url.message.clone(), form);
    let page = ask_on_page(recipient, &url.message, question, &watch);
    let opened = async {
        // After our page, which stays behind it.
        tokio::task::yield_now().await;
        recipient.page_asker().open(&url.url);
        match visited {
            Some(visited) => {
                if visited.await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        decided = page => matches!(decided, Ok(PageDecision::Answered(_))),
        () = opened => true,
    }
}
