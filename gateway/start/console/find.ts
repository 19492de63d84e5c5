/** What an operator looks for: an id, a message, a participant, or a firm's own number of a document. */
import { parseFirmId, parseParticipantId, parseUuid, participantKey } from "../../../engine/base/ids.js";
import {
  findSentByExternalId,
  findByMessageId,
  findByParticipant,
  findByUuid,
} from "../../../engine/storage/operators/find.js";
import type { FoundThing } from "../../../engine/storage/operators/find.js";
import { orTemporary } from "../../../engine/storage/sql.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { dateText, textCell } from "../../web/console/cells.js";
import type { Sheet } from "../../web/console/sections.js";

/** Where a page of the console shows one thing of a kind; undefined for what has no page of its own. */
const PAGES: Readonly<Record<FoundThing["kind"], (found: FoundThing) => string | undefined>> = {
  document: ({ id }) => `/console/documents/${id}`,
  received: ({ id }) => `/console/documents/${id}`,
  // An item of the Box and its document share the id once it was sent; until then its firm has it.
  box_item: ({ firmId }) => `/console/firms/${firmId ?? ""}`,
  white_label: ({ id, state }) => (state === "manual_review" ? `/console/white-label/${id}` : undefined),
  onboarding: ({ id }) => `/console/onboarding/${id}`,
  firm: ({ id }) => `/console/firms/${id}`,
  integrator: ({ id }) => `/console/integrators/${id}`,
  api_key: ({ id }) => `/console/keys/${id}`,
  webhook: ({ id }) => `/console/webhooks/${id}`,
  webhook_delivery: () => undefined,
};

const pageOf = (found: FoundThing): string | undefined => PAGES[found.kind](found);

/** `FIRM:NUMBER`, as one field holds both. */
const WITH_FIRM = /^([0-9a-fA-F-]{36})[:/ ](.+)$/;

async function lookFor(sql: Sql, text: string, firm: string | undefined): Promise<readonly FoundThing[]> {
  const [, inText, number] = WITH_FIRM.exec(text) ?? [];
  const firmId = parseFirmId(firm ?? inText ?? "");
  if (firmId !== undefined) return findSentByExternalId(sql, { firmId, externalId: number ?? text });
  const uuid = parseUuid(text);
  if (uuid !== undefined) return findByUuid(sql, uuid);
  const participant = parseParticipantId(text);
  if (participant !== undefined) return findByParticipant(sql, participantKey(participant));
  return text.includes("@") ? findByMessageId(sql, text.replace(/^<|>$/g, "")) : [];
}

/** @returns where the one thing is that was found, or a page of all */
export async function findForOperator(
  sql: Sql,
  { text, firm }: { readonly text: string; readonly firm: string | undefined },
): Promise<string | Sheet> {
  const found = await orTemporary(lookFor(sql, text, firm));
  const [only] = found;
  const page = found.length === 1 && only !== undefined ? pageOf(only) : undefined;
  if (page !== undefined) return page;
  return {
    title: "Search",
    at: "",
    lead: "Ids of documents, messages, envelopes, operations, firms, integrators, keys and webhooks; participants; and a firm's own number of a document as FIRM-ID:NUMBER.",
    sections: [
      {
        id: "found",
        title: "Found",
        columns: ["What", "Id", "State", "Since"],
        rows: found.map((one) => {
          const kind = one.kind.replace("_", " ");
          return [textCell(kind), textCell(one.id, pageOf(one)), textCell(one.state), textCell(dateText(one.at))];
        }),
        empty: "Nothing has this id.",
      },
    ],
    actions: [],
  };
}
