import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { ConfigMap } from "../../../src/config/yaml/values.ts";
import { SaltworksError } from "../../../src/errors.ts";
import { peerRunsMax } from "../../../src/limits.ts";
import { Peers, type PeersOptions } from "../../../src/master/answers/peers.ts";
import type { Job, Published } from "../../../src/master/publish/publisher.ts";
import { decode, encode } from "../../../src/wire/msgpack.ts";
import { TextList } from "../../../src/wire/text-list.ts";
import type { Encodable } from "../../../src/wire/values.ts";
import type { PeerAsk, PeerPublish } from "../../../src/workers/messages/deferred.ts";
import { createPartitionKey, Partitioner } from "../../../src/workers/threads/partition.ts";
import { repositoryRoot } from "../../root.ts";
import { acceptMinion, type Bench, openWorkerState, sealedFrame, sealedLoad } from "../../workers/open-worker-state.ts";
import { sealingPool } from "./sealing-pool.ts";

const jid = "20261120155555511892";
const seal = { key: "session", nonce: "" } as const;

type Load = { fun: string; arg: Encodable[]; tgt: Encodable; tgt_type: string; ret: string };
type Decided = { loads: Load[]; permitted: { [rules: string]: { [minion: string]: string } } };
type Vectors = { fleet: string[]; rules: { [name: string]: ConfigMap }; publishes: Decided; runs: Decided };
const vectors = JSON.parse(readFileSync(join(repositoryRoot, "test/vectors/peer-rules.json"), "utf8")) as Vectors;
/** Salt fails on a pattern or an entry that it cannot read. Here the other permissions hold. */
const unreadable: ReadonlySet<string> = new Set(["broken id", "broken function", "numbers"]);
/** Maps permit no runners. Salt fails on them, so that it does not permit their neighbours either. */
const withMaps = "targets and all";

/** The minions of the vectors' fleet that a target names, as in peer_rules.py. */
function reached(target: string | readonly string[], kind: string): string[] {
  const { fleet } = vectors;
  if (typeof target !== "string") return fleet.filter((id) => target.includes(id));
  if (kind === "pillar") return fleet.filter((id) => target.startsWith("tier:*") || id.startsWith("web"));
  if (kind === "pillar_exact") return fleet.filter((id) => !target.includes("*") && id.startsWith("web"));
  const matches = (id: string, word: string) => (word.endsWith("*") ? id.startsWith(word.slice(0, -1)) : id === word);
  return fleet.filter((id) => target.split(" or ").some((word) => matches(id, word)));
}

type Options = Partial<Pick<PeersOptions, "run" | "returnsOf" | "requestsMax" | "audit">> & {
  readonly returnedCount?: number;
};

function openPeers(rules: { peer?: ConfigMap; peer_run?: ConfigMap; blacklist?: ConfigMap }, options: Options = {}) {
  const jobs: Job[] = [];
  const ran: Encodable[] = [];
  const logged: string[] = [];
  const followed: { onDone: () => void }[] = [];
  const publish = async (job: Job, onAccepted?: (published: Published) => Promise<void> | void) => {
    const minions = TextList.of(reached(job.target, job.targetKind));
    if (minions.count === 0) return undefined;
    jobs.push(job);
    const published = { jid, minions, missing: [] };
    await onAccepted?.(published);
    return published;
  };
  const peers = new Peers({
    config: {
      peer: rules.peer ?? {},
      peer_run: rules.peer_run ?? {},
      publisher_acl_blacklist: rules.blacklist ?? {},
      user: "root",
      ext_job_cache: "",
      gather_job_timeout: 1,
    } as PeersOptions["config"],
    pool: sealingPool,
    partitioner: new Partitioner(createPartitionKey(), 16),
    publisher: { publish } as PeersOptions["publisher"],
    jobs: {
      beginning: (publish: (begin: () => Promise<void>) => unknown) => publish(async () => undefined),
      deliverWithin: () => undefined,
      tracker: {
        follow: (options: { onDone: () => void }) => void followed.push(options),
        record: () => (options.returnedCount === undefined ? undefined : { returnedCount: options.returnedCount }),
      },
    } as unknown as PeersOptions["jobs"],
    targets: {
      written: (asked) => {
        if (asked.targetKind !== "nodegroup") return asked;
        if (asked.target !== "WEB") throw new SaltworksError("TARGET_INVALID", "unavailable");
        return { ...asked, target: "web*", targetKind: "compound" };
      },
      expected: async ({ target, targetKind }) => ({ minions: TextList.of(reached(target, targetKind)), missing: [] }),
    },
    run: async (load) => {
      ran.push(decode(load));
      return encode({ tag: "", data: { success: true, return: ["ran"] } }, "raw");
    },
    returnsOf: async (...asked) => encode(asked, "raw"),
    logger: {
      warn: (details: unknown) => void logged.push(JSON.stringify(details)),
      error: (details: unknown) => void logged.push(JSON.stringify(details)),
    } as unknown as PeersOptions["logger"],
    ...options,
  });
  return { peers, jobs, ran, logged, followed };
}

function publishAsk(changes: Partial<PeerPublish> = {}, id = "web1"): PeerAsk {
  const empty = encode([], "raw");
  const target = encode("*", "raw");
  const job = { command: "publish", fun: "test.ping", sent: empty, arg: empty, target, targetKind: "glob" } as const;
  return { id, seal, ...job, ret: "", wait: undefined, ...changes };
}

/** Notes of `audit_log`, each with who asked for what. */
function auditInto(notes: object[]): NonNullable<PeersOptions["audit"]> {
  return { ofMinion: (id, client) => (note) => void notes.push({ id, client, ...note }) };
}

const answerOf = async (peers: Peers, ask: PeerAsk) => decode(await peers.answer(ask));
const all = { ".*": [".*"] };
const nothing = new Map();

describe("what peer and peer_run permit", () => {
  let bench: Bench;
  before(() => {
    bench = openWorkerState({ peer: all, peer_run: all });
  });
  after(() => bench.close());

  /** From the minion's request to the decision. Salt's answer is the same for malformed and for denied requests. */
  async function decided(rules: ConfigMap, cmd: string, id: string, loads: readonly Load[]): Promise<string> {
    const crypticle = await acceptMinion(bench, id);
    const { peers } = openPeers({ peer: rules, peer_run: rules });
    let digits = "";
    for (const load of loads) {
      const arg = load.arg.map((value) => (isPlain(value) ? new Map(Object.entries(value)) : value));
      const frame = sealedFrame(crypticle.seal(sealedLoad(id, { cmd, ...load, arg })), id);
      const [work] = (await bench.send(frame)).deferred;
      const answer = work?.kind === "peer" ? await answerOf(peers, work.ask) : nothing;
      digits += answer instanceof Map && answer.size === 0 ? "0" : "1";
    }
    assert.deepEqual(bench.faults, []);
    return digits;
  }

  for (const [what, cmd] of [
    ["publishes", "minion_pub"],
    ["runs", "minion_runner"],
  ] as const) {
    const { loads, permitted } = vectors[what];
    it(`of ${what} is what real Salt permits`, async () => {
      for (const [name, rules] of Object.entries(vectors.rules)) {
        if (unreadable.has(name) || (what === "runs" && name === withMaps)) continue;
        for (const [minion, digits] of Object.entries(permitted[name] ?? {}))
          assert.equal(await decided(rules, cmd, minion, loads), digits, `${name}, ${minion}`);
      }
    });

    it(`of ${what} is in spite of an unreadable pattern what the others say`, async () => {
      const ping = loads.map(({ fun, tgt_type, tgt }) => (isPing(fun, tgt_type, tgt) ? "1" : "0")).join("");
      for (const name of [...unreadable, ...(what === "runs" ? [withMaps] : [])])
        assert.equal(await decided(vectors.rules[name] ?? {}, cmd, "web1", loads), ping, name);
    });
  }

  function isPing(fun: string, kind: string | undefined, target: Encodable): boolean {
    return fun.startsWith("test.ping") && !fun.includes(",") && !(kind === "pillar" && String(target).includes("*"));
  }

  function isPlain(value: Encodable): value is { readonly [name: string]: Encodable } {
    return (
      typeof value === "object" &&
      value !== null &&
      !Array.isArray(value) &&
      Object.getPrototypeOf(value) === Object.prototype
    );
  }
});

describe("Peers", () => {
  let opened: ReturnType<typeof openPeers>;
  before(() => {
    opened = openPeers({ peer: all, peer_run: all });
  });

  it("publishes as the master's user and names the minion in the job", async () => {
    const ask = publishAsk({ arg: encode(["x"], "raw"), ret: "redis", target: encode("web*", "raw") });
    assert.deepEqual(
      await answerOf(opened.peers, ask),
      new Map<string, Encodable>([
        ["jid", jid],
        ["minions", ["web1", "web2"]],
      ]),
    );
    const [job] = opened.jobs;
    assert.deepEqual([job?.fun, job?.arg, job?.ret, job?.user], ["test.ping", ["x"], "redis", "root"]);
    assert.deepEqual(job?.load.get("kwargs"), { id: "web1" });
    assert.deepEqual(job?.publishFields, new Map([["id", "web1"]]));
    assert.deepEqual(job?.source, { kind: "peer", user: "root", minion: "web1" });
  });

  it("answers a target that no minion matches as Salt does: with no job", async () => {
    const answer = await answerOf(opened.peers, publishAsk({ target: encode("nobody", "raw") }));
    assert.deepEqual(
      answer,
      new Map<string, Encodable>([
        ["jid", 0],
        ["minions", []],
      ]),
    );
  });

  it("lets no minion publish a publish, with any grant", async () => {
    for (const fun of ["publish.publish", "publish.runner", "publish"])
      assert.deepEqual(await answerOf(opened.peers, publishAsk({ fun })), nothing);
  });

  it("grants nothing by itself: find_job is looked up like any other function", async () => {
    const { peers, jobs } = openPeers({ peer: { ".*": ["test.ping"] } });
    assert.deepEqual(await answerOf(peers, publishAsk({ fun: "saltutil.find_job" })), nothing);
    assert.deepEqual(jobs, []);
    assert.equal(peers.counters.denied, 1);
  });

  it("denies functions that publisher_acl_blacklist lists", async () => {
    const { peers } = openPeers({ peer: all, blacklist: { modules: ["cmd.*"] } });
    assert.deepEqual(await answerOf(peers, publishAsk({ fun: "cmd.run" })), nothing);
    assert.notDeepEqual(await answerOf(peers, publishAsk()), nothing);
  });

  it("writes out nodegroups; an unknown one is denied", async () => {
    const group = (name: string) => publishAsk({ target: encode(name, "raw"), targetKind: "nodegroup" });
    assert.deepEqual(((await answerOf(opened.peers, group("WEB"))) as Map<string, Encodable>).get("minions"), [
      "web1",
      "web2",
    ]);
    assert.deepEqual(await answerOf(opened.peers, group("NONE")), nothing);
  });

  it("gives a runner's result, and nothing to a minion without permission", async () => {
    const ask: PeerAsk = { id: "web1", seal, command: "run", fun: "test.arg", arg: encode(["a"], "raw") };
    assert.deepEqual(await answerOf(opened.peers, ask), ["ran"]);
    const [load] = opened.ran as Map<string, Encodable>[];
    assert.deepEqual([load?.get("fun"), load?.get("sync")], ["test.arg", true]);
    const { peers, ran } = openPeers({ peer: all, peer_run: { db: [".*"] } });
    assert.deepEqual(await answerOf(peers, ask), nothing);
    assert.deepEqual(ran, []);
  });

  it("reads returns only once there are some, and for the minion that asks", async () => {
    const ask: PeerAsk = { id: "web1", seal, command: "returns", jid };
    assert.deepEqual(await answerOf(openPeers({}, { returnedCount: 0 }).peers, ask), nothing);
    const asked = [jid, "web1", new Map(Object.entries({ waited: false, full: false }))];
    assert.deepEqual(await answerOf(openPeers({}, { returnedCount: 1 }).peers, ask), asked);
    assert.deepEqual(await answerOf(openPeers({}).peers, ask), asked);
  });

  it("waits for returns if the minion asks for that", async () => {
    const { peers, followed } = openPeers({ peer: all });
    const answer = answerOf(peers, publishAsk({ wait: { timeoutMs: 1_000, isFull: true } }));
    while (followed.length === 0) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(peers.pending, 1);
    followed[0]?.onDone();
    assert.deepEqual(await answer, [jid, "web1", new Map(Object.entries({ waited: true, full: true }))]);
    assert.equal(peers.pending, 0);
  });

  it("answers that there are too many requests, instead of holding more", async () => {
    const { peers, followed } = openPeers({ peer: all, peer_run: all }, { requestsMax: 1 });
    const waiting = answerOf(peers, publishAsk({ wait: { timeoutMs: 1_000, isFull: false } }));
    while (followed.length === 0) await new Promise((resolve) => setImmediate(resolve));
    assert.match(String(await answerOf(peers, publishAsk())), /refused by the master: 1 requests of minions/);
    assert.deepEqual(await answerOf(peers, { id: "web1", seal, command: "returns", jid }), nothing);
    assert.equal(peers.counters.refused, 2);
    followed[0]?.onDone();
    await waiting;
  });

  it("runs a bounded number of runners at once", async () => {
    const running: (() => void)[] = [];
    const frame = encode({ tag: "", data: { return: true } }, "raw");
    const run = () => new Promise<Uint8Array>((resolve) => running.push(() => resolve(frame)));
    const { peers } = openPeers({ peer_run: all }, { run });
    const ask: PeerAsk = { id: "web1", seal, command: "run", fun: "test.arg", arg: encode([], "raw") };
    const first = Array.from({ length: peerRunsMax }, () => answerOf(peers, ask));
    while (running.length < peerRunsMax) await new Promise((resolve) => setImmediate(resolve));
    assert.match(String(await answerOf(peers, ask)), /32 runner calls of minions are under way/);
    for (const end of running) end();
    assert.ok((await Promise.all(first)).every((value) => value === true));
    const again = answerOf(peers, ask);
    while (running.length === peerRunsMax) await new Promise((resolve) => setImmediate(resolve));
    running.at(-1)?.();
    assert.equal(await again, true);
  });

  it("names permissions that cannot be read, and logs denied minions and functions", async () => {
    const { peers, logged } = openPeers({ peer: { "[": [".*"], a: ["("], b: "test.ping" } });
    for (const part of ["'['", "'('", "'b'"])
      assert.ok(
        logged.some((line) => line.includes(part)),
        part,
      );
    await answerOf(peers, publishAsk({ fun: "cmd.run" }, "evil"));
    await answerOf(peers, publishAsk({ fun: "cmd.run" }, "evil"));
    assert.equal(logged.filter((line) => line.includes("evil")).length, 1);
  });
});

describe("audit_log", () => {
  it("has a note for each publish and runner call of a minion, and none for its looks at returns", async () => {
    const notes: object[] = [];
    const { peers } = openPeers({ peer: all, peer_run: { web1: ["manage.*"] } }, { audit: auditInto(notes) });
    const arg = encode([["secret"]], "raw");
    await peers.answer(publishAsk({ arg }));
    await peers.answer(publishAsk({ target: encode("none", "raw") }));
    await peers.answer({ id: "web1", seal, command: "run", fun: "manage.up", arg });
    await peers.answer({ id: "web1", seal, command: "run", fun: "key.delete", arg });
    await peers.answer({ id: "web1", seal, command: "returns", jid });
    const [local, runner] = ["local", "runner"].map((client) => ({ id: "web1", client }));
    const asked = { ...local, fun: "test.ping", targetKind: "glob" };
    assert.deepEqual(notes, [
      { ...asked, target: "*", outcome: "published", jid, minions: vectors.fleet.length },
      { ...asked, target: "none", outcome: "unmatched" },
      { ...runner, fun: "manage.up", outcome: "succeeded" },
      { ...runner, fun: "key.delete", outcome: "denied" },
    ]);
  });

  it("has a note for a runner call that gives no result", async () => {
    const notes: object[] = [];
    const run = () => Promise.reject(new SaltworksError("WORKER_LOST", "a worker died"));
    const { peers } = openPeers({ peer_run: all }, { run, audit: auditInto(notes) });
    const ask: PeerAsk = { id: "web1", seal, command: "run", fun: "manage.up", arg: encode([], "raw") };
    await assert.rejects(peers.answer(ask), { code: "WORKER_LOST" });
    assert.deepEqual(notes, [{ id: "web1", client: "runner", fun: "manage.up", outcome: "failed" }]);
  });
});
