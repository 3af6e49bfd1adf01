//! `entreat completions`.

use crate::entreat;

#[test]
fn every_shell_gets_a_script_that_knows_the_commands() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let run = entreat(&["completions", shell]);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""));
        assert!(run.stdout.contains("validate"), "{shell}");
    }
}

#[test]
fn an_unknown_shell_is_wrong_usage() {
    assert_eq!(entreat(&["completions", "tcsh"]).code, 2);
}
