/** Defaults of settings that functions of this program look up by `config.option`. */
import type { Value } from "../../../wire/values.ts";

export const builtInSettings = new Map<Value, Value>([["test.foo", "unconfigured"]]);
