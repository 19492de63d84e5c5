/** What is kept, and what ends it: evidence and rows. */
import { DAY_MS } from "../clock.js";
import { KiB, MiB, SECOND_MS, MINUTE_MS, HOUR_MS } from "./units.js";

export const KEEPING_LIMITS = {
  // Evidence
  /** Exchanges that share one file, one fsync and one statement. */
  evidence_batch: 64,
  evidence_batch_bytes_max: 64 * MiB,
  /** Exchanges that may wait for their batch; beyond, exchanges fail and are repeated. */
  evidence_queue_max: 1_024,
  /** Octets of records that are sealed, written and stored at once on a node; others wait. Ours. */
  evidence_bytes_max: 256 * MiB,
  /**
   * An answer about revocation longer than this (a list) is an object of its own, and how many such a node remembers.
   */
  evidence_part_shared_bytes: 16 * KiB,
  evidence_shared_max: 256,
  /** Entries of the chain read at once by `evidence verify`. */
  evidence_page: 500,
  /** Entries under one tombstone: so many are proved, and may then go, at once. Ours: 100 bytes of heap each. */
  evidence_buried_at_once: 10_000,
  /** How long after an object was shared an exchange may still end that refers to it. Ours: exchanges last minutes. */
  evidence_shared_needed_ms: 2 * HOUR_MS,
  /** How long one request to the object store is waited for. */
  evidence_store_timeout_ms: 20 * SECOND_MS,

  /** How often an unanswered revocation question is logged for one certificate. Ours. */
  revocation_warning_ms: 1 * HOUR_MS,
  revocation_warnings_max: 10_000,
  /** Faults that an audit reports: a lost store has one for every entry. */
  audit_faults_max: 1_000,
  /** Root certificates that an audit tells apart: a network has a few in ten years, a forger's store any number. */
  audit_roots_max: 100,
  /** Tries of a write that met another write of the same object. */
  evidence_conflicts_max: 4,
  /** Versions of one object that are looked at: one, normally; more where a service does not know If-None-Match. */
  evidence_versions_max: 16,

  // What is kept, and what ends it
  /** spec/sapi.md, Limits: archive retention, 10 years. */
  archive_retention_years: 10,
  /** The same in days, with the most leap days that ten years can have: what an envelope proves goes after it. */
  archive_kept_ms: 3_653 * DAY_MS,
  /** How long is kept what its owner has ended, such as a key or a request: as long as the audit tells of it. Ours. */
  ended_kept_ms: 731 * DAY_MS,
  /** How long a confirmation of the tax authority waits for the request that it belongs to. Ours. */
  confirmation_kept_ms: 90 * DAY_MS,
  /** Rows that one statement removes, statements that one sweep of a table makes, and how often a node sweeps. Ours. */
  sweep_batch: 500,
  sweep_rounds_max: 200,
  sweep_interval_ms: 10 * MINUTE_MS,
  /** How long a payload stays in the database where there is a payload store: it is asked for most then. Ours. */
  payload_here_ms: 90 * DAY_MS,
  /** When an object of the payload store that no row names is given up: a pass takes minutes at most. Ours. */
  payload_announced_ms: DAY_MS,
  /** Payloads looked at for one object, the octets from which on it takes no more, and objects of a pass. Ours. */
  payload_move_batch: 256,
  payload_move_bytes: 16 * MiB,
  payload_move_rounds_max: 1_000,
  /** What waits is counted up to so many: at most 100 ms of a scrape. Ours. */
  census_open_max: 100_000,
} as const;
