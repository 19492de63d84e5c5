-- An attempt ends in one of a closed list of ways, which a test compares with that of the program. What an earlier release
-- wrote is left as it is.
alter table document_attempt add constraint document_attempt_outcome_check check (outcome in (
  'receipt', 'already_handed_over', 'unconfirmed', 'recipient_unregistered', 'recipient_capability', 'lookup_failed',
  'certificate_rejected', 'transport_failed', 'peer_busy', 'peer_refused', 'deferred', 'unsendable', 'internal', 'cut'
)) not valid;
alter table service_attempt add constraint service_attempt_outcome_check check (outcome in (
  'receipt', 'already_handed_over', 'unconfirmed', 'recipient_unregistered', 'recipient_capability', 'lookup_failed',
  'certificate_rejected', 'transport_failed', 'peer_busy', 'peer_refused', 'deferred', 'unsendable', 'internal', 'cut'
)) not valid;
