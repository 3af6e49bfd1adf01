//! Messages of the control API, one a line, to a service of their own and without a transport.
//!
//! `$0` in a message stands for the id of the first question that was asked, `$1` for that of the
//! second, and so on, so that what is asked can also be answered. Not a part of the library: the
//! tests of the service include this file, and the library is the test kit's.

use std::pin::{Pin, pin};
use std::time::Duration;

use entreat_core::UnixTime;
use entreat_engine::{
    CallbackDelivery, CallbackSender, DeliveryResult, Engine, EngineSettings, Limits,
};
use entreat_service::rpc::{Code, ResponseFuture, Rpc, RpcResponse, Session, Templates};
use entreat_testkit::{ScriptedResolver, SeededEntropy, VirtualClock, samples};
use serde_json::Value;

/// So many messages of an input are answered.
const MESSAGES: usize = 32;
/// What is not answered after so many turns of the runtime waits for time to pass.
const TURNS: usize = 64;
/// No question waits for longer, extensions included.
const AGES: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Answers the messages; panics if an answer is not what JSON-RPC and the reference say.
pub(crate) fn run(data: &[u8]) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    runtime.expect("a runtime starts").block_on(async {
        let world = World::new().await;
        let mut ids = Vec::new();
        for message in data.split(|byte| *byte == b'\n').take(MESSAGES) {
            let message = filled_in(message, &ids);
            let answered = world.answer(&message).await;
            check(&answered, &mut ids);
        }
        world.engine.shutdown().await;
    });
}

struct World {
    clock: VirtualClock,
    engine: Engine,
    rpc: Rpc,
    session: Session,
}

impl World {
    async fn new() -> Self {
        let mut settings = EngineSettings::default();
        settings.asker.limits = Limits::none();
        let clock = VirtualClock::new(UnixTime::from_millis(1_706_889_000_000));
        let resolver = ScriptedResolver::new().answers("example.com", &["93.184.215.14"]);
        let engine = Engine::builder()
            .clock(clock.clone())
            .entropy(SeededEntropy::new(7))
            .resolver(resolver)
            .callback_sender(Nobody)
            .settings(settings)
            .start()
            .await
            .expect("a store in memory opens");
        let templates = Templates::default();
        templates.replace([("minimal".to_owned(), Ok(samples::minimal()))]);
        Self {
            clock,
            rpc: Rpc::new(engine.clone()).with_templates(templates),
            session: Session::connected(engine.asker("fuzz")),
            engine,
        }
    }

    /// The answer, for which time passes if somebody waits.
    async fn answer(&self, message: &[u8]) -> RpcResponse {
        let mut answering = pin!(self.rpc.answer(&self.session, message));
        for _ in 0..2 {
            if let Some(answered) = turns(answering.as_mut()).await {
                return answered;
            }
            self.clock.advance(AGES);
            let caught_up = self.engine.catch_up().await;
            caught_up.expect("a store in memory answers");
        }
        let answered = turns(answering).await;
        answered.unwrap_or_else(|| panic!("not answered: {:?}", String::from_utf8_lossy(message)))
    }
}

async fn turns(mut answering: Pin<&mut ResponseFuture>) -> Option<RpcResponse> {
    for _ in 0..TURNS {
        tokio::select! {
            biased;
            answered = answering.as_mut() => return Some(answered),
            () = tokio::task::yield_now() => {}
        }
    }
    None
}

fn filled_in(message: &[u8], ids: &[String]) -> Vec<u8> {
    let mut filled = Vec::with_capacity(message.len());
    let mut rest = message;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        let id = after.first().filter(|_| *byte == b'$').and_then(|digit| {
            let number = digit.is_ascii_digit().then(|| usize::from(digit - b'0'));
            ids.get(number?)
        });
        match id {
            Some(id) => {
                filled.extend_from_slice(id.as_bytes());
                rest = &after[1..];
            }
            None => filled.push(*byte),
        }
    }
    filled
}

fn check(answered: &RpcResponse, ids: &mut Vec<String>) {
    let Some(body) = &answered.body else {
        assert!(answered.is_well_formed, "what is not understood is told");
        return;
    };
    let body: Value = serde_json::from_str(body).expect("answers are JSON");
    let all = match &body {
        Value::Array(all) => all.as_slice(),
        one => std::slice::from_ref(one),
    };
    assert!(!all.is_empty(), "an empty batch is no answer");
    for answer in all {
        assert_eq!(answer["jsonrpc"], "2.0", "{answer}");
        assert!(answer.get("id").is_some(), "{answer}");
        match (answer.get("result"), answer.get("error")) {
            (Some(result), None) => {
                assert!(answered.is_well_formed, "{answer}");
                let id = result["elicitationId"].as_str();
                let id = id.filter(|id| !ids.iter().any(|known| known == id));
                ids.extend(id.map(str::to_owned));
            }
            (None, Some(error)) => {
                let code = error["code"].as_i64();
                let is_known = |known: &&Code| Some(i64::from(known.as_i32())) == code;
                let code = Code::ALL.iter().find(is_known);
                let code = *code.unwrap_or_else(|| panic!("an unknown code: {answer}"));
                assert_ne!(code, Code::Internal, "{answer}");
                let is_no_call = matches!(code, Code::ParseError | Code::InvalidRequest);
                assert!(answered.is_well_formed || is_no_call, "{answer}");
                assert!(error["data"]["type"].is_string(), "{answer}");
            }
            (Some(_), Some(_)) | (None, None) => panic!("neither or both: {answer}"),
        }
    }
}

/// Takes what it is given, and delivers it nowhere.
struct Nobody;

impl CallbackSender for Nobody {
    fn deliver(&self, _: CallbackDelivery) -> Pin<Box<dyn Future<Output = DeliveryResult> + Send>> {
        Box::pin(std::future::ready(DeliveryResult::Delivered))
    }
}
