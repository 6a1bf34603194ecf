/** Defaults of the functions `config.*` for settings that no source has. */
import type { Value } from "../../../wire/values.ts";

export const builtInSettings = new Map<Value, Value>([["test.foo", "unconfigured"]]);
