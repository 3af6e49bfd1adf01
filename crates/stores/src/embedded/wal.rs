//! Checks the write-ahead log left by a process that crashed.
//!
//! SQLite reads such a log up to the first frame with a wrong checksum and takes that for the end:
//! it cannot distinguish a torn write from later corruption. We can, because a transaction is on
//! disk before the next begins: a commit after a broken frame means that the frame was damaged
//! later.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;
/// Magic number; the last bit is the byte order of checksums.
const MAGIC: u32 = 0x377f_0682;

/// Whether the log has lost acknowledged transactions. A missing log has not.
pub(super) fn is_damaged(path: &Path) -> io::Result<bool> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    is_damaged_log(&mut BufReader::with_capacity(1 << 16, file))
}

fn is_damaged_log(log: &mut impl Read) -> io::Result<bool> {
    let mut header = [0; HEADER];
    if !fill(log, &mut header)? || header.iter().all(|byte| *byte == 0) {
        // The header is synced before the first frame, so nothing was acknowledged.
        return Ok(false);
    }
    let word = |bytes: &[u8], at: usize| {
        let mut word = [0; 4];
        word.copy_from_slice(&bytes[at..at + 4]);
        u32::from_be_bytes(word)
    };
    let (magic, page) = (word(&header, 0), word(&header, 8) as usize);
    let is_big_endian = magic & 1 == 1;
    let mut sum = Checksum::new(is_big_endian);
    sum.add(&header[..24]);
    if magic & !1 != MAGIC
        || !(512..=65536).contains(&page)
        || !page.is_power_of_two()
        || sum.words != [word(&header, 24), word(&header, 28)]
    {
        return Ok(true);
    }
    let mut frame = vec![0; FRAME_HEADER + page];
    // Frames of an earlier generation may follow; they have other salts.
    let is_ours = |frame: &[u8]| frame[8..16] == header[16..24];
    let mut is_broken = false;
    // Commits in the broken frame or after it.
    let mut commits = 0;
    while fill(log, &mut frame)? {
        if !is_broken {
            let mut next = sum.clone();
            next.add(&frame[..8]);
            next.add(&frame[FRAME_HEADER..]);
            if is_ours(&frame) && next.words == [word(&frame, 16), word(&frame, 20)] {
                sum = next;
                continue;
            }
            is_broken = true;
        }
        commits += usize::from(is_ours(&frame) && word(&frame, 4) != 0);
    }
    Ok(commits > 1)
}

/// Fills the buffer; false at the end of the log.
fn fill(log: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match log.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// SQLite's cumulative WAL checksum.
#[derive(Clone)]
struct Checksum {
    is_big_endian: bool,
    words: [u32; 2],
}

impl Checksum {
    fn new(is_big_endian: bool) -> Self {
        Self {
            is_big_endian,
            words: [0; 2],
        }
    }

    fn add(&mut self, bytes: &[u8]) {
        let (chunks, _) = bytes.as_chunks::<4>();
        let read = if self.is_big_endian {
            u32::from_be_bytes
        } else {
            u32::from_le_bytes
        };
        let [mut first, mut second] = self.words;
        let (pairs, _) = chunks.as_chunks::<2>();
        for [one, other] in pairs {
            first = first.wrapping_add(read(*one)).wrapping_add(second);
            second = second.wrapping_add(read(*other)).wrapping_add(first);
        }
        self.words = [first, second];
    }
}
