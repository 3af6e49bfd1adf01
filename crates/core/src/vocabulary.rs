//! Enums whose variants are keywords of the form language.

/// Declares an enum with a keyword for each variant.
macro_rules! vocabulary {
    ($(#[$attribute:meta])* $name:ident {
        $($(#[$variant_attribute:meta])* $variant:ident = $word:literal),* $(,)?
    }) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$variant_attribute])* $variant),* }

        impl $name {
            /// All names, in the order of the documentation.
            pub const NAMES: &[&'static str] = &[$($word),*];

            /// All names with their variants.
            pub(crate) const WORDS: &[(&'static str, Self)] = &[$(($word, Self::$variant)),*];

            /// The name in definitions, schemas and errors.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $word),* }
            }
        }
    };
}

pub(crate) use vocabulary;
