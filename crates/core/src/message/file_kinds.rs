//! What kinds of file are called: `pictures` rather than `image/*`.

use fluent_bundle::FluentArgs;

use super::Messages;

/// How a MIME type is called.
enum Kind<'t> {
    /// By a word of the person's language.
    Word(&'static str),
    /// By a name that is the same in all languages.
    Name(&'static str),
    /// By its file extension.
    Extension(&'t str),
    Type(&'t str),
}

impl<'t> Kind<'t> {
    fn of(mime_type: &'t str) -> Self {
        let essence = mime_type.split(';').next().unwrap_or_default().trim();
        let known = match &*essence.to_ascii_lowercase() {
            "*/*" => Some(Self::Word("file-kind-any")),
            "image/*" => Some(Self::Word("file-kind-image")),
            "video/*" => Some(Self::Word("file-kind-video")),
            "audio/*" => Some(Self::Word("file-kind-audio")),
            "text/*" | "text/plain" => Some(Self::Word("file-kind-text")),
            lowercase => name(lowercase).map(Self::Name),
        };
        known.unwrap_or_else(|| match essence.split_once("/x-") {
            Some((_, extension)) => Self::Extension(extension),
            None => Self::Type(essence),
        })
    }
}

fn name(essence: &str) -> Option<&'static str> {
    Some(match essence {
        "application/pdf" => "PDF",
        "image/png" => "PNG",
        "image/jpeg" => "JPEG",
        "image/gif" => "GIF",
        "image/webp" => "WebP",
        "image/svg+xml" => "SVG",
        "image/heic" => "HEIC",
        "image/tiff" => "TIFF",
        "video/mp4" => "MP4",
        "audio/mpeg" => "MP3",
        "audio/wav" | "audio/x-wav" => "WAV",
        "text/csv" => "CSV",
        "text/html" => "HTML",
        "text/markdown" => "Markdown",
        "application/json" => "JSON",
        "application/xml" | "text/xml" => "XML",
        "application/yaml" | "application/x-yaml" | "text/yaml" => "YAML",
        "application/zip" | "application/x-zip-compressed" => "ZIP",
        "application/gzip" | "application/x-gzip" => "GZIP",
        "application/msword"
        | "application/vnd.openxmlformats-officedocument.wordprocessingml.document" => "Word",
        "application/vnd.ms-excel"
        | "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet" => "Excel",
        "application/vnd.ms-powerpoint"
        | "application/vnd.openxmlformats-officedocument.presentationml.presentation" => {
            "PowerPoint"
        }
        "application/vnd.oasis.opendocument.text" => "OpenDocument",
        _ => return None,
    })
}

impl Messages {
    /// Names kinds of file by their MIME types: `pictures, PDF`. A type without a name is named by
    /// its extension, or as it is.
    ///
    /// ```
    /// use entreat_core::Catalogue;
    ///
    /// let messages = Catalogue::default().messages(["en"]);
    /// assert_eq!(messages.file_kinds(["image/*", "application/pdf"]), "pictures, PDF");
    /// ```
    pub fn file_kinds<'t>(&self, mime_types: impl IntoIterator<Item = &'t str>) -> String {
        let mut kinds: Vec<String> = Vec::new();
        for mime_type in mime_types {
            let kind = match Kind::of(mime_type) {
                Kind::Word(key) => self.text(key, &FluentArgs::new()),
                Kind::Name(name) => name.to_owned(),
                Kind::Extension(extension) => format!(".{extension}"),
                Kind::Type(essence) => essence.to_owned(),
            };
            // Types may share a name; a list of types is short.
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        kinds.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use crate::Catalogue;

    #[test]
    fn kinds_of_file_have_names() {
        let types = [
            "image/*",
            "IMAGE/PNG",
            "text/plain; charset=utf-8",
            "text/*",
            "application/msword",
            "application/x-tar",
            "application/vnd.acme.plan",
        ];
        let english = Catalogue::default().messages(["en"]);
        assert_eq!(
            english.file_kinds(types),
            "pictures, PNG, text, Word, .tar, application/vnd.acme.plan"
        );
        let german = Catalogue::default().messages(["de"]);
        assert_eq!(german.file_kinds(["image/*", "*/*"]), "Bilder, beliebige");
        assert_eq!(german.file_kinds([]), "");
    }
}
