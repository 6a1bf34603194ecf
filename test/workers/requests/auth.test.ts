import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, mock } from "node:test";
import { decode } from "../../../src/wire/msgpack.ts";
import { encodeClearReply } from "../../../src/wire/reply.ts";
import type { Encodable } from "../../../src/wire/values.ts";
import { unpackAuthTasks } from "../../../src/workers/batch/auth-tasks.ts";
import { itemKinds } from "../../../src/workers/batch/frames.ts";
import type { AuthTask, BatchResult } from "../../../src/workers/messages/batch.ts";
import { clearFrame, eventsOf, minionPair, openWorkerState, otherPair, replyOf } from "../open-worker-state.ts";

function authLoad(id: Encodable, more: Record<string, Encodable> = {}): Record<string, Encodable> {
  return {
    cmd: "_auth",
    id,
    nonce: "n".repeat(32),
    enc_algo: "OAEP-SHA1",
    sig_algo: "PKCS1v15-SHA1",
    pub: minionPair.publicPem,
    ...more,
  };
}

/** The work for the RSA lane of a batch's only item. */
function jobOf(result: BatchResult): AuthTask | undefined {
  return result.auths && unpackAuthTasks(result.auths.tasks)[0];
}

function outcomeOf(result: BatchResult): unknown {
  const outcome = jobOf(result)?.outcome;
  if (outcome === undefined) return decode(replyOf(result));
  return "ret" in outcome ? outcome.ret : "accepted";
}

describe("_auth", () => {
  it("keeps an unknown minion's key pending and says so on the bus", async () => {
    const bench = openWorkerState();
    const result = await bench.send(clearFrame(authLoad("web1")));
    assert.equal(outcomeOf(result), true);
    assert.equal(bench.keys.read("pending", "web1"), minionPair.publicPem);
    const [event] = eventsOf(result);
    assert.equal(event?.tag, "salt/auth");
    assert.deepEqual(
      [event?.data.get("act"), event?.data.get("result"), event?.data.get("id")],
      ["pend", true, "web1"],
    );
  });

  it("accepts a minion whose accepted key is the same but for line ends", async () => {
    const bench = openWorkerState();
    bench.keys.write("accepted", "web1", minionPair.publicPem.replaceAll("\n", "\r\n"));
    const result = await bench.send(clearFrame(authLoad("web1")));
    assert.equal(outcomeOf(result), "accepted");
    assert.deepEqual(result.contacts, ["web1"]);
  });

  it("denies another key under an accepted id, and keeps it for the operator to see", async () => {
    const bench = openWorkerState();
    bench.keys.write("accepted", "web1", otherPair.publicPem);
    const result = await bench.send(clearFrame(authLoad("web1")));
    assert.equal(outcomeOf(result), false);
    assert.equal(bench.keys.read("denied", "web1"), minionPair.publicPem);
    assert.equal(bench.keys.read("accepted", "web1"), otherPair.publicPem);
    assert.equal(eventsOf(result)[0]?.data.get("act"), "denied");
  });

  it("decides by the key file as it is now, whatever it remembers", async () => {
    const bench = openWorkerState();
    bench.keys.write("accepted", "web1", minionPair.publicPem);
    assert.equal(outcomeOf(await bench.send(clearFrame(authLoad("web1")))), "accepted");
    assert.equal(outcomeOf(await bench.send(clearFrame(authLoad("web1")))), "accepted");
    bench.keys.write("accepted", "web1", otherPair.publicPem);
    assert.equal(outcomeOf(await bench.send(clearFrame(authLoad("web1")))), false);
    bench.keys.move("web1", "accepted", "rejected");
    assert.equal(outcomeOf(await bench.send(clearFrame(authLoad("web1", { pub: otherPair.publicPem })))), false);
    bench.keys.remove("rejected", "web1");
    assert.equal(outcomeOf(await bench.send(clearFrame(authLoad("web1")))), true, "unknown again");
  });

  it("keeps a denied key once, however often it comes", async () => {
    const bench = openWorkerState();
    bench.keys.write("accepted", "web1", otherPair.publicPem);
    await bench.send(clearFrame(authLoad("web1")));
    const stamp = bench.keys.stampOf("denied", "web1");
    await bench.send(clearFrame(authLoad("web1")));
    assert.equal(bench.keys.stampOf("denied", "web1"), stamp);
  });

  it("denies another key under a pending id", async () => {
    const bench = openWorkerState();
    bench.keys.write("pending", "web1", otherPair.publicPem);
    assert.equal(outcomeOf(await bench.send(clearFrame(authLoad("web1")))), false);
    assert.equal(bench.keys.read("denied", "web1"), minionPair.publicPem);
  });

  it("refuses a rejected minion", async () => {
    const bench = openWorkerState();
    bench.keys.write("rejected", "web1", minionPair.publicPem);
    const result = await bench.send(clearFrame(authLoad("web1")));
    assert.equal(outcomeOf(result), false);
    assert.equal(eventsOf(result)[0]?.data.get("act"), "reject");
  });

  it("accepts at once with auto_accept, and moves a pending key", async () => {
    const bench = openWorkerState({ auto_accept: true });
    assert.equal(outcomeOf(await bench.send(clearFrame(authLoad("new1")))), "accepted");
    bench.keys.write("pending", "old1", minionPair.publicPem);
    const result = await bench.send(clearFrame(authLoad("old1")));
    assert.equal(outcomeOf(result), "accepted");
    assert.deepEqual(result.accepted, ["old1"]);
    assert.equal(bench.keys.read("pending", "old1"), undefined);
    assert.equal(bench.keys.read("accepted", "old1"), minionPair.publicPem);
  });

  it("accepts an id of autosign_file and rejects one of autoreject_file", async () => {
    const bench = openWorkerState();
    const autosign = join(bench.config.pki_dir, "autosign.conf");
    const autoreject = join(bench.config.pki_dir, "autoreject.conf");
    writeFileSync(autosign, "# by hand\nweb*\n", { mode: 0o644 });
    writeFileSync(autoreject, "bad1\n", { mode: 0o644 });
    const configured = openWorkerState({ autosign_file: autosign, autoreject_file: autoreject });
    assert.equal(outcomeOf(await configured.send(clearFrame(authLoad("web7")))), "accepted");
    assert.equal(outcomeOf(await configured.send(clearFrame(authLoad("db1")))), true);
    assert.equal(outcomeOf(await configured.send(clearFrame(authLoad("bad1")))), false);
    assert.equal(configured.keys.read("rejected", "bad1"), minionPair.publicPem);
  });

  it("accepts by a grain that the autosign directory names", async () => {
    const bench = openWorkerState();
    const grains = join(bench.config.pki_dir, "autosign_grains");
    mkdirSync(grains);
    writeFileSync(join(grains, "role"), "web\n", { mode: 0o644 });
    const configured = openWorkerState({ autosign_grains_dir: grains });
    assert.equal(
      outcomeOf(await configured.send(clearFrame(authLoad("a", { autosign_grains: { role: "web" } })))),
      "accepted",
    );
    assert.equal(
      outcomeOf(await configured.send(clearFrame(authLoad("b", { autosign_grains: { role: "db" } })))),
      true,
    );
  });

  it("loses neither a pending key nor a single-use file when the accepted key cannot be written", async () => {
    const bench = openWorkerState();
    const folder = join(bench.config.pki_dir, "minions_autosign");
    mkdirSync(folder, { recursive: true });
    const file = join(folder, "web1");
    writeFileSync(file, "");
    bench.keys.write("pending", "web1", minionPair.publicPem);
    const write = mock.method(bench.keys, "write", () => {
      throw new Error("no space left");
    });
    await bench.send(clearFrame(authLoad("web1")));
    assert.deepEqual([bench.keys.read("pending", "web1"), existsSync(file)], [minionPair.publicPem, true]);
    write.mock.restore();
    assert.equal(outcomeOf(await bench.send(clearFrame(authLoad("web1")))), "accepted");
    assert.deepEqual([bench.keys.read("pending", "web1"), existsSync(file)], [undefined, false]);
  });

  it("stores a session key later if it could not be stored at first", async () => {
    const bench = openWorkerState();
    bench.keys.write("accepted", "web1", minionPair.publicPem);
    bench.worker.accept("web1", minionPair.publicPem);
    const put = mock.method(bench.worker.stores.minions, "putSession", () =>
      Promise.reject(new Error("no space left")),
    );
    await assert.rejects(bench.worker.issueSession("web1", Date.now()).stored ?? Promise.resolve(), /no space/);
    put.mock.restore();
    await bench.worker.issueSession("web1", Date.now()).stored;
    assert.ok(bench.memory.minions.get("web1")?.session);
  });

  it("in open_mode overwrites a key that differs", async () => {
    const bench = openWorkerState({ open_mode: true });
    bench.keys.write("accepted", "web1", otherPair.publicPem);
    assert.equal(outcomeOf(await bench.send(clearFrame(authLoad("web1")))), "accepted");
    assert.equal(bench.keys.read("accepted", "web1"), minionPair.publicPem);
  });

  it("answers full while max_minions are connected", async () => {
    const bench = openWorkerState({ max_minions: 1 });
    const result = await bench.send(clearFrame(authLoad("web1")), itemKinds.overMinionsMax);
    assert.equal(outcomeOf(result), "full");
    assert.equal(bench.keys.stateOf("web1"), undefined);
  });

  it("refuses ids that would leave the key directory, and keys that are none", async () => {
    const bench = openWorkerState({ auto_accept: true });
    const tiny = generateKeyPairSync("rsa", { modulusLength: 512 })
      .publicKey.export({ type: "spki", format: "pem" })
      .toString();
    for (const id of ["../etc/passwd", "a/b", "", "..", "x".repeat(10_240)]) {
      assert.equal(outcomeOf(await bench.send(clearFrame(authLoad(id)))), false, `id ${id.slice(0, 20)}`);
    }
    for (const pub of ["", "no key", tiny, "x".repeat(10_000)]) {
      assert.equal(outcomeOf(await bench.send(clearFrame(authLoad("web1", { pub })))), false);
    }
    const large = await bench.send(clearFrame(authLoad("web1", { pub: "x".repeat(65_536) })));
    assert.deepEqual(decode(replyOf(large)), decode(encodeClearReply({ ret: false })));
    assert.equal(large.auths, undefined);
    assert.equal(bench.worker.counters["refused.authTooLarge"], 1);
    assert.equal(bench.keys.stateOf("web1"), undefined);
  });

  it("names an algorithm that it does not know, unsigned", async () => {
    const bench = openWorkerState();
    const reply = (text: string) =>
      new Map<string, unknown>([
        ["enc", "clear"],
        ["load", new Map([["ret", text]])],
      ]);
    assert.deepEqual(
      outcomeOf(await bench.send(clearFrame(authLoad("a", { sig_algo: "MD5" })))),
      reply("bad sig algo"),
    );
    assert.deepEqual(
      outcomeOf(await bench.send(clearFrame(authLoad("a", { enc_algo: "ROT13" })))),
      reply("bad enc algo"),
    );
  });

  it("gives the same session key again while it is fresh", async () => {
    const bench = openWorkerState({ auto_accept: true });
    const sessionOf = (result: BatchResult) => {
      const outcome = jobOf(result)?.outcome;
      return outcome !== undefined && "session" in outcome ? outcome.session : undefined;
    };
    const first = sessionOf(await bench.send(clearFrame(authLoad("web1"))));
    const second = sessionOf(await bench.send(clearFrame(authLoad("web1"))));
    assert.equal(typeof first, "string");
    assert.equal(first, second);
  });

  it("fires no event when auth_events is off", async () => {
    const bench = openWorkerState({ auth_events: false });
    assert.deepEqual(eventsOf(await bench.send(clearFrame(authLoad("web1")))), []);
  });
});
