-- not transactional
-- The newest answers to a document of each outcome, as they are listed, however many there are of one.
drop index concurrently if exists inbound_status_settled_in_order;
create index concurrently inbound_status_settled_in_order on inbound_status (document_id, kind, outcome, received_at) where document_id is not null;
-- Its first columns alone.
drop index concurrently if exists inbound_status_settled;
