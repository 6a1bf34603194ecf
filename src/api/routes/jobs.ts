/** `/jobs`: the jobs of the job cache, read without job records of the calls. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { CommandOutcome } from "../../client/command-reply.ts";
import { errorCodes, SaltworksError } from "../../errors.ts";
import { listedPageJobs, listedPageMinions } from "../../limits.ts";
import { jobStates } from "../../store/jobs/job-states.ts";
import type { Encodable, Value, ValueMap } from "../../wire/values.ts";
import { checkEnabled } from "../clients/chunk.ts";
import { failureText } from "../clients/master-calls.ts";
import { clientFor } from "../clients/run-chunk.ts";
import { answerFormat } from "../http/accept.ts";
import { answer } from "../http/answer.ts";
import { shownCode } from "../http/error-codes.ts";
import { ApiError, busy } from "../http/errors.ts";
import { choiceIn, countIn, type Query, textsIn } from "../http/query.ts";
import {
  controlJobSchema,
  getJobSchema,
  type JobAction,
  jobActions,
  listJobMinionsSchema,
  listJobsSchema,
  minionStates,
} from "../schemas/jobs.ts";
import { type Api, callerOf, forSessions } from "../sessions/context.ts";
import { tellMinions } from "../streams/minion-lines.ts";
import { deadlineOf } from "./commands.ts";
import { wantsLines, withLines } from "./lines.ts";
import { read } from "./reading.ts";

/** Salt's form of one job: the whole record, then only what minions returned. */
function jobAnswer(jid: string, found: Value): Encodable {
  const info: ValueMap = new Map<Value, Value>([["jid", jid], ...(found instanceof Map ? found : [])]);
  const results = info.get("Result");
  const returns: ValueMap = new Map();
  if (results instanceof Map)
    for (const [id, result] of results) returns.set(id, result instanceof Map ? (result.get("return") ?? null) : null);
  return { info: [info], return: [returns] };
}

const fun = "jobs.list_jobs";

/** Without a query `GET /jobs` lists all jobs, as in Salt. */
function isPaged(query: Query): boolean {
  return Object.keys(query).length > 0;
}

/** The runner's arguments. @throws ApiError 400 */
function kwargsOf(query: Query): ValueMap {
  if (!isPaged(query)) return new Map();
  const asked = textsIn(query, ["limit", "after", "fun", "user", "target", "since", "until", "state"]);
  const named: readonly (readonly [string, string | undefined])[] = [
    ["before", asked.after],
    ["search_function", asked.fun],
    ["search_user", asked.user],
    ["search_target", asked.target],
    ["start_time", asked.since],
    ["end_time", asked.until],
    ["search_state", choiceIn("state", asked.state, jobStates)],
  ];
  const kwargs: ValueMap = new Map<Value, Value>([
    ["paged", true],
    ["limit", countIn("limit", asked.limit, listedPageJobs)],
  ]);
  for (const [name, text] of named) if (text !== undefined) kwargs.set(name, text);
  return kwargs;
}

function nextHref({ settings }: Api, path: string, query: Query, after: string): string {
  const kept = Object.entries(query).flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : []));
  return `${settings.rootPrefix}${path}?${new URLSearchParams({ ...Object.fromEntries(kept), after })}`;
}

type AskedMinions = OneJob & { readonly Querystring: Query };

/** @throws ApiError 400 */
function minionArguments(jid: string, query: Query): ValueMap {
  const { limit, ...texts } = textsIn(query, ["limit", "after", "state", "minion"]);
  const state = choiceIn("state", texts.state, minionStates);
  const kwargs: ValueMap = new Map<Value, Value>([
    ["jid", jid],
    ["limit", countIn("limit", limit, listedPageMinions)],
  ]);
  for (const [name, text] of Object.entries({ ...texts, state })) if (text !== undefined) kwargs.set(name, text);
  return kwargs;
}

/** Each expected minion of a job with its state and the reason; line by line, each change until the job is over. */
async function minions(api: Api, request: FastifyRequest<AskedMinions>, reply: FastifyReply) {
  const isByLine = wantsLines(request);
  if (!isByLine) answerFormat(request.headers.accept);
  const { jid } = request.params;
  const kwargs = minionArguments(jid, request.query);
  const signal = isByLine ? deadlineOf(api, reply).signal : undefined;
  const readPage = async (asked: ValueMap): Promise<ValueMap> => {
    const { value } = await read(api, request, reply, { kind: "runner", fun: "jobs.minions", kwargs: asked }, signal);
    const page = value instanceof Map ? value : new Map<Value, Value>([["Error", "unreadable"]]);
    if (page.has("Error")) throw new ApiError("JOB_UNKNOWN", `There is no job ${jid.slice(0, 40)}`);
    return page;
  };
  if (signal === undefined) {
    const { Next: next, Now: _now, ...page } = Object.fromEntries(await readPage(kwargs)) as Record<string, Value>;
    const path = `/jobs/${encodeURIComponent(jid)}/minions`;
    const links = typeof next === "string" ? [{ href: nextHref(api, path, request.query, next) }] : [];
    return await answer(request, reply, { return: [page], _links: { next: links } });
  }
  // Errors that are known now get a status of their own.
  await readPage(new Map([...kwargs, ["limit", 1]]));
  return await withLines(api, reply, async (tell) => {
    const counts = await tellMinions({ jid, kwargs, readPage, hub: api.shared.hub, signal, tell });
    if (counts === undefined) throw new ApiError("DEADLINE_PASSED", `The job ${jid} is not over`);
    tell({ done: true, counts });
  });
}

type OneJob = { readonly Params: { readonly jid: string } };

/** Runs the runner function of that name, which keeps a job record of its own. @throws ApiError, SaltworksError of a function that failed */
async function control(api: Api, request: FastifyRequest<OneJob>, reply: FastifyReply, action: JobAction) {
  answerFormat(request.headers.accept);
  const client = clientFor(api, await callerOf(api, request));
  checkEnabled("runner", api.config.netapi_enable_clients);
  await api.shared.hub.reach();
  const kwargs: ValueMap = new Map([["jid", request.params.jid]]);
  const signal = deadlineOf(api, reply).signal;
  let outcome: CommandOutcome;
  try {
    outcome = await client.runner(`jobs.${action}`, [], kwargs, undefined, undefined, signal);
  } catch (error) {
    if (signal.aborted) throw new ApiError("DEADLINE_PASSED", `Salt request timed out: 'jobs.${action}' is not over`);
    throw error;
  }
  const { value, isSuccess, code = "FUNCTION_FAILED" } = outcome;
  if (!isSuccess) {
    const { http: status } = errorCodes[code];
    if (status === 503) throw busy(failureText(value), code === "QUEUE_FULL" ? code : "MASTER_AWAY");
    // What the master says of its own faults may name its files: it is for the log.
    if (status >= 500) throw new SaltworksError(code, failureText(value));
    throw new ApiError(shownCode(code) ?? "FUNCTION_FAILED", failureText(value), {}, status);
  }
  return await answer(request, reply, { return: [value] });
}

export function jobRoutes(app: FastifyInstance, api: Api): void {
  if (!api.settings.hasSessions) return;
  app.get<{ readonly Querystring: Query }>("/jobs", { schema: listJobsSchema }, async (request, reply) => {
    answerFormat(request.headers.accept);
    const { value } = await read(api, request, reply, { kind: "runner", fun, kwargs: kwargsOf(request.query) });
    if (!isPaged(request.query)) return await answer(request, reply, { return: [value] });
    const [jobs, next] = value instanceof Map ? [value.get("jobs"), value.get("next")] : [];
    const links = typeof next === "string" ? [{ href: nextHref(api, "/jobs", request.query, next) }] : [];
    return await answer(request, reply, { return: [jobs ?? {}], _links: { next: links } });
  });
  app.get<OneJob>("/jobs/:jid", { schema: getJobSchema }, async (request, reply) => {
    answerFormat(request.headers.accept);
    const { jid } = request.params;
    const kwargs: ValueMap = new Map([["jid", jid]]);
    const { value } = await read(api, request, reply, { kind: "runner", fun: "jobs.list_job", kwargs });
    return await answer(request, reply, jobAnswer(jid, value));
  });
  app.get<AskedMinions>("/jobs/:jid/minions", { schema: listJobMinionsSchema }, (request, reply) =>
    minions(api, request, reply),
  );
  for (const action of jobActions)
    app.post<OneJob>(
      `/jobs/:jid/${action}`,
      { ...forSessions(api), schema: controlJobSchema(action) },
      (request, reply) => control(api, request, reply, action),
    );
}
