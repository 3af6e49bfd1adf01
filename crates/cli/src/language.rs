//! The language of the person at this terminal.

use entreat::{Catalogue, Messages};

use crate::context::Context;

/// A flag that chooses the language.
#[derive(clap::Args, Default)]
pub(crate) struct LanguageArg {
    /// The language of prompts and errors, such as `de` [default: `$LC_ALL`, `$LC_MESSAGES` or
    /// `$LANG`]
    #[arg(long, value_name = "LANGUAGE")]
    lang: Option<String>,
}

impl LanguageArg {
    /// Returns the messages in the person's language; English if there are none.
    pub(crate) fn messages(&self, context: &Context) -> Messages {
        let from_environment = context.languages().iter().map(String::as_str);
        let languages = self.lang.as_deref().into_iter().chain(from_environment);
        Catalogue::default().messages(languages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Environment;

    #[test]
    fn the_flag_goes_before_the_environment() {
        let language = |flag: Option<&str>, variables: &[(&str, &str)]| {
            let environment = Environment::with(variables);
            let context = Context::new(environment, std::io::empty(), std::io::sink());
            let lang = flag.map(str::to_owned);
            LanguageArg { lang }.messages(&context).language()
        };
        let german = [("LANG", "de_DE.UTF-8")];
        assert_eq!(language(None, &german), "de");
        assert_eq!(language(Some("en"), &german), "en");
        assert_eq!(language(Some("de-AT"), &[]), "de");
        assert_eq!(language(Some("no language"), &[]), "en");
    }
}
