/** Schemas of `POST /` and `POST /run`: commands for minions, runners and wheel functions. */
import {
  answers,
  anything,
  bodies,
  bySession,
  type Components,
  closed,
  errors,
  listOf,
  object,
  open,
  type RouteSchema,
  ref,
  type Schema,
  streamOf,
  text,
  texts,
} from "./forms.ts";

const tags = ["commands"];
const number = { type: ["number", "string", "null"], description: "A number, or its text." };
const size = {
  type: ["integer", "string", "null"],
  description: "A number of minions, or a percentage such as `10%`.",
};
const flag = { type: ["boolean", "null"] };
const commaBatch = "Needs the client local_batch, or local_async with `batch`.";

/** Members of commands for minions, without the client. */
export const forMinions: Readonly<Record<string, Schema>> = {
  tgt: {
    description: "The target: a text, or a list of minions.",
  },
  tgt_type: {
    type: "string",
    default: "glob",
    description:
      "glob, list, pcre, grain, grain_pcre, pillar, pillar_pcre, pillar_exact, nodegroup, range, compound or ipcidr. Another kind matches no minion.",
  },
  expr_form: { type: "string", deprecated: true, description: "An old name of `tgt_type`." },
  fun: { type: ["string", "array"], minLength: 1, minItems: 1, items: { type: "string", minLength: 1 } },
  arg: {
    description: "A list of arguments; another value is the only argument. With a list of functions, a list for each.",
  },
  kwarg: { description: "A map of named arguments; another value counts as none." },
  full_return: { ...flag, description: "Each minion's return with `retcode` and `jid`." },
  timeout: number,
  gather_job_timeout: number,
  ret: { type: ["string", "null"], description: "Returners of the minion, separated by commas." },
  ret_config: anything,
  ret_kwargs: anything,
  jid: { type: ["string", "null"], description: "The job id to use." },
  metadata: { description: "Kept in the job's record." },
  delimiter: { default: ":", description: "Between the parts of a key in a target by grains or pillar." },
  module_executors: anything,
  executor_opts: anything,
  batch: size,
  batch_size: { ...size, description: "As `batch`." },
  batch_wait: { ...number, description: "Seconds between a return and the next minion." },
  batch_max_failures: { ...size, description: `Failures at which no more minions are started. ${commaBatch}` },
  canary: { ...size, description: `Minions that run first. ${commaBatch}` },
  failhard: { type: ["boolean", "string", "null"], description: "The first failure ends the batch." },
  deliver_within: {
    type: ["string", "integer", "null"],
    description: "How long the job waits for minions that are away, such as `2h`. Not with a batch.",
  },
};

const functionOfMaster: Readonly<Record<string, Schema>> = {
  fun: { type: "string", pattern: "\\.", description: "Module and function, such as `jobs.list_jobs`." },
  kwarg: { description: "A map of named arguments; another value counts as none." },
};
const namedArguments = "Further members are named arguments.";

const silentText = "False: the minion did not answer.";

export const commandComponents: Components = {
  LocalCommand: object(
    {
      client: { enum: ["local", "local_async", "local_subset", "local_batch"] },
      ...forMinions,
      subset: { ...number, description: "Of local_subset: the number of minions." },
      sub: { ...number, description: "As `subset`." },
      raw: { ...flag, description: "Of local_batch: the events of returns." },
    },
    ["client", "tgt", "fun"],
  ),
  RunnerCommand: {
    ...object(
      {
        client: { enum: ["runner", "runner_async"] },
        ...functionOfMaster,
        arg: { description: "Arguments; a text `name=value` among them is a named argument." },
        full_return: { ...flag, description: "The event of the return instead of its value." },
        timeout: { ...number, description: "Seconds to wait, then 504." },
      },
      ["client", "fun"],
    ),
    description: namedArguments,
  },
  WheelCommand: {
    ...object({ client: { enum: ["wheel", "wheel_async"] }, ...functionOfMaster }, ["client", "fun"]),
    description: namedArguments,
  },
  Command: {
    oneOf: ["LocalCommand", "RunnerCommand", "WheelCommand"].map(ref),
    description: "A command. `netapi_enable_clients` has to name its client. The client `ssh` gets 501.",
  },
  FormCommand: {
    ...object({
      client: text,
      fun: text,
      arg: { description: "YAML, also repeated." },
      kwarg: { description: "YAML." },
    }),
    additionalProperties: { type: ["string", "array"], items: text },
    description: "A command as a form: a repeated name is a list.",
  },
  OwnCredentials: {
    anyOf: [
      ref("Credentials"),
      object({ token: { type: "string", pattern: "^[0-9A-Fa-f]+$", description: "From `POST /token`." } }, ["token"]),
    ],
  },
  CommandWithCredentials: { allOf: [ref("Command"), ref("OwnCredentials")] },
  MinionReturns: {
    type: "object",
    description: `What each minion returned, by id. ${silentText} With \`full_return\`: FullReturn.`,
    additionalProperties: anything,
  },
  FullReturn: object({ ret: anything, retcode: { type: "integer" }, jid: text, out: text }, ["ret", "retcode"]),
  StartedJob: { ...object({ jid: text, minions: texts }), description: "Empty if no minion matches." },
  StartedFunction: closed({ tag: text, jid: text }),
  FunctionEvent: {
    ...closed({ tag: text, data: object({ fun: text, jid: text, return: anything, success: { type: "boolean" } }) }),
    description: "What a wheel function answered, or a runner with `full_return`.",
  },
  CommandResult: {
    description:
      "One result for each command: MinionReturns of local and local_subset, StartedJob of local_async, the value of runner, FunctionEvent of wheel, StartedFunction of runner_async and wheel_async. local_batch gives one for each minion.",
  },
  CommandResults: closed({ return: listOf(ref("CommandResult")) }),
  ResultLine: {
    anyOf: [
      closed({ chunk: { type: "integer", minimum: 0 }, id: text, return: anything }, ["chunk", "return"]),
      closed({ done: { const: true } }),
      ref("Error"),
    ],
    description:
      "A result: of one minion if it has `id`. The last line is `done`, or the error that ended the request.",
  },
};

function oneOrMore(name: string): Schema {
  return { oneOf: [ref(name), listOf(ref(name))] };
}

const lines = { "application/x-ndjson": streamOf(ref("ResultLine")) };
const results = answers("The results in the order of the commands.", ref("CommandResults"));

export const runCommandsSchema: RouteSchema = {
  operationId: "runCommands",
  summary: "Runs commands with the session's permissions.",
  description:
    "Every command is checked before the first one runs. With `Accept: application/x-ndjson` each result is a line when it comes.",
  tags,
  security: bySession,
  body: bodies(oneOrMore("Command"), ref("FormCommand")),
  response: { 200: { ...results, content: { ...results.content, ...lines } } },
  "x-headers": { 200: ["Cache-Control"] },
  "x-errors": errors(401, 413, 501, 504),
};

export const runSchema: RouteSchema = {
  operationId: "runCommandsWithCredentials",
  summary: "Runs commands with credentials in each of them.",
  tags,
  security: open,
  body: bodies(oneOrMore("CommandWithCredentials"), ref("FormCommand")),
  response: { 200: results },
  "x-errors": errors(401, 413, 501, 504),
};
