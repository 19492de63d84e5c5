-- Registers a master key, unless the register has one that the ring of its node lacks: those that come together to an empty
-- register take turns, so that the second sees what the first has registered. Who reads the register waits for nobody.
create function register_master_key(p_key_id text, p_canary bytea, p_made_at timestamptz, p_ring text[])
returns text[] language plpgsql as $$
declare
  v_strange text[];
begin
  if exists (select 1 from master_key where key_id = p_key_id) then
    return '{}';
  end if;
  lock table master_key in share row exclusive mode;
  select coalesce(array_agg(m.key_id order by m.made_at, m.key_id), '{}') into v_strange
    from master_key as m where m.key_id <> all (p_ring);
  if v_strange = '{}' then
    insert into master_key (key_id, canary, made_at) values (p_key_id, p_canary, p_made_at) on conflict (key_id) do nothing;
  end if;
  return v_strange;
end
$$;
