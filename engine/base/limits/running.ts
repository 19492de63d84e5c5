/** One process and its parts: nodes, actors, Postgres, workers, a start and its end. */
import { MiB, SECOND_MS } from "./units.js";

export const RUNNING_LIMITS = {
  // Nodes
  /** How often an engine touches the lock of its data directory, and how long one is looked at that nobody touches. */
  data_dir_beat_ms: 1 * SECOND_MS,
  data_dir_dead_ms: 5 * SECOND_MS,
  /** A node says this often that it is alive, in database time, and is forgotten after so long a silence. */
  node_beat_ms: 2 * SECOND_MS,
  node_dead_ms: 10 * SECOND_MS,

  // Actors
  /** design/reliability.md, C-16. A command that finds the box full is answered 503. */
  mailbox_max: 1_000,
  actors_max: 200_000,
  /** design/reliability.md, 2.4: a parent copies its children for every message. */
  actor_shards: 256,
  actor_idle_ms: 60 * SECOND_MS,
  /** Idle actors that are dropped in one turn of the event loop: 9 µs each. */
  actors_dropped_turn_max: 500,
  actor_ask_timeout_ms: 25 * SECOND_MS,
  stale_version_retries: 3,

  // Postgres
  db_connections: 16,
  /** Connections for logins, renewals and guesses, beside those of all other work. Ours. */
  db_login_connections: 4,
  /** Those of which a process has one each: signs of life, two channels, and the counting of reports. */
  db_single_connections: 4,
  /** All of one process, which a role, a database and a server must allow: with fewer it is refused what it asks. */
  db_process_connections: 24,
  /** Connections that ask at once, to find out whether a pooler gives one the session of another. */
  pooler_probe_connections: 2,
  /** How often each of them asks. */
  pooler_probe_rounds: 6,
  db_statement_timeout_ms: 10 * SECOND_MS,
  db_lock_timeout_ms: 2 * SECOND_MS,
  /** So much longer than a statement may take Postgres may be silent on a connection that owes an answer. Ours. */
  db_silence_ms: 5 * SECOND_MS,
  db_connect_timeout_s: 5,
  /** Wait of a caller for the database; then it is told 503, whatever the statement under way still comes to. */
  db_answer_timeout_ms: 4_500,
  /** After a connection was lost, until the same is asked on another one: the rest of the lost are known then. */
  lost_connection_rest_ms: 20,
  /**
   * How long what is in our hands waits for a Postgres that is away, and the rest between two tries: a restart after a
   * kill takes half a second to four.
   */
  db_back_wait_ms: 8 * SECOND_MS,
  db_back_rest_ms: 250,
  /** Documents committed by one call of accept_documents. */
  accept_batch: 50,
  /** Questions for inboxes that one statement answers. */
  read_batch: 128,
  /** Calls that may wait for a statement that they share, and octets that one such statement carries. */
  statement_waiting_max: 4_096,
  statement_bytes_max: 2 * MiB,
  /**
   * Least time between the beginnings of statements that write the ends of attempts, under load: the more calls share
   * one, the less each costs. Ours: D-396.
   */
  statement_pace_ms: 25,

  // Running
  drain_timeout_ms: 15 * SECOND_MS,
  /**
   * All parts of a node stop in so long, whatever hangs: with `drain_readiness_ms` before it, less than the minute that
   * systemd, Docker and Kubernetes give.
   */
  stop_timeout_ms: 50 * SECOND_MS,
  /**
   * How long a node in production says that it is not ready before it takes no more connections: balancers look every
   * few seconds, and what they still send meanwhile is served.
   */
  drain_readiness_ms: 5 * SECOND_MS,
  /**
   * A start that is told to end may come to its end for so long, to drain then; one that waits, as for migrations of
   * another process, has nothing to drain and is left. Ours: most starts take less.
   */
  start_left_ms: 4 * SECOND_MS,
  /**
   * A signal that comes so soon behind another of its kind is the same press of Ctrl-C: the terminal gives it to npm
   * and to the engine, and npm hands it on. Ours: a moment, also on a busy machine.
   */
  signal_echo_ms: SECOND_MS,
  /** How long an answer to a probe holds. */
  readiness_cached_ms: SECOND_MS,
  child_start_timeout_ms: 15 * SECOND_MS,
  child_stop_timeout_ms: 10 * SECOND_MS,
  /** Characters of one field of a log line; what is longer is cut. */
  log_text_chars_max: 200,
  /** Characters of the log that wait while standard output takes none, and how soon they are offered again. Ours. */
  log_waiting_chars_max: 4 * MiB,
  log_again_ms: 100,
  /** Spans of one trace in one process, links of one span, and characters of an attribute. Ours. */
  trace_spans_max: 1_000,
  trace_links_max: 100,
  trace_text_chars_max: 200,
  /**
   * Spans that wait for the collector, spans of one export, how often one is made and how long it may take.
   * OpenTelemetry's defaults are 2,048, 512, 5 s and 10 s.
   */
  trace_queue_max: 8_192,
  trace_batch_max: 512,
  trace_export_ms: 1 * SECOND_MS,
  trace_export_timeout_ms: 5 * SECOND_MS,
  /** How long an engine that stops goes on sending spans: a slow collector would hold it up for each export. Ours. */
  trace_stop_ms: 5 * SECOND_MS,
  /** What strangers cause is logged once in so long for each kind; kinds that are told apart. Ours. */
  log_kind_ms: 1 * SECOND_MS,
  log_kinds_max: 256,
  /** How long a command that only tries something out may take. */
  child_probe_timeout_ms: 5 * SECOND_MS,
  /** How often a child process is asked whether it is ready or gone. */
  child_poll_ms: 10,
  /** How often the watcher of a child looks whether its signal has ended it, in seconds as the shell takes them. */
  child_watch_look_s: 0.1,
  /** Wait before a child process that died is started again: doubles from the first to the last. */
  child_restart_first_ms: 100,
  child_restart_max_ms: 5 * SECOND_MS,
  /** Lines of a child's error output that are kept to explain a failed start, and their length. */
  child_last_words_max: 20,
  child_last_words_chars_max: 500,
  /**
   * Files of 16 MB of the embedded Postgres' log, a few less than its min_wal_size keeps; from how many on it counts
   * as at work: an engine that was only started has one. None is made where the disk has not nine times their room.
   */
  log_files: 28,
  log_files_at_work: 3,
  log_files_free_bytes: 4_096 * MiB,
  /** How often is looked whether there are enough, and the rest between two that are made: commits wait for each. */
  log_files_look_ms: 5 * SECOND_MS,
  log_files_rest_ms: 50,
  /** The path of a Unix socket: 104 octets on macOS and 108 on Linux, the final zero included. */
  socket_path_bytes_max: 100,
  /** The oldest PostgreSQL that has what our statements use, as server_version_num writes it. */
  postgres_version_min: 150_000,

  // Workers
  /**
   * Memory of the machine or the container for each thread for small documents, where nobody says how many there are:
   * one has 24 MB before its first document, and up to 256 MB of heap. Ours: D-517.
   */
  validator_thread_memory_bytes: 256 * MiB,
  /** Documents waiting for a validator thread; beyond, sends are answered 503. */
  validator_queue_max: 2_048,
  validator_queue_bytes_max: 256 * MiB,
  /** Share of a lane's queue and of its bytes that one tenant or one address may hold. */
  validator_key_share: 0.25,
  /**
   * Steps of niceness by which the threads for large documents stand behind the event loop and the threads for small
   * ones: 10 leave them a tenth of a processor that others want as well, and all of one that nobody wants. Ours.
   */
  validator_large_niceness: 10,
  /**
   * Jobs of our own that may wait in front of a lane where they hold the share of one key: more than there are
   * attempts, look-ups, service messages and signatures of our SMP at once, so that none is turned away. Ours.
   */
  validator_own_waiting_max: 1_024,
  /** Documents of our SMP that are signed at once; each is signed once and remembered. Ours. */
  smp_signatures_at_once_max: 256,
  /** When a document is attempted again whose message no worker could take: a lane empties in less. Ours. */
  workers_busy_retry_ms: 1 * SECOND_MS,
  validator_document_timeout_ms: 20 * SECOND_MS,
  /** How often the engine looks whether rule packs were activated or damaged, to say so in its log. */
  rule_packs_look_ms: 10 * SECOND_MS,
  /** design/validation.md, V5. */
  xml_depth_max: 256,
  xml_attributes_per_element_max: 256,
  xml_name_bytes_max: 256,
  xml_elements_max: 4_000_000,
  xml_namespace_declarations_max: 4_096,
  /** Different spellings of names that are not UBL's. Ours. */
  xml_unknown_names_max: 16_384,
  /** Findings kept in one report; beyond, the report says how many were dropped. Ours. */
  findings_max: 1_000,
  /** Languages of one Accept-Language that are looked at. Ours. */
  accept_languages_max: 16,
} as const;
