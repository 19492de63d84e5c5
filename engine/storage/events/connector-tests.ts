/** Statements of what an integrator makes itself: tests of its receiver, and an event that is sent again. */
import type { FirmId, IntegratorId } from "../../base/ids.js";
import type { ConnectorEventType } from "../../lifecycle/connector.js";
import type { Json, Sql } from "../sql.js";
import type { TestScenario } from "./dispatch.js";

/** The key of a request and the digest of what it asks for. */
interface RequestKey {
  readonly key: string;
  readonly sha256: string;
}

/** What a request under a key came to: `repeat` made nothing, for an earlier one has. */
type Kept = "new" | "repeat" | "conflict";

interface NewTest {
  readonly id: string;
  readonly eventId: string;
  readonly documentId: string;
  readonly scenario: TestScenario;
}

/** Tests of one firm's events. */
interface NewTests {
  readonly firmId: FirmId;
  readonly customerRef: string;
  readonly event: ConnectorEventType;
  readonly data: Json;
  readonly tests: readonly NewTest[];
  readonly runId: string;
  readonly request: RequestKey | undefined;
}

/** Makes test deliveries. @returns `inactive` without a webhook that is switched on; otherwise the run */
export async function insertConnectorTests(
  sql: Sql,
  integratorId: IntegratorId,
  { firmId, customerRef, event, data, tests, runId, request }: NewTests,
): Promise<{ readonly outcome: Kept | "inactive"; readonly made: string }> {
  const column = <K extends keyof NewTest>(name: K): NewTest[K][] => tests.map((one) => one[name]);
  const [row] = await sql<{ readonly outcome: Kept | "inactive"; readonly made: string }[]>`
    select outcome, made from test_connector(
      ${integratorId}, ${firmId}, ${customerRef}, ${event}, ${JSON.stringify(data)}::text::jsonb, ${column("id")}::uuid[],
      ${column("eventId")}::uuid[], ${column("documentId")}::uuid[], ${column("scenario")}::text[], ${runId},
      ${request?.key ?? null}, ${request?.sha256 ?? null}
    )`;
  return row ?? { outcome: "inactive", made: runId };
}

/** Why an event is not sent again. */
type ReplayRefusal = "unknown" | "inactive" | "pending" | "unconfirmed";

interface Replay {
  readonly deliveryId: string;
  /** Whether an event that was taken may come again. */
  readonly isConfirmed: boolean;
  /** Of the new delivery, if one is made. */
  readonly id: string;
  readonly request: RequestKey;
}

/** Sends the event of a delivery again, as a new delivery. */
export async function replayConnectorDelivery(
  sql: Sql,
  integratorId: IntegratorId,
  { deliveryId, isConfirmed, id, request }: Replay,
): Promise<{ readonly outcome: Kept | ReplayRefusal; readonly made: string; readonly eventId: string } | undefined> {
  const [row] = await sql<
    { readonly outcome: Kept | ReplayRefusal; readonly made: string; readonly eventId: string }[]
  >`
    select outcome, made, event_id as "eventId" from replay_connector(
      ${deliveryId}, ${integratorId}, ${isConfirmed}, ${id}, ${request.key}, ${request.sha256}
    )`;
  return row;
}
