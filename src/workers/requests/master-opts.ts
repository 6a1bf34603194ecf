/** `_master_opts`: answers the master's options that a minion's state run uses. docs/protocol.md section 7.3. */
import type { Encodable } from "../../wire/values.ts";
import type { WorkerState } from "../state/worker-state.ts";
import type { Answer, Opened } from "./context.ts";
import { scalarOf } from "./fields.ts";

/** Options that are sent as the operator set them, and Salt's defaults for unset ones. */
const forwarded: readonly (readonly [string, Encodable])[] = [
  ["renderer", "jinja|yaml"],
  ["failhard", false],
  ["state_top", "top.sls"],
  ["state_top_saltenv", null],
  ["nodegroups", new Map()],
  ["state_auto_order", true],
  ["state_events", false],
  ["state_aggregate", false],
  ["jinja_env", new Map()],
  ["jinja_sls_env", new Map()],
  ["jinja_lstrip_blocks", false],
  ["jinja_trim_blocks", false],
];

export function handleMasterOpts(worker: WorkerState, opened: Opened): Answer {
  if (opened.id !== undefined) worker.fileAnswers.noteRun(opened.id, performance.now());
  const { opts } = worker.start.config;
  const roots = opts.get("file_roots");
  const environments = roots !== null && typeof roots === "object" ? Object.keys(roots) : ["base"];
  const option = (name: string, otherwise: Encodable): [string, Encodable] => [
    name,
    (opts.get(name) as Encodable | undefined) ?? otherwise,
  ];
  const answer = new Map<string, Encodable>([
    ["file_roots", new Map(environments.map((name) => [name, []]))],
    option("top_file_merging_strategy", "merge"),
    option("env_order", []),
    option("default_top", "base"),
  ]);
  if (scalarOf(opened.load, opened.entries, "env_only") !== true) {
    for (const [name, otherwise] of forwarded) answer.set(...option(name, otherwise));
  }
  return { value: answer };
}
