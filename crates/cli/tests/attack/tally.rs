//! Counts the samples that a test tries, and reports all failures at once.

/// The number of attacks in a test, and which of them succeeded.
pub(crate) struct Tally {
    made: usize,
    broken: Vec<String>,
}

impl Tally {
    pub(crate) fn new() -> Self {
        Self {
            made: 0,
            broken: Vec::new(),
        }
    }

    /// Records one attack: its description, whether the defence held, and what was observed.
    pub(crate) fn note(
        &mut self,
        attack: impl std::fmt::Display,
        holds: bool,
        seen: impl std::fmt::Display,
    ) {
        self.made += 1;
        if !holds {
            let seen: String = seen.to_string().chars().take(400).collect();
            self.broken.push(format!("{attack}: {seen}"));
        }
    }

    /// Fails if any attack succeeded. `cargo xtask attack` counts the printed lines.
    #[expect(
        clippy::print_stdout,
        reason = "the count is for whoever runs the attacks"
    )]
    pub(crate) fn finish(self) {
        let Self { made, broken } = self;
        println!("attacks: {made}");
        let told = broken.join("\n  ");
        assert!(
            broken.is_empty(),
            "{} of {made} did not hold:\n  {told}",
            broken.len()
        );
    }
}
