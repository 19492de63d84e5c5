-- Field maps that integrators keep under names of their own: which member of a program's documents is which member of
-- ours. A map holds names only, nothing of an invoice. A row lives until its integrator deletes it.
create table mapper_template (
  integrator_id uuid not null references integrator (id),
  template_key text not null check (length(template_key) between 1 and 64),
  field_map jsonb not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (integrator_id, template_key)
);

-- Keeps a field map. Answers 'created', 'replaced' or 'limit_reached'. The integrator's row is locked while its maps are
-- counted, so that two calls at once do not both take the last place.
create function put_mapper_template(
  p_integrator uuid, p_key text, p_field_map jsonb, p_now timestamptz, p_most integer
) returns text language plpgsql as $$
begin
  perform 1 from integrator where id = p_integrator for update;
  update mapper_template set field_map = p_field_map, updated_at = p_now
    where integrator_id = p_integrator and template_key = p_key;
  if found then return 'replaced'; end if;
  if (select count(*) from mapper_template where integrator_id = p_integrator) >= p_most then
    return 'limit_reached';
  end if;
  insert into mapper_template (integrator_id, template_key, field_map, created_at, updated_at)
    values (p_integrator, p_key, p_field_map, p_now, p_now);
  return 'created';
end $$;
