-- Rows that change while their page is still being filled find room in it: their other indexes then need no new entries.
alter table document set (fillfactor = 70);
alter table document_attempt set (fillfactor = 70);
alter table mls_duty set (fillfactor = 50);
alter table outbox set (fillfactor = 70);
