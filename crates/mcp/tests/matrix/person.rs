//! The person behind the client, scripted by the cell.

use std::sync::Arc;

use entreat_mcp::wire::COMPLETE;
use rmcp::model::{
    CancelledNotificationParam, ClientConfig, CustomNotification, ElicitRequestParams,
    ElicitResult, ElicitationAction,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, ErrorData, RoleClient};
use serde_json::json;
use tokio::sync::{Notify, watch};

use crate::axes::Ending;
use crate::rule::Shown;
use crate::world::{READING, World};

/// What a client was shown.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) shown: Vec<Shown>,
    pub(crate) is_closed: bool,
    pub(crate) is_completed: bool,
}

#[derive(Clone)]
pub(crate) struct Person {
    pub(crate) config: ClientConfig,
    pub(crate) ending: Ending,
    pub(crate) world: World,
    pub(crate) log: watch::Sender<Log>,
    /// Releases a person who didn't answer in time.
    pub(crate) wakes: Arc<Notify>,
}

impl Person {
    /// Answers, when the client asks for it.
    async fn answer(&self, shown: Shown, url: Option<String>) -> ElicitResult {
        let accept = ElicitResult::new(ElicitationAction::Accept);
        let named = |name: &str| accept.clone().with_content(json!({"name": name}));
        match (self.ending, url) {
            (Ending::Decline, _) => ElicitResult::new(ElicitationAction::Decline),
            (Ending::Cancel, _) => ElicitResult::new(ElicitationAction::Cancel),
            (Ending::Timeout | Ending::Disconnect, url) => {
                self.wakes.notified().await;
                // Too late, but sent anyway.
                if url.is_none() { named("Ada") } else { accept }
            }
            (Ending::Accept | Ending::InvalidThenValid, Some(url)) => {
                let (world, ending) = (self.world.clone(), self.ending);
                tokio::spawn(async move { world.visit(&url, ending).await });
                accept
            }
            (Ending::InvalidThenValid, None) if shown == Shown::Form => named("A"),
            (Ending::Accept | Ending::InvalidThenValid, None) => named("Ada"),
        }
    }
}

impl ClientHandler for Person {
    fn get_info(&self) -> ClientConfig {
        self.config.clone()
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let (shown, url) = match request {
            ElicitRequestParams::FormElicitationParams { message, .. } => {
                let again = message.contains("Please correct");
                (if again { Shown::FormAgain } else { Shown::Form }, None)
            }
            ElicitRequestParams::UrlElicitationParams { url, .. } => (Shown::Url, Some(url)),
            other => panic!("no question: {other:?}"),
        };
        self.world.advance(READING).await;
        self.log.send_modify(|log| log.shown.push(shown));
        // Nobody answers a closed dialog.
        match context
            .ct
            .run_until_cancelled(self.answer(shown, url))
            .await
        {
            Some(answer) => Ok(answer),
            None => std::future::pending().await,
        }
    }

    async fn on_cancelled(
        &self,
        _params: CancelledNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.log.send_modify(|log| log.is_closed = true);
    }

    async fn on_custom_notification(
        &self,
        notification: CustomNotification,
        _context: NotificationContext<RoleClient>,
    ) {
        if notification.method == COMPLETE {
            self.log.send_modify(|log| log.is_completed = true);
        }
    }
}
