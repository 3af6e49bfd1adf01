-- From here on `request` and `state` end with a checksum, and so does every row beside them that
-- nothing else could vouch for; sum.rs says of what.
ALTER TABLE note ADD COLUMN sum BLOB;
ALTER TABLE claim ADD COLUMN sum BLOB;
