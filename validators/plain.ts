/**
 * Plain data on its way between threads. A byte array that is a window on a larger buffer would take all of that buffer
 * along, so windows are copied out first; what was copied can be transferred instead of cloned.
 */
import { setImmediate as nextTurn } from "node:timers/promises";

/** Depth of the plain data that tasks carry; deeper values are a mistake in the caller. */
const DEPTH_MAX = 300;

/** The same data, every byte array on a buffer of its own. */
export function withoutBackingStore<T>(value: T): T {
  return walk(value, onItsOwn, 0) as T;
}

/** Total size of the byte arrays and strings in plain data; bytes and UTF-16 units count alike. */
export function sizeOf(value: unknown): number {
  let size = 0;
  visit(
    value,
    (leaf) => {
      size += leaf.length;
    },
    0,
  );
  return size;
}

/** Every byte array and string in plain data, in a stable order. */
export function visit(value: unknown, leaf: (leaf: Uint8Array | string) => void, depth: number): void {
  if (typeof value === "string" || value instanceof Uint8Array) leaf(value);
  else if (Array.isArray(value)) for (const item of value) visit(item, leaf, within(depth));
  else if (typeof value === "object" && value !== null && !ArrayBuffer.isView(value)) {
    for (const member of Object.values(value)) visit(member, leaf, within(depth));
  }
}

/**
 * Keys and certificates are shorter than this, documents longer: handing a buffer over costs more than cloning so
 * little. Measured with a message and two keys: 0.024 ms of the event loop for each job before, 0.014 after.
 */
const CLONED_BYTES_MAX = 2_048;

/** Octets that are copied before the event loop turns: about 1 ms. */
const SLICE_BYTES = 524_288;

/**
 * A copy of plain data whose longer byte arrays lie in buffers of their own, each with a NUL behind it: the scanner
 * then reads them where they are. Short ones are left to be cloned. The event loop turns while long ones are copied:
 * 20 MB at once are a turn of 20 ms. The bytes must not change until the copy is made.
 * @param transfer  receives the buffers
 * @param turn  resolves in a turn in which a slice may be copied. @default the next one
 */
export async function copyForTransfer<T>(
  value: T,
  transfer: ArrayBuffer[],
  turn: () => Promise<void> = nextTurn,
): Promise<T> {
  // Bounded by the byte arrays of one job.
  const copies: { readonly from: Uint8Array; readonly to: Uint8Array }[] = [];
  const copied = walk(
    value,
    (bytes) => {
      if (bytes.byteLength <= CLONED_BYTES_MAX) return onItsOwn(bytes);
      const buffer = new ArrayBuffer(bytes.byteLength + 1);
      transfer.push(buffer);
      const to = new Uint8Array(buffer, 0, bytes.byteLength);
      copies.push({ from: bytes, to });
      return to;
    },
    0,
  ) as T;
  const isLarge = copies.reduce((bytes, { from }) => bytes + from.length, 0) > SLICE_BYTES;
  let sinceTurn = isLarge ? SLICE_BYTES : 0;
  for (const { from, to } of copies)
    for (let at = 0; at < from.length; at += SLICE_BYTES) {
      const slice = from.subarray(at, at + SLICE_BYTES);
      if (sinceTurn > 0 && sinceTurn + slice.length > SLICE_BYTES) {
        await turn();
        sinceTurn = 0;
      }
      to.set(slice, at);
      sinceTurn += slice.length;
    }
  return copied;
}

/** The buffers of the longer byte arrays in plain data that have one for themselves, each once. */
export function ownBuffers(value: unknown): ArrayBuffer[] {
  // Bounded by the byte arrays of a batch.
  const buffers = new Set<ArrayBuffer>();
  visit(
    value,
    (leaf) => {
      if (typeof leaf === "string" || leaf.byteLength <= CLONED_BYTES_MAX) return;
      if (leaf.byteLength === leaf.buffer.byteLength && leaf.buffer instanceof ArrayBuffer) buffers.add(leaf.buffer);
    },
    0,
  );
  return [...buffers];
}

/** A clone takes all of a buffer along, so that a window on a larger one is copied out. */
const onItsOwn = (bytes: Uint8Array): Uint8Array =>
  bytes.byteLength === bytes.buffer.byteLength ? bytes : Uint8Array.from(bytes);

/** What has no byte array inside stays as it is: a header of a message is a tree of a thousand small objects. */
function walk(value: unknown, replace: (bytes: Uint8Array) => Uint8Array, depth: number): unknown {
  if (value instanceof Uint8Array) return replace(value);
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  const before = value as Readonly<Record<string, unknown>>;
  let after: Record<string, unknown> | undefined;
  for (const key of Object.keys(value)) {
    const member = before[key];
    const walked = walk(member, replace, within(depth));
    if (walked === member) continue;
    after ??= (Array.isArray(value) ? [...(value as readonly unknown[])] : { ...value }) as Record<string, unknown>;
    after[key] = walked;
  }
  return after ?? value;
}

const within = (depth: number): number => {
  if (depth >= DEPTH_MAX) throw new RangeError("the data of a task is nested too deeply");
  return depth + 1;
};
