/** The contract of filters and tests: how they are declared, and what they may ask of the template. */

import type { Item } from "../../../python/values.ts";
import type { Bound } from "../values/arguments.ts";
import type { CallArguments } from "../values/objects.ts";

export type FilterHost = {
  readonly filter: (name: string, input: Item, args: CallArguments) => Item;
  readonly test: (name: string, input: Item, args: CallArguments) => boolean;
  /** YAML as Salt reads it. @throws PILLAR_FAILED */
  readonly loadYaml: (text: string) => Item;
};

/** `signature` is that of `bind`. Filters without one get the arguments as they are (`runFree`). */
export type Filter =
  | { readonly signature: string; readonly run: (input: Item, args: Bound, host: FilterHost) => Item }
  | { readonly signature?: undefined; readonly runFree: (input: Item, args: CallArguments, host: FilterHost) => Item };
export type FilterTable = Readonly<Record<string, Filter>>;

export const filter = (signature: string, run: (input: Item, args: Bound, host: FilterHost) => Item): Filter => ({
  signature,
  run,
});
export const freeFilter = (runFree: (input: Item, args: CallArguments, host: FilterHost) => Item): Filter => ({
  runFree,
});
