-- not transactional
-- Subscriptions by where they begin: readiness asks each second whether one begins behind what the server has counted.
drop index concurrently if exists webhook_subscription_place;
create index concurrently webhook_subscription_place on webhook_subscription (pg_snapshot_xmax(seen_from));
