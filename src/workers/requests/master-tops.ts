/**
 * `_master_tops` and the older `_ext_nodes`: answer the states that a highstate runs beside those of the top files. This master has no sources of
 * such states, so the answer is empty, as in Salt without a source. If the operator configured a source and accepted that it is missing
 * (`accept_missing`), the answer is a state that no file defines: the highstate then fails and names the source instead of leaving states out.
 */
import { absentStates } from "../../config/options/unbuilt.ts";
import type { WorkerState } from "../state/worker-state.ts";
import type { Answer } from "./context.ts";

export function handleMasterTops(worker: WorkerState): Answer {
  const states = absentStates(worker.start.config.unbuilt);
  return { value: new Map(states.length > 0 ? [["base", states]] : []) };
}
