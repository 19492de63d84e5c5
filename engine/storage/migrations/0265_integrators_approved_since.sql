-- Since when an integrator may act for firms in production, or may not any more; null since it was made.
alter table integrator add column production_changed_at timestamptz;
