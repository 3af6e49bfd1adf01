//! The format of sealed files: encrypted in segments, so that reading and writing take little
//! memory.
//!
//! | bytes | |
//! |---|---|
//! | 8 | `entreat` and the format version |
//! | 4 | the version of the ring's key, big-endian |
//! | 32 | the salt of the file's key |
//! | 4 | the length of the sealed label, big-endian |
//! | | the label, sealed: field, name and type |
//! | | segments of 64 KiB, each sealed; the last may be shorter |
//!
//! Label and segments form one STREAM construction, which authenticates each segment's position and
//! which one is the last. Truncated, reordered or foreign segments do not open. The key is bound to
//! the file's location in the folder; the header is authenticated with the label.

use std::fs::File;
use std::io::{self, Write as _};

use aead_stream::{DecryptorBE32, EncryptorBE32};
use chacha20poly1305::{KeyInit as _, XChaCha20Poly1305};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::UploadError;
use super::keys::Salt;

/// Segment size in bytes.
pub(super) const SEGMENT: usize = 64 << 10;
const TAG: usize = 16;
const MAGIC: [u8; 8] = *b"entreat\x01";
const HEADER_LEN: usize = MAGIC.len() + 4 + size_of::<Salt>() + 4;
/// Maximum size of a sealed label.
const MAX_LABEL: usize = 16 << 10;

/// The metadata of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Label {
    /// The id of the field it was uploaded for.
    pub(super) field: String,
    pub(super) filename: String,
    pub(super) content_type: String,
}

pub(super) type Key = Zeroizing<[u8; 32]>;

/// Writes a sealed file.
pub(super) struct Writer {
    file: File,
    stream: EncryptorBE32<XChaCha20Poly1305>,
    /// A segment that may turn out to be the last.
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
        let header = header(version, salt, u32::try_from(length).unwrap_or(u32::MAX));
        let mut stream = EncryptorBE32::from_aead(cipher(key), &[0; 19].into());
        stream
            .encrypt_next_in_place(&header, &mut sealed)
            .map_err(|_| too_long())?;
        file.write_all(&header)?;
        file.write_all(&sealed)?;
        Ok(Self {
            file,
            stream,
            pending: Vec::with_capacity(SEGMENT + TAG),
            on_disk: (HEADER_LEN + length) as u64,
        })
    }

    pub(super) fn write(&mut self, mut bytes: &[u8]) -> Result<(), UploadError> {
        while !bytes.is_empty() {
            if self.pending.len() == SEGMENT {
                // More data follows, so this segment is not the last.
                self.stream
                    .encrypt_next_in_place(&[], &mut self.pending)
                    .map_err(|_| too_long())?;
                self.flush()?;
            }
            let taken = bytes.len().min(SEGMENT - self.pending.len());
            self.pending.extend_from_slice(&bytes[..taken]);
            bytes = &bytes[taken..];
        }
        Ok(())
    }

    /// Writes and syncs the last segment; returns the size on disk.
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

/// Reads a sealed file sequentially.
pub(super) struct Reader<F = File> {
    file: F,
    /// `None` after the last segment.
    stream: Option<DecryptorBE32<XChaCha20Poly1305>>,
    /// The number of sealed bytes left.
    left: u64,
    label: Label,
    size: u64,
}

impl Reader {
    /// Reads the header and label; `key` looks up the file's key by version and salt.
    pub(super) fn open(
        file: File,
        key: impl FnOnce(u32, &Salt) -> Option<Key>,
    ) -> Result<Self, UploadError> {
        let on_disk = file.metadata()?.len();
        Self::of(file, on_disk, key)
    }
}

impl<F: io::Read> Reader<F> {
    /// Reads the header and label of a file of this size on disk.
    pub(super) fn of(
        mut file: F,
        on_disk: u64,
        key: impl FnOnce(u32, &Salt) -> Option<Key>,
    ) -> Result<Self, UploadError> {
        let mut bytes = [0; HEADER_LEN];
        read_exact(&mut file, &mut bytes)?;
        let (version, salt, length) = parse_header(&bytes).ok_or(UploadError::Damaged)?;
        let key = key(version, &salt).ok_or(UploadError::Damaged)?;
        let mut stream = DecryptorBE32::from_aead(cipher(&key), &[0; 19].into());
        let mut label = vec![0; length];
        read_exact(&mut file, &mut label)?;
        stream
            .decrypt_next_in_place(&bytes, &mut label)
            .map_err(|_| UploadError::Damaged)?;
        let left = on_disk.saturating_sub((HEADER_LEN + length) as u64);
        let segments = left.div_ceil((SEGMENT + TAG) as u64);
        let tags = segments * TAG as u64;
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

    /// The size of the contents; authenticated only once the last segment was read.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Whether the last segment was read.
    pub(super) fn is_at_end(&self) -> bool {
        self.stream.is_none()
    }

    /// Returns the next authenticated segment; `None` after the last. A segment is empty only if
    /// the file is.
    pub(super) fn next_segment(&mut self) -> Result<Option<Vec<u8>>, UploadError> {
        let Some(mut stream) = self.stream.take() else {
            return Ok(None);
        };
        let sealed = self.left.min((SEGMENT + TAG) as u64);
        self.left -= sealed;
        let mut segment = vec![0; usize::try_from(sealed).unwrap_or(0)];
        read_exact(&mut self.file, &mut segment)?;
        let opened = if self.left == 0 {
            stream.decrypt_last_in_place(&[], &mut segment)
        } else {
            let opened = stream.decrypt_next_in_place(&[], &mut segment);
            self.stream = Some(stream);
            opened
        };
        opened.map_err(|_| UploadError::Damaged)?;
        Ok(Some(segment))
    }
}

/// Seals these bytes as label and only segment under a fixed key, for fuzz targets.
pub(crate) fn seal_with_fixed_key(label: &[u8], content: &[u8]) -> Option<Vec<u8>> {
    let mut stream = EncryptorBE32::from_aead(cipher(&Key::new([7; 32])), &[0; 19].into());
    let (mut label, mut content) = (label.to_vec(), content.to_vec());
    let length = u32::try_from(label.len() + TAG).ok()?;
    let header = header(1, &Salt::default(), length);
    stream.encrypt_next_in_place(&header, &mut label).ok()?;
    stream.encrypt_last_in_place(&[], &mut content).ok()?;
    Some([&header[..], &label, &content].concat())
}

/// Returns the content length of a file sealed under a fixed key, for fuzz targets.
pub(crate) fn open_with_fixed_key(bytes: &[u8]) -> Option<usize> {
    let key = |_, _: &Salt| Some(Key::new([7; 32]));
    let mut reader = Reader::of(bytes, bytes.len() as u64, key).ok()?;
    let mut size = 0;
    while let Some(segment) = reader.next_segment().ok()? {
        size += segment.len();
    }
    Some(size)
}

fn cipher(key: &Key) -> XChaCha20Poly1305 {
    // Each file has its own key, so the nonce only needs to distinguish segments.
    XChaCha20Poly1305::new((&**key).into())
}

fn header(version: u32, salt: &Salt, length: u32) -> [u8; HEADER_LEN] {
    let mut header = [0; HEADER_LEN];
    header[..8].copy_from_slice(&MAGIC);
    header[8..12].copy_from_slice(&version.to_be_bytes());
    header[12..44].copy_from_slice(salt);
    header[44..].copy_from_slice(&length.to_be_bytes());
    header
}

fn parse_header(header: &[u8; HEADER_LEN]) -> Option<(u32, Salt, usize)> {
    let (magic, rest) = header.split_first_chunk::<8>()?;
    let (version, rest) = rest.split_first_chunk::<4>()?;
    let (salt, rest) = rest.split_first_chunk::<32>()?;
    let (length, _) = rest.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    let is_valid = *magic == MAGIC && (TAG..=MAX_LABEL).contains(&length);
    is_valid.then_some((u32::from_be_bytes(*version), *salt, length))
}

fn read_exact(file: &mut impl io::Read, bytes: &mut [u8]) -> Result<(), UploadError> {
    file.read_exact(bytes).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => UploadError::Damaged,
        _ => UploadError::Disk(error),
    })
}

fn too_long() -> UploadError {
    UploadError::Full(io::Error::other("the file is too large to encrypt"))
}
