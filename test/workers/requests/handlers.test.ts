import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Overrides } from "../../../src/config/load.ts";
import type { Crypticle } from "../../../src/crypto/crypticle.ts";
import { credentialTextBytesMax } from "../../../src/limits.ts";
import { isJid } from "../../../src/wire/jid.ts";
import { decode, encode } from "../../../src/wire/msgpack.ts";
import { encodeSealedRequest } from "../../../src/wire/request.ts";
import type { Encodable, Value, ValueMap } from "../../../src/wire/values.ts";
import type { BatchResult } from "../../../src/workers/messages/batch.ts";
import {
  acceptMinion,
  type Bench,
  clearFrame,
  eventsOf,
  nonce,
  openWorkerState,
  replyOf,
  returnTags,
  sealedFrame,
  sealedLoad,
} from "../open-worker-state.ts";

const jid = "20261120155553885300";
const pong = {
  cmd: "_return",
  success: true,
  return: true,
  retcode: 0,
  jid,
  fun: "test.ping",
  fun_args: [],
  user: "root",
};

/** A worker with one accepted minion, and a way to send its requests. */
async function open(overrides: Overrides = {}) {
  const bench = openWorkerState(overrides);
  const crypticle = await acceptMinion(bench, "web1");
  const send = (load: Record<string, Encodable>) =>
    bench.send(sealedFrame(crypticle.seal(sealedLoad("web1", load)), "web1"));
  return { bench, crypticle, send };
}

function answer(result: BatchResult, crypticle: Crypticle): Value {
  const sealed = decode(replyOf(result), "bytes");
  assert.ok(sealed instanceof Uint8Array, "the reply is sealed");
  return decode(crypticle.open(sealed, nonce));
}

function storedBody(bench: Bench, id = "web1", ofJid = jid): ValueMap {
  const stored = bench.memory.returns.get(`${ofJid}\n${id}`);
  assert.ok(stored, "the return is stored");
  return decode(stored.body) as ValueMap;
}

describe("_return", () => {
  it("is stored without its proofs, told to the bus and the tracker, and acknowledged", async () => {
    const { bench, crypticle, send } = await open();
    const result = await send(pong);
    assert.equal(answer(result, crypticle), null);
    const [event] = eventsOf(result);
    assert.equal(event?.tag, `salt/job/${jid}/ret/web1`);
    assert.deepEqual(
      [...(event?.data.keys() ?? [])].filter((key) => key === "tok" || key === "nonce"),
      [],
    );
    assert.deepEqual(storedBody(bench), event?.data);
    assert.deepEqual(returnTags(result), [`salt/job/${jid}/ret/web1`]);
  });

  it("is stored once and fired again when it comes twice", async () => {
    const { bench, send } = await open();
    await send({ ...pong, return: "first" });
    const again = await send({ ...pong, return: "second" });
    assert.equal(storedBody(bench).get("return"), "first");
    assert.equal(eventsOf(again)[0]?.data.get("return"), "second");
    assert.deepEqual([bench.worker.counters["returns.stored"], bench.worker.counters["returns.duplicate"]], [1, 1]);
  });

  it("is not acknowledged and not fired when the store fails", async () => {
    const { bench, send } = await open();
    bench.memory.fault = new Error("disk full");
    const result = await send(pong);
    assert.equal(decode(replyOf(result)), "Some exception handling minion payload");
    assert.deepEqual([eventsOf(result), returnTags(result)], [[], []]);
    assert.match(bench.faults[0]?.message ?? "", /disk full/);
  });

  it("keeps bytes that are not text, in event and store", async () => {
    const { bench, send } = await open();
    const result = await send({ ...pong, return: Uint8Array.of(0xff, 0x00, 0xfe) });
    assert.deepEqual(eventsOf(result)[0]?.data.get("return"), storedBody(bench).get("return"));
    assert.deepEqual(Buffer.from(storedBody(bench).get("return") as Uint8Array), Buffer.from([0xff, 0x00, 0xfe]));
  });

  it("too large for an event is trimmed there and whole in the store", async () => {
    const { bench, send } = await open({ max_event_size: 10_000 });
    const result = await send({ ...pong, return: "x".repeat(50_000) });
    assert.equal(eventsOf(result)[0]?.data.get("return"), "VALUE_TRIMMED");
    assert.equal((storedBody(bench).get("return") as string).length, 50_000);
  });

  it("of a job that the minion started itself gets a job id and a load", async () => {
    const { bench, send } = await open();
    const result = await send({ ...pong, jid: "req", fun: "state.highstate" });
    const given = returnTags(result)[0]?.split("/")[2] ?? "";
    assert.ok(isJid(given));
    const load = decode(bench.memory.loads.get(given)?.load ?? new Uint8Array()) as ValueMap;
    assert.deepEqual([load.get("fun"), load.get("tgt"), load.get("jid")], ["state.highstate", "web1", given]);
    assert.deepEqual(bench.memory.loads.get(given)?.minions, ["web1"]);
  });

  it("of salt-call brings its own load, once, without the result in it", async () => {
    const { bench, send } = await open();
    await send({ ...pong, tgt: "web1", tgt_type: "glob" });
    const load = decode(bench.memory.loads.get(jid)?.load ?? new Uint8Array()) as ValueMap;
    assert.deepEqual([load.get("fun"), load.has("return")], ["test.ping", false]);
    const first = bench.memory.loads.get(jid);
    await send({ ...pong, tgt: "web1", tgt_type: "glob", fun: "test.again" });
    assert.equal(bench.memory.loads.get(jid), first);
  });

  it("of salt-call has a load with every value as it came, but for its result and what a publisher sends", async () => {
    const { bench, send } = await open();
    const values = { fun_args: [1, { deep: [null, true, 2.5] }, "snow ☃", Buffer.from([0, 255])], tgt: "web1" };
    await send({ ...pong, ...values, tgt_type: "glob", token: "secret", kwargs: { metadata: 1 } });
    const load = decode(bench.memory.loads.get(jid)?.load ?? new Uint8Array()) as ValueMap;
    assert.deepEqual(load.get("fun_args"), (decode(encode(values, "bin")) as ValueMap).get("fun_args"));
    assert.deepEqual(
      ["return", "token", "kwargs"].filter((name) => load.has(name)),
      [],
    );
  });

  it("that answers a presence ping proves contact and leaves no trace", async () => {
    const { bench, crypticle, send } = await open();
    bench.worker.notePresencePing(jid);
    const result = await send(pong);
    assert.equal(answer(result, crypticle), null);
    assert.deepEqual(
      [eventsOf(result), returnTags(result), bench.memory.returns.size, [...result.proven]],
      [[], [], 0, [1]],
    );
  });

  it("is not stored with job_cache off, but fired", async () => {
    const { bench, send } = await open({ job_cache: false });
    assert.equal(eventsOf(await send(pong)).length, 1);
    assert.equal(bench.memory.returns.size, 0);
  });

  it("larger than job_cache_max_return_bytes, without a jid or with an endless one is counted and left out", async () => {
    const { bench, send } = await open({ job_cache_max_return_bytes: 1_048_576 });
    await send({ ...pong, return: "x".repeat(1_100_000) });
    await send({ ...pong, jid: undefined });
    await send({ ...pong, jid: "1".repeat(1_000) });
    assert.equal(bench.memory.returns.size, 0);
    assert.deepEqual([bench.worker.counters["returns.tooLarge"], bench.worker.counters["returns.malformed"]], [1, 2]);
  });
});

describe("_minion_event", () => {
  it("is fired with the whole load under the minion's tag", async () => {
    const { crypticle, send } = await open();
    const result = await send({
      cmd: "_minion_event",
      pretag: null,
      tag: "salt/minion/web1/start",
      data: "Minion web1 started",
    });
    assert.equal(answer(result, crypticle), null);
    const [event] = eventsOf(result);
    assert.equal(event?.tag, "salt/minion/web1/start");
    assert.deepEqual([event?.data.get("data"), event?.data.get("id")], ["Minion web1 started", "web1"]);
  });

  it("as a list fires each under its tag, and under pretag", async () => {
    const { send } = await open();
    const result = await send({
      cmd: "_minion_event",
      pretag: "syndic/web1",
      events: [{ tag: "my/tag", data: { a: 1 } }],
    });
    assert.deepEqual(
      eventsOf(result).map((event) => [event.tag, event.data.get("a")]),
      [
        ["my/tag", 1],
        ["syndic/web1/my/tag", 1],
      ],
    );
  });

  it("may not use the master's own tags", async () => {
    const { bench, send } = await open();
    for (const tag of [
      "salt/job/1/new",
      "salt/job/1/publish",
      "salt/key",
      "salt/run/1/ret",
      "saltworks/job/1/done",
      "",
      "x".repeat(5_000),
    ]) {
      assert.deepEqual(eventsOf(await send({ cmd: "_minion_event", tag, data: {} })), [], tag.slice(0, 30));
    }
    assert.equal(bench.worker.counters["events.forbiddenTag"], 7);
  });
});

describe("_pillar", () => {
  it("hands the rendering to the pillar lane, with what the minion says of itself", async () => {
    const { send } = await open();
    const asked = { saltenv: "dev", pillarenv: null, pillar_override: { x: 1 } };
    const [deferred] = (await send({ cmd: "_pillar", grains: { os: "Debian" }, ...asked, ver: "2" })).deferred;
    assert.ok(deferred?.kind === "pillar");
    const { id, grains, saltenv, pillarenv, override } = deferred.task;
    assert.deepEqual([id, saltenv, pillarenv], ["web1", "dev", undefined]);
    assert.deepEqual(decode(grains ?? new Uint8Array()), new Map([["os", "Debian"]]));
    assert.deepEqual(decode(override ?? new Uint8Array()), new Map([["x", 1]]));
    assert.equal(grains?.buffer.byteLength, grains?.byteLength, "no more than the grains crosses threads");
  });

  it("takes an empty override for none", async () => {
    const { send } = await open();
    const [deferred] = (await send({ cmd: "_pillar", grains: {}, pillar_override: {}, ver: "2" })).deferred;
    assert.ok(deferred?.kind === "pillar");
    assert.equal(deferred.task.override, undefined);
  });

  it("without grains is answered with an empty pillar at once", async () => {
    const { send } = await open();
    const [deferred] = (await send({ cmd: "_pillar", ver: "2" })).deferred;
    assert.equal(deferred?.kind === "rsa" && deferred.task.kind, "pillarReply");
  });

  it("is sealed under the algorithm that a version 2 minion names outside of its request", async () => {
    const { bench } = await open({ minimum_auth_version: 0 });
    const load = encode({ cmd: "_pillar", id: "web1", nonce, grains: {}, ver: "2" }, "raw");
    for (const encAlgorithm of ["OAEP-SHA224", undefined]) {
      const request = { version: 2, ...(encAlgorithm === undefined ? {} : { encAlgorithm }) };
      const result = await bench.send(encodeSealedRequest(bench.worker.current.seal(load), request));
      const [deferred] = result.deferred;
      assert.ok(deferred?.kind === "pillar");
      assert.equal(deferred.reply.encAlgorithm, encAlgorithm ?? "OAEP-SHA1");
    }
  });
});

describe("the mine", () => {
  it("merges, replaces with clear, deletes one and flushes all", async () => {
    const { bench, crypticle, send } = await open();
    const mine = () => decode(bench.memory.minions.get("web1")?.mine ?? new Uint8Array([0x80]));
    assert.equal(answer(await send({ cmd: "_mine", data: { a: 1 }, clear: false }), crypticle), true);
    await send({ cmd: "_mine", data: { b: 2 }, clear: false });
    assert.deepEqual(
      mine(),
      new Map([
        ["a", 1],
        ["b", 2],
      ]),
    );
    await send({ cmd: "_mine_delete", fun: "a" });
    assert.deepEqual(mine(), new Map([["b", 2]]));
    await send({ cmd: "_mine", data: { c: 3 }, clear: true });
    assert.deepEqual(mine(), new Map([["c", 3]]));
    await send({ cmd: "_mine_flush" });
    assert.deepEqual(mine(), new Map());
  });
});

describe("commands of local users", () => {
  const publish = {
    cmd: "publish",
    tgt: "*",
    fun: "test.ping",
    arg: [],
    tgt_type: "glob",
    ret: "",
    jid: "",
    user: "root",
  };

  it("reach the main thread with the local key, also for sudo users, and under any other name", async () => {
    const { bench } = await open();
    for (const user of ["root", "sudo_bob", "ann"]) {
      const [deferred] = (await bench.send(clearFrame({ ...publish, user, key: "local-secret" }))).deferred;
      assert.equal(deferred?.kind, "publish");
      assert.deepEqual(deferred.caller, { kind: "key", user, isMaster: true });
    }
    const [wheel] = (
      await bench.send(clearFrame({ cmd: "wheel", fun: "key.list_all", key: "local-secret", user: "root" }))
    ).deferred;
    assert.equal(wheel?.kind, "command");
  });

  it("come with a token or a password to be checked by the main thread, a token first and a key last", async () => {
    const { bench } = await open();
    const callerOf = async (load: Record<string, Encodable>) => {
      const [deferred] = (await bench.send(clearFrame(load))).deferred;
      return deferred?.kind === "publish" || deferred?.kind === "command" ? deferred.caller : undefined;
    };
    const login = { eauth: "file", username: "ann", password: "secret" };
    const credential = { kind: "eauth", user: "root", credential: login };
    const key = "local-secret";
    assert.deepEqual(await callerOf({ ...publish, key, kwargs: login }), credential);
    assert.deepEqual(await callerOf({ ...publish, key, kwargs: { ...login, token: "t" } }), {
      kind: "token",
      user: "root",
      token: "t",
    });
    assert.deepEqual(await callerOf({ cmd: "wheel", fun: "key.list_all", user: "root", ...login }), credential);
    const [made] = (await bench.send(clearFrame({ cmd: "mk_token", ...login, token_expire: 5 }))).deferred;
    assert.deepEqual(made, { item: 0, kind: "makeToken", credential: login, expireSeconds: 5 });
    const [read] = (await bench.send(clearFrame({ cmd: "get_token", token: "t" }))).deferred;
    assert.deepEqual(read, { item: 0, kind: "readToken", token: "t" });
  });

  it("are refused in Salt's words with a wrong key, an unknown user, or what can be no token or password", async () => {
    const { bench } = await open();
    const errorOf = async (load: Record<string, Encodable>) => {
      const reply = decode(replyOf(await bench.send(clearFrame(load)))) as ValueMap;
      return ((reply.get("error") as ValueMap | undefined)?.get("name") ?? "none") as string;
    };
    assert.equal(await errorOf({ ...publish, key: "wrong" }), "AuthenticationError");
    assert.equal(await errorOf({ ...publish, user: "mallory", key: "another" }), "AuthenticationError");
    assert.equal(await errorOf({ ...publish, kwargs: { token: 5 }, key: "local-secret" }), "AuthenticationError");
    const wheel = { cmd: "wheel", fun: "key.list_all", user: "root" };
    assert.equal(await errorOf({ ...wheel, key: "wrong" }), "UserAuthenticationError");
    assert.equal(
      await errorOf({ ...wheel, token: "t".repeat(credentialTextBytesMax + 1) }),
      "TokenAuthenticationError",
    );
    const large = { eauth: "pam", username: "x", password: "y", arg: ["a".repeat(1024 * 1024)] };
    assert.equal(await errorOf({ ...wheel, ...large }), "EauthAuthenticationError");
    assert.equal(await errorOf({ ...wheel, eauth: "pam", username: "x", password: 5 }), "EauthAuthenticationError");
    assert.equal(decode(replyOf(await bench.send(clearFrame({ cmd: "mk_token", eauth: "pam" })))), "");
    assert.equal(decode(replyOf(await bench.send(clearFrame({ cmd: "get_token" })))), false);
    assert.equal(bench.worker.counters["refused.credential"], 8);
  });
});

describe("a minion that gives up its key", () => {
  it("is no longer in the accepted directory", async () => {
    const { bench, crypticle, send } = await open();
    assert.equal(answer(await send({ cmd: "revoke_auth" }), crypticle), true);
    assert.equal(bench.keys.read("accepted", "web1"), undefined);
  });

  it("keeps it where the master does not allow that", async () => {
    const { bench, send } = await open({ allow_minion_key_revoke: false });
    await send({ cmd: "revoke_auth" });
    assert.notEqual(bench.keys.read("accepted", "web1"), undefined);
  });
});

describe("commands that there are not", () => {
  it("are answered with an empty map, and named in the log in Salt's words, sealed or clear", async () => {
    const { bench, crypticle, send } = await open();
    const sealed = await send({ cmd: "run_func" });
    assert.deepEqual(answer(sealed, crypticle), new Map());
    const line = (text: string, id: string) => ({ id, level: "error", text: `Requested method not exposed: ${text}` });
    assert.deepEqual(sealed.refusals, [line("run_func", "web1")]);
    const clear = await bench.send(clearFrame({ cmd: `_send_pub\n${"x".repeat(1_000)}` }));
    assert.deepEqual(decode(replyOf(clear)), new Map());
    assert.deepEqual(clear.refusals, [line(`_send_pub?${"x".repeat(190)}`, "")]);
    // Known functions without a result are not the caller's fault.
    assert.deepEqual((await send({ cmd: "verify_minion" })).refusals, []);
  });
});

describe("_master_tops", () => {
  it("gives nothing, but names of states that fail where a source is missing", async () => {
    const whole = await open();
    assert.deepEqual(answer(await whole.send({ cmd: "_master_tops" }), whole.crypticle), new Map());
    const without = await open({ master_tops: { cobbler: {} }, fileserver_backend: ["roots", "hgfs"] });
    const names = ["the_master_lacks_fileserver_backend_hgfs", "the_master_lacks_master_tops_cobbler"];
    for (const cmd of ["_master_tops", "_ext_nodes"])
      assert.deepEqual(answer(await without.send({ cmd }), without.crypticle), new Map([["base", names]]));
  });
});
