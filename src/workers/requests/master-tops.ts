/**
 * `_master_tops` and the older `_ext_nodes`: states that a highstate holds beside those of top files. There are no sources of these
 * here, so that nothing is given, as by Salt without any. Where the operator has accepted that sources are missing (`accept_missing`),
 * a minion gets names of states that no file has: its highstate fails and says which source, instead of leaving out a part in silence.
 */
import { absentStates } from "../../config/options/unbuilt.ts";
import type { Shard } from "../holding/shard.ts";
import type { Answer } from "./context.ts";

export function handleMasterTops(shard: Shard): Answer {
  const states = absentStates(shard.start.config.unbuilt);
  return { value: new Map(states.length > 0 ? [["base", states]] : []) };
}
