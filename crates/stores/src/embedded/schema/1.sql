-- Records that can still be answered, or whose outcome is still to be delivered. All of them are
-- also in memory.
CREATE TABLE live (
    id BLOB NOT NULL PRIMARY KEY,
    version INTEGER NOT NULL,
    asker TEXT NOT NULL,
    -- The idempotency key, if there is one.
    key TEXT,
    -- The digest of the form, if one is asked.
    form BLOB,
    -- What was asked and where it stands, each in the format of record.rs.
    request BLOB NOT NULL,
    state BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Records with which all is done, until they are purged.
CREATE TABLE settled (
    id BLOB NOT NULL PRIMARY KEY,
    version INTEGER NOT NULL,
    status TEXT NOT NULL,
    -- Milliseconds since 1970.
    settled_at INTEGER NOT NULL,
    asker TEXT NOT NULL,
    key TEXT,
    form BLOB,
    request BLOB NOT NULL,
    state BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX settled_by_asker ON settled (asker, id);

-- First uses of idempotency keys, live or settled.
CREATE TABLE idempotency (
    asker TEXT NOT NULL,
    key TEXT NOT NULL,
    id BLOB NOT NULL,
    PRIMARY KEY (asker, key)
) STRICT, WITHOUT ROWID;

-- Definitions, each once, with the number of records that ask it.
CREATE TABLE form (
    digest BLOB NOT NULL PRIMARY KEY,
    uses INTEGER NOT NULL,
    definition BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE note (
    name TEXT NOT NULL PRIMARY KEY,
    text TEXT NOT NULL
) STRICT, WITHOUT ROWID;
