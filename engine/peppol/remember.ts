/** A map that forgets: what was put in first leaves first when there are too many. */

/** Puts an entry at the young end of a map that holds at most `entries_max`. */
export function remember<K, V>(map: Map<K, V>, key: K, value: V, entries_max: number): V {
  map.delete(key);
  const oldest = map.keys().next();
  if (map.size >= entries_max && oldest.done !== true) map.delete(oldest.value);
  map.set(key, value);
  return value;
}
