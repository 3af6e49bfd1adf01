//! Tools that ask a person.

use std::sync::LazyLock;
use std::sync::atomic::Ordering;

use entreat::Form;
use entreat::core::Upload;
use entreat::core::document::Notation;
use entreat::mcp::{Ask, Outcome, rmcp};
use rmcp::handler::server::wrapper::Parameters;
use rmcp::schemars::{self, JsonSchema};
use rmcp::{ErrorData, tool, tool_router};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::Everything;

/// Who are you?
static PERSON: LazyLock<Form> = LazyLock::new(|| {
    let text = include_str!("person.yaml");
    Form::from_text(text, Notation::Yaml).expect("person.yaml is a valid form")
});

/// A name.
#[derive(Form)]
struct Name {
    #[form(min_length = 1)]
    name: String,
}

/// A colour.
#[derive(Form)]
struct Color {
    #[form(min_length = 1)]
    color: String,
}

/// A secret.
#[derive(Form)]
struct Secret {
    #[form(sensitive, label = "API key")]
    key: String,
}

/// A document.
#[derive(Form)]
struct Document {
    #[form(max_size = 1_048_576)]
    document: Upload<'static>,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct UrlArguments {
    /// Where the person is sent.
    url: String,
}

#[tool_router(router = asking_tools, vis = "pub(crate)")]
impl Everything {
    #[tool(description = "Asks a form of every type, and tells what was answered")]
    async fn ask_form(&self, ask: Ask) -> Result<String, ErrorData> {
        let outcome = ask
            .form_of("person", "Who are you?", &PERSON)
            .outcome()
            .await?;
        let action = outcome.action();
        let content = match outcome {
            Outcome::Answered(answers) => answers.reveal().to_json(),
            _ => Map::new(),
        };
        Ok(format!("form:{action}:{}", sorted(content)))
    }

    #[tool(description = "Asks for a name, then for a colour")]
    async fn ask_two(&self, ask: Ask) -> Result<String, ErrorData> {
        let Name { name } = ask.form("name", "What is your name?").await?;
        let Color { color } = ask.form("color", "What is your favourite colour?").await?;
        Ok(format!("two:{name}:{color}"))
    }

    #[tool(description = "Sends the person to a URL")]
    async fn ask_url(
        &self,
        Parameters(UrlArguments { url }): Parameters<UrlArguments>,
        ask: Ask,
    ) -> Result<String, ErrorData> {
        let outcome = ask.url("visit", "Please visit this page.", &url).outcome();
        Ok(format!("url:{}", outcome.await?.action()))
    }

    #[tool(description = "Asks on a page, by an error where the client knows such errors")]
    async fn url_error(&self, ask: Ask) -> Result<String, ErrorData> {
        let question = ask.form::<Secret>("key", "Please enter your API key.");
        let Secret { key } = question.by_error().await?;
        Ok(format!("url_error:{}", key.chars().count()))
    }

    #[tool(description = "Collects a secret on a page, and tells its length")]
    async fn ask_secret(&self, ask: Ask) -> Result<String, ErrorData> {
        let question = ask.form::<Secret>("key", "Please enter your API key.");
        let Secret { key } = question.await?;
        Ok(format!("secret:{}", key.chars().count()))
    }

    #[tool(description = "Collects a file on a page, and tells its name and size")]
    async fn ask_file(&self, ask: Ask) -> Result<String, ErrorData> {
        let question = ask.form::<Document>("document", "Please send a document.");
        let Document { document } = question.await?;
        Ok(format!("file:{}:{}", document.filename(), document.size()))
    }

    #[tool(description = "Runs an effect once, asks, and tells how often the effect ran")]
    async fn ask_once(&self, ask: Ask) -> Result<String, ErrorData> {
        let charged = ask.once("charge", async || {
            Ok::<_, ErrorData>(self.charges.fetch_add(1, Ordering::SeqCst) + 1)
        });
        let charged = charged.await?;
        ask.confirm("go", "Shall we go on?").await?;
        Ok(format!("once:{charged}"))
    }
}

/// JSON text with sorted members.
pub(crate) fn sorted(content: Map<String, Value>) -> String {
    let mut members: Vec<_> = content.into_iter().collect();
    members.sort_by(|(one, _), (other, _)| one.cmp(other));
    Value::Object(members.into_iter().collect()).to_string()
}
