-- Scheme 0242 names service providers: what is sent there is meant for the provider itself, so no firm is reached there.
-- Rows of earlier releases stay; an operator sees them in the list of firms.
alter table participant add constraint participant_provider_check check (not starts_with(key, '0242:')) not valid;
