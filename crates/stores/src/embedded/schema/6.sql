-- Who works on the outcome of a claim: node and epoch, eight bytes each. Not there if nobody does,
-- or if the claim is older than this column.
ALTER TABLE claim ADD COLUMN holder BLOB;
