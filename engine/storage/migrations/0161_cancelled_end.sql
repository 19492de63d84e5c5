-- Deletes documents that were cancelled so long ago and never left, as every document is removed: with its text, wherever
-- that is, and all that is told of it. Answers how many.
create or replace function delete_cancelled(p_kept_days integer, p_limit integer) returns integer language plpgsql as $$
declare
  v_ids uuid[];
begin
  select coalesce(array_agg(c.id), '{}') into v_ids from (
    select d.id from document as d
    where d.staged = 'cancelled' and d.staged_at < clock_timestamp() - make_interval(days => p_kept_days)
    order by d.staged_at limit p_limit for update skip locked
  ) as c;
  return remove_documents(v_ids);
end
$$;
