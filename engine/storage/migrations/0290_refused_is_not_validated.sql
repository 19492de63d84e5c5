-- A document that the rules refuse at the Box or the Connector is kept, and ends by the statement that accepts it: that is
-- told as created and rejected, and not as validated.
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
    union all select 1, 'document.validated' where t.kind = 'document.queued' and not exists (
      select 1 from document_event as e
      where e.document_id = t.document_id and e.kind = 'document.rejected' and e.transaction_id = t.transaction_id
    )
  ) as p (part, kind)
  order by 1, 2, 3
$$;
