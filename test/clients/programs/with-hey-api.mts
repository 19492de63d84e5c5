/** The same create through the client that @hey-api/openapi-ts writes. */
import { client } from "../generated/hey-api/connector/client.gen.js";
import {
  connectorCancelDocument,
  connectorCreateDocument,
  connectorGetDocument,
  connectorSendDocument,
} from "../generated/hey-api/connector/sdk.gen.js";
import { client as enterprise } from "../generated/hey-api/enterprise/client.gen.js";
import { authToken } from "../generated/hey-api/enterprise/sdk.gen.js";
import { invoice, said, setting } from "./invoice.mjs";

const baseUrl = setting("KURIER_ORIGIN");
const credentials = { client_id: setting("KURIER_CLIENT_ID"), client_secret: setting("KURIER_CLIENT_SECRET") };
enterprise.setConfig({ baseUrl });

const login = await authToken({ body: { grant_type: "client_credentials", ...credentials } });
if (login.data === undefined) throw new Error(said(login.error));
client.setConfig({ baseUrl, auth: login.data.access_token });

const created = await connectorCreateDocument({ body: invoice() });
if (created.data === undefined) throw new Error(said(created.error));
const { id, customerRef } = created.data;

const asked = { path: { documentId: id }, query: { customerRef } };
const sent = await connectorSendDocument(asked);
if (sent.data === undefined) throw new Error(said(sent.error));
const read = await connectorGetDocument(asked);
if (read.data === undefined) throw new Error(said(read.error));
const refused = await connectorCancelDocument(asked);
console.log(
  JSON.stringify({ id, total: read.data.amounts.total, sent: sent.data.replayed, code: refused.error?.error.code }),
);
