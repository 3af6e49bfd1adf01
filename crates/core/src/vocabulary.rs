//! Enums whose variants are words of the form language.

/// Declares an enum with a word for each variant.
macro_rules! vocabulary {
    ($(#[$attribute:meta])* $name:ident {
        $($(#[$variant_attribute:meta])* $variant:ident = $word:literal),* $(,)?
    }) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$variant_attribute])* $variant),* }

        impl $name {
            /// Every word, in the order of the documentation.
            pub const NAMES: &[&'static str] = &[$($word),*];

            /// Every word with its variant.
            pub(crate) const WORDS: &[(&'static str, Self)] = &[$(($word, Self::$variant)),*];

            /// The word in definitions, schemas and errors.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $word),* }
            }
        }
    };
}

pub(crate) use vocabulary;
