-- Documents that are accepted and then wait until their program sends or cancels them. A staged document has its names, its
-- place in the lists and its text like any other, so that all that is true of those is true of it; only nobody attempts it.
alter table document
  -- What became of its staging: it waits, it was sent, or it never will be; null for what was never staged.
  add column staged text,
  -- Since when. A document that was sent later counts from there.
  add column staged_at timestamptz;
alter table document
  add constraint document_staged_check check (staged in ('held', 'sent', 'cancelled')) not valid,
  add constraint document_staged_at_check check ((staged is null) = (staged_at is null)) not valid,
  drop constraint document_check,
  add constraint document_check
    check ((document_is_open(status) and staged is distinct from 'held') = (next_attempt_at is not null)) not valid;
create index document_staged on document (staged, staged_at) where staged in ('held', 'cancelled');

-- The end of a staged document that is not sent has a kind of its own: it is no failure to deliver.
alter table document_event drop constraint document_event_kind_check;
alter table document_event add constraint document_event_kind_check check (kind in (
  'document.sent', 'document.delivered', 'document.delivery_failed', 'document.mls_received', 'document.rejected',
  'document.response_received', 'document.queued', 'document.cancelled', 'document.attempt_failed', 'document.mls_ignored',
  'document.response_ignored')) not valid;

-- Holds a document that the same statement has accepted.
create function hold_document(p_id uuid, p_outcome text) returns void language plpgsql as $$
begin
  if p_outcome = 'accepted' then
    update document as d set staged = 'held', staged_at = d.created_at, next_attempt_at = null where d.id = p_id;
  end if;
end
$$;

-- Sends a document that is held and has the version that was decided on. Answers whether it was sent.
create function send_held(p_id uuid, p_firm uuid, p_version integer, p_integrator uuid, p_audit jsonb) returns boolean
language plpgsql as $$
begin
  update document as d
  set staged = 'sent', staged_at = clock_timestamp(), next_attempt_at = clock_timestamp(), version = d.version + 1,
    updated_at = greatest(d.updated_at, clock_timestamp())
  where d.id = p_id and d.firm_id = p_firm and d.version = p_version and d.staged = 'held';
  if not found then return false; end if;
  perform append_audit(p_audit, 'connector.sent', p_firm, p_integrator, 'document', p_id::text, '{}');
  return true;
end
$$;

-- Cancels a document that is held and has the version that was decided on, or any version where that is null. p_move: the
-- status that it comes to, and the reason; p_event: the id of its event. Answers whether it was cancelled.
create function cancel_held(
  p_id uuid, p_firm uuid, p_version integer, p_move jsonb, p_event uuid, p_integrator uuid, p_audit jsonb
) returns boolean language plpgsql as $$
declare
  v_version integer;
begin
  update document as d set staged = 'cancelled', staged_at = clock_timestamp(), next_attempt_at = clock_timestamp()
  where d.id = p_id and d.firm_id = p_firm and d.version = coalesce(p_version, d.version) and d.staged = 'held'
  returning d.version into v_version;
  if not found then return false; end if;
  perform 1 from apply_move(p_id, v_version, p_move ->> 'status', 'cancelled', p_move ->> 'reason', clock_timestamp(), null,
    jsonb_build_array(jsonb_build_object('id', p_event, 'kind', 'document.cancelled', 'feed', true, 'detail', p_move ->> 'reason')), null,
    jsonb_build_object('statusReason', p_move ->> 'reason'));
  perform append_audit(p_audit, 'connector.cancelled', p_firm, p_integrator, 'document', p_id::text, '{}');
  return true;
end
$$;

-- Cancels documents that have been held for p_kept_days. Answers how many.
create function end_held(p_kept_days integer, p_limit integer, p_move jsonb) returns integer language sql as $$
  with ended as materialized (
    select d.id, d.firm_id from document as d
    where d.staged = 'held' and d.staged_at < clock_timestamp() - make_interval(days => p_kept_days)
    order by d.staged_at limit p_limit for update skip locked
  )
  select count(*) filter (where cancel_held(e.id, e.firm_id, null, p_move, new_row_id(), null, null))::integer
  from ended as e
$$;

-- Deletes documents that were cancelled so long ago and never left, with all that is kept of them. Answers how many.
create function delete_cancelled(p_kept_days integer, p_limit integer) returns integer language sql as $$
  with gone as (
    delete from document where id in (
      select d.id from document as d
      where d.staged = 'cancelled' and d.staged_at < clock_timestamp() - make_interval(days => p_kept_days)
      order by d.staged_at limit p_limit for update skip locked
    )
    returning id
  ), text as (
    delete from payload as p using gone where p.document_id = gone.id
  ), history as (
    delete from document_history as h using gone where h.document_id = gone.id
  ), marks as (
    delete from document_mark as m using gone where m.document_id = gone.id
  ), told as (
    delete from document_event as e using gone where e.document_id = gone.id
  )
  select count(*)::integer from gone
$$;

-- What was staged first is as old as its sending: so is its envelope, and so long may its plan of attempts last.
create or replace function take_attempt(p_id uuid, p_owner text, p_lease_ms integer)
returns table (
  id uuid, firm_id uuid, sender text, receiver text, document_type_id text, process_id text, status text,
  version integer, attempt integer, answers integer, faults integer, as4_message_id text, sbdh_instance_id uuid,
  facts jsonb, created_at timestamptz, payload_key_id text, payload_sealed bytea, payload_bytes integer
)
language sql volatile as $$
  with taken as (
    update document as d
    set attempts = d.attempts + 1, version = d.version + 1, lease_owner = p_owner, attempted_at = clock_timestamp(),
      lease_until = clock_timestamp() + p_lease_ms * interval '1 millisecond'
    from document as before
    where d.id = p_id and before.id = d.id and document_is_open(d.status) and d.next_attempt_at <= clock_timestamp()
      and (d.lease_until is null or d.lease_until < clock_timestamp())
    returning d.*, before.lease_owner as owner_before, before.attempted_at as attempted_before
  ), cut as (
    insert into document_attempt (document_id, number, owner, started_at, finished_at, outcome, retryable)
    select taken.id, taken.attempts - 1, taken.owner_before, coalesce(taken.attempted_before, clock_timestamp()),
      clock_timestamp(), 'cut', true
    from taken where taken.owner_before is not null and taken.attempts > 1
    on conflict (document_id, number) do nothing
  )
  select taken.id, taken.firm_id, taken.sender, taken.receiver, taken.document_type_id, taken.process_id, taken.status,
    taken.version, taken.attempts, taken.answers, taken.faults, taken.as4_message_id, taken.sbdh_instance_id,
    taken.facts, case when taken.staged is null then taken.created_at else taken.staged_at end, payload.key_id, payload.sealed,
    payload.bytes
  from taken join payload on payload.document_id = taken.id
$$;
