//! Checksums of what is kept: what a broken disk changed is an error, and never a wrong answer.
//!
//! A checksum covers a part of a record and what stands beside it in its row, so that no part can
//! come to belong to another record. It is no defence against those who can write to the file:
//! they can write a checksum too.

use crate::forms::Digest;
use crate::record::RecordError;

/// Enough that no flipped bits are overlooked by chance.
pub(crate) type Sum = [u8; 8];

const LENGTH: usize = size_of::<Sum>();

/// What stands beside the parts of a record.
pub(crate) struct Columns<'c> {
    pub(crate) id: &'c [u8; 16],
    pub(crate) version: u32,
    pub(crate) asker: &'c str,
    /// The idempotency key.
    pub(crate) key: Option<&'c str>,
    pub(crate) form: Option<&'c Digest>,
}

impl Columns<'_> {
    /// Ends a request with its checksum. The version is not in it, because it changes and the
    /// request does not.
    pub(crate) fn end_request(&self, part: &mut Vec<u8>) {
        let sum = self.sum_of_request(part);
        part.extend_from_slice(&sum);
    }

    /// A request as it was before it had a checksum, if it is still the same.
    pub(crate) fn request<'p>(&self, kept: &'p [u8]) -> Result<&'p [u8], RecordError> {
        checked(kept, |part| self.sum_of_request(part))
    }

    /// A state as it was before it had a checksum, if it is still the same.
    pub(crate) fn state<'p>(&self, kept: &'p [u8]) -> Result<&'p [u8], RecordError> {
        checked(kept, |part| sum_of_state(self.id, self.version, part))
    }

    fn sum_of_request(&self, part: &[u8]) -> Sum {
        Summing::of(b"request")
            .with(self.id)
            .with(self.asker.as_bytes())
            .with_some(self.key.map(str::as_bytes))
            .with_some(self.form.map(|form| &form[..]))
            .end(part)
    }
}

/// Ends a state with its checksum.
pub(crate) fn end_state(id: &[u8; 16], version: u32, part: &mut Vec<u8>) {
    let sum = sum_of_state(id, version, part);
    part.extend_from_slice(&sum);
}

fn sum_of_state(id: &[u8; 16], version: u32, part: &[u8]) -> Sum {
    Summing::of(b"state")
        .with(id)
        .with(&version.to_le_bytes())
        .end(part)
}

/// The checksum of a note.
pub(crate) fn of_note(name: &str, text: &str) -> Sum {
    Summing::of(b"note")
        .with(name.as_bytes())
        .end(text.as_bytes())
}

/// The checksum of a claim.
pub(crate) fn of_claim(key: &[u8], inputs: &[u8], expires: i64, outcome: Option<&[u8]>) -> Sum {
    Summing::of(b"claim")
        .with(key)
        .with(inputs)
        .with_some(outcome)
        .end(&expires.to_le_bytes())
}

fn checked(kept: &[u8], sum: impl FnOnce(&[u8]) -> Sum) -> Result<&[u8], RecordError> {
    match kept.split_last_chunk::<LENGTH>() {
        Some((part, found)) if sum(part) == *found => Ok(part),
        _ => Err(RecordError::Damaged),
    }
}

/// A checksum of several values, none of which can be taken for a part of its neighbour.
struct Summing(blake3::Hasher);

impl Summing {
    fn of(kind: &[u8]) -> Self {
        Self(blake3::Hasher::new()).with(kind)
    }

    fn with(mut self, value: &[u8]) -> Self {
        self.0.update(&(value.len() as u64).to_le_bytes());
        self.0.update(value);
        self
    }

    fn with_some(self, value: Option<&[u8]>) -> Self {
        match value {
            Some(value) => self.with(&[1]).with(value),
            None => self.with(&[0]),
        }
    }

    fn end(self, last: &[u8]) -> Sum {
        let mut sum = Sum::default();
        self.with(last).0.finalize_xof().fill(&mut sum);
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: [u8; 16] = [7; 16];

    fn columns() -> Columns<'static> {
        Columns {
            id: &ID,
            version: 3,
            asker: "asker",
            key: Some("key"),
            form: Some(&[9; 16]),
        }
    }

    #[test]
    fn a_part_is_read_back_and_no_other_bit_of_it_is() {
        let part = b"what was asked".to_vec();
        let (mut request, mut state) = (part.clone(), part.clone());
        columns().end_request(&mut request);
        end_state(&ID, 3, &mut state);
        assert_eq!(columns().request(&request).unwrap(), part);
        assert_eq!(columns().state(&state).unwrap(), part);
        for bit in 0..request.len() * 8 {
            for kept in [&mut request, &mut state] {
                kept[bit / 8] ^= 1 << (bit % 8);
            }
            assert!(columns().request(&request).is_err(), "bit {bit}");
            assert!(columns().state(&state).is_err(), "bit {bit}");
            for kept in [&mut request, &mut state] {
                kept[bit / 8] ^= 1 << (bit % 8);
            }
        }
        assert!(columns().request(&state).is_err());
        assert!(columns().request(&[]).is_err());
    }

    #[test]
    fn a_part_belongs_to_its_row() {
        let mut request = b"what was asked".to_vec();
        columns().end_request(&mut request);
        let mut state = b"where it stands".to_vec();
        end_state(&ID, 3, &mut state);
        let other = [6; 16];
        let others = [
            Columns {
                id: &other,
                ..columns()
            },
            Columns {
                asker: "askes",
                ..columns()
            },
            Columns {
                key: None,
                ..columns()
            },
            Columns {
                key: Some("kez"),
                ..columns()
            },
            Columns {
                form: None,
                ..columns()
            },
            Columns {
                form: Some(&[8; 16]),
                ..columns()
            },
        ];
        for columns in &others {
            assert!(columns.request(&request).is_err());
        }
        let another_version = Columns {
            version: 2,
            ..columns()
        };
        assert!(another_version.request(&request).is_ok());
        assert!(another_version.state(&state).is_err());
        assert!(others[0].state(&state).is_err());
    }
}
