/** libxml2 with the official UBL 2.1 schemas: what the grammar table must agree with. */
import { readFileSync } from "node:fs";
import { xmlCleanupInputProvider, XmlDocument, XsdValidator } from "libxml2-wasm";
import { xmlRegisterFsInputProviders } from "libxml2-wasm/lib/nodejs.mjs";
import { conformance } from "../conformance.js";

export const ORACLE_ROOTS = ["Invoice", "CreditNote", "ApplicationResponse"] as const;
export type OracleRoot = (typeof ORACLE_ROOTS)[number];

/** Whether libxml2 takes a document as well-formed and valid. */
export type Oracle = (bytes: Buffer, root: OracleRoot) => { readonly valid: boolean; readonly message: string };

/** Compiles the schemas. Local files can be read only while that lasts. */
export function openOracle(): Oracle {
  xmlRegisterFsInputProviders();
  const validators = new Map<OracleRoot, XsdValidator>();
  for (const root of ORACLE_ROOTS) {
    const url = conformance("ubl-2.1-xsd", "maindoc", `UBL-${root}-2.1.xsd`);
    const schema = XmlDocument.fromBuffer(readFileSync(url), { url });
    validators.set(root, XsdValidator.fromDoc(schema));
    schema.dispose();
  }
  xmlCleanupInputProvider();
  return (bytes, root) => {
    let document: XmlDocument | undefined;
    try {
      document = XmlDocument.fromBuffer(bytes);
      validators.get(root)?.validate(document);
      return { valid: true, message: "" };
    } catch (error) {
      return { valid: false, message: error instanceof Error ? error.message : "" };
    } finally {
      document?.dispose();
    }
  };
}
