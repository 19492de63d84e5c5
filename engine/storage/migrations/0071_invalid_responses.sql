-- An invoice response that breaks the rules of its type is answered with RE and answers no invoice.
alter table inbound_status drop constraint inbound_status_outcome_check;
alter table inbound_status add constraint inbound_status_outcome_check check (outcome in ('applied', 'late', 'duplicate', 'contradicting', 'outdated', 'misdated', 'out_of_order', 'ambiguous', 'unknown', 'foreign', 'invalid', 'unreadable'));
