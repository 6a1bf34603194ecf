import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JobStatusQuestion, MinionStatus } from "../../../src/runners/contract/contract.ts";
import { firstById, minionFilter } from "../../../src/runners/contract/minion-pages.ts";
import { encode } from "../../../src/wire/msgpack.ts";
import { callRunner, noJobs, runnerContext } from "../calling.ts";
import { masterAccess } from "../master-access.ts";

const jid = "20261120161244685961";
const all: MinionStatus[] = ["m1", "m2", "m3", "m4"].map((id, index) => ({
  id,
  state: index === 1 ? "lost" : "returned",
  atMs: 1_000 * index,
  reason: index === 1 ? "not connected" : undefined,
}));

async function jobStatus(question: JobStatusQuestion) {
  const wanted = all.filter(minionFilter(question));
  const minions = firstById(wanted, question.countMax);
  const unknown = new Map([["ghost", "never seen: no key of that name"]]);
  const counts = { returned: 3, lost: 1 };
  const rest = { fun: "test.ping", sentMs: 1, overMs: 5, counts, unknown, waitsUntilMs: undefined };
  return { ...rest, minions, omitted: wanted.length - minions.length };
}

type Shown = { readonly Minions: Record<string, { State: string; Reason?: string }>; readonly Next: string | null };

async function ask(asked: Record<string, string | number>, isOwnOnly = false): Promise<Shown> {
  const jobs = { ...noJobs, request: async () => encode({ user: "ann" }, "bin") };
  const context = runnerContext({ jobs, master: masterAccess({ jobStatus }), config: { cachedir: "/nowhere" } });
  const caller = { kind: "runner", jid, tag: "", user: String(asked.user ?? "ann"), isOwnOnly } as const;
  const { user: _user, ...kwargs } = asked;
  return (await callRunner({ ...context, caller }, "jobs.minions", [], { jid, ...kwargs })) as Shown;
}

describe("jobs.minions", () => {
  it("gives every minion once, in order of ids, page by page, with names that have no key", async () => {
    const seen: string[] = [];
    for (let after = ""; ; ) {
      const { Minions: minions, Next: next } = await ask({ limit: 2, after });
      seen.push(...Object.keys(minions));
      if (next === null) break;
      after = next;
    }
    assert.deepEqual(seen, ["ghost", "m1", "m2", "m3", "m4"]);
  });

  it("chooses by state, name and time, and says why a minion is missing", async () => {
    assert.deepEqual(Object.keys((await ask({ state: "returned", minion: "m[12]" })).Minions), ["m1"]);
    const { m2 } = (await ask({ state: "lost" })).Minions;
    assert.deepEqual([m2?.State, m2?.Reason], ["lost", "not connected"]);
    assert.deepEqual(Object.keys((await ask({ since_ms: 2_000 })).Minions), ["m3", "m4"]);
    assert.match((await ask({ state: "unknown" })).Minions.ghost?.Reason ?? "", /never seen/);
    for (const wrong of [{ state: "gone" }, { limit: 0 }, { limit: 5_001 }])
      await assert.rejects(ask(wrong as Record<string, string | number>), { code: "FUNCTION_ARGUMENTS" });
  });

  it("shows a user without a grant its own jobs only, without states of keys", async () => {
    assert.deepEqual(Object.keys(await ask({ user: "eve" }, true)), ["Error"]);
    const { ghost, m2 } = (await ask({}, true)).Minions;
    assert.deepEqual([ghost?.Reason, m2?.Reason], [undefined, "not connected"]);
    assert.ok("Minions" in (await ask({ user: "eve" })));
  });
});
