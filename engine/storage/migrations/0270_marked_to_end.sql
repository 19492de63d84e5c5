-- not transactional
-- Subscriptions with deliveries that are still to end.
drop index concurrently if exists webhook_subscription_ending;
create index concurrently webhook_subscription_ending on webhook_subscription (id) where ending is not null;
