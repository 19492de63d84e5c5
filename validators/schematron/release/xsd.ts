/**
 * XSDs of document types that the engine has no grammar table for, run by libxml2-wasm. The library is optional: it is
 * loaded when a pack with an XSD is active, and its absence is said in one sentence.
 */
import type * as LibraryTypes from "libxml2-wasm";
import { dirname, join, resolve } from "node:path";
import { readFileSync } from "node:fs";
import type { Layer } from "../../report.js";
import type { RawFinding } from "../../rules/rule.js";

/** The XSD of a pack cannot be used. */
export class XsdUnavailable extends Error {
  constructor(problem: string) {
    super(problem);
    this.name = "XsdUnavailable";
  }
}

export type XsdFinding = Omit<RawFinding, "element"> & { readonly line: number };
export type XsdValidator = {
  readonly layer: Layer;
  /** Findings of the grammar, in the order of the document; an empty list when it is valid. */
  readonly validate: (bytes: Uint8Array, findingsMax: number) => readonly XsdFinding[];
  /** Frees the compiled schema. */
  readonly dispose: () => void;
};

const MESSAGE =
  "The document does not follow the XML schema of its type at this place. Compare the element with the schema: its name, its position, its attributes and the form of its value.";

type Library = typeof LibraryTypes;

/**
 * Compiles one XSD. Includes and imports are read from the folder of the file and below, nothing else, and only now.
 * @throws XsdUnavailable when libxml2-wasm is not installed or the XSD cannot be compiled
 */
export async function loadXsd(file: string, root: string, layer: Layer): Promise<XsdValidator> {
  const library = await loadLibrary();
  const { XmlDocument, XsdValidator: Validator, XmlValidateError, XmlLibError } = library;
  const provider = folderProvider(library, resolve(root));
  let validator: InstanceType<Library["XsdValidator"]>;
  const release = provider();
  try {
    const schema = XmlDocument.fromBuffer(readFileSync(file), { url: file });
    try {
      validator = Validator.fromDoc(schema);
    } finally {
      schema.dispose();
    }
  } catch (error) {
    throw error instanceof XmlLibError ? new XsdUnavailable("the XSD of the pack cannot be compiled") : error;
  } finally {
    release();
  }
  return {
    layer,
    dispose: () => validator.dispose(),
    validate: (bytes, findingsMax) => {
      const document = XmlDocument.fromBuffer(bytes);
      try {
        validator.validate(document);
        return [];
      } catch (error) {
        if (!(error instanceof XmlValidateError)) throw error;
        return error.details
          .slice(0, findingsMax)
          .map(({ line }) => ({ ruleId: "XSD", severity: "error" as const, line, message: MESSAGE, terms: [] }));
      } finally {
        document.dispose();
      }
    },
  };
}

async function loadLibrary(): Promise<Library> {
  try {
    return await import("libxml2-wasm");
  } catch {
    throw new XsdUnavailable(
      "this rule pack has an XSD, which needs the package libxml2-wasm; install it (npm install libxml2-wasm) or switch the pack off",
    );
  }
}

/**
 * Lets libxml2 read files below one folder while an XSD is compiled; returns what registers it, which returns the
 * undoing.
 */
function folderProvider(library: Library, root: string): () => () => void {
  const files = new Map<number, { readonly bytes: Buffer; readonly at: number }>();
  let next = 1;
  const pathOf = (name: string): string => resolve(name.replace(/^file:\/\//, ""));
  const within = (path: string): boolean => path === root || path.startsWith(join(root, "/")) || dirname(path) === root;
  return () => {
    library.xmlRegisterInputProvider({
      match: (name) => within(pathOf(name)),
      open: (name) => {
        files.set(next, { bytes: readFileSync(pathOf(name)), at: 0 });
        return next++;
      },
      read: (handle, buffer) => {
        const open = files.get(handle);
        if (open === undefined) return -1;
        const count = open.bytes.copy(buffer, 0, open.at);
        files.set(handle, { bytes: open.bytes, at: open.at + count });
        return count;
      },
      close: (handle) => files.delete(handle),
    });
    return () => {
      library.xmlCleanupInputProvider();
    };
  };
}
