//! The tool with `Ask`.

use std::sync::LazyLock;
use std::time::Duration;

use entreat_core::Form;
use entreat_core::document::Notation;
use entreat_engine::{Engine, EngineSettings, Limits};
use entreat_mcp::{Ask, Mcp, Outcome, Wrapped};
use rmcp::{ErrorData, ServerHandler, tool, tool_handler, tool_router};

use crate::MESSAGE;

pub(crate) static PERSON: LazyLock<Form> = LazyLock::new(|| {
    let text = include_str!("../../../entreat/examples/everything/person.yaml");
    Form::from_text(text, Notation::Yaml).unwrap()
});

pub(crate) async fn server() -> Wrapped<WithAsk> {
    let mut settings = EngineSettings {
        retention: Duration::from_secs(2),
        ..EngineSettings::default()
    };
    settings.asker.limits = Limits::none();
    let engine = Engine::builder().settings(settings).start().await.unwrap();
    Mcp::builder(engine.asker("bench")).build().wrap(WithAsk)
}

pub(crate) struct WithAsk;

#[tool_router]
impl WithAsk {
    #[tool(description = "Asks one form")]
    async fn ask_form(&self, ask: Ask) -> Result<String, ErrorData> {
        let outcome = ask.form_of("form", MESSAGE, &PERSON).outcome().await?;
        let action = outcome.action();
        let name = match &outcome {
            Outcome::Answered(answers) => answers.get("name").and_then(|name| name.as_str()),
            _ => None,
        };
        Ok(format!("form:{action}:{}", name.unwrap_or_default()))
    }
}

#[tool_handler]
impl ServerHandler for WithAsk {}
