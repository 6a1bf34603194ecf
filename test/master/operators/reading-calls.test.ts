/** Calls that a client asks for without a job record: permissions as for all others, and no trace. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Commands, type CommandsOptions } from "../../../src/master/operators/commands.ts";
import type { RunnerCaller } from "../../../src/runners/contract/contract.ts";
import { decode, encode } from "../../../src/wire/msgpack.ts";
import type { ValueMap } from "../../../src/wire/values.ts";
import type { RunnerTask } from "../../../src/workers/messages/runner.ts";

const jid = "20260101000000000000";
type Decision = "granted" | "own" | "denied";

/** Calls a function. `traces`: events, job records and entries in the list of running calls. */
async function call(command: "runner" | "wheel", fun: string, decision: Decision, isRead: boolean) {
  const traces: string[] = [];
  const callers: RunnerCaller[] = [];
  const options = {
    authorisation: { identify: async () => ({ user: "ann", grants: ["@jobs"] }), mayCall: () => decision },
    direct: new Map(),
    jobs: { tracker: {}, deliveries: {} },
    publisher: { newJid: () => jid },
    fire: (tag: string) => void traces.push(tag),
    calls: {
      during: (_: unknown, step: () => Promise<unknown>) => {
        traces.push("running");
        return step();
      },
      store: async () => void traces.push("stored"),
    },
    runners: {
      run: async ({ caller }: RunnerTask) => {
        callers.push(caller);
        const value = encode([1], "bin");
        return { success: true, notes: ["more"], faults: [], callerEvents: 0, value, reply: encode([1], "raw") };
      },
    },
    config: { pki_dir: "/no/such/directory" },
    logger: { warn: () => undefined, error: () => undefined },
  };
  const commands = new Commands(options as unknown as CommandsOptions);
  const load = encode({ fun, kwarg: {}, sync: true, ...(isRead ? { __read__: true } : {}) }, "bin");
  const caller = { kind: "token", user: "root", token: "t" } as const;
  let frame: Uint8Array = Buffer.alloc(0);
  const reply = (bytes: Uint8Array) => {
    frame = Buffer.from(bytes);
  };
  await commands.run(command, load, caller, reply, { address: "192.0.2.1", prove: () => undefined });
  const answer = decode(frame) as ValueMap;
  const data = answer.get("data") as ValueMap | undefined;
  return { traces, callers, value: data?.get("return"), notes: data?.get("notes"), error: answer.get("error") };
}

describe("a call that only reads", () => {
  it("is answered with value and notes, and leaves no event and no job record", async () => {
    for (const [command, fun] of [["runner", "jobs.list_jobs"] as const, ["wheel", "key.list_all"] as const]) {
      const { traces, value, notes } = await call(command, fun, "granted", true);
      assert.deepEqual([value, notes, traces], [[1], ["more"], []]);
    }
    assert.deepEqual((await call("runner", "jobs.list_jobs", "granted", false)).traces, [
      `salt/run/${jid}/new`,
      "running",
      "stored",
      `salt/run/${jid}/ret`,
    ]);
  });

  it("needs the same permission as a call with a record, and keeps its bounds", async () => {
    const denied = await call("runner", "jobs.list_jobs", "denied", true);
    assert.match(JSON.stringify([...((denied.error as ValueMap | undefined) ?? [])]), /TokenAuthenticationError/);
    assert.deepEqual(denied.callers, []);
    const { callers } = await call("wheel", "saltworks.returns", "own", true);
    const [{ isOwnOnly, isRestricted, user } = assert.fail()] = callers;
    assert.deepEqual([isOwnOnly, isRestricted, user], [true, true, "ann"]);
  });

  it("is refused if the function may change something", async () => {
    for (const [command, fun] of [["runner", "jobs.abort"] as const, ["wheel", "key.accept"] as const]) {
      const { callers, error } = await call(command, fun, "granted", true);
      assert.match(String((error as ValueMap | undefined)?.get("message")), /is not available for reading/);
      assert.deepEqual(callers, []);
    }
  });
});
