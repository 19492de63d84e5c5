-- The directory whose keys seal what belongs to firms, once they do: an engine that is not told of it, or of another, does
-- not start.
create table firm_key_store (
  only_one boolean primary key default true check (only_one),
  name     text not null check (name ~ '^[0-9a-f]{32}$'),
  made_at  timestamptz not null
);
