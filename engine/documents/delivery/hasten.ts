/** An operator's word that a document is to be tried now, whatever its plan says. */
import type { DocumentId } from "../../base/ids.js";
import { hastenDocument } from "../../storage/documents/attempts.js";
import { orTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";

/** @returns false when it has ended, is due already, or is being tried. @throws Refusal TEMPORARY */
export const hasten = ({ sql }: { readonly sql: Sql }, id: DocumentId): Promise<boolean> =>
  orTemporary(hastenDocument(sql, id));
