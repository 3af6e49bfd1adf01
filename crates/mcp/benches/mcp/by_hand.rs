//! The same tool as a careful author writes it on rmcp: both lifecycles, a signed state, and the
//! answer checked against what the schema says.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use entreat_core::schema::{Era, project};
use rmcp::handler::server::tool::{InputResponses, RequestState};
use rmcp::model::{
    CallToolResponse, CallToolResult, ContentBlock, ElicitRequest, ElicitRequestParams,
    ElicitResult, ElicitationAction, ElicitationSchema, InputRequest, InputRequests,
    InputRequiredResult, ProtocolVersion, RequestStateCodec, SealOptions,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, tool, tool_handler, tool_router};
use serde::Deserialize;

use crate::MESSAGE;
use crate::with_ask::PERSON;

/// To the letter what `Ask` sends, so that the same goes over the wire.
static SCHEMA: LazyLock<ElicitationSchema> = LazyLock::new(|| {
    let form = project(&PERSON, Era::V2025_11_25);
    serde_json::from_value(form.requested_schema).unwrap()
});

/// What a state is bound to.
const TOOL: &[u8] = b"ask_form";
const LIFETIME: Duration = Duration::from_secs(600);

pub(crate) fn server() -> ByHand {
    let codec = RequestStateCodec::try_new(*b"a key of thirty-two bytes or more").unwrap();
    ByHand {
        codec: Arc::new(codec),
    }
}

#[derive(Clone)]
pub(crate) struct ByHand {
    codec: Arc<RequestStateCodec>,
}

/// The answer.
#[derive(Deserialize)]
struct Person {
    name: String,
    age: i64,
    mail: Option<String>,
    color: Option<Color>,
    tags: Option<Vec<Tag>>,
    #[serde(default)]
    ok: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Color {
    R,
    G,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Tag {
    A,
    B,
    C,
}

impl Person {
    fn is_valid(&self) -> bool {
        let _ = self.ok;
        let is_color = matches!(self.color, None | Some(Color::R | Color::G));
        let are_tags = self.tags.as_ref().is_none_or(|tags| {
            let known = tags
                .iter()
                .all(|tag| matches!(tag, Tag::A | Tag::B | Tag::C));
            known && (1..=2).contains(&tags.len())
        });
        let is_mail = |mail: &String| {
            let (user, host) = mail.split_once('@').unwrap_or_default();
            !user.is_empty() && host.contains('.')
        };
        (2..=20).contains(&self.name.chars().count())
            && (0..=150).contains(&self.age)
            && self.mail.as_ref().is_none_or(is_mail)
            && is_color
            && are_tags
    }
}

#[tool_router]
impl ByHand {
    #[tool(description = "Asks one form")]
    async fn ask_form(
        &self,
        RequestState(state): RequestState,
        InputResponses(responses): InputResponses,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let question = ElicitRequestParams::FormElicitationParams {
            meta: None,
            message: MESSAGE.to_owned(),
            requested_schema: SCHEMA.clone(),
        };
        let version = context.protocol_version();
        if version.is_none_or(|it| it < ProtocolVersion::V_2026_07_28) {
            let given = context.peer.create_elicitation(question).await;
            return said(given.map_err(|error| wrong(&error))?);
        }
        let Some(state) = state else {
            let question = InputRequest::Elicitation(ElicitRequest::new(question));
            let requests = InputRequests::from([("form".to_owned(), question)]);
            let options = SealOptions::new().associated_data(TOOL).ttl(LIFETIME);
            let state = self.codec.seal_with(b"asked", &options);
            return Ok(InputRequiredResult::new(Some(requests), Some(state)).into());
        };
        let opened = self.codec.open_with(&state, TOOL);
        opened.map_err(|error| wrong(&error))?;
        let given = responses.and_then(|mut it| it.remove("form"));
        let given: Result<ElicitResult, _> = serde_json::from_value(given.unwrap_or_default());
        said(given.map_err(|error| wrong(&error))?)
    }
}

fn said(given: ElicitResult) -> Result<CallToolResponse, ErrorData> {
    let text = match given.action {
        ElicitationAction::Accept => {
            let content = given.content.unwrap_or_default();
            let person: Person = serde_json::from_value(content).map_err(|error| wrong(&error))?;
            if !person.is_valid() {
                return Err(ErrorData::invalid_params("the answer is not valid", None));
            }
            format!("form:accept:{}", person.name)
        }
        ElicitationAction::Decline => "form:decline:".to_owned(),
        _ => "form:cancel:".to_owned(),
    };
    Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
}

fn wrong(error: &dyn std::error::Error) -> ErrorData {
    ErrorData::invalid_params(error.to_string(), None)
}

#[tool_handler]
impl ServerHandler for ByHand {}
