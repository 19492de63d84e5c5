/** Another access point of the same development network, that posts documents to the /as4 of a running engine. */
import { randomUUID } from "node:crypto";
import { join } from "node:path";

import { systemClock } from "../../../engine/base/clock.js";
import type { ParticipantId } from "../../../engine/base/ids.js";
import { buildUserMessage } from "../../../engine/peppol/as4/messages.js";
import { wrapDocument } from "../../../engine/peppol/envelope/byte-exact.js";
import { BILLING_CAPABILITIES, BILLING_PROCESS } from "../../../engine/peppol/envelope/identifiers.js";
import { ensureDevelopmentPki, loadDevelopmentKeys } from "../../../engine/peppol/pki/development.js";
import { wrapPrivateKey } from "../../../validators/wss/keys.js";
import { inThread, userMessage } from "./as4.js";
import { accessPoint } from "./as4-keys.js";
import { http } from "../engines/engine.js";
import type { HttpAnswer, TestEngine } from "../engines/engine.js";

const TYPE = BILLING_CAPABILITIES[0]?.documentTypeId ?? "";
const SEAT = "PSK000002";
/** Whom the peer sends for. */
export const FOREIGN_SENDER = "0245:7000000001" as ParticipantId;

export interface ForeignPeer {
  /** A signed message around a payload for the demo receiver, as it is posted. */
  message(payload: Buffer): Promise<{ readonly body: Buffer; readonly contentType: string }>;
  /** Posts one. @returns the answer, a receipt or an error of ebMS */
  post(payload: Buffer): Promise<HttpAnswer>;
}

/** Makes the keys of a peer whom the engine trusts. */
export async function foreignPeer(t: TestEngine): Promise<ForeignPeer> {
  const folder = join(t.dataDir, "peer");
  await ensureDevelopmentPki({ folder, clock: systemClock, seat: SEAT, from: join(t.dataDir, "pki") });
  const [leaf] = await loadDevelopmentKeys(folder);
  const [own] = await loadDevelopmentKeys(join(t.dataDir, "pki"));
  if (leaf === undefined || own === undefined) throw new Error("the development network has no keys");
  const signer = { certificate: Buffer.from(leaf.certificate), key: wrapPrivateKey(leaf.privateKey) };
  const anybody = accessPoint("PSK000001");
  const receiver = t.sandbox.receiver.participantId as ParticipantId;
  const message: ForeignPeer["message"] = async (payload) => {
    const sbd = wrapDocument({
      sender: FOREIGN_SENDER,
      receiver,
      documentType: TYPE,
      process: BILLING_PROCESS,
      instanceId: randomUUID(),
      createdAt: systemClock.now(),
      countryC1: "SK",
      payload,
    });
    if (sbd.kind === "refused") throw new Error(sbd.fault);
    const header = userMessage(anybody, anybody, {
      messageId: `${randomUUID()}@peer`,
      fromParty: SEAT,
      toParty: "PSK000001",
      originalSender: FOREIGN_SENDER,
      finalRecipient: receiver,
      action: `busdox-docid-qns::${TYPE}`,
    });
    const recipient = Buffer.from(own.certificate);
    const asked = { message: header, payload: sbd.bytes, id: randomUUID(), signer, recipient };
    return buildUserMessage(asked, inThread);
  };
  return {
    message,
    post: async (payload) => {
      const { body, contentType } = await message(payload);
      return http(
        "POST",
        new URL("/as4", t.engine.publicUrl).href,
        { "content-type": contentType },
        Uint8Array.from(body),
      );
    },
  };
}
