/** What is written beside the compiled code of a pack: where it came from and when it may be loaded. */
import { z } from "zod";

const hash = z.string().regex(/^[0-9a-f]{64}$/);
const file = z.string().min(1).max(300);

export const manifestSchema = z.strictObject({
  format: z.literal(1),
  id: z.string().regex(/^[a-z0-9][a-z0-9._-]{0,63}$/),
  /** Version of the compiler that wrote the code. */
  compiler: z.string(),
  active: z.boolean(),
  /** First day on which the rules are mandatory, YYYY-MM-DD, Europe/Bratislava. */
  mandatoryFrom: z.iso.date().optional(),
  /** What the operator said at the import: layers by file, documents it is for, built-in ids it may lack. */
  layers: z.record(file, z.string()).optional(),
  customizations: z.array(z.string()).optional(),
  without: z.array(z.string()).optional(),
  /** Name of the folder or archive, without its path. */
  importedFrom: file,
  sources: z.array(z.strictObject({ path: file, sha256: hash, known: z.string().optional() })),
  schemas: z.array(
    z.strictObject({
      /** Source file of the schema. */
      file,
      title: z.string(),
      /** Layer its findings are reported under. */
      layer: z.string(),
      code: file,
      codeSha256: hash,
      patterns: z.number(),
      rules: z.number(),
      asserts: z.number(),
      /** Document elements its absolute contexts name, {namespace}local. */
      roots: z.array(z.string()),
      /** CustomizationIDs that its tests compare with. */
      customizations: z.array(z.string()),
    }),
  ),
  /** XSDs of the release, with the namespace each describes. */
  xsds: z.array(z.strictObject({ file, namespace: z.string() })),
});

export type Manifest = z.infer<typeof manifestSchema>;
export type ManifestSchemaEntry = Manifest["schemas"][number];
