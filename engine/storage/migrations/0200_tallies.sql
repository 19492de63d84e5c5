-- How many documents have ended in each state, so that nobody counts them. A count has several rows: whoever ends a document adds to one
-- that no other transaction holds, so that none waits for the commit of another. There come to be as many as there were transactions at once.
create table document_tally (
  status text not null check (status in ('delivered', 'rejected', 'send_failed', 'delivery_failed', 'validation_failed')),
  share integer generated always as identity,
  n bigint not null,
  primary key (status, share)
) with (fillfactor = 50);
insert into document_tally (status, n) select status, count(*) from document where not document_is_open(status) group by status;

create function tally_documents() returns trigger language plpgsql as $$
declare
  v record;
begin
  for v in
    select s.status, s.change from (
      select old.status as status, -1 as change where tg_op <> 'INSERT' union all select new.status, 1 where tg_op <> 'DELETE'
    ) as s where not document_is_open(s.status)
  loop
    update document_tally as t set n = t.n + v.change where t.status = v.status
      and t.share = (select f.share from document_tally as f where f.status = v.status limit 1 for update skip locked);
    if not found then insert into document_tally (status, n) values (v.status, v.change); end if;
  end loop;
  return null;
end $$;

-- What is accepted is open, and open documents are counted where they wait: an acceptance writes nothing here.
create trigger document_tallied_at_once after insert on document for each row
  when (new.status not in ('queued', 'sent')) execute function tally_documents();
create trigger document_tallied after update of status on document for each row
  when (new.status <> old.status) execute function tally_documents();
create trigger document_tallied_gone after delete on document for each row
  when (old.status not in ('queued', 'sent')) execute function tally_documents();
