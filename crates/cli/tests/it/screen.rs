//! The real program in a pseudo-terminal, and the screen it draws.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write};
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use rustix::termios::{Termios, tcgetattr};
use tempfile::TempDir;
use vt100::Parser;

/// How long a test waits for something that should be immediate.
const PATIENCE: Duration = Duration::from_secs(30);

/// A terminal with the binary in it. stdout goes to a file, as it does in a script.
pub(crate) struct Screen {
    picture: Arc<(Mutex<Picture>, Condvar)>,
    keyboard: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    master: Box<dyn MasterPty + Send>,
    /// The binary's side of the terminal, to inspect its settings.
    line: File,
    before: Termios,
    folder: TempDir,
}

/// The output so far, as a terminal renders it.
struct Picture {
    parser: Parser,
    /// The last bytes, which may contain the start of a frame mark.
    tail: Vec<u8>,
    /// Whether a frame is being drawn and must not be inspected yet.
    is_drawing: bool,
}

/// The marks around a frame.
const BEGIN: &[u8] = b"\x1b[?2026h";
const END: &[u8] = b"\x1b[?2026l";

impl Picture {
    fn process(&mut self, part: &[u8]) {
        self.parser.process(part);
        for byte in part {
            self.tail.push(*byte);
            if self.tail.ends_with(BEGIN) {
                self.is_drawing = true;
            } else if self.tail.ends_with(END) {
                self.is_drawing = false;
            }
            if self.tail.len() > 64 {
                self.tail.drain(..32);
            }
        }
    }
}

fn size(columns: u16, rows: u16) -> PtySize {
    PtySize {
        rows,
        cols: columns,
        pixel_width: 0,
        pixel_height: 0,
    }
}

fn cells(count: u16) -> NonZero<u16> {
    NonZero::new(count).expect("a terminal has cells")
}

impl Screen {
    pub(crate) fn start(args: &[&str]) -> Self {
        Self::with(args, (80, 24), &[])
    }

    pub(crate) fn with(
        args: &[&str],
        (columns, rows): (u16, u16),
        variables: &[(&str, &str)],
    ) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let pair = native_pty_system()
            .openpty(size(columns, rows))
            .expect("a terminal");
        let name = pair.master.tty_name().expect("the terminal has a name");
        let line = OpenOptions::new().read(true).write(true).open(name);
        let line = line.expect("the other side");
        let mut command = CommandBuilder::new("/bin/sh");
        command.args([
            "-c",
            "exec \"$0\" \"$@\" > \"$OUT\"",
            env!("CARGO_BIN_EXE_entreat"),
        ]);
        command.args(args);
        command.cwd(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/forms"));
        command.env_clear();
        for (name, value) in [("TERM", "xterm-256color"), ("LANG", "C.UTF-8")]
            .iter()
            .chain(variables)
        {
            command.env(name, value);
        }
        command.env("OUT", folder.path().join("out"));
        let before = tcgetattr(&line).expect("the terminal has settings");
        let child = pair.slave.spawn_command(command).expect("the binary runs");
        let parser = Parser::new(cells(rows), cells(columns), 0);
        let picture = Picture {
            parser,
            tail: Vec::new(),
            is_drawing: false,
        };
        let picture = Arc::new((Mutex::new(picture), Condvar::new()));
        let mut stream = pair.master.try_clone_reader().expect("a second handle");
        let seen = picture.clone();
        // It ends with the process of the test at the latest.
        std::thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(length @ 1..) = stream.read(&mut part) {
                let (parser, changed) = &*seen;
                parser
                    .lock()
                    .expect("no listener panics")
                    .process(&part[..length]);
                changed.notify_all();
            }
        });
        Self {
            keyboard: pair.master.take_writer().expect("a keyboard"),
            picture,
            child,
            master: pair.master,
            line,
            before,
            folder,
        }
    }

    /// Types bytes as a terminal sends them.
    pub(crate) fn press(&mut self, keys: &str) {
        self.keyboard
            .write_all(keys.as_bytes())
            .expect("a keyboard");
        self.keyboard.flush().expect("a keyboard");
    }

    /// Waits until the screen satisfies a condition.
    pub(crate) fn wait_until(&self, what: &str, is_so: impl Fn(&vt100::Screen) -> bool) {
        let (parser, changed) = &*self.picture;
        let parser = parser.lock().expect("no listener panics");
        let waited = changed.wait_timeout_while(parser, PATIENCE, |picture| {
            picture.is_drawing || !is_so(picture.parser.screen())
        });
        let (parser, waited) = waited.expect("no listener panics");
        let contents = parser.parser.screen().contents();
        drop(parser);
        assert!(!waited.timed_out(), "no {what} in:\n{contents}");
    }

    pub(crate) fn wait_for(&self, words: &str) {
        self.wait_until(words, |screen| screen.contents().contains(words));
    }

    /// Types, then waits for the effect.
    pub(crate) fn press_for(&mut self, keys: &str, words: &str) {
        self.press(keys);
        self.wait_for(words);
    }

    pub(crate) fn look<T>(&self, at: impl Fn(&vt100::Screen) -> T) -> T {
        let picture = self.picture.0.lock().expect("no listener panics");
        at(picture.parser.screen())
    }

    /// Whether anything is in a colour.
    pub(crate) fn is_coloured(&self) -> bool {
        self.look(|screen| {
            let (rows, columns) = screen.size();
            let mut cells =
                (0..rows.get()).flat_map(|row| (0..columns.get()).map(move |column| (row, column)));
            cells.any(|(row, column)| {
                let cell = screen.cell(row, column).expect("a cell");
                cell.fgcolor() != vt100::Color::Default || cell.bgcolor() != vt100::Color::Default
            })
        })
    }

    /// Returns the screen without the time left.
    pub(crate) fn frame(&self) -> String {
        let contents = self.look(vt100::Screen::contents);
        let rows = contents.lines().map(|row| match row.strip_suffix(" left") {
            Some(start) => {
                let end = start.trim_end_matches(|c: char| c.is_ascii_digit() || c == ':');
                format!("{} -:-- left", end.trim_end())
            }
            None => row.trim_end().to_owned(),
        });
        rows.collect::<Vec<_>>().join("\n")
    }

    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        let mut parser = self.picture.0.lock().expect("no listener panics");
        parser
            .parser
            .screen_mut()
            .set_size(cells(rows), cells(columns));
        drop(parser);
        self.master
            .resize(size(columns, rows))
            .expect("a terminal can be resized");
    }

    pub(crate) fn is_full(&self) -> bool {
        self.look(vt100::Screen::alternate_screen)
    }

    /// Whether typed lines are echoed and edited by the terminal as before.
    pub(crate) fn is_as_before(&self) -> bool {
        let now = tcgetattr(&self.line).expect("the terminal has settings");
        now.local_modes == self.before.local_modes
            && now.input_modes == self.before.input_modes
            && now.output_modes == self.before.output_modes
    }

    pub(crate) fn process(&self) -> i32 {
        let id = self.child.process_id().expect("it is running");
        i32::try_from(id).expect("a process has a number")
    }

    /// Waits for the exit code and stdout. The terminal must be restored.
    pub(crate) fn finish(mut self) -> (u32, String) {
        let status = self.child.wait().expect("the binary ends");
        self.wait_until("end of the screen", |screen| {
            !screen.alternate_screen() && !screen.hide_cursor() && !screen.bracketed_paste()
        });
        assert!(self.is_as_before(), "the terminal was not given back");
        (status.exit_code(), self.stdout())
    }

    fn stdout(&self) -> String {
        let path: PathBuf = self.folder.path().join("out");
        std::fs::read_to_string(path).expect("stdout is text")
    }
}
