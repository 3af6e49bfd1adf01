//! Chromium by way of `chromedriver`, and what a person does with it.

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

/// How often a driver whose port was taken is started again.
const STARTS: u32 = 10;

/// A `chromedriver` that runs, on a port of its own.
struct Driver {
    child: Child,
    port: u16,
}

impl Driver {
    /// It chooses a port and only then takes it, so that another may be faster: it ends then, and
    /// is started again.
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
        // Read to the end, so that it never waits for us.
        std::thread::spawn(move || lines.for_each(drop));
        Some(Self { child, port })
    }
}

impl Drop for Driver {
    /// Killed at once, it would leave its browsers behind.
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

/// A browser with a profile of its own.
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
            // A name that its owner has pointed here.
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

    /// Opens a page, as if its window had the focus. Whether it has depends on how busy the
    /// machine is, and without it keys go nowhere and nothing hears that a field was left.
    pub(crate) async fn goto(&self, url: &str) {
        let focused = json!({"enabled": true});
        self.devtools("Emulation.setFocusEmulationEnabled", focused)
            .await;
        self.client.goto(url).await.unwrap();
    }

    /// The page is one among others again, as it is when another tab is looked at.
    pub(crate) async fn lose_focus(&self) {
        let focused = json!({"enabled": false});
        self.devtools("Emulation.setFocusEmulationEnabled", focused)
            .await;
    }

    pub(crate) async fn find(&self, css: &str) -> Element {
        // Whatever goes wrong may be a page that is just being left for another.
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

    /// What the page shows, for whoever reads why a test failed.
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

    /// Types into what is there already.
    pub(crate) async fn type_into(&self, css: &str, text: &str) {
        self.act(css, async |element| element.send_keys(text).await)
            .await;
    }

    /// Does something to an element, once. Only if it was found on a page that has given way to
    /// the next meanwhile, when nothing was done, is it looked for again.
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

    /// Types instead of what is there.
    pub(crate) async fn fill(&self, css: &str, text: &str) {
        self.ask(css, async |element| element.clear().await).await;
        self.type_into(css, text).await;
    }

    pub(crate) async fn text(&self, css: &str) -> String {
        self.ask(css, async |element| element.text().await).await
    }

    /// Asks an element something; again if its page gives way to the next meanwhile.
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

    /// Waits until this holds in the page.
    pub(crate) async fn until(&self, expression: &str) {
        let script = format!("return Boolean({expression})");
        let holds = async {
            // While a page gives way to the next, there is nothing to ask.
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

    /// Presses keys wherever the focus is, once the page is there and its script has run.
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

    /// Sends the form by the button that stands out.
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

    /// How wide the page is, in pixels of its own.
    pub(crate) async fn resize(&self, width: u32, height: u32) {
        let metrics = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false,
        });
        self.devtools("Emulation.setDeviceMetricsOverride", metrics)
            .await;
    }

    /// How fast the page sends, in bytes a second; -1 is as fast as it can.
    pub(crate) async fn uploads_at(&self, speed: i64) {
        self.devtools("Network.enable", json!({})).await;
        let conditions = json!({
            "offline": false, "latency": 0, "downloadThroughput": -1, "uploadThroughput": speed,
        });
        self.devtools("Network.emulateNetworkConditions", conditions)
            .await;
    }

    /// A command of the browser's own protocol, for what `WebDriver` has no word for.
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
