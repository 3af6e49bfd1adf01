//! What `entreat wrap` and `entreat gateway` start in place of a server: it ties its own life to that
//! of the process that started it, and becomes the server.
//!
//! It is read without the command line's parser, which takes longer than all the rest: the server
//! starts only after this.

use std::ffi::OsString;

use anyhow::anyhow;
use entreat::gateway::side::child::{LAUNCH, exec_bound_to_parent};

use crate::output;

/// Becomes the server that the arguments of this process name, if it was started for that. Returns
/// why it cannot; `None` if the arguments are those of a command.
pub(crate) fn become_server(
    mut arguments: impl Iterator<Item = OsString>,
) -> Option<anyhow::Error> {
    if arguments.nth(1)? != LAUNCH {
        return None;
    }
    let parent = arguments.next();
    let parent = parent.and_then(|id| id.to_str()?.parse().ok());
    let dashes = arguments.next();
    let (Some(parent), Some(_), Some(program)) = (parent, dashes, arguments.next()) else {
        return Some(anyhow!("there is no program to become"));
    };
    let arguments: Vec<OsString> = arguments.collect();
    let error = exec_bound_to_parent(parent, &program, &arguments);
    let name = output::sanitize_path(&program);
    Some(anyhow::Error::from(error).context(format!("cannot start {name}")))
}
