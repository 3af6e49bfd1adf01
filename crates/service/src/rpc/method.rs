//! The table of methods: what each takes, gives and refuses.
//!
//! Calls are dispatched by it, parameters are held to it, and the OpenRPC document is written
//! from it.

use serde_json::Value;

use super::answer::Work;
use super::error::{Code, RpcError};
use super::params::{Param, Params};
use super::{Rpc, Session};
use super::{act, create, forms, openrpc, record_schema, watch};

/// A method.
pub(super) struct Method {
    pub(super) name: &'static str,
    /// What it does, in a sentence.
    pub(super) about: &'static str,
    pub(super) params: &'static [Param],
    /// The schema of its result.
    pub(super) result: fn() -> Value,
    /// What it refuses, besides what any method may.
    pub(super) errors: &'static [Code],
    pub(super) begin: fn(&Call<'_>) -> Result<Work, RpcError>,
}

/// A call whose parameters fit.
pub(super) struct Call<'a> {
    pub(super) rpc: &'a Rpc,
    pub(super) session: &'a Session,
    pub(super) params: Params<'a>,
}

/// What any method may refuse.
pub(super) const COMMON: &[Code] = &[Code::InvalidParams, Code::Internal, Code::RateLimited];

/// The method of that name.
pub(super) fn find(name: &str) -> Option<&'static Method> {
    METHODS.iter().find(|method| method.name == name)
}

/// Every method, in the order of the reference; last the one that OpenRPC asks for.
pub(super) static METHODS: &[Method] = &[
    Method {
        name: "elicitation/create",
        about: "Asks a person a question.",
        params: create::CREATE,
        result: record_schema::created,
        errors: &[Code::TooManyLive, Code::UnsafeUrl],
        begin: create::create,
    },
    Method {
        name: "elicitation/submit",
        about: "Answers a form, whole or in part.",
        params: act::SUBMIT,
        result: record_schema::submitted,
        errors: &[
            Code::Invalid,
            Code::Settled,
            Code::NotFound,
            Code::TooLarge,
            Code::LastAttempt,
            Code::TimedOut,
        ],
        begin: act::submit,
    },
    Method {
        name: "elicitation/complete",
        about: "Brings the result of a question in inline or url mode.",
        params: act::COMPLETE,
        result: record_schema::submitted,
        errors: &[
            Code::Invalid,
            Code::Settled,
            Code::NotFound,
            Code::TooLarge,
            Code::LastAttempt,
            Code::TimedOut,
        ],
        begin: act::complete,
    },
    Method {
        name: "elicitation/decline",
        about: "The respondent decides not to answer.",
        params: act::DECLINE,
        result: record_schema::record,
        errors: &[Code::Settled, Code::NotFound, Code::TimedOut],
        begin: act::decline,
    },
    Method {
        name: "elicitation/cancel",
        about: "Ends a question without a decision.",
        params: act::CANCEL,
        result: record_schema::record,
        errors: &[Code::Settled, Code::NotFound, Code::TimedOut],
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
        begin: act::extend,
    },
    Method {
        name: "elicitation/status",
        about: "Tells how a question stands, with its result.",
        params: watch::STATUS,
        result: record_schema::record,
        errors: &[Code::NotFound],
        begin: watch::status,
    },
    Method {
        name: "elicitation/question",
        about: "Gives what is asked, for whoever shows it.",
        params: watch::QUESTION,
        result: record_schema::question,
        errors: &[Code::NotFound],
        begin: watch::question,
    },
    Method {
        name: "elicitation/list",
        about: "Lists the asker's questions, newest first, without results.",
        params: watch::LIST,
        result: record_schema::page,
        errors: &[],
        begin: watch::list,
    },
    Method {
        name: "elicitation/await",
        about: "Waits until a question has settled, then tells how it stands.",
        params: watch::AWAIT,
        result: record_schema::record,
        errors: &[Code::NotFound],
        begin: watch::wait,
    },
    Method {
        name: "elicitation/timeout_config",
        about: "Tells what timeouts can be had.",
        params: watch::TIMEOUT_CONFIG,
        result: record_schema::timeout_config,
        errors: &[],
        begin: watch::timeout_config,
    },
    Method {
        name: "forms/list",
        about: "Lists the forms that can be asked by name.",
        params: forms::LIST,
        result: record_schema::templates,
        errors: &[],
        begin: forms::list,
    },
    Method {
        name: "forms/get",
        about: "Gives the definition of a template.",
        params: forms::GET,
        result: record_schema::definition,
        errors: &[],
        begin: forms::get,
    },
    Method {
        name: "forms/validate",
        about: "Tells all problems of a definition.",
        params: forms::VALIDATE,
        result: record_schema::validated,
        errors: &[],
        begin: forms::validate,
    },
    Method {
        name: "rpc.discover",
        about: "Gives this document.",
        params: &[],
        result: record_schema::document,
        errors: &[],
        begin: openrpc::discover,
    },
];
