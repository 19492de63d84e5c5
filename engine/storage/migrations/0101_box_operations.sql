-- What clients do with an item of the Box: one statement decides, by the item's version, against every other one and against
-- the document's own attempts.

-- A document that waits for its next attempt can be cancelled; it was never transmitted.
alter table document_history drop constraint document_history_trigger_check;
alter table document_history add constraint document_history_trigger_check check (trigger in (
  'accepted', 'rules_refused', 'transmitted', 'receipt_confirmed', 'attempts_exhausted', 'peer_refused', 'mls_ap', 'mls_ab', 'mls_re',
  'invoice_response', 'cancelled')) not valid;

-- Moves an item that has the version that was decided on. p_move: id, firmId, integratorId (of the caller), version, trigger,
-- to, scheduledFor, freshId (the id of its next document, where it has had one), owner and leaseMs (where it is taken at
-- once), documentStatus and reason (what becomes of a document that is cancelled). Answers whether it was moved.
create function move_box_item(p_move jsonb, p_events jsonb, p_audit jsonb) returns boolean language plpgsql as $$
declare
  v_id uuid := (p_move ->> 'id')::uuid;
  v_firm uuid := (p_move ->> 'firmId')::uuid;
  v_trigger text := p_move ->> 'trigger';
  v_to text := p_move ->> 'to';
  v_scheduled timestamptz := (p_move ->> 'scheduledFor')::timestamptz;
  v_document document;
  v_item box_item;
  v_waits boolean;
  v_leaves boolean;
begin
  select d.* into v_document from document as d join box_item as i on i.document_id = d.id
  where i.id = v_id and i.firm_id = v_firm for update of d;
  select * into v_item from box_item as i
  where i.id = v_id and i.firm_id = v_firm and i.version = (p_move ->> 'version')::integer for update;
  if not found then return false; end if;
  v_waits := v_document.id is not null and document_is_open(v_document.status);
  v_leaves := v_document.id is not null and not v_waits and v_to <> 'cancelled';
  -- Somebody has begun an attempt: the item is not what it was decided on.
  if v_waits and v_document.lease_owner is not null then return false; end if;
  if v_waits and v_to = 'cancelled' then
    perform 1 from apply_move(v_document.id, v_document.version, p_move ->> 'documentStatus', 'cancelled', p_move ->> 'reason',
      clock_timestamp(), null, p_events, null, jsonb_build_object('statusReason', p_move ->> 'reason'));
  elsif v_waits then
    update document as d set next_attempt_at = least(d.next_attempt_at, clock_timestamp()), version = d.version + 1
    where d.id = v_document.id;
  end if;
  update box_item as i
  set status = v_to, version = i.version + 1, tries = 0, last_error = null,
    scheduled_for = coalesce(v_scheduled, i.scheduled_for),
    due_at = case v_to
      when 'scheduled' then v_scheduled
      when 'retrying' then case when not v_waits then clock_timestamp() end
      when 'sending' then clock_timestamp() + (p_move ->> 'leaseMs')::integer * interval '1 millisecond'
    end,
    lease_owner = case when v_to = 'sending' then p_move ->> 'owner' end,
    locked_at = case when v_to = 'sending' then clock_timestamp() end,
    document_id = case when v_leaves then (p_move ->> 'freshId')::uuid else i.document_id end,
    attempts_before = i.attempts_before + case when v_leaves then v_document.attempts else 0 end,
    sent_at = case when v_leaves then null else i.sent_at end,
    cancelled_at = case when v_to = 'cancelled' then clock_timestamp() end,
    status_since = case when v_item.status = v_to then i.status_since else clock_timestamp() end,
    updated_at = greatest(i.updated_at, clock_timestamp())
  where i.id = v_id
  returning * into v_item;
  insert into box_event (item_id, version, kind, status, actor_type, actor_id, detail, document_id, occurred_at)
  values (v_id, v_item.version, v_trigger, v_to, p_audit ->> 'actorType', p_audit ->> 'actorId', p_move ->> 'scheduledFor',
    case when v_leaves then v_document.id end, clock_timestamp());
  perform append_audit(
    p_audit,
    case v_trigger when 'schedule' then 'box.scheduled' when 'send_now' then 'box.sent_now' when 'retry' then 'box.retried'
      when 'cancel' then 'box.cancelled' end,
    v_firm, (p_move ->> 'integratorId')::uuid, 'box_item', v_id::text,
    jsonb_build_object('status', v_to, 'scheduledFor', p_move ->> 'scheduledFor'));
  return true;
end
$$;
