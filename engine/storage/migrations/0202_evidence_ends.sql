-- Evidence that is ten years old may go. What stays of it is a tombstone: where the entries stood, what bound them to the ones before and
-- behind, and a digest over all of their hashes; tombstones are a chain of their own, and the chain of evidence goes on behind the last.
create table evidence_tombstone (
  first_index bigint primary key check (first_index >= 1),
  last_index bigint not null unique check (last_index >= first_index),
  previous_hash bytea not null check (octet_length(previous_hash) = 32),
  last_hash bytea not null check (octet_length(last_hash) = 32),
  -- Over the hashes of the entries, in their order.
  entries_sha256 bytea not null check (octet_length(entries_sha256) = 32),
  -- What the proof found wrong, and was told to pass over.
  faults integer not null check (faults >= 0),
  stored_from timestamptz not null,
  stored_to timestamptz not null,
  proved_at timestamptz not null,
  previous_tombstone bytea not null check (octet_length(previous_tombstone) = 32),
  hash bytea not null unique check (octet_length(hash) = 32),
  -- The hash sealed under the master key: nobody else makes a tombstone.
  seal_key_id text not null,
  seal bytea not null
);

-- Objects of the store that are to be removed. Shared ones are referred to by records, not by the index: they wait until nothing of their
-- time is left.
create table evidence_leftover (
  object text primary key,
  is_shared boolean not null,
  needed_until timestamptz not null
);

create function keep_tombstone() returns trigger language plpgsql as $$
begin
  raise exception 'tombstones of evidence are never changed';
end $$;
create trigger evidence_tombstone_kept before update or delete or truncate on evidence_tombstone
  for each statement execute function keep_tombstone();

-- An entry goes when it is ten years old and under a tombstone, and never before.
create function keep_evidence() returns trigger language plpgsql as $$
begin
  if old.stored_at < now() - interval '10 years' and exists (
    select 1 from evidence_tombstone as t where old.index between t.first_index and t.last_index
  ) then
    return old;
  end if;
  raise exception 'evidence is never changed';
end $$;
drop trigger evidence_immutable on evidence;
create trigger evidence_immutable before update or truncate on evidence for each statement execute function refuse_change();
create trigger evidence_kept before delete on evidence for each row execute function keep_evidence();

-- Writes a tombstone over the oldest entries, and what objects are to be removed with them. Answers whether it did: not when the chain has
-- other entries there, or another one was quicker.
create function bury_evidence(p_tombstone jsonb, p_objects jsonb) returns boolean language plpgsql as $$
declare
  v evidence_tombstone := jsonb_populate_record(null::evidence_tombstone, p_tombstone);
  v_before record;
begin
  perform pg_advisory_xact_lock(hashtextextended('evidence tombstones', 0));
  select t.last_index, t.hash into v_before from evidence_tombstone as t order by t.last_index desc limit 1;
  if v.first_index <> coalesce(v_before.last_index, 0) + 1
    or not exists (select 1 from evidence as e where e.index = v.first_index and e.previous_hash = v.previous_hash)
    or not exists (select 1 from evidence as e where e.index = v.last_index and e.hash = v.last_hash)
  then return false; end if;
  insert into evidence_tombstone select v.*;
  insert into evidence_leftover (object, is_shared, needed_until)
    select o.object, o.is_shared, o.needed_until
    from jsonb_to_recordset(p_objects) as o (object text, is_shared boolean, needed_until timestamptz)
    on conflict (object) do update set needed_until = greatest(evidence_leftover.needed_until, excluded.needed_until);
  return true;
end $$;
