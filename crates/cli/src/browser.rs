//! Opens pages for the person at this machine, where that can be done.

use std::io;

use crate::context::Context;

/// Whether there is a screen for a browser. Opening one where there is none may start another
/// program, such as one for the terminal, in its place.
pub(crate) fn may_open(context: &Context) -> bool {
    let is_set = |name| {
        context
            .environment()
            .variable(name)
            .is_some_and(|value| !value.is_empty())
    };
    !cfg!(target_os = "linux")
        || is_set("DISPLAY")
        || is_set("WAYLAND_DISPLAY")
        || is_set("WSL_DISTRO_NAME")
}

/// Opens an address by the system's own program for it, without a shell.
pub(crate) fn open(url: &str) -> io::Result<()> {
    open::that_detached(url)
}
