//! Forms: from a server's schema to content that fits it.

use entreat_core::schema::import_as;
use serde_json::{Map, Value};

use super::desk::{Decision, Desk, DeskError};
use super::present::{Answer, FormQuestion};
use crate::wire::{ElicitRequest, ElicitResult};

/// The title of a form that neither the schema nor the message names.
const UNTITLED: &str = "Question";

impl Desk {
    pub(super) async fn ask_form(
        &self,
        server: &str,
        request: &ElicitRequest,
        schema: &Value,
    ) -> Result<ElicitResult, DeskError> {
        let message = request.message();
        let title = if message.trim().is_empty() {
            UNTITLED
        } else {
            message
        };
        let import = import_as(schema, "question", title).map_err(DeskError::Schema)?;
        let notices = import.notices.into_iter().map(|notice| notice.message);
        let mut question = FormQuestion {
            server: server.to_owned(),
            message: message.to_owned(),
            draft: import.form.normalise(&Map::new().into()),
            form: import.form,
            errors: Vec::new(),
            notices: notices.collect(),
        };
        for _ in 0..self.settings.attempts.max(1) {
            let answers = match self.present.form(&question).await? {
                Answer::Accept(answers) => answers,
                Answer::Decline => return Ok(self.decided(Decision::Declined)),
                Answer::Cancel => return Ok(self.decided(Decision::Cancelled)),
            };
            let given = Value::Object(answers);
            let violations = match question.form.check(&given) {
                Ok(checked) => {
                    self.decided(Decision::Accepted);
                    return Ok(ElicitResult::accept(checked.reveal().to_json()));
                }
                Err(violations) => violations,
            };
            question.errors = violations.errors(&self.settings.messages);
            let Value::Object(answers) = given else {
                return Err(DeskError::Unfit);
            };
            question.draft = answers;
        }
        Err(DeskError::Unfit)
    }
}
