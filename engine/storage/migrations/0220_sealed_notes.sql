-- What a firm adds to its answer is sealed like the message that carries it, under the same key; the column beside it keeps
-- what was written before.

alter table service_message add column note_sealed bytea;
