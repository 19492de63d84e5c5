-- not transactional
-- Firms in the order in which operators page through them; whatever a name begins with is a range of it.
drop index concurrently if exists firm_by_name;
create index concurrently firm_by_name on firm (search_form(name) collate "C", id) where erased_at is null;
