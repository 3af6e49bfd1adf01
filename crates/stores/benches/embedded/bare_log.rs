//! The baseline: entries appended to a file, with one sync for many.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use entreat_engine::Record;
use tokio::sync::{mpsc, oneshot};

/// Preallocated, so that no write extends the file.
const SIZE: usize = 256 << 20;

/// An append-only log without an index.
pub(crate) struct BareLog {
    entries: mpsc::Sender<(Vec<u8>, oneshot::Sender<()>)>,
}

impl BareLog {
    pub(crate) fn create(path: &Path) -> Self {
        let mut file = File::create(path).expect("a file");
        let zeros = vec![0; 1 << 20];
        for _ in 0..SIZE >> 20 {
            file.write_all(&zeros).expect("room on the disk");
        }
        file.sync_all().expect("a disk");
        // One batch, like the store's own queue.
        let (entries, queue) = mpsc::channel(1024);
        std::thread::spawn(move || run(file, queue));
        Self { entries }
    }

    /// Appends the bytes that the store would write.
    pub(crate) async fn append(&self, record: &Record) {
        let bytes = entreat_stores::bench::encode_state(record);
        let (reply, done) = oneshot::channel();
        self.entries.send((bytes, reply)).await.expect("it runs");
        done.await.expect("it runs");
    }
}

fn run(mut file: File, mut queue: mpsc::Receiver<(Vec<u8>, oneshot::Sender<()>)>) {
    let (mut taken, mut bytes, mut place) = (Vec::new(), Vec::new(), 0);
    while queue.blocking_recv_many(&mut taken, 1024) > 0 {
        bytes.clear();
        for (entry, _) in &taken {
            bytes.extend_from_slice(entry);
        }
        if place + bytes.len() > SIZE {
            place = 0;
        }
        file.seek(SeekFrom::Start(place as u64)).expect("a place");
        file.write_all(&bytes).expect("room");
        file.sync_data().expect("a disk");
        place += bytes.len();
        for (_, reply) in taken.drain(..) {
            let _ = reply.send(());
        }
    }
}
