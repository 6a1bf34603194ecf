/** Returner `elasticsearch`: a document for each return, in an index for each function. Source: Salt 3007's `elasticsearch`, as execution module and returner. */
import { isTrue, numberOf } from "../../../python/values.ts";
import type { Value, ValueMap } from "../../../wire/values.ts";
import { describe } from "../../modules/declare/describe.ts";
import { functionOf, memberOf, textOf } from "../contract/fields.ts";
import { jsonOf } from "../contract/json.ts";
import type { Passing, Returner } from "../contract/returner.ts";
import type { Options } from "../contract/settings.ts";
import { type ElasticIndex, ElasticServer, elasticOptions } from "./elasticsearch-server.ts";
import { stateDocument } from "./elasticsearch-states.ts";

export const elasticsearchReturner: Returner = {
  name: "elasticsearch",
  doc: describe(
    "Stores the return as a document in Elasticsearch, in an index for each function.",
    "test.ping --return elasticsearch",
  ),
  returner: async (passing) => {
    const { ret, settings, log } = passing;
    const options = settings.of("elasticsearch", {
      ...elasticOptions,
      ...{ doc_type: "default", functions_blacklist: [], index_date: false, debug_returner_payload: false },
      ...{ number_of_shards: 1, number_of_replicas: 0 },
      ...{ states_order_output: false, states_count: false, states_single_index: false },
    });
    const why = reasonToLeaveOut(ret, options);
    if (why !== undefined) {
      log.info(`the return of job ${textOf(ret, "jid")} is not sent to Elasticsearch: ${why}`);
      return;
    }
    const { index, document } = documentOf(passing, options);
    const body = jsonOf(document);
    if (options.isOn("debug_returner_payload")) log.debug(`document for Elasticsearch: ${body}`);
    const server = await ElasticServer.find(options, passing);
    await server.ensureIndex(index);
    await server.store(index.name, options.demand("doc_type"), body);
  },
};

function reasonToLeaveOut(ret: ValueMap, options: Options): string | undefined {
  const listed = options.value("functions_blacklist");
  const fun = functionOf(ret);
  if (Array.isArray(listed) && listed.includes(fun)) return `functions_blacklist has ${fun}`;
  const isEmpty = memberOf(ret, "data") === null && memberOf(ret, "return") === null;
  return isEmpty ? "it is None" : undefined;
}

function documentOf({ ret }: Passing, options: Options): { readonly index: ElasticIndex; readonly document: ValueMap } {
  const fun = functionOf(ret);
  const { value, counts, isOrdered, isState } = stateDocument(fun, memberOf(ret, "return"), {
    isOrdered: options.isOn("states_order_output"),
    isCounted: options.isOn("states_count"),
  });
  const now = new Date();
  const subject = isState && options.isOn("states_single_index") ? "state_apply" : fun.replaceAll(".", "_");
  // The server takes no capitals in an index's name. The document has the function as it is.
  const name =
    `salt-${subject}${options.isOn("index_date") ? `-${dateOf(now)}` : ""}${isOrdered ? "-ordered" : ""}`.toLowerCase();
  const retcode = ret.has("retcode") ? memberOf(ret, "retcode") : 1;
  const document = new Map<Value, Value>([
    ["@timestamp", now.toISOString().replace("Z", "000+00:00")],
    ["success", !isTrue(retcode)],
    ["retcode", retcode],
    ["minion", memberOf(ret, "id")],
    ["fun", fun],
    ["jid", memberOf(ret, "jid")],
    ["counts", counts],
    ["data", withoutDots(value)],
  ]);
  const count = (option: string) => numberOf(options.value(option)) ?? 1;
  return {
    index: { name, shards: count("number_of_shards"), replicas: count("number_of_replicas") },
    document,
  };
}

/** Elasticsearch reads a dot in a name as a path, so that `_orig_key` keeps the name. */
function withoutDots(value: Value): Value {
  if (Array.isArray(value)) return value.map(withoutDots);
  if (!(value instanceof Map)) return value;
  const members: ValueMap = new Map();
  for (const [key, member] of value) {
    const isDotted = typeof key === "string" && key.includes(".");
    if (isDotted) members.set("_orig_key", key);
    members.set(isDotted ? key.replaceAll(".", "_") : key, withoutDots(member));
  }
  return members;
}

/** `2026.11.24`, the minion's local day. */
function dateOf(time: Date): string {
  const two = (value: number) => String(value).padStart(2, "0");
  return `${time.getFullYear()}.${two(time.getMonth() + 1)}.${two(time.getDate())}`;
}
