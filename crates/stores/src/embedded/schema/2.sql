-- What may be used once and was, until it cannot be used anyway.
CREATE TABLE claim (
    key BLOB NOT NULL PRIMARY KEY,
    -- A digest of what it was used with.
    inputs BLOB NOT NULL,
    -- Milliseconds since 1970.
    expires INTEGER NOT NULL,
    -- What came of it, sealed by whoever claimed it; not there until it is known.
    outcome BLOB
) STRICT, WITHOUT ROWID;

CREATE INDEX claim_by_end ON claim (expires);
