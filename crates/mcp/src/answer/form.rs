//! Asks a form: from a server's schema to valid content.

use entreat_core::schema::import_question;
use entreat_wire::message::{ElicitRequest, ElicitResult};
use entreat_wire::presenter::{Answer, FormQuestion};
use serde_json::{Map, Value};

use super::queue::{Decision, QuestionError, QuestionQueue};

impl QuestionQueue {
    pub(super) async fn ask_form(
        &self,
        server: &str,
        request: &ElicitRequest,
        schema: &Value,
    ) -> Result<ElicitResult, QuestionError> {
        let message = request.message();
        let import = import_question(schema, message).map_err(QuestionError::Schema)?;
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
            let answers = match self.presenter.form(&question).await? {
                Answer::Accept(answers) => answers,
                Answer::Decline => return Ok(self.record_decision(Decision::Declined)),
                Answer::Cancel => return Ok(self.record_decision(Decision::Cancelled)),
            };
            let answers = Value::Object(answers);
            let violations = match question.form.check(&answers) {
                Ok(checked) => {
                    self.record_decision(Decision::Accepted);
                    return Ok(ElicitResult::accept(checked.reveal().to_json()));
                }
                Err(violations) => violations,
            };
            question.errors = violations.errors(&self.settings.messages);
            let Value::Object(answers) = answers else {
                return Err(QuestionError::InvalidAnswer);
            };
            question.draft = answers;
        }
        Err(QuestionError::InvalidAnswer)
    }
}
