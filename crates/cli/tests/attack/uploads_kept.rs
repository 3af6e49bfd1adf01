//! Acknowledged files are not lost, and those of one question leave room for those of another.

use std::io::Write as _;
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;

use crate::browser::{Page, part, result};
use crate::program::{Program, folder};
use crate::service::{Service, serve};
use crate::tally::Tally;
use crate::times;
use crate::uploads::{files, location, sent};
use crate::wire::connect;

/// A service with a store on disk, whose steps are slow enough to overlap.
fn on_disk() -> Service {
    let folder = folder();
    let command = serve(folder.path(), &["--store", "q.db"]);
    Service::spawn(command, folder)
}

#[test]
fn every_upload_that_got_its_200_is_in_the_answer() {
    let service = on_disk();
    let mut tally = Tally::new();
    for round in 0..times(2, 20) {
        let question = service.ask(&files(8));
        let page = Page::open(&service, &question.link);
        let taken = std::thread::scope(|scope| {
            let page = &page;
            let uploads = (0..8).map(|number| {
                scope.spawn(move || page.upload(0, &format!("{number}.txt"), b"content").status)
            });
            let uploads: Vec<_> = uploads.collect();
            let ended = uploads
                .into_iter()
                .map(|upload| upload.join().expect("it does not panic"));
            ended.filter(|status| *status == 200).count()
        });
        let kept = sent(&service, &page, &question).len();
        tally.note(
            format_args!("round {round}"),
            kept == taken && taken > 0,
            format_args!("{taken} taken, {kept} sent"),
        );
    }
    tally.finish();
}

#[test]
fn an_upload_and_a_draft_at_the_same_time_are_both_kept() {
    let service = on_disk();
    let fields = json!([{"id": "doc", "type": "file", "label": "Files", "validation": {"maxItems": 8}},
        {"id": "name", "type": "text", "label": "Name"}]);
    let question = service.ask(&fields);
    let page = Page::open(&service, &question.link);
    let taken = std::thread::scope(|scope| {
        let page = &page;
        let drafts = scope.spawn(move || {
            for number in 0..16 {
                page.post(&format!("_f=1&f.name=draft+{number}&_do=step"));
            }
        });
        let taken = (0..8)
            .filter(|number| page.upload(0, &format!("{number}.txt"), b"content").status == 200);
        let taken = taken.count();
        drafts.join().expect("it does not panic");
        taken
    });
    let kept = sent(&service, &page, &question).len();
    let mut tally = Tally::new();
    tally.note(
        "drafts beside uploads",
        kept == taken && taken > 0,
        format_args!("{taken} taken, {kept} sent"),
    );
    tally.finish();
}

/// Starts this many uploads that never end.
fn hold_uploads(service: &Service, page: &Page, count: usize) -> Vec<TcpStream> {
    let begin = |_| {
        let head = page
            .uploading(0, "slow.txt")
            .header("content-type", "text/plain")
            .header("content-length", "1000")
            .bytes(&service.address);
        let mut stream = connect(&service.address);
        stream.write_all(&head).expect("it is read");
        stream.write_all(b"begun").expect("it is read");
        stream
    };
    (0..count).map(begin).collect()
}

#[test]
fn uploads_to_one_question_leave_room_for_those_to_another() {
    let service = Service::start(&[]);
    let slow = service.ask(&files(100));
    let page = Page::open(&service, &slow.link);
    let held = hold_uploads(&service, &page, 200);
    let mut tally = Tally::new();
    for way in ["by the script", "by the form"] {
        let question = service.ask(&files(2));
        let other = Page::open(&service, &question.link);
        let reply = if way == "by the script" {
            other.upload(0, "a.txt", b"content")
        } else {
            let file = part("name=\"f.doc\"; filename=\"a.txt\"", b"content");
            other.multipart(&[file]).expect("it is replied to")
        };
        tally.note(way, matches!(reply.status, 200 | 303), reply.told());
    }
    service.serves_others("two hundred uploads that never end");
    drop(held);
    tally.finish();
}

#[test]
fn a_second_service_leaves_the_files_of_the_first_alone() {
    let folder = folder();
    let path = folder.path().to_owned();
    let mut command = serve(&path, &["--store", "a.db"]);
    command
        .env("ENTREAT_UPLOADS_FOLDER", "files")
        .env("ENTREAT_UPLOADS_INLINE_LIMIT", "1");
    let service = Service::spawn(command, folder);
    let question = service.ask(&files(1));
    let page = Page::open(&service, &question.link);
    assert_eq!(page.upload(0, "a.txt", b"content").status, 200);
    let mut second = serve(&path, &["--store", "b.db"]);
    second.env("ENTREAT_UPLOADS_FOLDER", "files");
    let mut second = Program::spawn(second);
    let ended = second.ends_within(Duration::from_secs(8));
    drop(second);
    let mut tally = Tally::new();
    let is_refused = ended.is_some_and(|ended| ended.code() == Some(2));
    tally.note("it does not start", is_refused, format_args!("{ended:?}"));
    let reply = page.post("_f=0&_do=send");
    let file = result(&service, &question.id)["doc"].clone();
    let fetched = service.get(&format!("/{}", location(&file).trim_start_matches('/')));
    let holds = fetched.text() == "content";
    tally.note(
        "the file is there",
        holds,
        format_args!("{} {file}", reply.status),
    );
    tally.finish();
}

#[test]
fn empty_files_without_end_are_refused_before_they_fill_the_folder() {
    let service = Service::start(&[]);
    let question = service.ask(&files(2));
    let page = Page::open(&service, &question.link);
    let taken = (0..60)
        .filter(|number| page.upload(0, &format!("{number}.txt"), b"").status == 200)
        .count();
    let mut tally = Tally::new();
    // The field's limit, and some that replace others.
    tally.note(
        "sixty empty files",
        taken <= 10,
        format_args!("{taken} were taken"),
    );
    service.serves_others("empty files");
    tally.finish();
}

#[test]
fn all_files_together_are_bounded_by_a_setting() {
    let service = Service::start(&[
        ("UPLOADS_IN_ALL", "2000000"),
        ("UPLOADS_PER_QUESTION", "1000000"),
    ]);
    let content = vec![b'x'; 300_000];
    let mut tally = Tally::new();
    let upload =
        |page: &Page, number: usize| page.upload(0, &format!("{number}.txt"), &content).status;
    let question = service.ask(&files(50));
    let page = Page::open(&service, &question.link);
    let taken = (0..8)
        .filter(|number| upload(&page, *number) == 200)
        .count();
    tally.note(
        "one question",
        taken <= 3,
        format_args!("{taken} of 8 files of 300 kB were taken"),
    );
    let mut all = taken;
    for number in 0..8 {
        let question = service.ask(&files(50));
        let page = Page::open(&service, &question.link);
        all += usize::from(upload(&page, number) == 200);
    }
    tally.note(
        "all questions",
        all <= 6,
        format_args!("{all} files of 300 kB were taken"),
    );
    tally.finish();
}

#[test]
fn names_of_many_files_do_not_cost_more_with_each() {
    let service = Service::start(&[]);
    let question = service.ask(&files(1_000));
    let page = Page::open(&service, &question.link);
    let meter = service.program.meter();
    let name = "n".repeat(40_000);
    let count = times(60, 300);
    let taken =
        (0..count).filter(|number| page.upload(0, &format!("{number}{name}"), b"").status == 200);
    let taken = taken.count();
    let mut tally = Tally::new();
    let (cpu, held) = (meter.cpu(), meter.held_mib());
    let holds = cpu < Duration::from_secs(20) && held <= 64;
    tally.note(
        "names of 40 kB",
        holds,
        format_args!("{taken} of {count} were taken, {cpu:?}, {held} MiB"),
    );
    service.serves_others("long names");
    tally.finish();
}

#[test]
fn a_larger_file_costs_as_much_more_work_and_no_more_memory() {
    let service = Service::start(&[]);
    let mut tally = Tally::new();
    for (what, piece, small) in [
        ("in one piece", usize::MAX, 512 << 10),
        ("byte by byte", 1, 32 << 10),
    ] {
        // As much in many files, and in one.
        let cost = |files_sent: usize, size: usize| {
            let mut cpu = Duration::ZERO;
            let mut memory = 0;
            for _ in 0..files_sent {
                let question = service.ask(&files(1));
                let page = Page::open(&service, &question.link);
                let meter = service.program.meter();
                let reply = page.upload_in_chunks("a.txt", &vec![b'x'; size], piece);
                assert_eq!(reply.map(|reply| reply.status), Some(200), "{what}");
                cpu += meter.cpu();
                memory = memory.max(meter.peak_mib());
            }
            (cpu, memory)
        };
        let mut told = String::new();
        // 1 to 7 µs for a byte that is a chunk were observed, depending on how its tasks are
        // scheduled. So one of three attempts decides; work that grows with the file fails all.
        let holds = (0..3).any(|_| {
            let (many, many_memory) = cost(16, small);
            let (one, one_memory) = cost(1, 16 * small);
            told = format!("{many:?} and {many_memory} MiB, then {one:?} and {one_memory} MiB");
            one <= 2 * many + Duration::from_millis(100) && one_memory <= many_memory + 16
        });
        tally.note(what, holds, told);
    }
    tally.finish();
}
