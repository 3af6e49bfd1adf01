//! The table of methods: parameters, results and errors.
//!
//! Used for dispatch, for parameter checks, and for the OpenRPC document.

use serde_json::Value;

use super::answer::Work;
use super::error::{Code, RpcError};
use super::params::{Param, Params};
use super::{Rpc, Session};
use super::{act, create, forms, inbox, openrpc, record_schema, watch};

/// A method.
pub(super) struct Method {
    pub(super) name: &'static str,
    /// A one-sentence summary.
    pub(super) about: &'static str,
    pub(super) params: &'static [Param],
    /// The JSON Schema of the result.
    pub(super) result: fn() -> Value,
    /// Error codes in addition to [`COMMON`].
    pub(super) errors: &'static [Code],
    /// Whether operators may call it: only methods that take care not to return answers.
    pub(super) for_operators: bool,
    pub(super) begin: fn(&Call<'_>) -> Result<Work, RpcError>,
}

/// A call with valid parameters.
pub(super) struct Call<'a> {
    pub(super) rpc: &'a Rpc,
    pub(super) session: &'a Session,
    pub(super) params: Params<'a>,
}

/// Error codes of every method.
pub(super) const COMMON: &[Code] = &[Code::InvalidParams, Code::Internal, Code::RateLimited];

/// Error codes of methods that take an answer.
const ANSWER_ERRORS: &[Code] = &[
    Code::Invalid,
    Code::Settled,
    Code::NotFound,
    Code::TooLarge,
    Code::LastAttempt,
    Code::TimedOut,
];

/// Finds a method by name.
pub(super) fn find(name: &str) -> Option<&'static Method> {
    METHODS.iter().find(|method| method.name == name)
}

/// All methods, in the order of the reference, then the one required by OpenRPC.
pub(super) static METHODS: &[Method] = &[
    Method {
        name: "elicitation/create",
        about: "Asks a person a question.",
        params: create::CREATE,
        result: record_schema::created,
        errors: &[Code::TooManyLive, Code::UnsafeUrl],
        for_operators: false,
        begin: create::create,
    },
    Method {
        name: "elicitation/submit",
        about: "Answers a form, whole or in part.",
        params: act::SUBMIT,
        result: record_schema::submitted,
        errors: ANSWER_ERRORS,
        for_operators: false,
        begin: act::submit,
    },
    Method {
        name: "elicitation/complete",
        about: "Completes a question in inline or url mode with its result.",
        params: act::COMPLETE,
        result: record_schema::submitted,
        errors: ANSWER_ERRORS,
        for_operators: false,
        begin: act::complete,
    },
    Method {
        name: "elicitation/decline",
        about: "The respondent decides not to answer.",
        params: act::DECLINE,
        result: record_schema::record,
        errors: &[Code::Settled, Code::NotFound, Code::TimedOut],
        for_operators: false,
        begin: act::decline,
    },
    Method {
        name: "elicitation/cancel",
        about: "Ends a question without a decision.",
        params: act::CANCEL,
        result: record_schema::record,
        errors: &[Code::Settled, Code::NotFound, Code::TimedOut],
        for_operators: true,
        begin: act::cancel,
    },
    Method {
        name: "elicitation/extend_timeout",
        about: "Gives a question more time.",
        params: act::EXTEND,
        result: record_schema::extended,
        errors: &[
            Code::Settled,
            Code::NotFound,
            Code::TimedOut,
            Code::ExtensionRefused,
        ],
        for_operators: true,
        begin: act::extend,
    },
    Method {
        name: "elicitation/reassign",
        about: "Makes it a question for someone else; what was typed so far is deleted.",
        params: act::REASSIGN,
        result: record_schema::record,
        errors: &[Code::Settled, Code::NotFound],
        for_operators: true,
        begin: act::reassign,
    },
    Method {
        name: "elicitation/status",
        about: "Returns the status of a question, with its result.",
        params: watch::STATUS,
        result: record_schema::record,
        errors: &[Code::NotFound],
        for_operators: true,
        begin: watch::status,
    },
    Method {
        name: "elicitation/question",
        about: "Returns the question itself, for clients that present it.",
        params: watch::QUESTION,
        result: record_schema::question,
        errors: &[Code::NotFound],
        for_operators: false,
        begin: watch::question,
    },
    Method {
        name: "elicitation/list",
        about: "Lists the asker's questions, newest first, without results.",
        params: watch::LIST,
        result: record_schema::page,
        errors: &[],
        for_operators: true,
        begin: watch::list,
    },
    Method {
        name: "elicitation/await",
        about: "Waits until a question has settled, then returns its status.",
        params: watch::AWAIT,
        result: record_schema::record,
        errors: &[Code::NotFound],
        for_operators: false,
        begin: watch::wait,
    },
    Method {
        name: "elicitation/timeout_config",
        about: "Returns the allowed timeouts.",
        params: watch::TIMEOUT_CONFIG,
        result: record_schema::timeout_config,
        errors: &[],
        for_operators: false,
        begin: watch::timeout_config,
    },
    Method {
        name: "inbox/link",
        about: "Returns the link to the inbox of the person who answers.",
        params: &[],
        result: record_schema::link,
        errors: &[Code::NotFound],
        for_operators: true,
        begin: inbox::link,
    },
    Method {
        name: "forms/list",
        about: "Lists the forms that can be asked by name.",
        params: forms::LIST,
        result: record_schema::templates,
        errors: &[],
        for_operators: false,
        begin: forms::list,
    },
    Method {
        name: "forms/get",
        about: "Returns the definition of a template.",
        params: forms::GET,
        result: record_schema::definition,
        errors: &[],
        for_operators: false,
        begin: forms::get,
    },
    Method {
        name: "forms/validate",
        about: "Returns all problems of a definition.",
        params: forms::VALIDATE,
        result: record_schema::validated,
        errors: &[],
        for_operators: false,
        begin: forms::validate,
    },
    Method {
        name: "rpc.discover",
        about: "Returns this document.",
        params: &[],
        result: record_schema::document,
        errors: &[],
        for_operators: true,
        begin: openrpc::discover,
    },
];
