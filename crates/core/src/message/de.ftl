decimal-mark = ,
size-bytes = { $count ->
    [one] { $count } Byte
   *[other] { $count } Bytes
}
file-kind-any = beliebige
file-kind-image = Bilder
file-kind-video = Videos
file-kind-audio = Audio
file-kind-text = Text
question-answer = Ihre Antwort
saved-to = Wird als { $name } in { $file } gespeichert. Der Agent, der fragt, bekommt es nicht zu sehen.
saved-to-git = Achtung: Git ignoriert diese Datei nicht. Das Geheimnis könnte also in einen Commit geraten.

error-required = { $label } muss ausgefüllt werden
error-required-question = Beantworten Sie diese Frage
error-type = { $expected ->
    [number] { $label } muss eine Zahl sein
    [integer] { $label } muss eine ganze Zahl sein
    [boolean] { $label } muss ja oder nein sein
    [array] { $label } muss eine Liste sein
    [object] { $label } muss eine Datei sein
   *[string] { $label } muss ein Text sein
}
error-type-answers = Die Antworten müssen ein Objekt sein
error-format = { $expected ->
    [email] { $label } muss eine E-Mail-Adresse sein
    [uri] { $label } muss eine vollständige Webadresse sein
    [uuid] { $label } muss eine UUID sein
    [hostname] { $label } muss ein Hostname sein
    [ipv4] { $label } muss eine IPv4-Adresse sein
    [ipv6] { $label } muss eine IPv6-Adresse sein
    [date] { $label } muss ein Datum sein, das es gibt, etwa 2026-02-28
    [date-time] { $label } muss Datum und Uhrzeit mit Zeitverschiebung sein, etwa 2026-02-28T09:30:00+01:00
    [time] { $label } muss eine Uhrzeit mit Zeitverschiebung sein, etwa 09:30:00Z
    [json] { $label } muss gültiges JSON sein
    [base64] { $label } muss in Base64 kodiert sein
   *[other] { $label } muss das Format { $expected } haben
}
error-enum = { $label } muss eines davon sein: { $expected }
error-minLength = { $label } muss mindestens { $expected } Zeichen lang sein
error-maxLength = { $label } darf höchstens { $expected } Zeichen lang sein
error-pattern = { $label } hat nicht das erwartete Format
error-pattern-example = { $label } hat nicht das erwartete Format. Beispiel: { $example }
error-minimum = { $label } muss mindestens { $expected } sein
error-minimum-date = { $label } darf nicht vor { $expected } liegen
error-maximum = { $label } darf höchstens { $expected } sein
error-maximum-date = { $label } darf nicht nach { $expected } liegen
error-exclusiveMinimum = { $label } muss größer als { $expected } sein
error-exclusiveMaximum = { $label } muss kleiner als { $expected } sein
error-multipleOf = { $label } muss ein Vielfaches von { $expected } sein
error-multipleOf-whole = { $label } muss eine ganze Zahl sein
error-minItems = { $expected ->
    [one] { $label } muss mindestens { $expected } Eintrag haben
   *[other] { $label } muss mindestens { $expected } Einträge haben
}
error-maxItems = { $expected ->
    [one] { $label } darf höchstens { $expected } Eintrag haben
   *[other] { $label } darf höchstens { $expected } Einträge haben
}
error-uniqueItems = { $label } darf keinen Eintrag doppelt enthalten
error-allowedSchemes = { $expected ->
    [https] { $label } muss mit https:// beginnen
   *[other] { $label } muss mit einem davon beginnen: { $expected }
}
error-blockPrivateIPs = { $label } muss zu einer öffentlichen Adresse führen
error-blockLocalhost = { $label } darf nicht zu diesem Rechner führen
error-maxSize = { $label } darf höchstens { $expected } groß sein
error-allowedMimeTypes = { $label } muss eine Datei dieser Art sein: { $expected }
error-allowedExtensions = { $label } muss eine Datei mit einer dieser Endungen sein: { $expected }
error-size = { $label }: die angegebene Größe passt nicht zur Datei
error-content_type = { $label }: der Inhalt passt nicht zur Dateiart; er sieht aus wie { $expected }
error-filename = { $label }: der Dateiname ist nicht sicher
error-reference = { $label }: Verweise auf Dateien werden hier nicht angenommen
error-readonly = { $label } kann nicht geändert werden
error-dependencies = { $label } braucht auch: { $expected }
error-compare = { $operator ->
    [lt] { $label } muss vor oder unter { $expected } liegen
    [lte] { $label } darf nicht nach oder über { $expected } liegen
    [eq] { $label } muss dasselbe sein wie { $expected }
    [ne] { $label } darf nicht dasselbe sein wie { $expected }
    [gte] { $label } darf nicht vor oder unter { $expected } liegen
   *[gt] { $label } muss nach oder über { $expected } liegen
}
error-at_least_one = Mindestens eines davon ausfüllen: { $label }, { $expected }
error-exactly_one = Genau eines davon ausfüllen: { $label }, { $expected }
error-all_or_none = Alle davon ausfüllen oder keines: { $label }, { $expected }
error-additionalProperties = { $label } ist kein Feld dieses Formulars
error-form_id = Diese Antworten gehören zu einem anderen Formular

warning-punycode = Der Rechnername enthält Buchstaben, die nicht zum einfachen lateinischen Alphabet gehören.
warning-mixed-script = Der Rechnername mischt Alphabete, die nicht zusammengehören.
warning-whole-script-confusable = Der Rechnername ist in einem anderen Alphabet geschrieben, sieht aber wie lateinische Buchstaben aus.
warning-confusable = Der Rechnername enthält Buchstaben, die wie andere Buchstaben aussehen.
warning-host-normalised = Der Rechner ist ungewöhnlich geschrieben. Prüfen Sie die einfache Schreibweise.
warning-invisible-char = Die Adresse enthält unsichtbare Zeichen.
warning-bidi-control = Die Adresse enthält Zeichen, die die Reihenfolge ihres Textes umkehren.
warning-trailing-dot = Der Rechnername endet mit einem Punkt.
warning-userinfo = Der Text vor dem @ ist nicht der Rechner und soll vielleicht täuschen.
warning-deep-subdomain = Der Rechnername hat viele Teile. Nur sein Ende sagt, wem er gehört.
warning-tld-in-subdomain = Der Rechnername enthält vor seinem wirklichen Ende eine andere Endung, etwa com.
warning-long-label = Ein Teil des Rechnernamens ist sehr lang.
warning-long-url = Die Adresse ist zu lang, um sie ganz zu lesen.
warning-ip-literal = Der Rechner ist eine Nummer und kein Name. Daher sagt nichts, wem er gehört.
warning-private-host = Die Adresse führt zu diesem Rechner oder in ein privates Netz.
warning-not-https = Die Verbindung ist nicht verschlüsselt.
warning-odd-port = Die Adresse verwendet einen ungewöhnlichen Port.
warning-blocked-port = Die Adresse verwendet einen Port, den Browser sperren.
warning-bad-scheme = Die Adresse ist keine Webadresse.
warning-raw-backslash = Die Adresse enthält einen umgekehrten Schrägstrich, den Programme verschieden lesen.
warning-raw-control = Die Adresse enthält ein Leerzeichen oder ein Steuerzeichen.
warning-no-authority-slashes = Die Adresse beginnt nicht mit https://rechner.
warning-shell-metachar = Die Adresse enthält Zeichen, die einen Befehl ausführen könnten.
warning-url-in-query = Die Adresse enthält eine andere Adresse und leitet Sie vielleicht dorthin um.
warning-shortener = Das ist ein Kurzlink. Man sieht ihm nicht an, wohin er führt.
warning-credential-in-url = Die Adresse enthält anscheinend ein Passwort, einen Schlüssel oder ein Token.
warning-pii-in-url = Die Adresse enthält anscheinend persönliche Daten.
warning-shared-platform = Auf dieser Plattform kann jeder einen Namen bekommen. Ihr Name sagt daher wenig.
warning-public-suffix-host = Der Rechnername ist eine Endung, die sich viele Websites teilen, keine eigene Website.
warning-third-party-domain = Die Adresse gehört zu einer anderen Website als der Server, der fragt.
