-- The feed: what webhooks, pulls and the meter are told, in one order over all firms. An event has its place by the
-- transaction that wrote it and, within it, by its position; whoever reads stops below the oldest transaction that may
-- still commit, so that nothing appears behind a reader. A received document is an event of its own row.

drop index document_event_feed;
create index document_event_feed on document_event (transaction_id, position) where feed or kind = 'document.queued';

alter table received_document add column feed_transaction_id xid8;
alter table received_document add column feed_position bigint;
create index received_document_feed on received_document (feed_transaction_id, feed_position)
  where feed_position is not null;

-- A received document joins the feed when its firm may see it: at once, or when it is held no more. Its position is of
-- the same sequence as those of the other events, so that no two have the same.
create function received_joins_feed() returns trigger
language plpgsql as $$
begin
  new.feed_transaction_id := pg_current_xact_id();
  new.feed_position := nextval(pg_get_serial_sequence('document_event', 'position'));
  return new;
end
$$;
create trigger received_joins_feed_at_once before insert on received_document
  for each row when (new.status = 'RECEIVED') execute function received_joins_feed();
create trigger received_joins_feed_later before update of status on received_document
  for each row when (new.status = 'RECEIVED' and old.status = 'HELD') execute function received_joins_feed();

-- How far each consumer of the feed has come; a consumer moves its place in the statement that writes what it has made of
-- the events.
create table feed_consumer (
  name text primary key,
  transaction_id xid8 not null,
  position bigint not null
);

-- The events after a place, oldest first, of at most p_limit rows that tell of them. The acceptance of a document is one
-- such row and tells of two events, told apart by their part; what is written of it is one row.
create function read_feed(p_transaction_id xid8, p_position bigint, p_limit integer)
returns table (
  transaction_id xid8, feed_position bigint, part smallint, id uuid, kind text, document_id uuid, firm_id uuid,
  direction text, occurred_at timestamptz
)
language sql stable as $$
  with told as (
    (
      select e.transaction_id, e.position, e.id, e.kind, e.document_id, e.firm_id, 'outbound' as direction, e.occurred_at
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
