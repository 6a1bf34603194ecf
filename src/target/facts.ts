/** Facts that a target is matched against: one minion's id, grains, pillar and data store, as decoded. */
import type { ReadItem } from "../python/values.ts";

/** A decoded value. Maps keep the types of their keys. */
export type Datum = ReadItem;
export type DatumMap = ReadonlyMap<Datum, Datum>;

/** `data` is the minion's own data store (`data.setval`); masters never have it. */
export type Facts = {
  readonly id: string;
  readonly grains: DatumMap;
  readonly pillar: DatumMap;
  readonly data?: DatumMap;
};

export function isMap(value: Datum | undefined): value is DatumMap {
  return value instanceof Map;
}

export function isList(value: Datum | undefined): value is readonly Datum[] {
  return Array.isArray(value);
}
