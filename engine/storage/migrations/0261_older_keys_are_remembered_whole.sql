-- When the keys that a directory had before anything was remembered of them were all remembered; null until then.
alter table firm_key_store add column remembered_at timestamptz;
