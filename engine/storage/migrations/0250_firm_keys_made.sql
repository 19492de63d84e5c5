-- Firms that have had a key: where its file is lost, none is made in its place, since it would open nothing that the firm has.
create table firm_key_made (
  firm_id uuid primary key,
  made_at timestamptz not null
);
