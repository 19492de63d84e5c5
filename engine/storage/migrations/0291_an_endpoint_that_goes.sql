-- An endpoint without subscriptions can be on its way out when somebody subscribes to it: who waited for its row found none.
create or replace function webhook_endpoint_of(p_owner uuid, p_origin text) returns uuid language plpgsql volatile as $$
declare
  v_id uuid;
begin
  if p_origin is null then return null; end if;
  loop
    select w.id into v_id from webhook_endpoint as w where w.owner_id = p_owner and w.origin = p_origin for key share;
    if found then return v_id; end if;
    insert into webhook_endpoint (id, owner_id, origin) values (new_row_id(), p_owner, p_origin)
    on conflict (owner_id, origin) do nothing;
  end loop;
end
$$;
