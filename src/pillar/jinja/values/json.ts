/** Reads JSON of pillar files, external sources and templates as Python does, with Salt's error message. */
import { hasCode } from "../../../errors.ts";
import { loadJson } from "../../../python/json.ts";
import type { Item } from "../../../python/values.ts";
import { fault } from "./objects.ts";

/** @throws PILLAR_FAILED for a text that is not JSON */
export function readJson(text: string): Item {
  try {
    return loadJson(text);
  } catch (error) {
    if (hasCode(error, "PYTHON_RAISED")) throw fault("template", "Unable to load json");
    throw error;
  }
}
