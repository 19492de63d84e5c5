/**
 * Every event that the engine logs: its code, on which alerts and searches rely, and the sentence beside it.
 * A line of the log carries both; fields say the rest. A code is never reused for something else.
 */
export const LOG_EVENTS = {
  "actor.crashed": "An actor ended by a fault of ours; the next message starts it anew.",
  "admin.closed": "Operators have no token and every call of /admin is refused; set ADMIN_TOKEN.",
  "as4.answer_unjudged":
    "A fault of ours kept the answer to a message from being judged; it counts as transmitted, and is sent again.",
  "as4.error_unsigned": "An ebMS error could not be signed and was sent without a signature.",
  "as4.evidence_not_stored": "The evidence of an AS4 exchange could not be stored.",
  "as4.exchange_failed": "An AS4 exchange ended in a fault of ours; the attempt is made again.",
  "as4.message_failed":
    "A message of another access point met a fault of ours and was not taken; the sender will repeat it.",
  "as4.message_refused": "A message of another access point was refused with an ebMS error.",
  "as4.message_not_taken":
    "A message of another access point was answered 503: no worker or no database could take it; the sender will repeat it.",
  "as4.repeat_unreadable": "The stored evidence of a message that came again cannot be read.",
  "box.delayed": "An item of the Box could not be given to its actor; it is taken again when its lease ends.",
  "box.dispatch_failed": "Handing an item of the Box over ended in a fault of ours; it is tried again.",
  "box.due_unreadable": "Due items of the Box could not be read; the next look comes soon.",
  "box.end_unwritable": "The end of a dispatch could not be written; the item is taken again when its lease ends.",
  "box.leases_freed": "Items of the Box that a dead process, or nobody, was at are free for others.",
  "box.prune_failed": "Items of the Box that have ended could not be removed; the next pass tries again.",
  "child.died": "A child process has ended by itself.",
  "child.restart_failed": "A child process that had ended could not be started again.",
  "child.restarted": "A child process had ended and was started again.",
  "child.unwatched": "A child process has no watcher: if the engine is killed, it runs on until the next start.",
  "config.name_misspelt": "A variable of the environment has no meaning here and is one slip away from one that has.",
  "console.sign_in_refused": "Somebody tried to sign in to the console without the operators' token.",
  "console.signed_in": "An operator has signed in to the console.",
  "database.failed": "Postgres did not do what was asked, and who asked was told to come again; the code says why.",
  "directory.failed":
    "The directory of companies did not answer, or not as it should; whoever asked was told to come again.",
  "dispatch.attempt_failed": "An attempt to deliver a document ended in a fault of ours.",
  "dispatch.attempts_unreadable": "The earlier attempts of a document could not be read.",
  "dispatch.delayed":
    "A due document could not be given to its actor, or the end of its attempt not written; it is claimed again.",
  "dispatch.due_unreadable": "Due attempts could not be read; the next look comes soon.",
  "dispatch.receipt_after_end":
    "A receipt came for a document that had ended without one: its recipient has it, and its sender was told otherwise.",
  "dispatch.receipt_late":
    "A receipt came to a node that was taken for dead: the document or message is delivered all the same.",
  "dispatch.faults_repeated": "A document fails again and again on our side: it waits, and somebody has to look.",
  "dispatch.leases_freed": "Attempts that a dead process, or nobody, was at are free for others.",
  "documents.batch_item_failed": "A document of a batch met a fault of ours; the others went on.",
  "engine.data_dir_lost":
    "Another engine has taken DATA_DIR, whose lock this one could not touch for a while; this one stops.",
  "engine.data_dir_waits":
    "The lock of DATA_DIR is of another container or machine; for some seconds it is looked at whether that engine lives.",
  "engine.ready": "The engine is ready for requests.",
  "engine.stop_failed": "A part of the engine did not stop cleanly.",
  "engine.stop_late": "A part of the engine did not stop in its time, and was left behind.",
  "engine.stopping": "The engine finishes what is under way and stops.",
  "evidence.unreadable": "Stored evidence of a document cannot be read or does not fit its record.",
  "identity.announcement_failed":
    "Another node could not be told of a change; it asks the database before its memory expires.",
  "identity.background_failed": "Background work on keys and tokens failed; it is repeated.",
  "identity.beat_failed": "This node could not tell the others that it is alive.",
  "identity.channel_down": "Announcements of other nodes do not arrive; every request asks the database until they do.",
  "identity.node_not_removed": "This node could not take itself off the list of nodes.",
  "identity.signing_key_published": "A new key that will sign access tokens was published.",
  "identity.signing_key_retired":
    "An operator has retired a key that signs access tokens; every token that it signed is refused from now on.",
  "identity.signing_key_sealed": "A stored signing key cannot be opened with this MASTER_KEY.",
  "inbound.verdict_failed": "Judging a received document ended in a fault of ours; it is tried again.",
  "inbound.findings_unwritable":
    "What was found in a received document cannot be stored; its verdict is written without.",
  "inbound.held_overdue": "Received documents could not be judged and wait for an operator.",
  "inbound.held_released": "An operator has shown a received document without a verdict to its firm.",
  "inbound.signed_elsewhere":
    "Another access point has sent in the name of a participant of ours; operators see its seat with the document.",
  "inbound.verdict_impossible": "A received document cannot be judged; no status is sent for it.",
  "log.lines_lost": "Standard output took no lines for a while, and so many more than may wait for it are lost.",
  "mail.dropped": "Too many letters are under way and one was not sent; look at the mail server.",
  "mail.failed": "A letter could not be sent and is lost; look at SMTP_URL and the mail server.",
  "metrics.census_failed": "The gauges of documents could not be read from the database and keep their last values.",
  "nats.orphan_stopped": "A nats-server that the last process had left behind was stopped.",
  "onboarding.activation_failed": "Firms that were vouched for could not be activated; the next pass tries again.",
  "pki.development_ready": "The development PKI of the sandbox was made or renewed.",
  "pki.keys_renewed": "The key store has changed and its new keys are in use.",
  "pki.keystore_unusable": "The changed key store cannot be read; the keys from before stay in use.",
  "pki.revocation_failed": "A question about a certificate's revocation ended in a fault of ours.",
  "pki.revocation_unknown": "No revocation service answered for a certificate; REVOCATION decides what that means.",
  "postgres.log_files_failed":
    "Files of the log of the embedded Postgres could not be made ahead; it makes them itself, while commits wait.",
  "postgres.orphan_stopped": "A Postgres that the last process had left behind was stopped.",
  "traces.not_taken": "The collector of traces did not take spans; they were dropped and counted.",
  "whitelabel.closed":
    "The SMP of WHITE_LABEL_SMP does not let us in or has switched off what we ask for; mend its user, password or settings.",
  "whitelabel.failed": "Operations on participants could not be taken up; they are looked for again.",
  "whitelabel.review": "Nobody knows what the registry did; an operator has to ask it and release the operation.",
  "whitelabel.unvouched":
    "A token came that the registry cannot check; an operator has to check it, and vouch for the operation or release it.",
  "meter.failed": "What is paid for could not be counted; it is tried again.",
  "provider.not_registered":
    "Our own participant as a provider is not registered in the network; run kurier participants register --provider.",
  "registrations.new_firm_failed":
    "The participant of a new firm could not be registered in the network; see the list of registrations.",
  "relay.failed": "The outbox could not be read; the next look comes soon.",
  "relay.lag_unknown": "How far a stream lags behind could not be read.",
  "relay.publish_failed": "Events could not be put on their stream; they stay in the outbox.",
  "reports.made": "The monthly reports to the network were made.",
  "request.failed": "A request met a fault of ours and was answered 500.",
  "retention.failed": "Rows whose time has come could not be removed; the next pass tries again.",
  "rules.look_failed": "The folder of rule packs could not be read; the next look comes soon.",
  "rules.pack_refused":
    "A rule pack of RULES_DIR cannot be used, the outcome says why; threads keep the rules that they have.",
  "rules.packs_changed": "Rule packs were activated, deactivated or imported; threads take them up by themselves.",
  "sandbox.peer_failed": "The sandbox's other access point met a fault and answered as if it were down.",
  "sandbox.sequel_failed": "An answer of a participant of the sandbox could not be sent; it is not tried again.",
  "sandbox.sequel_sent": "A participant of the sandbox has answered a document.",
  "smp.answer_failed": "Our SMP could not make an answer; whoever asked was told to come again.",
  "smp.lookup_failed": "A look-up of a recipient ended in a fault of ours; the attempt is made again.",
  "statuses.delayed": "Due work on received documents failed and is tried again.",
  "statuses.due_unreadable": "Due work on received documents could not be read; the next look comes soon.",
  "statuses.handling_failed": "A received status met a fault of ours; it is handled again.",
  "statuses.message_failed": "An attempt to deliver a status or an answer ended in a fault of ours.",
  "statuses.not_followed": "A received status changes nothing; the outcome says why.",
  "statuses.unreadable": "A received status cannot be read.",
  "storage.key_missing":
    "What was asked for is sealed under a key that this engine was not given; whoever asked was told to come again.",
  "storage.store_empty":
    "Nothing is in a store in which something lies by what the database says: its file system is not mounted, or all is lost.",
  "storage.value_unopened":
    "A sealed number, amount or note cannot be opened and is shown as empty; its row is damaged, or its key is missing.",
  "stream.acknowledged_left": "Messages that were handled could not be removed from a stream; they count as waiting.",
  "stream.ack_failed": "A message of a stream could not be marked as done and will come again.",
  "stream.claim_failed": "Messages of a stream could not be claimed; the next look comes soon.",
  "stream.consumer_stalled": "A consumer had due messages and moved none; it is made anew.",
  "stream.consumer_waits": "A consumer cannot reach its stream and waits.",
  "stream.handler_failed": "The handler of a message failed; the message comes again.",
  "stream.handler_late": "The handler of a message took longer than the stream waits.",
  "stream.housekeeping_failed": "Old copies of events could not be removed.",
  "stream.message_dropped":
    "A message was delivered as often as is allowed and is given up; its work is still due in Postgres.",
  "stream.message_foreign": "What came over a stream is no message of ours, and is given up.",
  "stream.pull_failed": "Messages could not be fetched from the broker.",
  "validator.no_worker": "No thread could be started to judge documents; who waits for one is told to come again.",
  "validator.not_kept": "A document that has ended two workers could not be kept in DATA_DIR/quarantine.",
  "validator.quarantined":
    "A document has ended two workers; it is refused from now on and kept sealed in DATA_DIR/quarantine.",
  "webhook.attempt_unwritten":
    "What became of an attempt to tell a receiver of an event could not be written; it is made again.",
  "webhook.disabled": "A subscription was switched off: its receiver said that it is gone, or failed for days.",
  "webhook.leases_freed": "Deliveries that a dead process, or nobody, was at are free for others.",
  "webhook.look_failed": "Events or deliveries could not be read; the next look comes soon.",
  "webhook.unopened": "The keys that deliveries need could not be read; they are given back, and tried again soon.",
} as const satisfies Readonly<Record<string, string>>;

export type LogEvent = keyof typeof LOG_EVENTS;
