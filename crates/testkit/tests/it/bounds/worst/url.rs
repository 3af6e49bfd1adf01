//! URLs.

use super::{Case, fill};

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (head, tail) in [
        ("https://", ""),
        ("https://", ".com/"),
        ("https://example.com/", ""),
        ("https://example.com/?a=", ""),
        ("https://example.com/#", ""),
        ("ssh://", "/"),
        ("https://[", "]/"),
        ("https://example.com/\n", ""),
        ("https://example.com/\nhttps://", ""),
        ("https://xn--", ".com/"),
    ] {
        for part in [
            "a",
            "a.",
            ".",
            "%",
            "%61",
            "xn--a.",
            "xn--a-9.",
            "-",
            ":",
            "/",
            "../",
            "@",
            "&",
            "a=%3D&",
            "\\",
            " ",
            "\t",
            "é",
            "а",
            "。",
            "👍",
            "ｅ",
            "\u{301}",
            "4111 ",
            "a@b.c ",
            "token=x&",
            "eyJ",
            "ghp_",
            "\n",
            "%00",
            "İ",
            "a\u{200d}",
            "com.",
            "co.uk.",
            "0177.",
            "\u{ad}",
            "a_",
            "https://",
            "123-45-6789 ",
            "+49 30 1234567 ",
        ] {
            let text = fill(head, |_| part.into(), tail);
            cases.push((format!("{head:?} {part:?} {tail:?}"), text.into_bytes()));
        }
    }
    cases
}
