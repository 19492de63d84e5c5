-- not transactional
-- The key of a customer that an operator has ended is found by the audit of its end (create_white_label_customer).
drop index concurrently if exists audit_entry_ended_customer;
create index concurrently audit_entry_ended_customer on audit_entry (integrator_id, (metadata ->> 'idempotencyKeySha256'))
  where event = 'white_label.customer_ended';
