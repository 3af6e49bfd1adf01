//! Named users: who is asked, and who may answer.

use entreat_core::ElicitationId;
use entreat_service::identity::Person;
use entreat_service::rpc::Links;
use serde_json::json;

use crate::world::{World, deploy};

/// Pages for people who sign in.
struct SignedIn;

impl Links for SignedIn {
    fn page(&self, id: ElicitationId) -> Option<String> {
        Some(format!("https://ask.example.com/e/{id}"))
    }

    fn needs_respondent(&self) -> bool {
        true
    }
}

#[tokio::test]
async fn a_question_for_nobody_is_refused_where_people_sign_in() {
    let mut world = World::new().await;
    world.rpc = world.rpc.clone().with_links(SignedIn);
    for params in [
        json!({"formDefinition": deploy()}),
        json!({"prompt": "Name?"}),
        json!({"prompt": "Name?", "respondent": ""}),
        json!({"url": "https://example.com/"}),
    ] {
        let error = world.error("elicitation/create", params).await;
        assert_eq!(error["code"], -32602);
        assert_eq!(error["data"]["param"], "respondent", "{error}");
    }
    let params = json!({"prompt": "Name?", "respondent": "ada"});
    world.result("elicitation/create", params).await;
}

#[tokio::test]
async fn people_answer_what_is_for_them_and_whoever_is_here_answers_all() {
    let world = World::new().await;
    let mut requests = Vec::new();
    for respondent in [json!({"respondent": "ada"}), json!({})] {
        let mut params = json!({"prompt": "Name?"});
        params
            .as_object_mut()
            .unwrap()
            .extend(respondent.as_object().unwrap().clone());
        let id: ElicitationId = serde_json::from_value(world.create(params).await).unwrap();
        let snapshot = world.engine.elicitation(id).status().await.unwrap();
        requests.push(snapshot.record().request.clone());
    }
    let may = |person: &Person| {
        [
            person.may_answer(&requests[0]),
            person.may_answer(&requests[1]),
        ]
    };
    assert_eq!(may(&Person::Local), [true, true]);
    assert_eq!(may(&Person::Named("ada".into())), [true, false]);
    for other in ["Ada", "ada ", "bob", "", "ada, bob"] {
        assert_eq!(may(&Person::Named(other.into())), [false, false], "{other}");
    }
}
