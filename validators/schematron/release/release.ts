/** The files of a rule release: a folder or a ZIP archive, read with limits and hashed. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join, relative, sep } from "node:path";
import { readZip } from "./zip.js";

export type ReleaseFile = {
  /** Relative, with "/". */ readonly path: string;
  readonly bytes: Buffer;
  readonly sha256: string;
};

const LIMITS = { entries: 4_000, bytes: 128 * 1024 * 1024, depth: 8, schemaBytes: 16 * 1024 * 1024 } as const;
/** What a release is made of; other files (documentation, style sheets compiled elsewhere) are not read. */
const WANTED = /\.(?:sch|xsd|xml)$/i;

/** A release that cannot be read. */
export class ReleaseError extends Error {
  constructor(problem: string) {
    super(problem);
    this.name = "ReleaseError";
  }
}

/**
 * The Schematron, XSD and XML files of a folder or ZIP archive, sorted by path.
 * @throws ReleaseError when it is neither, has no such file, or exceeds 4,000 files, 128 MB or 16 MB a schema; ZipError
 */
export function readRelease(source: string): ReleaseFile[] {
  const files = isFolder(source)
    ? readFolder(source)
    : readZip(readFileSync(source), LIMITS, (name) => WANTED.test(name)).map(({ name, bytes }) => ({
        path: name,
        bytes,
        sha256: sha256(bytes),
      }));
  for (const { path, bytes } of files) checkSize(path, bytes.length);
  if (files.length === 0) throw new ReleaseError(`${basename(source)} holds no Schematron, XSD or XML file`);
  return files.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** @throws ReleaseError where nothing is, also behind a file, about which Node.js 24 alone is silent if asked to be */
function isFolder(source: string): boolean {
  try {
    return statSync(source).isDirectory();
  } catch (error) {
    const isNothing = error instanceof Error && "code" in error && ["ENOENT", "ENOTDIR"].includes(String(error.code));
    throw isNothing ? new ReleaseError(`${basename(source)} does not exist`) : error;
  }
}

/** The largest schema that is published has 2 MB; a far larger one would take memory for its tree and its code. */
function checkSize(path: string, bytes: number): void {
  if (/\.sch$/i.test(path) && bytes > LIMITS.schemaBytes)
    throw new ReleaseError(`${path} is larger than ${LIMITS.schemaBytes / 1024 / 1024} MB`);
}

function readFolder(root: string): ReleaseFile[] {
  const files: ReleaseFile[] = [];
  let left: number = LIMITS.bytes;
  const visit = (folder: string, depth: number): void => {
    if (depth > LIMITS.depth) throw new ReleaseError(`folders are nested more than ${LIMITS.depth} deep`);
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) visit(path, depth + 1);
      else if (entry.isFile() && WANTED.test(entry.name)) {
        const { size } = statSync(path);
        checkSize(relative(root, path), size);
        left -= size;
        if (left < 0 || files.length >= LIMITS.entries)
          throw new ReleaseError(`the release has more than ${LIMITS.entries} files or ${LIMITS.bytes} bytes`);
        const bytes = readFileSync(path);
        files.push({ path: relative(root, path).split(sep).join("/"), bytes, sha256: sha256(bytes) });
      }
    }
  };
  visit(root, 0);
  return files;
}

/** SHA-256 in lower case hexadecimal digits. */
export const sha256 = (bytes: Uint8Array | string): string => createHash("sha256").update(bytes).digest("hex");

/** Official files by hash: what an imported release is, whatever it was called. Facts, collected from the releases. */
const KNOWN: Readonly<Record<string, string>> = {
  "268d4f7a2688676695e6c69cba6fba69a6802604fee12cb544a6b30ff09555a3": "EN 16931 UBL 1.3.16",
  "3e2ef852de9286a118ad32146f339dab0e7576d9c169bbb1b698d8bba9176f9d": "Peppol MLS 1.0.1",
  "3c4d9d9161eca5f0a7e02d8a83975a90838439364d7c34007e8e4a32f342be1e": "EN 16931 UBL as of Peppol BIS Billing 3.0.19",
  "2840f5158f7bbdbf3b3f5d2ea391b9ac9e649e1fdbba8502bd8c15ec52924f23": "Peppol BIS Billing 3.0.19",
  "2e62d3e97370ab133958c45a735532a621c072b9a95a2fa6b3a04900346e34fb": "Peppol BIS Self-Billing 3.0.21",
  f8234c0ec97317a5c4b690d414b0daae386031c9ac9a8ea3a5f693f5098a4cd9: "Peppol BIS Billing 3.0.21",
  cac14962aceeef164c2be6d537fb21f1b9bc3e4f74aabf5e3fd1254170f72d88: "Peppol End User Statistics Reporting 1.1.4",
  "236a76ad14d76c184d036bb0b440b44a532d283b83782803792f4ef907315171": "Peppol Transaction Statistics Reporting 1.0.4",
};

/** The official release a file is, or undefined: not known, or changed. */
export const knownRelease = (hash: string): string | undefined =>
  Object.hasOwn(KNOWN, hash) ? KNOWN[hash] : undefined;
