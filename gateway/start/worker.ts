/** Entry of the engine's worker threads: what the validators can do, and what an exchange of messages asks. */
import type { EngineTasks } from "../../engine/documents/inbound/arrival-workers.js";
import type { As4Crypto } from "../../engine/peppol/as4/messages.js";
import { EXCHANGE_KINDS } from "../../engine/documents/inbound/exchange-kinds.js";
import { createRunner, handingOver, LOADERS } from "../../validators/batches.js";
import type { Loader } from "../../validators/batches.js";
import type { Report, ValidateInput } from "../../validators/protocol.js";

type ArrivalTask = EngineTasks["as4.arrival"];

/** Loaded with the first message, not by a thread that only judges documents. */
const exchange = async () => {
  const [{ as4Jobs }, { signatureTasks }, { withoutBackingStore }] = await Promise.all([
    import("../../engine/peppol/as4/jobs.js"),
    import("../../validators/signature.js"),
    import("../../validators/plain.js"),
  ]);
  return { jobs: as4Jobs((kind, input) => Promise.resolve(signatureTasks[kind](input))), withoutBackingStore };
};

const arrival: Loader = async (of) => {
  const [
    { signatureTasks, octetsUnpacked },
    { withoutBackingStore },
    { arrivalJob },
    { octetsBesideFiles },
    { compress },
    validate,
  ] = await Promise.all([
    import("../../validators/signature.js"),
    import("../../validators/plain.js"),
    import("../../engine/documents/inbound/arrival-job.js"),
    import("../../validators/ubl/files.js"),
    import("../../validators/wss/coding/gzip.js"),
    of("validate") as Promise<(input: ValidateInput) => Promise<Report>>,
  ]);
  const cryptoOf =
    (unpacked: (octets: number) => void): As4Crypto =>
    (kind, input) => {
      const output = signatureTasks[kind](input);
      unpacked(octetsUnpacked(output));
      return Promise.resolve(output);
    };
  const job = arrivalJob(cryptoOf, { validate, octetsBesideFiles, compress });
  return async (input: ArrivalTask) => withoutBackingStore(await job(input));
};

/** Loaded with the first look-up. */
const discovery = async () => {
  const [{ smpReader }, { signatureTasks }, { withoutBackingStore }] = await Promise.all([
    import("../../engine/peppol/discovery/smp-document.js"),
    import("../../validators/signature.js"),
    import("../../validators/plain.js"),
  ]);
  return { reader: smpReader((kind, input) => Promise.resolve(signatureTasks[kind](input))), withoutBackingStore };
};

const ENGINE_LOADERS: { readonly [K in keyof EngineTasks]: Loader } = {
  "as4.arrival": arrival,
  // The same, so that both count together what they unpack.
  "as4.unjudged": (of) => of("as4.arrival"),
  "as4.departure": async () => {
    const { jobs, withoutBackingStore } = await exchange();
    return async (input: EngineTasks["as4.departure"]) => withoutBackingStore(await jobs.build(input));
  },
  "as4.answer": async () => {
    const { jobs, withoutBackingStore } = await exchange();
    return async (input: EngineTasks["as4.answer"]) => withoutBackingStore(await jobs.judge(input));
  },
  "smp.metadata": async () => {
    const { reader, withoutBackingStore } = await discovery();
    return async ({ document }: EngineTasks["smp.metadata"]) => withoutBackingStore(await reader.metadata(document));
  },
  "smp.group": async () => {
    const { reader } = await discovery();
    return ({ bytes, participant }: EngineTasks["smp.group"]) => reader.group(bytes, participant);
  },
};

export default handingOver(await createRunner({ ...LOADERS, ...ENGINE_LOADERS }, EXCHANGE_KINDS));
