//! A browser, of the user or of an attacker: a cookie, a page, and its requests.

use serde_json::Value;

use crate::service::Service;
use crate::wire::{Reply, Request, connect, encoded, exchange, request};

/// The page of a question in one browser.
pub(crate) struct Page {
    address: String,
    /// The address bound to this browser.
    pub(crate) here: String,
    pub(crate) cookie: String,
    pub(crate) csrf: String,
    pub(crate) reply: Reply,
}

pub(crate) const FORM: &str = "application/x-www-form-urlencoded";

impl Page {
    /// Opens a link in a browser without a cookie.
    pub(crate) fn open(service: &Service, link: &str) -> Self {
        Self::open_with(service, link, None)
    }

    /// Opens a link in a browser with this cookie.
    pub(crate) fn open_with(service: &Service, link: &str, cookie: Option<&str>) -> Self {
        let mut get = request(&format!("GET {link}"));
        if let Some(cookie) = cookie {
            get = get.header("cookie", cookie);
        }
        let reply = get.send(&service.address);
        assert_eq!(reply.status, 200, "{}", reply.told());
        let html = reply.text();
        let set = reply.header("set-cookie").split(';').next();
        let set = set.filter(|set| !set.is_empty()).or(cookie);
        Self {
            address: service.address.clone(),
            here: between(&html, "action=\"", "\""),
            cookie: set.unwrap_or_default().to_owned(),
            csrf: between(&html, "name=\"_csrf\" value=\"", "\""),
            reply,
        }
    }

    pub(crate) fn request(&self, line: &str) -> Request {
        request(line).header("cookie", &self.cookie)
    }

    /// Fetches a path below this page.
    pub(crate) fn get(&self, rest: &str) -> Reply {
        self.request(&format!("GET {}{rest}", self.here))
            .send(&self.address)
    }

    /// Sends a form, with the token first.
    pub(crate) fn post(&self, fields: &str) -> Reply {
        let body = format!("_csrf={}&{fields}", encoded(&self.csrf));
        self.post_raw(FORM, body.into_bytes())
    }

    /// Posts arbitrary data as a form.
    pub(crate) fn post_raw(&self, kind: &str, body: Vec<u8>) -> Reply {
        let reply = self.try_post_raw(kind, body);
        reply.expect("forms are replied to")
    }

    pub(crate) fn try_post_raw(&self, kind: &str, body: Vec<u8>) -> Option<Reply> {
        self.request(&format!("POST {}", self.here))
            .body(kind, body)
            .try_send(&self.address)
    }

    /// Uploads a file to a field, as the script does.
    pub(crate) fn upload(&self, place: usize, name: &str, content: &[u8]) -> Reply {
        self.uploading(place, name)
            .body("text/plain", content)
            .send(&self.address)
    }

    /// Uploads a file to the first field in chunks of this size, without a content length.
    pub(crate) fn upload_in_chunks(
        &self,
        name: &str,
        content: &[u8],
        size: usize,
    ) -> Option<Reply> {
        let head = self
            .uploading(0, name)
            .header("transfer-encoding", "chunked");
        let head = String::from_utf8(head.bytes(&self.address)).expect("it is text");
        let mut bytes = head.replace("content-length: 0\r\n", "").into_bytes();
        for chunk in content.chunks(size) {
            bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            bytes.extend_from_slice(chunk);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"0\r\n\r\n");
        exchange(connect(&self.address), &bytes, true)
    }

    /// The headers of an upload.
    pub(crate) fn uploading(&self, place: usize, name: &str) -> Request {
        self.request(&format!("POST {}/files/{place}", self.here))
            .header("x-entreat-form", &self.csrf)
            .header("x-entreat-file", name)
    }

    /// A multipart form of these parts, with the token first.
    pub(crate) fn multipart(&self, parts: &[Vec<u8>]) -> Option<Reply> {
        let token = part("name=\"_csrf\"", self.csrf.as_bytes());
        let mut body = token;
        for part in parts {
            body.extend_from_slice(part);
        }
        body.extend_from_slice(b"--edge--\r\n");
        self.try_post_raw("multipart/form-data; boundary=edge", body)
    }
}

/// A part of a multipart form, whose boundary is `edge`.
pub(crate) fn part(disposition: &str, content: &[u8]) -> Vec<u8> {
    let head = format!("--edge\r\ncontent-disposition: form-data; {disposition}\r\n\r\n");
    [head.as_bytes(), content, b"\r\n"].concat()
}

/// Returns the text between two markers, or an empty string.
pub(crate) fn between(text: &str, before: &str, after: &str) -> String {
    let rest = text.split_once(before).map(|(_, rest)| rest);
    let found = rest.and_then(|rest| rest.split_once(after));
    found.map(|(found, _)| found.to_owned()).unwrap_or_default()
}

/// Returns the answer of a completed question.
pub(crate) fn result(service: &Service, id: &str) -> Value {
    let id = serde_json::json!({"elicitationId": id});
    service.call("elicitation/status", &id)["result"].clone()
}
