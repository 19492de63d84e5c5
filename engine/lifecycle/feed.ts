/** What the feed of events tells: the kinds that a subscription may name. */
import { EVENT_KINDS, IMPORT_KIND } from "./document.js";

/**
 * Every kind of the feed. The last three have no row among the events: the first two are told by the acceptance of a
 * document, the third by a received document that its firm may see.
 * @source spec/enterprise.md, Events; spec/shapes.md, section 5
 */
export const FEED_KINDS = [...EVENT_KINDS, "document.created", "document.validated", "document.received"] as const;
/** A kind of event that a subscription may name. */
export type FeedKind = (typeof FEED_KINDS)[number];

/** What the feed tells the Connector alone. */
export const CONNECTOR_FEED_KINDS = ["document.cancelled", IMPORT_KIND] as const;
