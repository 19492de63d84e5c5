-- not transactional
-- Deliveries that go after the shorter time: those that were taken, but for repeats.
drop index concurrently if exists webhook_delivery_age_first;
create index concurrently webhook_delivery_age_first on webhook_delivery (created_at)
  where status = 'SUCCESS' and replay_of is null and scenario is null;
-- Those that go after the longer time.
drop index concurrently if exists webhook_delivery_age_rest;
create index concurrently webhook_delivery_age_rest on webhook_delivery (created_at)
  where (status <> 'SUCCESS' or replay_of is not null) and scenario is null;
-- Dead deliveries of one webhook, as its page at the console lists them.
drop index concurrently if exists webhook_delivery_dead_page;
create index concurrently webhook_delivery_dead_page on webhook_delivery (subscription_id, position)
  where status = 'FAILED' and resolved_at is null and test_data is null;
