/** Requests that make an operator's connection a proven one, and answers of runners on their way through the main thread. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AuditNote } from "../../../src/master/audit/audit.ts";
import { toJob } from "../../../src/master/operators/asked-job.ts";
import type { Identity } from "../../../src/master/operators/authorisation.ts";
import { Commands, type CommandsOptions } from "../../../src/master/operators/commands.ts";
import { encode } from "../../../src/wire/msgpack.ts";
import type { Encodable, Value } from "../../../src/wire/values.ts";
import type { Caller } from "../../../src/workers/messages/deferred.ts";
import type { RunnerResult } from "../../../src/workers/messages/runner.ts";

const load = encode(new Map([["fun", "test.ping"]]), "bin");
const credential = { eauth: "file", username: "ann", password: "right" };
const callers: Caller[] = [
  { kind: "token", user: "root", token: "t" },
  { kind: "eauth", user: "root", credential },
];

/** An authorisation that knows the user or not, and permits nothing. */
function answers(identity: Identity | undefined) {
  const authorisation = {
    identify: async (_: Caller, address: string) => {
      assert.equal(address, "192.0.2.1");
      return identity;
    },
    mayPublish: async () => false,
    mayCall: () => "denied",
    makeToken: async (_: unknown, _seconds: unknown, address: string) => {
      assert.equal(address, "192.0.2.1");
      return identity && new Map([["token", "t"]]);
    },
    readToken: () => identity && new Map([["name", "ann"]]),
  };
  const options = {
    authorisation,
    direct: new Map(),
    jobs: { tracker: {}, deliveries: {} },
    publisher: { newJid: () => "20260101000000000000" },
    fire: () => undefined,
    config: { pki_dir: "/no/such/directory" },
    logger: { warn: () => undefined, error: () => undefined },
  };
  const commands = new Commands(options as unknown as CommandsOptions);
  return async (work: Parameters<Commands["answer"]>[0]) => {
    let proofs = 0;
    const prove = () => {
      proofs += 1;
    };
    await commands.answer(work, () => undefined, { address: "192.0.2.1", prove });
    return proofs > 0;
  };
}

describe("an operator's connection", () => {
  const works = callers.flatMap((caller) => [
    { kind: "publish", item: 0, load, caller } as const,
    { kind: "command", item: 0, command: "runner", load, caller } as const,
  ]);
  const tokens = [
    { kind: "makeToken", item: 0, credential, expireSeconds: undefined } as const,
    { kind: "readToken", item: 0, token: "t" } as const,
  ];

  it("is proven by a good token and a good password of a user with grants, whatever they are for", async () => {
    for (const grants of [undefined, ["test.*"]]) {
      const proves = answers({ user: "ann", grants });
      for (const work of [...works, ...tokens]) assert.equal(await proves(work), true, work.kind);
    }
  });

  it("is not proven by the password or token of a user that nothing is granted to", async () => {
    const proves = answers({ user: "ann", grants: [] });
    for (const work of [...works, ...tokens]) assert.equal(await proves(work), false, work.kind);
  });

  it("is not proven by a wrong token or password", async () => {
    const proves = answers(undefined);
    for (const work of [...works, ...tokens]) assert.equal(await proves(work), false, work.kind);
  });
});

/** No decoder keeps both members of this map, so that bytes that arrive unchanged were not decoded. */
const twins = (value: number) => Buffer.from([0x82, 0xa1, 0x61, value, 0xa1, 0x61, value + 1]);

/** Runs `fun` with this answer of the lane. `passed`: the bytes that went to the caller, the event bus and the job cache. */
async function passed(fun: string, result: Partial<RunnerResult>) {
  const bytes: { reply?: Buffer; event?: Buffer; stored?: Buffer } = {};
  const options = {
    authorisation: { identify: async () => ({ user: "ann", grants: undefined }), mayCall: () => "granted" },
    direct: new Map(),
    jobs: { tracker: {}, deliveries: {} },
    publisher: { newJid: () => "20260101000000000000" },
    fire: (tag: string, data: Encodable) => {
      if (tag.endsWith("/ret")) bytes.event = encode(data, "bin");
    },
    calls: {
      during: (_: unknown, step: () => Promise<unknown>) => step(),
      store: async ({ data }: { data: Encodable }) => {
        bytes.stored = encode(data, "bin");
      },
    },
    runners: { run: async () => ({ success: true, notes: [], faults: [], callerEvents: 0, ...result }) },
    config: { pki_dir: "/no/such/directory" },
    logger: { warn: () => undefined, error: () => undefined },
  };
  const commands = new Commands(options as unknown as CommandsOptions);
  const command = encode({ fun, sync: true }, "bin");
  const connection = { address: "192.0.2.1", prove: () => undefined };
  await commands.run(
    "runner",
    command,
    callers[0] ?? assert.fail(),
    (frame) => (bytes.reply = Buffer.from(frame)),
    connection,
  );
  const returns = await commands.peerReturns("20260101000000000000", "web1", { waited: false, full: false });
  return { ...bytes, returns };
}

describe("a command", () => {
  it("is noted for audit_log with its outcome, except for following a job", async () => {
    const notes: string[] = [];
    const note = ({ outcome, user = "", fun = "" }: AuditNote) =>
      void notes.push(`${outcome} ${user} ${String(fun)}`.trim());
    const decide = async (fun: string, identity: Identity | undefined, decision = "granted") => {
      const options = {
        audit: { about: () => note },
        authorisation: {
          identify: async () => identity,
          mayCall: () => decision,
          askerOf: () => undefined,
          mayPublish: async () => false,
          makeToken: async () => undefined,
        },
        direct: new Map([["saltworks.metrics", async () => ({})]]),
        jobs: { tracker: {}, deliveries: {} },
        publisher: { newJid: () => "20260101000000000000" },
        fire: () => undefined,
        calls: { during: (_: unknown, step: () => Promise<unknown>) => step(), store: async () => undefined },
        runners: {
          run: async () => ({
            ...{
              value: twins(1),
              reply: twins(1),
              success: fun !== "test.fails",
              notes: [],
              faults: [],
              callerEvents: 0,
            },
          }),
        },
        config: { pki_dir: "/no/such/directory" },
        logger: { warn: () => undefined, error: () => undefined, info: () => undefined },
      };
      const commands = new Commands(options as unknown as CommandsOptions);
      const caller = callers[0] ?? assert.fail();
      const asked = { item: 0, load: encode({ fun, sync: fun !== "test.slow" }, "bin"), caller } as const;
      const connection = { address: "192.0.2.1", prove: () => undefined };
      const works = fun === "test.ping" ? [{ ...asked, kind: "publish" } as const] : [];
      const command = fun.startsWith("saltworks.") ? "wheel" : "runner";
      for (const work of [...works, { ...asked, kind: "command", command } as const])
        await commands.answer(work, () => undefined, connection);
      return notes.splice(0);
    };
    const ann = { user: "ann", grants: ["@jobs"] };
    assert.deepEqual(await decide("test.ping", undefined), ["unauthenticated", "unauthenticated"]);
    assert.deepEqual(await decide("test.ping", ann, "denied"), ["denied ann test.ping", "denied ann test.ping"]);
    assert.deepEqual(await decide("test.arg", ann), ["succeeded ann test.arg"]);
    assert.deepEqual(await decide("test.fails", ann), ["failed ann test.fails"]);
    assert.deepEqual(await decide("test.slow", ann), ["started ann test.slow", "succeeded ann test.slow"]);
    assert.deepEqual(await decide("saltworks.metrics", ann), ["succeeded ann saltworks.metrics"]);
    assert.deepEqual(await decide("saltworks.returns", ann), []);
    assert.deepEqual(await decide("saltworks.returns", ann, "denied"), ["denied ann saltworks.returns"]);
  });
});

describe("a request that the API process passes on", () => {
  it("is judged by the address of its HTTP client, which no job keeps", async () => {
    const seen: string[] = [];
    const identify = async (_: Caller, address: string) => void seen.push(address);
    const makeToken = async (_: unknown, _seconds: unknown, address: string) => void seen.push(address);
    const options = {
      authorisation: { identify, makeToken },
      config: { pki_dir: "/no/such/directory" },
      direct: new Map(),
      jobs: { tracker: {}, deliveries: {} },
    };
    const commands = new Commands(options as unknown as CommandsOptions);
    const caller = { kind: "eauth", user: ":api", credential } as const;
    const passedOn = { item: 0, clientAddress: "192.0.2.7" } as const;
    for (const work of [
      { kind: "publish", load, caller, ...passedOn },
      { kind: "command", command: "wheel", load, caller, ...passedOn },
      { kind: "makeToken", credential, expireSeconds: undefined, ...passedOn },
    ] as const)
      await commands.answer(work, () => undefined, { address: "127.0.0.1", prove: () => assert.fail() });
    assert.deepEqual(seen, ["192.0.2.7", "192.0.2.7", "192.0.2.7"]);
    const fields = new Map<Value, Value>(Object.entries({ fun: "test.ping", key: "k", client_address: "192.0.2.7" }));
    assert.deepEqual([...toJob(fields, "ann").load.keys()], ["fun"]);
  });
});

describe("the answer of a runner", () => {
  it("passes the main thread as the lane packed it", async () => {
    const [value, reply, event] = [twins(1), twins(3), twins(5)];
    const small = await passed("cache.grains", { value, reply });
    assert.ok(small.reply?.includes(reply));
    assert.ok(small.event?.includes(value));
    assert.ok(small.stored?.includes(value));
    assert.deepEqual(small.returns, reply);
    const large = await passed("cache.grains", { value, reply, event });
    assert.ok(large.event?.includes(event));
  });

  it("is shown to the caller alone if it is secret", async () => {
    const [value, reply] = [twins(1), twins(3)];
    const { reply: told, event, stored } = await passed("auth.mk_token", { value, reply });
    assert.ok(told?.includes(reply));
    for (const shown of [event, stored]) assert.ok(shown?.includes("**********") && !shown.includes(value));
  });
});
