-- not transactional
-- Requests of onboarding that are not active, as the sweep looks for those that nobody has moved for long.
drop index concurrently if exists onboarding_idle;
create index concurrently onboarding_idle on onboarding_request (updated_at) where status <> 'active';
