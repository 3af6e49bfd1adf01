//! Checksums of stored data: corruption is an error, never a wrong answer.
//!
//! A checksum covers a part of a record and the other columns of its row, so that no part can end
//! up in another record. It does not protect against attackers with write access, who can compute
//! it too.

use crate::forms::Digest;
use crate::record::RecordError;

/// Long enough to make undetected corruption implausible.
pub(crate) type Sum = [u8; 8];

const LENGTH: usize = size_of::<Sum>();

/// The other columns of a record's row.
pub(crate) struct Columns<'c> {
    pub(crate) id: &'c [u8; 16],
    pub(crate) version: u32,
    pub(crate) asker: &'c str,
    /// The idempotency key.
    pub(crate) key: Option<&'c str>,
    pub(crate) form: Option<&'c Digest>,
}

impl Columns<'_> {
    /// Appends the checksum of a request. It excludes the version, because the request does not
    /// change.
    pub(crate) fn append_request_sum(&self, part: &mut Vec<u8>) {
        let sum = self.sum_of_request(part);
        part.extend_from_slice(&sum);
    }

    /// Verifies and strips the checksum of a request.
    pub(crate) fn request<'p>(&self, bytes: &'p [u8]) -> Result<&'p [u8], RecordError> {
        verified(bytes, |part| self.sum_of_request(part))
    }

    /// Verifies and strips the checksum of a state.
    pub(crate) fn state<'p>(&self, bytes: &'p [u8]) -> Result<&'p [u8], RecordError> {
        verified(bytes, |part| sum_of_state(self.id, self.version, part))
    }

    fn sum_of_request(&self, part: &[u8]) -> Sum {
        SumHasher::of(b"request")
            .with(self.id)
            .with(self.asker.as_bytes())
            .with_some(self.key.map(str::as_bytes))
            .with_some(self.form.map(|form| &form[..]))
            .finish(part)
    }
}

/// Appends the checksum of a state.
pub(crate) fn append_state_sum(id: &[u8; 16], version: u32, part: &mut Vec<u8>) {
    let sum = sum_of_state(id, version, part);
    part.extend_from_slice(&sum);
}

fn sum_of_state(id: &[u8; 16], version: u32, part: &[u8]) -> Sum {
    SumHasher::of(b"state")
        .with(id)
        .with(&version.to_le_bytes())
        .finish(part)
}

/// Returns the checksum of a note.
pub(crate) fn of_note(name: &str, text: &str) -> Sum {
    SumHasher::of(b"note")
        .with(name.as_bytes())
        .finish(text.as_bytes())
}

/// Returns the checksum of a claim.
pub(crate) fn of_claim(
    key: &[u8],
    inputs: &[u8],
    expires: i64,
    holder: Option<[u8; 16]>,
    outcome: Option<&[u8]>,
) -> Sum {
    let sum = SumHasher::of(b"claim").with(key).with(inputs);
    // Claims from before there were holders have none.
    let sum = match holder {
        Some(holder) => sum.with(&holder),
        None => sum,
    };
    sum.with_some(outcome).finish(&expires.to_le_bytes())
}

fn verified(bytes: &[u8], sum: impl FnOnce(&[u8]) -> Sum) -> Result<&[u8], RecordError> {
    match bytes.split_last_chunk::<LENGTH>() {
        Some((part, found)) if sum(part) == *found => Ok(part),
        _ => Err(RecordError::Damaged),
    }
}

/// Hashes several values with length prefixes, so that their boundaries are unambiguous.
struct SumHasher(blake3::Hasher);

impl SumHasher {
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

    fn finish(self, last: &[u8]) -> Sum {
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
        columns().append_request_sum(&mut request);
        append_state_sum(&ID, 3, &mut state);
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
        columns().append_request_sum(&mut request);
        let mut state = b"where it stands".to_vec();
        append_state_sum(&ID, 3, &mut state);
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
