-- Who may answer, as `Respondents::key` has it, if the question names them: for the inbox. Not
-- covered by a checksum, so it only finds rows; the record decides.
ALTER TABLE live ADD COLUMN respondent TEXT;
ALTER TABLE settled ADD COLUMN respondent TEXT;
CREATE INDEX settled_by_respondent ON settled (respondent, id) WHERE respondent IS NOT NULL;
