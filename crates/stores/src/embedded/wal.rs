//! Looks at the log that a process left which did not close its store.
//!
//! SQLite reads such a log up to the first frame whose checksum is wrong, and takes that for the
//! end: it cannot tell a frame that was being written when the power failed from one that a disk
//! has damaged since. We can, by what follows. A transaction is on disk before the next begins,
//! so that behind one that is broken there is none, unless it was damaged afterwards.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;
/// What a log begins with; the last bit says how its checksums read words.
const MAGIC: u32 = 0x377f_0682;

/// Whether the log has lost what was once acknowledged. One that is not there has not.
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
        // Nothing was ever acknowledged in it: its header is on disk before its first frame.
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
    // Frames of an earlier round may follow; these have other salts.
    let is_ours = |frame: &[u8]| frame[8..16] == header[16..24];
    let mut is_broken = false;
    // How many transactions end at the broken frame or behind it.
    let mut ends = 0;
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
        ends += usize::from(is_ours(&frame) && word(&frame, 4) != 0);
    }
    Ok(ends > 1)
}

/// Fills the buffer; false if the log ends before.
fn fill(log: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match log.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// The checksum of SQLite's log, which goes on from frame to frame.
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
