//! A wrapped server behaves like the server itself in everything that doesn't ask.

use std::path::PathBuf;
use std::process::Command;

use entreat_core::schema::Era;
use entreat_mcp::Ask;
use entreat_mcp::rmcp::model::{
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ResourceContents,
    ServerCapabilities, ServerConfig,
};
use entreat_mcp::rmcp::service::RequestContext;
use entreat_mcp::rmcp::{ErrorData, RoleServer, ServerHandler};
use entreat_testkit::mcp::{Client, Kind, accept};
use serde_json::{Value, json};

use crate::world::World;

struct Library;

impl ServerHandler for Library {
    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let ask = Ask::of(&context)?;
        let name = ask.text("name", "Who reads?").await?;
        let text = ResourceContents::text(format!("for {name}"), request.uri);
        Ok(ReadResourceResult::new(vec![text]).into())
    }

    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_resources().build())
    }
}

#[tokio::test]
async fn a_resource_asks_who_reads_it_in_every_era() {
    let world = World::new().await;
    for era in Era::ALL {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let server = world.mcp.wrap(Library);
        tokio::spawn(async move {
            if let Ok(running) = server.serve(theirs).await {
                let _ = running.waiting().await;
            }
        });
        let mut client = Client::connect(Kind::form(era), ours).await;
        let mut params = json!({"uri": "book://1"});
        let reply = loop {
            let id = client.send("resources/read", params.clone()).await;
            let answer = |_: &_| accept(json!({"text": "Ada"}));
            let reply = client.reply_to(id, answer).await;
            if reply.questions().is_empty() {
                break reply;
            }
            params["requestState"] = reply.state().into();
            params["inputResponses"] = json!({"name": accept(json!({"text": "Ada"}))});
        };
        assert_eq!(reply.result()["contents"][0]["text"], "for Ada", "{era}");
    }
}

/// rmcp's trait has defaults for everything, so the compiler would not notice a method that is
/// new there and missing here: its default would be called in place of the server's own.
#[test]
fn every_method_of_a_server_is_passed_on() {
    let rustc = Command::new("rustc").arg("-vV").output().unwrap();
    let rustc = String::from_utf8(rustc.stdout).unwrap();
    let host = rustc.lines().find_map(|line| line.strip_prefix("host: "));
    // All dependencies of this platform are there; those of others would have to be downloaded.
    let only = ["--offline", "--filter-platform", host.unwrap()];
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1"])
        .args(only)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&metadata.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let rmcp = packages.iter().find(|it| it["name"] == "rmcp").unwrap();
    let manifest = PathBuf::from(rmcp["manifest_path"].as_str().unwrap());
    let source = manifest.with_file_name("src/handler/server.rs");
    let source = std::fs::read_to_string(source).unwrap();
    let (_, methods) = source
        .split_once("macro_rules! server_handler_methods")
        .unwrap();
    let (methods, _) = methods.split_once("\n}\n").unwrap();
    let names = methods.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix("fn ")?;
        rest.split(['(', '<']).next()
    });
    let ours = include_str!("../../src/wrap.rs");
    let is_ours = |name: &str| {
        ours.contains(&format!("fn {name}(")) || ours.contains(&format!("        {name}("))
    };
    let names: Vec<_> = names.collect();
    assert!(names.len() >= 28, "{names:?}");
    let missing: Vec<_> = names.iter().filter(|name| !is_ours(name)).collect();
    assert!(missing.is_empty(), "not passed on: {missing:?}");
}
