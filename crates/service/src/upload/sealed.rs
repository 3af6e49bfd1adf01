//! A file as it lies on disk: sealed piece by piece, so that it is read and written in little
//! memory.
//!
//! | bytes | |
//! |---|---|
//! | 8 | `entreat` and the format's number |
//! | 4 | the version of the ring's key, big-endian |
//! | 32 | the salt of this file's own key |
//! | 4 | the length of the sealed label, big-endian |
//! | | the label, sealed: field, name and type |
//! | | pieces of 64 KiB, each sealed; the last may be shorter |
//!
//! Label and pieces are the segments of one STREAM construction: each knows its place and whether
//! it is the last. What was cut off, put in another order, or taken from another file does not
//! open. The key is bound to the file's place in the folder, and all of the head to the label.

use std::fs::File;
use std::io::{self, Write as _};

use aead_stream::{DecryptorBE32, EncryptorBE32};
use chacha20poly1305::{KeyInit as _, XChaCha20Poly1305};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::UploadError;
use super::keys::Salt;

/// How much of a file is sealed at a time.
pub(super) const PIECE: usize = 64 << 10;
const TAG: usize = 16;
const MAGIC: [u8; 8] = *b"entreat\x01";
const HEAD: usize = MAGIC.len() + 4 + size_of::<Salt>() + 4;
/// A label is a few names.
const MAX_LABEL: usize = 16 << 10;

/// What is told of a file besides its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Label {
    /// The field that it was sent for.
    pub(super) field: String,
    pub(super) filename: String,
    pub(super) content_type: String,
}

pub(super) type Key = Zeroizing<[u8; 32]>;

/// Writes a file.
pub(super) struct Writer {
    file: File,
    stream: EncryptorBE32<XChaCha20Poly1305>,
    /// Bytes that may turn out to be the last.
    pending: Vec<u8>,
    on_disk: u64,
}

impl Writer {
    pub(super) fn begin(
        mut file: File,
        version: u32,
        salt: &Salt,
        key: &Key,
        label: &Label,
    ) -> Result<Self, UploadError> {
        let mut sealed = serde_json::to_vec(label).map_err(io::Error::other)?;
        let length = sealed.len() + TAG;
        if length > MAX_LABEL {
            return Err(UploadError::Disk(io::Error::other("the label is too long")));
        }
        let head = head(version, salt, u32::try_from(length).unwrap_or(u32::MAX));
        let mut stream = EncryptorBE32::from_aead(cipher(key), &[0; 19].into());
        stream
            .encrypt_next_in_place(&head, &mut sealed)
            .map_err(|_| too_long())?;
        file.write_all(&head)?;
        file.write_all(&sealed)?;
        Ok(Self {
            file,
            stream,
            pending: Vec::with_capacity(PIECE + TAG),
            on_disk: (HEAD + length) as u64,
        })
    }

    pub(super) fn write(&mut self, mut bytes: &[u8]) -> Result<(), UploadError> {
        while !bytes.is_empty() {
            if self.pending.len() == PIECE {
                // More follows, so it is not the last.
                self.stream
                    .encrypt_next_in_place(&[], &mut self.pending)
                    .map_err(|_| too_long())?;
                self.flush()?;
            }
            let taken = bytes.len().min(PIECE - self.pending.len());
            self.pending.extend_from_slice(&bytes[..taken]);
            bytes = &bytes[taken..];
        }
        Ok(())
    }

    /// Writes the rest; it is on disk when this returns. The bytes that the file takes there.
    pub(super) fn finish(self) -> Result<u64, UploadError> {
        let Self {
            mut file,
            stream,
            mut pending,
            on_disk,
        } = self;
        stream
            .encrypt_last_in_place(&[], &mut pending)
            .map_err(|_| too_long())?;
        file.write_all(&pending)?;
        file.sync_all()?;
        Ok(on_disk + pending.len() as u64)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.write_all(&self.pending)?;
        self.on_disk += self.pending.len() as u64;
        self.pending.clear();
        Ok(())
    }
}

/// Reads a file from its beginning.
pub(super) struct Reader<F = File> {
    file: F,
    /// Taken by the last piece.
    stream: Option<DecryptorBE32<XChaCha20Poly1305>>,
    /// How many sealed bytes are left.
    left: u64,
    label: Label,
    size: u64,
}

impl Reader {
    /// Reads the head; `key` finds the file's key by version and salt.
    pub(super) fn open(
        file: File,
        key: impl FnOnce(u32, &Salt) -> Option<Key>,
    ) -> Result<Self, UploadError> {
        let on_disk = file.metadata()?.len();
        Self::of(file, on_disk, key)
    }
}

impl<F: io::Read> Reader<F> {
    /// Reads the head of a file that has so many bytes.
    pub(super) fn of(
        mut file: F,
        on_disk: u64,
        key: impl FnOnce(u32, &Salt) -> Option<Key>,
    ) -> Result<Self, UploadError> {
        let mut bytes = [0; HEAD];
        read_exact(&mut file, &mut bytes)?;
        let (version, salt, length) = parse_head(&bytes).ok_or(UploadError::Damaged)?;
        let key = key(version, &salt).ok_or(UploadError::Damaged)?;
        let mut stream = DecryptorBE32::from_aead(cipher(&key), &[0; 19].into());
        let mut label = vec![0; length];
        read_exact(&mut file, &mut label)?;
        stream
            .decrypt_next_in_place(&bytes, &mut label)
            .map_err(|_| UploadError::Damaged)?;
        let left = on_disk.saturating_sub((HEAD + length) as u64);
        let pieces = left.div_ceil((PIECE + TAG) as u64);
        let tags = pieces * TAG as u64;
        Ok(Self {
            label: serde_json::from_slice(&label).map_err(|_| UploadError::Damaged)?,
            size: left.checked_sub(tags).ok_or(UploadError::Damaged)?,
            stream: Some(stream),
            file,
            left,
        })
    }

    pub(super) fn label(&self) -> &Label {
        &self.label
    }

    /// How many bytes were sent; true once the last piece was read.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Whether everything was read.
    pub(super) fn is_at_end(&self) -> bool {
        self.stream.is_none()
    }

    /// The next piece, which is as it was sent; `None` after the last. Only the only piece of a
    /// file can be empty.
    pub(super) fn next_piece(&mut self) -> Result<Option<Vec<u8>>, UploadError> {
        let Some(mut stream) = self.stream.take() else {
            return Ok(None);
        };
        let sealed = self.left.min((PIECE + TAG) as u64);
        self.left -= sealed;
        let mut piece = vec![0; usize::try_from(sealed).unwrap_or(0)];
        read_exact(&mut self.file, &mut piece)?;
        let opened = if self.left == 0 {
            stream.decrypt_last_in_place(&[], &mut piece)
        } else {
            let opened = stream.decrypt_next_in_place(&[], &mut piece);
            self.stream = Some(stream);
            opened
        };
        opened.map_err(|_| UploadError::Damaged)?;
        Ok(Some(piece))
    }
}

/// A sealed file with these bytes as its label and as its only piece, under a fixed key: for fuzz
/// targets.
pub(crate) fn seal_under_a_fixed_key(label: &[u8], content: &[u8]) -> Option<Vec<u8>> {
    let mut stream = EncryptorBE32::from_aead(cipher(&Key::new([7; 32])), &[0; 19].into());
    let (mut label, mut content) = (label.to_vec(), content.to_vec());
    let length = u32::try_from(label.len() + TAG).ok()?;
    let head = head(1, &Salt::default(), length);
    stream.encrypt_next_in_place(&head, &mut label).ok()?;
    stream.encrypt_last_in_place(&[], &mut content).ok()?;
    Some([&head[..], &label, &content].concat())
}

/// How many bytes are in a sealed file, given as bytes, under a fixed key: for fuzz targets.
pub(crate) fn read_under_a_fixed_key(bytes: &[u8]) -> Option<usize> {
    let key = |_, _: &Salt| Some(Key::new([7; 32]));
    let mut reader = Reader::of(bytes, bytes.len() as u64, key).ok()?;
    let mut size = 0;
    while let Some(piece) = reader.next_piece().ok()? {
        size += piece.len();
    }
    Some(size)
}

fn cipher(key: &Key) -> XChaCha20Poly1305 {
    // Every file has a key of its own, so the nonce has nothing to tell apart but the pieces.
    XChaCha20Poly1305::new((&**key).into())
}

fn head(version: u32, salt: &Salt, length: u32) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[..8].copy_from_slice(&MAGIC);
    head[8..12].copy_from_slice(&version.to_be_bytes());
    head[12..44].copy_from_slice(salt);
    head[44..].copy_from_slice(&length.to_be_bytes());
    head
}

fn parse_head(head: &[u8; HEAD]) -> Option<(u32, Salt, usize)> {
    let (magic, rest) = head.split_first_chunk::<8>()?;
    let (version, rest) = rest.split_first_chunk::<4>()?;
    let (salt, rest) = rest.split_first_chunk::<32>()?;
    let (length, _) = rest.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    let is_sound = *magic == MAGIC && (TAG..=MAX_LABEL).contains(&length);
    is_sound.then_some((u32::from_be_bytes(*version), *salt, length))
}

fn read_exact(file: &mut impl io::Read, bytes: &mut [u8]) -> Result<(), UploadError> {
    file.read_exact(bytes).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => UploadError::Damaged,
        _ => UploadError::Disk(error),
    })
}

fn too_long() -> UploadError {
    UploadError::Full(io::Error::other("the file is too long to be sealed"))
}
