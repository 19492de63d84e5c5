/**
 * The doors through which a document can be handed over for sending. What a caller names (its idempotency key, its own
 * id of the document) counts within one door. @source spec/sapi.md; spec/enterprise.md, What the service does
 */
export const DOOR_NAMES = ["sapi", "enterprise", "box", "connector"] as const;
export type Door = (typeof DOOR_NAMES)[number];
