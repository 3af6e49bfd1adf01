//! Tools and prompts called by the official MCP conformance suite.

use entreat::mcp::{Ask, rmcp};
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{GetPromptResult, PromptMessage, Role};
use rmcp::schemars::{self, JsonSchema};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, prompt, prompt_router, tool, tool_router};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Everything;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct MessageArguments {
    /// What the person is told.
    message: String,
}

/// A flat schema whose properties are all required.
fn object(properties: &Value) -> Value {
    let required: Vec<_> = properties.as_object().into_iter().flatten().collect();
    let required: Vec<_> = required.iter().map(|(name, _)| name).collect();
    json!({"type": "object", "properties": properties, "required": required})
}

fn text_of(answer: &Value, name: &str) -> String {
    answer[name].as_str().unwrap_or_default().to_owned()
}

#[tool_router(router = conformance_tools, vis = "pub(crate)")]
impl Everything {
    #[tool(description = "Asks for a user name and a mail address")]
    async fn test_elicitation(
        &self,
        Parameters(MessageArguments { message }): Parameters<MessageArguments>,
        ask: Ask,
    ) -> Result<String, ErrorData> {
        let schema = object(&json!({
            "username": {"type": "string", "description": "User's response"},
            "email": {"type": "string", "description": "User's email address"},
        }));
        let outcome = ask.schema("user", &message, &schema).outcome().await?;
        let action = outcome.action();
        let content = outcome.answer().unwrap_or_default();
        Ok(format!("User response: action {action}, content {content}"))
    }

    #[tool(description = "Asks with a default for each type")]
    async fn test_elicitation_sep1034_defaults(&self, ask: Ask) -> Result<String, ErrorData> {
        let schema = json!({"type": "object", "properties": {
            "name": {"type": "string", "default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": {"type": "string", "enum": ["active", "inactive", "pending"],
                "default": "active"},
            "verified": {"type": "boolean", "default": true},
        }});
        let message = "Please check these values.";
        let answer = ask.schema("values", message, &schema).await?;
        Ok(format!("Elicitation completed: content {answer}"))
    }

    #[tool(description = "Asks with every kind of choice")]
    async fn test_elicitation_sep1330_enums(&self, ask: Ask) -> Result<String, ErrorData> {
        let titled = json!([
            {"const": "value1", "title": "First"}, {"const": "value2", "title": "Second"},
            {"const": "value3", "title": "Third"}]);
        let options = json!(["option1", "option2", "option3"]);
        let schema = json!({"type": "object", "properties": {
            "untitledSingle": {"type": "string", "enum": options},
            "titledSingle": {"type": "string", "oneOf": titled},
            "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"]},
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
            "titledMulti": {"type": "array", "items": {"anyOf": titled}},
        }});
        let answer = ask.schema("choices", "Please choose.", &schema).await?;
        Ok(format!("Elicitation completed: content {answer}"))
    }

    #[tool(description = "Asks for a name")]
    async fn test_input_required_result_elicitation(&self, ask: Ask) -> Result<String, ErrorData> {
        let schema = object(&json!({"name": {"type": "string"}}));
        let answer = ask
            .schema("user_name", "What is your name?", &schema)
            .await?;
        Ok(format!("Hello, {}!", text_of(&answer, "name")))
    }

    #[tool(description = "Asks the client's model")]
    async fn test_input_required_result_sampling(&self, ask: Ask) -> Result<String, ErrorData> {
        let params = question_to_model("What is the capital of France?", 100);
        let answer = ask.sample("capital_question", params).await?;
        Ok(text_of(&answer["content"], "text"))
    }

    #[tool(description = "Asks for the client's folders")]
    async fn test_input_required_result_list_roots(&self, ask: Ask) -> Result<String, ErrorData> {
        let answer = ask.roots("client_roots").await?;
        Ok(format!("Roots: {}", answer["roots"]))
    }

    #[tool(description = "Asks for a confirmation, and remembers it in the state")]
    async fn test_input_required_result_request_state(
        &self,
        ask: Ask,
    ) -> Result<String, ErrorData> {
        let schema = object(&json!({"ok": {"type": "boolean"}}));
        let answer = ask.schema("confirm", "Please confirm", &schema).await?;
        Ok(format!("state-ok: {}", answer["ok"]))
    }

    #[tool(description = "Asks the person, the model and the client at once")]
    async fn test_input_required_result_multiple_inputs(
        &self,
        ask: Ask,
    ) -> Result<String, ErrorData> {
        let schema = object(&json!({"name": {"type": "string"}}));
        let params = question_to_model("Generate a greeting", 50);
        let (name, greeting, roots) = tokio::try_join!(
            ask.schema("user_name", "What is your name?", &schema)
                .into_future(),
            ask.sample("greeting", params).into_future(),
            ask.roots("client_roots").into_future(),
        )?;
        let greeting = text_of(&greeting["content"], "text");
        let count = roots["roots"].as_array().map_or(0, Vec::len);
        Ok(format!(
            "{greeting} {} ({count} folders)",
            text_of(&name, "name")
        ))
    }

    #[tool(description = "Asks for a name, then for a colour")]
    async fn test_input_required_result_multi_round(&self, ask: Ask) -> Result<String, ErrorData> {
        let schema = object(&json!({"name": {"type": "string"}}));
        let name = ask.schema("step1", "What is your name?", &schema).await?;
        let schema = object(&json!({"color": {"type": "string"}}));
        let color = ask
            .schema("step2", "What is your favourite colour?", &schema)
            .await?;
        let (name, color) = (text_of(&name, "name"), text_of(&color, "color"));
        Ok(format!("{name} likes {color}"))
    }

    #[tool(description = "Asks for a confirmation; a state that was altered is refused")]
    async fn test_input_required_result_tampered_state(
        &self,
        ask: Ask,
    ) -> Result<String, ErrorData> {
        let schema = object(&json!({"ok": {"type": "boolean"}}));
        let answer = ask.schema("confirm", "Please confirm", &schema).await?;
        Ok(format!("confirmed: {}", answer["ok"]))
    }

    #[tool(description = "Asks by whatever the client can do")]
    async fn test_input_required_result_capabilities(&self, ask: Ask) -> Result<String, ErrorData> {
        if ask.capabilities().form {
            let schema = object(&json!({"name": {"type": "string"}}));
            let answer = ask
                .schema("user_name", "What is your name?", &schema)
                .await?;
            return Ok(text_of(&answer, "name"));
        }
        let params = question_to_model("Think of a name", 20);
        let answer = ask.sample("name", params).await?;
        Ok(text_of(&answer["content"], "text"))
    }

    #[tool(description = "Needs the client's model")]
    async fn test_missing_capability(&self, ask: Ask) -> Result<String, ErrorData> {
        let params = question_to_model("Say something", 20);
        let answer = ask.sample("anything", params).await?;
        Ok(text_of(&answer["content"], "text"))
    }

    #[tool(description = "Asks while its response may be streamed")]
    async fn test_streaming_elicitation(&self, ask: Ask) -> Result<String, ErrorData> {
        let schema = object(&json!({"name": {"type": "string"}}));
        let answer = ask
            .schema("user_name", "What is your name?", &schema)
            .await?;
        Ok(format!("Hello, {}!", text_of(&answer, "name")))
    }

    #[tool(description = "Says nothing that was not asked for")]
    async fn test_logging_tool(&self) -> String {
        "done, without a word".to_owned()
    }
}

#[prompt_router(router = "conformance_prompts", vis = "pub(crate)")]
impl Everything {
    #[prompt(description = "A prompt about what the person names")]
    async fn test_input_required_result_prompt(
        &self,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResult, ErrorData> {
        let ask = Ask::of(&context)?;
        let schema = object(&json!({"context": {"type": "string"}}));
        let message = "What context should the prompt use?";
        let answer = ask.schema("user_context", message, &schema).await?;
        let text = format!("Use this context: {}", text_of(&answer, "context"));
        Ok(GetPromptResult::new(vec![PromptMessage::new_text(
            Role::User,
            text,
        )]))
    }
}

/// The parameters of a sampling request.
fn question_to_model(text: &str, most: u32) -> Value {
    let content = json!({"type": "text", "text": text});
    json!({"messages": [{"role": "user", "content": content}], "maxTokens": most})
}
