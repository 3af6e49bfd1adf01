//! Which characters of untrusted text are unsafe to display.

/// Whether a character is unsafe to display: control characters; bidirectional marks,
/// embeddings, overrides and isolates; and invisible characters that could hide one word in
/// another. Zero-width joiners are safe: Persian and emoji need them.
///
/// Code that displays untrusted text must strip these characters, except line breaks and tabs in
/// multi-line text, and must isolate the direction of each text.
///
/// ```
/// let name = "invoice\u{202e}fdp.exe";
/// let shown: String = name.chars().filter(|c| !entreat_core::is_unsafe_to_display(*c)).collect();
/// assert_eq!(shown, "invoicefdp.exe");
/// ```
pub fn is_unsafe_to_display(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{61c}'
                | '\u{115f}'
                | '\u{1160}'
                | '\u{180e}'
                | '\u{200b}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e007f}'
        )
}
