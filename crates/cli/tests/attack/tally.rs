//! Counts the samples that a test tries, and tells all that did not hold at once.

/// How many attacks of a test were made, and which of them did not hold.
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

    /// Notes one attack: what it was, whether what must hold did, and what was seen.
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

    /// Fails if anything did not hold. What is printed is counted by `cargo xtask attack`.
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
