-- Items of the Box have an end. The text of a sent one stays with its document; the Box keeps its own copy no longer than it
-- may be needed to send it again.
alter table box_item add column payload_gone boolean not null default false;
create index box_item_archive on box_item (status_since) where status = 'sent' and not payload_gone;
