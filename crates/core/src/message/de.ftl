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
error-allowedSchemes = { $label } muss mit einem davon beginnen: { $expected }
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
