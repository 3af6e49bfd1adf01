//! Chromium through `chromedriver`, and a person's actions in it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use fantoccini::actions::{InputSource as _, KeyAction, KeyActions};
use fantoccini::elements::Element;
use fantoccini::error::CmdError;
use fantoccini::wd::{Capabilities, WebDriverCompatibleCommand};
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};

use crate::site::Question;
use crate::{GLANCE, PATIENCE, Script};

/// How often a driver whose port was taken is restarted.
const STARTS: u32 = 10;

/// A running `chromedriver` on its own port.
struct Driver {
    child: Child,
    port: u16,
}

impl Driver {
    /// It chooses a port before it binds it, so another process may be faster; it then exits and is
    /// restarted.
    fn start() -> Self {
        let started = (0..STARTS).find_map(|_| Self::try_start());
        started.expect("chromedriver says its port")
    }

    fn try_start() -> Option<Self> {
        let child = Command::new("chromedriver")
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut child) = child else {
            panic!("chromedriver is missing: `cargo xtask test` installs it");
        };
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let port = lines.by_ref().map_while(Result::ok).find_map(|line| {
            let (_, port) = line.split_once("successfully on port ")?;
            port.trim_end_matches('.').parse().ok()
        });
        let Some(port) = port else {
            child.wait().unwrap();
            return None;
        };
        // Drains the pipe, so that it never blocks.
        std::thread::spawn(move || lines.for_each(drop));
        Some(Self { child, port })
    }
}

impl Drop for Driver {
    /// Killing it at once would leave its browsers behind.
    fn drop(&mut self) {
        if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) {
            let asked = stream.write_all(b"GET /shutdown HTTP/1.1\r\nHost: localhost\r\n\r\n");
            let _ = stream.set_read_timeout(Some(PATIENCE));
            if asked.is_ok() {
                let _ = BufReader::new(stream).read_line(&mut String::new());
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A browser with its own profile.
pub(crate) struct Browser {
    pub(crate) client: Client,
    pub(crate) script: Script,
    _driver: Driver,
}

impl Browser {
    pub(crate) async fn start(script: Script, language: &str) -> Self {
        let driver = Driver::start();
        let mut preferences = json!({"intl.accept_languages": language});
        if script == Script::Off {
            preferences["profile.managed_default_content_settings.javascript"] = json!(2);
        }
        let arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-extensions",
            "--disable-background-networking",
            "--disable-component-update",
            "--no-first-run",
            "--hide-scrollbars",
            "--lang=en-US",
            "--window-size=900,900",
            // A name that its owner points at this machine (DNS rebinding).
            "--host-resolver-rules=MAP evil.test 127.0.0.1",
        ];
        let options = json!({"args": arguments, "prefs": preferences});
        let mut wanted = Capabilities::new();
        wanted.insert("browserName".to_owned(), json!("chrome"));
        wanted.insert("goog:chromeOptions".to_owned(), options);
        let client = ClientBuilder::new(HttpConnector::new())
            .capabilities(wanted)
            .connect(&format!("http://127.0.0.1:{}", driver.port))
            .await;
        Self {
            client: client.expect("Chromium starts"),
            script,
            _driver: driver,
        }
    }

    pub(crate) async fn open(&self, question: &Question) {
        self.goto(&question.link).await;
    }

    /// Opens a page with emulated focus. Otherwise focus depends on how busy the machine is, and
    /// without it key presses are lost and blur events don't fire.
    pub(crate) async fn goto(&self, url: &str) {
        let focused = json!({"enabled": true});
        self.devtools("Emulation.setFocusEmulationEnabled", focused)
            .await;
        self.client.goto(url).await.unwrap();
    }

    /// Turns emulated focus off, as if another tab were active.
    pub(crate) async fn lose_focus(&self) {
        let focused = json!({"enabled": false});
        self.devtools("Emulation.setFocusEmulationEnabled", focused)
            .await;
    }

    pub(crate) async fn find(&self, css: &str) -> Element {
        // An error may come from a page that is just being replaced.
        let looking = async {
            loop {
                match self.client.find(Locator::Css(css)).await {
                    Ok(element) => return element,
                    Err(_) => tokio::time::sleep(GLANCE).await,
                }
            }
        };
        if let Ok(element) = tokio::time::timeout(PATIENCE, looking).await {
            return element;
        }
        panic!("no {css}\n{}", self.seen().await)
    }

    /// The content of the page, for failure messages.
    async fn seen(&self) -> String {
        let script = "return location.pathname.split('/')[1] + location.search + ' ' + \
                      document.title + '\\n' + document.body.innerText";
        match self.client.execute(script, Vec::new()).await {
            Ok(text) => text.as_str().unwrap_or_default().to_owned(),
            Err(error) => error.to_string(),
        }
    }

    pub(crate) async fn click(&self, css: &str) {
        self.act(css, async |element| element.click().await).await;
    }

    /// Types after the existing text.
    pub(crate) async fn type_into(&self, css: &str, text: &str) {
        self.act(css, async |element| element.send_keys(text).await)
            .await;
    }

    /// Acts on an element, once. Only if its page was replaced in the meantime, so that nothing was
    /// done, is it looked up again.
    async fn act(&self, css: &str, what: impl AsyncFn(Element) -> Result<(), CmdError>) {
        let acting = async {
            loop {
                match what(self.find(css).await).await {
                    Err(error) if error.is_stale_element_reference() => {
                        tokio::time::sleep(GLANCE).await;
                    }
                    done => return done,
                }
            }
        };
        let done = tokio::time::timeout(PATIENCE, acting).await;
        if let Ok(Err(error)) = &done {
            panic!("cannot act on {css}: {error}\n{}", self.seen().await);
        }
        assert!(done.is_ok(), "{css} never stays");
    }

    /// Replaces the existing text.
    pub(crate) async fn fill(&self, css: &str, text: &str) {
        self.ask(css, async |element| element.clear().await).await;
        self.type_into(css, text).await;
    }

    pub(crate) async fn text(&self, css: &str) -> String {
        self.ask(css, async |element| element.text().await).await
    }

    /// Queries an element; again if its page is replaced in the meantime.
    async fn ask<T>(&self, css: &str, what: impl AsyncFn(Element) -> Result<T, CmdError>) -> T {
        let asking = async {
            loop {
                match what(self.find(css).await).await {
                    Ok(answer) => return answer,
                    Err(_) => tokio::time::sleep(GLANCE).await,
                }
            }
        };
        if let Ok(answer) = tokio::time::timeout(PATIENCE, asking).await {
            return answer;
        }
        panic!("{css} does not answer\n{}", self.seen().await)
    }

    pub(crate) async fn value(&self, css: &str) -> String {
        let value = self.ask(css, async |element| element.prop("value").await);
        value.await.unwrap_or_default()
    }

    pub(crate) async fn count(&self, css: &str) -> usize {
        self.client.find_all(Locator::Css(css)).await.unwrap().len()
    }

    pub(crate) async fn is_shown(&self, css: &str) -> bool {
        self.ask(css, async |element| element.is_displayed().await)
            .await
    }

    pub(crate) async fn eval(&self, expression: &str) -> Value {
        let script = format!("return ({expression})");
        self.client.execute(&script, Vec::new()).await.unwrap()
    }

    /// Waits until this expression is true in the page.
    pub(crate) async fn until(&self, expression: &str) {
        let script = format!("return Boolean({expression})");
        let holds = async {
            // While a page is being replaced, there is nothing to query.
            while self.client.execute(&script, Vec::new()).await.ok() != Some(json!(true)) {
                tokio::time::sleep(GLANCE).await;
            }
        };
        let held = tokio::time::timeout(PATIENCE, holds).await;
        assert!(held.is_ok(), "never: {expression}\n{}", self.seen().await);
    }

    /// Waits until the page has this heading.
    pub(crate) async fn until_headed(&self, heading: &str) {
        let heading = json!(heading);
        let heads = format!("document.querySelector('h1')?.textContent === {heading}");
        self.until(&heads).await;
    }

    /// Presses keys wherever the focus is, once the page has loaded and its script has run.
    pub(crate) async fn press(&self, keys: &str) {
        self.until("document.readyState === 'complete' && document.hasFocus()")
            .await;
        let actions = keys
            .chars()
            .fold(KeyActions::new("keys".to_owned()), |actions, key| {
                actions
                    .then(KeyAction::Down { value: key })
                    .then(KeyAction::Up { value: key })
            });
        self.client.perform_actions(actions).await.unwrap();
    }

    /// Sends the form with the primary button.
    pub(crate) async fn go_on(&self) {
        self.click("button.primary").await;
    }

    /// Reviews, and sends.
    pub(crate) async fn review_and_send(&self) {
        self.go_on().await;
        self.find("#review").await;
        self.go_on().await;
        self.until_headed("Answer sent").await;
    }

    /// The width of the page, in CSS pixels.
    pub(crate) async fn resize(&self, width: u32, height: u32) {
        let metrics = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false,
        });
        self.devtools("Emulation.setDeviceMetricsOverride", metrics)
            .await;
    }

    /// The upload speed, in bytes per second; -1 is unlimited.
    pub(crate) async fn uploads_at(&self, speed: i64) {
        self.devtools("Network.enable", json!({})).await;
        let conditions = json!({
            "offline": false, "latency": 0, "downloadThroughput": -1, "uploadThroughput": speed,
        });
        self.devtools("Network.emulateNetworkConditions", conditions)
            .await;
    }

    /// A command of the `DevTools` protocol, for what `WebDriver` lacks.
    pub(crate) async fn devtools(&self, command: &str, parameters: Value) -> Value {
        let command = DevTools(json!({"cmd": command, "params": parameters}));
        let answer: Result<Value, CmdError> = self.client.issue_cmd(command).await;
        answer.unwrap()
    }
}

#[derive(Debug)]
struct DevTools(Value);

impl WebDriverCompatibleCommand for DevTools {
    fn endpoint(
        &self,
        base: &url::Url,
        session: Option<&str>,
    ) -> Result<url::Url, url::ParseError> {
        base.join(&format!(
            "session/{}/goog/cdp/execute",
            session.unwrap_or_default()
        ))
    }

    fn method_and_body(&self, _: &url::Url) -> (axum::http::Method, Option<String>) {
        (axum::http::Method::POST, Some(self.0.to_string()))
    }
}
