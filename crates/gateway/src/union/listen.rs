//! Streams of notifications that a client of 2026-07-28 listens on: one for the client, and one to
//! each upstream behind it.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Weak};
use std::time::Duration;

use entreat_wire::backoff::Backoff;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use tokio::sync::watch;

use super::member::ConnectedMember;
use super::member_sender::{MemberContext, MemberSender};
use super::open::OpenRequest;
use super::{LISTS, Union};
use crate::cancellation::Cancellation;
use crate::client::ClientSender;
use crate::envelope::{self, RawId};
use crate::json::RawObject;
use crate::meta::SUBSCRIPTION_ID;
use crate::reply::Reply;

/// How many notifications wait until the stream is acknowledged, and how many bytes they have.
const MAX_WAITING: usize = 256;
const MAX_WAITING_BYTES: usize = 256 << 10;
/// The pauses before a stream to an upstream that has ended is opened again.
const PAUSES: Backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(30));

/// A stream of notifications.
pub(super) struct Listen {
    /// Its id at the client.
    pub(super) id: RawId,
    pub(super) client: ClientSender,
    union: Weak<Union>,
    /// The parameters of the client's request.
    params: String,
    state: Mutex<State>,
    /// How many upstreams have not acknowledged yet.
    missing: watch::Sender<usize>,
}

#[derive(Default)]
struct State {
    is_acknowledged: bool,
    /// What came before the acknowledgement.
    waiting: Vec<Vec<u8>>,
    waiting_bytes: usize,
    /// The resources that are watched.
    uris: BTreeSet<String>,
    pauses: HashMap<usize, Backoff>,
    is_over: bool,
}

impl Listen {
    fn filter(&self) -> Value {
        let mut params: Value = serde_json::from_str(&self.params).unwrap_or_default();
        params["notifications"].take()
    }

    fn wants(&self, list: &str) -> bool {
        self.filter()[format!("{list}ListChanged")] == true
    }

    /// Takes the resources that one upstream will report, and that it has acknowledged.
    pub(super) fn acknowledge(&self, uris: Vec<String>) {
        self.state.lock().uris.extend(uris);
        self.missing
            .send_modify(|missing| *missing = missing.saturating_sub(1));
    }

    /// Sends a notification to the client, once the stream is acknowledged.
    pub(super) fn deliver(&self, message: Vec<u8>) {
        let mut state = self.state.lock();
        if state.is_acknowledged {
            // Within the lock, so that none overtakes another.
            self.client.push(message);
        } else if state.waiting.len() < MAX_WAITING
            && state.waiting_bytes + message.len() <= MAX_WAITING_BYTES
        {
            state.waiting_bytes += message.len();
            state.waiting.push(message);
        }
    }

    /// Tells the client what it will hear of.
    fn confirm(&self) {
        let mut state = self.state.lock();
        let mut filter = Map::new();
        for list in LISTS {
            if self.wants(list) {
                filter.insert(format!("{list}ListChanged"), true.into());
            }
        }
        if !state.uris.is_empty() {
            filter.insert("resourceSubscriptions".to_owned(), json!(state.uris));
        }
        self.client.push(self.message(
            "notifications/subscriptions/acknowledged",
            &json!({"notifications": filter}).to_string(),
        ));
        state.is_acknowledged = true;
        for message in std::mem::take(&mut state.waiting) {
            self.client.push(message);
        }
    }

    fn message(&self, method: &str, params: &str) -> Vec<u8> {
        envelope::notification(method, &self.stamped(params))
    }

    /// Parameters of a notification of this stream.
    pub(super) fn stamped(&self, params: &str) -> String {
        let mut params = RawObject::parse(params).unwrap_or_default();
        let old = params.object("_meta").map(RawObject::into_owned);
        let mut meta = old.unwrap_or_default();
        meta.set(SUBSCRIPTION_ID, self.id.as_str().to_owned());
        params.set("_meta", meta.to_string());
        params.to_string()
    }

    /// One upstream's part of the stream has ended: it is opened again after a while.
    pub(super) fn ended(self: &Arc<Self>, context: &MemberContext) {
        self.acknowledge(Vec::new());
        let index = context.index;
        let pause = {
            let mut state = self.state.lock();
            state.pauses.entry(index).or_insert(PAUSES).next_pause()
        };
        let Some(union) = self.union.upgrade() else {
            return;
        };
        let session = context.session.get().cloned().unwrap_or_default();
        let listen = self.clone();
        let again = union.clone();
        union.spawn(async move {
            again.sleep(pause).await;
            // After a restart, its keeper has opened the stream again.
            let Some(up) = again.up(index).filter(|up| {
                let up = Arc::as_ptr(&up.session);
                std::ptr::eq(up, session.as_ptr())
            }) else {
                return;
            };
            let is_it = |other: &Weak<Self>| std::ptr::eq(other.as_ptr(), Arc::as_ptr(&listen));
            up.listens.lock().retain(|(_, other)| !is_it(other));
            if again.extend(&up, &listen).await {
                // Something may have changed meanwhile.
                again.announce(&up);
            }
        });
    }
}

impl Union {
    /// Opens a stream for the client.
    pub(super) fn listen(
        self: &Arc<Self>,
        open: OpenRequest,
        id: &RawId,
        params: &str,
        client: &ClientSender,
    ) {
        let listen = Arc::new(Listen {
            id: id.clone(),
            client: client.clone(),
            union: Arc::downgrade(self),
            params: params.to_owned(),
            state: Mutex::default(),
            missing: watch::Sender::new(0),
        });
        let abandoned = client.abandoned();
        let union = self.clone();
        self.tasks.spawn(async move {
            let work = async {
                union.settled().await;
                // First, so that upstreams which come up meanwhile find it.
                union.listens.lock().push(listen.clone());
                let ups = union.all_up();
                let mut missing = listen.missing.subscribe();
                for up in &ups {
                    union.extend(up, &listen).await;
                }
                tokio::select! {
                    biased;
                    _ = missing.wait_for(|missing| *missing == 0) => {}
                    () = union.sleep(union.gateway.settings.stragglers) => {}
                }
                listen.confirm();
                std::future::pending::<()>().await;
            };
            tokio::select! {
                biased;
                () = open.cancelled.cancelled() => listen.client.forgo(),
                () = super::until(abandoned) => {}
                () = union.stop.cancelled() => {
                    let ended = Reply::session_ended();
                    listen.client.reply(&listen.id, &ended);
                }
                () = work => {}
            }
            listen.state.lock().is_over = true;
            union
                .listens
                .lock()
                .retain(|other| !Arc::ptr_eq(other, &listen));
            union.forget(&listen).await;
        });
    }

    /// Opens one upstream's part of a stream. Returns whether it has one.
    pub(super) async fn extend(&self, up: &ConnectedMember, listen: &Arc<Listen>) -> bool {
        if listen.state.lock().is_over {
            return false;
        }
        let mut filter = Map::new();
        for list in LISTS {
            if listen.wants(list) && up.description.has(list) {
                filter.insert(format!("{list}ListChanged"), true.into());
            }
        }
        let wanted = listen.filter();
        let uris = wanted["resourceSubscriptions"].as_array();
        let uris = uris.into_iter().flatten().filter_map(Value::as_str);
        let own = uris.filter_map(|uri| {
            let (index, uri) = self.labels.owner(uri)?;
            (index == up.context.index).then_some(uri)
        });
        let own: Vec<String> = own.collect();
        if !own.is_empty() {
            filter.insert("resourceSubscriptions".to_owned(), json!(own));
        }
        if filter.is_empty() {
            return false;
        }
        let mut params = RawObject::parse(&listen.params).unwrap_or_default();
        params.set_value("notifications", &filter.into());
        let id = self.new_id();
        {
            let mut listens = up.listens.lock();
            let is_it = |other: &Weak<Listen>| std::ptr::eq(other.as_ptr(), Arc::as_ptr(listen));
            if listens.iter().any(|(_, other)| is_it(other)) {
                return false;
            }
            listens.push((id.clone(), Arc::downgrade(listen)));
        }
        listen.missing.send_modify(|missing| *missing += 1);
        let sender = MemberSender::listening(up.context.clone(), listen.clone());
        let request = envelope::request(&id, "subscriptions/listen", &params.to_string());
        up.session
            .from_client(request.into(), &ClientSender::Member(sender))
            .await;
        true
    }

    /// Ends all parts of a stream.
    async fn forget(&self, listen: &Arc<Listen>) {
        for up in self.all_up() {
            let mut ids = Vec::new();
            up.listens.lock().retain(|(id, other)| {
                let is_it = std::ptr::eq(other.as_ptr(), Arc::as_ptr(listen));
                if is_it {
                    ids.push(id.clone());
                }
                !is_it && other.strong_count() > 0
            });
            for id in ids {
                up.cancel(&Cancellation::of(&id)).await;
            }
        }
    }

    /// Tells the client that the lists of an upstream may have changed.
    pub(super) fn announce(&self, up: &ConnectedMember) {
        for list in LISTS.into_iter().filter(|list| up.description.has(list)) {
            let method = format!("notifications/{list}/list_changed");
            if self.is_modern() {
                for listen in self.listens.lock().iter().filter(|it| it.wants(list)) {
                    listen.deliver(listen.message(&method, "{}"));
                }
            } else {
                self.client.push(envelope::notification(&method, "{}"));
            }
        }
    }
}
