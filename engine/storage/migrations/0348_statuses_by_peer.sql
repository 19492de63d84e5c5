-- not transactional
-- Statuses that are due, of each access point by themselves: whoever has sent many hides nobody else's.
drop index concurrently if exists inbound_status_due_of_peer;
create index concurrently inbound_status_due_of_peer on inbound_status (peer_seat, next_at) where next_at is not null;
-- Nobody asks for the longest due ones of all any more.
drop index concurrently if exists inbound_status_due;
