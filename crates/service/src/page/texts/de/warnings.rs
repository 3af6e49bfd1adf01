//! The URL guard's warnings in German; those in English are the guard's own.

use entreat_core::url_guard::Warning;

pub(super) fn warning(warning: Warning) -> &'static str {
    match warning {
        Warning::Punycode => {
            "Der Rechnername enthält Buchstaben, die nicht zum einfachen lateinischen Alphabet gehören."
        }
        Warning::MixedScript => "Der Rechnername mischt Alphabete, die nicht zusammengehören.",
        Warning::WholeScriptConfusable => {
            "Der Rechnername ist in einem anderen Alphabet geschrieben, sieht aber wie lateinische Buchstaben aus."
        }
        Warning::Confusable => {
            "Der Rechnername enthält Buchstaben, die wie andere Buchstaben aussehen."
        }
        Warning::HostNormalised => {
            "Der Rechner ist ungewöhnlich geschrieben. Prüfen Sie die einfache Schreibweise."
        }
        Warning::InvisibleChar => "Die Adresse enthält unsichtbare Zeichen.",
        Warning::BidiControl => {
            "Die Adresse enthält Zeichen, die die Reihenfolge ihres Textes umkehren."
        }
        Warning::TrailingDot => "Der Rechnername endet mit einem Punkt.",
        Warning::Userinfo => {
            "Der Text vor dem @ ist nicht der Rechner und soll vielleicht täuschen."
        }
        Warning::DeepSubdomain => {
            "Der Rechnername hat viele Teile. Nur sein Ende sagt, wem er gehört."
        }
        Warning::TldInSubdomain => {
            "Der Rechnername enthält vor seinem wirklichen Ende eine andere Endung, etwa com."
        }
        Warning::LongLabel => "Ein Teil des Rechnernamens ist sehr lang.",
        Warning::LongUrl => "Die Adresse ist zu lang, um sie ganz zu lesen.",
        Warning::IpLiteral => {
            "Der Rechner ist eine Nummer und kein Name. Daher sagt nichts, wem er gehört."
        }
        Warning::PrivateHost => "Die Adresse führt zu diesem Rechner oder in ein privates Netz.",
        Warning::NotHttps => "Die Verbindung ist nicht verschlüsselt.",
        Warning::OddPort => "Die Adresse verwendet einen ungewöhnlichen Port.",
        Warning::BlockedPort => "Die Adresse verwendet einen Port, den Browser sperren.",
        Warning::BadScheme => "Die Adresse ist keine Webadresse.",
        Warning::RawBackslash => {
            "Die Adresse enthält einen umgekehrten Schrägstrich, den Programme verschieden lesen."
        }
        Warning::RawControl => "Die Adresse enthält ein Leerzeichen oder ein Steuerzeichen.",
        Warning::NoAuthoritySlashes => "Die Adresse beginnt nicht mit https://rechner.",
        Warning::ShellMetachar => {
            "Die Adresse enthält Zeichen, die einen Befehl ausführen könnten."
        }
        Warning::UrlInQuery => {
            "Die Adresse enthält eine andere Adresse und leitet Sie vielleicht dorthin um."
        }
        Warning::Shortener => "Das ist ein Kurzlink. Man sieht ihm nicht an, wohin er führt.",
        Warning::CredentialInUrl => {
            "Die Adresse enthält anscheinend ein Passwort, einen Schlüssel oder ein Token."
        }
        Warning::PiiInUrl => "Die Adresse enthält anscheinend persönliche Daten.",
        Warning::SharedPlatform => {
            "Auf dieser Plattform kann jeder einen Namen bekommen. Ihr Name sagt daher wenig."
        }
        Warning::PublicSuffixHost => {
            "Der Rechnername ist eine Endung, die sich viele Websites teilen, keine eigene Website."
        }
        Warning::ThirdPartyDomain => {
            "Die Adresse gehört zu einer anderen Website als der Server, der fragt."
        }
    }
}
