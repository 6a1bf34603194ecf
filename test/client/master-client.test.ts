import assert from "node:assert/strict";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import type { JobRequest } from "../../src/client/job-request.ts";
import { MasterClient } from "../../src/client/master-client.ts";
import { knock, requestEndpoint } from "../../src/client/request-port.ts";
import type { JobEvent } from "../../src/client/running-job.ts";
import { clientChannelsMax } from "../../src/limits.ts";
import type { Encodable, ValueMap } from "../../src/wire/values.ts";
import { accepted, FakeMaster, localKey } from "./fake-master.ts";

const jid = "20261121070000123456";
const ping: JobRequest & { follow: NonNullable<JobRequest["follow"]> } = {
  target: "*",
  targetKind: "glob",
  fun: "test.ping",
  args: [],
  kwargs: { show_timeout: true, show_jid: false, delimiter: ":" },
  follow: { timeoutSeconds: 5, gatherTimeoutSeconds: 10 },
};

let master: FakeMaster;
const clients: MasterClient[] = [];

async function start(handlers: Parameters<typeof FakeMaster.start>[0]): Promise<MasterClient> {
  master = await FakeMaster.start(handlers);
  const client = await MasterClient.open(master.config, "root");
  clients.push(client);
  return client;
}

async function eventsOf(client: MasterClient, request = ping): Promise<JobEvent[]> {
  const job = await client.run(request);
  assert.ok(job);
  const events: JobEvent[] = [];
  for await (const event of job.events()) events.push(event);
  job.close();
  return events;
}

function returned(id: string, value: Encodable, retcode = 0): Encodable {
  return { kind: "return", id, value, retcode, outputter: undefined };
}

describe("MasterClient", () => {
  afterEach(async () => {
    for (const client of clients.splice(0)) client.close();
    await master.stop();
  });

  it("sends the publish that Salt's command line sends, with the local key and what to follow", async () => {
    const client = await start({ publish: () => accepted(jid, ["a"], ["ghost"]) });
    const published = await client.publish({ ...ping, target: ["a", "ghost"], targetKind: "list", args: [1, "x"] });
    assert.deepEqual(published, {
      jid,
      minions: ["a"],
      missing: ["ghost"],
      reasons: new Map(),
      waitsUntilMs: undefined,
      mayGrow: false,
    });
    const [load] = master.requests as [ValueMap];
    const keys = ["cmd", "tgt", "fun", "arg", "key", "tgt_type", "ret", "jid", "kwargs", "user", "__notes__"];
    assert.deepEqual([...load.keys()], keys);
    assert.deepEqual(load.get("tgt"), ["a", "ghost"]);
    assert.equal(load.get("key"), localKey);
    assert.deepEqual(
      load.get("kwargs"),
      new Map<unknown, unknown>([
        ["show_timeout", true],
        ["show_jid", false],
        ["delimiter", ":"],
        ["follow", new Map(Object.entries({ timeout: 5, gather_job_timeout: 10 }))],
      ]),
    );
    assert.deepEqual(master.versions, [3]);
  });

  it("says so when no minion matched", async () => {
    const client = await start({
      publish: () => ({ enc: "clear", load: { jid: null, minions: [], error: "Master could not resolve minions" } }),
    });
    assert.equal(await client.publish(ping), undefined);
    assert.equal(await client.run(ping), undefined);
  });

  it("gives returns as they come, also one before the reply to the publish, and an unexpected one", async () => {
    const client = await start({
      publish: (_, fake) => {
        fake.fireReturn(jid, "early", true);
        fake.fireReturn("20200101000000000000", "other", "another job's");
        setImmediate(() => {
          fake.fireReturn(jid, "surprise", 5, { retcode: 3 });
          fake.fireReturn(jid, "early", "twice");
          fake.fireReturn(jid, "late", { k: "v" }, { out: "highstate" });
        });
        return accepted(jid, ["early", "late"]);
      },
    });
    assert.deepEqual(await eventsOf(client), [
      returned("early", true),
      returned("surprise", 5, 3),
      { kind: "return", id: "late", value: new Map([["k", "v"]]), retcode: 0, outputter: "highstate" },
    ]);
  });

  it("names the silent when the master has given up, and at the end the names without a key", async () => {
    const client = await start({
      publish: (_, fake) => {
        setImmediate(() => {
          fake.fireReturn(jid, "a", true);
          fake.fireDone(jid, ["a"], { b: "No response", c: "Not connected" });
        });
        return accepted(jid, ["a", "b", "c"], ["ghost", "", "a"]);
      },
    });
    assert.deepEqual(await eventsOf(client), [
      returned("a", true),
      { kind: "silent", id: "b", reason: "No response" },
      { kind: "silent", id: "c", reason: "Not connected" },
      { kind: "unknown", id: "ghost" },
    ]);
  });

  it("takes the highest code of a job with several functions", async () => {
    const client = await start({
      publish: (_, fake) => {
        setImmediate(() => fake.fireReturn(jid, "a", {}, { retcode: { "test.ping": 0, "cmd.run": 4 } }));
        return accepted(jid, ["a"]);
      },
    });
    assert.deepEqual(await eventsOf(client), [returned("a", new Map() as Encodable, 4)]);
  });

  it("fetches from the store what an event was too large for, and what was lost on the way", async () => {
    const whole: Record<string, Encodable> = {
      cut: { return: { out: "x".repeat(5_000_000) }, retcode: 2 },
      lost: { return: "found again", retcode: 0 },
    };
    const client = await start({
      publish: (_, fake) => {
        setImmediate(() => {
          fake.fireReturn(jid, "cut", { out: "VALUE_TRIMMED" });
          fake.fireDone(jid, ["cut", "lost"]);
        });
        return accepted(jid, ["cut", "lost"]);
      },
      wheel: (load) => {
        const ids = load.get("ids") as string[];
        const found = Object.fromEntries(ids.map((id) => [id, whole[id]]));
        return { tag: "t", data: { fun: load.get("fun"), jid, return: found, success: true } };
      },
    });
    const [cut, lost] = await eventsOf(client);
    assert.ok(cut?.kind === "return");
    assert.equal((cut.value as ValueMap).get("out"), "x".repeat(5_000_000));
    assert.equal(cut.retcode, 2);
    assert.deepEqual(lost, returned("lost", "found again"));
    assert.equal(master.requests.at(-1)?.get("fun"), "saltworks.returns");
    assert.equal(master.requests.at(-1)?.get("jid"), jid);
  });

  it("says so where a return was missed that no job cache keeps", async () => {
    const client = await start({
      publish: (_, fake) => {
        setImmediate(() => fake.fireDone(jid, ["lost"]));
        return accepted(jid, ["lost"]);
      },
      wheel: (load) => ({ tag: "t", data: { fun: load.get("fun"), jid, return: {}, success: true } }),
    });
    const [lost] = await eventsOf(client);
    assert.ok(lost?.kind === "return");
    assert.match(String(lost.value), /^The minion has returned, but what it returned is not known here/);
    assert.equal(lost.retcode, 1);
  });

  it("ends with an error when the master goes away in the middle of a job", async () => {
    const client = await start({
      publish: (_, fake) => {
        setImmediate(() => {
          fake.fireReturn(jid, "a", true);
          void fake.closeBus();
        });
        return accepted(jid, ["a", "b"]);
      },
    });
    const job = await client.run(ping);
    assert.ok(job);
    const events = job.events();
    assert.deepEqual((await events.next()).value, returned("a", true));
    await assert.rejects(events.next(), { code: "MASTER_UNREACHABLE", message: /look them up/ });
  });

  it("refuses in Salt's words: a wrong key, an old master's empty answer, another error", async () => {
    const answers: Encodable[] = [
      { error: { name: "AuthenticationError", message: "Authentication error occurred." } },
      "",
      { error: { name: "SaltError", message: "out of jids" } },
      "bad load",
      { enc: "clear", load: { error: "no jid" } },
    ];
    const client = await start({ publish: () => answers.shift() });
    await assert.rejects(client.publish(ping), { code: "AUTH_FAILED", message: "Authentication error occurred." });
    await assert.rejects(client.publish(ping), { code: "AUTH_FAILED", message: /^Failed to authenticate! / });
    await assert.rejects(client.publish(ping), { code: "REQUEST_REFUSED", message: "out of jids" });
    await assert.rejects(client.publish(ping), { code: "REQUEST_REFUSED", message: "bad load" });
    await assert.rejects(client.publish(ping), { code: "REQUEST_REFUSED", message: "no jid" });
  });

  it("publishes once, and gives up after three times the timeout without an answer", async () => {
    const client = await start({ publish: () => undefined });
    const begunMs = performance.now();
    const request = { ...ping, follow: { timeoutSeconds: 0.1, gatherTimeoutSeconds: 1 } };
    await assert.rejects(client.run(request), { code: "REQUEST_TIMEOUT", message: /^Salt request timed out/ });
    assert.ok(performance.now() - begunMs >= 2_900);
    assert.equal(master.requests.length, 1);
  });

  it("says at once that nothing is there without a bus or a key", async () => {
    const client = await start({});
    await master.closeBus();
    await assert.rejects(client.run(ping), { code: "MASTER_UNREACHABLE", message: /^The salt master could not be/ });
    await assert.rejects(client.runner("manage.up", [], new Map()), { code: "MASTER_UNREACHABLE" });
    await rm(join(master.config.cachedir, `.${master.config.user}_key`));
    await assert.rejects(MasterClient.open(master.config, "root"), { code: "MASTER_UNREACHABLE" });
  });

  it("lets root and sudo users prove themselves with the key of the master's user, others with their own", async () => {
    const client = await start({ ping: () => ({}), publish: () => accepted(jid, ["a"]) });
    await client.publish(ping);
    const sudo = await MasterClient.open(master.config, "sudo_ann");
    clients.push(sudo);
    await sudo.publish(ping);
    assert.deepEqual(
      master.requests.map((load) => load.get("user")),
      ["root", "sudo_ann"],
    );
    await assert.rejects(MasterClient.open(master.config, "ann"), {
      code: "AUTH_FAILED",
      message: /^Failed to authenticate! .* this user is not permitted/,
    });
  });

  it("waits for a runner's result, and tells its failure and what it has to say", async () => {
    const outcomes = [true, false];
    const client = await start({
      runner: (load) => {
        const data = { fun: `runner.${load.get("fun")}`, jid, return: [...(load.get("arg") as Encodable[])] };
        return { tag: `salt/run/${jid}`, data: { ...data, notes: ["a word"], success: outcomes.shift() } };
      },
    });
    const kwargs = new Map([["tgt", "es*"]]);
    const outcome = { jid, value: ["x"], isSuccess: true, notes: ["a word"] };
    const { data, ...shown } = await client.runner("manage.up", ["x"], kwargs);
    assert.deepEqual(shown, outcome);
    assert.equal(data.get("fun"), "runner.manage.up");
    assert.equal((await client.runner("manage.up", [], new Map())).isSuccess, false);
    const [load] = master.requests as [ValueMap];
    assert.deepEqual(load.get("kwarg"), kwargs);
    assert.equal(load.get("sync"), true);
  });

  it("gives up a runner whose master goes away", async () => {
    const client = await start({
      runner: (_, fake) => {
        void fake.closeBus();
        return undefined;
      },
    });
    await assert.rejects(client.runner("manage.up", [], new Map()), { code: "MASTER_UNREACHABLE" });
  });

  it("serves several requests at once, each on a socket of its own", async () => {
    const client = await start({
      wheel: (load) =>
        load.get("fun") === "slow" ? undefined : { data: { fun: "wheel.quick", jid, return: 1, success: true } },
    });
    const slow = assert.rejects(client.wheel("slow", {}), { code: "CHANNEL_CLOSED" });
    assert.equal((await client.wheel("quick", {})).value, 1);
    client.close();
    await slow;
    await assert.rejects(client.wheel("quick", {}), { code: "CHANNEL_CLOSED" }, "nothing is sent by a closed client");
  });

  it("refuses more requests at once than it may have sockets", async () => {
    const client = await start({ wheel: () => undefined });
    const waiting = Array.from({ length: clientChannelsMax }, () =>
      assert.rejects(client.wheel("slow", {}), { code: "CHANNEL_CLOSED" }),
    );
    await assert.rejects(client.wheel("one more", {}), { code: "QUEUE_FULL" });
    client.close();
    await Promise.all(waiting);
  });
});

describe("a knock at the request port", () => {
  it("tells at once whether a master listens there", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const config = { interface: "0.0.0.0", ret_port: (server.address() as AddressInfo).port };
    await knock(config);
    server.close();
    await once(server, "close");
    await assert.rejects(knock(config), { code: "MASTER_UNREACHABLE" });
  });
});

describe("requestEndpoint", () => {
  it("reaches a master that listens everywhere by loopback, and brackets IPv6", () => {
    assert.equal(requestEndpoint({ interface: "0.0.0.0", ret_port: 4506 }), "tcp://127.0.0.1:4506");
    assert.equal(requestEndpoint({ interface: "10.0.0.5", ret_port: 4507 }), "tcp://10.0.0.5:4507");
    assert.equal(requestEndpoint({ interface: "::", ret_port: 4506 }), "tcp://[::1]:4506");
    assert.equal(requestEndpoint({ interface: "fe80::1", ret_port: 4506 }), "tcp://[fe80::1]:4506");
  });
});
