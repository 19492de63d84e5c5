-- A document that its firm cancelled before it was sent ends in the state send_failed, and is nobody's failure: it is
-- counted under a name of its own. A staged document says itself that it was cancelled, one of the Box by its reason.
create function tallied_as(p_status text, p_staged text, p_reason text) returns text language sql immutable parallel safe as $$
  select case when p_status = 'send_failed' and (
    p_staged is not distinct from 'cancelled' or p_reason = 'It was cancelled in the Box before it was transmitted.'
  ) then 'cancelled' else p_status end
$$;

alter table document_tally drop constraint document_tally_status_check;
alter table document_tally add constraint document_tally_status_check check (
  status in ('delivered', 'rejected', 'send_failed', 'delivery_failed', 'validation_failed', 'cancelled')) not valid;
alter table document_tally validate constraint document_tally_status_check;

-- As before, but for that.
create or replace function tally_documents() returns trigger language plpgsql as $$
declare
  v record;
begin
  for v in
    select tallied_as(s.status, s.staged, s.reason) as status, s.change from (
      select old.status as status, old.staged as staged, old.status_reason as reason, -1 as change where tg_op <> 'INSERT'
      union all select new.status, new.staged, new.status_reason, 1 where tg_op <> 'DELETE'
    ) as s where not document_is_open(s.status)
  loop
    update document_tally as t set n = t.n + v.change where t.status = v.status
      and t.share = (select f.share from document_tally as f where f.status = v.status limit 1 for update skip locked);
    if not found then insert into document_tally (status, n) values (v.status, v.change); end if;
  end loop;
  return null;
end $$;

-- Those that were cancelled before this, as far as an index leads to them: staged ones, and those of the Box.
with cancelled as (
  select d.id from document as d
    where d.staged = 'cancelled' and tallied_as(d.status, d.staged, d.status_reason) = 'cancelled'
  union
  select d.id from box_item as i join document as d on d.id = i.document_id
    where i.status = 'cancelled' and tallied_as(d.status, d.staged, d.status_reason) = 'cancelled'
), counted as (
  select count(*) as n from cancelled
)
insert into document_tally (status, n)
select v.status, v.n from counted, lateral (values ('cancelled', counted.n), ('send_failed', -counted.n)) as v (status, n)
where counted.n > 0;
