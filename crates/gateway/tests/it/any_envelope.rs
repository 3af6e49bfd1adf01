//! The envelope of a message means what its tree does.

#[path = "../../../../fuzz/src/envelope.rs"]
mod envelope;

/// Bytes that change what a message means.
const PIECES: [&str; 10] = [
    "\"",
    "\\",
    "{",
    "}",
    ",",
    ":",
    "\"id\":1,",
    "\\u0069",
    "null",
    "\u{feff}",
];

#[test]
fn changed_messages_mean_what_their_trees_do() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/envelope");
    let mut random = fastrand::Rng::with_seed(7);
    let mut seeds = 0;
    for seed in std::fs::read_dir(folder).unwrap() {
        let seed = std::fs::read(seed.unwrap().path()).unwrap();
        envelope::run(&seed);
        seeds += 1;
        for _ in 0..2_000 {
            let mut changed = seed.clone();
            for _ in 0..random.usize(1..4) {
                let from = random.usize(..=changed.len());
                let to = (from + random.usize(0..4)).min(changed.len());
                let piece = random.choice(PIECES).unwrap_or_default();
                changed.splice(from..to, piece.bytes());
            }
            envelope::run(&changed);
        }
    }
    assert!(seeds > 0);
}
