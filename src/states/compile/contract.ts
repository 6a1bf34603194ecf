/** What the state compiler reads and makes. Types only. Source: Salt 3007's state compiler, recorded in test/golden/states. */
import type { Value, ValueMap } from "../../wire/values.ts";

/** States by id, before requisites are resolved: Salt's high data. `__extend__` and `__exclude__` hold lists. */
export type HighData = ValueMap;
/** One state with its arguments: Salt's low chunk. */
export type LowChunk = ValueMap;

export type SlsText = {
  /** Path below the root of its environment. */
  readonly path: string;
  /** Path on this machine, for messages and for `tplpath`. */
  readonly place: string;
  readonly text: string;
};

/** Where SLS files come from, and how they become values. */
export type SlsSource = {
  environments(): Promise<readonly string[]>;
  /** Names of all SLS files of an environment. */
  names(environment: string): Promise<readonly string[]>;
  read(path: string, environment: string): Promise<SlsText | undefined>;
  /** @throws SaltworksError PILLAR_FAILED with Salt's text for the fault */
  render(file: SlsText, sls: string, environment: string): Promise<Value>;
};

/** `errors`: Salt's sentences. States run only if there are none. */
export type Compiled<T> = { readonly value: T; readonly errors: readonly string[] };
