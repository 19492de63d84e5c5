/** Peer (b): Fastify, zod and postgres.js doing the same insert, as an ordinary service would be written. */
import Fastify from "fastify";
import { z } from "zod";

import { createPeerTable, insertPeer, openPeerSql, peerPort } from "./insert.js";

const BODY_LIMIT = 25 * 1024 * 1024;
const body = z.object({
  metadata: z.object({
    documentId: z.string().min(1).max(255),
    documentTypeId: z.string(),
    processId: z.string(),
    senderParticipantId: z.string(),
    receiverParticipantId: z.string(),
    creationDateTime: z.iso.datetime().optional(),
  }),
  payload: z.string(),
  payloadFormat: z.literal("XML"),
});
const sql = openPeerSql();
await createPeerTable(sql);

const app = Fastify({ bodyLimit: BODY_LIMIT });
app.post("/send", async (request, reply) => {
  const parsed = body.parse(request.body);
  await insertPeer(sql, parsed.metadata.documentId, parsed.payload);
  return reply.code(202).send({});
});
await app.listen({ host: "127.0.0.1", port: peerPort() });
