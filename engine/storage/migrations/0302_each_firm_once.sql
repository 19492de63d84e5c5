-- A look that goes on after a firm which has nothing waiting any more came round to the firm behind that a second time, and counted
-- its lanes twice: it ends before that firm now.
create or replace function ready_lanes(
  p_after uuid, p_firms uuid[], p_receivers text[], p_firms_max integer, p_lanes_max integer, p_ready_max integer,
  p_passed_max integer, p_passed_firm_max integer
) returns table (firm_id uuid, receiver_key text, ready integer, after text, firms_go_on boolean)
language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_sort = off set enable_incremental_sort = off as $$
declare
  v_firm uuid := p_after;
  v_firms integer := 0;
  v_firms_round boolean := p_after is null;
  v_start text;
  v_receiver text;
  v_due_at timestamptz;
  v_ready integer;
  v_lanes integer;
  v_passed integer := 0;
  v_passed_firm integer;
  v_round boolean;
  v_all boolean;
begin
  loop
    select d.firm_id into v_firm from document as d
    where d.next_attempt_at is not null and d.firm_id > coalesce(v_firm, '00000000-0000-0000-0000-000000000000')
    order by d.firm_id limit 1;
    if not found then
      exit when v_firms_round;
      v_firms_round := true;
      v_firm := null;
      continue;
    end if;
    exit when v_firms_round and v_firm > p_after;
    v_firms := v_firms + 1;
    v_start := p_receivers[array_position(p_firms, v_firm)];
    v_receiver := v_start;
    v_round := v_start is null;
    v_all := false;
    v_lanes := 0;
    v_passed_firm := 0;
    while v_lanes < p_lanes_max and v_passed_firm < p_passed_firm_max and v_passed < p_passed_max loop
      select d.receiver_key, d.next_attempt_at into v_receiver, v_due_at from document as d
      where d.next_attempt_at is not null and d.firm_id = v_firm and d.receiver_key > coalesce(v_receiver, '')
      order by d.receiver_key, d.next_attempt_at limit 1;
      -- Once round: the receiver it began after was the last.
      if v_round and (not found or v_receiver > v_start) then
        v_all := true;
        exit;
      end if;
      if not found then
        v_round := true;
        v_receiver := null;
        continue;
      end if;
      v_passed := v_passed + 1;
      v_passed_firm := v_passed_firm + 1;
      v_ready := 0;
      if v_due_at <= now() then
        select count(*) into v_ready from (
          select 1 from document as d
          where d.next_attempt_at is not null
            and (d.firm_id, d.receiver_key, d.next_attempt_at) >= (v_firm, v_receiver, '-infinity')
            and (d.firm_id, d.receiver_key, d.next_attempt_at) <= (v_firm, v_receiver, now())
            and (d.lease_until is null or d.lease_until < now())
          order by d.firm_id, d.receiver_key, d.next_attempt_at
          limit p_ready_max
        ) as r;
      end if;
      if v_ready > 0 then
        v_lanes := v_lanes + 1;
        firm_id := v_firm; receiver_key := v_receiver; ready := v_ready; after := null; firms_go_on := null;
        return next;
      end if;
      v_all := v_round and v_receiver is not distinct from v_start;
      exit when v_all;
    end loop;
    firm_id := v_firm; receiver_key := null; ready := 0;
    after := case when not v_all then v_receiver end;
    firms_go_on := v_firms >= p_firms_max or v_passed >= p_passed_max;
    return next;
    exit when firms_go_on or (v_firms_round and p_after is not null and v_firm >= p_after);
  end loop;
end
$$;
