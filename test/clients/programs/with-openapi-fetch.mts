/** A create through the types of openapi-typescript and the calls of openapi-fetch. */
import createClient from "openapi-fetch";

import type { paths as Connector } from "../generated/openapi-fetch/connector.js";
import type { paths as Enterprise } from "../generated/openapi-fetch/enterprise.js";
import { invoice, said, setting } from "./invoice.mjs";

const baseUrl = setting("KURIER_ORIGIN");
const credentials = { client_id: setting("KURIER_CLIENT_ID"), client_secret: setting("KURIER_CLIENT_SECRET") };

const login = await createClient<Enterprise>({ baseUrl }).POST("/api/v1/auth/token", {
  body: { grant_type: "client_credentials", ...credentials },
});
if (login.data === undefined) throw new Error(said(login.error));

const headers = { authorization: `Bearer ${login.data.access_token}` };
const connector = createClient<Connector>({ baseUrl, headers });
const created = await connector.POST("/api/v1/connector/documents", { body: invoice() });
if (created.data === undefined) throw new Error(said(created.error));
const { id, customerRef } = created.data;

const params = { path: { documentId: id }, query: { customerRef } };
const sent = await connector.POST("/api/v1/connector/documents/{documentId}/send", { params });
if (sent.data === undefined) throw new Error(said(sent.error));
const read = await connector.GET("/api/v1/connector/documents/{documentId}", { params });
if (read.data === undefined) throw new Error(said(read.error));
const refused = await connector.POST("/api/v1/connector/documents/{documentId}/cancel", { params });
console.log(
  JSON.stringify({ id, total: read.data.amounts.total, sent: sent.data.replayed, code: refused.error?.error.code }),
);
