//! Compatibility of old and new readers with old and new writers.

use entreat_core::UnixTime;
use entreat_testkit::{records, samples};
use serde_json::json;

use super::*;

fn at(millis: u64) -> UnixTime {
    UnixTime::from_millis(1_706_889_000_000 + millis)
}

fn sample() -> Record {
    let record = records::with_key(records::pending("asker", at(0), 1), "key");
    records::drafted(&record, at(7), r#"{"name":"A"}"#)
}

fn kept<'k>(record: &Record, request: &'k [u8], state: &'k [u8]) -> EncodedRecord<'k> {
    EncodedRecord {
        id: record.id,
        version: record.version,
        asker: record.request.asker.clone(),
        form: record.request.subject.form().cloned(),
        request,
        state,
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn unhex(text: &str) -> Vec<u8> {
    let text: String = text.split_whitespace().collect();
    let digits: Vec<char> = text.chars().collect();
    let byte = |pair: &[char]| u8::from_str_radix(&pair.iter().collect::<String>(), 16);
    let bytes = digits.chunks(2).map(byte).collect::<Result<_, _>>();
    bytes.expect("the fixture is hexadecimal")
}

/// What version 0.1 wrote for [`sample`]. It must stay readable: never change it.
const REQUEST_OF_0_1: &str = include_str!("request_0_1.hex");
const STATE_OF_0_1: &str = include_str!("state_0_1.hex");

#[test]
fn what_0_1_wrote_is_still_read() {
    let record = sample();
    let (request, state) = (unhex(REQUEST_OF_0_1), unhex(STATE_OF_0_1));
    let read = decode(kept(&record, &request, &state)).unwrap();
    records::assert_same(&read, &record);
}

#[test]
fn what_is_written_now_is_what_0_1_can_read() {
    // When this fails because a field was added: may an old reader ignore it? If not, raise the
    // format. Then add new fixtures beside the old ones.
    let record = sample();
    let request = hex(&encode_request(&record.request));
    let state = hex(&encode_state(&record));
    assert_eq!(
        request,
        REQUEST_OF_0_1.split_whitespace().collect::<String>()
    );
    assert_eq!(state, STATE_OF_0_1.split_whitespace().collect::<String>());
}

#[test]
fn a_field_that_is_not_known_yet_is_passed_over() {
    let record = sample();
    let mut value: serde_json::Value = read(&encode_state(&record)).unwrap();
    value["tomorrow"] = json!({"deep": [1]});
    value["lifecycle"]["tomorrow"] = json!("x");
    value["held"]["tomorrow"] = json!(null);
    let request = encode_request(&record.request);
    let state = encode(&value);
    let read = decode(kept(&record, &request, &state)).unwrap();
    records::assert_same(&read, &record);
}

#[test]
fn a_state_that_is_not_known_yet_is_refused() {
    let record = sample();
    let mut value: serde_json::Value = read(&encode_state(&record)).unwrap();
    value["lifecycle"]["state"] = json!({"state": "asleep"});
    let request = encode_request(&record.request);
    let state = encode(&value);
    let refused = decode(kept(&record, &request, &state)).unwrap_err();
    assert!(matches!(refused, RecordError::Damaged));
}

#[test]
fn a_newer_format_is_refused_by_its_number() {
    let record = sample();
    let request = encode_request(&record.request);
    let mut state = encode_state(&record);
    state[0] = REASSIGNED + 1;
    let refused = decode(kept(&record, &request, &state)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "it has format 3, but this version reads up to 2"
    );
}

#[test]
fn a_question_for_someone_else_is_refused_by_readers_that_would_show_it_to_the_first_person() {
    let mut record = sample();
    assert_eq!(encode_state(&record)[0], FORMAT);
    record.to_mut().request.reassign("bob");
    let request = encode_request(&sample().request);
    let state = encode_state(&record);
    assert_eq!(state[0], REASSIGNED);
    let read = decode(kept(&record, &request, &state)).unwrap();
    assert_eq!(read.request.respondent(), Some("bob"));
    assert!(read.request.is_reassigned());
    // What else was asked stays.
    let key = |record: &Record| record.request.extras.as_ref()?.idempotency_key.clone();
    assert_eq!(key(&read), key(&sample()));
    records::assert_same(&read, &record);
}

#[test]
fn who_settled_it_and_whose_drafts_there_are_is_kept() {
    let mut record = sample();
    let held = record.answer_state.as_deref().cloned();
    let mut held = held.expect("the sample has a draft");
    held.typist = Some("browser.ada".into());
    held.turn_to("browser.bob");
    held.settled_by = Some(Box::new(entreat_engine::Actor {
        account: "https://id.example#ada".into(),
        name: "Ada".into(),
        is_operator: false,
    }));
    record.to_mut().answer_state = Some(Arc::new(held));
    let request = encode_request(&record.request);
    let state = encode_state(&record);
    let read = decode(kept(&record, &request, &state)).unwrap();
    records::assert_same(&read, &record);
    assert_eq!(read.answer_state.as_ref().unwrap().set_aside.len(), 1);
}

#[test]
fn what_is_cut_or_garbled_is_an_error_that_quotes_nothing() {
    let mut record = sample();
    record = records::answered(&record, at(9), "opensesame");
    let request = encode_request(&record.request);
    let state = encode_state(&record);
    for length in 0..state.len() {
        let refused = decode(kept(&record, &request, &state[..length])).unwrap_err();
        assert!(!format!("{refused:?} {refused}").contains("sesame"));
    }
    for place in 0..state.len() {
        let mut garbled = state.clone();
        garbled[place] ^= 0x55;
        if let Err(refused) = decode(kept(&record, &request, &garbled)) {
            assert!(!format!("{refused:?} {refused}").contains("sesame"));
        }
    }
}

#[test]
fn a_record_asks_a_form_or_a_url_and_never_both() {
    let record = sample();
    let request = encode_request(&record.request);
    let state = encode_state(&record);
    let mut without = kept(&record, &request, &state);
    without.form = None;
    assert!(decode(without).is_err());

    let mut url = record.request.clone();
    url.subject = Subject::Url("https://example.com".into());
    let request = encode_request(&url);
    let mut with = kept(&record, &request, &state);
    with.form = Some(samples::minimal());
    assert!(decode(with).is_err());
}
