//! A running `entreat serve` under attack.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::{Program, entreat, folder, now};
use crate::wire::{Reply, request};

/// The keys of two askers, for [`TWO_ASKERS`].
pub(crate) const ALICE: &str = "alice-alice-alice-alice";
pub(crate) const MALLORY: &str = "mallory-mallory-mallory";

/// A configuration with two askers who need their keys.
pub(crate) const TWO_ASKERS: &str = "local_without_key = false\n\
    [[asker]]\nname = 'alice'\nkey = 'alice-alice-alice-alice'\n\
    [[asker]]\nname = 'mallory'\nkey = 'mallory-mallory-mallory'\n";

/// How soon others must be served during or after an attack.
pub(crate) const SOON: Duration = Duration::from_secs(10);

/// A running service; killed when dropped.
pub(crate) struct Service {
    pub(crate) program: Program,
    pub(crate) address: String,
    /// Its folder, deleted at the end of the test.
    pub(crate) folder: TempDir,
}

/// A question that was asked.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) id: String,
    /// The path of its page.
    pub(crate) link: String,
}

/// The command that serves in a folder, on its own port, without rate limits.
pub(crate) fn serve(folder: &Path, args: &[&str]) -> Command {
    let words = [&["serve", "--listen", "127.0.0.1:0", "--log", "warn"], args].concat();
    let mut command = entreat(folder, &words);
    command
        .env("ENTREAT_LIMITS_CREATIONS_PER_MINUTE", "none")
        .env("ENTREAT_LIMITS_REQUESTS_PER_SECOND", "none");
    command
}

impl Service {
    /// Starts it with a memory store and settings named by their variables without `ENTREAT_`.
    pub(crate) fn start(settings: &[(&str, &str)]) -> Self {
        Self::configured("", settings)
    }

    /// Starts it with a configuration file.
    pub(crate) fn configured(config: &str, settings: &[(&str, &str)]) -> Self {
        let folder = folder();
        std::fs::write(folder.path().join("entreat.toml"), config).expect("it can be written");
        let mut command = serve(folder.path(), &["--store", "memory"]);
        for (name, value) in settings {
            command.env(format!("ENTREAT_{name}"), value);
        }
        Self::spawn(command, folder)
    }

    /// Stops it and waits until it ended; returns its folder.
    pub(crate) fn stop(self) -> TempDir {
        self.program.terminate();
        let Self {
            mut program,
            folder,
            ..
        } = self;
        assert!(program.ends_within(Duration::from_secs(15)).is_some());
        folder
    }

    pub(crate) fn spawn(command: Command, folder: TempDir) -> Self {
        let program = Program::spawn(command);
        let said = program.says("listening on http");
        let (_, address) = said.split_once("://").expect("it is a URL");
        let address = address.trim().to_owned();
        Self {
            program,
            address,
            folder,
        }
    }

    /// Calls a method without a key; returns the response.
    pub(crate) fn rpc(&self, method: &str, params: &Value) -> Reply {
        request("POST /rpc")
            .json(&message(method, params))
            .send(&self.address)
    }

    /// Calls a method with a key; returns the complete response.
    pub(crate) fn call_as(&self, key: &str, method: &str, params: &Value) -> Value {
        let key = format!("Bearer {key}");
        let request = request("POST /rpc").header("authorization", &key);
        request
            .json(&message(method, params))
            .send(&self.address)
            .json()
    }

    /// The result of a call without a key.
    pub(crate) fn call(&self, method: &str, params: &Value) -> Value {
        let reply = self.rpc(method, params);
        let answer = reply.json();
        assert!(answer.get("result").is_some(), "{method}: {}", reply.told());
        answer["result"].clone()
    }

    /// Asks a form with these fields.
    pub(crate) fn ask(&self, fields: &Value) -> Question {
        self.ask_with(
            &json!({"id": "form", "title": "Form", "fields": fields}),
            &json!({}),
        )
    }

    pub(crate) fn ask_with(&self, form: &Value, more: &Value) -> Question {
        let mut params = json!({"formDefinition": form});
        let more = more.as_object().cloned().unwrap_or_default();
        params
            .as_object_mut()
            .expect("it is an object")
            .extend(more);
        Question::read(&self.call("elicitation/create", &params))
    }

    pub(crate) fn status(&self, question: &Question) -> Value {
        self.call("elicitation/status", &json!({"elicitationId": question.id}))
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        request(&format!("GET {path}")).send(&self.address)
    }

    /// Fails unless others are served soon.
    pub(crate) fn serves_others(&self, after: &str) {
        let begun = now();
        let reply = request("GET /healthz").try_send(&self.address);
        let took = begun.elapsed();
        let is_well = reply.as_ref().is_some_and(|reply| reply.status == 200);
        assert!(
            is_well && took < SOON,
            "{after}: healthz after {took:?}: {reply:?}"
        );
    }
}

impl Question {
    /// Returns the result of `elicitation/create`.
    pub(crate) fn read(created: &Value) -> Self {
        let text = |key: &str| created[key].as_str().unwrap_or_default().to_owned();
        let page = text("page");
        let path = page.find("/e/").map(|at| page[at..].to_owned());
        Self {
            id: text("elicitationId"),
            link: path.unwrap_or_default(),
        }
    }
}

/// A call of the control API.
pub(crate) fn message(method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()
}

/// A form with one line of text.
pub(crate) fn text_field() -> Value {
    json!([{"id": "name", "type": "text", "label": "Name", "required": true}])
}
