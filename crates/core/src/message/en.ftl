# $label is the field's label, or the submitted name if the form has no such field.
# $expected is what the rule expects: a number, a text, or a list joined by commas.
# $operator is the comparison of a `compare` rule: lt, lte, eq, ne, gte or gt.

# $example is an example of an answer, from the field's placeholder.
# $count is a number of bytes.
# $file is the path of a file, and $name the name in it under which a secret is saved.

# `warning-` and the code of a URL guard's warning, with hyphens, is its sentence in another language:
# `warning-long-url`. The English ones are the guard's own.

decimal-mark = .
size-bytes = { $count ->
    [one] { $count } byte
   *[other] { $count } bytes
}
file-kind-any = any
file-kind-image = pictures
file-kind-video = videos
file-kind-audio = audio
file-kind-text = text
question-answer = Your answer
saved-to = Will be saved to { $file } as { $name }. The agent that asks does not see it.
saved-to-git = Warning: Git does not ignore this file, so the secret could be committed.

error-required = { $label } is required
error-required-question = Answer this question
error-type = { $expected ->
    [number] { $label } must be a number
    [integer] { $label } must be a whole number
    [boolean] { $label } must be yes or no
    [array] { $label } must be a list
    [object] { $label } must be a file
   *[string] { $label } must be text
}
error-type-answers = The answers must be an object
error-format = { $expected ->
    [email] { $label } must be an e-mail address
    [uri] { $label } must be a complete web address
    [uuid] { $label } must be a UUID
    [hostname] { $label } must be a host name
    [ipv4] { $label } must be an IPv4 address
    [ipv6] { $label } must be an IPv6 address
    [date] { $label } must be a date that exists, such as 2026-02-28
    [date-time] { $label } must be a date and time with an offset, such as 2026-02-28T09:30:00+01:00
    [time] { $label } must be a time with an offset, such as 09:30:00Z
    [json] { $label } must be valid JSON
    [base64] { $label } must be encoded as base64
   *[other] { $label } must be of the format { $expected }
}
error-enum = { $label } must be one of: { $expected }
error-minLength = { $expected ->
    [one] { $label } must be at least { $expected } character
   *[other] { $label } must be at least { $expected } characters
}
error-maxLength = { $expected ->
    [one] { $label } must be at most { $expected } character
   *[other] { $label } must be at most { $expected } characters
}
error-pattern = { $label } does not have the expected format
error-pattern-example = { $label } does not have the expected format. Example: { $example }
error-minimum = { $label } must be { $expected } or more
error-minimum-date = { $label } must be { $expected } or later
error-maximum = { $label } must be { $expected } or less
error-maximum-date = { $label } must be { $expected } or earlier
error-exclusiveMinimum = { $label } must be more than { $expected }
error-exclusiveMaximum = { $label } must be less than { $expected }
error-multipleOf = { $label } must be a multiple of { $expected }
error-multipleOf-whole = { $label } must be a whole number
error-minItems = { $expected ->
    [one] { $label } must have at least { $expected } item
   *[other] { $label } must have at least { $expected } items
}
error-maxItems = { $expected ->
    [one] { $label } must have at most { $expected } item
   *[other] { $label } must have at most { $expected } items
}
error-uniqueItems = { $label } must not contain the same item twice
error-allowedSchemes = { $expected ->
    [https] { $label } must start with https://
   *[other] { $label } must start with one of: { $expected }
}
error-blockPrivateIPs = { $label } must lead to a public address
error-blockLocalhost = { $label } must not lead to this computer
error-maxSize = { $label } must be at most { $expected }
error-allowedMimeTypes = { $label } must be a file of one of these kinds: { $expected }
error-allowedExtensions = { $label } must be a file with one of these extensions: { $expected }
error-size = { $label }: the declared size does not match the file
error-content_type = { $label }: the content does not match the file type; it looks like { $expected }
error-filename = { $label }: the file name is not safe to use
error-reference = { $label }: references to files are not accepted here
error-readonly = { $label } cannot be changed
error-dependencies = { $label } also needs: { $expected }
error-compare = { $operator ->
    [lt] { $label } must be before or below { $expected }
    [lte] { $label } must not be after or above { $expected }
    [eq] { $label } must be the same as { $expected }
    [ne] { $label } must not be the same as { $expected }
    [gte] { $label } must not be before or below { $expected }
   *[gt] { $label } must be after or above { $expected }
}
error-at_least_one = Answer at least one of: { $label }, { $expected }
error-exactly_one = Answer exactly one of: { $label }, { $expected }
error-all_or_none = Answer all of these or none: { $label }, { $expected }
error-additionalProperties = { $label } is not a field of this form
error-form_id = These answers are for another form
