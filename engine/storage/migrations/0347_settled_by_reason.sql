-- not transactional
-- How many statuses of one kind and outcome a document has: a timeline shows the first ones of each.
drop index concurrently if exists inbound_status_settled;
create index concurrently inbound_status_settled on inbound_status (document_id, kind, outcome) where document_id is not null;
-- Its first column alone.
drop index concurrently if exists inbound_status_document;
