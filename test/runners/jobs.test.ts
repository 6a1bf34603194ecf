import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { MasterConfig } from "../../src/config/load.ts";
import type { JobReader, JobRequest, RunnerContext } from "../../src/runners/contract.ts";
import { runRunner } from "../../src/runners/registry.ts";
import { decode, encode } from "../../src/wire/msgpack.ts";
import type { Encodable, Value } from "../../src/wire/values.ts";
import { masterAccess } from "./master-access.ts";

const jid = "20261120155553671842";
const load = {
  cmd: "publish",
  tgt: "es*",
  fun: "cmd.run",
  arg: ["echo hi"],
  tgt_type: "glob",
  ret: "",
  jid,
  user: "root",
};

function reader(returns: Record<string, Encodable>): JobReader {
  const bodies = Object.entries(returns).map(([minionId, body]) => ({ minionId, body: encode(body, "bin") }));
  return {
    getLoad: (asked) => (asked === jid ? { jid, load: encode(load, "bin"), minions: ["es2", "es1"] } : undefined),
    getReturns: (asked) => (asked === jid ? bodies : []),
    getReturn: (asked, id) => (asked === jid ? bodies.find((stored) => stored.minionId === id)?.body : undefined),
    listJids: () => [jid],
  };
}

function contextOf(returns: Record<string, Encodable>, master?: RunnerContext["master"]): RunnerContext {
  const config = { timeout: 5, gather_job_timeout: 10 } as unknown as MasterConfig;
  return { config, jobs: reader(returns), master };
}

const stored = { es1: { return: "hi", retcode: 0, success: true, id: "es1" } };

/** What a caller would see after the value has travelled. */
async function run(
  context: RunnerContext,
  name: string,
  args: Value[] = [],
  kwargs: [Value, Value][] = [],
): Promise<unknown> {
  return plain(decode(encode(await runRunner(context, name, args, new Map(kwargs)), "bin")));
}

function plain(value: Value): unknown {
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, member]) => [String(key), plain(member)]));
  return Array.isArray(value) ? value.map(plain) : value;
}

describe("runner jobs", () => {
  it("looks up the return values of a job", async () => {
    assert.deepEqual(await run(contextOf(stored), "jobs.lookup_jid", [jid]), { es1: "hi" });
  });

  it("adds the missing on request, and leaves the returned out on request", async () => {
    const context = contextOf(stored);
    const missing = { es2: "Minion did not return" };
    assert.deepEqual(await run(context, "jobs.lookup_jid", [jid], [["missing", true]]), { es1: "hi", ...missing });
    assert.deepEqual(
      await run(
        context,
        "jobs.lookup_jid",
        [jid],
        [
          ["missing", true],
          ["returned", false],
        ],
      ),
      missing,
    );
  });

  it("prints a job with Salt's headings", async () => {
    assert.deepEqual(await run(contextOf(stored), "jobs.print_job", [jid]), {
      [jid]: {
        Function: "cmd.run",
        Arguments: ["echo hi"],
        Target: "es*",
        "Target-type": "glob",
        User: "root",
        Minions: ["es1", "es2"],
        StartTime: "2026, Nov 20 15:55:53.671842",
        Result: { es1: { return: "hi", retcode: 0, success: true } },
      },
    });
  });

  it("says in Salt's words that a job is unknown", async () => {
    assert.deepEqual(await run(contextOf({}), "jobs.list_job", ["20200101000000000000"]), {
      jid: "20200101000000000000",
      Error: "Cannot contact returner or no job with this jid",
      StartTime: "2020, Jan 01 00:00:00.000000",
      Result: {},
    });
  });

  it("asks the minions what runs, and says who has returned already", async () => {
    const asked: JobRequest[] = [];
    const record = new Map<Value, Value>(
      Object.entries({ jid, fun: "cmd.run", arg: ["echo hi"], tgt: "es*", tgt_type: "glob", user: "root", pid: 42 }),
    );
    const master = masterAccess({
      runJob: async (request) => {
        asked.push(request);
        return {
          jid: "other",
          minions: ["es1", "es2"],
          returns: new Map<string, Value>([["es2", [record]]]),
          silent: {},
        };
      },
    });
    const context = contextOf(stored, master);
    const active = (await run(context, "jobs.active")) as Record<string, Record<string, unknown>>;
    assert.equal(asked[0]?.fun, "saltutil.running");
    assert.deepEqual(active[jid]?.Running, [{ es2: 42 }]);
    assert.deepEqual(active[jid]?.Returned, ["es1"]);
  });
});
