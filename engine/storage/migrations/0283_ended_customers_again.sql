-- not transactional
-- 0278 had another text, with the key itself, for as long as 0277 had.
-- makes good 0278 as 5e8f239cc5b290a8ae621bc5f22d88d14cb0ff924023e077d63ee3b744277ff0
drop index concurrently if exists audit_entry_ended_customer;
create index concurrently audit_entry_ended_customer on audit_entry (integrator_id, (metadata ->> 'idempotencyKeySha256'))
  where event = 'white_label.customer_ended';
