-- The import of a received document is an event of its own, of which the Connector tells. Every interface acknowledges by this
-- one change of state, the release before among them; what was acknowledged before is not told afterwards.
alter table document_event drop constraint document_event_kind_check;
alter table document_event add constraint document_event_kind_check check (kind in (
  'document.sent', 'document.delivered', 'document.delivery_failed', 'document.mls_received', 'document.rejected',
  'document.response_received', 'document.queued', 'document.cancelled', 'document.attempt_failed',
  'document.mls_ignored', 'document.response_ignored', 'document.marked', 'document.processed'
)) not valid;

create function received_is_processed() returns trigger language plpgsql as $$
begin
  insert into document_event (id, document_id, firm_id, kind, actor, feed, occurred_at)
  values (new_row_id(), new.id, new.firm_id, 'document.processed', 'api', true, new.acknowledged_at);
  return null;
end
$$;
create trigger received_is_processed after update of status on received_document for each row
  when (new.status = 'ACKNOWLEDGED' and old.status <> 'ACKNOWLEDGED') execute function received_is_processed();

create or replace function connector_event(p_kind text, p_document uuid) returns text language sql stable as $$
  select case p_kind
    when 'document.created' then 'document.queued'
    when 'document.delivered' then p_kind
    when 'document.received' then p_kind
    when 'document.processed' then p_kind
    when 'document.cancelled' then p_kind
    when 'document.delivery_failed' then 'document.failed'
    when 'document.rejected' then case
      when exists (select 1 from document as d where d.id = p_document and d.status = 'validation_failed')
      then 'document.needs_attention' else 'document.failed'
    end
  end
$$;

-- The events after a place, oldest first, of at most p_limit rows that tell of them. The acceptance of a document is one
-- such row and tells of two events, told apart by their part; what is written of it is one row.
create or replace function read_feed(p_transaction_id xid8, p_position bigint, p_limit integer)
returns table (
  transaction_id xid8, feed_position bigint, part smallint, id uuid, kind text, document_id uuid, firm_id uuid,
  direction text, occurred_at timestamptz
)
language sql stable as $$
  with told as (
    (
      select e.transaction_id, e.position, e.id, e.kind, e.document_id, e.firm_id,
        case e.kind when 'document.processed' then 'inbound' else 'outbound' end as direction, e.occurred_at
      from document_event as e
      where (e.feed or e.kind = 'document.queued') and (e.transaction_id, e.position) > (p_transaction_id, p_position)
        and e.transaction_id < pg_snapshot_xmin(pg_current_snapshot())
      order by e.transaction_id, e.position limit p_limit
    )
    union all
    (
      select r.feed_transaction_id, r.feed_position, r.id, 'document.received', r.id, r.firm_id, 'inbound', r.received_at
      from received_document as r
      where r.feed_position is not null
        and (r.feed_transaction_id, r.feed_position) > (p_transaction_id, p_position)
        and r.feed_transaction_id < pg_snapshot_xmin(pg_current_snapshot())
      order by r.feed_transaction_id, r.feed_position limit p_limit
    )
    order by 1, 2 limit p_limit
  )
  select t.transaction_id, t.position, p.part::smallint,
    case when p.kind = 'document.validated' then t.document_id else t.id end,
    p.kind, t.document_id, t.firm_id, t.direction, t.occurred_at
  from told as t
  cross join lateral (
    select 0, t.kind where t.kind <> 'document.queued'
    union all select 0, 'document.created' where t.kind = 'document.queued'
    union all select 1, 'document.validated' where t.kind = 'document.queued'
  ) as p (part, kind)
  order by 1, 2, 3
$$;
