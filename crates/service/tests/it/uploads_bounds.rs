//! Uploads on machines with little memory and disk space, and what they cost.

use std::path::PathBuf;

use bytes::Bytes;
use entreat_service::upload::{ReceiveError, UploadError};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use crate::child;
#[cfg(target_os = "linux")]
use crate::costs::thread_time;
use crate::uploads::{Ground, location, named, pieces};

#[cfg(target_os = "linux")]
#[test]
fn a_large_file_takes_little_memory() {
    child::run("uploads_bounds::child_with_a_large_file");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn child_with_a_large_file() {
    if !child::is_one() {
        return;
    }
    let peak = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with("VmHWM:"))
            .unwrap();
        let number = line.split_whitespace().nth(1).unwrap();
        number.parse::<usize>().unwrap() >> 10
    };
    let ground = Ground::new().await;
    ground.send(&vec![5; 100_000]).await;
    let before = peak();
    let piece = Bytes::from(vec![5; 16 << 10]);
    let body = stream::repeat_with(move || Ok(piece.clone())).take(200 << 6);
    let kept = ground.receive("any", named("large"), body).await.unwrap();
    assert_eq!(kept["size"], 200 << 20);
    let stream = ground
        .uploads
        .read(ground.id, location(&kept))
        .await
        .unwrap();
    let size = stream.try_fold(0, |size, piece| async move { Ok(size + piece.len()) });
    assert_eq!(size.await.unwrap(), 200 << 20);
    let grown = peak() - before;
    assert!(grown < 16, "{grown} MiB for a file of 200");
}

#[cfg(unix)]
#[test]
fn a_full_disk_is_told_and_leaves_nothing_behind() {
    child::run("uploads_bounds::child_with_a_full_disk");
}

#[cfg(unix)]
#[tokio::test]
async fn child_with_a_full_disk() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    if !child::is_one() {
        return;
    }
    let ground = Ground::new().await;
    let before = getrlimit(Resource::Fsize);
    let limit = Rlimit {
        current: Some(300 << 10),
        maximum: before.maximum,
    };
    setrlimit(Resource::Fsize, limit).unwrap();
    let bytes = vec![1; 1 << 20];
    let full = ground
        .receive("any", named("a"), pieces(&bytes, 9999))
        .await;
    let is_full = matches!(full, Err(ReceiveError::Upload(UploadError::Full(_))));
    assert!(is_full, "{full:?}");
    assert_eq!(ground.files(), Vec::<PathBuf>::new());
    setrlimit(Resource::Fsize, before).unwrap();
    ground.send(&bytes).await;
}

/// Without a socket, so that the cost of a chunk does not depend on how many of them a read returns,
/// and work that is repeated for each chunk stands out.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn sixteen_times_the_chunks_cost_about_sixteen_times_the_work() {
    const FEW: usize = 1 << 14;
    for length in [1, 100] {
        let ground = Ground::new().await;
        let piece = Bytes::from(vec![b'x'; length]);
        let cost = async |count: usize| {
            let mut least = u64::MAX;
            // The least of three: whatever else this machine does only adds to the cost.
            for _ in 0..3 {
                let piece = piece.clone();
                let body = stream::repeat_with(move || Ok(piece.clone())).take(count);
                // Only this task runs on this thread; another thread writes.
                let before = thread_time();
                let kept = ground.receive("any", named("a"), body).await.unwrap();
                least = least.min(thread_time() - before);
                assert_eq!(kept["size"], count * length);
            }
            least
        };
        let (less, more) = (cost(FEW).await, cost(16 * FEW).await);
        assert!(
            more < 32 * less,
            "chunks of {length}: {less} ns for {FEW}, {more} ns for 16 times as many"
        );
    }
}
