/**
 * `_master_tops` and the older `_ext_nodes`: states that a highstate runs beside the top files. Sources of these are not built, so the answer
 * is empty, as in Salt without a source. If the operator has accepted that a source is missing (`accept_missing`), the minion gets the name of
 * a state that no file has: its highstate fails and names the source, instead of leaving a part out silently.
 */
import { absentStates } from "../../config/options/unbuilt.ts";
import type { Shard } from "../holding/shard.ts";
import type { Answer } from "./context.ts";

export function handleMasterTops(shard: Shard): Answer {
  const states = absentStates(shard.start.config.unbuilt);
  return { value: new Map(states.length > 0 ? [["base", states]] : []) };
}
