//! Pages of other sites, and DNS rebinding: without a key, they can neither ask nor see a question.

use fantoccini::Locator;
use serde_json::{Value, json};

use crate::site::form;
use crate::{Scene, with_the_script};

with_the_script!(a_page_of_another_site_asks_nothing);

/// Posts, and returns the status, or that the browser blocked it.
const POST: &str = "const [url, kind, mode, body, done] = arguments; \
     fetch(url, {method: 'POST', mode, headers: {'content-type': kind}, body}) \
     .then((response) => done(response.status), () => done('nothing'))";

async fn post(scene: &Scene, url: &str, kind: &str, mode: &str) -> Value {
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "elicitation/create",
        "params": {"prompt": "Your password?"}});
    let arguments = vec![
        json!(url),
        json!(kind),
        json!(mode),
        json!(call.to_string()),
    ];
    let answer = scene.browser.client.execute_async(POST, arguments).await;
    answer.unwrap()
}

async fn a_page_of_another_site_asks_nothing(scene: Scene) {
    let field = json!([{"id": "name", "type": "text", "label": "Name"}]);
    let question = scene.site.ask(form(field)).await;
    let port = url::Url::parse(&question.link).unwrap().port().unwrap();
    let ours = format!("http://127.0.0.1:{port}/rpc");
    // To the browser, pages under this name have the same origin as ours.
    scene
        .browser
        .goto(&format!("http://evil.test:{port}/healthz"))
        .await;
    assert_eq!(post(&scene, "/rpc", "application/json", "cors").await, 403);
    for kind in [
        "application/json",
        "text/plain",
        "application/x-www-form-urlencoded",
    ] {
        assert_eq!(post(&scene, &ours, kind, "cors").await, "nothing", "{kind}");
        // The request is sent, but the page cannot read the response.
        assert_ne!(post(&scene, &ours, kind, "no-cors").await, 200, "{kind}");
    }
    assert_eq!(scene.site.engine.live(), 1);
    let elsewhere = question.link.replace("127.0.0.1", "evil.test");
    scene.browser.goto(&elsewhere).await;
    let heading = scene.browser.client.find(Locator::Css("h1")).await.unwrap();
    assert_eq!(
        heading.text().await.unwrap(),
        "You cannot open this page from here"
    );

    // Our own page may, so the others were rejected for their origin.
    scene
        .browser
        .goto(&format!("http://127.0.0.1:{port}/healthz"))
        .await;
    assert_eq!(post(&scene, &ours, "application/json", "cors").await, 200);
    assert_eq!(scene.site.engine.live(), 2);
}
