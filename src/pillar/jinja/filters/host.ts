/** The contract of filters and tests: how they are declared, and what they may call. */

import type { Item } from "../../../python/values.ts";
import type { Bound } from "../values/arguments.ts";
import type { CallArguments } from "../values/objects.ts";

export type FilterHost = {
  readonly filter: (name: string, input: Item, args: CallArguments) => Item;
  readonly test: (name: string, input: Item, args: CallArguments) => boolean;
  /** Reads YAML as Salt does. @throws PILLAR_FAILED */
  readonly loadYaml: (text: string) => Item;
  /** Whether unknown names and members are empty (Jinja's default) instead of errors (Salt's files). */
  readonly isLenient: boolean;
};

/** `signature`: in the form of `bind`. A filter without a signature gets its arguments unbound (`runFree`). */
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
