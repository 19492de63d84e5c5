/**
 * /.well-known/security.txt: whom to tell of a weakness of this installation.
 * @source RFC 9116
 */
import { DAY_MS, isoInstant } from "../../engine/base/clock.js";
import { LIMITS } from "../../engine/base/limits.js";
import { route } from "../contract/route.js";
import type { Route } from "../contract/route.js";

const PATH = "/.well-known/security.txt";

interface SecurityTextPorts {
  /** `mailto:`, `https:` or `tel:`, as the operator has written it. */
  readonly contact: string;
  /** Base of our own addresses. */
  readonly publicUrl: string;
}

/** The row of the file; each answer is good for some days from then on: a running engine vouches for its contact. */
export const securityTextRoutes = ({ contact, publicUrl }: SecurityTextPorts): readonly Route[] => [
  route({
    ...{ method: "GET", mounts: [""], family: "public", credential: "none", errors: [], hidden: true },
    operation: "securityText",
    path: PATH,
    tag: "Security",
    summary: "Whom to tell of a weakness",
    responses: { 200: { description: "The file of RFC 9116", contentType: "text/plain" } },
    handler: ({ receivedAt }) => ({
      status: 200,
      body: {
        raw: [
          `Contact: ${contact}`,
          `Expires: ${isoInstant(receivedAt + LIMITS.security_text_days * DAY_MS)}`,
          `Canonical: ${publicUrl}${PATH}`,
          "Preferred-Languages: en, sk",
          "",
        ].join("\n"),
      },
      contentType: "text/plain; charset=utf-8",
    }),
  }),
];
