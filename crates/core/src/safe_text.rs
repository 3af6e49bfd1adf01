//! What of a text is not for reading: the one rule for all who show what others wrote.

/// Whether a character does something instead of being read: control characters; marks,
/// embeddings, overrides and isolates of direction; and what cannot be seen and joins nothing, so
/// that no word hides within another. Joiners stay: Persian and emoji are written with them.
///
/// Whoever shows the text of others leaves these out, but for the ends of lines and tabs where
/// there are lines, and keeps the direction of each text to itself.
///
/// ```
/// let name = "invoice\u{202e}fdp.exe";
/// let shown: String = name.chars().filter(|c| !entreat_core::is_acted_on(*c)).collect();
/// assert_eq!(shown, "invoicefdp.exe");
/// ```
pub fn is_acted_on(c: char) -> bool {
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
