/**
 * `_master_tops` and the older `_ext_nodes`: answer the states that a highstate runs beside those of the top files. The command of
 * `master_tops: {ext_nodes: COMMAND}` tells them in a thread of its own. If the operator configured a source that is not built, and accepted that it
 * is missing (`accept_missing`), the answer has a state that no file defines: the highstate then fails and names the source instead of leaving
 * states out.
 */
import { absentStates } from "../../config/options/unbuilt.ts";
import { extNodesOf } from "../../pillar/tops/ext-nodes.ts";
import { servedNames } from "../../sidecar/availability.ts";
import { nothing } from "../../wire/edit.ts";
import type { WorkerState } from "../state/worker-state.ts";
import type { Answer, Opened } from "./context.ts";
import { replySeal } from "./reply-seal.ts";

/** Unlike Salt, asks for the minion that proved its id, and not for the id in its `opts`. */
export function handleMasterTops(worker: WorkerState, opened: Opened): Answer {
  const { config } = worker.start;
  const { id, isProven } = opened;
  const command = extNodesOf(config.master_tops);
  const isAsked = servedNames(config, "tops").length > 0;
  if ((command !== undefined || isAsked) && id !== undefined && isProven) {
    const options = isAsked ? { options: optionsIn(opened) } : {};
    return { deferred: { kind: "tops", id, command, ...options, seal: replySeal(worker, opened) } };
  }
  const states = absentStates(config.unbuilt);
  return { value: new Map(states.length > 0 ? [["base", states]] : []) };
}

/** The minion's options as it sent them; a copy, as the batch's memory is used again. */
function optionsIn({ load, entries }: Opened): Uint8Array {
  const found = entries.find(({ key }) => key === "opts");
  return found === undefined ? nothing : load.slice(found.valueStart, found.valueEnd);
}
