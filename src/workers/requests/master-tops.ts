/**
 * `_master_tops` and the older `_ext_nodes`: answer the states that a highstate runs beside those of the top files. The command of
 * `master_tops: {ext_nodes: COMMAND}` tells them in a thread of its own. If the operator configured a source that is not built, and accepted that it
 * is missing (`accept_missing`), the answer has a state that no file defines: the highstate then fails and names the source instead of leaving
 * states out.
 */
import { absentStates } from "../../config/options/unbuilt.ts";
import { extNodesOf } from "../../pillar/tops/ext-nodes.ts";
import type { WorkerState } from "../state/worker-state.ts";
import type { Answer, Opened } from "./context.ts";
import { replySeal } from "./reply-seal.ts";

/** Unlike Salt, asks for the minion that proved its id, and not for the id in its `opts`. */
export function handleMasterTops(worker: WorkerState, opened: Opened): Answer {
  const { config } = worker.start;
  const { id, isProven } = opened;
  const command = extNodesOf(config.master_tops);
  if (command !== undefined && id !== undefined && isProven)
    return { deferred: { kind: "tops", id, command, seal: replySeal(worker, opened) } };
  const states = absentStates(config.unbuilt);
  return { value: new Map(states.length > 0 ? [["base", states]] : []) };
}
