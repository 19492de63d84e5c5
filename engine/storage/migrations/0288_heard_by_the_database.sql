-- A database that was away has heard of nobody: whoever says first that it is alive would take all others for dead, and what
-- they have on its way would be sent again. A process that was not heard for so long itself counts nobody as dead before
-- the others have had as long.
alter table dispatcher add column heard_since timestamptz not null default '-infinity';

create or replace function beat_dispatcher(p_owner text, p_dead_ms integer) returns integer
language plpgsql as $$
declare
  v_dead_for interval := p_dead_ms * interval '1 millisecond';
  v_heard_since timestamptz;
  v_dead text[];
  v_documents integer;
  v_messages integer;
  v_duties integer;
begin
  insert into dispatcher as d (owner, seen_at) values (p_owner, clock_timestamp())
  on conflict (owner) do update set seen_at = excluded.seen_at,
    heard_since = case when d.seen_at < excluded.seen_at - v_dead_for then excluded.seen_at else d.heard_since end
  returning d.heard_since into v_heard_since;
  if v_heard_since > clock_timestamp() - v_dead_for then return 0; end if;
  with gone as (
    delete from dispatcher as d
    where d.owner <> p_owner and d.seen_at < clock_timestamp() - v_dead_for
    returning d.owner
  )
  select array_agg(gone.owner) into v_dead from gone;
  if v_dead is null then return 0; end if;
  update document as d set lease_until = '-infinity', version = d.version + 1
  where d.next_attempt_at is not null and d.lease_owner = any (v_dead) and d.lease_until > '-infinity';
  get diagnostics v_documents = row_count;
  update service_message as m set lease_owner = null, lease_until = null, version = m.version + 1
  where m.next_attempt_at is not null and m.lease_owner = any (v_dead);
  get diagnostics v_messages = row_count;
  update mls_duty as d set lease_owner = null, lease_until = null
  where d.next_at is not null and d.lease_until is not null and d.lease_owner = any (v_dead);
  get diagnostics v_duties = row_count;
  return v_documents + v_messages + v_duties;
end
$$;
