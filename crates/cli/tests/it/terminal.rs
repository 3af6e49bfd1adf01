//! `entreat ask` in a terminal, and what ends it from outside.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};

use crate::heard::Heard;
use crate::session::Session;

/// A terminal with the binary in it.
struct Terminal {
    keyboard: File,
    /// The binary's side of the terminal; kept open, so that its settings can be inspected.
    line: File,
    screen: Heard,
    child: Child,
}

impl Terminal {
    fn start(args: &[&str]) -> Self {
        let keyboard = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&keyboard).expect("a terminal of ours");
        unlockpt(&keyboard).expect("a terminal of ours");
        let name = ptsname(&keyboard, Vec::new()).expect("the terminal has a name");
        let name = name.into_string().expect("the terminal's name is text");
        let mut options = OpenOptions::new();
        let line = options
            .read(true)
            .write(true)
            .open(name)
            .expect("the other side");
        let end = || line.try_clone().expect("a second handle");
        let keyboard = File::from(keyboard);
        let screen = Heard::default();
        // It ends with the process of the test at the latest.
        drop(screen.listen(keyboard.try_clone().expect("a second handle")));
        let child = crate::command(args).stdin(end()).stderr(end()).spawn();
        Self {
            child: child.expect("the binary runs"),
            keyboard,
            line,
            screen,
        }
    }

    fn type_line(&mut self, line: &str) {
        self.keyboard
            .write_all(line.as_bytes())
            .expect("a keyboard");
        self.keyboard.write_all(b"\n").expect("a keyboard");
    }

    fn echoes(&self) -> bool {
        let modes = tcgetattr(&self.line).expect("the terminal has settings");
        modes.local_modes.contains(LocalModes::ECHO)
    }

    /// The exit code, stdout, and what was on the screen.
    fn finish(self) -> (i32, String, String) {
        let output = self.child.wait_with_output().expect("the binary ends");
        let stdout = String::from_utf8(output.stdout).expect("stdout is text");
        let code = output.status.code().expect("no signal ends the binary");
        (code, stdout, self.screen.text())
    }
}

fn send(child: &Child, signal: Signal) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    kill_process(pid.expect("a process has a number"), signal).expect("it is running");
}

#[test]
fn a_secret_is_typed_unseen_and_echo_comes_back() {
    let mut terminal = Terminal::start(&["ask", "--plain", "secret.yaml"]);
    terminal.screen.wait_for("> ", 1);
    terminal.type_line("ada");
    terminal.screen.wait_for("> ", 2);
    assert!(!terminal.echoes());
    terminal.type_line("hunter2hunter2");
    terminal.screen.wait_for("> ", 3);
    assert!(terminal.echoes());
    terminal.type_line("9");
    terminal.screen.wait_for("> ", 4);
    terminal.type_line("");
    let (code, stdout, screen) = terminal.finish();
    assert_eq!(code, 0);
    assert_eq!(
        stdout,
        "{\"user\":\"ada\",\"token\":\"hunter2hunter2\",\"days\":9}\n"
    );
    assert!(screen.contains("> ada"), "{screen}");
    assert!(!screen.contains("hunter2"), "{screen}");
}

#[test]
fn ctrl_c_in_the_middle_of_a_secret_gives_the_terminal_back() {
    let mut terminal = Terminal::start(&["ask", "--plain", "secret.yaml", "--json"]);
    terminal.screen.wait_for("> ", 1);
    terminal.type_line("ada");
    terminal.screen.wait_for("> ", 2);
    assert!(!terminal.echoes());
    send(&terminal.child, Signal::INT);
    terminal.screen.wait_for("cancelled\r\n", 1);
    assert!(terminal.echoes());
    let (code, stdout, screen) = terminal.finish();
    assert_eq!(code, 130);
    let record: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(record["reason"], "user_cancelled");
    let words = "> \r\nentreat: not answered: the question was cancelled\r\n";
    assert!(screen.ends_with(words), "{screen}");
}

#[test]
fn a_deadline_in_the_middle_of_a_secret_gives_the_terminal_back() {
    let mut terminal = Terminal::start(&["ask", "--plain", "secret.yaml", "--timeout", "2s"]);
    terminal.screen.wait_for("> ", 1);
    terminal.type_line("ada");
    terminal
        .screen
        .wait_for("the question timed out; nothing was sent", 1);
    assert!(terminal.echoes());
    let (code, stdout, _) = terminal.finish();
    assert_eq!((code, stdout.as_str()), (5, ""));
}

#[test]
fn whatever_ends_it_from_outside_cancels_the_question() {
    for (signal, expected) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let session = Session::start(&["ask", "greeting.json", "--json"]);
        session.wait_for("> ");
        send(&session.child, signal);
        let run = session.wait();
        assert_eq!(run.code, expected);
        assert_eq!(run.json_lines()[0]["reason"], "user_cancelled");
    }
}

#[test]
fn the_end_of_the_input_is_a_cancel() {
    let mut terminal = Terminal::start(&["ask", "--plain", "greeting.json"]);
    terminal.screen.wait_for("> ", 1);
    // Ctrl-D.
    terminal.keyboard.write_all(b"\x04").unwrap();
    terminal.screen.wait_for("the input ended", 1);
    assert_eq!(terminal.finish().0, 4);
}
