-- As before, but no tombstone over an entry that is younger than ten years by the database's clock: that of a node may be
-- years ahead for one run, and a tombstone is never taken back, so that nobody proves again what lies under it.
create or replace function bury_evidence(p_tombstone jsonb, p_objects jsonb) returns boolean language plpgsql as $$
declare
  v evidence_tombstone := jsonb_populate_record(null::evidence_tombstone, p_tombstone);
  v_before record;
begin
  perform pg_advisory_xact_lock(hashtextextended('evidence tombstones', 0));
  select t.last_index, t.hash into v_before from evidence_tombstone as t order by t.last_index desc limit 1;
  if v.first_index <> coalesce(v_before.last_index, 0) + 1
    or not exists (select 1 from evidence as e where e.index = v.first_index and e.previous_hash = v.previous_hash)
    or not exists (select 1 from evidence as e where e.index = v.last_index and e.hash = v.last_hash)
    or exists (
      select 1 from evidence as e
      where e.index between v.first_index and v.last_index and e.stored_at >= now() - interval '10 years'
    )
  then return false; end if;
  insert into evidence_tombstone select v.*;
  insert into evidence_leftover (object, is_shared, needed_until)
    select o.object, o.is_shared, o.needed_until
    from jsonb_to_recordset(p_objects) as o (object text, is_shared boolean, needed_until timestamptz)
    on conflict (object) do update set needed_until = greatest(evidence_leftover.needed_until, excluded.needed_until);
  return true;
end $$;
