-- The tables stay as they are. From here on a row of `live` may have settled, and is to be moved
-- to `settled`; an older Entreat would take it for live for ever.
SELECT 1;
