/**
 * Everything in the database that a master key seals, or the key of the firm that a row belongs to. A test compares the
 * table with the schema.
 */
import { boxContext, metadataContext } from "../../../engine/documents/box/create.js";
import { secretContext } from "../../../engine/events/webhooks/subscriptions.js";
import type { BoxItemId } from "../../../engine/base/ids.js";
import { signingKeyContext } from "../../../engine/identity/tokens/signing-keys.js";
import { operationContext } from "../../../engine/identity/white-label/operations.js";
import { migrationKeyContext } from "../../../engine/peppol/discovery/registrations.js";
import { noteContext } from "../../../engine/storage/keyring/facts.js";
import type { SealedColumns } from "../../../engine/storage/keyring/reseal.js";

/** Payloads are sealed for the id of their row alone. */
const own = (id: string): string => id;

/** Small tables first: who watches sees that it goes on. */
export const SEALED: readonly SealedColumns[] = [
  {
    ...{ table: "signing_key", id: "kid", idType: "text", keyId: "master_key_id" },
    sealed: { private_sealed: signingKeyContext },
  },
  {
    ...{ table: "webhook_subscription", id: "id", idType: "uuid", keyId: "secret_key_id" },
    sealed: { secret_sealed: secretContext },
  },
  {
    ...{ table: "webhook_subscription", id: "id", idType: "uuid", keyId: "old_secret_key_id" },
    sealed: { old_secret_sealed: secretContext },
  },
  {
    ...{ table: "registration", id: "participant_key", idType: "text", keyId: "migration_key_id" },
    sealed: { migration_key_sealed: migrationKeyContext },
  },
  {
    ...{ table: "white_label_operation", id: "id", idType: "uuid", keyId: "secret_key_id" },
    sealed: { secret_sealed: (id) => operationContext(id, "secret") },
  },
  {
    ...{ table: "white_label_operation", id: "id", idType: "uuid", keyId: "body_key_id" },
    sealed: { body_sealed: (id) => operationContext(id, "body") },
  },
  {
    ...{ table: "service_message", id: "id", idType: "uuid", keyId: "payload_key_id" },
    sealed: { payload_sealed: own, note_sealed: noteContext },
    owner: "row",
  },
  {
    ...{ table: "inbound_status", id: "id", idType: "uuid", keyId: "payload_key_id" },
    sealed: { payload_sealed: own },
    owner: "exchange",
  },
  {
    ...{ table: "box_payload", id: "item_id", idType: "uuid", keyId: "key_id" },
    sealed: {
      sealed: (id) => boxContext(id as BoxItemId),
      metadata_sealed: (id) => metadataContext(id as BoxItemId),
    },
    owner: "item",
  },
  {
    ...{ table: "payload", id: "document_id", idType: "uuid", keyId: "key_id" },
    sealed: { sealed: own },
    owner: "document",
  },
];
