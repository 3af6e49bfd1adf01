//! Uploaded files as they lie on disk: any bytes, and sealed ones of which one byte was changed.
//!
//! Not a part of the library, like `message.rs`: the tests of the service include this file.

use entreat_service::fuzzing;

/// Reads bytes as a sealed file, then seals them and reads that. The first byte says how many of
/// them are the label, the next three where and how one byte of the file is changed.
pub(crate) fn run(data: &[u8]) {
    if let Some(size) = fuzzing::sealed_upload(data) {
        assert!(size < data.len(), "more comes out than is in it");
    }
    let [length, place @ .., change] = data else {
        return;
    };
    let (label, content) = place.split_at(usize::from(*length).min(place.len()));
    let Some(mut file) = fuzzing::seal_upload(label, content) else {
        return;
    };
    let size = fuzzing::sealed_upload(&file);
    assert!(size.is_none_or(|size| size == content.len()));
    let place = data.iter().fold(0, |sum: usize, byte| {
        sum.wrapping_mul(31).wrapping_add(usize::from(*byte))
    });
    let place = place % file.len();
    file[place] ^= change;
    let is_changed = *change != 0;
    let read = fuzzing::sealed_upload(&file);
    // The number of the key alone says nothing about what is sealed.
    assert!(
        !is_changed || read.is_none() || read == size,
        "byte {place}"
    );
    file.truncate(place);
    assert!(fuzzing::sealed_upload(&file).is_none(), "cut at {place}");
}
