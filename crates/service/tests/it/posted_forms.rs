//! The cost of a posted form: linear in its size, in time and memory.

use std::fmt::Write as _;

use axum::http::{Method, StatusCode};
use entreat_core::Form;
use entreat_service::{PageSettings, fuzzing};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::pages::{Site, Visitor, text};
use crate::wire::soon;
use crate::world::World;

const PAIRS: &str = "application/x-www-form-urlencoded";
const PARTS: &str = "multipart/form-data; boundary=x";
const PIECE: usize = 16 << 10;

/// A multi-select field with this many options.
fn choice(options: usize) -> Value {
    let options: Vec<String> = (0..options).map(|i| format!("option-{i}")).collect();
    json!({"id": "f", "title": "F", "fields": [
        {"id": "m", "type": "multi_select", "label": "M", "options": options},
        {"id": "t", "type": "text", "label": "T"}]})
}

/// CPU time of this thread.
fn cpu(work: impl FnOnce()) -> f64 {
    let now = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        #[expect(clippy::cast_precision_loss, reason = "seconds of a test")]
        let seconds = time.tv_sec as f64 + time.tv_nsec as f64 / 1e9;
        seconds
    };
    let before = now();
    work();
    now() - before
}

/// Values that are not options, with the field repeated as often.
fn wrong_choices(count: usize) -> String {
    let mut body = String::new();
    for i in 0..count {
        write!(body, "_f=0&f.m=no{i}%0Aoption&").unwrap();
    }
    body
}

#[test]
fn wrong_choices_cost_time_in_proportion() {
    let cost = |count: usize| {
        let form = Form::from_value(&choice(2 * count)).unwrap();
        let body = wrong_choices(count);
        cpu(|| {
            for _ in 0..4 {
                let answers = fuzzing::posted(&form, PAIRS, body.as_bytes(), PIECE).unwrap();
                assert_eq!(answers["m"].as_array().unwrap().len(), count);
            }
        })
    };
    // Warms up.
    cost(1000);
    let (once, four_times) = (cost(5_000), cost(20_000));
    assert!(
        four_times < 10.0 * once + 0.05,
        "{once:.3} s and {four_times:.3} s"
    );
}

#[test]
fn what_is_sent_takes_memory_in_proportion() {
    let form = Form::from_value(&choice(40_000)).unwrap();
    let peak = |body: &str| {
        let measured = allocation_counter::measure(|| {
            fuzzing::posted(&form, PAIRS, body.as_bytes(), PIECE);
        });
        usize::try_from(measured.bytes_max).unwrap()
    };
    for body in [
        wrong_choices(20_000),
        "&".repeat(1 << 20),
        "a&".repeat(1 << 19),
        "f.t=&".repeat(1 << 18),
        format!("f.t={}", "a".repeat(1 << 20)),
        format!("f.t={}", "%61".repeat(1 << 19)),
        format!("{}=b", "a".repeat(1 << 20)),
    ] {
        let used = peak(&body);
        // A map of the options, and a few copies of the input.
        let most = 6 * body.len() + (4 << 20);
        assert!(used < most, "{used} bytes for {}", &body[..20]);
    }
}

#[test]
fn answers_that_cannot_be_read_cost_time_in_proportion() {
    let cost = |count: usize| {
        let properties = (0..count).map(|i| (format!("n{i}"), json!({"type": "number"})));
        let properties: Value = properties.collect::<serde_json::Map<_, _>>().into();
        let schema = json!({"type": "object", "properties": properties});
        let form = entreat_core::schema::import(&schema).unwrap().form;
        let mut body = String::new();
        for i in 0..count {
            write!(body, "_f={i}&f.n{i}=word&").unwrap();
        }
        cpu(|| {
            let answers = fuzzing::posted(&form, PAIRS, body.as_bytes(), PIECE).unwrap();
            let answers = Value::Object(answers);
            let progress = form.progress(&answers, &entreat_core::CheckSettings::default());
            let english = entreat_core::Catalogue::default().messages(["en"]);
            assert_eq!(progress.errors(&english).len(), count);
        })
    };
    cost(500);
    let (once, four_times) = (cost(3_000), cost(12_000));
    assert!(
        four_times < 10.0 * once + 0.05,
        "{once:.3} s and {four_times:.3} s"
    );
}

fn part(name: &str, value: &str) -> String {
    format!("--x\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
}

#[test]
fn parts_cost_time_and_memory_in_proportion() {
    let form = |count: usize| Form::from_value(&choice(2 * count)).unwrap();
    let body = |count: usize| {
        let mut body = part("_f", "0");
        (0..count).for_each(|i| body += &part("f.m", &format!("no{i}")));
        body + "--x--\r\n"
    };
    for piece in [100, PIECE, 1 << 22] {
        let cost = |count: usize| {
            let (form, body) = (form(count), body(count));
            let mut memory = 0;
            let time = cpu(|| {
                let measured = allocation_counter::measure(|| {
                    let answers = fuzzing::posted(&form, PARTS, body.as_bytes(), piece).unwrap();
                    assert_eq!(answers["m"].as_array().unwrap().len(), count);
                });
                memory = measured.bytes_max;
            });
            assert!(memory < 6 * body.len() as u64 + (1 << 20), "{memory}");
            time
        };
        cost(500);
        let (once, four_times) = (cost(4_000), cost(16_000));
        assert!(
            four_times < 10.0 * once + 0.05,
            "{once:.3} s and {four_times:.3} s in pieces of {piece}"
        );
    }
}

#[test]
fn what_stands_before_a_part_takes_no_memory_however_long_it_is() {
    const LONG: usize = 16 << 20;
    let form = Form::from_value(&choice(10)).unwrap();
    let begin = "--x\r\ncontent-disposition: form-data; name=\"f.t\"";
    for body in [
        // Before the first part, in the padding, in a name, in many headers.
        "a".repeat(LONG),
        format!("--x{}", " ".repeat(LONG)),
        format!(
            "--x\r\ncontent-disposition: form-data; name=\"{}",
            "a".repeat(LONG)
        ),
        format!("{begin}\r\n{}", "a: b\r\n".repeat(LONG / 6)),
        format!("{}{begin}\r\nx: {}", part("_f", "1"), "a".repeat(LONG)),
    ] {
        let measured = allocation_counter::measure(|| {
            assert!(fuzzing::posted(&form, PARTS, body.as_bytes(), PIECE).is_none());
        });
        let used = usize::try_from(measured.bytes_max).unwrap();
        // The test holds the body itself.
        assert!(used < body.len() + (1 << 20), "{used} for {}", &body[..40]);
    }
}

#[test]
fn parts_are_read_as_they_were_sent_whatever_the_pieces() {
    let form = Form::from_value(&choice(3)).unwrap();
    let long = "line\r\n--\r\n".repeat(10_000);
    let body = part("_f", "0") + &part("_f", "1") + &part("f.m", "option-1") + &part("f.t", &long);
    let body = body + "--x--\r\n";
    for piece in [1, 7, 4096, 1 << 20] {
        let answers = fuzzing::posted(&form, PARTS, body.as_bytes(), piece).unwrap();
        assert_eq!(answers["m"], json!(["option-1"]), "{piece}");
        assert_eq!(answers["t"], json!(long.replace("\r\n", "\n")), "{piece}");
    }
}

/// A form that once blocked the service.
#[tokio::test]
async fn more_than_a_form_can_use_is_refused_with_a_page_and_kept_nowhere() {
    let site = Site::new().await;
    let (id, visitor) = site.visit_form(choice(100)).await;
    let hostile = [("_f", "0"), ("f.m", "z")].repeat(2000);
    let refused = site.post(&visitor, &hostile).await;
    assert_eq!(refused.status, StatusCode::PAYLOAD_TOO_LARGE);
    assert!(text(&refused).contains("Your answers are too long"));
    let drafted = site
        .world
        .engine
        .elicitation(id)
        .read_draft()
        .await
        .unwrap();
    assert!(drafted.is_empty());
    // As many values as there are options are accepted and validated.
    let mut usual = vec![("_f", "0"), ("_do", "send")];
    usual.resize(102, ("f.m", "z"));
    let sent = site.post(&visitor, &usual).await;
    assert_eq!(sent.status, StatusCode::SEE_OTHER);
    let check = format!("{}?check", visitor.here);
    let page = site.get(&check, &[("cookie", &visitor.cookie)]).await;
    assert!(
        text(&page).contains("There is a problem"),
        "{}",
        text(&page)
    );
}

#[tokio::test]
async fn a_page_with_very_many_choices_in_its_draft_costs_time_in_proportion() {
    let site = Site::new().await;
    let cost = async |count: usize| {
        let (id, visitor) = site.visit_form(choice(count)).await;
        let chosen: Vec<String> = (0..count).map(|i| format!("option-{i}")).collect();
        let elicitation = site.world.engine.elicitation(id);
        elicitation.draft(&json!({"m": chosen})).await.unwrap();
        let clock = || {
            let time = clock_gettime(ClockId::ThreadCPUTime);
            #[expect(clippy::cast_precision_loss, reason = "seconds of a test")]
            let seconds = time.tv_sec as f64 + time.tv_nsec as f64 / 1e9;
            seconds
        };
        let before = clock();
        for path in [visitor.here.clone(), format!("{}/review", visitor.here)] {
            let page = site.get(&path, &[("cookie", &visitor.cookie)]).await;
            assert_eq!(page.status, StatusCode::OK);
        }
        clock() - before
    };
    cost(500).await;
    let (once, four_times) = (cost(4_000).await, cost(16_000).await);
    assert!(
        four_times < 10.0 * once + 0.05,
        "{once:.3} s and {four_times:.3} s"
    );
}

#[tokio::test]
async fn little_of_a_form_is_read_before_its_token() {
    let site = Site::new().await;
    let (_, visitor) = site.visit_form(choice(10)).await;
    let headers = |kind| [("cookie", &*visitor.cookie), ("content-type", kind)];
    let token = &visitor.csrf;
    let long = "a".repeat(200_000);
    for (kind, body, expected) in [
        (PAIRS, format!("f.t={long}&_csrf={token}"), 403),
        (PAIRS, format!("_csrf={token}&f.t={long}"), 303),
        (
            PARTS,
            part("f.t", &long) + &part("_csrf", token) + "--x--",
            403,
        ),
        (
            PARTS,
            part("_csrf", token) + &part("f.t", &long) + "--x--",
            303,
        ),
        (
            PARTS,
            part("_csrf", token) + &part("f.t", "short") + "--x--",
            303,
        ),
        (
            PARTS,
            part("f.t", "short") + &part("_csrf", token) + "--x--",
            303,
        ),
        (PARTS, part("f.t", "short") + "--x--", 403),
        (PARTS, part("_csrf", token), 400),
    ] {
        let what = format!("{kind} {}", &body[..30]);
        let headers = headers(kind);
        let answer = site.send(Method::POST, &visitor.here, &headers, body).await;
        assert_eq!(answer.status.as_u16(), expected, "{what}");
    }
}

/// Endless headers, over a real connection.
#[tokio::test]
async fn a_head_without_an_end_is_refused_and_others_are_served() {
    let site = Site::new().await;
    let (_, visitor) = site.visit_form(choice(10)).await;
    let mut stream = TcpStream::connect(site.server.address).await.unwrap();
    let head = format!(
        "POST {} HTTP/1.1\r\nhost: {}\r\ncookie: {}\r\ncontent-type: {PARTS}\r\n\
         content-length: 268435456\r\n\r\n--x\r\ncontent-disposition: form-data; name=\"",
        visitor.here, site.server.address, visitor.cookie
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&vec![b'a'; 40 << 10]).await.unwrap();
    // The response comes before the end of the request.
    let mut answer = [0; 12];
    soon(stream.read_exact(&mut answer)).await.unwrap();
    assert_eq!(answer, *b"HTTP/1.1 413");
    let cookie = [("cookie", &*visitor.cookie)];
    let page = site.get(&visitor.here, &cookie).await;
    assert_eq!(page.status, StatusCode::OK);
}

#[tokio::test]
async fn forms_of_one_question_do_not_take_the_memory_of_others() {
    let settings = PageSettings {
        body_memory: 4 << 20,
        ..PageSettings::default()
    };
    let site = Site::of(World::new().await, None, settings).await;
    let (_, greedy) = site.visit_form(choice(10)).await;
    let (_, other) = site.visit_form(choice(10)).await;
    let headers = |visitor: &Visitor| {
        let kind = ("content-type".to_owned(), PAIRS.to_owned());
        [("cookie".to_owned(), visitor.cookie.clone()), kind]
    };
    // Half a form of half a megabyte, which never ends.
    let begin = async || {
        let mut stream = TcpStream::connect(site.server.address).await.unwrap();
        let head = format!(
            "POST {} HTTP/1.1\r\nhost: {}\r\ncookie: {}\r\ncontent-type: {PAIRS}\r\n\
             content-length: 1000000\r\n\r\n_csrf={}&f.t=",
            greedy.here, site.server.address, greedy.cookie, greedy.csrf
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&vec![b'a'; 500_000]).await.unwrap();
        stream
    };
    let (mut one, mut another) = (begin().await, begin().await);
    // There is room for one of them, whichever was faster.
    let (mut first, mut second) = ([0; 12], [0; 12]);
    let either = async {
        tokio::select! {
            read = one.read_exact(&mut first) => read.map(|_| ()),
            read = another.read_exact(&mut second) => read.map(|_| ()),
        }
    };
    soon(either).await.unwrap();
    let refused = *b"HTTP/1.1 503";
    assert!(first == refused || second == refused);
    let send = async |visitor: &Visitor| {
        let body = format!("_csrf={}&_f=1&f.t={}", visitor.csrf, "a".repeat(500_000));
        let headers = headers(visitor);
        let headers = headers.each_ref().map(|(name, value)| (&**name, &**value));
        let answer = site.send(Method::POST, &visitor.here, &headers, body).await;
        answer.status.as_u16()
    };
    assert_eq!(send(&other).await, 303);
    drop((one, another));
    // The service notices the disconnect eventually.
    while send(&greedy).await == 503 {
        tokio::task::yield_now().await;
    }
}
