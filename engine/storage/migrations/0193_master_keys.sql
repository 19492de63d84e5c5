-- Every master key that has sealed something, by the id that is stored beside each sealed value. The canary opens under
-- its key alone. A key that was replaced is kept, sealed under its successor: evidence that it sealed is never written again.
create table master_key (
  key_id     text primary key check (key_id ~ '^[0-9a-f]{16}$'),
  canary     bytea not null,
  wrapped_by text references master_key (key_id),
  wrapped    bytea,
  made_at    timestamptz not null,
  check ((wrapped_by is null) = (wrapped is null)),
  check (wrapped_by <> key_id)
);
